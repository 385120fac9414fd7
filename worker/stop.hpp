#pragma once

namespace backfill::worker::stop {

// SIGTERM and SIGINT ask the program to stop: it takes nothing new, finishes or hands back what it holds, and ends. A
// second one ends it at once. To be called once, before the first thread.
void catch_signals();

// Whether somebody asked.
bool requested() noexcept;

// As a signal would.
void request() noexcept;

// Readable once somebody asked: for poll().
int descriptor() noexcept;

} // namespace backfill::worker::stop
