// The fields that a tester can name: one row per name of the script language, with the place or
// places that it means in the table of field positions (field_places.hpp). The script language,
// PacketSpec, fault actions, matching and mismatch reports all read it.
//
// Source: the field list of the script language (conformance/script/README.md).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "dissector/wire/field_places.hpp"
#include "dissector/wire/frame.hpp"

namespace veriroce::wire {

// g++ 12 takes a scoped enumerator that has the name of a type (Pkey) for a shadow of it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class Field : std::uint8_t {
    // BTH
    Opcode,
    SolicitedEvent,
    MigReq,
    Pad,
    TVer,
    Pkey,
    Fecn,
    Becn,
    Reserved6,
    DestQp,
    AckReq,
    Reserved7,
    Psn,
    // RETH, AtomicETH
    Va,
    Rkey,
    DmaLength,
    Swap,
    Add,
    Compare,
    // AtomicAckETH, AETH
    Original,
    Syndrome,
    Msn,
    // ImmDt, IETH, DETH, FETH
    Imm,
    Ikey,
    Qkey,
    SourceQp,
    Placement,
    Selectivity,
    // outer
    EthSource,
    EthDestination,
    EthType,
    VlanId,
    VlanPriority,
    VlanDropEligible,
    IpSource,
    IpDestination,
    IpDscp,
    IpEcn,
    IpTtl,
    IpId,
    IpDontFragment,
    IpLength,
    IpChecksum,
    IpFlow,
    UdpSourcePort,
    UdpDestinationPort,
    UdpLength,
    UdpChecksum,
    Icrc,
};
#pragma GCC diagnostic pop
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::Icrc) + 1;

enum class FieldKind : std::uint8_t { Number, Mac, Ip };

struct FieldInfo {
    Field field = Field::Opcode;
    std::string_view name; // of the script language: "destqp", "ip.ttl"
    FieldKind kind = FieldKind::Number;
    Location primary;
    // Its other place, if it has two: in the other IP family, in AtomicETH instead of RETH.
    std::optional<Location> secondary;
};

const FieldInfo& field_info(Field field);
std::span<const FieldInfo, kFields> field_table();
std::optional<Field> field_by_name(std::string_view script_name);

// Where the field is in this frame; nothing if the frame does not have its layer.
std::optional<Location> locate(const LayerMap& layers, Field field);

// Reads and writes a field of kind Number (up to 64 bits), most significant bit first: the ICRC,
// too, is the number that Wireshark shows. Nothing / false if the field is of another kind, is not
// there or is beyond the end of `frame`; false also if the value does not fit its bits.
std::optional<std::uint64_t> read_field(Bytes frame, const LayerMap& layers, Field field);
bool write_field(MutableBytes frame, const LayerMap& layers, Field field, std::uint64_t value);

// The same for addresses. An address of the other IP family does not fit.
std::optional<IpAddress> read_ip(Bytes frame, const LayerMap& layers, Field field);
std::optional<MacAddress> read_mac(Bytes frame, const LayerMap& layers, Field field);
bool write_ip(MutableBytes frame, const LayerMap& layers, Field field, const IpAddress& address);
bool write_mac(MutableBytes frame, const LayerMap& layers, Field field, const MacAddress& address);

// Turns one bit of a field of any kind over; bit 0 is its least significant. False if the field or
// that bit of it is not there.
bool flip_field(MutableBytes frame, const LayerMap& layers, Field field, std::size_t bit);

} // namespace veriroce::wire
