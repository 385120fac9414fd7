#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bureau {

struct Lender {
	std::string name;    // upper case, without legal form: "HDFC BANK"; empty when masked or absent
	std::string family;  // the name after known mergers and renames; empty when name is
	bool masked = false; // a name was withheld, as in soft pulls
};

Lender read_lender(std::string_view reported);

// The same lender before and after a merger or a rename, and other spellings of it. Names as read_lender makes them.
struct LenderAlias {
	std::string_view name;
	std::string_view family;
	bool rename; // a merger or rename: name stays as reported; otherwise a spelling, and name too becomes the family
};

// Seeds from general knowledge, to be checked before money depends on them; sorted by name.
std::span<const LenderAlias> lender_aliases() noexcept;

} // namespace bureau
