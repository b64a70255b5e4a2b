#include "dissector/decode/checks.hpp"

#include <algorithm>
#include <bit>

#include "dissector/decode/mad.hpp"

namespace veriroce::decode {
namespace {

using wire::Operation;
using wire::Position;
using wire::Service;

// A packet under check: what every check needs at hand.
struct Subject {
    Dissection& dissection;
    const wire::Bth& bth;
    const wire::OpcodeInfo& info;
    std::uint32_t at; // of the BTH

    void find(FindingKind kind, std::uint32_t offset, std::uint32_t length, std::uint32_t found = 0,
              std::uint32_t expected = 0) const {
        dissection.findings.add({kind, offset, length, found, expected});
    }
    // A layer that is there with all its bytes.
    [[nodiscard]] const LayerSpan* whole(LayerKind kind, std::size_t bytes) const {
        const LayerSpan* layer = dissection.layers.find(kind);
        return layer != nullptr && layer->length >= bytes ? layer : nullptr;
    }
    [[nodiscard]] std::uint32_t payload_bytes() const {
        return dissection.body_bytes - std::min<std::uint32_t>(bth.pad, dissection.body_bytes);
    }
    // Where the payload begins: behind the last header.
    [[nodiscard]] std::uint32_t body_at() const {
        return at + static_cast<std::uint32_t>(dissection.transport.size()) - dissection.body_bytes;
    }
};

bool connected(Service service) {
    return service == Service::Rc || service == Service::Uc || service == Service::Xrc;
}

void check_header(const Subject& s) {
    if (s.bth.version != 0) s.find(FindingKind::HeaderVersion, s.at + 1, 1, s.bth.version);
    if (s.info.reserved()) s.find(FindingKind::ReservedOpcode, s.at, 1, s.bth.opcode);
    if ((s.bth.pkey.value & 0x7FFF) == 0) {
        s.find(FindingKind::PkeyZero, s.at + 2, 2, s.bth.pkey.value);
    }
    if (s.bth.reserved6 != 0) s.find(FindingKind::ReservedBits, s.at + 4, 1, s.bth.reserved6);
    if (s.bth.reserved7 != 0) s.find(FindingKind::ReservedBits, s.at + 8, 1, s.bth.reserved7);
}

void check_qp(const Subject& s) {
    const std::uint32_t qp = s.bth.dest_qp.value;
    // QP 0 manages native InfiniBand.
    const bool reserved = qp == kSmiQp && s.dissection.protocol != Protocol::InfiniBand;
    if (reserved || (qp <= kGsiQp && connected(s.info.service))) {
        s.find(FindingKind::ReservedQp, s.at + 5, 3, qp);
    }
    if (qp == wire::kMask24 && connected(s.info.service)) {
        s.find(FindingKind::MulticastQp, s.at + 5, 3);
    }
}

void check_pad(const Subject& s) {
    const std::uint32_t body = s.dissection.body_bytes;
    if (s.bth.pad > body) s.find(FindingKind::PadExceedsPayload, s.at + 1, 1, s.bth.pad);
    if (s.bth.pad != 0 && !s.info.ends_message()) {
        s.find(FindingKind::PadInsideMessage, s.at + 1, 1, s.bth.pad);
    }
    if (body % 4 != 0) {
        s.find(FindingKind::LengthNotMultipleOf4, s.body_at(), body, body);
    }
    const auto* pad = s.dissection.layers.find(LayerKind::Pad);
    if (!pad) return;
    const wire::Bytes bytes = s.dissection.bytes_of(*pad);
    if (std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) {
        s.find(FindingKind::PadContent, pad->offset, pad->length);
    }
}

void check_payload(const Subject& s) {
    if (!s.info.carries_payload()) {
        const std::uint32_t body = s.dissection.body_bytes;
        if (body > 0) s.find(FindingKind::UnexpectedPayload, s.body_at(), body, body);
        return;
    }
    if (s.payload_bytes() > 0) return;
    switch (s.info.position) {
    case Position::First:
    case Position::Middle: s.find(FindingKind::EmptyFirstOrMiddle, s.at, 1); break;
    case Position::Last: s.find(FindingKind::EmptyLast, s.at, 1); break;
    case Position::Only: break; // a message of no bytes
    }
}

constexpr std::uint32_t kMaxDmaLength = 0x80000000; // LEN-05

void check_remote_address(const Subject& s) {
    if (const auto* reth = s.whole(LayerKind::Reth, wire::Reth::kSize)) {
        const auto header = *wire::Reth::decode(s.dissection.bytes_of(*reth));
        if (header.dma_length > kMaxDmaLength) {
            s.find(FindingKind::DmaLength, reth->offset + 12, 4, header.dma_length);
        }
        // EXT-01: eight aligned bytes.
        if (s.info.operation == Operation::AtomicWrite &&
            (s.payload_bytes() != 8 || header.virtual_address % 8 != 0)) {
            s.find(FindingKind::AtomicWriteShape, reth->offset, reth->length, s.payload_bytes());
        }
    }
    if (const auto* atomic = s.whole(LayerKind::AtomicEth, wire::AtomicEth::kSize)) {
        if (wire::load_u8(s.dissection.bytes_of(*atomic), 7) % 8 != 0) {
            s.find(FindingKind::AtomicAlignment, atomic->offset, 8);
        }
    }
}

// BTH-16: reserved bits are sent as zero; of FETH they are those of EXT-03.
void check_reserved(const Subject& s) {
    struct Row {
        LayerKind layer;
        std::uint32_t word; // where the four bytes with the bits stand in it
        std::uint32_t reserved;
        std::uint32_t bytes; // of the four, that have such bits
    };
    static constexpr std::array<Row, 4> kRows{{{LayerKind::Rdeth, 0, 0xFF000000, 1},
                                               {LayerKind::Deth, 4, 0xFF000000, 1},
                                               {LayerKind::Xrceth, 0, 0xFF000000, 1},
                                               {LayerKind::Feth, 0, 0xFFFFFFC0, 4}}};
    for (const Row& row : kRows) {
        const auto* layer = s.whole(row.layer, row.word + 4);
        if (layer == nullptr) continue;
        const std::uint32_t word = wire::load_u32(s.dissection.bytes_of(*layer), row.word);
        const std::uint32_t found = (word & row.reserved) >> std::countr_zero(row.reserved);
        if (found == 0) continue;
        s.find(FindingKind::ReservedBits, layer->offset + row.word, row.bytes, found);
    }
}

void check_syndrome(const Subject& s) {
    const auto* aeth = s.whole(LayerKind::Aeth, wire::Aeth::kSize);
    if (!aeth) return;
    const auto syndrome = wire::Aeth::decode(s.dissection.bytes_of(*aeth))->syndrome;
    const bool reserved = (syndrome.value & 0x80) != 0 ||
                          syndrome.kind() == wire::AckKind::Reserved ||
                          (syndrome.kind() == wire::AckKind::Nak && !syndrome.nak_code());
    if (reserved) s.find(FindingKind::ReservedSyndrome, aeth->offset, 1, syndrome.value);
}

constexpr std::uint32_t kCnpReservedBytes = 16;

// From the first byte that is not zero to the last; no bytes if all are.
LayerSpan not_zero(const Subject& s, const LayerSpan& layer) {
    const wire::Bytes bytes = s.dissection.bytes_of(layer);
    const auto set = [](std::byte b) { return b != std::byte{0}; };
    const auto first = std::ranges::find_if(bytes, set) - bytes.begin();
    auto end = static_cast<std::ptrdiff_t>(bytes.size());
    while (end > first && !set(bytes[static_cast<std::size_t>(end) - 1]))
        --end;
    return {layer.kind, layer.offset + static_cast<std::uint32_t>(first),
            static_cast<std::uint32_t>(end - first)};
}

// CNP-02: each field that is not as it must be.
void check_cnp(const Subject& s) {
    if (s.info.operation != Operation::Cnp) return;
    const auto wrong = [&s](bool found, CnpFault fault, std::uint32_t at, std::uint32_t bytes) {
        if (found) s.find(FindingKind::CnpShape, at, bytes, static_cast<std::uint32_t>(fault));
    };
    wrong(s.bth.solicited, CnpFault::Solicited, s.at + 1, 1);
    wrong(s.bth.mig_req, CnpFault::MigReq, s.at + 1, 1);
    wrong(s.bth.pad != 0, CnpFault::Pad, s.at + 1, 1);
    wrong(s.bth.fecn, CnpFault::Fecn, s.at + 4, 1);
    wrong(!s.bth.becn, CnpFault::Becn, s.at + 4, 1);
    wrong(s.bth.ack_request, CnpFault::AckRequest, s.at + 8, 1);
    wrong(s.bth.psn != wire::Psn(0), CnpFault::Psn, s.at + 9, 3);
    const std::uint32_t body = s.dissection.body_bytes;
    wrong(body != kCnpReservedBytes, CnpFault::Length, s.body_at(), body);
    const auto* reserved = s.dissection.layers.find(LayerKind::Cnp);
    if (!reserved) return;
    const LayerSpan set = not_zero(s, *reserved);
    wrong(set.length > 0, CnpFault::Reserved, set.offset, set.length);
}

void check_mad(const Subject& s) {
    if (!is_management(s.bth, s.dissection.protocol)) return;
    if (s.dissection.body_bytes != kMadBytes) {
        s.find(FindingKind::MadLength, s.body_at(), s.dissection.body_bytes,
               s.dissection.body_bytes, kMadBytes);
    }
    const auto* mad = s.whole(LayerKind::Mad, kMadHeaderBytes);
    if (!mad) return;
    const std::uint8_t version = wire::load_u8(s.dissection.bytes_of(*mad), 0);
    if (version != 1) s.find(FindingKind::MadVersion, mad->offset, 1, version);
}

} // namespace

bool unremarkable(const Dissection& dissection) {
    const wire::Bth& bth = dissection.bth;
    const wire::OpcodeInfo& info = wire::opcode_info(bth.opcode);
    const bool header = (bth.version | bth.reserved6 | bth.reserved7 | bth.pad) == 0 &&
                        (bth.pkey.value & 0x7FFF) != 0 && bth.dest_qp.value > kGsiQp &&
                        bth.dest_qp.value != wire::kMask24;
    const std::uint32_t body = dissection.body_bytes;
    if (!header || info.service != Service::Rc || body % 4 != 0) return false;
    const wire::Bytes extended = dissection.transport.subspan(wire::Bth::kSize);
    const bool some_body = body != 0 || info.position == Position::Only;
    switch (info.operation) {
    case Operation::Send: return some_body;
    case Operation::RdmaWrite:
        return some_body && (!info.headers.has(wire::Header::Reth) ||
                             wire::load_u32(extended, 12) <= kMaxDmaLength);
    case Operation::RdmaReadRequest:
        return body == 0 && wire::load_u32(extended, 12) <= kMaxDmaLength;
    case Operation::RdmaReadResponse: // a NAK is worth a closer look
        return some_body &&
               (!info.headers.has(wire::Header::Aeth) || wire::load_u8(extended, 0) >> 5 == 0);
    case Operation::Acknowledge: return body == 0 && wire::load_u8(extended, 0) >> 5 == 0;
    case Operation::AtomicAcknowledge:
    case Operation::CompareSwap:
    case Operation::FetchAdd:
    case Operation::Resync:
    case Operation::Flush:
    case Operation::AtomicWrite:
    case Operation::Cnp:
    case Operation::Reserved: return false;
    }
    return false;
}

void check_transport(Dissection& dissection) {
    if (!dissection.has_bth) return;
    const auto at = dissection.transport.data() - dissection.frame.bytes.data();
    const Subject subject{.dissection = dissection,
                          .bth = dissection.bth,
                          .info = wire::opcode_info(dissection.bth.opcode),
                          .at = static_cast<std::uint32_t>(at)};
    check_header(subject);
    check_qp(subject);
    check_remote_address(subject);
    check_syndrome(subject);
    using enum LayerKind;
    if (dissection.layers.has_any<Rdeth, Deth, Xrceth, Feth>()) check_reserved(subject);
    // What follows speaks of the body, which is not known of a packet that ends in its headers.
    if (dissection.cut || dissection.malformed || dissection.fragment) return;
    check_pad(subject);
    check_payload(subject);
    check_cnp(subject);
    check_mad(subject);
}

} // namespace veriroce::decode
