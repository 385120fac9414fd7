#include "pg/engine/command_check.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "pg/engine/keys.hpp"
#include "pg/engine/outcome_type.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/plancache.h"
}

namespace backfill::pg {

namespace {

using core::Error;
using core::ErrorCode;

const char *name_of(CommandKind kind) {
	switch (kind) {
	case CommandKind::candidates:
		return "candidate query";
	case CommandKind::done:
		return "done check";
	case CommandKind::lacking:
		return "lacking check";
	case CommandKind::work:
	case CommandKind::batch_work:
		return "work command";
	case CommandKind::clear:
	case CommandKind::batch_clear:
		return "clear command";
	}
	return "command";
}

bool is_batch(CommandKind kind) {
	return kind == CommandKind::lacking || kind == CommandKind::batch_work || kind == CommandKind::batch_clear;
}

bool is_query(CommandKind kind) {
	return kind == CommandKind::candidates || kind == CommandKind::done || kind == CommandKind::lacking;
}

std::vector<Oid> parameters(CommandKind kind, Oid key_type) {
	if (kind == CommandKind::candidates)
		return {TIMESTAMPTZOID, TIMESTAMPTZOID};
	if (is_batch(kind))
		return {call([&]() noexcept { return get_array_type(key_type); })};
	return {key_type};
}

// What the parser made of a command; lists of PostgreSQL, valid until the SPI connection ends.
struct Parsed {
	int statements = 0;
	bool utility = false;
	bool selects = false; // reads only: no data-modifying WITH
	bool locks = false;   // FOR UPDATE and its like
	int parameters = 0;   // highest $n that is used
	bool used[2] = {false, false};
	TupleDesc columns = nullptr;
	int location = 0; // of the statement in the text
	int length = 0;   // 0: to the end
};

struct Walk {
	Parsed *parsed;
};

bool find_parameters(Node *node, void *context) noexcept;

// PostgreSQL 15 declares tree walkers without their parameters.
bool (*const walker)() = reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(find_parameters));

bool find_parameters(Node *node, void *context) noexcept {
	if (node == nullptr)
		return false;
	if (IsA(node, Param)) {
		const ::Param *const param = reinterpret_cast<::Param *>(node);
		if (param->paramkind == PARAM_EXTERN && param->paramid >= 1 && param->paramid <= 2)
			static_cast<Walk *>(context)->parsed->used[param->paramid - 1] = true;
		return false;
	}
	if (IsA(node, Query)) {
		Query *const query = reinterpret_cast<Query *>(node);
		if (query->rowMarks != NIL)
			static_cast<Walk *>(context)->parsed->locks = true;
		return query_tree_walker(query, walker, context, 0);
	}
	return expression_tree_walker(node, walker, context);
}

Parsed parse(const std::string &sql, std::vector<Oid> types) {
	const char *const text = sql.c_str();
	Oid *const oids = types.data();
	const int count = static_cast<int>(types.size());
	return call([&]() noexcept {
		Parsed parsed;
		SPIPlanPtr plan = SPI_prepare(text, count, oids);
		List *const sources = plan == nullptr ? NIL : SPI_plan_get_plan_sources(plan);
		parsed.statements = list_length(sources);
		if (parsed.statements != 1)
			return parsed;
		const CachedPlanSource *const source = static_cast<CachedPlanSource *>(linitial(sources));
		parsed.columns = source->resultDesc;
		parsed.location = std::max(source->raw_parse_tree->stmt_location, 0);
		parsed.length = source->raw_parse_tree->stmt_len;
		Walk walk{&parsed};
		ListCell *cell;
		foreach (cell, source->query_list) {
			Query *const query = lfirst_node(Query, cell);
			parsed.utility = query->commandType == CMD_UTILITY;
			parsed.selects = query->commandType == CMD_SELECT && !query->hasModifyingCTE;
			find_parameters(reinterpret_cast<Node *>(query), &walk);
		}
		return parsed;
	});
}

void require_one_statement(CommandKind kind, const Parsed &parsed) {
	const std::string what = name_of(kind);
	if (parsed.statements == 0)
		throw Error(ErrorCode::invalid_argument, what + " is empty", "Give one SQL command.");
	if (parsed.statements > 1)
		throw Error(ErrorCode::invalid_argument, what + " has " + std::to_string(parsed.statements) + " statements",
		            "Give one SQL command; put several into a function and call that.");
	if (parsed.utility)
		throw Error(ErrorCode::invalid_argument, what + " is a utility command",
		            "Use SELECT, INSERT, UPDATE, DELETE or MERGE; a utility command cannot be given a key.");
}

void require_query(CommandKind kind, const Parsed &parsed) {
	const std::string what = name_of(kind);
	if (!parsed.selects || parsed.columns == nullptr)
		throw Error(ErrorCode::invalid_argument, what + " writes", "A check only reads: use SELECT without data-modifying WITH.");
	if (parsed.locks)
		throw Error(ErrorCode::invalid_argument, what + " locks rows", "Remove FOR UPDATE or FOR SHARE.");
}

void require_parameters(CommandKind kind, const Parsed &parsed) {
	const std::string what = name_of(kind);
	if (kind == CommandKind::candidates) {
		if (!parsed.used[0] || !parsed.used[1])
			throw Error(ErrorCode::invalid_argument, what + " does not use " + (parsed.used[0] ? "$2" : "$1"),
			            "Bound the arrival time on both sides: at >= $1 AND at < $2.");
	} else if (!parsed.used[0]) {
		throw Error(ErrorCode::invalid_argument, what + " does not use $1",
		            is_batch(kind) ? "$1 is the array of keys of the batch." : "$1 is the key of the item.");
	}
}

Oid column_type(const Parsed &parsed, int column) {
	return call([&]() noexcept { return TupleDescAttr(parsed.columns, column)->atttypid; });
}

bool coerces(Oid from, Oid to) {
	return call([&]() noexcept { return can_coerce_type(1, &from, &to, COERCION_IMPLICIT); });
}

void require_column(CommandKind kind, const Parsed &parsed, int column, Oid expected, const std::string &role) {
	const Oid actual = column_type(parsed, column);
	if (!coerces(actual, expected))
		throw Error(ErrorCode::wrong_type,
		            std::string(name_of(kind)) + " returns " + format_type(actual) + " as " + role + ", not " +
			            format_type(expected),
		            "Cast column " + std::to_string(column + 1) + " to " + format_type(expected) + ".");
}

// The engine reads these keys as they come: no cast can be put around a command.
void require_key(CommandKind kind, const Parsed &parsed, Oid key_type) {
	const Oid actual = column_type(parsed, 0);
	if (!is_read_as(actual, key_type))
		throw Error(ErrorCode::wrong_type,
		            std::string(name_of(kind)) + " returns " + format_type(actual) + " as the key, not " +
			            format_type(key_type),
		            "Cast column 1 to " + format_type(key_type) + ".");
}

void require_columns(CommandKind kind, const Parsed &parsed, int least, int most, const std::string &shape) {
	const int columns = parsed.columns->natts;
	if (columns < least || columns > most)
		throw Error(ErrorCode::wrong_type,
		            std::string(name_of(kind)) + " returns " + std::to_string(columns) + " columns", "Return " + shape + ".");
}

// An outcome that nobody would look for must not be lost. True if there is one.
bool require_outcome_last(CommandKind kind, const Parsed &parsed, int columns, const std::string &shape) {
	const int returned = parsed.columns == nullptr ? 0 : parsed.columns->natts;
	const Oid outcome = outcome_type();
	for (int column = 0; column < returned; ++column)
		if (column_type(parsed, column) == outcome) {
			if (returned != columns || column != columns - 1)
				throw Error(ErrorCode::wrong_type, std::string(name_of(kind)) + " returns an outcome among other columns",
				            "Return " + shape + ".");
			return true;
		}
	return false;
}

void check_result(CommandKind kind, const Parsed &parsed, Oid key_type) {
	switch (kind) {
	case CommandKind::candidates:
		require_columns(kind, parsed, 1, 2, "the key and, if it has one, the item's time");
		require_column(kind, parsed, 0, key_type, "the key");
		if (parsed.columns->natts == 2)
			require_column(kind, parsed, 1, TIMESTAMPTZOID, "the item's time");
		break;
	case CommandKind::done:
		require_columns(kind, parsed, 1, 1, "one boolean: whether the output is there");
		require_column(kind, parsed, 0, BOOLOID, "its answer");
		break;
	case CommandKind::lacking:
		require_columns(kind, parsed, 1, 1, "the keys that lack this step's output");
		require_key(kind, parsed, key_type);
		break;
	case CommandKind::work:
		require_outcome_last(kind, parsed, 1, "the outcome alone");
		break;
	case CommandKind::batch_work:
		if (require_outcome_last(kind, parsed, 2, "the key and the outcome"))
			require_key(kind, parsed, key_type);
		break;
	default:
		break;
	}
}

} // namespace

void check_command(CommandKind kind, const std::string &sql, Oid key_type) {
	with_spi([&] {
		const Parsed parsed = parse(sql, parameters(kind, key_type));
		require_one_statement(kind, parsed);
		if (is_query(kind))
			require_query(kind, parsed);
		require_parameters(kind, parsed);
		check_result(kind, parsed, key_type);
	});
}

CandidateQuery candidate_query(const std::string &sql) {
	return with_spi([&] {
		const Parsed parsed = parse(sql, parameters(CommandKind::candidates, INT8OID));
		require_one_statement(CommandKind::candidates, parsed);
		const auto length = parsed.length == 0 ? std::string::npos : static_cast<std::size_t>(parsed.length);
		return CandidateQuery{sql.substr(static_cast<std::size_t>(parsed.location), length), parsed.columns->natts == 2};
	});
}

} // namespace backfill::pg
