#include "dissector/decode/upper.hpp"

#include <bit>

#include "dissector/decode/pieces.hpp"

namespace veriroce::decode {
namespace {

struct Known {
    Upper protocol;
    std::string_view name;
};
constexpr std::array kKnown{
    Known{Upper::None, "none"},        Known{Upper::Nvme, "nvme"},
    Known{Upper::Iser, "iser"},        Known{Upper::SmbDirect, "smb_direct"},
    Known{Upper::RpcRdma, "rpcordma"},
};

struct Service {
    std::uint16_t port;
    Upper protocol;
};
constexpr std::array kServices{
    Service{4420, Upper::Nvme},      Service{3260, Upper::Iser},
    Service{445, Upper::SmbDirect},  Service{5445, Upper::SmbDirect},
    Service{20'049, Upper::RpcRdma},
};

// NVMe ------------------------------------------------------------------------------------------

constexpr std::uint32_t kCommandBytes = 64;
constexpr std::uint32_t kCompletionBytes = 16;
constexpr std::uint32_t kConnectDataBytes = 1024;
constexpr std::uint32_t kFabricsTypeAt = 4;
constexpr std::uint32_t kConnectQueueAt = 42;
constexpr std::uint32_t kDescriptorAt = 39; // the byte that says what the SGL descriptor is
constexpr std::uint8_t kInCapsule = 0x01;   // a data block, by offset

LayerKind command_of(NvmeQueue queue) {
    switch (queue) {
    case NvmeQueue::Unknown: return LayerKind::NvmeAnyCommand;
    case NvmeQueue::Admin: return LayerKind::NvmeCommand;
    case NvmeQueue::Io: return LayerKind::NvmeIoCommand;
    }
    return LayerKind::NvmeAnyCommand;
}

void nvme_command(const UpperFacts& facts, Pieces& pieces) {
    const std::uint8_t opcode = pieces.u8(0);
    if (opcode != kNvmeFabricsOpcode) {
        pieces.take(command_of(facts.nvme_queue), kCommandBytes);
        return;
    }
    const bool connects =
        pieces.u8(kFabricsTypeAt) == kNvmeConnect && pieces.u8(kDescriptorAt) == kInCapsule;
    if (!pieces.take(LayerKind::NvmeFabrics, kCommandBytes) || !connects) return;
    // Of a message that goes on, as much of the data as this packet holds.
    const std::uint32_t data =
        pieces.goes_on() ? std::min(kConnectDataBytes, pieces.left()) : kConnectDataBytes;
    if (data > 0) pieces.take(LayerKind::NvmeConnectData, data);
}

// If the direction is not known, a message of 16 bytes is a completion: no command has 16.
void nvme(const UpperFacts& facts, Pieces& pieces) {
    const bool completion = facts.toward == Toward::Client ||
                            (facts.toward == Toward::Unknown && pieces.bytes() == kCompletionBytes);
    if (!completion) return nvme_command(facts, pieces);
    if (pieces.bytes() > kCompletionBytes) {
        pieces.find(FindingKind::NvmeLength, 0, pieces.bytes(), pieces.bytes(), kCompletionBytes);
    }
    pieces.take(LayerKind::NvmeCompletion, kCompletionBytes);
}

// iSER ------------------------------------------------------------------------------------------

constexpr std::uint32_t kIserBytes = 28;
constexpr std::uint32_t kIscsiBytes = 48;

void iser(Pieces& pieces) {
    const unsigned opcode = pieces.u8(0) >> 4;
    if (!pieces.needs(1) || !pieces.captured(1)) return;
    switch (opcode) {
    case 1: break;
    case 2: pieces.take(LayerKind::IserHello, kIserBytes); return;
    case 3: pieces.take(LayerKind::IserHelloReply, kIserBytes); return;
    default: pieces.find(FindingKind::IserOpcode, 0, 1, opcode); return;
    }
    if (!pieces.take(LayerKind::Iser, kIserBytes)) return;
    const std::uint32_t more = pieces.u8(4) * 4U + pieces.u24(5); // further headers, and data
    if (pieces.take(LayerKind::Iscsi, kIscsiBytes)) pieces.needs(more);
}

// SMB Direct ------------------------------------------------------------------------------------

constexpr std::uint32_t kSmbRequestBytes = 20;
constexpr std::uint32_t kSmbResponseBytes = 32;
constexpr std::uint32_t kSmbDataBytes = 20;
constexpr std::uint32_t kSmbDataAligned = 24;
constexpr std::uint32_t kSmbVersionTwice = 0x00010001; // 1.0 as the lowest and the highest

// A data message that asks for 256 credits and grants as many begins with the same bytes. A
// request has credits where a data message has a reserved word; a response with that much behind
// its header has the offset of no data.
bool may_be_data(const Pieces& pieces) {
    if (pieces.bytes() == kSmbRequestBytes) return pieces.little_u32(4) >> 16 == 0;
    return pieces.little_u32(12) == kSmbDataAligned;
}

// The first message of each side negotiates. Where the first PSN is not known, a message of that
// length that begins with the version twice does, unless it may be data.
bool negotiates(const UpperFacts& facts, const Dissection& d, const Pieces& pieces,
                std::uint32_t bytes) {
    if (pieces.goes_on() || pieces.bytes() != bytes || pieces.u32(0) != kSmbVersionTwice) {
        return false;
    }
    return facts.first_psn ? d.packet.bth.psn == *facts.first_psn : !may_be_data(pieces);
}

void smb_direct(const UpperFacts& facts, const Dissection& d, Pieces& pieces) {
    if (facts.toward != Toward::Client && negotiates(facts, d, pieces, kSmbRequestBytes)) {
        pieces.take(LayerKind::SmbDirectRequest, kSmbRequestBytes);
        return;
    }
    if (facts.toward != Toward::Server && negotiates(facts, d, pieces, kSmbResponseBytes)) {
        pieces.take(LayerKind::SmbDirectResponse, kSmbResponseBytes);
        return;
    }
    const std::uint64_t offset = pieces.little_u32(12);
    const std::uint64_t length = pieces.little_u32(16);
    if (length > 0 && !pieces.goes_on() && pieces.captured(kSmbDataBytes) &&
        (offset < kSmbDataBytes || offset + length > pieces.bytes())) {
        pieces.find(FindingKind::SmbDirectLength, 12, 8, pieces.bytes(),
                    static_cast<std::uint32_t>(offset + length));
    }
    const bool aligned = length > 0 && pieces.bytes() >= kSmbDataAligned;
    pieces.take(LayerKind::SmbDirectData, aligned ? kSmbDataAligned : kSmbDataBytes);
}

// RPC over RDMA ---------------------------------------------------------------------------------

constexpr std::uint32_t kRpcBytes = 16;
constexpr std::uint32_t kRpcReadBytes = 24; // goes on, position, segment
constexpr std::uint32_t kRpcChunkBytes = 8; // goes on, how many segments
constexpr std::uint32_t kRpcSegmentBytes = 16;
constexpr std::uint32_t kRpcWordBytes = 4;

constexpr std::uint32_t kRpcMessage = 0;
constexpr std::uint32_t kRpcNoMessage = 1;
constexpr std::uint32_t kRpcPadded = 2;
constexpr std::uint32_t kRpcError = 4;
constexpr std::uint32_t kRpcErrorVersion = 1;

// What comes next: another item of the list, its end, or neither.
enum class Ahead : std::uint8_t { Item, End, Neither };
Ahead list_goes_on(Pieces& pieces) {
    if (!pieces.needs(kRpcWordBytes)) return Ahead::Neither;
    if (!pieces.captured(kRpcWordBytes)) {
        pieces.take(LayerKind::RpcRdmaEnd, kRpcWordBytes); // as far as it was captured
        return Ahead::Neither;
    }
    const std::uint32_t word = pieces.u32(0);
    if (word == 1) return Ahead::Item;
    if (word == 0) {
        return pieces.take(LayerKind::RpcRdmaEnd, kRpcWordBytes) ? Ahead::End : Ahead::Neither;
    }
    pieces.find(FindingKind::RpcRdmaList, 0, kRpcWordBytes, word);
    return Ahead::Neither;
}

// False if nothing after the list can be found.
bool rpc_reads(Pieces& pieces) {
    for (;;) { // each step takes a piece, of which there is a bounded number
        const Ahead ahead = list_goes_on(pieces);
        if (ahead != Ahead::Item) return ahead == Ahead::End;
        if (!pieces.take(LayerKind::RpcRdmaRead, kRpcReadBytes)) return false;
    }
}
bool rpc_chunk(Pieces& pieces, LayerKind kind) {
    const std::uint32_t segments = pieces.u32(4);
    if (!pieces.take(kind, kRpcChunkBytes)) return false;
    for (std::uint32_t i = 0; i < segments; ++i) {
        if (!pieces.take(LayerKind::RpcRdmaSegment, kRpcSegmentBytes)) return false;
    }
    return true;
}
bool rpc_writes(Pieces& pieces) {
    for (;;) {
        const Ahead ahead = list_goes_on(pieces);
        if (ahead != Ahead::Item) return ahead == Ahead::End;
        if (!rpc_chunk(pieces, LayerKind::RpcRdmaWrite)) return false;
    }
}
void rpc_lists(Pieces& pieces) {
    if (!rpc_reads(pieces) || !rpc_writes(pieces)) return;
    if (list_goes_on(pieces) == Ahead::Item) rpc_chunk(pieces, LayerKind::RpcRdmaReply);
}

void rpc_rdma(Pieces& pieces) {
    const std::uint32_t version = pieces.u32(4);
    const std::uint32_t procedure = pieces.u32(12);
    const std::uint32_t error = pieces.u32(kRpcBytes);
    if (!pieces.needs(kRpcBytes)) return;
    if (pieces.captured(8) && version != 1) {
        pieces.find(FindingKind::RpcRdmaVersion, 4, 4, version);
        return;
    }
    if (!pieces.take(LayerKind::RpcRdma, kRpcBytes)) return;
    if (procedure == kRpcError) {
        const bool versions = error == kRpcErrorVersion;
        pieces.take(LayerKind::RpcRdmaError, versions ? 3 * kRpcWordBytes : kRpcWordBytes);
        return;
    }
    if (procedure == kRpcPadded && !pieces.take(LayerKind::RpcRdmaPadding, 2 * kRpcWordBytes)) {
        return;
    }
    if (procedure == kRpcMessage || procedure == kRpcNoMessage || procedure == kRpcPadded) {
        rpc_lists(pieces);
    }
}

FindingKind too_short(Upper protocol) {
    switch (protocol) {
    case Upper::None:
    case Upper::Nvme: return FindingKind::NvmeLength;
    case Upper::Iser: return FindingKind::IserLength;
    case Upper::SmbDirect: return FindingKind::SmbDirectLength;
    case Upper::RpcRdma: return FindingKind::RpcRdmaLength;
    }
    return FindingKind::NvmeLength;
}

LayerSpan nothing_behind_headers(const Dissection& d) {
    const auto headers = static_cast<std::uint32_t>(d.transport.size()) - d.body_bytes;
    return {LayerKind::Payload, d.layers.find(LayerKind::Bth)->offset + headers, 0};
}

} // namespace

std::string_view name_of(Upper protocol) {
    return kKnown[static_cast<std::size_t>(protocol)].name;
}

std::optional<Upper> upper_by_name(std::string_view name) {
    for (const Known& known : kKnown) {
        if (known.name == name) return known.protocol;
    }
    return std::nullopt;
}

Upper upper_of_port(std::uint16_t port) {
    for (const Service& service : kServices) {
        if (service.port == port) return service.protocol;
    }
    return Upper::None;
}

bool begins_message(const Dissection& d) {
    if (!d.has_bth || d.malformed || d.fragment) return false;
    const wire::OpcodeInfo& info = d.info();
    return info.operation == wire::Operation::Send && info.service != wire::Service::Ud &&
           info.service != wire::Service::Rd && info.starts_message();
}

void dissect_upper(const UpperFacts& facts, Dissection& d) {
    const LayerSpan* found = d.layers.find(LayerKind::Payload);
    if (found == nullptr && d.cut) return; // nothing was captured of it
    const std::uint32_t bytes =
        d.body_bytes - (d.packet.bth.pad <= d.body_bytes ? d.packet.bth.pad : 0);
    // A message without bytes has no layer; it begins, and ends, after the headers.
    const LayerSpan payload = found != nullptr ? *found : nothing_behind_headers(d);
    const bool goes_on = !d.info().ends_message();
    Pieces pieces(d, payload, bytes, goes_on, too_short(facts.protocol));
    switch (facts.protocol) {
    case Upper::None: return;
    case Upper::Nvme: nvme(facts, pieces); break;
    case Upper::Iser: iser(pieces); break;
    case Upper::SmbDirect: smb_direct(facts, d, pieces); break;
    case Upper::RpcRdma: rpc_rdma(pieces); break;
    }
    pieces.finish();
}

void dissect_private_data(Upper protocol, Dissection& d) {
    const LayerSpan* data = d.layers.find(LayerKind::CmPrivate);
    if (protocol != Upper::Nvme || data == nullptr) return;
    struct Row {
        LayerKind message;
        LayerKind layer;
        std::uint32_t bytes;
    };
    static constexpr std::array<Row, 3> kRows{{{LayerKind::CmReq, LayerKind::NvmeCmReq, 32},
                                               {LayerKind::CmRep, LayerKind::NvmeCmRep, 32},
                                               {LayerKind::CmRej, LayerKind::NvmeCmRej, 4}}};
    for (const Row& row : kRows) {
        if (!d.layers.has(row.message)) continue;
        // A datagram that is too short has a finding of its own.
        Pieces pieces(d, *data, std::max(data->length, row.bytes), true, FindingKind::NvmeLength);
        pieces.take(row.layer, row.bytes);
        pieces.finish();
        return;
    }
}

std::optional<std::uint16_t> connected_nvme_queue(const Dissection& d) {
    const LayerSpan* command = d.layers.find(LayerKind::NvmeFabrics);
    if (command == nullptr || command->length < kCommandBytes) return std::nullopt;
    const wire::Bytes bytes = d.bytes_of(*command);
    if (wire::load_u8(bytes, kFabricsTypeAt) != kNvmeConnect) return std::nullopt;
    return std::byteswap(wire::load_u16(bytes, kConnectQueueAt));
}

} // namespace veriroce::decode
