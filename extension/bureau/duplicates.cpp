#include "bureau/duplicates.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "bureau/codes.hpp"
#include "bureau/disjoint_sets.hpp"
#include "bureau/tradeline_order.hpp"

namespace bureau {

namespace {

constexpr std::string_view mask_characters = "Xx*#";

// The account number, if none of it is masked; zero-padding aside.
std::string_view unmasked_number(const Tradeline &t) {
	const std::string_view number = t.account_number;
	const std::size_t first = number.find_first_not_of('0');
	const bool masked = number.find_first_of(mask_characters) != std::string_view::npos;
	return masked || first == std::string_view::npos ? std::string_view{} : number.substr(first);
}

auto loan_key(const Tradeline &t) { return std::tuple(loan_class(t.account_type), t.opened, t.sanctioned, std::string_view(t.number_tail)); }

bool has_loan_key(const Tradeline &t) { return t.account_type && t.opened && t.sanctioned && !t.number_tail.empty(); }

// True if a speaks for the loan and not b.
bool survives(const Tradeline &a, const Tradeline &b) {
	const auto rank = [](const Tradeline &t) { return std::tuple(t.reported, !has_ended(t.status), !t.lender.empty(), t.history.size()); };
	if (rank(a) != rank(b))
		return rank(a) > rank(b);
	return content_less(a, b);
}

using Indexes = std::span<const std::size_t>;

// The tradelines of one key. Distinct reporting days say that they follow each other, so then all with a day are one loan.
void unite_same_key(std::span<const Tradeline> tradelines, Indexes bucket, DisjointSets &loans) {
	std::map<std::string_view, std::size_t> by_number, by_lender;
	std::vector<std::size_t> dated;
	bool several_days = false;
	for (const std::size_t i : bucket) {
		const Tradeline &t = tradelines[i];
		if (const std::string_view number = unmasked_number(t); !number.empty())
			loans.unite(by_number.try_emplace(number, i).first->second, i);
		if (!t.lender_family.empty())
			loans.unite(by_lender.try_emplace(t.lender_family, i).first->second, i);
		if (!t.reported)
			continue;
		several_days = several_days || (!dated.empty() && tradelines[dated.front()].reported != t.reported);
		dated.push_back(i);
	}
	if (several_days)
		for (const std::size_t i : dated)
			loans.unite(dated.front(), i);
}

void unite_same_loans(std::span<const Tradeline> tradelines, DisjointSets &loans) {
	std::vector<std::size_t> keyed;
	for (std::size_t i = 0; i < tradelines.size(); ++i)
		if (has_loan_key(tradelines[i]))
			keyed.push_back(i);
	std::ranges::sort(keyed, {}, [&](std::size_t i) { return loan_key(tradelines[i]); });
	for (auto first = keyed.begin(); first != keyed.end();) {
		const auto last = std::find_if(first, keyed.end(), [&](std::size_t i) { return loan_key(tradelines[i]) != loan_key(tradelines[*first]); });
		unite_same_key(tradelines, {first, last}, loans);
		first = last;
	}
}

void unite_equal_tradelines(std::span<const Tradeline> tradelines, DisjointSets &loans) {
	std::vector<std::size_t> unnumbered;
	for (std::size_t i = 0; i < tradelines.size(); ++i)
		if (tradelines[i].number_tail.empty() && !tradelines[i].lender.empty())
			unnumbered.push_back(i);
	const auto less = [&](std::size_t a, std::size_t b) { return content_less(tradelines[a], tradelines[b]); };
	std::ranges::sort(unnumbered, less);
	for (std::size_t i = 1; i < unnumbered.size(); ++i)
		if (!less(unnumbered[i - 1], unnumbered[i]))
			loans.unite(unnumbered[i - 1], unnumbered[i]);
}

} // namespace

std::vector<const Tradeline *> distinct_loans(std::span<const Tradeline> tradelines) {
	DisjointSets loans(tradelines.size());
	unite_same_loans(tradelines, loans);
	unite_equal_tradelines(tradelines, loans);
	std::vector<std::size_t> survivor(tradelines.size());
	std::iota(survivor.begin(), survivor.end(), std::size_t{0});
	for (std::size_t i = 0; i < tradelines.size(); ++i) {
		std::size_t &best = survivor[loans.root(i)];
		if (survives(tradelines[i], tradelines[best]))
			best = i;
	}
	std::vector<const Tradeline *> distinct;
	for (std::size_t i = 0; i < tradelines.size(); ++i)
		if (survivor[loans.root(i)] == i)
			distinct.push_back(&tradelines[i]);
	return distinct;
}

} // namespace bureau
