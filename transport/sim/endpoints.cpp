#include "transport/sim/endpoints.hpp"

#include <algorithm>
#include <cstring>

namespace veriroce::sim {

namespace {

using engine::QpState;

constexpr engine::Access kEveryRight{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
constexpr std::uint32_t kQpnsEach = 0x1000;
constexpr std::uint32_t kQueueDepth = 512; // more than all QPs of an endpoint can complete

wire::MacAddress mac_of(std::size_t index) {
    return {{std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{0x77}, std::byte{0},
             static_cast<std::byte>(index + 1)}};
}

wire::IpAddress address_of(std::size_t index, bool ipv6) {
    const std::string text = (ipv6 ? "fd77::" : "10.77.0.") + std::to_string(index + 1);
    return wire::IpAddress::parse(text).value();
}

std::vector<std::byte> filled(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.next());
    // The shared counter starts low, so that it does not wrap during a run.
    std::memset(bytes.data() + kCounterAt, 0, sizeof(std::uint64_t));
    return bytes;
}

} // namespace

Endpoint::Endpoint(std::size_t index, std::size_t memory_bytes, const engine::Behaviour& behaviour,
                   const Defect& defect, std::uint64_t seed)
    : memory(filled(memory_bytes, seed)),
      base(index == 0 ? 0x10000000 : 0xFFFFFFFF00000000 + index * 0x1000000),
      filter(defect.make_filter != nullptr && defect.at(index) ? defect.make_filter() : nullptr),
      engine({.behaviour = defect.at(index) ? defect.behaviour.value_or(behaviour) : behaviour,
              .first_qpn = wire::Qpn{static_cast<std::uint32_t>((index + 1) * kQpnsEach)}},
             defect.at(index) ? defect.checks : engine::kStandardChecks),
      nic({.mac = mac_of(index), .addresses = {address_of(index, false), address_of(index, true)}},
          engine, filter.get()),
      pd(engine.create_pd().value()),
      region(engine.register_region(pd, memory, base, kEveryRight).value()) {}

Endpoints::Endpoints(const Scenario& scenario, const Layout& layout, const Defect& defect) {
    for (std::size_t i = 0; i < scenario.endpoints.size(); ++i) {
        endpoints_.push_back(std::make_unique<Endpoint>(
            i, layout.memory_bytes[i], scenario.endpoints[i], defect, scenario.seed * 8 + i));
        for (std::size_t other = 0; other < scenario.endpoints.size(); ++other) {
            for (const bool ipv6 : {false, true})
                endpoints_[i]->nic.neighbour(address_of(other, ipv6), mac_of(other));
        }
    }
    for (std::size_t i = 0; i < scenario.connections.size(); ++i) {
        for (std::size_t side = 0; side < 2; ++side)
            create(scenario, i, side);
        for (std::size_t side = 0; side < 2; ++side)
            connect(scenario, i, side);
    }
}

void Endpoints::create(const Scenario& scenario, std::size_t connection, std::size_t side) {
    const ConnectionPlan& plan = scenario.connections[connection];
    Endpoint& home = *endpoints_[plan.endpoints[side]];
    const auto queue = [&] {
        if (scenario.own_queues || home.queues.empty()) {
            home.queues.push_back(home.engine.create_cq(kQueueDepth).value());
        }
        return home.queues.back();
    };
    const engine::CqId send_cq = queue();
    const engine::CqId recv_cq = queue();
    const engine::QpId qp =
        home.engine
            .create_qp({.pd = home.pd,
                        .send_cq = send_cq,
                        .recv_cq = recv_cq,
                        .capacity = {.max_send = plan.directions[side].max_send,
                                     .max_recv = static_cast<std::uint32_t>(kReceiveSlots)},
                        .signal_all = plan.signal_all})
            .value();
    sides_.push_back({.qp = qp, .qpn = home.engine.query_qp(qp).value().qpn});
    homes_.push_back(plan.endpoints[side]);
}

void Endpoints::connect(const Scenario& scenario, std::size_t connection, std::size_t side) {
    const ConnectionPlan& plan = scenario.connections[connection];
    const DirectionPlan& asks = plan.directions[side];
    const DirectionPlan& answers = plan.directions[1 - side];
    Endpoint& home = *endpoints_[plan.endpoints[side]];
    const engine::QpId qp = this->side(connection, side).qp;
    const auto modify = [&](const engine::QpAttributes& attributes) {
        home.engine.modify_qp(qp, attributes, {}).value();
        if (home.filter) home.filter->qp_changed(home.engine.query_qp(qp).value());
    };
    modify({.state = QpState::Init, .access = kEveryRight});
    modify({.state = QpState::Rtr,
            .path_mtu = plan.mtu,
            .dest_qp = this->side(connection, 1 - side).qpn,
            .rq_psn = answers.first_psn,
            .address = engine::AddressVector{.source = address_of(plan.endpoints[side], plan.ipv6),
                                             .destination =
                                                 address_of(plan.endpoints[1 - side], plan.ipv6),
                                             .traffic_class = plan.traffic_class},
            .min_rnr_timer = answers.min_rnr_timer,
            .max_dest_rd_atomic = answers.dest_rd_atomic});
    // The largest retry count; RNR retries without limit (REQ-13, RNR-09).
    modify({.state = QpState::Rts,
            .sq_psn = asks.first_psn,
            .timeout = asks.timeout,
            .retry_count = 7,
            .rnr_retry = 7,
            .max_rd_atomic = asks.rd_atomic});
}

std::vector<wire::Bytes> Endpoints::memories() const {
    std::vector<wire::Bytes> all;
    for (const auto& endpoint : endpoints_)
        all.emplace_back(endpoint->memory);
    return all;
}

std::size_t Endpoints::sender_of(wire::Bytes frame) {
    constexpr std::size_t kLastOfSourceMac = 11;
    return wire::load_u8(frame, kLastOfSourceMac) - std::size_t{1};
}

std::optional<Endpoints::Place> Endpoints::with(wire::Qpn qpn) const {
    const auto found = std::ranges::find(sides_, qpn, &SideOf::qpn);
    if (found == sides_.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(found - sides_.begin());
    return Place{.connection = index / 2, .side = index % 2};
}

std::optional<Endpoints::Place> Endpoints::with(std::size_t endpoint, engine::QpId qp) const {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
        if (homes_[i] == endpoint && sides_[i].qp == qp) return Place{i / 2, i % 2};
    }
    return std::nullopt;
}

} // namespace veriroce::sim
