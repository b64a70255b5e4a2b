#include "conformance/interpreter/connections.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/connect.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/matching.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/script/mad_fields.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::interpreter {
namespace {

using wire::ConnectionEvent;

Task<Met<>> listen(Interpreter& interpreter, Span span) {
    dut::Request call = dut::CmListen{};
    const auto begun = co_await ask<dut::CmListening>(interpreter, std::move(call), span);
    interpreter.objects().listener = Objects::Listener{.service = begun.service_id, .events = {}};
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Met<Objects::Listener*> listener_of(Interpreter& interpreter, Span span) {
    auto& listener = interpreter.objects().listener;
    if (!listener) return unplayable(span, "no 'dut cm listen' line before this one");
    return &*listener;
}

// Asks once for what the connection management tells, waiting at most so long.
Task<Met<>> collect(Interpreter& interpreter, Objects::Listener& listener, wire::Duration wait) {
    dut::Request call = dut::CmEvents{.wait_ms = wait_ms_of(wait)};
    const auto list = co_await ask<dut::CmEventList>(interpreter, std::move(call), {});
    listener.events.insert(listener.events.end(), list.events.begin(), list.events.end());
    co_return Met<>{};
}

// The first event of this kind that no line has claimed; of one connection if it is given.
Task<Met<dut::ConnectionHandle>> event(Interpreter& interpreter, ConnectionEvent type,
                                       std::optional<dut::ConnectionHandle> of,
                                       wire::Duration patience, Span span) {
    Objects::Listener& listener = *co_await listener_of(interpreter, span);
    const wire::Instant begin = interpreter.clock().now();
    wire::Duration wait{0};
    while (true) {
        co_await collect(interpreter, listener, wait);
        const auto found = std::ranges::find_if(listener.events, [&](const dut::CmEvent& one) {
            return one.type == type && (!of || one.connection == *of);
        });
        if (found != listener.events.end()) {
            const dut::ConnectionHandle connection = found->connection;
            listener.events.erase(found);
            co_return connection;
        }
        wait = begin + patience - interpreter.clock().now();
        if (wait <= wire::Duration(0)) {
            co_return failed(
                missing(span, std::string(wire::name_of(type)), interpreter.clock().now() - begin));
        }
    }
}

// The tester's latest REQ.
const Entry* latest_request(Interpreter& interpreter) {
    const CaseQp& gsi = interpreter.objects().qps.at(std::string(script::kGsiName));
    const Record& record = interpreter.record();
    for (auto one = gsi.entries.rbegin(); one != gsi.entries.rend(); ++one) {
        const Entry& entry = record[*one];
        if (entry.from == Side::Tester && management_of(*entry.packet) == wire::cm::kReq)
            return &entry;
    }
    return nullptr;
}

std::int64_t value_in(const Entry& request, std::string_view name) {
    return field_of(request, *script::mad_field(wire::cm::kReq, name)).value_or(0);
}

// CM-02, CM-03: where the attributes of the DUT's QP are not what the REQ asks for.
std::vector<Difference> differences_from(const Entry& request, const dut::QpAttributes& is) {
    std::vector<Difference> found;
    const auto same = [&](std::string_view field, std::string_view name, std::int64_t got) {
        const std::int64_t asked = value_in(request, name);
        if (asked != got)
            found.push_back({std::string(field), std::to_string(asked), std::to_string(got)});
    };
    const auto at_most = [&](std::string_view field, std::string_view name, std::int64_t got) {
        const std::int64_t asked = value_in(request, name);
        if (got > asked) {
            found.push_back(
                {std::string(field), fmt::format("at most {}", asked), std::to_string(got)});
        }
    };
    if (is.dest_qp_num) same("dest_qp_num", "cm.localqpn", is.dest_qp_num->value);
    if (is.sq_psn) same("sq_psn", "cm.startpsn", is.sq_psn->value());
    if (is.path_mtu) {
        constexpr std::int64_t half_the_least = 128;
        const std::int64_t asked = half_the_least << value_in(request, "cm.pppmtu");
        const std::int64_t got = wire::bytes_of(*is.path_mtu);
        if (asked != got) found.push_back({"path_mtu", std::to_string(asked), std::to_string(got)});
    }
    if (is.max_rd_atomic) at_most("max_rd_atomic", "cm.responderres", *is.max_rd_atomic);
    if (is.max_dest_rd_atomic)
        at_most("max_dest_rd_atomic", "cm.initdepth", *is.max_dest_rd_atomic);
    return found;
}

// What `dut cm accept` agrees on.
struct Agreed {
    std::optional<wire::Psn> rq_psn;
    std::int64_t responder = 0;
    std::int64_t initiator = 0;
};

std::uint8_t byte_of(std::int64_t number) {
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(number, 0, 0xFF));
}

// One step of the DUT's QP, with what its connection management says about it.
Task<Met<>> step(Interpreter& interpreter, CaseQp& qp, dut::ConnectionHandle connection,
                 engine::QpState state, const Entry& request, Agreed& agreed, Span span) {
    dut::Request question = dut::CmQpAttributes{.connection = connection, .state = state};
    auto [attributes] = co_await ask<dut::QpQueried>(interpreter, std::move(question), span);
    attributes.state = state;
    auto differing = differences_from(request, attributes);
    if (!differing.empty())
        co_return failed(mismatch(span, std::move(differing), "the QP's attributes"));
    // A program asks for no more than its device has, and than its REP says.
    const auto& max = interpreter.environment().dut.max;
    if (attributes.max_dest_rd_atomic) {
        const std::int64_t most = std::min<std::int64_t>(agreed.responder, max.dest_rd_atomic);
        agreed.responder = std::min<std::int64_t>(*attributes.max_dest_rd_atomic, most);
        attributes.max_dest_rd_atomic = byte_of(agreed.responder);
        agreed.rq_psn = attributes.rq_psn;
    }
    if (attributes.max_rd_atomic) {
        const std::int64_t most = std::min<std::int64_t>(agreed.initiator, max.rd_atomic);
        agreed.initiator = std::min<std::int64_t>(*attributes.max_rd_atomic, most);
        attributes.max_rd_atomic = byte_of(agreed.initiator);
    }
    if (attributes.timeout) qp.timeout = *attributes.timeout;
    dut::Request change = dut::QpModify{.qp = qp.dut_qp, .attributes = attributes};
    co_await ask<dut::Done>(interpreter, std::move(change), span);
    qp.state = state;
    co_return Met<>{};
}

// The REP of the DUT has come, or the patience is over.
Task<Met<>> await_reply(Interpreter& interpreter) {
    const wire::Instant deadline = interpreter.clock().now() + interpreter.environment().patience;
    while (!interpreter.objects().cm.replied() && interpreter.clock().now() < deadline)
        co_await interpreter.events().wait(deadline);
    co_return Met<>{};
}

// CM-02: the REP names the QP that was accepted, and the PSN that it waits for.
std::vector<Difference> differences_from(const CmBook::Replied& reply, const CaseQp& qp,
                                         const std::optional<wire::Psn>& rq_psn) {
    std::vector<Difference> found;
    const std::uint32_t qpn = qp.book.identity().dut_qpn.value;
    if (reply.qpn.value != qpn)
        found.push_back({"cm.localqpn", std::to_string(qpn), std::to_string(reply.qpn.value)});
    if (rq_psn && reply.start_psn != *rq_psn) {
        found.push_back({"cm.startpsn", std::to_string(rq_psn->value()),
                         std::to_string(reply.start_psn.value())});
    }
    return found;
}

Task<Met<>> accept(Interpreter& interpreter, CaseQp& qp, const script::Connection& line,
                   Span span) {
    using enum engine::QpState;
    Objects& objects = interpreter.objects();
    const wire::Duration patience = interpreter.environment().patience;
    const dut::ConnectionHandle connection =
        co_await event(interpreter, ConnectionEvent::ConnectRequest, std::nullopt, patience, span);
    const engine::QpState last = line.state.value_or(Rts);
    Agreed agreed;
    agreed.responder = co_await number_or(objects, line.responder_resources, 0xFF, qp);
    agreed.initiator = co_await number_or(objects, line.initiator_depth, 0xFF, qp);
    const Entry* request = latest_request(interpreter);
    if (request == nullptr) co_return unplayable(span, "no CM_REQ line before this one");
    for (const engine::QpState state : {Init, Rtr, Rts}) {
        if (qp.state == last) break;
        co_await step(interpreter, qp, connection, state, *request, agreed, span);
    }
    // What RTS would agree on.
    if (last == Rtr)
        agreed.initiator = std::min(agreed.initiator, value_in(*request, "cm.responderres"));

    dut::Request call = dut::CmAccept{.connection = connection,
                                      .qp = qp.dut_qp,
                                      .responder_resources = byte_of(agreed.responder),
                                      .initiator_depth = byte_of(agreed.initiator)};
    co_await ask<dut::Done>(interpreter, std::move(call), span);
    qp.connection = connection;
    co_await await_reply(interpreter);
    const auto& reply = objects.cm.replied();
    if (reply) {
        auto differing = differences_from(*reply, qp, agreed.rq_psn);
        if (!differing.empty()) co_return failed(mismatch(span, std::move(differing), "CM_REP"));
    }

    QpIdentity identity = qp.book.identity();
    identity.dut_start = wire::Psn(static_cast<std::uint32_t>(value_in(*request, "cm.startpsn")));
    if (reply) identity.tester_start = reply->start_psn;
    co_await interpreter.tester().reset(qp, interpreter.clock().now(), span);
    begin_life(interpreter, qp, identity);
    co_await interpreter.tester().raise(qp, interpreter.clock().now());
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> reject(Interpreter& interpreter, Span span) {
    const wire::Duration patience = interpreter.environment().patience;
    const dut::ConnectionHandle connection =
        co_await event(interpreter, ConnectionEvent::ConnectRequest, std::nullopt, patience, span);
    dut::Request call = dut::CmReject{.connection = connection};
    co_await ask<dut::Done>(interpreter, std::move(call), span);
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Met<dut::ConnectionHandle> connection_of(const CaseQp& qp, Span span) {
    if (!qp.connection) return unplayable(span, "the QP has no connection: 'dut cm accept'");
    return *qp.connection;
}

// As rdma_disconnect: the QP goes to ERR, and a DREQ or the DREP leaves.
Task<Met<>> disconnect(Interpreter& interpreter, CaseQp& qp, Span span) {
    const dut::ConnectionHandle connection = co_await connection_of(qp, span);
    dut::Request change =
        dut::QpModify{.qp = qp.dut_qp, .attributes = {.state = engine::QpState::Err}};
    co_await ask<dut::Done>(interpreter, std::move(change), span);
    qp.state = engine::QpState::Err;
    dut::Request call = dut::CmDisconnect{.connection = connection};
    co_await ask<dut::Done>(interpreter, std::move(call), span);
    interpreter.clock().line_ended();
    co_return Met<>{};
}

// CONNECT_REQUEST is of no QP yet: what accepts or rejects it waits for it, too.
Task<Met<>> event_seen(Interpreter& interpreter, CaseQp& qp, const script::Connection& line,
                       Span span) {
    const wire::Duration patience = co_await time_or(interpreter.objects(), line.within,
                                                     interpreter.environment().patience, qp);
    if (line.event == ConnectionEvent::ConnectRequest) {
        Objects::Listener& listener = *co_await listener_of(interpreter, span);
        const auto seen = co_await event(interpreter, line.event, std::nullopt, patience, span);
        listener.events.push_front({.type = line.event, .connection = seen, .at = {}});
    } else {
        const dut::ConnectionHandle connection = co_await connection_of(qp, span);
        co_await event(interpreter, line.event, connection, patience, span);
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

} // namespace

Task<Met<>> play_connection(Interpreter& interpreter, CaseQp& qp, const script::Connection& line,
                            Span span) {
    using enum script::Connection::Step;
    switch (line.step) {
    case Listen: return listen(interpreter, span);
    case Accept: return accept(interpreter, qp, line, span);
    case Reject: return reject(interpreter, span);
    case Disconnect: return disconnect(interpreter, qp, span);
    case Event: break;
    }
    return event_seen(interpreter, qp, line, span);
}

Task<Met<>> no_connection_event_left(Interpreter& interpreter) {
    auto& listener = interpreter.objects().listener;
    if (!listener) co_return Met<>{};
    co_await collect(interpreter, *listener, wire::Duration(0));
    for (const dut::CmEvent& one : listener->events) {
        if (one.type == ConnectionEvent::Established) continue;
        co_return failed(unexpected({}, std::string(wire::name_of(one.type)),
                                    fmt::format("dut cm event {}", wire::name_of(one.type))));
    }
    co_return Met<>{};
}

} // namespace veriroce::interpreter
