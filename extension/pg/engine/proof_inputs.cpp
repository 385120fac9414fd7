// Whether a check notices that the inputs have changed: each column of the items' rows in the tables that a step reads is
// changed a little, in a subtransaction that is rolled back.
#include <algorithm>

#include "pg/engine/proof.hpp"

namespace backfill::pg {

// Rows that are found by the key, through an index that begins with a column of its type. Rows that somebody has locked
// are left out, so that a proof waits for nobody. Tables that the pipeline's owner may not update are only for operators.
std::vector<Proof::Input> Proof::inputs_in(const std::set<Oid> &read) const {
	const std::vector<std::int64_t> tables(read.begin(), read.end());
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT DISTINCT t.name, a.attname::text, t.relowner::bigint, t.may_change, h.how <> '%I', format('UPDATE %s t SET %I = %s WHERE t.ctid = ANY (ARRAY("
				"SELECT q.ctid FROM %s q WHERE q.%I = ANY ($1) FOR UPDATE SKIP LOCKED))', t.name, a.attname, format(h.how, a.attname), t.name, k.attname) "
				"FROM (SELECT c.oid, c.relowner, format('%I.%I', n.nspname, c.relname) AS name, "
				"has_table_privilege($3::bigint::oid, c.oid, 'UPDATE') OR backfill._is_member('backfill_operator') AS may_change "
				"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
				"WHERE c.oid = ANY ($1::bigint[]::oid[]) AND c.relkind = 'r') t "
				"JOIN pg_index i ON i.indrelid = t.oid AND i.indpred IS NULL AND i.indisvalid "
				"JOIN pg_attribute k ON k.attrelid = t.oid AND k.attnum = i.indkey[0] AND k.atttypid = $2::bigint::oid "
				"JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND a.attnum <> k.attnum AND NOT a.attisdropped "
				"AND a.attgenerated = '' AND a.attidentity <> 'a' "
				"JOIN pg_type y ON y.oid = a.atttypid "
				"CROSS JOIN LATERAL (SELECT CASE WHEN a.atttypid IN (16) THEN 'NOT %I' WHEN y.typcategory = 'N' AND a.atttypid <> 26 THEN '%I + 1' "
				"WHEN a.atttypid IN (25, 1043) THEN '%I || ''1''' WHEN a.atttypid = 17 THEN '%I || ''\\x00''' "
				"WHEN a.atttypid IN (1114, 1184) THEN '%I + interval ''1 day''' WHEN a.atttypid = 1082 THEN '%I + 1' ELSE '%I' END) h(how) "
				"ORDER BY 1, 2, 6");
			const Result rows = statement.run({Param::of(tables), Param::of(static_cast<std::int64_t>(pipeline_.keys.oid())),
			                                    Param::of(static_cast<std::int64_t>(pipeline_.owner))});
			std::vector<Input> inputs;
			for (std::uint64_t i = 0; i < rows.rows(); ++i)
				inputs.push_back({rows.text(i, 1), rows.text(i, 2), static_cast<Oid>(rows.int8(i, 3)), rows.boolean(i, 4), rows.boolean(i, 5), rows.text(i, 6)});
			return inputs;
		});
	});
}

// As the table's owner: its triggers run. How many rows are other now; nothing where they, or its constraints, refuse.
std::optional<std::int64_t> Proof::change(const Input &input) const {
	std::int64_t rows = 0;
	const auto refused = subtransaction([&] {
		with_identity(input.owner, SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION, {{"search_path", "pg_catalog, pg_temp"}}, [&] {
			with_spi([&] {
				Param keys = pipeline_.keys.array_of(items_, all_);
				rows = call([&]() noexcept {
					if (SPI_execute_with_args(input.update.c_str(), 1, &keys.type, &keys.value, nullptr, false, 0) != SPI_OK_UPDATE)
						elog(ERROR, "could not change an input");
					return static_cast<std::int64_t>(SPI_processed);
				});
			});
		});
	});
	if (refused && refused->is_operator_intervention())
		refused->rethrow();
	return refused ? std::nullopt : std::optional(rows);
}

// The tables that a step reads, and those that the steps before it read: these may pass a change on.
void Proof::change_inputs(const Making &making) {
	const auto done = done_so_far();
	std::set<Oid> read;
	std::set<std::string> made;
	for (const StepMade &step : making.steps)
		for (const auto *tables : {&step.written.added, &step.written.removed})
			for (const auto &table : *tables)
				made.insert(table.first);
	for (std::size_t i = 0; i < done.size(); ++i) {
		const int step = static_cast<int>(i);
		const Written &own = making.steps[i].written;
		read.insert(making.steps[i].read.begin(), making.steps[i].read.end());
		// What is wrong with the work already would be taken for the inputs' doing.
		if (done[i].empty() || has(step, "not_repeatable") || has(step, "check_wrote") || has(step, "check_unsteady"))
			continue;
		for (const Input &input : inputs_in(read)) {
			const bool is_source = made.count(input.table) == 0;
			if (own.added.count(input.table) > 0 || own.removed.count(input.table) > 0 || (!is_source && !input.has_other))
				continue;
			if (!input.may_change)
				note_unchanged(input.table, "The pipeline's owner may not update such a table: let an operator prove the pipeline.");
			else
				rolled_back([&] { change_input({step, input, is_source, done[i]}, making); });
		}
	}
}

// The change, and what the steps before this one make of it. Those of the members that come as far.
std::vector<int> Proof::change_before(const Unnoticed &changed) {
	const auto rows = change(changed.input);
	if (changed.is_source && (!rows || (*rows > 0 && !changed.input.has_other)))
		note_unchanged(changed.input);
	if (!rows || *rows == 0 || !changed.input.has_other)
		return {};
	std::vector<int> members = changed.members;
	for (int step = 0; step < changed.step && !members.empty(); ++step) {
		members = in_run(false, [&](Chain &chain) { return chain.process_step(step, items_, members, false).going_on; });
		Observation::take_notifications();
	}
	return members;
}

// A change that makes no difference to the work is none that the check should notice. Whether it makes one cannot be told
// from work that leaves alone what is there: that is made afresh later. Not from a change of what a step has made: that step
// would have put its fingerprint in, too.
void Proof::change_input(Unnoticed changed, const Making &making) {
	std::vector<int> &members = changed.members;
	const Observation before(engine_);
	members = change_before(changed);
	if (!members.empty())
		for (const int noticed : lacking(changed.step, members))
			members.erase(std::find(members.begin(), members.end(), noticed));
	if (members.empty())
		return;
	const Written earlier = before.written();
	Written written = do_again(changed.step, members);
	for (core::Tables *rows : {&written.removed, &written.added})
		*rows = core::without_numbers(*rows, {earlier.removed, earlier.added});
	if (note_unnoticed(changed, written.removed, written, Output::found))
		return;
	members.erase(std::remove_if(members.begin(), members.end(), [&](int member) { return !is_made(making, changed.step, member); }),
	              members.end());
	if (changed.is_source && !members.empty())
		unnoticed_.push_back(std::move(changed));
}

// Whether the output is another, of the same items. Copies of numbers that the earlier steps' tables gave their rows are
// struck out of it: what says the same may be taken from another row now. One made afresh that is less lacks nothing: what
// it is made of belongs to another item now.
bool Proof::note_unnoticed(const Unnoticed &changed, const core::Tables &before, const Written &after, Output output) {
	const Input &input = changed.input;
	if (after.added.count(input.table) > 0 || after.removed.count(input.table) > 0)
		return false; // an output that was put right
	for (const core::Difference &difference :
	     core::differences(before, after.added, before, after.added, known_[static_cast<std::size_t>(changed.step)])) {
		if (is_told(difference.table) || (output == Output::fresh && difference.two < difference.one))
			continue;
		note(changed.step, "check_wrong", changed.members.size(),
		     "The check does not notice that column " + input.column + " of " + input.table + " has changed, and the work" +
		         (output == Output::fresh ? ", done afresh," : "") + " makes another " + difference.table + " of it.");
		return true;
	}
	return false;
}

} // namespace backfill::pg
