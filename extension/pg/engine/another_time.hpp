#pragma once

#include "pg/guard.hpp"

namespace backfill::pg {

// Runs fn at another time: what now(), clock_timestamp() and their like answer is moved by `shift`.
template <class Fn>
void at_another_time(TimestampTz shift, Fn fn);

namespace detail {
struct StartTimes {
	TimestampTz transaction;
	TimestampTz statement;
};
StartTimes start_times() noexcept;
void set_start_times(const StartTimes &times) noexcept;
// The clock that runs on, for what is parsed from now on. Has all kept plans parsed again.
void shift_clock(TimestampTz shift) noexcept;
} // namespace detail

} // namespace backfill::pg

template <class Fn>
void backfill::pg::at_another_time(TimestampTz shift, Fn fn) {
	struct Restore {
		const detail::StartTimes real = detail::start_times();
		~Restore() {
			detail::set_start_times(real);
			detail::shift_clock(0);
		}
	};
	const Restore restore;
	detail::set_start_times({restore.real.transaction + shift, restore.real.statement + shift});
	detail::shift_clock(shift);
	fn();
}
