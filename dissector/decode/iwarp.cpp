// iWARP, RDMA over TCP, as far as it is told from other TCP: MPA's start-up frames, and framed PDUs
// that begin a segment and whose CRC is right. Nothing else is called iWARP, because any bytes
// could be.
//
// Source: MPA RFC 5044, DDP RFC 5041, RDMAP RFC 5040.
#include <algorithm>
#include <cstring>

#include "dissector/decode/walker.hpp"
#include "dissector/wire/crc32.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::decode {
namespace {

constexpr std::size_t kTcpBytes = 20; // without options

constexpr std::string_view kMpaRequest = "MPA ID Req Frame";
constexpr std::string_view kMpaReply = "MPA ID Rep Frame";
constexpr std::uint32_t kMpaStartBytes = 20;
constexpr std::uint32_t kMpaKeyBytes = 16;

constexpr std::uint32_t kMpaLengthBytes = 2;
constexpr std::uint32_t kMpaCrcBytes = 4;
constexpr std::uint32_t kTaggedBytes = 14;
constexpr std::uint32_t kUntaggedBytes = 18;
constexpr std::uint32_t kReadRequestBytes = 28;
constexpr std::uint8_t kTagged = 0x80;
constexpr std::uint8_t kDdpVersion = 1;   // the low two bits of the first byte
constexpr std::uint8_t kRdmapVersion = 1; // the high two bits of the second
constexpr std::uint8_t kReadRequest = 1;

} // namespace

void Walker::tcp() {
    const std::size_t words = peek_u8(12) >> 4;
    const auto header = take(LayerKind::Tcp, std::max(words * 4, kTcpBytes));
    if (header.empty()) return;
    out_.protocol = Protocol::Tcp;
    if (!out_.fragment && !mpa_start()) {
        for (std::size_t i = 0; i < kMaxFramedPdus && framed_pdu(); ++i) {
        }
    }
    rest(LayerKind::Data);
}

bool Walker::mpa_start() {
    if (std::min(captured_, end_) - at_ < kMpaStartBytes) return false;
    const wire::Bytes key = out_.frame.bytes.subspan(at_, kMpaKeyBytes);
    if (std::memcmp(key.data(), kMpaRequest.data(), kMpaKeyBytes) != 0 &&
        std::memcmp(key.data(), kMpaReply.data(), kMpaKeyBytes) != 0) {
        return false;
    }
    take(LayerKind::MpaStart, kMpaStartBytes);
    out_.protocol = Protocol::Iwarp;
    return true;
}

// False if what comes next is none. Markers are not followed.
bool Walker::framed_pdu() {
    const std::uint32_t at_hand = std::min(captured_, end_) - at_;
    if (at_hand < kMpaLengthBytes + kTaggedBytes + kMpaCrcBytes) return false;
    const std::uint32_t length = peek_u16();
    const std::uint32_t pad = (4 - (kMpaLengthBytes + length) % 4) % 4;
    const std::uint32_t covered = kMpaLengthBytes + length + pad;
    const std::uint8_t control = peek_u8(2);
    const std::uint8_t rdmap = peek_u8(3);
    const bool tagged = (control & kTagged) != 0;
    const std::uint32_t header_bytes = tagged ? kTaggedBytes : kUntaggedBytes;
    if (length < header_bytes || at_hand < covered + kMpaCrcBytes) return false;
    if ((control & 0x3) != kDdpVersion || rdmap >> 6 != kRdmapVersion) return false;
    const wire::Bytes pdu = out_.frame.bytes.subspan(at_, covered + kMpaCrcBytes);
    if (wire::crc32c(pdu.first(covered)) != wire::load_icrc(pdu.last(kMpaCrcBytes))) return false;

    out_.protocol = Protocol::Iwarp;
    take(LayerKind::Mpa, kMpaLengthBytes);
    take(tagged ? LayerKind::DdpTagged : LayerKind::DdpUntagged, header_bytes);
    std::uint32_t payload = length - header_bytes;
    if (!tagged && (rdmap & 0xF) == kReadRequest && payload >= kReadRequestBytes) {
        take(LayerKind::RdmapRead, kReadRequestBytes);
        payload -= kReadRequestBytes;
    }
    pass(LayerKind::Payload, payload);
    pass(LayerKind::Pad, pad);
    take(LayerKind::MpaCrc, kMpaCrcBytes);
    return true;
}

} // namespace veriroce::decode
