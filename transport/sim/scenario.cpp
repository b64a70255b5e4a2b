#include "transport/sim/scenario.hpp"

#include <algorithm>

#include "dissector/wire/syndrome.hpp"
#include "transport/sim/random.hpp"

namespace veriroce::sim {

namespace {

using engine::WrOpcode;
using std::chrono::microseconds;

constexpr std::array<std::string_view, kFaultKinds> kFaultNames{
    "drop",          "duplicate", "delay",   "reorder", "hold",   "corrupt bit", "corrupt byte",
    "corrupt field", "truncate",  "mark ce", "rewrite", "replay", "forge"};

constexpr std::uint32_t kLongestMessage = 8192;
constexpr std::uint32_t kInlineBytes = 64;

engine::Behaviour behaviour_of(Random random) {
    using namespace engine;
    Behaviour some;
    if (random.one_in(3)) return some;
    some.ack_policy = random.pick(
        std::array{AckPolicy::EveryRequest, AckPolicy::LastOfMessage, AckPolicy::Coalesced});
    some.read_restart = random.pick(std::array{ReadRestart::FirstMissing, ReadRestart::WholeRead});
    some.partial_read_reply =
        random.pick(std::array{PartialReadReply::FirstOrOnly, PartialReadReply::MiddleOrLast});
    some.duplicate_answer = random.pick(std::array{
        DuplicateAnswer::LastAck, DuplicateAnswer::ResendReadResponse, DuplicateAnswer::LatestPsn});
    some.reserved_opcode = random.pick(std::array{ReservedOpcode::Nak, ReservedOpcode::Silent});
    some.implied_nak = random.pick(std::array{ImpliedNak::AtOnce, ImpliedNak::OnTimeout});
    some.duplicate_without_ack_request_is_acked = random.one_in(2);
    some.credits = random.one_in(2);
    some.ack_request_every = random.pick(std::array{1U, 2U, 3U, 64U});
    some.max_unacked_packets = random.pick(std::array{1U, 2U, 4U, 17U, 1024U});
    some.timeout_sixteenths =
        random.pick(std::array{std::uint8_t{16}, std::uint8_t{24}, std::uint8_t{64}});
    return some;
}

// The operations and flags that one direction's work draws from.
struct Mix {
    std::vector<WrOpcode> opcodes;
    bool inlined, fences, unsignaled, chains, pieces, shared;

    explicit Mix(Random& random)
        : inlined(random.one_in(2)), fences(random.one_in(2)), unsignaled(random.one_in(2)),
          chains(random.one_in(2)), pieces(random.one_in(2)), shared(random.one_in(3)) {
        constexpr std::array kAll{WrOpcode::Send,
                                  WrOpcode::SendWithImm,
                                  WrOpcode::RdmaWrite,
                                  WrOpcode::RdmaWriteWithImm,
                                  WrOpcode::RdmaRead,
                                  WrOpcode::AtomicCmpAndSwp,
                                  WrOpcode::AtomicFetchAndAdd};
        for (const WrOpcode opcode : kAll) {
            if (!random.one_in(3)) opcodes.push_back(opcode);
        }
        if (opcodes.empty()) opcodes.push_back(random.pick(kAll));
    }
};

std::uint32_t length_of(Random& random, const ConnectionPlan& connection) {
    const std::uint32_t mtu = wire::bytes_of(connection.mtu);
    const std::uint32_t edge = random.pick(
        std::array{0U, 1U, 3U, 64U, mtu - 1, mtu, mtu + 1, 2 * mtu, connection.longest});
    const auto any = static_cast<std::uint32_t>(random.below(connection.longest + 1U));
    return random.one_in(2) ? std::min(edge, connection.longest) : any;
}

WorkPlan work_of(Random& random, const Mix& mix, const ConnectionPlan& connection) {
    WorkPlan work;
    work.opcode = mix.opcodes[random.below(mix.opcodes.size())];
    const bool atomic = asks_atomic(work.opcode);
    work.length = atomic ? 8 : length_of(random, connection);
    work.target = static_cast<std::uint32_t>(random.below(connection.longest - work.length + 9));
    if (atomic) work.target &= ~7U; // ATM-02
    for (std::uint32_t& cut : work.cuts)
        cut = static_cast<std::uint32_t>(random.below(work.length + 1U));
    std::ranges::sort(work.cuts);
    work.pieces = mix.pieces ? static_cast<std::uint8_t>(1 + random.below(4)) : std::uint8_t{1};
    if (work.length == 0 && random.one_in(2)) work.pieces = 0;
    work.add_or_swap = random.one_in(2) ? random.next() : 1 + random.below(100);
    work.compare_hits = random.one_in(2);
    work.shared = mix.shared && work.opcode == WrOpcode::AtomicFetchAndAdd && random.one_in(2);
    if (work.shared) work.add_or_swap = 1 + random.below(1000);
    work.imm = static_cast<std::uint32_t>(random.next());
    work.data_seed = random.next();
    const bool can_inline = !atomic && work.opcode != WrOpcode::RdmaRead;
    work.flags = {.signaled = !mix.unsignaled || random.one_in(2),
                  .solicited = random.one_in(3),
                  .fence = mix.fences && random.one_in(4),
                  .inline_data = mix.inlined && can_inline && work.length <= kInlineBytes};
    work.chained = mix.chains && random.one_in(2);
    return work;
}

DirectionPlan direction_of(Random random, const ConnectionPlan& connection, std::size_t most) {
    DirectionPlan plan;
    const Mix mix(random);
    const std::size_t count = random.one_in(6) ? 0 : 1 + random.below(most);
    const auto gap = random.pick(std::array{1U, 3U, 20U, 300U}); // maximum gap in us
    const auto receive_gap = random.pick(std::array{1U, 3U, 20U, 300U});
    wire::Duration at{0};
    wire::Duration receive_at{0};
    for (std::size_t i = 0; i < count; ++i) {
        WorkPlan work = work_of(random, mix, connection);
        work.id = static_cast<std::uint32_t>(i);
        if (!work.chained) at += microseconds(random.below(gap));
        work.at = at;
        if (takes_receive(work.opcode)) {
            receive_at += microseconds(random.below(receive_gap));
            plan.receives.push_back(receive_at);
        }
        plan.works.push_back(work);
    }
    plan.receive_pieces = static_cast<std::uint8_t>(1 + random.below(4));
    plan.first_psn = wire::Psn(
        static_cast<std::uint32_t>(random.one_in(2) ? 0xFFFFFF - random.below(60) : random.next()));
    plan.max_send = random.pick(std::array{7U, 8U, 16U});
    plan.timeout = static_cast<std::uint8_t>(4 + random.below(6)); // 65 us .. 2 ms
    plan.dest_rd_atomic = random.pick(
        std::array{std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{4}, std::uint8_t{16}});
    plan.rd_atomic = static_cast<std::uint8_t>(1 + random.below(plan.dest_rd_atomic));
    plan.min_rnr_timer = random.one_in(8) ? std::uint8_t{0} // 655 ms
                                          : static_cast<std::uint8_t>(1 + random.below(10));
    return plan;
}

ConnectionPlan connection_of(Random random, std::size_t endpoints, std::size_t most) {
    ConnectionPlan plan;
    const std::size_t first = random.below(endpoints - 1);
    plan.endpoints = {first, first + 1 + random.below(endpoints - first - 1)};
    plan.mtu = random.pick(std::array{wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024,
                                      wire::Mtu::B2048, wire::Mtu::B4096});
    const std::uint32_t mtu = wire::bytes_of(plan.mtu);
    plan.longest = std::min(kLongestMessage,
                            random.pick(std::array{64U, mtu, 2 * mtu + 37, 4 * mtu + 5, 7 * mtu}));
    plan.ipv6 = random.one_in(2);
    plan.signal_all = random.one_in(6);
    plan.traffic_class = static_cast<std::uint8_t>(random.one_in(2) ? 2 : random.below(64) << 2U);
    for (std::size_t side = 0; side < 2; ++side)
        plan.directions[side] = direction_of(random.part(side), plan, most);
    return plan;
}

wire::Duration last_of(const Scenario& scenario) {
    wire::Duration last{0};
    for (const ConnectionPlan& connection : scenario.connections) {
        for (const DirectionPlan& direction : connection.directions) {
            if (!direction.works.empty()) last = std::max(last, direction.works.back().at);
        }
    }
    return last;
}

FaultRates fault_rates_of(Random random, const Scenario& scenario) {
    FaultRates plan;
    plan.until = last_of(scenario) + microseconds(random.below(5'000));
    if (random.one_in(10)) return plan; // a run without faults
    for (std::uint32_t& rate : plan.one_in) {
        if (random.one_in(3)) rate = random.pick(std::array{3U, 8U, 25U, 80U});
    }
    const std::uint64_t who = random.below(6);
    plan.requests = who != 0;
    plan.responses = who != 1;
    if (random.one_in(5)) plan.only_from = random.below(scenario.endpoints.size());
    plan.tries = static_cast<std::uint32_t>(1 + random.below(3));
    return plan;
}

} // namespace

std::string_view name_of(FaultKind kind) {
    return kFaultNames[static_cast<std::size_t>(kind)];
}

std::size_t Scenario::works() const {
    std::size_t sum = 0;
    for (const ConnectionPlan& connection : connections) {
        for (const DirectionPlan& direction : connection.directions)
            sum += direction.works.size();
    }
    return sum;
}

std::uint32_t packets_of(const WorkPlan& work, wire::Mtu mtu) {
    return asks_atomic(work.opcode) ? 1 : wire::packets_of(work.length, mtu);
}

Scenario scenario_of(std::uint64_t seed) {
    Random random(seed);
    Scenario scenario{.seed = seed};
    const std::size_t endpoints = random.one_in(4) ? 3 : 2;
    for (std::size_t i = 0; i < endpoints; ++i)
        scenario.endpoints.push_back(behaviour_of(random.part(10 + i)));
    const std::size_t connections = 1 + (random.one_in(2) ? random.below(3) : 0);
    const std::size_t most =
        random.pick(std::array{std::size_t{6}, std::size_t{20}, std::size_t{50}});
    for (std::size_t i = 0; i < connections; ++i)
        scenario.connections.push_back(connection_of(random.part(20 + i), endpoints, most));
    scenario.poll_every = random.pick(std::array{1U, 1U, 7U, 40U});
    scenario.own_queues = random.one_in(2);
    scenario.fault_rates = fault_rates_of(random.part(30), scenario);
    return scenario;
}

} // namespace veriroce::sim
