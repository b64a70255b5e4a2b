// Which connection a packet in line belongs to, in order of appearance, and where it stands in it.
//
//   Connections connections;
//   const Place place = connections.place(frame, End::A, now); // every packet that comes, once
//   const auto left = connections.look(other_frame);           // one that leaves; changes nothing
//
// The tracker (dissector/flow) finds the two QPs of a connection. A connection whose two ends both
// send requests before the first response takes two numbers until then.
//
// Units: PSNs are relative to the requester's first PSN, and go on counting beyond 24 bits.
// Bounds: kMaxConnections; packets of further ones belong to connection 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dissector/flow/tracker.hpp"
#include "dissector/wire/frame.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::inject {

using fault::End;

constexpr End other(End end) {
    return end == End::A ? End::B : End::A;
}

inline constexpr std::size_t kMaxConnections = 16'384;

struct Place {
    std::uint64_t connection = 0; // counted from 1; 0: none, or not known yet
    End requester = End::A;       // the port behind which the requester is
    wire::Service service = wire::Service::Reserved;
    std::uint8_t opcode = 0;
    std::uint32_t qpn = 0; // the destination QP
    std::uint32_t psn24 = 0;
    std::int64_t psn = 0; // relative; without a connection, to the first PSN of its path
    bool response = false;
    bool again = false; // a request that was sent before
};

class Connections {
  public:
    // One of the two ends: the port behind which it is, and what names it.
    struct Side {
        wire::IpAddress address;
        std::optional<wire::Qpn> qpn;
    };
    struct Known {
        std::array<Side, 2> sides;               // by port: A, B
        std::optional<std::uint64_t> service_id; // that its CM request asked for
    };

    // `frame` came in at the port `from`. A packet with a wrong ICRC changes no connection.
    Place place(const wire::Frame& frame, End from, wire::Instant now);
    // Of a frame that leaves, if it belongs to a connection that place() has seen.
    [[nodiscard]] std::optional<Place> look(const wire::Frame& frame) const;

    [[nodiscard]] const std::vector<Known>& known() const { return known_; }
    // Of a place's connection, if there is one and CM has set it up.
    [[nodiscard]] std::optional<std::uint64_t> service_id(const Place& place) const {
        if (place.connection == 0) return std::nullopt;
        return known_[place.connection - 1].service_id;
    }
    // Packets of connections beyond kMaxConnections.
    [[nodiscard]] std::uint64_t unnumbered() const { return unnumbered_; }

  private:
    // The PSNs of one end's requests, without their wrap.
    struct Stream {
        bool begun = false;
        wire::Psn last;
        std::int64_t last_relative = 0;

        std::int64_t relative(wire::Psn psn) const { return last_relative + distance(last, psn); }
        std::int64_t advance(wire::Psn psn, wire::Psn first);
    };
    struct Route { // where the packets of a path belong
        std::uint64_t connection = 0;
        End from = End::A;
    };

    std::uint64_t number_of(const flow::Connection& connection, End from, std::uint8_t sender);
    void put_route(const flow::Path& path, Route route);

    flow::Tracker tracker_{flow::Limits{.connections = 2 * kMaxConnections, .extents = 1'000'000}};
    std::uint64_t packets_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> numbers_; // by the tracker's connection id
    std::vector<Known> known_;                                 // by number - 1
    std::vector<std::array<Stream, 2>> streams_; // by number - 1, and the requester's port
    flow::Table<flow::Path> paths_;              // to routes_
    std::vector<Route> routes_;
    flow::Table<flow::Path> first_psns_; // of packets without a connection
    std::uint64_t unnumbered_ = 0;
};

} // namespace veriroce::inject
