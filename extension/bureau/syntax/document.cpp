#include "bureau/syntax/document.hpp"

#include <algorithm>

namespace bureau::syntax {

bool View::blank() const noexcept {
	if (!node_)
		return true;
	for (const Node *at = node_, *end = node_ + node_->size; at != end; ++at)
		if (at->kind == Kind::text)
			return false;
	return true;
}

View View::object() const noexcept {
	if (!is(Kind::array))
		return *this;
	for (const Node *at = node_ + 1, *end = node_ + node_->size; at != end; at += at->size)
		if (at->kind == Kind::object)
			return View(at, repeats_);
	return {};
}

std::string_view View::text() const noexcept {
	View at = *this;
	if (at.is(Kind::array) && at.node_->size > 1)
		at = View(at.node_ + 1, repeats_);
	if (at.is(Kind::object))
		at = at.child(Field::element_text);
	return at.is(Kind::text) ? std::string_view(at.node_->text, at.node_->length) : std::string_view();
}

View View::child(Field field) const noexcept {
	View last;
	object().each_member([&](View member) {
		if (member.field() == field)
			last = member;
	});
	return last;
}

void Members::add(View from) {
	repeats_ = from.repeats_;
	from.object().each_member([&](View member) { last_[static_cast<std::size_t>(member.field())] = member.node_; });
	last_[static_cast<std::size_t>(Field::unknown)] = nullptr;
}

void Document::clear(bool repeats) {
	size_ = 0;
	depth_ = 0;
	repeats_ = repeats;
	kept_.clear();
	bad_unicode_.reset();
}

void Document::shrink() {
	constexpr std::size_t most_nodes = 1 << 19;
	constexpr std::size_t most_text = 1 << 22;
	size_ = 0;
	if (capacity_ > most_nodes) {
		nodes_.reset();
		capacity_ = 0;
	}
	kept_.clear();
	if (copy_.capacity() > most_text)
		std::string().swap(copy_);
}

std::span<char> Document::copy(std::string_view text) {
	copy_ = text;
	return copy_;
}

void Document::grow() {
	constexpr std::size_t least = 1024;
	const std::size_t capacity = capacity_ == 0 ? least : capacity_ * 2;
	std::unique_ptr<Node[]> larger(new Node[capacity]);
	std::copy_n(nodes_.get(), size_, larger.get());
	nodes_ = std::move(larger);
	capacity_ = capacity;
}

void Document::note_bad_unicode(Field field) {
	for (int at = depth_; field == Field::unknown && at > 0; --at)
		field = nodes_[open_[at - 1]].field;
	bad_unicode_.set(static_cast<std::size_t>(field));
}

void Document::trim_no_break_spaces(std::string_view &text) noexcept {
	constexpr std::string_view no_break_space = "\xC2\xA0";
	for (bool trimmed = true; trimmed;) {
		trimmed = false;
		if (text.starts_with(no_break_space) || (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ')) {
			text.remove_prefix(text.front() == '\xC2' ? 2 : 1);
			trimmed = true;
		} else if (text.ends_with(no_break_space) || (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ')) {
			text.remove_suffix(text.back() == '\xA0' ? 2 : 1);
			trimmed = true;
		}
	}
}

} // namespace bureau::syntax
