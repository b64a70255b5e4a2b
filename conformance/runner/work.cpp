// dut post … and dut recv …: work requests.
#include <algorithm>

#include "conformance/runner/dialogue.hpp"

namespace veriroce::runner {
namespace {

constexpr std::uint64_t default_receive = 256;
constexpr std::uint64_t default_send = 64;

bool atomic(wire::WrOpcode opcode) {
    return opcode == wire::WrOpcode::AtomicCmpAndSwp || opcode == wire::WrOpcode::AtomicFetchAndAdd;
}

} // namespace

Met<Dialogue::Ids> Dialogue::ids_of(const script::IdRange& range, const Peer& peer) const {
    const auto first = number(range.first, peer);
    if (!first) return std::unexpected(first.error());
    const auto last = number(range.last, peer);
    if (!last) return std::unexpected(last.error());
    return Ids{*first, *last};
}

Met<std::uint32_t> Dialogue::key_of(const script::Key& key, const Peer& peer) const {
    const auto* expr = std::get_if<script::Expr>(&key);
    const auto value = number(expr != nullptr ? *expr : std::get<script::Absolute>(key).value, peer,
                              script::FieldName(wire::Field::Rkey));
    if (!value) return std::unexpected(value.error());
    return static_cast<std::uint32_t>(*value);
}

Met<std::optional<wire::Lkey>> Dialogue::lkey_of(const std::optional<script::Key>& key,
                                                 const Peer& peer) const {
    if (!key) return std::nullopt;
    const auto value = key_of(*key, peer);
    if (!value) return std::unexpected(value.error());
    return wire::Lkey{*value};
}

Task<Met<>> Dialogue::post(Peer& peer, const script::Post& post, script::SourceSpan span) {
    if (post.operation == wire::WrOpcode::BindMw) {
        const Met<> bound = co_await bind(peer, post, span);
        co_return bound;
    }
    const auto ids = ids_of(post.ids, peer);
    if (!ids) co_return std::unexpected(ids.error());

    dut::SendRequest request{.opcode = post.operation};
    std::optional<std::int64_t> length;
    if (post.length) {
        const auto wanted = number(*post.length, peer);
        if (!wanted) co_return std::unexpected(wanted.error());
        length = *wanted;
    }
    std::uint64_t remote_length = 0;
    if (post.remote) {
        const auto piece = piece_of(*post.remote, peer);
        if (!piece) co_return std::unexpected(piece.error());
        request.remote_address = piece->memory->address + piece->offset;
        request.rkey = piece->memory->rkey;
        remote_length = piece->length;
    }
    const auto lkey = lkey_of(post.lkey, peer);
    if (!lkey) co_return std::unexpected(lkey.error());
    if (post.rkey) {
        const auto key = key_of(*post.rkey, peer);
        if (!key) co_return std::unexpected(key.error());
        request.rkey = wire::Rkey{*key};
    }
    if (post.ikey) {
        const auto key = key_of(*post.ikey, peer);
        if (!key) co_return std::unexpected(key.error());
        request.invalidate_rkey = wire::Rkey{*key};
    }
    if (peer.type == engine::QpType::Ud) {
        request.ud = dut::UdDestination{.address = peer.tester_address,
                                        .gid_index = setting_.gid_index,
                                        .qpn = peer.book.identity().tester_qpn,
                                        .qkey = qkey_of(peer.setup)};
    }
    for (const script::RegionSlice& slice : post.local) {
        const auto piece = piece_of(slice, peer);
        if (!piece) co_return std::unexpected(piece.error());
        std::uint64_t bytes = piece->length;
        if (length && post.local.size() == 1) bytes = static_cast<std::uint64_t>(*length);
        if (!length && post.local.size() == 1 && remote_length != 0) {
            bytes = std::min(bytes, remote_length);
        }
        request.sge.push_back(
            {piece->memory->mr, piece->offset, static_cast<std::uint32_t>(bytes), *lkey});
    }
    if (post.local.empty() && post.operation != wire::WrOpcode::LocalInv) {
        const std::uint64_t bytes = atomic(post.operation) ? 8
                                    : length               ? static_cast<std::uint64_t>(*length)
                                    : remote_length != 0   ? remote_length
                                                           : default_send;
        if (bytes > 0) {
            const auto scratch = co_await anonymous_region(bytes, peer.pd, span);
            if (!scratch) co_return std::unexpected(scratch.error());
            request.sge.push_back({(*scratch)->mr, 0, static_cast<std::uint32_t>(bytes), *lkey});
        }
    }
    const auto operand = [&](const std::optional<script::Expr>& expr,
                             std::optional<std::uint64_t>& into) -> Met<> {
        if (!expr) return {};
        const auto value = number(*expr, peer);
        if (!value) return std::unexpected(value.error());
        into = static_cast<std::uint64_t>(*value);
        return {};
    };
    std::optional<std::uint64_t> imm;
    for (const Met<>& met : {operand(post.imm, imm), operand(post.compare, request.compare),
                             operand(post.swap, request.swap), operand(post.add, request.add)}) {
        if (!met) co_return met;
    }
    if (imm) request.imm = static_cast<std::uint32_t>(*imm);
    request.flags = {.signaled = !post.unsignaled,
                     .solicited = post.solicited,
                     .fence = post.fence,
                     .inline_data = post.inline_data};

    dut::PostSend chain{.qp = peer.dut_qp};
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        request.id = static_cast<std::uint64_t>(id);
        chain.requests.push_back(request);
    }
    dut::Request call = std::move(chain);
    const auto posted = co_await ask<dut::Posted>(std::move(call), span);
    if (!posted) co_return std::unexpected(posted.error());
    line_end_ = stage_.now();
    co_return Met<>{};
}

Task<Met<>> Dialogue::post_receive(Peer& peer, const script::Recv& recv, script::SourceSpan span) {
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
    line_end_ = stage_.now();
    co_return armed;
}

} // namespace veriroce::runner
