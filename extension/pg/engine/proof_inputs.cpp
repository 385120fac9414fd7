// Whether a check notices that the inputs have changed: each column of the items' rows in the tables that a step reads is
// changed a little, in a subtransaction that is rolled back.
#include <algorithm>

#include "pg/engine/proof.hpp"

namespace backfill::pg {

// Rows that are found by the key, through an index that begins with a column of its type. Rows that somebody has locked
// are left out, so that a proof waits for nobody; and so are tables that neither the pipeline's owner may update nor an
// operator asks about.
std::vector<Proof::Input> Proof::inputs_of(const StepMade &made) const {
	std::vector<std::int64_t> tables(made.read.begin(), made.read.end());
	return as_engine(engine_, [&] {
		return with_spi([&] {
			static constinit Statement statement(
				"SELECT DISTINCT t.name, a.attname::text, t.relowner::bigint, format('UPDATE %s t SET %I = %s WHERE t.ctid = ANY (ARRAY("
				"SELECT q.ctid FROM %s q WHERE q.%I = ANY ($1) FOR UPDATE SKIP LOCKED))', t.name, a.attname, format(h.how, a.attname), t.name, k.attname) "
				"FROM (SELECT c.oid, c.relowner, format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
				"WHERE c.oid = ANY ($1::bigint[]::oid[]) AND c.relkind = 'r' "
				"AND (has_table_privilege($3::bigint::oid, c.oid, 'UPDATE') OR backfill._is_member('backfill_operator'))) t "
				"JOIN pg_index i ON i.indrelid = t.oid AND i.indpred IS NULL AND i.indisvalid "
				"JOIN pg_attribute k ON k.attrelid = t.oid AND k.attnum = i.indkey[0] AND k.atttypid = $2::bigint::oid "
				"JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND a.attnum <> k.attnum AND NOT a.attisdropped "
				"AND a.attgenerated = '' AND a.attidentity <> 'a' "
				"JOIN pg_type y ON y.oid = a.atttypid "
				"CROSS JOIN LATERAL (SELECT CASE WHEN a.atttypid IN (16) THEN 'NOT %I' WHEN y.typcategory = 'N' AND a.atttypid <> 26 THEN '%I + 1' "
				"WHEN a.atttypid IN (25, 1043) THEN '%I || ''1''' WHEN a.atttypid = 17 THEN '%I || ''\\x00''' "
				"WHEN a.atttypid IN (1114, 1184) THEN '%I + interval ''1 day''' WHEN a.atttypid = 1082 THEN '%I + 1' END) h(how) "
				"WHERE h.how IS NOT NULL ORDER BY 1, 2, 4");
			const Result rows = statement.run({Param::of(tables), Param::of(static_cast<std::int64_t>(pipeline_.keys.oid())),
			                                    Param::of(static_cast<std::int64_t>(pipeline_.owner))});
			std::vector<Input> inputs;
			for (std::uint64_t i = 0; i < rows.rows(); ++i)
				inputs.push_back({rows.text(i, 1), rows.text(i, 2), static_cast<Oid>(rows.int8(i, 3)), rows.text(i, 4)});
			return inputs;
		});
	});
}

// As the table's owner: its triggers run. How many rows are other now; 0 where they refuse.
std::int64_t Proof::change(const Input &input) const {
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
	return refused ? 0 : rows;
}

void Proof::change_inputs(const Making &making) {
	const auto done = done_so_far();
	for (std::size_t i = 0; i < done.size(); ++i) {
		const int step = static_cast<int>(i);
		const Written &own = making.steps[i].written;
		// What is wrong with the work already would be taken for the inputs' doing.
		if (done[i].empty() || has(step, "not_repeatable") || has(step, "check_wrote") || has(step, "check_unsteady"))
			continue;
		for (const Input &input : inputs_of(making.steps[i]))
			if (own.added.count(input.table) == 0 && own.removed.count(input.table) == 0)
				rolled_back([&] { change_input(step, done[i], input); });
	}
}

// A change that makes no difference to the work is none that the check should notice.
void Proof::change_input(int step, const std::vector<int> &members, const Input &input) {
	if (change(input) == 0)
		return;
	const std::vector<int> now = lacking(step, members);
	std::vector<int> unnoticed;
	std::set_difference(members.begin(), members.end(), now.begin(), now.end(), std::back_inserter(unnoticed));
	if (unnoticed.empty())
		return;
	const Written written = do_again(step, unnoticed);
	if (written.added.count(input.table) > 0 || written.removed.count(input.table) > 0)
		return; // an output that was put right
	for (const core::Difference &difference :
	     core::differences(written.removed, written.added, written.removed, written.added, known_[static_cast<std::size_t>(step)]))
		if (!is_told(difference.table)) {
			note(step, "check_wrong", unnoticed.size(),
			     "The check does not notice that column " + input.column + " of " + input.table + " has changed, and the work makes another " +
			         difference.table + " of it.");
			return;
		}
}

} // namespace backfill::pg
