#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace backfill::worker::metrics {

// Numbers for Prometheus, from any thread. Counters end in _total. labels: as between the braces, for instance
// channel="slack"; empty for none. What a metric means is declared in metrics.cpp; an undeclared one is a bug.
void count(std::string_view name, std::string_view labels = {}, double amount = 1);
void set(std::string_view name, std::string_view labels, double value);

// All of a gauge's values at once: what is not among them is no more.
using Values = std::map<std::string, double, std::less<>>; // by labels
void replace(std::string_view name, Values values);

// In the text exposition format, version 0.0.4.
std::string exposition();

} // namespace backfill::worker::metrics
