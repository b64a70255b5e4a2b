// Connections of iWARP whose start-up the capture has: whether they use CRCs and markers, and where
// in the stream the next framed PDU begins. With that a PDU is found that has no CRC, that the
// capture cut, or that lies in several segments.
//
// A segment that is missing loses the place; then only a right CRC finds it again, and what comes
// until then is iWARP that is not taken apart. So is what stands between markers. Memory is bounded
// (kMaxDirections): the oldest gives way, and `forgotten` counts. Segments are to be given in the
// order of the capture.
//
// Source: RFC 5044.
#pragma once

#include <vector>

#include "dissector/decode/iwarp.hpp"
#include "dissector/flow/path.hpp"

namespace veriroce::flow {

class MpaConnections {
  public:
    static constexpr std::size_t kMaxDirections = 65'536;

    // Learns from a TCP segment, and takes it apart again where more is known than it says itself.
    void look(decode::Dissection& dissection);

    [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }

  private:
    struct Key { // one direction of a connection
        wire::IpAddress source;
        wire::IpAddress destination;
        std::uint16_t source_port = 0;
        std::uint16_t destination_port = 0;
        friend bool operator==(const Key&, const Key&) = default;
        [[nodiscard]] std::uint64_t hash() const {
            return mixed(Path::hash_of(source) * 3 + Path::hash_of(destination) +
                         mixed(source_port * 65'536U + destination_port));
        }
        [[nodiscard]] Key reversed() const {
            return {destination, source, destination_port, source_port};
        }
    };
    struct Direction {
        Key key;
        bool wants_markers = false; // in what comes back, as its start-up frame says
        bool wants_crc = false;
        std::uint32_t start = 0; // of the first PDU
        bool agreed = false;     // both start-up frames were seen: the rest is known
        bool crc = true;
        bool markers = false;
        bool in_step = false;    // it is known where PDUs begin:
        std::uint32_t begin = 0; // the one that was seen last,
        std::uint32_t next = 0;  // and the one behind it
    };

    void start(const decode::TcpSegment& segment, const Key& key, wire::Bytes frame);
    void follow(const decode::TcpSegment& segment, Direction& direction,
                decode::Dissection& dissection);
    Direction* find(const Key& key);
    Direction& put(const Key& key);

    Table<Key> places_; // in directions_
    std::vector<Direction> directions_;
    std::size_t oldest_ = 0; // where the next goes once all places are taken
    std::uint64_t forgotten_ = 0;
};

} // namespace veriroce::flow
