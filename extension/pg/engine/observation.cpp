#include "pg/engine/observation.hpp"

#include "pg/engine/written_rows.hpp"
#include "pg/identity.hpp"
#include "pg/subtransaction.hpp"

extern "C" {
#include "access/transam.h"
#include "commands/async.h"
}

namespace backfill::pg {

std::size_t Written::rows() const noexcept {
	std::size_t count = 0;
	for (const auto *tables : {&added, &removed})
		for (const auto &table : *tables)
			count += table.second.rows.size();
	return count;
}

namespace {

// Rows written in this transaction so far, by table. Counts only grow, also where a subtransaction was rolled back.
std::map<Oid, std::int64_t> writes_so_far() {
	static constinit Statement statement(
		"SELECT s.relid::bigint, s.n_tup_ins + s.n_tup_upd + s.n_tup_del FROM pg_stat_xact_all_tables s "
		"WHERE s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0 "
		"AND (s.schemaname NOT IN ('backfill', 'pg_catalog', 'pg_toast', 'information_schema') "
		"OR s.schemaname = 'backfill' AND s.relname IN ('message', 'superseded', 'counter'))");
	const Result rows = statement.run({});
	std::map<Oid, std::int64_t> writes;
	for (std::uint64_t i = 0; i < rows.rows(); ++i)
		writes[static_cast<Oid>(rows.int8(i, 1))] = rows.int8(i, 2);
	return writes;
}

std::map<Oid, std::int64_t> reads_so_far() {
	static constinit Statement statement(
		"SELECT s.relid::bigint, coalesce(s.seq_scan, 0) + coalesce(s.idx_scan, 0) FROM pg_stat_xact_user_tables s "
		"WHERE s.schemaname <> 'backfill' AND coalesce(s.seq_scan, 0) + coalesce(s.idx_scan, 0) > 0");
	const Result rows = statement.run({});
	std::map<Oid, std::int64_t> reads;
	for (std::uint64_t i = 0; i < rows.rows(); ++i)
		reads[static_cast<Oid>(rows.int8(i, 1))] = rows.int8(i, 2);
	return reads;
}

Result sequence_positions() {
	static constinit Statement statement(
		"SELECT s.seqrelid::bigint, coalesce(l.last, 0), l.last IS NOT NULL, s.seqincrement > 0, "
		"NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid "
		"AND d.refclassid = 'pg_class'::regclass AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')), "
		"format('%I.%I', n.nspname, c.relname) "
		"FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
		"CROSS JOIN LATERAL pg_sequence_last_value(s.seqrelid) l(last) "
		"WHERE n.nspname <> 'backfill' AND NOT pg_is_other_temp_schema(n.oid) ORDER BY 6");
	return statement.run({});
}

// The number that this session last took, if it took any.
std::optional<std::int64_t> own_last(Oid sequence) {
	std::optional<std::int64_t> last;
	const auto none = subtransaction([&] {
		static constinit Statement statement("SELECT currval($1::oid::regclass)");
		last = statement.run({Param::of(static_cast<std::int64_t>(sequence))}).int8(0, 1);
	});
	if (none && none->is_operator_intervention())
		none->rethrow();
	return last;
}

template <class Fn>
auto asked(Oid engine, Fn fn) {
	return as_engine(engine, [&] { return with_spi(fn); });
}

} // namespace

Observation::Observation(Oid engine_owner)
	: engine_(engine_owner), since_(call([]() noexcept { return ReadNextTransactionId(); })) {
	asked(engine_, [&] {
		writes_ = writes_so_far();
		reads_ = reads_so_far();
		const Result rows = sequence_positions();
		for (std::uint64_t i = 0; i < rows.rows(); ++i)
			positions_[static_cast<Oid>(rows.int8(i, 1))] = {rows.int8(i, 2), rows.boolean(i, 3)};
	});
}

Written Observation::written() const {
	Written written;
	asked(engine_, [&] {
		for (const auto &[table, writes] : writes_so_far()) {
			const auto before = writes_.find(table);
			if (before == writes_.end() || before->second != writes)
				add_written_rows(table, since_, written);
		}
	});
	return written;
}

std::vector<Oid> Observation::read() const {
	return asked(engine_, [&] {
		std::vector<Oid> tables;
		for (const auto &[table, reads] : reads_so_far()) {
			const auto before = reads_.find(table);
			if (before == reads_.end() || before->second != reads)
				tables.push_back(table);
		}
		return tables;
	});
}

// Other sessions take numbers too: what this one took last must lie behind where the sequence was.
std::vector<std::string> Observation::sequences(bool free) const {
	return asked(engine_, [&] {
		std::vector<std::string> moved;
		const Result rows = sequence_positions();
		for (std::uint64_t i = 0; i < rows.rows(); ++i) {
			const Oid sequence = static_cast<Oid>(rows.int8(i, 1));
			const auto before = positions_.find(sequence);
			if (before == positions_.end() || !rows.boolean(i, 3) || (free && !rows.boolean(i, 5)) ||
			    (before->second.called && before->second.last == rows.int8(i, 2)))
				continue;
			const auto last = own_last(sequence);
			if (last && (!before->second.called || (rows.boolean(i, 4) ? *last > before->second.last : *last < before->second.last)))
				moved.push_back(rows.text(i, 6));
		}
		return moved;
	});
}

// What a transaction is about to notify is known to nobody but the function that refuses to prepare one that does.
bool Observation::has_notifications() {
	return subtransaction([] { call([]() noexcept { AtPrepare_Notify(); }); }).has_value();
}

bool Observation::take_notifications() {
	const bool has = has_notifications();
	if (has)
		call([]() noexcept { AtAbort_Notify(); });
	return has;
}

} // namespace backfill::pg
