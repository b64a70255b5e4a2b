// Wraps Ethernet frames in tunnels whose own headers differ in all that the judge looks at.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/dissector/flow/captured.hpp"

namespace veriroce::judge::test {

// The header that a tunnel puts around a packet.
struct OuterHeader {
    bool v6 = false;
    bool dont_fragment = false;
    bool options = false; // of IPv4
    bool bad_checksums = false;
    std::uint8_t ttl = 64;
    std::uint8_t ecn = 0;
    std::uint16_t source_port = 40'000;
};

struct Tunnel {
    std::string name;
    std::function<std::vector<std::byte>(const OuterHeader&, const std::vector<std::byte>& frame)>
        wrap;
};

const std::vector<Tunnel>& tunnels();

// Each frame with an outer header of its own, which `outer` makes for its number.
std::vector<flow::test::Frame> wrapped(const std::vector<flow::test::Frame>& frames,
                                       const Tunnel& tunnel,
                                       const std::function<OuterHeader(std::size_t)>& outer);

} // namespace veriroce::judge::test
