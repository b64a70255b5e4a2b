#include "dissector/decode/checks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "dissector/decode/mad.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/opcode_table.hpp"

namespace veriroce::decode {
namespace {

using wire::Header;
using wire::Location;
using wire::OpcodeInfo;
using wire::Operation;
using wire::Position;
using wire::Service;
using wire::where;

// A packet under check.
struct Subject {
    const Dissection& dissection;
    const wire::Packet& packet;

    [[nodiscard]] std::uint32_t body_bytes() const { return dissection.body_bytes; }
    [[nodiscard]] std::uint32_t bth_at() const {
        return static_cast<std::uint32_t>(dissection.transport.data() -
                                          dissection.frame.bytes.data());
    }
    // Where the payload begins: after the last header.
    [[nodiscard]] std::uint32_t body_at() const {
        return bth_at() + static_cast<std::uint32_t>(dissection.transport.size()) - body_bytes();
    }
    [[nodiscard]] std::uint32_t offset_of(wire::Layer layer) const {
        if (layer == wire::Layer::Bth) return bth_at();
        return dissection.layers.find(layer_kind_of(layer))->offset;
    }
};

// The bytes that show what is wrong, and the two values of a Finding.
struct Spot {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t found = 0;
    std::uint32_t expected = 0;
};
using Found = std::optional<Spot>; // nothing: all is right

// A field that holds `found`, if that is wrong.
template <Location Field>
Found field_if(bool wrong, const Subject& s, std::uint32_t found = 0) {
    if (!wrong) return std::nullopt;
    return Spot{s.offset_of(Field.layer) + Field.first_byte(), Field.bytes(), found};
}

// --- the opcodes of which a check speaks ------------------------------------------------------

constexpr bool every(const OpcodeInfo&) {
    return true;
}
constexpr bool reserved(const OpcodeInfo& info) {
    return info.reserved();
}
constexpr bool connected(const OpcodeInfo& info) {
    return info.service == Service::Rc || info.service == Service::Uc ||
           info.service == Service::Xrc;
}
constexpr bool not_connected(const OpcodeInfo& info) {
    return !connected(info);
}
template <Header Kind>
constexpr bool with(const OpcodeInfo& info) {
    return info.headers.has(Kind);
}
template <Operation Kind>
constexpr bool of(const OpcodeInfo& info) {
    return info.operation == Kind;
}
constexpr bool datagram(const OpcodeInfo& info) {
    return info.service == Service::Ud;
}
constexpr bool goes_on(const OpcodeInfo& info) {
    return !info.ends_message();
}
constexpr bool without_payload(const OpcodeInfo& info) {
    return !info.carries_payload();
}
constexpr bool first_or_middle_with_payload(const OpcodeInfo& info) {
    return info.carries_payload() && goes_on(info);
}
constexpr bool last_with_payload(const OpcodeInfo& info) {
    return info.carries_payload() && info.position == Position::Last;
}

// --- BTH --------------------------------------------------------------------------------------

Found version(const Subject& s) {
    const std::uint8_t found = s.packet.bth.version;
    return field_if<where("infiniband.bth.tver")>(found != 0, s, found);
}

Found opcode(const Subject& s) {
    return field_if<where("infiniband.bth.opcode")>(true, s, s.packet.bth.opcode);
}

Found pkey(const Subject& s) {
    const std::uint16_t found = s.packet.bth.pkey.value;
    return field_if<where("infiniband.bth.p_key")>((found & 0x7FFF) == 0, s, found);
}

// BTH-16: reserved bits are sent as zero; of FETH they are those of EXT-03.
template <Location Bits>
Found reserved_bits(const Subject& s, std::uint32_t found) {
    return field_if<Bits>(found != 0, s, found);
}
Found bth_reserved6(const Subject& s) {
    return reserved_bits<where("roce.bth.reserved6")>(s, s.packet.bth.reserved6);
}
Found bth_reserved7(const Subject& s) {
    return reserved_bits<where("infiniband.bth.reserved7")>(s, s.packet.bth.reserved7);
}
Found rdeth_reserved(const Subject& s) {
    return reserved_bits<where("roce.rdeth.reserved")>(s, s.packet.rdeth.reserved);
}
Found deth_reserved(const Subject& s) {
    return reserved_bits<where("roce.deth.reserved")>(s, s.packet.deth.reserved);
}
Found xrceth_reserved(const Subject& s) {
    return reserved_bits<where("roce.xrceth.reserved")>(s, s.packet.xrceth.reserved);
}
Found feth_reserved(const Subject& s) {
    return reserved_bits<where("roce.feth.reserved")>(s, s.packet.feth.reserved);
}

constexpr Location kDestQp = where("infiniband.bth.destqp");

Found special_qp(const Subject& s) {
    const std::uint32_t qp = s.packet.bth.dest_qp.value;
    return field_if<kDestQp>(qp <= wire::kGsiQpn.value, s, qp);
}
// QP 0 manages native InfiniBand.
Found management_qp(const Subject& s) {
    const std::uint32_t qp = s.packet.bth.dest_qp.value;
    return field_if<kDestQp>(
        qp == wire::kSmiQpn.value && s.dissection.protocol != Protocol::InfiniBand, s, qp);
}
Found multicast_qp(const Subject& s) {
    return field_if<kDestQp>(s.packet.bth.dest_qp.value == wire::kMask24, s);
}

// --- extended headers -------------------------------------------------------------------------

Found dma_length(const Subject& s) {
    constexpr std::uint32_t kMost = 0x80000000; // LEN-05
    const std::uint32_t found = s.packet.reth.dma_length;
    return field_if<where("infiniband.reth.dmalen")>(found > kMost, s, found);
}

// EXT-01: eight aligned bytes.
Found atomic_write_shape(const Subject& s) {
    const std::uint32_t bytes = s.dissection.payload_bytes();
    if (bytes == 8 && s.packet.reth.virtual_address % 8 == 0) return std::nullopt;
    return Spot{s.offset_of(wire::Layer::Reth), wire::Reth::kSize, bytes};
}

Found atomic_alignment(const Subject& s) {
    return field_if<where("infiniband.reth.va", wire::Layer::AtomicEth)>(
        s.packet.atomic.virtual_address % 8 != 0, s);
}

Found syndrome(const Subject& s) {
    const wire::Syndrome found = s.packet.aeth.syndrome;
    const bool wrong = (found.value & 0x80) != 0 || found.kind() == wire::AckKind::Reserved ||
                       (found.kind() == wire::AckKind::Nak && !found.nak_code());
    return field_if<where("infiniband.aeth.syndrome")>(wrong, s, found.value);
}

// --- body -------------------------------------------------------------------------------------

constexpr Location kPadCount = where("infiniband.bth.padcnt");

Found pad_above_body(const Subject& s) {
    const std::uint8_t pad = s.packet.bth.pad;
    return field_if<kPadCount>(pad > s.body_bytes(), s, pad);
}

Found any_pad(const Subject& s) {
    const std::uint8_t pad = s.packet.bth.pad;
    return field_if<kPadCount>(pad != 0, s, pad);
}

Found body_not_in_words(const Subject& s) {
    const std::uint32_t bytes = s.body_bytes();
    if (bytes % 4 == 0) return std::nullopt;
    return Spot{s.body_at(), bytes, bytes};
}

Found pad_not_zero(const Subject& s) {
    if (s.packet.bth.pad == 0) return std::nullopt;
    const LayerSpan* pad = s.dissection.layers.find(LayerKind::Pad);
    if (pad == nullptr) return std::nullopt;
    const wire::Bytes bytes = s.dissection.bytes_of(*pad);
    if (std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; })) {
        return std::nullopt;
    }
    return Spot{pad->offset, pad->length};
}

Found any_body(const Subject& s) {
    const std::uint32_t bytes = s.body_bytes();
    if (bytes == 0) return std::nullopt;
    return Spot{s.body_at(), bytes, bytes};
}

Found no_payload(const Subject& s) {
    return field_if<where("infiniband.bth.opcode")>(s.dissection.payload_bytes() == 0, s);
}

// --- CNP-02: each field that is not as it must be -----------------------------------------------

template <Location Field>
Found cnp_field(const Subject& s, bool wrong, CnpFault fault) {
    return field_if<Field>(wrong, s, static_cast<std::uint32_t>(fault));
}
Found cnp_solicited(const Subject& s) {
    return cnp_field<where("infiniband.bth.se")>(s, s.packet.bth.solicited, CnpFault::Solicited);
}
Found cnp_mig_req(const Subject& s) {
    return cnp_field<where("infiniband.bth.m")>(s, s.packet.bth.mig_req, CnpFault::MigReq);
}
Found cnp_pad(const Subject& s) {
    return cnp_field<kPadCount>(s, s.packet.bth.pad != 0, CnpFault::Pad);
}
Found cnp_fecn(const Subject& s) {
    return cnp_field<where("roce.bth.fecn")>(s, s.packet.bth.fecn, CnpFault::Fecn);
}
Found cnp_becn(const Subject& s) {
    return cnp_field<where("roce.bth.becn")>(s, !s.packet.bth.becn, CnpFault::Becn);
}
Found cnp_ack_request(const Subject& s) {
    return cnp_field<where("infiniband.bth.a")>(s, s.packet.bth.ack_request, CnpFault::AckRequest);
}
Found cnp_psn(const Subject& s) {
    return cnp_field<where("infiniband.bth.psn")>(s, s.packet.bth.psn != wire::Psn(0),
                                                  CnpFault::Psn);
}

Found cnp_length(const Subject& s) {
    constexpr std::uint32_t kReservedBytes = 16;
    if (s.body_bytes() == kReservedBytes) return std::nullopt;
    return Spot{s.body_at(), s.body_bytes(), static_cast<std::uint32_t>(CnpFault::Length)};
}

// From the first byte that is not zero to the last.
Found cnp_reserved(const Subject& s) {
    const LayerSpan* layer = s.dissection.layers.find(LayerKind::Cnp);
    if (layer == nullptr) return std::nullopt;
    const wire::Bytes bytes = s.dissection.bytes_of(*layer);
    const auto set = [](std::byte b) { return b != std::byte{0}; };
    const auto first = std::ranges::find_if(bytes, set);
    if (first == bytes.end()) return std::nullopt;
    auto last = bytes.end() - 1;
    while (!set(*last))
        --last;
    return Spot{layer->offset + static_cast<std::uint32_t>(first - bytes.begin()),
                static_cast<std::uint32_t>(last - first) + 1,
                static_cast<std::uint32_t>(CnpFault::Reserved)};
}

// --- management datagrams ---------------------------------------------------------------------

Found mad_length(const Subject& s) {
    if (!is_management(s.packet.bth, s.dissection.protocol)) return std::nullopt;
    const std::uint32_t bytes = s.body_bytes();
    if (bytes == wire::kMadBytes) return std::nullopt;
    return Spot{s.body_at(), bytes, bytes, wire::kMadBytes};
}

Found mad_version(const Subject& s) {
    const LayerSpan* mad = s.dissection.layers.find(LayerKind::Mad);
    if (mad == nullptr || mad->length < kMadHeaderBytes) return std::nullopt;
    const std::uint8_t found = MadHeader::read(s.dissection.bytes_of(*mad)).base_version;
    if (found == 1) return std::nullopt;
    return Spot{mad->offset, 1, found};
}

// --- the list ---------------------------------------------------------------------------------

// What of a packet must be there for a check: its BTH always is.
struct Needs {
    std::optional<Header> header; // which is there whole
    bool body = false;            // no packet that ends in its headers has a known body
};
constexpr Needs kBth{};
constexpr Needs kBody{.header = std::nullopt, .body = true};
constexpr Needs whole(Header header) {
    return {.header = header};
}

struct Check {
    FindingKind kind;
    bool (*concerns)(const OpcodeInfo&); // the opcodes of which it speaks
    Needs needs;
    Found (*find)(const Subject&);
};

using enum FindingKind;

// THE list of checks of a transport packet, in the order in which findings are reported.
constexpr auto kChecks = std::to_array<Check>({
    {HeaderVersion, every, kBth, version},
    {ReservedOpcode, reserved, kBth, opcode},
    {PkeyZero, every, kBth, pkey},
    {ReservedBits, every, kBth, bth_reserved6},
    {ReservedBits, every, kBth, bth_reserved7},
    {ReservedQp, connected, kBth, special_qp},
    {ReservedQp, not_connected, kBth, management_qp},
    {MulticastQp, connected, kBth, multicast_qp},

    {DmaLength, with<Header::Reth>, whole(Header::Reth), dma_length},
    {AtomicWriteShape, of<Operation::AtomicWrite>, whole(Header::Reth), atomic_write_shape},
    {AtomicAlignment, with<Header::AtomicEth>, whole(Header::AtomicEth), atomic_alignment},
    {ReservedSyndrome, with<Header::Aeth>, whole(Header::Aeth), syndrome},
    {ReservedBits, with<Header::Rdeth>, whole(Header::Rdeth), rdeth_reserved},
    {ReservedBits, with<Header::Deth>, whole(Header::Deth), deth_reserved},
    {ReservedBits, with<Header::Xrceth>, whole(Header::Xrceth), xrceth_reserved},
    {ReservedBits, with<Header::Feth>, whole(Header::Feth), feth_reserved},

    {PadExceedsPayload, every, kBody, pad_above_body},
    {PadInsideMessage, goes_on, kBody, any_pad},
    {LengthNotMultipleOf4, every, kBody, body_not_in_words},
    {PadContent, every, kBody, pad_not_zero},
    {UnexpectedPayload, without_payload, kBody, any_body},
    {EmptyFirstOrMiddle, first_or_middle_with_payload, kBody, no_payload},
    {EmptyLast, last_with_payload, kBody, no_payload},

    {CnpShape, of<Operation::Cnp>, kBody, cnp_solicited},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_mig_req},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_pad},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_fecn},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_becn},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_ack_request},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_psn},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_length},
    {CnpShape, of<Operation::Cnp>, kBody, cnp_reserved},

    {MadLength, datagram, kBody, mad_length},
    {MadVersion, datagram, kBody, mad_version},
});

// The rows that speak of an opcode, as bits.
using Rows = std::uint64_t;
static_assert(kChecks.size() <= 64);

constexpr std::array<Rows, 256> kRowsOf = [] {
    std::array<Rows, 256> rows{};
    for (std::size_t code = 0; code < rows.size(); ++code) {
        for (std::size_t i = 0; i < kChecks.size(); ++i) {
            if (kChecks[i].concerns(wire::kOpcodeTable[code])) rows[code] |= Rows{1} << i;
        }
    }
    return rows;
}();

template <Rows Asked, std::size_t I>
bool finds(const Subject& s) {
    if constexpr ((Asked >> I & 1) != 0) return kChecks[I].find(s).has_value();
    return false;
}

// Whether none of these checks finds anything in a packet of which all is there: the same
// functions, joined by the compiler into one for each set of rows.
template <Rows Asked>
[[gnu::flatten]] bool nothing_found(const Subject& s) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return !(finds<Asked, I>(s) || ...);
    }(std::make_index_sequence<kChecks.size()>());
}

using NothingFound = bool (*)(const Subject&);
constexpr std::array<NothingFound, 256> kNothingFound =
    []<std::size_t... Code>(std::index_sequence<Code...>) {
        return std::array<NothingFound, 256>{&nothing_found<kRowsOf[Code]>...};
    }(std::make_index_sequence<256>());

void report(const Check& check, const Subject& s, Findings& findings) {
    const bool there = check.needs.body
                           ? s.dissection.complete()
                           : !check.needs.header || s.packet.headers.has(*check.needs.header);
    if (!there) return;
    if (const Found found = check.find(s)) {
        findings.add({check.kind, found->offset, found->length, found->found, found->expected});
    }
}

[[gnu::noinline]] void report_all(const Subject& s, Rows rows, Findings& findings) {
    for (std::size_t i = 0; i < kChecks.size(); ++i) {
        if ((rows >> i & 1) != 0) report(kChecks[i], s, findings);
    }
}

} // namespace

void check_transport(Dissection& dissection) {
    const std::uint8_t code = dissection.packet.bth.opcode;
    const Subject subject{.dissection = dissection, .packet = dissection.packet};
    if (dissection.complete() && kNothingFound[code](subject)) return;
    if (dissection.has_bth) report_all(subject, kRowsOf[code], dissection.findings);
}

} // namespace veriroce::decode
