#pragma once

#include <string>

#include "worker/channel/channel.hpp"

namespace backfill::worker {

// What the channels that write files share. A message becomes the file KEY and suffix in the directory its recipient
// names; it is written as part_name() and renamed, so that nobody reads half of it. The part's name has the claim's
// token, so that a stale worker writes into another one.
std::string file_directory(const Message &message); // throws TemplateFailed if the recipient is no path
std::string file_content(const Message &message, const rule::Templates &templates); // the stored payload, or a template's
std::string part_name(const Message &message);
std::string file_suffix(Section &section);

} // namespace backfill::worker
