// The backend `engine`: our own engine on a UDP socket of this host, without any privilege. All
// connections share the engine and its port; each sees only its own objects. QP 1 is the backend's:
// there the connection management of a host answers, for which each of its users may listen.
//
// It has the limits of the UDP link: it sends IP identification 0, and over IPv4 it checks the ICRC
// of received packets with a strength of only 16 bits.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "conformance/agent/backend.hpp"
#include "conformance/agent/verbs_backend.hpp"

namespace veriroce::agent {

// On the address of --address, UDP port 4791.
std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options);
// Another port: for tests and tunnels.
std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options,
                                                                 std::uint16_t port);

inline constexpr BackendKind kEngineBackend{"engine", &open_engine};

// Both backends, for `veriroce agent`; the default is verbs.
inline constexpr std::array kAllBackends{kVerbsBackend, kEngineBackend};

} // namespace veriroce::agent
