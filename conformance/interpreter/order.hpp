// A `post` line with its numbers evaluated, for either side.
//
// Units: bytes; keys and operands as on the wire. Internal to this room.
// Source: conformance/script/README.md, "The two sides".
#pragma once

#include <cstdint>
#include <optional>

#include "conformance/interpreter/values.hpp"
#include "dissector/wire/types.hpp"
#include "dissector/wire/verbs.hpp"

namespace veriroce::interpreter {

struct Order {
    Ids ids;
    std::optional<std::uint64_t> length;
    std::optional<std::uint64_t> imm;
    std::optional<std::uint64_t> compare;
    std::optional<std::uint64_t> swap;
    std::optional<std::uint64_t> add;
    std::optional<std::uint64_t> placement;
    std::optional<std::uint64_t> selectivity;
    std::optional<std::uint64_t> dscp;
    std::optional<std::uint64_t> qkey;
    std::optional<std::uint64_t> remote_address;
    std::uint64_t remote_length = 0;
    std::optional<wire::Rkey> rkey; // the remote region's, or the line's `rkey=`
    std::optional<wire::Rkey> invalidate_rkey;
    std::optional<wire::Lkey> lkey; // the line's `lkey=`, instead of the local regions'

    // The length of a message without `local=`.
    [[nodiscard]] std::uint64_t bytes(wire::WrOpcode operation) const;
    // The length of the only piece of `local=`, which has `has` bytes.
    [[nodiscard]] std::uint64_t bytes_of_piece(std::uint64_t has) const;
};

Met<Order> order_of(Objects& objects, const script::Post& post, const CaseQp& qp);

} // namespace veriroce::interpreter
