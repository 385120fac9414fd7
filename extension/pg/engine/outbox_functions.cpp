// The rules of the outbox for SQL: text and times in, decisions of core out.

#include "core/message_key.hpp"
#include "core/recipient.hpp"
#include "core/suppression.hpp"
#include "pg/args.hpp"
#include "pg/engine/settings.hpp"

extern "C" {
#include "utils/uuid.h"
}

namespace backfill::pg {

namespace {

// Microseconds since the Unix epoch. The infinities stay what they are, beyond every time.
std::int64_t unix_microseconds(Datum value) noexcept {
	constexpr std::int64_t shift = std::int64_t{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * USECS_PER_DAY;
	const TimestampTz at = DatumGetTimestampTz(value);
	return TIMESTAMP_NOT_FINITE(at) ? at : at + shift;
}

} // namespace

BACKFILL_FUNCTION(pg_backfill__clock) {
	const std::optional<TimestampTz> moved = settings::test_clock();
	return TimestampTzGetDatum(moved ? *moved : GetCurrentTimestamp());
}

// (recipient)
BACKFILL_FUNCTION(pg_backfill__default_channel) {
	return Param::of(core::default_channel(core::read_recipient(Args(fcinfo).text(0, "recipient")))).value;
}

// (recipient)
BACKFILL_FUNCTION(pg_backfill_is_recipient) {
	try {
		core::read_recipient(Args(fcinfo).text(0, "recipient"));
		PG_RETURN_BOOL(true);
	} catch (const core::Error &) {
		PG_RETURN_BOOL(false);
	}
}

// (mode, opted_in, run_time, deliver_until)
BACKFILL_FUNCTION(pg_backfill__suppression) {
	const Args args(fcinfo);
	const std::optional<core::Mode> mode = core::read_mode(args.text(0, "mode"));
	if (!mode)
		throw core::Error(core::ErrorCode::invalid_argument, "unknown mode of a run");
	const auto reason = core::suppression({.mode = *mode,
	                                       .opted_in = DatumGetBool(args.datum(1)),
	                                       .run_time = DatumGetTimestampTz(args.datum(2)),
	                                       .deliver_until = DatumGetTimestampTz(args.datum(3))});
	if (!reason) {
		fcinfo->isnull = true;
		return 0;
	}
	return Param::of(*reason).value;
}

// (pipeline, recipient, window_from, window_to, message_type, generation)
BACKFILL_FUNCTION(pg_backfill__receiver_key) {
	const Args args(fcinfo);
	const std::string pipeline = args.text(0, "pipeline");
	const std::string recipient = args.text(1, "recipient");
	const std::string message_type = args.text(4, "message_type");
	const std::string key = core::key_text({.pipeline = pipeline,
	                                        .recipient = recipient,
	                                        .message_type = message_type,
	                                        .window_from = unix_microseconds(args.datum(2)),
	                                        .window_to = unix_microseconds(args.datum(3)),
	                                        .generation = DatumGetInt32(args.datum(5))});
	std::array<std::uint8_t, 32> digest;
	const Datum input = Param::of(key).value;
	call([&]() noexcept {
		const bytea *const hashed = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, input));
		memcpy(digest.data(), VARDATA_ANY(hashed), digest.size());
	});
	const core::Uuid uuid = core::receiver_key(digest);
	return call([&]() noexcept {
		auto *const value = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
		memcpy(value->data, uuid.data(), uuid.size());
		return UUIDPGetDatum(value);
	});
}

} // namespace backfill::pg
