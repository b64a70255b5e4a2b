// dut post … and dut recv …: work requests.
#include <algorithm>

#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint64_t default_send = 64;

} // namespace

Met<Ids> Interpreter::ids_of(const script::IdRange& range, const Peer& peer) const {
    const auto first = number(range.first, peer);
    if (!first) return std::unexpected(first.error());
    const auto last = number(range.last, peer);
    if (!last) return std::unexpected(last.error());
    return Ids{*first, *last};
}

Met<std::uint32_t> Interpreter::key_of(const script::Key& key, const Peer& peer) const {
    const auto* expr = std::get_if<script::Expr>(&key);
    const auto value = number(expr != nullptr ? *expr : std::get<script::Absolute>(key).value, peer,
                              script::FieldName(wire::Field::Rkey));
    if (!value) return std::unexpected(value.error());
    return static_cast<std::uint32_t>(*value);
}

Met<std::optional<wire::Lkey>> Interpreter::lkey_of(const std::optional<script::Key>& key,
                                                    const Peer& peer) const {
    if (!key) return std::nullopt;
    const auto value = key_of(*key, peer);
    if (!value) return std::unexpected(value.error());
    return wire::Lkey{*value};
}

Met<Order> Interpreter::order_of(const script::Post& post, const Peer& peer) {
    const auto ids = ids_of(post.ids, peer);
    if (!ids) return std::unexpected(ids.error());
    Order order{.ids = *ids};
    const auto take = [&](const std::optional<script::Expr>& expr,
                          std::optional<std::uint64_t>& into) -> Met<> {
        if (!expr) return {};
        const auto value = number(*expr, peer);
        if (!value) return std::unexpected(value.error());
        into = static_cast<std::uint64_t>(*value);
        return {};
    };
    for (const Met<>& met : {take(post.length, order.length), take(post.imm, order.imm),
                             take(post.compare, order.compare), take(post.swap, order.swap),
                             take(post.add, order.add)}) {
        if (!met) return std::unexpected(met.error());
    }
    if (post.remote) {
        const auto piece = piece_of(*post.remote, peer);
        if (!piece) return std::unexpected(piece.error());
        order.remote_address = piece->memory->address + piece->offset;
        order.rkey = piece->memory->rkey;
        order.remote_length = piece->length;
    }
    for (const auto& [written, into] :
         {std::pair{&post.rkey, &order.rkey}, {&post.ikey, &order.invalidate_rkey}}) {
        if (!*written) continue;
        const auto key = key_of(**written, peer);
        if (!key) return std::unexpected(key.error());
        *into = wire::Rkey{*key};
    }
    const auto lkey = lkey_of(post.lkey, peer);
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
    return remote_length != 0 ? remote_length : default_send;
}

std::uint64_t Order::bytes_of_piece(std::uint64_t has) const {
    if (length) return *length;
    return remote_length != 0 ? std::min(has, remote_length) : has;
}

Task<Met<>> Interpreter::post(Peer& peer, const script::Post& post, script::SourceSpan span) {
    if (post.operation == wire::WrOpcode::BindMw) {
        const Met<> bound = co_await bind(peer, post, span);
        co_return bound;
    }
    const auto order = order_of(post, peer);
    if (!order) co_return std::unexpected(order.error());
    dut::SendRequest request{.opcode = post.operation,
                             .remote_address = order->remote_address,
                             .rkey = order->rkey,
                             .invalidate_rkey = order->invalidate_rkey,
                             .compare = order->compare,
                             .swap = order->swap,
                             .add = order->add,
                             .flags = {.signaled = !post.unsignaled,
                                       .solicited = post.solicited,
                                       .fence = post.fence,
                                       .inline_data = post.inline_data}};
    if (order->imm) request.imm = static_cast<std::uint32_t>(*order->imm);
    if (peer.type == engine::QpType::Ud) {
        request.ud = dut::UdDestination{.address = peer.tester_address,
                                        .gid_index = environment_.gid_index,
                                        .qpn = peer.book.identity().tester_qpn,
                                        .qkey = qkey_of(peer.setup)};
    }
    for (const script::RegionSlice& slice : post.local) {
        const auto piece = piece_of(slice, peer);
        if (!piece) co_return std::unexpected(piece.error());
        const std::uint64_t bytes =
            post.local.size() == 1 ? order->bytes_of_piece(piece->length) : piece->length;
        request.sge.push_back(
            {piece->memory->mr, piece->offset, static_cast<std::uint32_t>(bytes), order->lkey});
    }
    const std::uint64_t bytes = order->bytes(post.operation);
    if (post.local.empty() && bytes > 0) {
        const auto scratch = co_await anonymous_region(bytes, peer.pd, span);
        if (!scratch) co_return std::unexpected(scratch.error());
        request.sge.push_back({(*scratch)->mr, 0, static_cast<std::uint32_t>(bytes), order->lkey});
    }
    dut::PostSend chain{.qp = peer.dut_qp};
    for (std::int64_t id = order->ids.first; id <= order->ids.last; ++id) {
        request.id = static_cast<std::uint64_t>(id);
        chain.requests.push_back(request);
    }
    dut::Request call = std::move(chain);
    const auto posted = co_await ask<dut::Posted>(std::move(call), span);
    if (!posted) co_return std::unexpected(posted.error());
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::post_receive(Peer& peer, const script::Recv& recv,
                                      script::SourceSpan span) {
    const auto ids = ids_of(recv.ids, peer);
    if (!ids) co_return std::unexpected(ids.error());
    std::uint64_t length = default_receive;
    if (recv.length) {
        const auto wanted = number(*recv.length, peer);
        if (!wanted) co_return std::unexpected(wanted.error());
        length = static_cast<std::uint64_t>(*wanted);
    }
    const auto lkey = lkey_of(recv.lkey, peer);
    if (!lkey) co_return std::unexpected(lkey.error());
    const std::string srq = recv.srq ? recv.srq->text : peer.srq;
    const dut::PdHandle pd = srq.empty() ? peer.pd : pds_.at(1); // a shared queue is of domain 1
    std::vector<dut::ReceiveRequest> chain;
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        dut::ReceiveRequest request{.id = static_cast<std::uint64_t>(id)};
        for (const script::RegionSlice& slice : recv.local) {
            const auto piece = piece_of(slice, peer);
            if (!piece) co_return std::unexpected(piece.error());
            request.sge.push_back({piece->memory->mr, piece->offset,
                                   static_cast<std::uint32_t>(piece->length), *lkey});
        }
        if (recv.local.empty() && length > 0) {
            const auto scratch = co_await anonymous_region(length, pd, span);
            if (!scratch) co_return std::unexpected(scratch.error());
            request.sge.push_back({(*scratch)->mr, 0, static_cast<std::uint32_t>(length), *lkey});
        }
        chain.push_back(std::move(request));
    }
    dut::Request call;
    if (srq.empty()) {
        call = dut::PostRecv{.qp = peer.dut_qp, .requests = std::move(chain)};
    } else {
        call = dut::SrqPost{.srq = srqs_.at(srq), .requests = std::move(chain)};
    }
    const auto posted = co_await ask<dut::Posted>(std::move(call), span);
    if (!posted) co_return std::unexpected(posted.error());
    auto& receives = srq.empty() ? peer.receives : srq_receives_[srq];
    for (std::int64_t id = ids->first; id <= ids->last; ++id)
        receives.push_back(static_cast<std::uint64_t>(id));
    const Met<> armed = co_await arm_limit(srq, span);
    line_ended();
    co_return armed;
}

} // namespace veriroce::interpreter
