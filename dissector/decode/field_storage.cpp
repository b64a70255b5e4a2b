// Rows of the field table: iSER and iSCSI, SMB Direct (little-endian), RPC over RDMA.
#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/upper_names.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;
using Format::Boolean;
using Format::Decimal;
using Format::Hex;

using Computed = std::optional<Value>;

constexpr std::uint8_t kFromTarget = 0x20; // a bit of iSCSI's opcode

std::uint8_t opcode_of(const Dissection& d, const LayerSpan& layer) {
    return wire::load_u8(d.bytes_of(layer), 0) & 0x3F;
}
// Sequence numbers, by who sends the PDU and whether it has them.
template <std::size_t At, bool Target>
Computed sequence_number(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < At + 4) return std::nullopt;
    const std::uint8_t opcode = opcode_of(d, layer);
    if (((opcode & kFromTarget) != 0) != Target) return std::nullopt;
    const bool unnumbered = opcode == 0x05 || opcode == 0x10; // Data Out and SNACK
    if (unnumbered && At == 24) return std::nullopt;
    return number(wire::load_u32(bytes, At));
}
template <std::size_t At, bool Target>
constexpr FieldRow sequence_row(std::string_view name, std::string_view title) {
    return standing(computed(name, title, Iscsi, Decimal, sequence_number<At, Target>), At * 8, 32);
}
// A login is immediate in any case.
Computed immediate(const Dissection& d, const LayerSpan& layer) {
    const std::uint8_t opcode = opcode_of(d, layer);
    if ((opcode & kFromTarget) != 0 || opcode == 0x03) return std::nullopt;
    return number(wire::load_u8(d.bytes_of(layer), 0) >> 6 & 1);
}

constexpr std::array kIserRows{
    hex("iser.flags", "Flags", Iser, 0, 8, 2),
    hex("iser.flags.opcode", "Opcode", Iser, 0, 4, 2, iser_opcode_name),
    flag("iser.flags.wsv", "Write STag Valid", Iser, 4),
    flag("iser.flags.rsv", "Read STag Valid", Iser, 5),
    hex("iser.write_stag", "Write STag", Iser, 32, 32, 8),
    hex("iser.write_base_offset", "Write Base Offset", Iser, 64, 64, 16),
    hex("iser.read_stag", "Read STag", Iser, 128, 32, 8),
    hex("iser.read_base_offset", "Read Base Offset", Iser, 160, 64, 16),

    hex("iser.flags", "Flags", IserHello, 0, 8, 2),
    hex("iser.flags.opcode", "Opcode", IserHello, 0, 4, 2, iser_opcode_name),
    dec("roce.iser.max_version", "Highest Version", IserHello, 8, 4),
    dec("roce.iser.min_version", "Lowest Version", IserHello, 12, 4),
    hex("iser.ird", "iSER-IRD", IserHello, 16, 16, 4),

    hex("iser.flags", "Flags", IserHelloReply, 0, 8, 2),
    hex("iser.flags.opcode", "Opcode", IserHelloReply, 0, 4, 2, iser_opcode_name),
    flag("iser.flags.rej", "Rejected", IserHelloReply, 7),
    dec("roce.iser.max_version", "Highest Version", IserHelloReply, 8, 4),
    dec("roce.iser.current_version", "Current Version", IserHelloReply, 12, 4),
    hex("iser.ord", "iSER-ORD", IserHelloReply, 16, 16, 4),

    standing(computed("iscsi.I", "Immediate", Iscsi, Boolean, immediate), 1, 1),
    hex("iscsi.opcode", "Opcode", Iscsi, 2, 6, 2, iscsi_opcode_name),
    dec("iscsi.totalahslength", "TotalAHSLength (words)", Iscsi, 32, 8),
    dec("iscsi.datasegmentlength", "DataSegmentLength", Iscsi, 40, 24),
    hex("iscsi.initiatortasktag", "InitiatorTaskTag", Iscsi, 128, 32, 8),
    sequence_row<24, false>("iscsi.cmdsn", "CmdSN"),
    sequence_row<28, false>("iscsi.expstatsn", "ExpStatSN"),
    sequence_row<24, true>("iscsi.statsn", "StatSN"),
    sequence_row<28, true>("iscsi.expcmdsn", "ExpCmdSN"),
    sequence_row<32, true>("iscsi.maxcmdsn", "MaxCmdSN"),
};

constexpr std::array kSmbDirectRows{
    little_row<0, 2>("smb_direct.version.min", "MinVersion", SmbDirectRequest, Hex, 4),
    little_row<2, 2>("smb_direct.version.max", "MaxVersion", SmbDirectRequest, Hex, 4),
    little_row<6, 2>("smb_direct.credits.requested", "CreditsRequested", SmbDirectRequest, Decimal),
    little_row<8, 4>("smb_direct.preferred_send_size", "PreferredSendSize", SmbDirectRequest,
                     Decimal),
    little_row<12, 4>("smb_direct.max_receive_size", "MaxReceiveSize", SmbDirectRequest, Decimal),
    little_row<16, 4>("smb_direct.max_fragmented_size", "MaxFragmentedSize", SmbDirectRequest,
                      Decimal),

    little_row<0, 2>("smb_direct.version.min", "MinVersion", SmbDirectResponse, Hex, 4),
    little_row<2, 2>("smb_direct.version.max", "MaxVersion", SmbDirectResponse, Hex, 4),
    little_row<4, 2>("smb_direct.version.negotiated", "NegotiatedVersion", SmbDirectResponse, Hex,
                     4),
    little_row<8, 2>("smb_direct.credits.requested", "CreditsRequested", SmbDirectResponse,
                     Decimal),
    little_row<10, 2>("smb_direct.credits.granted", "CreditsGranted", SmbDirectResponse, Decimal),
    little_row<12, 4>("smb_direct.status", "Status", SmbDirectResponse, Hex, 8),
    little_row<16, 4>("smb_direct.max_read_write_size", "MaxReadWriteSize", SmbDirectResponse,
                      Decimal),
    little_row<20, 4>("smb_direct.preferred_send_size", "PreferredSendSize", SmbDirectResponse,
                      Decimal),
    little_row<24, 4>("smb_direct.max_receive_size", "MaxReceiveSize", SmbDirectResponse, Decimal),
    little_row<28, 4>("smb_direct.max_fragmented_size", "MaxFragmentedSize", SmbDirectResponse,
                      Decimal),

    little_row<0, 2>("smb_direct.credits.requested", "CreditsRequested", SmbDirectData, Decimal),
    little_row<2, 2>("smb_direct.credits.granted", "CreditsGranted", SmbDirectData, Decimal),
    little_row<4, 2>("smb_direct.flags", "Flags", SmbDirectData, Hex, 4),
    little_row<4, 2, 0, 1>("smb_direct.flags.response_requested", "ResponseRequested",
                           SmbDirectData, Boolean),
    little_row<8, 4>("smb_direct.remaining_length", "RemainingLength", SmbDirectData, Decimal),
    little_row<12, 4>("smb_direct.data_offset", "DataOffset", SmbDirectData, Decimal),
    little_row<16, 4>("smb_direct.data_length", "DataLength", SmbDirectData, Decimal),
};

// How many layers of a kind the message has, once so many ends of lists were found behind it: a
// list that was not followed to its end has no count.
template <LayerKind Kind, std::size_t Ends>
Computed entries(const Dissection& d, const LayerSpan&) {
    std::uint64_t count = 0;
    std::size_t ends = 0;
    for (const LayerSpan& layer : d.layers.from(RpcRdma)) {
        if (layer.kind == Kind) ++count;
        if (layer.kind == RpcRdmaEnd && layer.length == 4) ++ends;
    }
    const bool reply = Kind == RpcRdmaReply && count > 0; // one at most, with nothing behind it
    if (ends < Ends && !reply) return std::nullopt;
    return number(count);
}

constexpr std::array kRpcRows{
    hex("rpcordma.xid", "XID", RpcRdma, 0, 32, 8),
    dec("rpcordma.version", "Version", RpcRdma, 32, 32),
    dec("rpcordma.flow_control", "Credits", RpcRdma, 64, 32),
    dec("rpcordma.msg_type", "Procedure", RpcRdma, 96, 32, rpc_rdma_procedure_name),
    computed("rpcordma.reads_count", "Read Segments", RpcRdma, Decimal, entries<RpcRdmaRead, 1>),
    computed("rpcordma.writes_count", "Write Chunks", RpcRdma, Decimal, entries<RpcRdmaWrite, 2>),
    computed("rpcordma.reply_count", "Reply Chunks", RpcRdma, Decimal, entries<RpcRdmaReply, 3>),

    dec("rpcordma.rdma_align", "Alignment", RpcRdmaPadding, 0, 32),
    dec("rpcordma.rdma_thresh", "Threshold", RpcRdmaPadding, 32, 32),

    dec("rpcordma.position", "Position", RpcRdmaRead, 32, 32),
    hex("rpcordma.rdma_handle", "Handle", RpcRdmaRead, 64, 32, 8),
    dec("rpcordma.rdma_length", "Length", RpcRdmaRead, 96, 32),
    hex("rpcordma.rdma_offset", "Offset", RpcRdmaRead, 128, 64, 16),

    dec("rpcordma.segment_count", "Segments", RpcRdmaWrite, 32, 32),
    dec("rpcordma.segment_count", "Segments", RpcRdmaReply, 32, 32),

    hex("rpcordma.rdma_handle", "Handle", RpcRdmaSegment, 0, 32, 8),
    dec("rpcordma.rdma_length", "Length", RpcRdmaSegment, 32, 32),
    hex("rpcordma.rdma_offset", "Offset", RpcRdmaSegment, 64, 64, 16),

    dec("rpcordma.errcode", "Error Code", RpcRdmaError, 0, 32, rpc_rdma_error_name),
    dec("rpcordma.vers_low", "Lowest Version", RpcRdmaError, 32, 32),
    dec("rpcordma.vers_high", "Highest Version", RpcRdmaError, 64, 32),
};

constexpr auto kStorageRows = [] {
    std::array<FieldRow, kIserRows.size() + kSmbDirectRows.size() + kRpcRows.size()> rows;
    auto next = std::ranges::copy(kIserRows, rows.begin()).out;
    next = std::ranges::copy(kSmbDirectRows, next).out;
    std::ranges::copy(kRpcRows, next);
    return rows;
}();

} // namespace

std::span<const FieldRow> storage() {
    return kStorageRows;
}

} // namespace veriroce::decode::rows
