#include "pg/leads/words.hpp"

#include "bureau/codes.hpp"

namespace bt {

namespace {

template <class Value>
std::optional<Value> value_of(std::string_view word, Value last) noexcept {
	for (int i = 0; i <= static_cast<int>(last); ++i)
		if (bureau::to_text(static_cast<Value>(i)) == word)
			return static_cast<Value>(i);
	return std::nullopt;
}

} // namespace

std::optional<bureau::Bureau> bureau_of(std::string_view word) noexcept { return value_of(word, bureau::Bureau::crif); }

bureau::Outcome outcome_of(std::string_view word) noexcept {
	return value_of(word, bureau::Outcome::failed).value_or(bureau::Outcome::failed);
}

bureau::StatusClass status_class_of(std::string_view word) noexcept {
	return value_of(word, bureau::StatusClass::unknown).value_or(bureau::StatusClass::unknown);
}

bureau::Holder holder_of(std::string_view word) noexcept {
	return value_of(word, bureau::Holder::unknown).value_or(bureau::Holder::unknown);
}

} // namespace bt
