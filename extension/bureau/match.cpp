#include "bureau/match.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "bureau/codes.hpp"
#include "bureau/disjoint_sets.hpp"
#include "bureau/tradeline_order.hpp"

namespace bureau {

namespace {

constexpr int most_days_apart = 31;
constexpr std::size_t fewest_digits = 4;
constexpr int amounts_per_tolerance = 100; // 1 %

using Wide = __int128;

// Nothing is ever lent that is nothing: 0 stands for unknown.
bool has_amount(const Tradeline &t) noexcept { return t.sanctioned.value_or(0) > 0; }

Wide amount_difference(const Tradeline &a, const Tradeline &b) noexcept {
	const Wide difference = Wide{a.sanctioned.value_or(0)} - b.sanctioned.value_or(0);
	return difference < 0 ? -difference : difference;
}

bool amounts_agree(const Tradeline &a, const Tradeline &b) noexcept {
	if (!has_amount(a) || !has_amount(b))
		return true;
	return amount_difference(a, b) * amounts_per_tolerance <= std::max(*a.sanctioned, *b.sanctioned);
}

int days_apart(const Tradeline &a, const Tradeline &b) noexcept { return std::abs(day_number(*a.opened) - day_number(*b.opened)); }

// One bureau masks more of the number than the other.
bool tails_agree(std::string_view a, std::string_view b) noexcept {
	return std::min(a.size(), b.size()) >= fewest_digits && (a.size() < b.size() ? b.ends_with(a) : a.ends_with(b));
}

struct Match {
	std::size_t a = 0, b = 0;
	int evidence = 0;
	int days = 0;
	bool amount_missing = false;
	bool amounts_differ = false;

	// Stronger first; ties fall to the order of the loans.
	auto rank() const noexcept { return std::tuple(-evidence, amount_missing, amounts_differ, days, a, b); }
};

class Matcher {
public:
	explicit Matcher(std::span<const BureauLoan> loans) : loans_(loans), sets_(loans.size()), members_(loans.size()) {
		for (std::size_t i = 0; i < loans.size(); ++i)
			members_[i] = {i};
	}

	std::vector<std::vector<BureauLoan>> run() {
		std::vector<Match> matches = find_matches();
		std::ranges::sort(matches, {}, &Match::rank);
		for (const Match &match : matches)
			join(sets_.root(match.a), sets_.root(match.b));
		std::vector<std::vector<BureauLoan>> result;
		for (std::size_t i = 0; i < loans_.size(); ++i) {
			if (sets_.root(i) != i)
				continue;
			std::ranges::sort(members_[i]);
			auto &set = result.emplace_back();
			for (const std::size_t member : members_[i])
				set.push_back(loans_[member]);
		}
		return result;
	}

private:
	std::vector<std::size_t> matchable() const {
		std::array<std::size_t, 4> counts{};
		std::vector<std::size_t> indexes;
		for (std::size_t i = 0; i < loans_.size(); ++i)
			if (loans_[i].loan->opened && counts[static_cast<std::size_t>(loans_[i].bureau)]++ < most_matched_of_a_bureau)
				indexes.push_back(i);
		return indexes;
	}

	std::vector<Match> find_matches() const {
		const std::vector<std::size_t> candidates = matchable();
		std::vector<Match> matches;
		for (auto a = candidates.begin(); a != candidates.end(); ++a)
			for (auto b = a + 1; b != candidates.end(); ++b) {
				const BureauLoan &left = loans_[*a], &right = loans_[*b];
				if (days_apart(*left.loan, *right.loan) > most_days_apart)
					break; // sorted by opening day
				if (left.bureau != right.bureau && may_be_same_loan(*left.loan, *right.loan))
					add_if_evident(*a, *b, matches);
			}
		return matches;
	}

	void add_if_evident(std::size_t a, std::size_t b, std::vector<Match> &matches) const {
		const Tradeline &left = *loans_[a].loan, &right = *loans_[b].loan;
		const int evidence = evidence_of_same_loan(left, right);
		if (evidence < evidence_needed)
			return;
		const bool amount_missing = !has_amount(left) || !has_amount(right);
		matches.push_back({a, b, evidence, days_apart(left, right), amount_missing, amount_difference(left, right) != 0});
	}

	bool may_join(std::size_t a, std::size_t b) const {
		return std::ranges::all_of(members_[a], [&](std::size_t left) {
			return std::ranges::all_of(members_[b], [&](std::size_t right) {
				return loans_[left].bureau != loans_[right].bureau && may_be_same_loan(*loans_[left].loan, *loans_[right].loan);
			});
		});
	}

	void join(std::size_t a, std::size_t b) {
		if (a == b || !may_join(a, b))
			return;
		sets_.unite(a, b);
		const std::size_t root = std::min(a, b), other = std::max(a, b);
		members_[root].insert(members_[root].end(), members_[other].begin(), members_[other].end());
		members_[other].clear();
	}

	std::span<const BureauLoan> loans_;
	DisjointSets sets_;
	std::vector<std::vector<std::size_t>> members_; // of each root
};

} // namespace

bool may_be_same_loan(const Tradeline &a, const Tradeline &b) noexcept {
	return a.opened && b.opened && a.account_type && b.account_type && loan_class(a.account_type) == loan_class(b.account_type) &&
	       days_apart(a, b) <= most_days_apart && amounts_agree(a, b);
}

int evidence_of_same_loan(const Tradeline &a, const Tradeline &b) noexcept {
	return int{tails_agree(a.number_tail, b.number_tail)} + int{!a.lender_family.empty() && a.lender_family == b.lender_family} +
	       int{a.opened.has_value() && a.opened == b.opened};
}

bool loan_before(const BureauLoan &a, const BureauLoan &b) {
	const auto rank = [](const BureauLoan &l) { return std::tie(l.loan->opened, l.loan->sanctioned, l.bureau, l.loan->number_tail); };
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	if (content_less(*a.loan, *b.loan) || content_less(*b.loan, *a.loan))
		return content_less(*a.loan, *b.loan);
	return a.loan->position < b.loan->position;
}

std::vector<std::vector<BureauLoan>> match_loans(std::span<const BureauLoan> loans) { return Matcher(loans).run(); }

} // namespace bureau
