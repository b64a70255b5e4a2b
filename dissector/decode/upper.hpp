// What lies above the transport: NVMe over RDMA, iSER, SMB Direct, RPC over RDMA. The headers that
// begin a message are taken apart; the transport's Payload gives way to them.
//
// That a connection carries one of these is never guessed from its bytes: the caller knows it, from
// its CM exchange or its user (flow/upper_connections.hpp).
//
// Errors: a message that ends inside its header is a finding; a capture that does is `cut`.
// Source: NVMe over Fabrics 1.1 (RDMA transport), RFC 7145, RFC 7143, MS-SMBD, RFC 8166.
#pragma once

#include <optional>
#include <string_view>

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

enum class Upper : std::uint8_t { None, Nvme, Iser, SmbDirect, RpcRdma };

// As display filters call them: "nvme", "iser", "smb_direct", "rpcordma"; "none".
std::string_view name_of(Upper protocol);
std::optional<Upper> upper_by_name(std::string_view name);
// By the well-known port of the service that a CM request asks for.
Upper upper_of_port(std::uint16_t port);

// The end of the connection that a packet goes to. The client is who asked for the connection.
enum class Toward : std::uint8_t { Unknown, Server, Client };

// The queue of NVMe that a connection is. Admin commands and I/O commands have the same opcodes.
enum class NvmeQueue : std::uint8_t { Unknown, Admin, Io };
constexpr NvmeQueue nvme_queue_of(std::uint16_t id) {
    return id == 0 ? NvmeQueue::Admin : NvmeQueue::Io;
}

struct UpperFacts {
    Upper protocol = Upper::None;
    Toward toward = Toward::Unknown;
    std::optional<wire::Psn> first_psn; // of the packets that go there
    NvmeQueue nvme_queue = NvmeQueue::Unknown;
};

// Whether a message begins in this packet: a SEND First or Only of a connection.
bool begins_message(const Dissection& dissection);
// Takes the beginning of a message apart. To be called once for a packet that begins one.
void dissect_upper(const UpperFacts& facts, Dissection& dissection);
// The private data of a CM request, reply or reject about a connection of this protocol.
void dissect_private_data(Upper protocol, Dissection& dissection);

// The ID of the queue that a Connect command of NVMe, if there is one in this packet, connects.
std::optional<std::uint16_t> connected_nvme_queue(const Dissection& dissection);

inline constexpr std::uint8_t kNvmeFabricsOpcode = 0x7F;
inline constexpr std::uint8_t kNvmeConnect = 0x01; // the type of a fabrics command

} // namespace veriroce::decode
