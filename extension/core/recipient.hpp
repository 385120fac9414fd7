#pragma once

#include <string_view>

namespace backfill::core {

enum class RecipientKind { email, slack, webhook, sftp, file, nats };

// Reads `kind:address` and answers the kind. Throws Error(invalid_argument) where a channel could be misled by the
// address: control, invisible or bidirectional characters, and whatever the kind has no use for. No text of the
// address is in the error. An address is never a secret and never a URL: those belong to the worker's configuration.
//
//   email    user@domain, ASCII dot-atom (RFC 5321 lengths); an internationalized domain in its xn-- form
//   slack    #channel, @user or an identifier
//   webhook  name of an endpoint
//   sftp     relative path of names, no `..`
//   file     the same
//   nats     subject without wildcards
RecipientKind read_recipient(std::string_view recipient);

// The channel a recipient of this kind is reached by when emit() names none.
std::string_view default_channel(RecipientKind kind) noexcept;

} // namespace backfill::core
