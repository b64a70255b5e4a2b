// iWARP, RDMA over TCP, as far as it is told from other TCP: MPA's start-up frames, framed PDUs
// that begin a segment and whose CRC is right, and what follows such a PDU. Nothing else is called
// iWARP, because any bytes could be, unless the caller knows the connection.
#include "dissector/decode/iwarp.hpp"

#include <algorithm>
#include <cstring>

#include "dissector/decode/walker.hpp"
#include "dissector/wire/crc32c.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::decode {
namespace {

constexpr std::uint8_t kSyn = 0x02;

constexpr std::string_view kMpaRequest = "MPA ID Req Frame";
constexpr std::string_view kMpaReply = "MPA ID Rep Frame";
constexpr std::uint32_t kMpaKeyBytes = 16;

constexpr std::uint32_t kTaggedBytes = 14;
constexpr std::uint32_t kUntaggedBytes = 18;
constexpr std::uint32_t kReadRequestBytes = 28;
constexpr std::uint8_t kTagged = 0x80;
constexpr std::uint8_t kDdpVersion = 1;   // the low two bits of the first byte
constexpr std::uint8_t kRdmapVersion = 1; // the high two bits of the second
constexpr std::uint8_t kReadRequest = 1;
constexpr std::uint8_t kTerminate = 7;

// Of a Terminate message: which pieces of the message that it is about follow its control word.
constexpr std::uint32_t kTerminateControlBytes = 4;
constexpr std::uint8_t kTerminateLength = 0x80;
constexpr std::uint8_t kTerminateDdp = 0x40;
constexpr std::uint8_t kTerminateRdma = 0x20;

// Where the packet ends by its IP header, which may be beyond what was captured.
std::uint32_t packet_end(const Dissection& d) {
    const wire::Bytes header = d.bytes_of(d.network);
    const bool v4 = d.network.kind == LayerKind::Ipv4;
    const std::uint32_t length = wire::load_u16(header, v4 ? 2 : 4);
    const auto captured = static_cast<std::uint32_t>(d.frame.bytes.size());
    const std::uint32_t frame_end = std::max(captured, d.frame.original_length);
    if (length == 0) return frame_end; // segmentation in the network card
    const std::uint32_t ahead = v4 ? 0 : static_cast<std::uint32_t>(wire::Ipv6::kSize);
    return std::min(d.network.offset + ahead + length, frame_end);
}

} // namespace

void Walker::tcp() {
    const std::size_t words = peek_u8(12) >> 4;
    const auto header = take(LayerKind::Tcp, std::max(words * 4, wire::kShortestTcp));
    if (header.empty()) return;
    out_.protocol = Protocol::Tcp;
    if (!out_.fragment && !mpa_start()) framed_pdus(false, true);
    rest(LayerKind::Data);
}

bool Walker::mpa_start() {
    if (std::min(captured_, end_) - at_ < kMpaStartBytes) return false;
    const wire::Bytes key = out_.frame.bytes.subspan(at_, kMpaKeyBytes);
    if (std::memcmp(key.data(), kMpaRequest.data(), kMpaKeyBytes) != 0 &&
        std::memcmp(key.data(), kMpaReply.data(), kMpaKeyBytes) != 0) {
        return false;
    }
    const auto frame = take(LayerKind::MpaStart, kMpaStartBytes);
    out_.protocol = Protocol::Iwarp;
    part(LayerKind::MpaPrivate, wire::load_u16(frame, 18));
    return true;
}

// As many as there are. `known`: that one begins here; behind the first it is.
void Walker::framed_pdus(bool known, bool crc) {
    std::size_t count = 0;
    while (at_ < std::min(captured_, end_) && count < kMaxFramedPdus && framed_pdu(known, crc)) {
        known = true;
        ++count;
    }
    if (count > 0) rest(LayerKind::MpaMore);
}

// False if what comes next is none. One that goes on in the next segment, or that the capture cut,
// is taken apart as far as it goes.
bool Walker::framed_pdu(bool known, bool crc) {
    constexpr std::uint32_t kLeast = kMpaLengthBytes + 2; // up to both control bytes
    const std::uint32_t at_hand = std::min(captured_, end_) - at_;
    if (at_hand < kLeast) {
        if (!known) return false;
        part(LayerKind::Mpa, kMpaLengthBytes);
        rest(LayerKind::MpaMore);
        return true;
    }
    const std::uint16_t length = peek_u16();
    const std::uint32_t bytes = framed_bytes(length);
    const std::uint8_t rdmap = peek_u8(3);
    const bool tagged = (peek_u8(2) & kTagged) != 0;
    const std::uint32_t header_bytes = tagged ? kTaggedBytes : kUntaggedBytes;
    if (length < header_bytes || (peek_u8(2) & 0x3) != kDdpVersion || rdmap >> 6 != kRdmapVersion) {
        return false;
    }
    if (at_hand >= bytes && crc) {
        const wire::Bytes pdu = out_.frame.bytes.subspan(at_, bytes);
        const wire::Bytes covered = pdu.first(bytes - kMpaCrcBytes);
        if (wire::crc32c(covered) != wire::load_icrc(pdu.last(kMpaCrcBytes))) return false;
    } else if (!known) {
        return false;
    }
    out_.protocol = Protocol::Iwarp;
    part(LayerKind::Mpa, kMpaLengthBytes);
    part(tagged ? LayerKind::DdpTagged : LayerKind::DdpUntagged, header_bytes);
    std::uint32_t payload = length - header_bytes;
    if (!tagged) rdmap_headers(static_cast<std::uint8_t>(rdmap & 0xF), payload);
    part(LayerKind::Payload, payload);
    part(LayerKind::Pad, bytes - kMpaCrcBytes - kMpaLengthBytes - length);
    part(crc ? LayerKind::MpaCrc : LayerKind::MpaCrcUnused, kMpaCrcBytes);
    return true;
}

// The bytes after the header of an untagged message, which are taken from its payload.
void Walker::rdmap_headers(std::uint8_t operation, std::uint32_t& payload) {
    std::uint32_t bytes = 0;
    LayerKind kind = LayerKind::RdmapRead;
    if (operation == kReadRequest && payload >= kReadRequestBytes) bytes = kReadRequestBytes;
    if (operation == kTerminate && payload >= kTerminateControlBytes) {
        kind = LayerKind::RdmapTerminate;
        const std::uint8_t pieces = peek_u8(2);
        bytes = kTerminateControlBytes;
        if ((pieces & kTerminateLength) != 0) bytes += 2;
        if ((pieces & kTerminateDdp) != 0) {
            bytes += (peek_u8(bytes) & kTagged) != 0 ? kTaggedBytes : kUntaggedBytes;
        }
        if ((pieces & kTerminateRdma) != 0) bytes += kReadRequestBytes;
        bytes = std::min(bytes, payload);
    }
    part(kind, bytes);
    payload -= bytes;
}

void Walker::mpa(const MpaFraming& framing, std::uint32_t at, std::uint32_t end) {
    at_ = at;
    end_ = end;
    captured_ = std::min(captured_, end);
    out_.protocol = Protocol::Iwarp;
    if (!framing.markers) {
        if (framing.first) part(LayerKind::MpaContinued, *framing.first);
        framed_pdus(framing.first.has_value(), framing.crc);
    }
    rest(LayerKind::MpaMore);
}

std::optional<TcpSegment> tcp_segment(const Dissection& d) {
    const LayerSpan* layer = d.layers.find(LayerKind::Tcp);
    if (layer == nullptr || layer->length < wire::kShortestTcp || d.fragment ||
        d.network.length == 0) {
        return std::nullopt;
    }
    if (d.has_bth) return std::nullopt; // TCP over IPoIB: `network` is around the transport packet
    const wire::Bytes header = d.bytes_of(*layer);
    TcpSegment segment;
    segment.source_port = wire::load_u16(header, 0);
    segment.destination_port = wire::load_u16(header, 2);
    segment.sequence = wire::load_u32(header, 4);
    segment.opens = (wire::load_u8(header, 13) & kSyn) != 0;
    segment.offset = layer->offset + layer->length;
    const std::uint32_t end = packet_end(d);
    segment.bytes = end > segment.offset ? end - segment.offset : 0;
    return segment;
}

void dissect_mpa(const MpaFraming& framing, Dissection& d) {
    const auto segment = tcp_segment(d);
    const auto captured = static_cast<std::uint32_t>(d.frame.bytes.size());
    if (!segment || segment->offset >= captured) return; // nothing was captured of it
    const Layers before = d.layers;
    d.layers.clear();
    d.cut = false;
    const auto put = [&d](const LayerSpan& layer) {
        d.layers.push(layer.kind, layer.offset, layer.length);
    };
    // Everything up to the header of TCP, and the trailers of what carries the segment, stay.
    for (const LayerSpan& layer : before) {
        if (layer.offset < segment->offset) put(layer);
    }
    const Options options;
    Walker(d, options).mpa(framing, segment->offset, segment->offset + segment->bytes);
    for (const LayerSpan& layer : before.from(LayerKind::Trailer)) {
        if (layer.kind == LayerKind::Trailer) put(layer);
    }
}

} // namespace veriroce::decode
