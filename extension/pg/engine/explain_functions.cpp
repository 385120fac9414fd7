// One item of a pipeline: what its checks say, and what a run would make of it now.
#include "pg/args.hpp"
#include "pg/engine/candidates.hpp"
#include "pg/engine/run_record.hpp"

namespace backfill::pg {
using core::Error;
using core::ErrorCode;

namespace {

// What is said of each step, as columns.
struct Steps {
	std::vector<std::string> names, states, woulds, reasons, messages;
};

class Explanation {
public:
	Explanation(Oid engine, const std::string &pipeline, MemoryContext context)
		: engine_(engine), context_(context), pipeline_(load_pipeline(engine, pipeline, context, Purpose::look)), record_(engine, pipeline_) {
		record_.require_operator();
	}

	// As JSON; see backfill._explain_item.
	std::string of(const std::string &key) {
		std::string json;
		const Datum value = read_key(key);
		rolled_back([&] {
			const RunFrame frame = record_.begin_rehearsal(std::nullopt, 0, false, false);
			const bool is_candidate = find(value, frame);
			ask_checks(frame);
			rehearse(frame);
			json = report(frame, is_candidate);
		});
		return json;
	}
	void release() { pipeline_.release(); }

private:
	Datum read_key(const std::string &key) {
		Datum value = 0;
		const auto error = subtransaction([&] {
			as_owner(pipeline_, [&] {
				value = call([&]() noexcept {
					Oid input = InvalidOid;
					Oid param = InvalidOid;
					getTypeInputInfo(pipeline_.keys.oid(), &input, &param);
					return OidInputFunctionCall(input, const_cast<char *>(key.c_str()), param, -1);
				});
			});
		});
		if (error && error->is_operator_intervention())
			error->rethrow();
		if (error)
			throw Error(ErrorCode::invalid_argument, "\"" + key + "\" is not a key of pipeline \"" + pipeline_.name + "\"",
			            "Its keys are of type " + format_type(pipeline_.keys.oid()) + ".");
		return value;
	}

	// The item as the next live run would find it, or as it is without one.
	bool find(Datum key, const RunFrame &frame) {
		constexpr int page = 1024;
		items_ = {Item{key}};
		bool found = false;
		Candidates candidates;
		candidates.scan(pipeline_, frame, context_, still_failing(record_, pipeline_, frame));
		for (std::vector<Item> next = candidates.next(pipeline_, page); !found && !next.empty(); next = candidates.next(pipeline_, page))
			for (const Item &item : next)
				if (pipeline_.keys.compare(item.key, key) == 0) {
					items_ = {item};
					found = true;
				}
		candidates.release();
		return found;
	}

	template <class Fn>
	void in_chain(const RunFrame &frame, Fn fn) {
		RunContext context(pipeline_, frame);
		core::FailurePattern pattern;
		Chain chain(pipeline_, context, pattern);
		as_owner(pipeline_, [&] {
			with_spi([] { call([]() noexcept { SPI_execute("SET CONSTRAINTS ALL IMMEDIATE", false, 0); }); });
			fn(chain);
		});
	}

	void ask_checks(const RunFrame &frame) {
		for (std::size_t step = 0; step < pipeline_.steps.size(); ++step) {
			bool lacking = false;
			std::optional<SqlError> error;
			rolled_back([&] {
				error = subtransaction([&] {
					in_chain(frame, [&](Chain &chain) { lacking = !chain.lacking_at(static_cast<int>(step), items_, {0}).empty(); });
				});
			});
			if (error && error->is_operator_intervention())
				error->rethrow();
			steps_.names.push_back(pipeline_.steps[step].name);
			steps_.states.emplace_back(error ? "error" : lacking ? "lacking" : "done");
			steps_.woulds.emplace_back("not be reached");
			steps_.reasons.emplace_back();
			steps_.messages.push_back(error ? error->sqlstate + " " + error->message : "");
		}
	}

	// The chain itself. A check that fails ends a run, and here the rehearsal.
	void rehearse(const RunFrame &frame) {
		std::size_t at = 0;
		const auto error = subtransaction([&] {
			in_chain(frame, [&](Chain &chain) {
				for (bool going_on = true; going_on && at < pipeline_.steps.size(); ++at) {
					const BatchReport made = chain.process_step(static_cast<int>(at), items_, {0}, false);
					for (const StepEvent &event : made.events)
						note(at, event, made.going_on.empty());
					going_on = !made.going_on.empty();
				}
			});
		});
		if (error && error->is_operator_intervention())
			error->rethrow();
		if (error) {
			steps_.woulds[at] = "end the run";
			steps_.messages[at] = error->sqlstate + " " + error->message;
		}
	}

	void note(std::size_t step, const StepEvent &event, bool ends) {
		const core::Status status = event.decision.status;
		steps_.woulds[step] = status == core::Status::ok       ? "do"
		                      : status == core::Status::failed ? "fail"
		                      : ends                           ? "stop"
		                                                       : "skip";
		steps_.reasons[step] = event.decision.reason;
		if (!event.message.empty())
			steps_.messages[step] = event.sqlstate + " " + event.message;
	}

	std::string report(const RunFrame &frame, bool is_candidate) {
		const std::string key = pipeline_.keys.text_of(items_.front().key);
		return as_engine(engine_, [&] {
			return with_spi([&] {
				static constinit Statement statement(
					"SELECT json_build_object('key', $1, 'candidate', $2, 'item_time', $3, 'scan_from', $4, 'scan_to', $5, "
					"'steps', (SELECT json_agg(s ORDER BY s.n) FROM unnest($6, $7, $8, $9, $10) WITH ORDINALITY "
					"AS s(name, state, would, reason, message, n)), 'messages', backfill._rehearsal_report(true) -> 'messages')::text");
				const Item &item = items_.front();
				return statement
					.run({Param::of(key), Param::of(is_candidate),
				          item.has_time ? Param::timestamptz(item.time) : Param::null(TIMESTAMPTZOID), Param::timestamptz(frame.scan_from),
				          Param::timestamptz(frame.scan_to), Param::of(steps_.names), Param::of(steps_.states), Param::of(steps_.woulds),
				          Param::of(steps_.reasons), Param::of(steps_.messages)})
					.text(0, 1);
			});
		});
	}

	Oid engine_;
	MemoryContext context_;
	Pipeline pipeline_;
	RunRecord record_;
	std::vector<Item> items_;
	Steps steps_;
};

} // namespace

// (pipeline, key)
BACKFILL_FUNCTION(pg_backfill__explain_item) {
	const Args args(fcinfo);
	MemoryContext const context = call(
		[]() noexcept { return AllocSetContextCreate(CurrentMemoryContext, "backfill explanation", ALLOCSET_DEFAULT_SIZES); });
	const std::string pipeline = args.text(0, "pipeline");
	const std::string key = args.text(1, "key");
	Explanation explanation(owner_of_function(fcinfo), pipeline, context);
	std::string json;
	try {
		json = explanation.of(key);
	} catch (...) {
		explanation.release();
		throw;
	}
	explanation.release();
	return call([&]() noexcept { return CStringGetTextDatum(json.c_str()); });
}

} // namespace backfill::pg
