// What connection management tells a program about its connections, by librdmacm's names.
#pragma once

#include "dissector/wire/verbs.hpp"

namespace veriroce::wire {

enum class ConnectionEvent : std::uint8_t {
    ConnectRequest,
    Established,
    Disconnected,
    Rejected,    // by the peer, instead of an RTU
    Unreachable, // nothing came for the REP
};
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<ConnectionEvent>{
    "CONNECT_REQUEST", "ESTABLISHED", "DISCONNECTED", "REJECTED", "UNREACHABLE"};

} // namespace veriroce::wire
