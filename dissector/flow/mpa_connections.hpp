// iWARP connections whose start-up frames are in the capture: whether they use CRCs and markers,
// and where the next framed PDU begins in the stream. With that, PDUs are found that have no CRC,
// that the capture truncated, or that span several segments.
//
// If a segment is missing, the position is lost until a PDU with a correct CRC is found; iWARP data
// in between is not decoded. Streams with markers are not decoded either. Memory is bounded
// (kMaxDirections): the oldest direction is evicted and counted in `forgotten`. Pass segments in
// capture order.
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

    // Learns from a TCP segment, and decodes it again if the connection is known better than the
    // segment alone tells.
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
        bool wants_markers = false; // in the data sent back to this end, as its start-up frame says
        bool wants_crc = false;
        std::uint32_t start = 0; // sequence number of the first PDU
        bool agreed = false;     // both start-up frames were seen
        bool crc = true;
        bool markers = false;
        bool in_step = false;    // PDU boundaries are known:
        std::uint32_t begin = 0; // of the last PDU seen
        std::uint32_t next = 0;  // of the PDU after it
    };

    void start(const decode::TcpSegment& segment, const Key& key, wire::Bytes frame);
    void follow(const decode::TcpSegment& segment, Direction& direction,
                decode::Dissection& dissection);
    Direction* find(const Key& key);
    Direction& put(const Key& key);

    Table<Key> places_; // indices into directions_
    std::vector<Direction> directions_;
    std::size_t oldest_ = 0; // the next to be replaced once all places are used
    std::uint64_t forgotten_ = 0;
};

} // namespace veriroce::flow
