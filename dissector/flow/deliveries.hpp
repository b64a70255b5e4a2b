// What happened to each packet between two capture points: the port that sent it and the port that
// received it. With captures from both, the network's behaviour is observed instead of inferred.
//
//   Deliveries deliveries;
//   deliveries.sent(packet);      // in order of time, both points on one time line;
//   deliveries.arrived(packet);   // at equal times, sent() comes before arrived()
//   for (const Delivery& delivery : deliveries.all()) ...
//
// An arriving packet is matched with a sent packet of the same content: the transport headers
// without the fields that a switch may write, the payload, the UDP source port and the IPv4
// identification. IPv6 has no identification, so a retransmission looks like the original. If
// several identical packets were in flight, the match is ambiguous and their status is Undecided.
// Memory: one Delivery per sent packet. Arriving packets that were never sent are counted.
// Source: rules REQ-31, CRC-02 to CRC-05 (what may change on the way).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

enum class DeliveryStatus : std::uint8_t {
    Missing,   // it did not arrive: lost or damaged
    Delivered, // it arrived unchanged
    Undecided, // it or an identical packet arrived
};

struct Delivery {
    std::uint64_t number = 0; // of the packet at the sending port
    DeliveryStatus status = DeliveryStatus::Missing;
    std::uint32_t arrivals = 0;             // more than one: the network duplicated it
    std::uint64_t first_arrival_number = 0; // the packet's number at the receiving port
    std::optional<wire::Instant> sent;
    std::optional<wire::Instant> first_arrival; // the first time
};

class Deliveries {
  public:
    // `longest`: the longest time that a packet can be in flight.
    explicit Deliveries(std::optional<wire::Duration> longest = std::nullopt) : longest_(longest) {}

    void sent(const Packet& packet);
    // The index of the packet's Delivery, if the match is certain.
    std::optional<std::size_t> arrived(const Packet& packet);

    [[nodiscard]] const std::vector<Delivery>& all() const { return deliveries_; }
    [[nodiscard]] std::uint64_t damaged() const { return damaged_; } // arrived with a wrong ICRC
    [[nodiscard]] std::uint64_t unmatched() const { return unmatched_; } // never sent

  private:
    [[nodiscard]] bool may_match(const Delivery& delivery, const Packet& packet) const;

    std::optional<wire::Duration> longest_;
    std::vector<Delivery> deliveries_;
    // Indices of identical packets by digest, in order.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_digest_;
    std::uint64_t damaged_ = 0;
    std::uint64_t unmatched_ = 0;
};

} // namespace veriroce::flow
