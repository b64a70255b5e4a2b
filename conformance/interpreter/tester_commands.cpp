#include "conformance/interpreter/tester_commands.hpp"

#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/order.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/wire.hpp"
#include "conformance/interpreter/work.hpp"

namespace veriroce::interpreter {
namespace {

std::unexpected<Unmet> engine_refused(Span span) {
    return unplayable(span, "the tester's engine refused it");
}

Met<std::vector<engine::Sge>> pieces_of(Interpreter& interpreter,
                                        const std::vector<script::RegionSlice>& slices,
                                        std::uint64_t otherwise, const CaseQp& qp,
                                        std::optional<wire::Lkey> lkey, Span span) {
    std::vector<engine::Sge> sges;
    for (const script::RegionSlice& slice : slices) {
        const auto piece = piece_of(interpreter.objects(), slice, qp);
        if (!piece) return std::unexpected(piece.error());
        sges.push_back({.address = piece->memory->address + piece->offset,
                        .length = static_cast<std::uint32_t>(piece->length),
                        .lkey = lkey.value_or(piece->memory->lkey)});
    }
    if (!slices.empty() || otherwise == 0) return sges;
    const auto scratch = anonymous_tester_region(interpreter, otherwise, span);
    if (!scratch) return std::unexpected(scratch.error());
    sges.push_back({.address = (*scratch)->address,
                    .length = static_cast<std::uint32_t>(otherwise),
                    .lkey = lkey.value_or((*scratch)->lkey)});
    return sges;
}

engine::SendRequest request_of(const script::Post& post, const Order& order, const CaseQp& qp,
                               const Environment& environment) {
    engine::SendRequest request{.opcode = post.operation,
                                .remote_address = order.remote_address.value_or(0),
                                .rkey = order.rkey.value_or(wire::Rkey{}),
                                .imm = static_cast<std::uint32_t>(order.imm.value_or(0)),
                                .invalidate_rkey = order.invalidate_rkey.value_or(wire::Rkey{}),
                                .compare_or_add = order.compare.value_or(order.add.value_or(0)),
                                .swap = order.swap.value_or(0),
                                .flags = {.signaled = !post.unsignaled,
                                          .solicited = post.solicited,
                                          .fence = post.fence,
                                          .inline_data = post.inline_data}};
    if (order.placement) request.flush_placement = static_cast<std::uint8_t>(*order.placement);
    if (order.selectivity)
        request.flush_selectivity = static_cast<std::uint8_t>(*order.selectivity);
    if (qp.type == engine::QpType::Ud) {
        request.ud = engine::UdDestination{.path = {.source = qp.tester_address,
                                                    .destination = environment.dut_address,
                                                    .vlan = environment.vlan},
                                           .qpn = qp.book.identity().dut_qpn,
                                           .qkey = qkey_of(qp.setup)};
    }
    return request;
}

// Adds one attribute to the change; false if the engine cannot change it.
bool take(const script::Attribute& attribute, std::uint8_t value, engine::QpAttributes& change) {
    if (const auto* state = std::get_if<engine::QpState>(&attribute.value))
        change.state = *state;
    else if (const auto* access = std::get_if<engine::Access>(&attribute.value))
        change.access = *access | kOwnRights;
    else if (attribute.name == "timeout")
        change.timeout = value;
    else if (attribute.name == "retry_cnt")
        change.retry_count = value;
    else if (attribute.name == "rnr_retry")
        change.rnr_retry = value;
    else if (attribute.name == "min_rnr_timer")
        change.min_rnr_timer = value;
    else
        return false;
    return true;
}

} // namespace

Met<> tester_answers(CaseQp& qp, Span span) {
    if (qp.book.last_dut_request() >= 0 || qp.book.next_request() > 0) {
        return unplayable(span, "'tester answers' must come before the first packet of its QP");
    }
    qp.answering = true;
    return {};
}

Met<> must_answer(const CaseQp& qp, Span span) {
    if (qp.answering) return {};
    return unplayable(span, "this command needs a 'tester answers' line for its QP before it");
}

Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span) {
    const auto order = order_of(interpreter.objects(), post, qp);
    if (!order) return std::unexpected(order.error());
    auto sges =
        pieces_of(interpreter, post.local, order->bytes(post.operation), qp, order->lkey, span);
    if (!sges) return std::unexpected(sges.error());
    if (post.local.size() == 1) {
        sges->front().length =
            static_cast<std::uint32_t>(order->bytes_of_piece(sges->front().length));
    }
    engine::SendRequest request = request_of(post, *order, qp, interpreter.environment());
    request.sges = *sges;
    std::vector<engine::SendRequest> chain;
    for (std::int64_t id = order->ids.first; id <= order->ids.last; ++id) {
        request.id = static_cast<std::uint64_t>(id);
        chain.push_back(request);
    }
    const auto posted =
        interpreter.tester().engine().post_send(qp.engine_qp, chain, interpreter.clock().now());
    if (posted.refused) return engine_refused(span);
    interpreter.wire().transmit_of_engine();
    return {};
}

Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Recv& recv, Span span) {
    Objects& objects = interpreter.objects();
    const auto ids = ids_of(objects, recv.ids, qp);
    if (!ids) return std::unexpected(ids.error());
    const auto length =
        number_or(objects, recv.length, static_cast<std::int64_t>(kDefaultReceive), qp);
    if (!length) return std::unexpected(length.error());
    const auto lkey = lkey_of(objects, recv.lkey, qp);
    if (!lkey) return std::unexpected(lkey.error());
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        const auto sges = pieces_of(interpreter, recv.local, static_cast<std::uint64_t>(*length),
                                    qp, *lkey, span);
        if (!sges) return std::unexpected(sges.error());
        const engine::ReceiveRequest request{.id = static_cast<std::uint64_t>(id), .sges = *sges};
        const auto posted = interpreter.tester().engine().post_receive(qp.engine_qp, {&request, 1});
        if (posted.refused) return engine_refused(span);
    }
    return {};
}

Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Modify& line, Span span) {
    engine::QpAttributes change;
    for (const script::Attribute& attribute : line.attributes) {
        std::int64_t value = 0;
        if (const auto* expr = std::get_if<script::Expr>(&attribute.value)) {
            const auto written = number(interpreter.objects(), *expr, qp);
            if (!written) return std::unexpected(written.error());
            value = *written;
        }
        if (take(attribute, static_cast<std::uint8_t>(value), change)) continue;
        return unplayable(attribute.span,
                          fmt::format("our engine cannot change '{}'", attribute.name));
    }
    const auto modified =
        interpreter.tester().engine().modify_qp(qp.engine_qp, change, interpreter.clock().now());
    if (!modified) return engine_refused(span);
    interpreter.wire().transmit_of_engine();
    return {};
}

} // namespace veriroce::interpreter
