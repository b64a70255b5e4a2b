// Random work of all operations in both directions at once, under random lawful behaviours and
// random faults, from one seed. While it runs nothing wrong may be completed; when the faults stop,
// everything must complete. Each message has memory of its own, so that the right bytes are known.
#include "tests/transport/sim/pair.hpp"

#include <algorithm>
#include <cstring>

using namespace veriroce;
using namespace veriroce::sim;
using namespace veriroce::sim::test;
using engine::WcStatus;
using engine::WrOpcode;

namespace {

// splitmix64: the same numbers everywhere.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
        return z ^ (z >> 31U);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <typename T>
    T pick(std::initializer_list<T> choices) {
        return choices.begin()[below(choices.size())];
    }

  private:
    std::uint64_t state_;
};

constexpr std::size_t messages = 20;       // of each side
constexpr std::uint32_t slot_bytes = 4096; // of a message: its source, and its target
constexpr std::uint64_t sources_at = 0;    // local bytes of each message
constexpr std::uint64_t receives_at = 0x14000;
constexpr std::uint64_t targets_at = 0x28000; // what the peer's WRITEs fill and its READs read
constexpr std::uint64_t counter_at = 0x3F000;
constexpr wire::Duration faulty_time = 20ms;

struct Message {
    WrOpcode opcode = WrOpcode::Send;
    std::uint32_t length = 0;
    std::vector<std::byte> bytes; // what must arrive
    std::uint64_t add = 0;
};

bool equal(wire::Bytes a, wire::Bytes b) {
    return std::ranges::equal(a, b);
}

bool receives(WrOpcode opcode) {
    return opcode == WrOpcode::Send || opcode == WrOpcode::SendWithImm ||
           opcode == WrOpcode::RdmaWriteWithImm;
}

PairOptions options_of(Dice& dice) {
    using namespace engine;
    PairOptions options;
    options.behaviour = {
        .ack_policy =
            dice.pick({AckPolicy::EveryRequest, AckPolicy::LastOfMessage, AckPolicy::Coalesced}),
        .read_restart = dice.pick({ReadRestart::FirstMissing, ReadRestart::WholeRead}),
        .partial_read_reply =
            dice.pick({PartialReadReply::FirstOrOnly, PartialReadReply::MiddleOrLast}),
        .duplicate_answer =
            dice.pick({DuplicateAnswer::LastAck, DuplicateAnswer::ResendReadResponse,
                       DuplicateAnswer::LatestPsn}),
        .implied_nak = dice.pick({ImpliedNak::AtOnce, ImpliedNak::OnTimeout}),
        .duplicate_without_ack_request_is_acked = dice.one_in(2),
        .credits = dice.one_in(2),
        .ack_request_every = dice.pick({1U, 3U, 64U}),
        .max_unacked_packets = dice.pick({1U, 4U, 17U, 1024U}),
        .timeout_sixteenths = dice.pick({std::uint8_t{16}, std::uint8_t{24}, std::uint8_t{64}})};
    options.mtu = dice.pick({wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024});
    options.psn = wire::Psn(
        static_cast<std::uint32_t>(dice.one_in(2) ? 0xFFFFFF - dice.below(200) : dice.next()));
    options.ipv6 = dice.one_in(2);
    options.timeout = dice.pick({std::uint8_t{4}, std::uint8_t{7}, std::uint8_t{9}});
    options.max_rd_atomic = dice.pick({std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{16}});
    return options;
}

// Swarm: each kind of trouble is in the run or it is not.
struct Troubles {
    std::uint64_t drop, duplicate, later, damage; // one in so many; 0 never

    explicit Troubles(Dice& dice)
        : drop(dice.pick({0U, 4U, 10U, 50U})), duplicate(dice.pick({0U, 5U, 30U})),
          later(dice.pick({0U, 3U, 20U})), damage(dice.pick({0U, 20U})) {}

    [[nodiscard]] Fate fate(Dice& dice) const {
        Fate fate;
        fate.drop = drop != 0 && dice.one_in(drop);
        fate.duplicate = duplicate != 0 && dice.one_in(duplicate);
        fate.damage = damage != 0 && dice.one_in(damage);
        if (later != 0 && dice.one_in(later)) {
            fate.later = std::chrono::microseconds(dice.below(400));
        }
        return fate;
    }
};

class Swarm {
  public:
    explicit Swarm(std::uint64_t seed)
        : dice_(seed), options_(options_of(dice_)), troubles_(dice_), pair_(options_) {
        pair_.fate = [this](std::uint64_t) {
            const bool faulty = pair_.now < wire::Instant{faulty_time};
            return faulty ? troubles_.fate(dice_) : Fate{};
        };
        for (std::size_t side = 0; side < 2; ++side)
            plan(side);
    }

    void run() {
        // Work and receives are posted little by little, receives sometimes late.
        for (int i = 0; i < 400 && (posted_[0] < messages || posted_[1] < messages); ++i) {
            for (std::size_t side = 0; side < 2; ++side) {
                if (dice_.one_in(3)) post_receive(side);
                if (dice_.one_in(3)) post(side);
            }
            pair_.run(std::chrono::microseconds(dice_.below(60)));
            pair_.now += 1us;
        }
        for (std::size_t side = 0; side < 2; ++side) {
            while (posted_[side] < messages)
                post(side);
            while (receives_posted_[side] < receives_due_[side])
                post_receive(side);
        }
        pair_.run();
    }

    // Whether a side used up its retries, which is an honest end of an evil run.
    [[nodiscard]] bool gave_up() {
        return state(0) == engine::QpState::Err || state(1) == engine::QpState::Err;
    }

    // Nobody failed for another reason.
    void check_gave_up() {
        for (std::size_t side = 0; side < 2; ++side) {
            for (const engine::Completion& done : pair_[side].completions()) {
                const bool lawful = done.status == WcStatus::Success ||
                                    done.status == WcStatus::WrFlushErr ||
                                    done.status == WcStatus::RetryExcErr;
                CHECK(lawful);
            }
        }
    }

    void check() {
        for (std::size_t side = 0; side < 2; ++side)
            check_side(side);
        CHECK_FALSE(pair_[0].nic.next_deadline());
        CHECK_FALSE(pair_[1].nic.next_deadline());
    }

  private:
    engine::QpState state(std::size_t side) {
        return pair_[side].engine.query_qp(pair_[side].qp).value().state;
    }

    void plan(std::size_t side) {
        Side& peer = pair_[1 - side];
        const std::uint64_t zero = 0;
        std::memcpy(pair_[side].at(counter_at, 8).data(), &zero, 8);
        for (std::size_t i = 0; i < messages; ++i) {
            Message message;
            message.opcode = dice_.pick({WrOpcode::Send, WrOpcode::SendWithImm, WrOpcode::RdmaWrite,
                                         WrOpcode::RdmaWriteWithImm, WrOpcode::RdmaRead,
                                         WrOpcode::AtomicFetchAndAdd});
            message.length = static_cast<std::uint32_t>(
                dice_.one_in(4) ? dice_.pick({0U, 1U, 256U, 1024U, 4096U})
                                : dice_.below(slot_bytes + 1));
            message.add = dice_.below(1000);
            if (message.opcode == WrOpcode::AtomicFetchAndAdd) message.length = 8;
            const bool reads = message.opcode == WrOpcode::RdmaRead;
            const auto bytes = reads ? peer.at(target(i), message.length)
                                     : pair_[side].at(source(i), message.length);
            message.bytes.assign(bytes.begin(), bytes.end());
            receives_due_[1 - side] += receives(message.opcode) ? 1 : 0;
            plan_[side].push_back(std::move(message));
        }
    }

    static std::uint64_t source(std::size_t i) { return sources_at + i * slot_bytes; }
    static std::uint64_t receive(std::size_t i) { return receives_at + i * slot_bytes; }
    static std::uint64_t target(std::size_t i) { return targets_at + i * slot_bytes; }

    void post(std::size_t side) {
        if (posted_[side] == messages) return;
        const std::size_t i = posted_[side]++;
        const Message& message = plan_[side][i];
        Side& from = pair_[side];
        Side& to = pair_[1 - side];
        const bool atomic = message.opcode == WrOpcode::AtomicFetchAndAdd;
        // Two pieces, cut anywhere.
        const auto cut = atomic ? 8U : static_cast<std::uint32_t>(dice_.below(message.length + 1));
        const std::array sges{from.sge(source(i), cut),
                              from.sge(source(i) + cut, message.length - cut)};
        const engine::SendRequest request{
            .id = i,
            .opcode = message.opcode,
            .sges = std::span(sges).first(atomic ? 1 : 2),
            .remote_address = to.base + (atomic ? counter_at : target(i)),
            .rkey = to.region.rkey,
            .imm = static_cast<std::uint32_t>(i),
            .compare_or_add = message.add,
            .flags = {.solicited = dice_.one_in(2), .fence = dice_.one_in(5)}};
        const auto posted = from.engine.post_send(from.qp, std::span(&request, 1), pair_.now);
        if (state(side) != engine::QpState::Err) REQUIRE(posted.posted == 1);
    }

    void post_receive(std::size_t side) {
        if (receives_posted_[side] == receives_due_[side]) return;
        const std::size_t n = receives_posted_[side]++;
        pair_[side].post_receive(n, slot_bytes, receive(n));
    }

    void check_side(std::size_t side) {
        const auto all = pair_[side].completions();
        std::size_t sent = 0;
        std::size_t received = 0;
        std::vector<std::size_t> expected; // the peer's messages that take a receive
        for (std::size_t i = 0; i < messages; ++i) {
            if (receives(plan_[1 - side][i].opcode)) expected.push_back(i);
        }
        std::uint64_t sum = 0;
        for (const engine::Completion& done : all) {
            CHECK(done.status == WcStatus::Success);
            if (done.queue == engine::Queue::Send) {
                CHECK(done.id == sent++); // N-20
                continue;
            }
            REQUIRE(received < expected.size());
            const Message& message = plan_[1 - side][expected[received]];
            if (message.opcode != WrOpcode::RdmaWriteWithImm) {
                CHECK(equal(pair_[side].at(receive(received), message.length), message.bytes));
            }
            CHECK(done.id == received++); // N-21
            CHECK(done.byte_len == message.length);
            CHECK(done.imm.has_value() == (message.opcode != WrOpcode::Send));
        }
        CHECK(sent == messages);
        CHECK(received == expected.size());
        for (std::size_t i = 0; i < messages; ++i)
            sum += check_message(side, i);
        std::uint64_t counter = 0;
        std::memcpy(&counter, pair_[1 - side].at(counter_at, 8).data(), 8);
        CHECK(counter == sum); // ATM-04: each was carried out once
    }

    // The data of one message of this side; returns what it added to the peer's counter.
    std::uint64_t check_message(std::size_t side, std::size_t i) {
        const Message& message = plan_[side][i];
        INFO("side " << side << ", message " << i << ", " << name_of(message.opcode) << " of "
                     << message.length);
        const bool writes =
            message.opcode == WrOpcode::RdmaWrite || message.opcode == WrOpcode::RdmaWriteWithImm;
        if (writes) {
            CHECK(equal(pair_[1 - side].at(target(i), message.length), message.bytes));
        }
        if (message.opcode == WrOpcode::RdmaRead) {
            CHECK(equal(pair_[side].at(source(i), message.length), message.bytes));
        }
        return message.opcode == WrOpcode::AtomicFetchAndAdd ? message.add : 0;
    }

    Dice dice_;
    PairOptions options_;
    Troubles troubles_;
    Pair pair_;
    std::array<std::vector<Message>, 2> plan_;
    std::array<std::size_t, 2> posted_{};
    std::array<std::size_t, 2> receives_posted_{};
    std::array<std::size_t, 2> receives_due_{};
};

} // namespace

TEST_CASE("swarm: random work under random faults completes when the faults stop",
          "[sim][REQ-08][REQ-09][REQ-11][REQ-14][RSP-10][N-10][N-20][N-21]") {
    constexpr std::uint64_t seeds = 400;
    std::uint64_t given_up = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        INFO("seed " << seed);
        Swarm swarm(seed);
        swarm.run();
        if (swarm.gave_up()) {
            ++given_up;
            swarm.check_gave_up();
        } else {
            swarm.check();
        }
    }
    CHECK(given_up < seeds / 20);
}
