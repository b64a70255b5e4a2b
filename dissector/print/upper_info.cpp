#include "dissector/print/upper_info.hpp"

#include "dissector/decode/field.hpp"
#include "dissector/decode/upper.hpp"
#include "dissector/decode/upper_names.hpp"
#include "dissector/print/append.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::LayerSpan;
using decode::NvmeQueue;

// A little-endian number in a header that was captured completely.
std::uint64_t little(wire::Bytes bytes, std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = count; i > 0; --i)
        value = value << 8 | wire::load_u8(bytes, at + i - 1);
    return value;
}

std::string_view or_unknown(std::string_view name) {
    return name.empty() ? "unknown" : name;
}

// If the header was truncated, prints what is available.

void append_command(std::string& out, wire::Bytes bytes, NvmeQueue queue) {
    const bool io = queue == NvmeQueue::Io;
    const std::uint64_t opcode = little(bytes, 0, 1);
    std::string_view name;
    if (io) name = decode::nvme_io_opcode_name(opcode);
    if (queue == NvmeQueue::Admin) name = decode::nvme_admin_opcode_name(opcode);
    if (name.empty()) {
        append<" NVMe Opcode=0x{:02x}">(out, opcode);
    } else {
        append<" NVMe {}">(out, name);
    }
    if (bytes.size() < 8) return;
    append<" CID=0x{:04x} NSID={}">(out, little(bytes, 2, 2), little(bytes, 4, 4));
    if (bytes.size() < 50 || !io || (opcode != 1 && opcode != 2)) return;
    append<" SLBA={} NLB={}">(out, little(bytes, 40, 8), little(bytes, 48, 2) + 1);
}

void append_fabrics(std::string& out, wire::Bytes bytes) {
    if (bytes.size() < 5) {
        out += " NVMe Fabrics";
        return;
    }
    const std::uint64_t type = little(bytes, 4, 1);
    append<" NVMe {} CID=0x{:04x}">(out, or_unknown(decode::nvme_fabrics_type_name(type)),
                                    little(bytes, 2, 2));
    if (bytes.size() < 48) return;
    if (type == decode::kNvmeConnect) append<" QID={}">(out, little(bytes, 42, 2));
    if (type == 0x00 || type == 0x04) append<" Offset=0x{:02x}">(out, little(bytes, 44, 4));
}

void append_completion(std::string& out, wire::Bytes bytes) {
    out += " NVMe Completion";
    if (bytes.size() < 16) return;
    const std::uint64_t status = little(bytes, 14, 2);
    append<" CID=0x{:04x} SQHD={}">(out, little(bytes, 12, 2), little(bytes, 8, 2));
    if (status >> 1 == 0) return; // success; the lowest bit is the phase tag
    const std::uint64_t type = status >> 9 & 7;
    const std::uint64_t code = status >> 1 & 0xFF;
    const std::string_view words = type == 0 ? decode::nvme_generic_status_name(code) : "";
    append<" Status={:x}/{:02x}">(out, type, code);
    if (!words.empty()) append<" ({})">(out, words);
}

void append_iser(std::string& out, const Dissection& d, wire::Bytes header) {
    out += " iSER";
    if (const auto* pdu = d.layers.find(LayerKind::Iscsi); pdu != nullptr && pdu->length == 48) {
        const wire::Bytes bytes = d.bytes_of(*pdu);
        append<" {} ITT=0x{:08x}">(
            out, or_unknown(decode::iscsi_opcode_name(wire::load_u8(bytes, 0) & 0x3FU)),
            wire::load_u32(bytes, 16));
    }
    if (header.size() < 20) return;
    const unsigned flags = wire::load_u8(header, 0);
    if ((flags & 0x08) != 0) append<" WriteSTag=0x{:08x}">(out, wire::load_u32(header, 4));
    if ((flags & 0x04) != 0) append<" ReadSTag=0x{:08x}">(out, wire::load_u32(header, 16));
}

void append_smb_response(std::string& out, wire::Bytes bytes) {
    out += " SMB Direct Negotiate Response";
    if (bytes.size() >= 16) append<" Status=0x{:08x}">(out, little(bytes, 12, 4));
}

void append_smb_data(std::string& out, wire::Bytes bytes) {
    out += " SMB Direct Data";
    if (bytes.size() < 20) return;
    append<" Credits={}/{} DataLength={}">(out, little(bytes, 0, 2), little(bytes, 2, 2),
                                           little(bytes, 16, 4));
    if (const std::uint64_t remaining = little(bytes, 8, 4); remaining > 0) {
        append<" Remaining={}">(out, remaining);
    }
}

void append_rpc(std::string& out, const Dissection& d, wire::Bytes bytes) {
    if (bytes.size() < 16) {
        out += " RPC over RDMA";
        return;
    }
    const std::string_view name = decode::rpc_rdma_procedure_name(wire::load_u32(bytes, 12));
    append<" RPC over RDMA {} XID=0x{:08x} Credits={}">(
        out, or_unknown(name), wire::load_u32(bytes, 0), wire::load_u32(bytes, 8));
    const auto count = [&d](LayerKind kind) {
        std::size_t layers = 0;
        for (const LayerSpan& layer : d.layers.from(kind)) {
            if (layer.kind == kind) ++layers;
        }
        return layers;
    };
    const std::size_t reads = count(LayerKind::RpcRdmaRead);
    const std::size_t writes = count(LayerKind::RpcRdmaWrite);
    if (reads > 0) append<" Reads={}">(out, reads);
    if (writes > 0) append<" Writes={}">(out, writes);
    if (d.layers.has(LayerKind::RpcRdmaReply)) out += " Reply=1";
    if (d.layers.has(LayerKind::RpcRdmaError)) {
        const auto* error = d.layers.find(LayerKind::RpcRdmaError);
        if (error->length < 4) return;
        const std::uint32_t code = wire::load_u32(d.bytes_of(*error), 0);
        append<" {}">(out, or_unknown(decode::rpc_rdma_error_name(code)));
    }
}

} // namespace

void append_upper_info(std::string& out, const Dissection& d) {
    // The first layer of the message determines what it is.
    const auto bytes = [&d](LayerKind kind) { return d.bytes_of(*d.layers.find(kind)); };
    if (d.layers.has(LayerKind::NvmeCommand)) {
        append_command(out, bytes(LayerKind::NvmeCommand), NvmeQueue::Admin);
    } else if (d.layers.has(LayerKind::NvmeIoCommand)) {
        append_command(out, bytes(LayerKind::NvmeIoCommand), NvmeQueue::Io);
    } else if (d.layers.has(LayerKind::NvmeAnyCommand)) {
        append_command(out, bytes(LayerKind::NvmeAnyCommand), NvmeQueue::Unknown);
    } else if (d.layers.has(LayerKind::NvmeFabrics)) {
        append_fabrics(out, bytes(LayerKind::NvmeFabrics));
    } else if (d.layers.has(LayerKind::NvmeCompletion)) {
        append_completion(out, bytes(LayerKind::NvmeCompletion));
    } else if (d.layers.has(LayerKind::Iser)) {
        append_iser(out, d, bytes(LayerKind::Iser));
    } else if (d.layers.has(LayerKind::IserHello)) {
        out += " iSER Hello";
    } else if (d.layers.has(LayerKind::IserHelloReply)) {
        out += " iSER HelloReply";
    } else if (d.layers.has(LayerKind::SmbDirectRequest)) {
        out += " SMB Direct Negotiate Request";
    } else if (d.layers.has(LayerKind::SmbDirectResponse)) {
        append_smb_response(out, bytes(LayerKind::SmbDirectResponse));
    } else if (d.layers.has(LayerKind::SmbDirectData)) {
        append_smb_data(out, bytes(LayerKind::SmbDirectData));
    } else if (d.layers.has(LayerKind::RpcRdma)) {
        append_rpc(out, d, bytes(LayerKind::RpcRdma));
    }
}

} // namespace veriroce::print
