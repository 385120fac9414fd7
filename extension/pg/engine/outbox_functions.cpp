// The rules of the outbox for SQL: text and times in, decisions of core out.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/message_key.hpp"
#include "core/recipient.hpp"
#include "core/suppression.hpp"
#include "pg/guard.hpp"

extern "C" {
#include "utils/uuid.h"
}

using namespace backfill;

namespace {

// Valid for the duration of the function call.
std::string_view text_argument(FunctionCallInfo fcinfo, int at) {
	text *const value = pg::call([&]() noexcept { return PG_GETARG_TEXT_PP(at); });
	return {VARDATA_ANY(value), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))};
}

Datum text_datum(std::string_view value) {
	return pg::call([&]() noexcept {
		return PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
	});
}

// Microseconds since the Unix epoch. The infinities stay what they are, beyond every time.
std::int64_t unix_microseconds(TimestampTz at) noexcept {
	constexpr std::int64_t shift = std::int64_t{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * USECS_PER_DAY;
	return TIMESTAMP_NOT_FINITE(at) ? at : at + shift;
}

double clock_seconds = 0;

// Only a superuser may move the clock. Defined on first use: no function of the engine reads the setting before.
void define_clock_setting() {
	static bool defined = false;
	if (defined)
		return;
	pg::call([]() noexcept {
		DefineCustomRealVariable("backfill.test_clock_seconds",
		                         "Time that deliveries are judged by, in seconds since the Unix epoch; for tests.",
		                         "Zero is the server's clock.", &clock_seconds, 0, 0, 1e11, PGC_SUSET,
		                         GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
	});
	defined = true;
}

} // namespace

BACKFILL_FUNCTION(pg_backfill__clock) {
	define_clock_setting();
	if (clock_seconds > 0)
		return TimestampTzGetDatum(pg::call([]() noexcept { return time_t_to_timestamptz(0); }) +
		                           static_cast<TimestampTz>(clock_seconds * USECS_PER_SEC));
	return TimestampTzGetDatum(GetCurrentTimestamp());
}

BACKFILL_FUNCTION(pg_backfill__default_channel) {
	return text_datum(core::default_channel(core::read_recipient(text_argument(fcinfo, 0))));
}

BACKFILL_FUNCTION(pg_backfill__suppression) {
	std::optional<core::Mode> const mode = core::read_mode(text_argument(fcinfo, 0));
	if (!mode)
		throw core::Error(core::ErrorCode::invalid_argument, "unknown mode of a run");
	auto const reason = core::suppression({.mode = *mode,
	                                       .opted_in = PG_GETARG_BOOL(1),
	                                       .run_time = PG_GETARG_TIMESTAMPTZ(2),
	                                       .deliver_until = PG_GETARG_TIMESTAMPTZ(3)});
	if (!reason)
		PG_RETURN_NULL();
	return text_datum(*reason);
}

BACKFILL_FUNCTION(pg_backfill__receiver_key) {
	std::string const key = core::key_text({.pipeline = text_argument(fcinfo, 0),
	                                        .recipient = text_argument(fcinfo, 1),
	                                        .message_type = text_argument(fcinfo, 4),
	                                        .window_from = unix_microseconds(PG_GETARG_TIMESTAMPTZ(2)),
	                                        .window_to = unix_microseconds(PG_GETARG_TIMESTAMPTZ(3)),
	                                        .generation = PG_GETARG_INT32(5)});
	std::array<std::uint8_t, 32> digest;
	Datum const input = text_datum(key);
	pg::call([&]() noexcept {
		bytea *const hashed = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, input));
		memcpy(digest.data(), VARDATA_ANY(hashed), digest.size());
	});
	core::Uuid const uuid = core::receiver_key(digest);
	return pg::call([&]() noexcept {
		auto *const value = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
		memcpy(value->data, uuid.data(), uuid.size());
		return UUIDPGetDatum(value);
	});
}
