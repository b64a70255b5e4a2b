#include "dissector/print/upper_info.hpp"

#include "dissector/decode/upper.hpp"
#include "dissector/decode/upper_names.hpp"
#include "dissector/print/append.hpp"
#include "dissector/print/named_field.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::LayerSpan;
using decode::NvmeQueue;

std::string_view or_unknown(std::string_view name) {
    return name.empty() ? "unknown" : name;
}

// A fabrics command shows more than its type and ID only up to here, an iSCSI header only whole.
constexpr std::uint32_t kFabricsWordsEnd = 48;
constexpr std::uint32_t kIscsiHeaderBytes = 48;

// If the header was truncated, prints what is available.

void append_command(std::string& out, const Dissection& d, NvmeQueue queue) {
    const auto opcode = number<"nvme.cmd.opc">(d);
    if (!opcode) return;
    std::string_view name;
    if (queue == NvmeQueue::Io) name = decode::nvme_io_opcode_name(*opcode);
    if (queue == NvmeQueue::Admin) name = decode::nvme_admin_opcode_name(*opcode);
    if (name.empty()) {
        append<" NVMe Opcode=0x{:02x}">(out, *opcode);
    } else {
        append<" NVMe {}">(out, name);
    }
    const auto id = number<"nvme.cmd.cid">(d);
    const auto name_space = number<"nvme.cmd.nsid">(d);
    if (!id || !name_space) return;
    append<" CID=0x{:04x} NSID={}">(out, *id, *name_space);
    const auto block = number<"nvme.cmd.slba">(d); // of Read and Write
    const auto blocks = number<"nvme.cmd.nlb">(d);
    if (block && blocks) append<" SLBA={} NLB={}">(out, *block, *blocks);
}

void append_fabrics(std::string& out, const Dissection& d) {
    const auto type = number<"nvme.fabrics.cmd.fctype">(d);
    const auto id = number<"nvme.fabrics.cmd.cid">(d);
    if (!type || !id) {
        out += " NVMe Fabrics";
        return;
    }
    append<" NVMe {} CID=0x{:04x}">(out, or_unknown(decode::nvme_fabrics_type_name(*type)), *id);
    if (d.layers.find(LayerKind::NvmeFabrics)->length < kFabricsWordsEnd) return;
    const auto queue = number<"nvme.fabrics.cmd.connect.qid">(d);
    if (queue) append<" QID={}">(out, *queue);
    const auto offset = number<"nvme.fabrics.cmd.prop_get_set.offset">(d);
    if (offset) append<" Offset=0x{:02x}">(out, *offset);
}

void append_completion(std::string& out, const Dissection& d) {
    out += " NVMe Completion";
    const auto status = number<"nvme.cqe.status">(d);
    if (!status) return;
    append<" CID=0x{:04x} SQHD={}">(out, number<"nvme.cqe.cid">(d).value(),
                                    number<"nvme.cqe.sqhd">(d).value());
    const std::uint64_t type = number<"nvme.cqe.status.sct">(d).value();
    const std::uint64_t code = number<"nvme.cqe.status.sc">(d).value();
    if (*status >> 1 == 0) return; // success; the lowest bit is the phase tag
    const std::string_view words = type == 0 ? decode::nvme_generic_status_name(code) : "";
    append<" Status={:x}/{:02x}">(out, type, code);
    if (!words.empty()) append<" ({})">(out, words);
}

void append_iser(std::string& out, const Dissection& d) {
    out += " iSER";
    const auto* pdu = d.layers.find(LayerKind::Iscsi);
    if (pdu != nullptr && pdu->length == kIscsiHeaderBytes) {
        const std::uint64_t opcode = number<"iscsi.opcode">(d).value();
        append<" {} ITT=0x{:08x}">(out, or_unknown(decode::iscsi_opcode_name(opcode)),
                                   number<"iscsi.initiatortasktag">(d).value());
    }
    const auto write_tag = number<"iser.write_stag">(d);
    const auto read_tag = number<"iser.read_stag">(d);
    if (!write_tag || !read_tag) return;
    if (number<"iser.flags.wsv">(d) == 1U) append<" WriteSTag=0x{:08x}">(out, *write_tag);
    if (number<"iser.flags.rsv">(d) == 1U) append<" ReadSTag=0x{:08x}">(out, *read_tag);
}

void append_smb_response(std::string& out, const Dissection& d) {
    out += " SMB Direct Negotiate Response";
    if (const auto status = number<"smb_direct.status">(d))
        append<" Status=0x{:08x}">(out, *status);
}

void append_smb_data(std::string& out, const Dissection& d) {
    out += " SMB Direct Data";
    const auto length = number<"smb_direct.data_length">(d);
    if (!length) return;
    append<" Credits={}/{} DataLength={}">(out, number<"smb_direct.credits.requested">(d).value(),
                                           number<"smb_direct.credits.granted">(d).value(),
                                           *length);
    const std::uint64_t remaining = number<"smb_direct.remaining_length">(d).value();
    if (remaining > 0) append<" Remaining={}">(out, remaining);
}

void append_rpc(std::string& out, const Dissection& d) {
    const auto procedure = number<"rpcordma.msg_type">(d);
    if (!procedure) {
        out += " RPC over RDMA";
        return;
    }
    append<" RPC over RDMA {} XID=0x{:08x} Credits={}">(
        out, or_unknown(decode::rpc_rdma_procedure_name(*procedure)),
        number<"rpcordma.xid">(d).value(), number<"rpcordma.flow_control">(d).value());
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
    if (const auto code = number<"rpcordma.errcode">(d)) {
        append<" {}">(out, or_unknown(decode::rpc_rdma_error_name(*code)));
    }
}

} // namespace

void append_upper_info(std::string& out, const Dissection& d) {
    // The first layer of the message determines what it is.
    if (d.layers.has(LayerKind::NvmeCommand)) {
        append_command(out, d, NvmeQueue::Admin);
    } else if (d.layers.has(LayerKind::NvmeIoCommand)) {
        append_command(out, d, NvmeQueue::Io);
    } else if (d.layers.has(LayerKind::NvmeAnyCommand)) {
        append_command(out, d, NvmeQueue::Unknown);
    } else if (d.layers.has(LayerKind::NvmeFabrics)) {
        append_fabrics(out, d);
    } else if (d.layers.has(LayerKind::NvmeCompletion)) {
        append_completion(out, d);
    } else if (d.layers.has(LayerKind::Iser)) {
        append_iser(out, d);
    } else if (d.layers.has(LayerKind::IserHello)) {
        out += " iSER Hello";
    } else if (d.layers.has(LayerKind::IserHelloReply)) {
        out += " iSER HelloReply";
    } else if (d.layers.has(LayerKind::SmbDirectRequest)) {
        out += " SMB Direct Negotiate Request";
    } else if (d.layers.has(LayerKind::SmbDirectResponse)) {
        append_smb_response(out, d);
    } else if (d.layers.has(LayerKind::SmbDirectData)) {
        append_smb_data(out, d);
    } else if (d.layers.has(LayerKind::RpcRdma)) {
        append_rpc(out, d);
    }
}

} // namespace veriroce::print
