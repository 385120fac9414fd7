#include "pg/engine/written_rows.hpp"

#include <algorithm>

extern "C" {
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "nodes/nodes.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
}

namespace backfill::pg {

namespace {

enum class Part { other, added, removed };

struct Scan {
	Relation relation = nullptr;
	TableScanDesc scan = nullptr;
	TupleTableSlot *slot = nullptr;
	TransactionId since = InvalidTransactionId;
	char **values = nullptr; // of the row found: by the types' output functions; null pointers for nulls
};

bool is_ours(TransactionId id, TransactionId since) noexcept {
	return TransactionIdIsCurrentTransactionId(id) && TransactionIdFollowsOrEquals(id, since);
}

Part part_of(HeapTupleHeader row, TransactionId since) noexcept {
	const bool locked_only = (row->t_infomask & HEAP_XMAX_INVALID) != 0 || HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask);
	const bool is_new = is_ours(HeapTupleHeaderGetXmin(row), since);
	const bool is_gone = !locked_only && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(row));
	if (is_new)
		return is_gone ? Part::other : Part::added;
	return is_gone && is_ours(HeapTupleHeaderGetUpdateXid(row), since) ? Part::removed : Part::other;
}

void read_values(Scan &scan) noexcept {
	const TupleDesc columns = RelationGetDescr(scan.relation);
	slot_getallattrs(scan.slot);
	for (int i = 0; i < columns->natts; ++i) {
		scan.values[i] = nullptr;
		if (TupleDescAttr(columns, i)->attisdropped || scan.slot->tts_isnull[i])
			continue;
		Oid output = InvalidOid;
		bool varlena = false;
		getTypeOutputInfo(TupleDescAttr(columns, i)->atttypid, &output, &varlena);
		scan.values[i] = OidOutputFunctionCall(output, scan.slot->tts_values[i]);
	}
}

// Row versions of all times, for those that this transaction removed are there until it ends.
Part next_part(Scan &scan) noexcept {
	while (table_scan_getnextslot(scan.scan, ForwardScanDirection, scan.slot)) {
		CHECK_FOR_INTERRUPTS();
		bool should_free = false;
		const HeapTuple row = ExecFetchSlotHeapTuple(scan.slot, false, &should_free);
		const Part part = part_of(row->t_data, scan.since);
		if (part == Part::other)
			continue;
		read_values(scan);
		return part;
	}
	return Part::other;
}

bool is_by_default(Relation relation, int column) noexcept {
	const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column);
	if (attribute->attidentity != '\0')
		return true;
	const TupleConstr *const rules = RelationGetDescr(relation)->constr;
	if (rules == nullptr || attribute->attgenerated != '\0')
		return false;
	for (int i = 0; i < rules->num_defval; ++i)
		if (rules->defval[i].adnum == column + 1)
			return contain_mutable_functions(static_cast<Node *>(stringToNode(rules->defval[i].adbin)));
	return false;
}

// Of the engine's own tables: what is told or counted. The rest names the run, or follows from these.
bool is_content(const std::string &column) {
	static constexpr std::string_view content[] = {"message_type", "recipient", "window_from", "window_to", "channel", "payload",
	                                               "item", "metric", "key", "amount"};
	return std::find(std::begin(content), std::end(content), column) != std::end(content);
}

core::TableRows header_of(Relation relation, bool ours) {
	core::TableRows table;
	const TupleDesc columns = RelationGetDescr(relation);
	for (int i = 0; i < columns->natts; ++i) {
		if (TupleDescAttr(columns, i)->attisdropped)
			continue;
		table.columns.emplace_back(NameStr(TupleDescAttr(columns, i)->attname));
		table.by_default.push_back(ours ? !is_content(table.columns.back())
		                                : call([&]() noexcept { return is_by_default(relation, i); }));
	}
	return table;
}

std::vector<std::string> row_of(const Scan &scan) {
	std::vector<std::string> row;
	const TupleDesc columns = RelationGetDescr(scan.relation);
	for (int i = 0; i < columns->natts; ++i)
		if (!TupleDescAttr(columns, i)->attisdropped)
			row.push_back(scan.values[i] == nullptr ? std::string(core::null_text) : std::string(scan.values[i]));
	return row;
}

std::string name_of(Relation relation) {
	return call([&]() noexcept {
		return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)), RelationGetRelationName(relation));
	});
}

} // namespace

void add_written_rows(Oid table, TransactionId since, Written &written) {
	Scan scan;
	scan.since = since;
	scan.relation = call([&]() noexcept { return try_relation_open(table, AccessShareLock); });
	if (scan.relation == nullptr)
		return;
	const std::string name = name_of(scan.relation);
	if (scan.relation->rd_tableam != GetHeapamTableAmRoutine()) {
		written.unseen.push_back(name);
		call([&]() noexcept { relation_close(scan.relation, AccessShareLock); });
		return;
	}
	const core::TableRows header = header_of(scan.relation, name.starts_with("backfill."));
	call([&]() noexcept {
		scan.scan = table_beginscan(scan.relation, SnapshotAny, 0, nullptr);
		scan.slot = table_slot_create(scan.relation, nullptr);
		scan.values = static_cast<char **>(palloc0(sizeof(char *) * static_cast<std::size_t>(RelationGetDescr(scan.relation)->natts)));
	});
	for (;;) {
		const Part part = call([&]() noexcept { return next_part(scan); });
		if (part == Part::other)
			break;
		auto &tables = part == Part::added ? written.added : written.removed;
		tables.try_emplace(name, header).first->second.rows.push_back(row_of(scan));
	}
	call([&]() noexcept {
		ExecDropSingleTupleTableSlot(scan.slot);
		table_endscan(scan.scan);
		relation_close(scan.relation, AccessShareLock);
	});
}

} // namespace backfill::pg
