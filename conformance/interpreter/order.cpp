#include "conformance/interpreter/order.hpp"

#include <algorithm>
#include <utility>

#include "conformance/interpreter/objects.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint64_t kDefaultSend = 64; // bytes

} // namespace

Met<Order> order_of(Objects& objects, const script::Post& post, const CaseQp& qp) {
    const auto ids = ids_of(objects, post.ids, qp);
    if (!ids) return std::unexpected(ids.error());
    Order order{.ids = *ids};
    for (const auto& [written, into] : {std::pair{&post.length, &order.length},
                                        {&post.imm, &order.imm},
                                        {&post.compare, &order.compare},
                                        {&post.swap, &order.swap},
                                        {&post.add, &order.add},
                                        {&post.placement, &order.placement},
                                        {&post.selectivity, &order.selectivity},
                                        {&post.dscp, &order.dscp},
                                        {&post.qkey, &order.qkey}}) {
        if (!*written) continue;
        const auto value = number(objects, **written, qp);
        if (!value) return std::unexpected(value.error());
        *into = static_cast<std::uint64_t>(*value);
    }
    if (post.remote) {
        const auto piece = piece_of(objects, *post.remote, qp);
        if (!piece) return std::unexpected(piece.error());
        order.remote_address = piece->memory->address + piece->offset;
        order.rkey = piece->memory->rkey;
        order.remote_length = piece->length;
    }
    if (post.address) {
        const auto address = number(objects, *post.address, qp);
        if (!address) return std::unexpected(address.error());
        order.remote_address = static_cast<std::uint64_t>(*address);
    }
    for (const auto& [written, into] :
         {std::pair{&post.rkey, &order.rkey}, {&post.ikey, &order.invalidate_rkey}}) {
        if (!*written) continue;
        const auto key = key_of(objects, **written, qp);
        if (!key) return std::unexpected(key.error());
        *into = wire::Rkey{*key};
    }
    const auto lkey = lkey_of(objects, post.lkey, qp);
    if (!lkey) return std::unexpected(lkey.error());
    order.lkey = *lkey;
    return order;
}

std::uint64_t Order::bytes(wire::WrOpcode operation) const {
    if (operation == wire::WrOpcode::LocalInv) return 0;
    const bool atomic = operation == wire::WrOpcode::AtomicWrite ||
                        operation == wire::WrOpcode::AtomicCmpAndSwp ||
                        operation == wire::WrOpcode::AtomicFetchAndAdd;
    if (atomic) return 8;
    if (length) return *length;
    return remote_length != 0 ? remote_length : kDefaultSend;
}

std::uint64_t Order::bytes_of_piece(std::uint64_t has) const {
    if (length) return *length;
    return remote_length != 0 ? std::min(has, remote_length) : has;
}

} // namespace veriroce::interpreter
