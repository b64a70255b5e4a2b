// The text of an address without a string, for who writes many of them.
#pragma once

#include "dissector/wire/ip_address.hpp"

namespace veriroce::wire {

// "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" is the longest.
inline constexpr std::size_t kIpTextCharacters = 39;

// Writes what IpAddress::text() gives from `to` on, where there is room for kIpTextCharacters.
// Returns where it ends.
char* write_text(const IpAddress& address, char* to);

} // namespace veriroce::wire
