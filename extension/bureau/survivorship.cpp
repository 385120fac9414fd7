#include "bureau/survivorship.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "bureau/codes.hpp"
#include "bureau/tradeline_order.hpp"

namespace bureau {

namespace {

template <class T>
bool is_known(const std::optional<T> &value) { return value.has_value(); }
bool is_known(const std::string &value) { return !value.empty(); }
bool is_known(Holder value) { return value != Holder::unknown; }

// Hundredths: paise of rupees, basis points of a percent.
std::string with_hundredths(std::int64_t hundredths) {
	const bool negative = hundredths < 0;
	const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(hundredths) : static_cast<std::uint64_t>(hundredths);
	char text[32];
	std::snprintf(text, sizeof text, "%s%llu.%02llu", negative ? "-" : "", static_cast<unsigned long long>(size / 100), static_cast<unsigned long long>(size % 100));
	return text;
}

std::string as_text(const std::optional<Paise> &value) { return with_hundredths(*value); }
std::string as_text(const std::optional<int> &value) { return std::to_string(*value); }
std::string as_text(const std::string &value) { return value; }
std::string as_text(Holder value) { return std::string(to_text(value)); }
std::string as_text(const std::optional<Date> &value) {
	char text[32];
	std::snprintf(text, sizeof text, "%04d-%02d-%02d", value->year, value->month, value->day);
	return text;
}

using Ranked = std::vector<const BureauLoan *>;

Ranked latest_first(std::span<const BureauLoan> members) {
	Ranked ranked;
	for (const BureauLoan &member : members)
		ranked.push_back(&member);
	std::ranges::stable_sort(ranked, [](const BureauLoan *a, const BureauLoan *b) {
		const auto rank = [](const BureauLoan *m) { return std::tie(m->loan->reported, m->complete, m->report_ms); };
		return rank(a) != rank(b) ? rank(a) > rank(b) : a->bureau < b->bureau;
	});
	return ranked;
}

bool is_open(const BureauLoan *m) { return m->loan->status != StatusClass::unknown && !has_ended(m->loan->status); }

// The bureau whose word on the state counts; null if none knows it.
const BureauLoan *state_owner(const Ranked &ranked) {
	const auto latest = std::ranges::find_if(ranked, [](const BureauLoan *m) { return m->loan->status != StatusClass::unknown; });
	if (latest == ranked.end())
		return nullptr;
	if (has_ended((*latest)->loan->status))
		return *latest;
	const auto ends_for_all = [&](const BureauLoan *m) {
		return has_ended(m->loan->status) && m->loan->closed &&
		       std::ranges::none_of(ranked, [&](const BureauLoan *other) { return is_open(other) && other->loan->reported > m->loan->closed; });
	};
	const auto closer = std::ranges::find_if(ranked, ends_for_all);
	return closer == ranked.end() ? *latest : *closer;
}

class Survivorship {
public:
	explicit Survivorship(std::span<const BureauLoan> members) : ranked_(latest_first(members)) {}

	SurvivingFacts run() {
		settle_lender();
		settle_number();
		settle_by_majority("account_type", &Tradeline::account_type);
		settle_by_majority("holder", &Tradeline::holder);
		settle_by_majority("opened", &Tradeline::opened);
		settle_by_majority("sanctioned", &Tradeline::sanctioned);
		settle_state();
		settle("emi", &Tradeline::emi, ranked_);
		settle("rate", &Tradeline::rate_basis_points, ranked_);
		settle("tenure", &Tradeline::tenure_months, ranked_);
		settle("written_off", &Tradeline::written_off, ranked_);
		settle("last_payment", &Tradeline::last_payment, ranked_);
		settle_history();
		return std::move(result_);
	}

private:
	void name_source(const char *field, const BureauLoan *m) { result_.provenance.push_back({field, m->bureau}); }

	void keep_loser(const char *field, const BureauLoan *m, std::string value) { result_.disagreements.push_back({field, m->bureau, std::move(value)}); }

	template <class T>
	void take(const char *field, T Tradeline::*value, const BureauLoan *winner) {
		result_.facts.*value = winner->loan->*value;
		name_source(field, winner);
		for (const BureauLoan *m : ranked_)
			if (is_known(m->loan->*value) && m->loan->*value != winner->loan->*value)
				keep_loser(field, m, text_of(value, m));
	}

	template <class T>
	static std::string text_of(T Tradeline::*value, const BureauLoan *m) {
		if constexpr (std::is_same_v<T, std::optional<int>>)
			if (value == &Tradeline::rate_basis_points)
				return with_hundredths(*m->loan->rate_basis_points);
		return as_text(m->loan->*value);
	}

	// The first of the candidates that has a value.
	template <class T>
	void settle(const char *field, T Tradeline::*value, const Ranked &candidates) {
		const auto winner = std::ranges::find_if(candidates, [&](const BureauLoan *m) { return is_known(m->loan->*value); });
		if (winner != candidates.end())
			take(field, value, *winner);
	}

	template <class T>
	void settle_by_majority(const char *field, T Tradeline::*value) {
		const auto votes = [&](const BureauLoan *m) {
			return std::ranges::count_if(ranked_, [&](const BureauLoan *other) { return other->loan->*value == m->loan->*value; });
		};
		const BureauLoan *winner = nullptr;
		for (const BureauLoan *m : ranked_)
			if (is_known(m->loan->*value) && (!winner || votes(m) > votes(winner)))
				winner = m;
		if (winner)
			take(field, value, winner);
	}

	void settle_lender() {
		settle_by_majority("lender", &Tradeline::lender_family);
		Tradeline &facts = result_.facts;
		const auto named = std::ranges::find_if(ranked_, [&](const BureauLoan *m) { return !m->loan->lender.empty() && m->loan->lender_family == facts.lender_family; });
		if (named != ranked_.end())
			facts.lender = (*named)->loan->lender;
		else
			facts.lender_masked = std::ranges::any_of(ranked_, [](const BureauLoan *m) { return m->loan->lender_masked; });
	}

	// The bureau that masks least of it.
	void settle_number() {
		const auto shown = [](const BureauLoan *m) { return m->loan->number_tail.size(); };
		const BureauLoan *winner = *std::ranges::max_element(ranked_, {}, shown);
		result_.facts.account_number = winner->loan->account_number;
		result_.facts.number_tail = winner->loan->number_tail;
		if (!winner->loan->account_number.empty())
			name_source("account_number", winner);
		for (const BureauLoan *m : ranked_)
			if (!m->loan->number_tail.empty() && !winner->loan->number_tail.ends_with(m->loan->number_tail))
				keep_loser("account_number", m, m->loan->account_number);
	}

	// The owner of the state, then those that agree with it on whether the loan goes on.
	void settle_state() {
		const BureauLoan *owner = state_owner(ranked_);
		if (!owner)
			owner = ranked_.front();
		Ranked agreeing{owner};
		for (const BureauLoan *m : ranked_)
			if (m != owner && has_ended(m->loan->status) == has_ended(owner->loan->status))
				agreeing.push_back(m);
		result_.facts.status = owner->loan->status;
		result_.facts.status_code = owner->loan->status_code;
		name_source("status", owner);
		for (const BureauLoan *m : ranked_)
			if (m->loan->status != owner->loan->status && m->loan->status != StatusClass::unknown)
				keep_loser("status", m, std::string(to_text(m->loan->status)));
		settle("reported", &Tradeline::reported, agreeing);
		settle("closed", &Tradeline::closed, agreeing);
		settle("balance", &Tradeline::balance, agreeing);
		settle("past_due", &Tradeline::past_due, agreeing);
		settle("dpd", &Tradeline::dpd, agreeing);
		keep_closing_days_of_others(agreeing);
	}

	// A closing day that nobody who agrees has one for.
	void keep_closing_days_of_others(const Ranked &agreeing) {
		if (result_.facts.closed)
			return;
		for (const BureauLoan *m : ranked_)
			if (m->loan->closed && std::ranges::find(agreeing, m) == agreeing.end())
				keep_loser("closed", m, as_text(m->loan->closed));
	}

	void settle_history() {
		std::map<std::pair<int, int>, std::pair<HistoryMonth, const BureauLoan *>, std::greater<>> months;
		for (const BureauLoan *m : ranked_)
			for (const HistoryMonth &month : m->loan->history) {
				const auto [known, added] = months.try_emplace({month.year, month.month}, month, m);
				if (!added && !known->second.first.dpd && month.dpd)
					known->second = {month, m};
				else if (!added && month.dpd && known->second.first.dpd != month.dpd)
					keep_loser("history", m, month_text(month));
			}
		Ranked sources;
		for (const auto &[when, entry] : months) {
			result_.facts.history.push_back(entry.first);
			if (std::ranges::find(sources, entry.second) == sources.end())
				sources.push_back(entry.second);
		}
		for (const BureauLoan *m : ranked_)
			if (std::ranges::find(sources, m) != sources.end())
				name_source("history", m);
	}

	static std::string month_text(const HistoryMonth &month) {
		char text[48];
		std::snprintf(text, sizeof text, "%04d-%02d %d", month.year, month.month, *month.dpd);
		return text;
	}

	Ranked ranked_; // the latest first
	SurvivingFacts result_;
};

} // namespace

SurvivingFacts surviving_facts(std::span<const BureauLoan> members) { return Survivorship(members).run(); }

} // namespace bureau
