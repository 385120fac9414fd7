#pragma once

#include <kainjow/mustache.hpp>

#include "worker/channel/message.hpp"

namespace backfill::worker::rule {

// What templates of a message can name. JSON's null is an empty list. Throws TemplateFailed if
// the payload cannot be read.
kainjow::mustache::data template_data(const Message &message);

} // namespace backfill::worker::rule
