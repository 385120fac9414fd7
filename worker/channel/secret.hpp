#pragma once

#include <string>
#include <vector>

#include "worker/configuration.hpp"

namespace backfill::worker {

// The secrets that `secret_file` and `secret_env` of a section name, files first; white space around them is dropped.
// Neither key can hold the secret itself. Throws ConfigurationError if one cannot be read, warns if others can read a
// file. With `needed` false (an inert channel) nothing is read.
std::vector<std::string> read_secrets(Section &section, bool needed);

// Where there can be one only; empty if none is named.
std::string read_secret(Section &section, bool needed);

} // namespace backfill::worker
