// A bad wire in virtual time: it loses, repeats, delays and damages packets of both directions at
// random. Unlike a fault plan it is no part of a test: the judge does not learn what it did, and
// none of its rules must fire.
#pragma once

#include <expected>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::testbed {

// Shares of the packets, 0 to 1.
struct WireNoise {
    double loss = 0;
    double duplicate = 0; // a copy arrives some time after the packet
    double reorder = 0;   // the packet arrives later, behind others
    double corrupt = 0;   // one bit is wrong, not of the Ethernet and IPv4 headers

    [[nodiscard]] bool any() const { return loss + duplicate + reorder + corrupt > 0; }
    bool operator==(const WireNoise&) const = default;
};

// "loss=0.2%,duplicate=1%,reorder=1%,corrupt=1%": some of them. The error is a sentence.
std::expected<WireNoise, std::string> parse_noise(std::string_view text);

// The longest that a packet is held back.
inline constexpr wire::Duration kMostNoiseDelay = std::chrono::microseconds(100);

class NoisyWire {
  public:
    NoisyWire(const WireNoise& noise, std::uint64_t seed) : noise_(noise), random_(seed) {}

    struct Arriving {
        std::vector<std::byte> frame;
        wire::Duration delay{0}; // beyond what the wire takes
    };
    // What arrives of a frame: nothing, the frame, or the frame and a copy.
    std::vector<Arriving> pass(wire::Bytes frame);

  private:
    bool happens(double share);
    wire::Duration some_delay();
    void damage(std::vector<std::byte>& frame);

    WireNoise noise_;
    std::mt19937_64 random_;
};

} // namespace veriroce::testbed
