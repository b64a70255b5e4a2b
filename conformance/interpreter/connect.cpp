#include "conformance/interpreter/connect.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/conclude.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/management.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/queues.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/script/script.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::interpreter {
namespace {

std::int64_t first_psn(StartPsn from, std::uint64_t random) {
    switch (from) {
    case StartPsn::Any: return static_cast<std::int64_t>(random & wire::kMask24);
    case StartPsn::Low: return static_cast<std::int64_t>(random & 3);
    case StartPsn::Wrap: return static_cast<std::int64_t>(wire::kMask24 - (random & 3));
    }
    return 0;
}

const script::QpSetup* setup_named(const std::vector<script::QpSetup>& setups,
                                   std::string_view name) {
    const auto found = std::ranges::find(setups, name, &script::QpSetup::name);
    return found == setups.end() ? nullptr : &*found;
}

// Draws new first PSNs for each QP and each connection; the case may fix them instead.
QpIdentity fresh_identity(const CaseQp& qp, QpIdentity known, const Environment& environment,
                          std::size_t times_before) {
    const std::uint64_t counter = known.tester_qpn.value + 1000 * times_before;
    const std::uint64_t draw =
        wire::splitmix64_mix(environment.seed + (counter + 1) * wire::kSplitmix64Step);
    const auto start = [&](const script::QpSetup* of, std::uint64_t random) {
        return wire::Psn(static_cast<std::uint32_t>(
            number_attribute(of, "psn", first_psn(environment.start_psn, random))));
    };
    known.mtu =
        static_cast<wire::Mtu>(number_attribute(&qp.setup, "mtu", wire::bytes_of(known.mtu)));
    known.dut_start = start(&qp.setup, draw);
    known.tester_start = start(qp.tester_setup, draw >> 32);
    return known;
}

// Sets the addresses of the tester's end of this QP; false if the case has no such address.
bool take_address(CaseQp& qp, const Environment& environment) {
    const auto address = environment.address(name_attribute(qp.setup, "to", "tester"), 0);
    if (!address) return false;
    qp.tester_address = *address;
    if (qp.setup.attribute("alt") == nullptr) return true;
    qp.alternate_address = environment.address(name_attribute(qp.setup, "alt", ""), 0);
    return qp.alternate_address.has_value();
}

// The state that the latest line asks for, RTS if none does.
engine::QpState last_state_of(const script::QpSetup& setup) {
    const auto* state = attribute_value<engine::QpState>(&setup, "state");
    return state == nullptr ? engine::QpState::Rts : *state;
}

// INIT, RTR, RTS, up to `last`. The device may resolve our address inside RTR.
Task<Met<>> raise_dut(Interpreter& interpreter, CaseQp& qp, engine::QpState last) {
    using enum engine::QpState;
    for (const engine::QpState state : {Init, Rtr, Rts}) {
        if (qp.state == last) break;
        dut::Request call = dut::QpModify{
            .qp = qp.dut_qp, .attributes = step_to(state, qp, interpreter.environment())};
        co_await ask<dut::Done>(interpreter, std::move(call), {});
        qp.state = state;
    }
    co_return Met<>{};
}

struct Queues {
    dut::CqHandle send;
    dut::CqHandle recv;
};

dut::QpCreate creation_of(const script::QpSetup& setup, dut::PdHandle pd, Queues queues) {
    const auto count = [&](std::string_view wanted, std::int64_t otherwise) {
        return static_cast<std::uint32_t>(number_attribute(&setup, wanted, otherwise));
    };
    dut::QpCreate create{.pd = pd,
                         .type = type_of(setup),
                         .send_cq = queues.send,
                         .recv_cq = queues.recv,
                         .max_send = count("send_wr", kQueueDepth),
                         .max_recv = count("recv_wr", kQueueDepth)};
    if (setup.attribute("sge") != nullptr) create.max_sge = count("sge", 1);
    if (setup.attribute("inline") != nullptr) create.max_inline = count("inline", 0);
    if (setup.attribute("signal_all") != nullptr) create.signal_all = count("signal_all", 0) != 0;
    return create;
}

Task<Met<>> make_qp(Interpreter& interpreter, const script::QpSetup& setup, std::string name) {
    Objects& objects = interpreter.objects();
    const Environment& environment = interpreter.environment();
    const dut::PdHandle pd =
        co_await domain(interpreter, number_attribute(&setup, "pd", 1), setup.span);
    const dut::CqHandle cq = co_await queue_of_qp(interpreter, setup, "cq");
    dut::CqHandle recv_cq = cq;
    if (setup.attribute("recv_cq") != nullptr)
        recv_cq = co_await queue_of_qp(interpreter, setup, "recv_cq");
    dut::QpCreate create = creation_of(setup, pd, {cq, recv_cq});
    const std::string srq = name_attribute(setup, "srq", "");
    if (!srq.empty()) create.srq = objects.srqs.at(srq);
    dut::Request call = std::move(create);
    const dut::QpCreated made =
        co_await ask<dut::QpCreated>(interpreter, std::move(call), setup.span);

    const script::QpSetup* ours = setup_named(interpreter.run().tester_qps, setup.name);
    const engine::QpId engine_qp =
        co_await interpreter.tester().create_qp(type_of(setup), ours, setup.span);
    const auto common_mtu = number_attribute(&interpreter.run().qps.front(), "mtu",
                                             wire::bytes_of(environment.path_mtu));
    CaseQp qp{.book = QpBook(QpIdentity{}),
              .setup = setup,
              .tester_setup = ours,
              .type = type_of(setup),
              .pd = pd,
              .dut_qp = made.qp,
              .cq = cq,
              .recv_cq = recv_cq,
              .srq = srq,
              .engine_qp = engine_qp,
              .timeout = timeout_of(setup)};
    const QpIdentity identity{.name = name,
                              .dut_qpn = made.qpn,
                              .tester_qpn = interpreter.tester().qpn_of(engine_qp),
                              .mtu = static_cast<wire::Mtu>(common_mtu),
                              .service = wire::service_of(qp.type)};
    qp.book = QpBook(fresh_identity(qp, identity, environment, objects.past.size()));
    if (!take_address(qp, environment)) co_return unplayable(setup.span, "no such address");
    CaseQp& placed = objects.qps.emplace(std::move(name), std::move(qp)).first->second;
    co_await interpreter.tester().raise(placed, interpreter.clock().now());
    co_await raise_dut(interpreter, placed, last_state_of(setup));
    co_return Met<>{};
}

// A QPN that the device used and that no longer exists (`unused`).
Task<Met<wire::Qpn>> unused_qpn(Interpreter& interpreter) {
    const dut::PdHandle pd = co_await domain(interpreter, 1, {});
    dut::Request cq_call = dut::CqCreate{.depth = 1};
    const dut::CqCreated cq = co_await ask<dut::CqCreated>(interpreter, std::move(cq_call), {});
    dut::Request qp_call =
        dut::QpCreate{.pd = pd, .send_cq = cq.cq, .recv_cq = cq.cq, .max_send = 1, .max_recv = 1};
    const dut::QpCreated qp = co_await ask<dut::QpCreated>(interpreter, std::move(qp_call), {});
    dut::Request destroy_call = dut::QpDestroy{.qp = qp.qp};
    co_await ask<dut::Done>(interpreter, std::move(destroy_call), {});
    co_return qp.qpn;
}

} // namespace

Task<Met<>> connect(Interpreter& interpreter) {
    const std::size_t wanted = interpreter.script().tester_addresses.size();
    const std::size_t has = interpreter.environment().tester.named.size();
    if (has < wanted) {
        co_return unsupported({}, fmt::format("needs {} more tester addresses, has {}: "
                                              "--tester-address",
                                              wanted, has));
    }
    const std::size_t others = interpreter.script().dut_addresses.size();
    if (interpreter.environment().dut_named.size() < others) {
        co_return unsupported({}, fmt::format("needs {} addresses of the DUT's host that are not "
                                              "GIDs, knows {}: --dut-other-address",
                                              others, interpreter.environment().dut_named.size()));
    }
    co_await make_queues_of_qps(interpreter);
    for (const script::QpSetup& setup : interpreter.run().qps) {
        for (std::uint32_t i = 0; i < setup.count; ++i) {
            std::string name = setup.count == 1 ? setup.name : fmt::format("{}[{}]", setup.name, i);
            co_await make_qp(interpreter, setup, std::move(name));
        }
    }
    if (interpreter.run().management) co_await connect_gsi(interpreter);
    const wire::Qpn unused = co_await unused_qpn(interpreter);
    interpreter.objects().unused_qpn = unused;
    co_await note_counters(interpreter);
    interpreter.clock().line_ended();
    co_return Met<>{};
}

namespace {

// From now on the QP has these, instead of those that its `qp` line writes.
Task<Met<>> take_attributes(Interpreter& interpreter, CaseQp& qp,
                            const std::vector<script::Attribute>& written, Span span) {
    for (const script::Attribute& attribute : written) {
        script::Attribute known = attribute;
        if (const auto* expr = std::get_if<script::Expr>(&attribute.value)) {
            const std::int64_t value = co_await number(interpreter.objects(), *expr, qp);
            known.value = script::Expr{.number = value, .span = expr->span};
        }
        qp.setup.attributes.push_back(std::move(known));
    }
    qp.timeout = timeout_of(qp.setup);
    if (!take_address(qp, interpreter.environment())) co_return unplayable(span, "no such address");
    co_return Met<>{};
}

// The tester's end of the next connection, with a QPN that no earlier one had.
Task<Met<>> take_new_peer(Interpreter& interpreter, CaseQp& qp, QpIdentity& identity, Span span) {
    TesterPeer& tester = interpreter.tester();
    qp.engine_qp = co_await tester.create_qp(qp.type, qp.tester_setup, span);
    identity.tester_qpn = tester.qpn_of(qp.engine_qp);
    const std::uint32_t first = interpreter.environment().first_tester_qpn.value;
    if (identity.tester_qpn.value - first >= script::kMaxQps) {
        co_return unplayable(span, fmt::format("a case has at most {} QPNs", script::kMaxQps));
    }
    co_return Met<>{};
}

} // namespace

Task<Met<>> play_modify(Interpreter& interpreter, CaseQp& qp, const script::Modify& line,
                        Span span) {
    const Environment& environment = interpreter.environment();
    co_await take_attributes(interpreter, qp, line.attributes, span);
    dut::QpModify change{.qp = qp.dut_qp};
    const auto names_state = [](const script::Attribute& one) { return one.name == "state"; };
    if (std::ranges::any_of(line.attributes, names_state)) {
        const engine::QpState state = last_state_of(qp.setup);
        const bool resumes = state == engine::QpState::Rts &&
                             (qp.state == engine::QpState::Sqd || qp.state == engine::QpState::Rts);
        change.attributes.state = state;
        if (!resumes) change.attributes = step_to(state, qp, environment);
    }
    for (const script::Attribute& attribute : line.attributes)
        put_attribute(attribute.name, qp, environment, change.attributes);
    const auto state = change.attributes.state;
    dut::Request call = std::move(change);
    const auto done = co_await outcome_of(ask<dut::Done>(interpreter, std::move(call), span));
    interpreter.clock().line_ended();
    if (!done) co_return std::unexpected(done.error());
    if (state) qp.state = *state;
    if (state == engine::QpState::Reset) qp.reset_at = interpreter.record().size();
    co_return Met<>{};
}

void begin_life(Interpreter& interpreter, CaseQp& qp, const QpIdentity& identity) {
    qp.book = QpBook(identity);
    qp.entries.clear();
    qp.heard.clear();
    qp.next = 0;
    interpreter.objects().receives_of(qp).clear();
    qp.in_run = false;
    qp.gave_up = false;
}

Task<Met<>> play_reconnect(Interpreter& interpreter, CaseQp& qp, const script::Reconnect& line,
                           Span span) {
    Objects& objects = interpreter.objects();
    Clock& clock = interpreter.clock();
    dut::Request reset =
        dut::QpModify{.qp = qp.dut_qp, .attributes = {.state = engine::QpState::Reset}};
    co_await ask<dut::Done>(interpreter, std::move(reset), span);
    co_await interpreter.events().sleep(clock.now() + interpreter.environment().settle);
    clock.line_ended();
    co_await all_claimed(interpreter, qp);

    QpIdentity identity = qp.book.identity();
    objects.past.push_back({.name = identity.name,
                            .identity = identity,
                            .timeout = qp.timeout,
                            .tester_address = qp.tester_address,
                            .end = interpreter.record().size()});
    co_await interpreter.tester().reset(qp, clock.now(), span);
    co_await take_attributes(interpreter, qp, line.attributes, span);
    if (line.new_peer) co_await take_new_peer(interpreter, qp, identity, span);
    identity = fresh_identity(qp, identity, interpreter.environment(), objects.past.size());
    for (const auto& [written, start] :
         {std::pair{&line.psn, &identity.dut_start}, {&line.tester_psn, &identity.tester_start}}) {
        const std::int64_t psn = co_await number_or(objects, *written, start->value(), qp);
        *start = wire::Psn(static_cast<std::uint32_t>(psn));
    }
    begin_life(interpreter, qp, identity); // `all_claimed` has seen to what came
    qp.state = engine::QpState::Reset;
    co_await interpreter.tester().raise(qp, clock.now());
    co_await raise_dut(interpreter, qp, engine::QpState::Rts);
    clock.line_ended();
    co_return Met<>{};
}

} // namespace veriroce::interpreter
