// QPs on both sides, from the case's header to RTS.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/runner/dialogue.hpp"

namespace veriroce::runner {
namespace {

// What a QP of the DUT has unless the case says otherwise. The timeout (1.07 s) is one that no
// settle time reaches, so that a slow lab is not taken for a retransmission.
constexpr std::int64_t default_timeout = 18;
constexpr std::int64_t default_retries = 7;
constexpr std::int64_t default_rnr_timer = 12; // 0.64 ms
constexpr std::int64_t default_rd_atomic = 4;
constexpr std::uint32_t queue_depth = 128;

// A well mixed number of a seed and a counter (splitmix64), for PSNs that differ from case to case
// and are the same for the same seed.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t counter) {
    std::uint64_t z = seed + (counter + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

const script::QpSetup* setup_named(const std::vector<script::QpSetup>& setups,
                                   std::string_view name) {
    const auto found = std::ranges::find(setups, name, &script::QpSetup::name);
    return found == setups.end() ? nullptr : &*found;
}

engine::Access qp_access(const Setting& setting) {
    return {.local_write = true,
            .remote_write = true,
            .remote_read = true,
            .remote_atomic = setting.capable("atomics")};
}

} // namespace

std::int64_t Dialogue::attribute(const script::QpSetup* setup, std::string_view name,
                                 std::int64_t otherwise) const {
    const script::Attribute* found = setup == nullptr ? nullptr : setup->attribute(name);
    if (found == nullptr) return otherwise;
    const auto* expr = std::get_if<script::Expr>(&found->value);
    if (expr == nullptr) return otherwise;
    // Header expressions have no run-time names; the checker has seen to that.
    const auto value =
        script::evaluate(*expr, {[](std::string_view) { return std::nullopt; },
                                 [](const script::FieldName&) { return std::nullopt; }});
    return value.value_or(otherwise);
}

Met<Dialogue::Peer*> Dialogue::peer_of(const script::QpRef& ref) {
    std::string name = ref.name;
    if (ref.index) {
        const auto index = number(*ref.index, peers_.begin()->second);
        if (!index) return std::unexpected(index.error());
        name += fmt::format("[{}]", *index);
    }
    const auto found = peers_.find(name);
    if (found == peers_.end()) {
        return std::unexpected(error(ref.span, fmt::format("no QP is called '{}'", name)));
    }
    return &found->second;
}

Task<Met<>> Dialogue::connect() {
    dut::Request pd_call = dut::PdCreate{};
    const auto pd = co_await ask<dut::PdCreated>(std::move(pd_call), {});
    if (!pd) co_return std::unexpected(pd.error());
    pd_ = pd->pd;

    engine_ =
        std::make_unique<engine::Engine>(engine::Config{.first_qpn = setting_.first_tester_qpn});
    engine_pd_ = *engine_->create_pd();
    engine_cq_ = *engine_->create_cq(queue_depth);

    std::size_t index = 0;
    for (const script::QpSetup& setup : run_.qps) {
        for (std::uint32_t i = 0; i < setup.count; ++i) {
            const std::string name =
                setup.count == 1 ? setup.name : fmt::format("{}[{}]", setup.name, i);
            const Met<> made = co_await make_peer(setup, name, index++);
            if (!made) co_return made;
        }
    }
    // A QPN that this device has had and has no more (`unused`).
    dut::Request cq_call = dut::CqCreate{.depth = 1};
    const auto cq = co_await ask<dut::CqCreated>(std::move(cq_call), {});
    if (!cq) co_return std::unexpected(cq.error());
    dut::Request qp_call = dut::QpCreate{
        .pd = pd_, .send_cq = cq->cq, .recv_cq = cq->cq, .max_send = 1, .max_recv = 1};
    const auto qp = co_await ask<dut::QpCreated>(std::move(qp_call), {});
    if (!qp) co_return std::unexpected(qp.error());
    unused_qpn_ = qp->qpn;
    dut::Request destroy_call = dut::QpDestroy{.qp = qp->qp};
    const auto destroyed = co_await ask<dut::Done>(std::move(destroy_call), {});
    if (!destroyed) co_return std::unexpected(destroyed.error());
    line_end_ = stage_.now();
    co_return Met<>{};
}

Task<Met<>> Dialogue::make_peer(const script::QpSetup& setup, std::string name, std::size_t index) {
    dut::Request cq_call = dut::CqCreate{.depth = 2 * queue_depth};
    const auto cq = co_await ask<dut::CqCreated>(std::move(cq_call), setup.span);
    if (!cq) co_return std::unexpected(cq.error());
    dut::Request qp_call = dut::QpCreate{.pd = pd_,
                                         .type = engine::QpType::Rc,
                                         .send_cq = cq->cq,
                                         .recv_cq = cq->cq,
                                         .max_send = queue_depth,
                                         .max_recv = queue_depth};
    const auto qp = co_await ask<dut::QpCreated>(std::move(qp_call), setup.span);
    if (!qp) co_return std::unexpected(qp.error());

    const auto engine_qp =
        engine_->create_qp({.pd = engine_pd_,
                            .send_cq = engine_cq_,
                            .recv_cq = engine_cq_,
                            .capacity = {.max_send = queue_depth, .max_recv = queue_depth}});
    if (!engine_qp) co_return std::unexpected(error(setup.span, "the tester's engine has no QP"));

    const script::QpSetup* tester_setup = setup_named(run_.tester_qps, setup.name);
    const std::uint64_t draw = mixed(setting_.seed, setting_.first_tester_qpn.value + index);
    const auto start = [&](const script::QpSetup* of, std::uint64_t random) {
        return wire::Psn(static_cast<std::uint32_t>(
            attribute(of, "psn", static_cast<std::int64_t>(random & wire::kMask24))));
    };
    const auto mtu = attribute(&setup, "mtu", wire::bytes_of(setting_.path_mtu));
    Peer peer{.book = QpBook({.name = name,
                              .dut_qpn = qp->qpn,
                              .tester_qpn = engine_->query_qp(*engine_qp)->qpn,
                              .dut_start = start(&setup, draw),
                              .tester_start = start(tester_setup, draw >> 32),
                              .mtu = static_cast<wire::Mtu>(mtu)}),
              .dut_setup = &setup,
              .dut_qp = qp->qp,
              .cq = cq->cq,
              .engine_qp = *engine_qp,
              .timeout = static_cast<std::uint8_t>(attribute(&setup, "timeout", default_timeout))};
    Peer& placed = peers_.emplace(name, std::move(peer)).first->second;
    const Met<> raised = raise_engine(placed);
    if (!raised) co_return raised;
    const Met<> connected = co_await raise_dut(placed);
    co_return connected;
}

// INIT, RTR, RTS; `qp state=` stops earlier. The device may resolve our address inside RTR.
Task<Met<>> Dialogue::raise_dut(Peer& peer) {
    const script::QpSetup* setup = peer.dut_setup;
    const QpIdentity& identity = peer.book.identity();
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(attribute(setup, name, otherwise));
    };
    const auto depth = std::min<std::int64_t>(default_rd_atomic, setting_.dut.max.rd_atomic);
    const auto dest_depth =
        std::min<std::int64_t>(default_rd_atomic, setting_.dut.max.dest_rd_atomic);

    std::string_view last = "RTS";
    engine::Access access = qp_access(setting_);
    if (setup != nullptr) {
        if (const script::Attribute* state = setup->attribute("state")) {
            const auto* words = std::get_if<std::vector<script::Word>>(&state->value);
            if (words != nullptr && !words->empty()) last = words->front().text;
        }
        if (const script::Attribute* rights = setup->attribute("access")) {
            access = {.local_write = true};
            const auto* words = std::get_if<std::vector<script::Word>>(&rights->value);
            for (const script::Word& word :
                 words != nullptr ? *words : std::vector<script::Word>{}) {
                access.remote_write = access.remote_write || word.text == "remote_write";
                access.remote_read = access.remote_read || word.text == "remote_read";
                access.remote_atomic = access.remote_atomic || word.text == "remote_atomic";
            }
        }
    }
    std::vector<dut::QpAttributes> steps;
    steps.push_back({.state = engine::QpState::Init,
                     .access = access,
                     .pkey_index = std::uint16_t{0},
                     .port_num = std::uint8_t{1}});
    steps.push_back({.state = engine::QpState::Rtr,
                     .address_vector = dut::AddressVector{.gid_index = setting_.gid_index,
                                                          .address = setting_.tester.address,
                                                          .hop_limit = std::uint8_t{64}},
                     .path_mtu = identity.mtu,
                     .rq_psn = identity.tester_start,
                     .min_rnr_timer = small("min_rnr_timer", default_rnr_timer),
                     .max_dest_rd_atomic = small("max_dest_rd_atomic", dest_depth),
                     .dest_qp_num = identity.tester_qpn});
    steps.push_back({.state = engine::QpState::Rts,
                     .timeout = peer.timeout,
                     .retry_cnt = small("retry_cnt", default_retries),
                     .rnr_retry = small("rnr_retry", default_retries),
                     .max_rd_atomic = small("max_rd_atomic", depth),
                     .sq_psn = identity.dut_start});
    for (const dut::QpAttributes& step : steps) {
        if (last == "RESET") break;
        dut::Request call = dut::QpModify{.qp = peer.dut_qp, .attributes = step};
        const auto done = co_await ask<dut::Done>(std::move(call), {});
        if (!done) co_return std::unexpected(done.error());
        if (engine::name_of(*step.state) == last) break;
    }
    co_return Met<>{};
}

// Our engine's half of the QP is ready from the start, and silent until `tester answers`.
Met<> Dialogue::raise_engine(Peer& peer) {
    const QpIdentity& identity = peer.book.identity();
    const script::QpSetup* setup = setup_named(run_.tester_qps, identity.name);
    const engine::QpAttributes init{
        .state = engine::QpState::Init,
        .access = engine::Access{
            .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true}};
    const engine::QpAttributes rtr{.state = engine::QpState::Rtr,
                                   .path_mtu = identity.mtu,
                                   .dest_qp = identity.dut_qpn,
                                   .rq_psn = identity.dut_start,
                                   .address =
                                       engine::AddressVector{.source = setting_.tester.address,
                                                             .destination = setting_.dut_address},
                                   .min_rnr_timer = std::uint8_t{12},
                                   .max_dest_rd_atomic = std::uint8_t{16}};
    const engine::QpAttributes rts{
        .state = engine::QpState::Rts,
        .sq_psn = identity.tester_start,
        .timeout = static_cast<std::uint8_t>(attribute(setup, "timeout", default_timeout)),
        .retry_count = static_cast<std::uint8_t>(attribute(setup, "retry_cnt", default_retries)),
        .rnr_retry = static_cast<std::uint8_t>(attribute(setup, "rnr_retry", default_retries)),
        .max_rd_atomic = std::uint8_t{16}};
    for (const engine::QpAttributes& step : {init, rtr, rts}) {
        if (!engine_->modify_qp(peer.engine_qp, step, stage_.now())) {
            return std::unexpected(error({}, "the tester's engine refused its half of a QP"));
        }
    }
    return {};
}

} // namespace veriroce::runner
