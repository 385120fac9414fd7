#include "bureau/lender.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "bureau/fold.hpp"

namespace bureau {

namespace {

constexpr auto aliases = std::to_array<LenderAlias>({
	{"ALLAHABAD BANK", "INDIAN BANK", true},
	{"ANDHRA BANK", "UNION BANK OF INDIA", true},
	{"BHARATIYA MAHILA BANK", "STATE BANK OF INDIA", true},
	{"BOB", "BANK OF BARODA", false},
	{"CAPITAL FIRST", "IDFC FIRST BANK", true},
	{"CITI BANK", "AXIS BANK", true},
	{"CORPORATION BANK", "UNION BANK OF INDIA", true},
	{"DENA BANK", "BANK OF BARODA", true},
	{"DEWAN HOUSING FINANCE", "PIRAMAL FINANCE", true},
	{"DEWAN HOUSING FINANCE CORPORATION", "PIRAMAL FINANCE", true},
	{"DHFL", "PIRAMAL FINANCE", true},
	{"FULLERTON INDIA CREDIT COMPANY", "SMFG INDIA CREDIT COMPANY", true},
	{"GRUH FINANCE", "BANDHAN BANK", true},
	{"HDFC", "HDFC BANK", true},
	{"HOUSING DEVELOPMENT FINANCE CORPORATION", "HDFC BANK", true},
	{"ICICI", "ICICI BANK", false},
	{"IDFC BANK", "IDFC FIRST BANK", true},
	{"INDIABULLS HOUSING FINANCE", "SAMMAAN CAPITAL", true},
	{"LIC HFL", "LIC HOUSING FINANCE", false},
	{"LICHFL", "LIC HOUSING FINANCE", false},
	{"MAGMA HOUSING FINANCE", "GRIHUM HOUSING FINANCE", true},
	{"OBC", "PUNJAB NATIONAL BANK", true},
	{"ORIENTAL BANK OF COMMERCE", "PUNJAB NATIONAL BANK", true},
	{"PIRAMAL CAPITAL & HOUSING FINANCE", "PIRAMAL FINANCE", true},
	{"PNB", "PUNJAB NATIONAL BANK", false},
	{"POONAWALLA HOUSING FINANCE", "GRIHUM HOUSING FINANCE", true},
	{"SBI", "STATE BANK OF INDIA", false},
	{"STATE BANK OF BIKANER & JAIPUR", "STATE BANK OF INDIA", true},
	{"STATE BANK OF HYDERABAD", "STATE BANK OF INDIA", true},
	{"STATE BANK OF MYSORE", "STATE BANK OF INDIA", true},
	{"STATE BANK OF PATIALA", "STATE BANK OF INDIA", true},
	{"STATE BANK OF TRAVANCORE", "STATE BANK OF INDIA", true},
	{"SYNDICATE BANK", "CANARA BANK", true},
	{"UNITED BANK OF INDIA", "PUNJAB NATIONAL BANK", true},
	{"VIJAYA BANK", "BANK OF BARODA", true},
});

static_assert(std::ranges::is_sorted(aliases, {}, &LenderAlias::name));

constexpr auto legal_forms = std::to_array<std::string_view>({"LTD", "LIMITED", "PVT", "PRIVATE", "PVTLTD", "LLP", "P"});

constexpr auto withheld = std::to_array<std::string_view>({"NOT DISCLOSED", "NOTDISCLOSED", "UNDISCLOSED", "NOT AVAILABLE", "MASKED", "NA", "N A"});

constexpr std::string_view mask_characters = "X*#";

bool is_letter(std::string_view word) { return word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z'; }

// Words between blanks and punctuation that says nothing: "H.D.F.C. Bank, Ltd." gives H D F C BANK LTD.
std::vector<std::string> words_of(std::string_view folded) {
	std::vector<std::string> words;
	bool inside = false;
	for (const char c : folded) {
		if (std::string_view(" .,;:()[]{}'\"/\\_-").find(c) != std::string_view::npos) {
			inside = false;
			continue;
		}
		if (!inside)
			words.emplace_back();
		inside = true;
		words.back() += c;
	}
	return words;
}

bool is_masked(const std::vector<std::string> &words, std::string_view spaced) {
	if (std::ranges::find(withheld, spaced) != withheld.end())
		return true;
	const auto mask = [](const std::string &word) { return word.find_first_not_of(mask_characters) == std::string::npos; };
	const auto long_mask = [&](const std::string &word) { return word.size() >= 3 && mask(word); };
	return std::ranges::any_of(words, long_mask) || (!words.empty() && std::ranges::all_of(words, mask));
}

void drop_article_and_legal_form(std::vector<std::string> &words) {
	const auto legal = [](const std::string &word) { return std::ranges::find(legal_forms, word) != legal_forms.end(); };
	while (words.size() > 1 && legal(words.back()))
		words.pop_back();
	if (words.size() > 1 && words.front() == "THE")
		words.erase(words.begin());
}

// Spelled-out initials become one word, AND becomes &, which joins initials: J AND K BANK gives J&K BANK.
std::vector<std::string> join_initials(const std::vector<std::string> &words) {
	std::vector<std::string> joined;
	bool open = false; // the last word is made of initials and takes more
	for (const std::string &original : words) {
		const std::string word = original == "AND" ? "&" : original;
		const bool joins = is_letter(word) || (word == "&" && open);
		if (joins && open)
			joined.back() += word;
		else
			joined.push_back(word);
		open = joins;
	}
	return joined;
}

// Parts the words that end in this from what stands before it.
std::vector<std::string> part_ending(const std::vector<std::string> &words, std::string_view ending) {
	std::vector<std::string> parted;
	parted.reserve(words.size());
	for (const std::string &word : words) {
		if (word.size() > ending.size() && word.ends_with(ending)) {
			parted.emplace_back(word, 0, word.size() - ending.size());
			parted.emplace_back(ending);
		} else {
			parted.push_back(word);
		}
	}
	return parted;
}

std::string with_blanks(const std::vector<std::string> &words) {
	std::string text;
	for (const std::string &word : words) {
		if (!text.empty())
			text += ' ';
		text += word;
	}
	return text;
}

} // namespace

std::span<const LenderAlias> lender_aliases() noexcept { return aliases; }

Lender read_lender(std::string_view reported) {
	std::vector<std::string> words = words_of(fold(reported));
	Lender lender;
	lender.masked = is_masked(words, with_blanks(words));
	if (lender.masked || words.empty())
		return lender;
	drop_article_and_legal_form(words);
	words = join_initials(words);
	words = part_ending(words, "&"); // it joined initials to a whole word: K& SONS is no name
	words = part_ending(words, "BANK"); // ICICIBANK is ICICI BANK
	lender.name = with_blanks(words);
	lender.family = lender.name;
	const auto alias = std::ranges::lower_bound(aliases, std::string_view(lender.name), {}, &LenderAlias::name);
	if (alias != aliases.end() && alias->name == lender.name) {
		lender.family = alias->family;
		if (!alias->rename)
			lender.name = alias->family;
	}
	return lender;
}

} // namespace bureau
