// QPs on both sides, from the case's header to RTS.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint32_t queue_depth = 128;

// A random number for PSNs, which differ from case to case and are the same for the same seed.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
    return wire::splitmix64_mix(seed + (counter + 1) * wire::kSplitmix64Step);
}

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

wire::Service service_of(engine::QpType type) {
    switch (type) {
    case engine::QpType::Rc: return wire::Service::Rc;
    case engine::QpType::Uc: return wire::Service::Uc;
    case engine::QpType::Ud: return wire::Service::Ud;
    }
    return wire::Service::Rc;
}

} // namespace

Met<Peer*> Interpreter::peer_of(const script::QpRef& ref) {
    std::string name = ref.name;
    if (ref.index) {
        const auto index = number(*ref.index, peers_.begin()->second);
        if (!index) return std::unexpected(index.error());
        name += fmt::format("[{}]", *index);
    }
    auto found = peers_.find(name);
    if (found == peers_.end() && ref.index) found = peers_.find(ref.name); // of `qp q[1]`
    if (found == peers_.end()) {
        return std::unexpected(error(ref.span, fmt::format("no QP is called '{}'", name)));
    }
    return &found->second;
}

Task<Met<>> Interpreter::connect() {
    if (environment_.tester.named.size() < script_.tester_addresses.size()) {
        co_return std::unexpected(
            Unmet{Verdict::Skip,
                  fmt::format("needs {} more tester addresses, has {}: --tester-address",
                              script_.tester_addresses.size(), environment_.tester.named.size())});
    }
    engine_ = std::make_unique<engine::Engine>(
        engine::Config{.first_qpn = environment_.first_tester_qpn});
    engine_pd_ = *engine_->create_pd();
    engine_cq_ = *engine_->create_cq(2 * queue_depth);

    Met<> met = co_await make_queues();
    if (!met) co_return met;
    for (const script::QpSetup& setup : run_.qps) {
        for (std::uint32_t i = 0; i < setup.count; ++i) {
            const std::string name =
                setup.count == 1 ? setup.name : fmt::format("{}[{}]", setup.name, i);
            met = co_await make_peer(setup, name);
            if (!met) co_return met;
        }
    }
    met = co_await make_unused_qpn();
    if (!met) co_return met;
    met = co_await note_counters();
    line_ended();
    co_return met;
}

// A QPN that this device has had and has no more (`unused`).
Task<Met<>> Interpreter::make_unused_qpn() {
    const auto pd = co_await domain(1, {});
    if (!pd) co_return std::unexpected(pd.error());
    dut::Request cq_call = dut::CqCreate{.depth = 1};
    const auto cq = co_await ask<dut::CqCreated>(std::move(cq_call), {});
    if (!cq) co_return std::unexpected(cq.error());
    dut::Request qp_call = dut::QpCreate{
        .pd = *pd, .send_cq = cq->cq, .recv_cq = cq->cq, .max_send = 1, .max_recv = 1};
    const auto qp = co_await ask<dut::QpCreated>(std::move(qp_call), {});
    if (!qp) co_return std::unexpected(qp.error());
    unused_qpn_ = qp->qpn;
    dut::Request destroy_call = dut::QpDestroy{.qp = qp->qp};
    const auto destroyed = co_await ask<dut::Done>(std::move(destroy_call), {});
    if (!destroyed) co_return std::unexpected(destroyed.error());
    co_return Met<>{};
}

// The first PSNs are drawn anew, but for those that the case fixes.
QpIdentity Interpreter::fresh_identity(const Peer& peer, QpIdentity known) const {
    const std::uint64_t draw =
        mixed(environment_.seed, known.tester_qpn.value + 1000 * past_.size());
    const auto start = [&](const script::QpSetup* of, std::uint64_t random) {
        return wire::Psn(static_cast<std::uint32_t>(
            attribute(of, "psn", first_psn(environment_.start_psn, random))));
    };
    known.dut_start = start(&peer.setup, draw);
    known.tester_start = start(peer.tester_setup, draw >> 32);
    return known;
}

Task<Met<>> Interpreter::make_peer(const script::QpSetup& setup, std::string name) {
    const auto count = [&](std::string_view wanted, std::int64_t otherwise) {
        return static_cast<std::uint32_t>(attribute(&setup, wanted, otherwise));
    };
    const engine::QpType type = type_of(setup);
    const auto pd = co_await domain(attribute(&setup, "pd", 1), setup.span);
    if (!pd) co_return std::unexpected(pd.error());
    const std::string queue = word_of(setup, "cq", "");
    if (!cqs_.contains(queue) || queue.empty()) {
        dut::Request cq_call = dut::CqCreate{.depth = queue == "small" ? 1 : 2 * queue_depth};
        const auto cq = co_await ask<dut::CqCreated>(std::move(cq_call), setup.span);
        if (!cq) co_return std::unexpected(cq.error());
        cqs_[queue] = cq->cq;
    }
    dut::QpCreate create{.pd = *pd,
                         .type = type,
                         .send_cq = cqs_.at(queue),
                         .recv_cq = cqs_.at(queue),
                         .max_send = count("send_wr", queue_depth),
                         .max_recv = count("recv_wr", queue_depth)};
    if (setup.attribute("sge") != nullptr) create.max_sge = count("sge", 1);
    if (setup.attribute("inline") != nullptr) create.max_inline = count("inline", 0);
    if (setup.attribute("signal_all") != nullptr) create.signal_all = count("signal_all", 0) != 0;
    const std::string srq = word_of(setup, "srq", "");
    if (!srq.empty()) create.srq = srqs_.at(srq);
    dut::Request qp_call = std::move(create);
    const auto qp = co_await ask<dut::QpCreated>(std::move(qp_call), setup.span);
    if (!qp) co_return std::unexpected(qp.error());

    const script::QpSetup* ours = setup_named(run_.tester_qps, setup.name);
    const auto depth = [&](std::string_view wanted) {
        return static_cast<std::uint32_t>(attribute(ours, wanted, queue_depth));
    };
    const auto engine_qp = engine_->create_qp(
        {.pd = engine_pd_,
         .type = type,
         .send_cq = engine_cq_,
         .recv_cq = engine_cq_,
         .capacity = {.max_send = depth("send_wr"), .max_recv = depth("recv_wr")}});
    if (!engine_qp) co_return std::unexpected(error(setup.span, "the tester's engine has no QP"));

    const auto mtu = attribute(
        &setup, "mtu", attribute(&run_.qps.front(), "mtu", wire::bytes_of(environment_.path_mtu)));
    Peer peer{.book = QpBook(QpIdentity{}),
              .setup = setup,
              .tester_setup = ours,
              .type = type,
              .pd = *pd,
              .dut_qp = qp->qp,
              .cq = cqs_.at(queue),
              .srq = srq,
              .engine_qp = *engine_qp,
              .timeout = static_cast<std::uint8_t>(attribute(&setup, "timeout", default_timeout))};
    const QpIdentity identity{.name = name,
                              .dut_qpn = qp->qpn,
                              .tester_qpn = engine_->query_qp(*engine_qp)->qpn,
                              .mtu = static_cast<wire::Mtu>(mtu),
                              .service = service_of(type)};
    peer.book = QpBook(fresh_identity(peer, identity));
    if (!take_address(peer)) co_return std::unexpected(error(setup.span, "no such address"));
    Peer& placed = peers_.emplace(name, std::move(peer)).first->second;
    const Met<> raised = raise_engine(placed);
    if (!raised) co_return raised;
    const Met<> connected = co_await raise_dut(placed, word_of(setup, "state", "RTS"));
    co_return connected;
}

// INIT, RTR, RTS, up to `last`. The device may resolve our address inside RTR.
Task<Met<>> Interpreter::raise_dut(Peer& peer, std::string last) {
    using enum engine::QpState;
    for (const engine::QpState state : {Init, Rtr, Rts}) {
        if (engine::name_of(peer.state) == last) break;
        dut::Request call = dut::QpModify{.qp = peer.dut_qp, .attributes = step_to(state, peer)};
        const auto done = co_await ask<dut::Done>(std::move(call), {});
        if (!done) co_return std::unexpected(done.error());
        peer.state = state;
    }
    co_return Met<>{};
}

// Our engine's half of the QP is ready from the start, and silent until `tester answers`.
Met<> Interpreter::raise_engine(Peer& peer) {
    const QpIdentity& identity = peer.book.identity();
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(attribute(peer.tester_setup, name, otherwise));
    };
    const bool reliable = peer.type == engine::QpType::Rc;
    const bool connected = peer.type != engine::QpType::Ud;
    engine::QpAttributes init{.state = engine::QpState::Init};
    engine::QpAttributes rtr{.state = engine::QpState::Rtr};
    engine::QpAttributes rts{.state = engine::QpState::Rts, .sq_psn = identity.tester_start};
    if (!connected) init.qkey = qkey_of(peer.setup);
    if (connected) {
        init.access = engine::Access{.local_write = true,
                                     .remote_write = true,
                                     .remote_read = reliable,
                                     .remote_atomic = reliable,
                                     .flush_global = reliable};
        const script::Attribute* rights =
            peer.tester_setup == nullptr ? nullptr : peer.tester_setup->attribute("access");
        if (rights != nullptr) {
            init.access = rights_of(std::get<std::vector<script::Word>>(rights->value), own_rights);
        }
        rtr.path_mtu = identity.mtu;
        rtr.dest_qp = identity.dut_qpn;
        rtr.rq_psn = identity.dut_start;
        rtr.address = engine::AddressVector{
            .source = peer.tester_address,
            .destination = environment_.dut_address,
            .traffic_class = static_cast<std::uint8_t>(small("dscp", 0) << 2 | small("ecn", 0)),
            .hop_limit = small("ttl", 64),
            .vlan = environment_.vlan};
        rtr.mig_req = environment_.mig_req;
    }
    if (reliable) {
        rtr.min_rnr_timer = small("min_rnr_timer", 12);
        rtr.max_dest_rd_atomic = small("max_dest_rd_atomic", 16);
        rts.timeout = small("timeout", default_timeout);
        rts.retry_count = small("retry_cnt", default_retries);
        rts.rnr_retry = small("rnr_retry", default_retries);
        rts.max_rd_atomic = small("max_rd_atomic", 16);
    }
    for (const engine::QpAttributes& step : {init, rtr, rts}) {
        if (!engine_->modify_qp(peer.engine_qp, step, events_.now())) {
            return std::unexpected(error({}, "the tester's engine refused its half of a QP"));
        }
    }
    return {};
}

// Both halves of a QP through RESET, with new first PSNs. What the DUT had not yet been asked about
// is settled first: PSNs mean something else afterwards.
Task<Met<>> Interpreter::reconnect(Peer& peer, const script::Reconnect& line,
                                   script::SourceSpan span) {
    dut::Request reset =
        dut::QpModify{.qp = peer.dut_qp, .attributes = {.state = engine::QpState::Reset}};
    const auto done = co_await ask<dut::Done>(std::move(reset), span);
    if (!done) co_return std::unexpected(done.error());
    const Met<> quiet = co_await pause(environment_.settle);
    if (!quiet) co_return quiet;
    const Met<> claimed = co_await all_claimed(peer);
    if (!claimed) co_return claimed;

    QpIdentity identity = peer.book.identity();
    past_.push_back(
        {identity.name,
         {.identity = identity, .dut_timeout = peer.timeout, .tester_address = peer.tester_address},
         history_.size()});
    identity = fresh_identity(peer, identity);
    for (const auto& [written, start] :
         {std::pair{&line.psn, &identity.dut_start}, {&line.tester_psn, &identity.tester_start}}) {
        if (!*written) continue;
        const auto value = number(**written, peer);
        if (!value) co_return std::unexpected(value.error());
        *start = wire::Psn(static_cast<std::uint32_t>(*value));
    }
    peer.book = QpBook(identity);
    peer.state = engine::QpState::Reset;
    peer.entries.clear();
    receives_of(peer).clear();
    peer.in_run = false;
    if (!engine_->modify_qp(peer.engine_qp, {.state = engine::QpState::Reset}, events_.now())) {
        co_return std::unexpected(error(span, "the tester's engine refused its half of a QP"));
    }
    const Met<> raised = raise_engine(peer);
    if (!raised) co_return raised;
    const Met<> connected = co_await raise_dut(peer, "RTS");
    line_ended();
    co_return connected;
}

} // namespace veriroce::interpreter
