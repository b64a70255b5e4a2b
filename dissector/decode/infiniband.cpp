// The other carriers of the InfiniBand transport: native InfiniBand (LRH, perhaps GRH, VCRC), RoCE
// v1 (GRH after an Ethernet header), and the records of Endace cards, which hold either.
//
// Source: IBTA volume 1 chapters 7 and 8, annex A16; Endace ERF types.
#include "dissector/decode/walker.hpp"

namespace veriroce::decode {
namespace {

constexpr std::size_t kLrhBytes = 8;
constexpr std::size_t kGrhBytes = 40;
constexpr std::size_t kRwhBytes = 4;
constexpr std::uint32_t kVcrcBytes = 2;
constexpr std::uint16_t kPacketLengthMask = 0x07FF; // in words of 4 bytes, LRH to ICRC
constexpr std::uint8_t kIbaNextHeader = 0x1B;

// What follows the LRH (LNH).
enum class NextHeader : std::uint8_t { Raw, Ipv6, Bth, Grh };

constexpr std::uint32_t kErfBytes = 16;
constexpr std::uint32_t kErfExtensionBytes = 8;
constexpr std::uint8_t kErfMore = 0x80; // another extension header follows
constexpr std::size_t kMaxErfExtensions = 8;
constexpr std::uint32_t kErfEthernetPad = 2;

} // namespace

void Walker::infiniband() {
    const std::uint32_t start = at_;
    const std::uint32_t outer_end = end_;
    covered_from_ = start;
    const auto lrh = take(LayerKind::Lrh, kLrhBytes);
    if (lrh.empty()) return;
    out_.protocol = Protocol::InfiniBand;
    const std::uint32_t bytes = (wire::load_u16(lrh, 4) & kPacketLengthMask) * 4U;
    if (bytes >= kLrhBytes) {
        narrow(start + bytes, FindingKind::IbLength, start + 4, bytes, end_ - start);
    }
    const auto next = static_cast<NextHeader>(wire::load_u8(lrh, 1) & 0x03);
    switch (next) {
    case NextHeader::Bth: transport(Protocol::InfiniBand); break;
    case NextHeader::Grh:
        if (grh()) transport(Protocol::InfiniBand);
        break;
    case NextHeader::Ipv6: by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv6)); break;
    case NextHeader::Raw:
        if (const auto raw = take(LayerKind::Rwh, kRwhBytes); !raw.empty()) {
            by_ether_type(wire::load_u16(raw, 2));
        }
        break;
    }
    if (out_.malformed || out_.cut || end_ > outer_end || outer_end - end_ < kVcrcBytes) return;
    end_ += kVcrcBytes;
    rest(LayerKind::Vcrc);
}

void Walker::roce_v1() {
    covered_from_ = at_;
    out_.protocol = Protocol::RoceV1;
    if (grh()) transport(Protocol::RoceV1);
}

// False if no transport packet follows.
bool Walker::grh() {
    const std::uint32_t start = at_;
    const auto header = take(LayerKind::Grh, kGrhBytes);
    if (header.empty()) return false;
    out_.network = {LayerKind::Grh, start, kGrhBytes};
    const std::uint16_t payload = wire::load_u16(header, 4);
    narrow(at_ + payload, FindingKind::IbLength, start + 4, payload, end_ - at_);
    const std::uint8_t next = wire::load_u8(header, 6);
    if (next == kIbaNextHeader) return true;
    leave(Stop::NoInfiniBand, next);
    return false;
}

// Each extension header says in its first byte whether another one follows.
void Walker::erf() {
    const unsigned type = peek_u8(8) & ~unsigned{kErfMore};
    std::uint32_t bytes = kErfBytes;
    bool more = (peek_u8(8) & kErfMore) != 0;
    for (std::size_t i = 0; more && i < kMaxErfExtensions; ++i) {
        more = (peek_u8(bytes) & kErfMore) != 0;
        bytes += kErfExtensionBytes;
    }
    // Ethernet: plain, with a colour, of a steering module, with a colour and a hash.
    const bool frame = type == 2 || type == 11 || type == 16 || type == 20;
    const auto header = take(LayerKind::Erf, bytes + (frame ? kErfEthernetPad : 0));
    if (header.empty()) return;
    // The length on the wire: the record may hold less of the packet, or padding after it.
    end_ = at_ + wire::load_u16(header, 14);
    if (frame) return inner_ethernet();
    switch (type) {
    case 21: return infiniband();
    case 22:
    case 23: return raw_ip();
    default: return leave(Stop::ErfType, type);
    }
}

} // namespace veriroce::decode
