// Our engine as its user sees it: tester answers, post, recv, done, state, modify.
//
// Our engine takes part in a QP only behind `tester answers`; before it the script speaks.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
Task<Met<>> Interpreter::tester_command(Peer& peer, const script::SideCommand& line,
                                        script::SourceSpan span) {
    if (std::holds_alternative<script::Answers>(line.command)) co_return answers(peer, span);
    if (!peer.answering) {
        co_return std::unexpected(
            error(span, "our engine takes part only behind a 'tester answers' line"));
    }
    Met<> met;
    if (const auto* one = std::get_if<script::Post>(&line.command)) {
        met = tester_post(peer, *one, span);
    } else if (const auto* recv = std::get_if<script::Recv>(&line.command)) {
        met = tester_receive(peer, *recv, span);
    } else if (const auto* change = std::get_if<script::Modify>(&line.command)) {
        met = tester_modify(peer, *change, span);
    } else if (auto waiting = awaited_of_side(line, span)) {
        if (*waiting) met = co_await await_one(std::move(**waiting));
    } else {
        met = std::unexpected(waiting.error());
    }
    line_ended();
    co_return met;
}

Met<> Interpreter::answers(Peer& peer, script::SourceSpan span) {
    if (peer.book.last_dut_request() >= 0 || peer.book.next_request() > 0) {
        return std::unexpected(
            error(span, "'tester answers' must stand before the first packet of its QP"));
    }
    peer.answering = true;
    return {};
}

// --- work requests ----------------------------------------------------------------------------

Met<std::vector<engine::Sge>>
Interpreter::tester_pieces(const std::vector<script::RegionSlice>& slices, std::uint64_t otherwise,
                           const Peer& peer, std::optional<wire::Lkey> lkey,
                           script::SourceSpan span) {
    std::vector<engine::Sge> sges;
    for (const script::RegionSlice& slice : slices) {
        const auto piece = piece_of(slice, peer);
        if (!piece) return std::unexpected(piece.error());
        sges.push_back({.address = piece->memory->address + piece->offset,
                        .length = static_cast<std::uint32_t>(piece->length),
                        .lkey = lkey.value_or(piece->memory->lkey)});
    }
    if (!slices.empty() || otherwise == 0) return sges;
    const auto scratch = anonymous_tester_region(otherwise, span);
    if (!scratch) return std::unexpected(scratch.error());
    sges.push_back({.address = (*scratch)->address,
                    .length = static_cast<std::uint32_t>(otherwise),
                    .lkey = lkey.value_or((*scratch)->lkey)});
    return sges;
}

Met<> Interpreter::tester_post(Peer& peer, const script::Post& post, script::SourceSpan span) {
    const auto order = order_of(post, peer);
    if (!order) return std::unexpected(order.error());
    engine::SendRequest request{.opcode = post.operation,
                                .remote_address = order->remote_address.value_or(0),
                                .rkey = order->rkey.value_or(wire::Rkey{}),
                                .imm = static_cast<std::uint32_t>(order->imm.value_or(0)),
                                .invalidate_rkey = order->invalidate_rkey.value_or(wire::Rkey{}),
                                .compare_or_add = order->compare.value_or(order->add.value_or(0)),
                                .swap = order->swap.value_or(0),
                                .flags = {.signaled = !post.unsignaled,
                                          .solicited = post.solicited,
                                          .fence = post.fence,
                                          .inline_data = post.inline_data}};
    if (peer.type == engine::QpType::Ud) {
        request.ud = engine::UdDestination{.path = {.source = peer.tester_address,
                                                    .destination = environment_.dut_address,
                                                    .vlan = environment_.vlan},
                                           .qpn = peer.book.identity().dut_qpn,
                                           .qkey = qkey_of(peer.setup)};
    }
    auto sges = tester_pieces(post.local, order->bytes(post.operation), peer, order->lkey, span);
    if (!sges) return std::unexpected(sges.error());
    if (post.local.size() == 1) {
        sges->front().length =
            static_cast<std::uint32_t>(order->bytes_of_piece(sges->front().length));
    }
    request.sges = *sges;
    std::vector<engine::SendRequest> chain;
    for (std::int64_t id = order->ids.first; id <= order->ids.last; ++id) {
        request.id = static_cast<std::uint64_t>(id);
        chain.push_back(request);
    }
    const auto posted = engine_->post_send(peer.engine_qp, chain, events_.now());
    if (posted.refused) return std::unexpected(error(span, "the tester's engine refused it"));
    pump_engine();
    return {};
}

Met<> Interpreter::tester_receive(Peer& peer, const script::Recv& recv, script::SourceSpan span) {
    const auto ids = ids_of(recv.ids, peer);
    if (!ids) return std::unexpected(ids.error());
    std::uint64_t length = default_receive;
    if (recv.length) {
        const auto wanted = number(*recv.length, peer);
        if (!wanted) return std::unexpected(wanted.error());
        length = static_cast<std::uint64_t>(*wanted);
    }
    const auto lkey = lkey_of(recv.lkey, peer);
    if (!lkey) return std::unexpected(lkey.error());
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        const auto sges = tester_pieces(recv.local, length, peer, *lkey, span);
        if (!sges) return std::unexpected(sges.error());
        const engine::ReceiveRequest request{.id = static_cast<std::uint64_t>(id), .sges = *sges};
        const auto posted = engine_->post_receive(peer.engine_qp, {&request, 1});
        if (posted.refused) return std::unexpected(error(span, "the tester's engine refused it"));
    }
    return {};
}

Met<> Interpreter::tester_modify(Peer& peer, const script::Modify& line, script::SourceSpan span) {
    engine::QpAttributes change;
    for (const script::Attribute& attribute : line.attributes) {
        if (attribute.name == "state") {
            const auto& words = std::get<std::vector<script::Word>>(attribute.value);
            change.state = engine::enum_by_name<engine::QpState>(words.front().text);
            continue;
        }
        if (attribute.name == "access") {
            change.access =
                rights_of(std::get<std::vector<script::Word>>(attribute.value), own_rights);
            continue;
        }
        const auto* expr = std::get_if<script::Expr>(&attribute.value);
        const auto value = expr == nullptr ? Met<std::int64_t>(-1) : number(*expr, peer);
        if (!value) return std::unexpected(value.error());
        const auto small = static_cast<std::uint8_t>(*value);
        if (attribute.name == "timeout")
            change.timeout = small;
        else if (attribute.name == "retry_cnt")
            change.retry_count = small;
        else if (attribute.name == "rnr_retry")
            change.rnr_retry = small;
        else if (attribute.name == "min_rnr_timer")
            change.min_rnr_timer = small;
        else {
            return std::unexpected(error(
                attribute.span, fmt::format("our engine's '{}' stays as it is", attribute.name)));
        }
    }
    if (!engine_->modify_qp(peer.engine_qp, change, events_.now())) {
        return std::unexpected(error(span, "the tester's engine refused it"));
    }
    pump_engine();
    return {};
}

// --- what comes of it -------------------------------------------------------------------------

// Until something happens that may have changed our engine: a packet, or its own timer.
Task<void> Interpreter::wait_for_engine(wire::Instant deadline) {
    const auto timer = engine_->next_timeout();
    co_await events_.wait(timer ? std::min(deadline, *timer) : deadline);
    if (engine_->next_timeout() && *engine_->next_timeout() <= events_.now()) {
        engine_->handle_timeout(events_.now());
        pump_engine();
    }
}

// As the device's agent would tell them.
void Interpreter::collect_tester_completions() {
    while (const auto completion = engine_->poll_completion(engine_cq_)) {
        for (auto& [name, owner] : peers_) {
            if (owner.engine_qp != completion->qp) continue;
            owner.tester_completions.push_back({.id = completion->id,
                                                .queue = completion->queue,
                                                .status = completion->status,
                                                .opcode = completion->opcode,
                                                .byte_len = completion->byte_len,
                                                .imm = completion->imm});
        }
    }
}

} // namespace veriroce::interpreter
