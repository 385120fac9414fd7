#include "bureau/semantic_text.hpp"

#include <algorithm>
#include <charconv>

#include "bureau/codes.hpp"

namespace bureau {

namespace {

// Values with a separator behind each that no value holds, since control characters become blanks.
class Line {
public:
	Line(std::string &to) : to_(to) {}

	Line &operator<<(std::string_view text) {
		const std::size_t start = to_.size();
		to_ += text;
		for (std::size_t at = start; at < to_.size(); ++at)
			to_[at] = static_cast<unsigned char>(to_[at]) < ' ' ? ' ' : to_[at];
		return end();
	}

	Line &operator<<(std::int64_t number) {
		append(number);
		return end();
	}

	Line &operator<<(const Date &date) {
		append(date.year * 10000 + date.month * 100 + date.day);
		return end();
	}

	template <class T>
	Line &operator<<(const std::optional<T> &value) {
		return value ? *this << *value : end();
	}

	Line &operator<<(const std::vector<HistoryMonth> &history) {
		for (const HistoryMonth &month : history) {
			append(month.year * 100 + month.month);
			to_ += ':';
			if (month.dpd)
				append(*month.dpd);
			to_ += ',';
		}
		return end();
	}

private:
	void append(std::int64_t number) {
		char digits[24];
		to_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
	}

	Line &end() {
		to_ += '\t';
		return *this;
	}

	std::string &to_;
};

void append(std::string &to, const Tradeline &t) {
	Line(to) << t.lender << (t.lender_masked ? "masked" : "") << t.account_number << t.account_type << t.status_code << to_text(t.status)
		<< to_text(t.holder) << t.opened << t.closed << t.reported << t.last_payment << t.sanctioned << t.balance << t.past_due << t.emi
		<< t.written_off << t.rate_basis_points << t.tenure_months << t.history;
}

} // namespace

std::string semantic_text(const Reading &reading) {
	std::string text;
	Line(text) << (reading.bureau ? to_text(*reading.bureau) : "") << reading.score << reading.name << reading.pan
		<< (reading.complete ? "complete" : "degraded") << (reading.tradelines.empty() ? std::string_view(reading.reason) : "");
	std::string unsorted;
	std::vector<std::pair<std::size_t, std::size_t>> places;
	places.reserve(reading.tradelines.size());
	for (const Tradeline &tradeline : reading.tradelines) {
		const std::size_t start = unsorted.size();
		append(unsorted, tradeline);
		places.emplace_back(start, unsorted.size() - start);
	}
	const auto line = [&](const auto &place) { return std::string_view(unsorted).substr(place.first, place.second); };
	std::ranges::sort(places, {}, line);
	for (const auto &place : places) {
		text += '\n';
		text += line(place);
	}
	return text;
}

} // namespace bureau
