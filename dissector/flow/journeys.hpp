// What became of each packet between two points of capture: the port that it left and the port that
// it came to. With both, what the network did is seen and not guessed.
//
//   Journeys journeys;
//   journeys.left(packet);        // in the order of time, both points on one time line;
//   journeys.came(packet);        // what comes at the instant at which it left comes later
//   for (const Journey& journey : journeys.all()) ...
//
// A packet that arrives is the one that left with the same content: transport headers without what
// a switch may write, payload, UDP source port and IPv4 identification. IPv6 has no identification,
// so that a request that is sent again is like the first one: where several alike were on their way
// when one came, nobody can say which it is, and their fate is undecided.
// Memory: one Journey for each packet that left. Packets that did not leave here are counted.
// Source: rules REQ-31, CRC-02 to CRC-05 (what may change on the way).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

enum class Fate : std::uint8_t {
    Missing,   // it did not come: lost, or damaged
    Delivered, // it came as it had left
    Undecided, // it came, or one that was like it
};

struct Journey {
    std::uint64_t number = 0; // of the packet at the port that it left
    Fate fate = Fate::Missing;
    std::uint32_t arrivals = 0;      // more than one: the network copied it
    std::uint64_t first_arrival = 0; // its number at the port that it came to
    std::optional<wire::Instant> sent;
    std::optional<wire::Instant> came; // first
};

class Journeys {
  public:
    // `longest`: no packet is longer on its way than this.
    explicit Journeys(std::optional<wire::Duration> longest = std::nullopt) : longest_(longest) {}

    void left(const Packet& packet);
    // The packet that it is, if that is certain: the index of its journey.
    std::optional<std::size_t> came(const Packet& packet);

    [[nodiscard]] const std::vector<Journey>& all() const { return journeys_; }
    [[nodiscard]] std::uint64_t damaged() const { return damaged_; }     // came with a wrong ICRC
    [[nodiscard]] std::uint64_t strangers() const { return strangers_; } // never left

  private:
    [[nodiscard]] bool may_be(const Journey& journey, const Packet& packet) const;

    std::optional<wire::Duration> longest_;
    std::vector<Journey> journeys_;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> alike_; // by digest, in order
    std::uint64_t damaged_ = 0;
    std::uint64_t strangers_ = 0;
};

} // namespace veriroce::flow
