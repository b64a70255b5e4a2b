// The kinds of work requests, by the verbs' names: what an engine carries out and a script asks
// for.
//
// Source: the InfiniBand verbs as rdma-core documents them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace veriroce::wire {

enum class WrOpcode : std::uint8_t {
    Send,
    SendWithImm,
    SendWithInv,
    RdmaWrite,
    RdmaWriteWithImm,
    RdmaRead,
    AtomicCmpAndSwp,
    AtomicFetchAndAdd,
    LocalInv,
    BindMw,
    Flush,
    AtomicWrite,
};

std::string_view name_of(WrOpcode opcode); // "SEND_WITH_IMM"
std::optional<WrOpcode> wr_opcode_by_name(std::string_view name);
std::span<const std::string_view> wr_opcode_names(); // in the order of the enumerators

} // namespace veriroce::wire
