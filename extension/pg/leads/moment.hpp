#pragma once

#include <cstdint>

#include "pg/postgres.hpp"

namespace bt {

// The reports' milliseconds since 1970 and PostgreSQL's microseconds since 2000.

inline constexpr std::int64_t epochs_apart_ms = std::int64_t{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * 1000;

inline TimestampTz timestamp_of(std::int64_t unix_ms) noexcept { return (unix_ms - epochs_apart_ms) * 1000; }
inline std::int64_t unix_ms(TimestampTz at) noexcept { return at / 1000 + epochs_apart_ms; }

} // namespace bt
