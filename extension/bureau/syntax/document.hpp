#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bureau/syntax/failure.hpp"
#include "bureau/syntax/field.hpp"

namespace bureau::syntax {

enum class Kind : std::uint8_t { blank, text, object, array };

// One value of a JSON or XML text. A container's contents follow it directly. Numbers and truth values are text.
struct Node {
	const char *text;
	std::uint32_t length;
	std::uint32_t size; // this node and all inside it
	Field field;        // of an array's element: the array's
	Kind kind;
};

// Reads the nodes alike whichever syntax they came from. A default view is an absent value.
class View {
public:
	View() = default;
	View(const Node *node, bool repeats) : node_(node), repeats_(repeats) {}

	explicit operator bool() const noexcept { return node_ != nullptr; }
	Field field() const noexcept { return node_->field; }
	bool is(Kind kind) const noexcept { return node_ && node_->kind == kind; }
	bool is_container() const noexcept { return is(Kind::object) || is(Kind::array); }
	// Nothing but blanks, nulls and empty containers inside.
	bool blank() const noexcept;
	// Trimmed; of an array that of its first element, of an object that of its text member; empty if there is none.
	std::string_view text() const noexcept;
	// Of several values with this field the last. An array stands for its first object.
	View child(Field field) const noexcept;

	// Calls visit(View) for each direct member of an object or array.
	template <class Visit>
	void each_member(Visit visit) const {
		if (!is_container())
			return;
		for (const Node *at = node_ + 1, *end = node_ + node_->size; at != end; at += at->size)
			visit(View(at, repeats_));
	}

	// Calls visit(View) for each value of a repeatable field, whether it is a list, a single value, or repeated elements of XML.
	// Blank values are left out.
	template <class Visit>
	void each(Field wanted, Visit visit) const {
		View last;
		object().each_member([&](View member) {
			if (member.field() != wanted)
				return;
			if (repeats_)
				member.each_element(visit);
			else
				last = member;
		});
		last.each_element(visit);
	}

private:
	// An array stands for its first object.
	View object() const noexcept;

	template <class Visit>
	void each_element(Visit &visit) const {
		if (is(Kind::array))
			each_member([&](View element) { element.each_element(visit); });
		else if (node_ && !blank())
			visit(*this);
	}

	const Node *node_ = nullptr;
	bool repeats_ = false; // equal names beside each other are a list, not duplicates of which the last counts

	friend class Members;
};

// The last value of each field of one object, found in one pass.
class Members {
public:
	explicit Members(View object) { add(object); }
	// The fields of another object besides; of a field in both the added one counts.
	void add(View object);
	View operator[](Field field) const noexcept { return View(last_[static_cast<std::size_t>(field)], repeats_); }
	std::string_view text(Field field) const noexcept { return (*this)[field].text(); }

private:
	const Node *last_[field_count] = {};
	bool repeats_ = false;
};

// The nodes of one text, built from front to back. What no known field can use is dropped on the way in.
class Document {
public:
	void clear(bool repeats);
	View root() const noexcept { return size_ == 0 ? View() : View(nodes_.get(), repeats_); }

	// False if nesting has reached its bound.
	bool open(Field field, Kind kind) {
		if (depth_ == deepest_nesting)
			return false;
		open_[depth_++] = static_cast<std::uint32_t>(size_);
		append({nullptr, 0, 1, field, kind});
		return true;
	}

	void close() {
		const std::uint32_t at = open_[--depth_];
		if (at + 1 == size_ && depth_ > 0 && nodes_[at].field == Field::unknown)
			--size_;
		else
			nodes_[at].size = static_cast<std::uint32_t>(size_ - at);
	}

	void add(Field field, std::string_view text) {
		if (field == Field::unknown && text.size() < shortest_nested_text && depth_ > 0)
			return;
		trim(text);
		append({text.data(), static_cast<std::uint32_t>(text.size()), 1, field, text.empty() ? Kind::blank : Kind::text});
	}

	bool inside() const noexcept { return depth_ > 0; }
	bool in_array() const noexcept { return nodes_[open_[depth_ - 1]].kind == Kind::array; }
	Field open_field() const noexcept { return nodes_[open_[depth_ - 1]].field; }
	// Text with the nodes' lifetime.
	std::string &keep(std::string text) { return kept_.emplace_back(std::move(text)); }
	// A writable copy of the whole text, with the nodes' lifetime.
	std::span<char> copy(std::string_view text);

	// Notes that something at this field was no text in any encoding; the nearest known field around it answers for an unknown one.
	void note_bad_unicode(Field field);
	const std::bitset<field_count> &bad_unicode() const noexcept { return bad_unicode_; }

	std::span<const Node> nodes() const noexcept { return {nodes_.get(), size_}; }
	// Ends the nodes' lifetime, and gives back what a text much larger than a report took.
	void shrink();

private:
	// A report inside a text is longer; so is nothing else of interest under an unknown key.
	static constexpr std::size_t shortest_nested_text = 32;

	static void trim(std::string_view &text) noexcept {
		while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ')
			text.remove_prefix(1);
		while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ')
			text.remove_suffix(1);
		if (text.size() >= 2 && (text.front() == '\xC2' || text.back() == '\xA0'))
			trim_no_break_spaces(text);
	}
	static void trim_no_break_spaces(std::string_view &text) noexcept;

	void append(const Node &node) {
		if (size_ == capacity_)
			grow();
		nodes_[size_++] = node;
	}
	void grow();

	std::unique_ptr<Node[]> nodes_; // a vector would write each node twice
	std::size_t size_ = 0;
	std::size_t capacity_ = 0;
	std::uint32_t open_[deepest_nesting];
	int depth_ = 0;
	bool repeats_ = false;
	std::string copy_;
	std::deque<std::string> kept_;
	std::bitset<field_count> bad_unicode_;
};

} // namespace bureau::syntax
