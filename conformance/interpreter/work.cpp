#include "conformance/interpreter/work.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/order.hpp"
#include "conformance/interpreter/queues.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/windows.hpp"

namespace veriroce::interpreter {
namespace {

dut::SendRequest request_of(const script::Post& post, const Order& order, const CaseQp& qp,
                            const Environment& environment) {
    dut::SendRequest request{.opcode = post.operation,
                             .remote_address = order.remote_address,
                             .rkey = order.rkey,
                             .invalidate_rkey = order.invalidate_rkey,
                             .compare = order.compare,
                             .swap = order.swap,
                             .add = order.add,
                             .flags = {.signaled = !post.unsignaled,
                                       .solicited = post.solicited,
                                       .fence = post.fence,
                                       .inline_data = post.inline_data}};
    if (order.imm) request.imm = static_cast<std::uint32_t>(*order.imm);
    if (order.placement) request.flush_placement = static_cast<std::uint8_t>(*order.placement);
    if (order.selectivity)
        request.flush_selectivity = static_cast<std::uint8_t>(*order.selectivity);
    if (qp.type == engine::QpType::Ud) {
        request.ud = dut::UdDestination{.address = qp.tester_address,
                                        .gid_index = environment.gid_index,
                                        .qpn = qp.book.identity().tester_qpn,
                                        .qkey = qkey_of(qp.setup)};
        if (environment.capable("ud_path")) {
            const dut::AddressVector vector = vector_of(qp, environment);
            request.ud->hop_limit = vector.hop_limit;
            request.ud->traffic_class = vector.traffic_class;
            request.ud->flow_label = vector.flow_label;
        }
    }
    return request;
}

// STA-03, STA-07: what a device may refuse, because the QP cannot send yet or is in ERR. It may
// also keep it, or flush it.
bool may_be_refused(engine::QpState state, engine::Queue queue) {
    const bool before_rts = state == engine::QpState::Reset || state == engine::QpState::Init ||
                            state == engine::QpState::Rtr;
    return state == engine::QpState::Err || (before_rts && queue == engine::Queue::Send);
}

// How many of the requests with these ids the device took.
Task<Met<std::int64_t>> posted(Interpreter& interpreter, CaseQp& qp, dut::Request request,
                               engine::Queue queue, Ids ids, bool may_refuse, Span span) {
    const Demand demand = demand_of(request, interpreter.environment());
    const dut::Answer answer = co_await interpreter.events().call(std::move(request));
    const bool passes = may_refuse && may_be_refused(qp.state, queue);
    if (!answer && !(passes && answer.error().refused()))
        co_return refused(interpreter, answer.error(), demand, span);
    const std::int64_t all = ids.last - ids.first + 1;
    const std::int64_t taken =
        answer ? all : std::min<std::int64_t>(answer.error().posted.value_or(0), all);
    for (std::int64_t id = ids.first; id <= ids.last; ++id) {
        const std::pair place{queue, static_cast<std::uint64_t>(id)};
        qp.refused.erase(place);
        if (id - ids.first >= taken) qp.refused.insert(place);
    }
    co_return taken;
}

} // namespace

Task<Met<>> play_post(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span,
                      bool may_refuse) {
    if (post.operation == wire::WrOpcode::BindMw) {
        co_await bind_window(interpreter, qp, post, span);
        co_return Met<>{};
    }
    Objects& objects = interpreter.objects();
    const Order order = co_await order_of(objects, post, qp);
    dut::SendRequest request = request_of(post, order, qp, interpreter.environment());
    if (post.to) {
        const auto address = interpreter.environment().address(post.to->name, post.to->offset);
        if (!address) co_return unplayable(post.to->span, "no such address");
        request.ud->address = *address;
    }
    if (order.qkey) request.ud->qkey = wire::Qkey{static_cast<std::uint32_t>(*order.qkey)};
    if (order.dscp) {
        if (!interpreter.environment().capable("ud_path"))
            co_return unsupported(post.dscp->span, "needs a traffic class for each datagram");
        const auto ecn = request.ud->traffic_class.value_or(0) & 3U;
        request.ud->traffic_class = static_cast<std::uint8_t>(*order.dscp << 2U | ecn);
    }
    for (const script::RegionSlice& slice : post.local) {
        const Piece piece = co_await piece_of(objects, slice, qp);
        const std::uint64_t bytes =
            post.local.size() == 1 ? order.bytes_of_piece(piece.length) : piece.length;
        request.sge.push_back(
            {piece.memory->mr, piece.offset, static_cast<std::uint32_t>(bytes), order.lkey});
    }
    const std::uint64_t bytes = order.bytes(post.operation);
    if (post.local.empty() && bytes > 0) {
        const Memory* scratch = co_await anonymous_region(
            interpreter, bytes, qp.pd, fmt::format("the buffer of post id={}", order.ids.first),
            span);
        request.sge.push_back({scratch->mr, 0, static_cast<std::uint32_t>(bytes), order.lkey});
    }
    dut::PostSend chain{.qp = qp.dut_qp};
    for (std::int64_t id = order.ids.first; id <= order.ids.last; ++id) {
        request.id = static_cast<std::uint64_t>(id);
        chain.requests.push_back(request);
    }
    dut::Request call = std::move(chain);
    co_await posted(interpreter, qp, std::move(call), engine::Queue::Send, order.ids, may_refuse,
                    span);
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> post_receive(Interpreter& interpreter, CaseQp& qp, const script::Recv& recv, Span span,
                         bool may_refuse) {
    Objects& objects = interpreter.objects();
    const Ids ids = co_await ids_of(objects, recv.ids, qp);
    const std::int64_t wanted =
        co_await number_or(objects, recv.length, static_cast<std::int64_t>(kDefaultReceive), qp);
    const auto length = static_cast<std::uint64_t>(wanted);
    const std::optional<wire::Lkey> lkey = co_await lkey_of(objects, recv.lkey, qp);
    const std::string srq = recv.srq ? recv.srq->text : qp.srq;
    // A shared queue belongs to domain 1.
    const dut::PdHandle pd = srq.empty() ? qp.pd : objects.pds.at(1);
    std::vector<dut::ReceiveRequest> chain;
    for (std::int64_t id = ids.first; id <= ids.last; ++id) {
        dut::ReceiveRequest request{.id = static_cast<std::uint64_t>(id)};
        for (const script::RegionSlice& slice : recv.local) {
            const Piece piece = co_await piece_of(objects, slice, qp);
            request.sge.push_back(
                {piece.memory->mr, piece.offset, static_cast<std::uint32_t>(piece.length), lkey});
        }
        if (recv.local.empty() && length > 0) {
            const Memory* scratch = co_await anonymous_region(
                interpreter, length, pd, fmt::format("the buffer of recv id={}", id), span);
            request.sge.push_back({scratch->mr, 0, static_cast<std::uint32_t>(length), lkey});
        }
        chain.push_back(std::move(request));
    }
    dut::Request call;
    if (srq.empty()) {
        call = dut::PostRecv{.qp = qp.dut_qp, .requests = std::move(chain)};
    } else {
        call = dut::SrqPost{.srq = objects.srqs.at(srq), .requests = std::move(chain)};
    }
    const bool own = srq.empty(); // a shared queue has no state
    const std::int64_t taken = co_await posted(
        interpreter, qp, std::move(call), engine::Queue::Receive, ids, own && may_refuse, span);
    auto& receives = own ? qp.receives : objects.srq_receives[srq];
    for (std::int64_t id = ids.first; id < ids.first + taken; ++id)
        receives.push_back(static_cast<std::uint64_t>(id));
    const Met<> armed = co_await outcome_of(arm_limit(interpreter, srq, span));
    interpreter.clock().line_ended();
    co_return armed;
}

} // namespace veriroce::interpreter
