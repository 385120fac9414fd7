#pragma once

struct sockaddr;

namespace backfill::worker::rule {

// Whether an address may be connected to without being asked for: global unicast, and none of the special ranges of
// IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and later). An IPv4 address in an IPv6 one (mapped,
// NAT64) is judged as such. What is no internet address is not public.
bool is_public(const sockaddr *address) noexcept;

} // namespace backfill::worker::rule
