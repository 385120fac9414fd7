#pragma once

#include "worker/channel/rule/template.hpp"

namespace backfill::worker {

// What is said where the configuration has no template for a message type: of a run, of an alarm, of anything else.
void add_slack_templates(rule::Templates &templates);
void add_mail_templates(rule::Templates &templates);

} // namespace backfill::worker
