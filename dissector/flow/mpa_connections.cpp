#include "dissector/flow/mpa_connections.hpp"

#include <algorithm>

namespace veriroce::flow {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::TcpSegment;

constexpr std::size_t kReplyMarkAt = 9; // distinguishes "MPA ID Req Frame" from "MPA ID Rep Frame"
constexpr std::size_t kFlagsAt = 16;
constexpr std::size_t kPrivateBytesAt = 18;
constexpr std::uint8_t kMarkers = 0x80;
constexpr std::uint8_t kCrc = 0x40;
constexpr std::uint8_t kRejected = 0x20;

// Distance from the first to the second sequence number, which wrap.
std::int32_t distance(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::int32_t>(to - from);
}

// Where the first PDU begins in this segment; earlier bytes belong to the previous PDU.
template <typename Direction>
std::optional<std::uint32_t> first_pdu(const TcpSegment& segment, const Direction& direction) {
    if (!direction.in_step) return std::nullopt;
    const std::int32_t from_begin = distance(direction.begin, segment.sequence);
    const std::int32_t to_next = distance(segment.sequence, direction.next);
    if (from_begin < 0 || to_next < 0)
        return std::nullopt; // retransmitted, or a segment is missing
    if (from_begin == 0) return 0;
    return static_cast<std::uint32_t>(to_next);
}

// Whether the decoder found a PDU at the segment's beginning by its CRC alone.
bool found_by_crc(const Dissection& d, const TcpSegment& segment) {
    const auto* pdu = d.layers.find(LayerKind::Mpa);
    return pdu != nullptr && pdu->offset == segment.offset;
}

} // namespace

void MpaConnections::look(Dissection& d) {
    const auto segment = decode::tcp_segment(d);
    const auto source = d.source();
    const auto destination = d.destination();
    if (!segment || !source || !destination) return;
    const Key key{*source, *destination, segment->source_port, segment->destination_port};
    const auto* frame = d.layers.find(LayerKind::MpaStart);
    if (frame != nullptr) return start(*segment, key, d.bytes_of(*frame));
    Direction* direction = find(key);
    if (direction == nullptr || !direction->agreed) return;
    if (segment->opens) { // the ports belong to a new connection
        direction->agreed = false;
    } else if (segment->bytes > 0) {
        follow(*segment, *direction, d);
    }
}

void MpaConnections::start(const TcpSegment& segment, const Key& key, wire::Bytes frame) {
    const std::uint8_t flags = wire::load_u8(frame, kFlagsAt);
    Direction mine;
    mine.key = key;
    mine.wants_markers = (flags & kMarkers) != 0;
    mine.wants_crc = (flags & kCrc) != 0;
    mine.start = mine.begin = mine.next =
        segment.sequence + decode::kMpaStartBytes + wire::load_u16(frame, kPrivateBytesAt);
    const Direction* before = find(key);
    if (before != nullptr && before->agreed && before->start == mine.start) return; // retransmitted
    const bool reply = frame[kReplyMarkAt] == std::byte{'p'};
    Direction* theirs = find(key.reversed());
    if (reply && theirs != nullptr && (flags & kRejected) == 0) {
        // RFC 5044: CRCs are used if either end wants them; each end sends markers if the other
        // wants them.
        mine.agreed = theirs->agreed = mine.in_step = theirs->in_step = true;
        mine.crc = theirs->crc = mine.wants_crc || theirs->wants_crc;
        mine.markers = theirs->wants_markers;
        theirs->markers = mine.wants_markers;
    }
    put(key) = mine;
}

void MpaConnections::follow(const TcpSegment& segment, Direction& direction, Dissection& d) {
    auto first = first_pdu(segment, direction);
    const bool proven = found_by_crc(d, segment);
    if (proven) first = 0;
    const bool lost = direction.in_step && distance(direction.next, segment.sequence) > 0;
    if (lost) direction.in_step = false;
    if (!proven) {
        decode::dissect_mpa({first, direction.crc, direction.markers}, d);
    }
    const bool again = direction.in_step && distance(direction.begin, segment.sequence) < 0;
    if (!first || direction.markers || again) return;
    const auto captured = static_cast<std::uint32_t>(d.frame.bytes.size());
    std::uint32_t at = *first;
    while (at < segment.bytes) {
        const std::uint32_t offset = segment.offset + at;
        const bool whole = at + decode::kMpaLengthBytes <= segment.bytes &&
                           offset + decode::kMpaLengthBytes <= captured;
        // The length field is in the next segment, or was truncated.
        if (!whole) {
            direction.in_step = false;
            return;
        }
        direction.begin = segment.sequence + at;
        at += decode::framed_bytes(wire::load_u16(d.frame.bytes, offset));
    }
    direction.next = segment.sequence + at;
    direction.in_step = true;
}

MpaConnections::Direction* MpaConnections::find(const Key& key) {
    const auto place = places_.find(key);
    return place ? &directions_[*place] : nullptr;
}

MpaConnections::Direction& MpaConnections::put(const Key& key) {
    if (Direction* known = find(key)) return *known;
    std::size_t place = directions_.size();
    if (place < kMaxDirections) {
        directions_.emplace_back();
    } else {
        place = oldest_;
        oldest_ = (oldest_ + 1) % kMaxDirections;
        places_.remove(directions_[place].key);
        ++forgotten_;
    }
    places_.put(key, static_cast<std::uint32_t>(place));
    return directions_[place];
}

} // namespace veriroce::flow
