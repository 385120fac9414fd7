#include "worker/channel/rule/address.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

namespace backfill::worker::rule {

namespace {

struct Range4 {
	std::uint32_t first;
	int bits;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) noexcept {
	return a << 24 | b << 16 | c << 8 | d;
}

constexpr Range4 special4[] = {
	{v4(0, 0, 0, 0), 8},       // this network
	{v4(10, 0, 0, 0), 8},      // private
	{v4(100, 64, 0, 0), 10},   // shared by carriers
	{v4(127, 0, 0, 0), 8},     // loopback
	{v4(169, 254, 0, 0), 16},  // link-local, and the metadata of clouds
	{v4(172, 16, 0, 0), 12},   // private
	{v4(192, 0, 0, 0), 24},    // protocol assignments
	{v4(192, 0, 2, 0), 24},    // documentation
	{v4(192, 88, 99, 0), 24},  // 6to4 relays, withdrawn
	{v4(192, 168, 0, 0), 16},  // private
	{v4(198, 18, 0, 0), 15},   // benchmarks
	{v4(198, 51, 100, 0), 24}, // documentation
	{v4(203, 0, 113, 0), 24},  // documentation
	{v4(224, 0, 0, 0), 3},     // multicast, reserved, broadcast
};

bool is_public4(std::uint32_t address) noexcept {
	for (const Range4 &range : special4)
		if ((address ^ range.first) >> (32 - range.bits) == 0)
			return false;
	return true;
}

using Bytes = std::array<std::uint8_t, 16>;

bool begins(const Bytes &address, const Bytes &prefix, int bits) noexcept {
	const auto whole = static_cast<std::size_t>(bits / 8);
	if (std::memcmp(address.data(), prefix.data(), whole) != 0)
		return false;
	return bits % 8 == 0 || (address[whole] ^ prefix[whole]) >> (8 - bits % 8) == 0;
}

bool is_public6(const Bytes &a) noexcept {
	constexpr Bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
	constexpr Bytes nat64{0x00, 0x64, 0xFF, 0x9B};
	if (begins(a, mapped, 96) || begins(a, nat64, 96))
		return is_public4(v4(a[12], a[13], a[14], a[15]));
	constexpr Bytes global{0x20}, protocols{0x20, 0x01}, documentation{0x20, 0x01, 0x0D, 0xB8}, six_to_four{0x20, 0x02},
		more_documentation{0x3F, 0xFF};
	return begins(a, global, 3) && !begins(a, protocols, 23) && !begins(a, documentation, 32) &&
	       !begins(a, six_to_four, 16) && !begins(a, more_documentation, 20);
}

} // namespace

bool is_public(const sockaddr *address) noexcept {
	if (address->sa_family == AF_INET) {
		sockaddr_in internet;
		std::memcpy(&internet, address, sizeof internet);
		return is_public4(ntohl(internet.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6) {
		sockaddr_in6 internet;
		std::memcpy(&internet, address, sizeof internet);
		Bytes bytes;
		std::memcpy(bytes.data(), &internet.sin6_addr, bytes.size());
		return is_public6(bytes);
	}
	return false;
}

} // namespace backfill::worker::rule
