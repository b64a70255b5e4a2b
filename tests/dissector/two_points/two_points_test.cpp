// Two recordings of one network held against what the simulation did to each frame, told nothing:
// neither how the clocks stand nor which point a packet passes first.
#include <algorithm>
#include <map>
#include <numeric>

#include "dissector/two_points/report.hpp"
#include "tests/dissector/flow/captured.hpp"
#include "tests/part_of.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::two_points::test {
namespace {

using flow::test::Frame;
using sim::FaultKind;
using namespace std::chrono_literals;

constexpr std::uint64_t seeds = veriroce::test::kSanitized ? 8 : 60;

struct Recording {
    std::map<std::size_t, std::vector<Frame>> ports;
    sim::Outcome outcome;

    explicit Recording(const sim::Scenario& scenario) {
        const sim::FrameObserver observer = [this](std::size_t port, wire::Bytes frame,
                                                   wire::Instant when) {
            ports[port].push_back({.bytes = {frame.begin(), frame.end()},
                                   .time_ns = when.time_since_epoch().count()});
        };
        outcome = sim::play(scenario, {}, observer);
    }
    [[nodiscard]] std::uint64_t suffered(FaultKind kind) const {
        return static_cast<std::uint64_t>(std::ranges::count_if(
            outcome.sent, [&](const auto& one) { return one.fault == kind; }));
    }
};

// Two endpoints alone, so that each port sees all packets.
std::vector<Recording> recordings(std::initializer_list<FaultKind> kinds) {
    std::vector<Recording> all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        sim::Scenario scenario = sim::scenario_of(seed);
        scenario.fault_rates.one_in = {};
        for (const FaultKind kind : kinds)
            scenario.fault_rates.one_in[static_cast<std::size_t>(kind)] = 20;
        Recording recording(scenario);
        if (recording.ports.size() == 2) all.push_back(std::move(recording));
    }
    REQUIRE(all.size() > seeds / 4);
    return all;
}

struct Between {
    Clocks clocks;
    Passages passages{clocks};

    [[nodiscard]] std::uint64_t sum(std::uint64_t Flow::* member) const {
        std::uint64_t total = 0;
        for (const Flow& flow : passages.flows())
            total += flow.*member;
        return total;
    }
    [[nodiscard]] std::uint64_t sum(Fate fate) const {
        std::uint64_t total = 0;
        for (const Flow& flow : passages.flows())
            total += flow.count(fate);
        return total;
    }
    [[nodiscard]] std::uint64_t missing() const {
        std::uint64_t total = 0;
        for (const Flow& flow : passages.flows())
            total = std::accumulate(flow.missing.begin(), flow.missing.end(), total);
        return total;
    }
};

// Both in the order of time, as the command reads them. False if they have nothing in common.
bool compare(const std::vector<Frame>& first, const std::vector<Frame>& second, Between& between) {
    struct Seen {
        Point point;
        std::uint64_t number;
        const Frame* frame;
        wire::Instant time;
    };
    decode::Dissection dissection;
    const auto packet_of = [&](const Frame& frame, std::uint64_t number) {
        flow::test::dissect(frame, number, dissection);
        return flow::packet_of(dissection);
    };
    std::vector<Seen> all;
    for (const Point point : {Point::First, Point::Second}) {
        std::uint64_t number = 0;
        for (const Frame& frame : point == Point::First ? first : second) {
            const auto packet = packet_of(frame, ++number);
            if (!packet) continue;
            between.clocks.add(point, *packet);
            all.push_back({point, number, &frame, *packet->time});
        }
    }
    if (!between.clocks.compare()) return false;
    for (Seen& one : all)
        one.time = between.clocks.on_first(one.point, one.time);
    std::ranges::stable_sort(all, {}, &Seen::time);
    for (const Seen& one : all)
        between.passages.observe(one.point, *packet_of(*one.frame, one.number));
    between.passages.finish();
    return true;
}

// A clock that is ahead by `offset` and gains `per_million` millionths.
std::vector<Frame> by_clock(std::vector<Frame> frames, std::int64_t offset_ns,
                            std::int64_t per_million) {
    for (Frame& frame : frames)
        frame.time_ns += offset_ns + frame.time_ns * per_million / 1'000'000;
    return frames;
}

} // namespace

TEST_CASE("two points: each packet's fate is that of the simulation", "[two_points][sim]") {
    std::uint64_t lost = 0;
    for (const Recording& recording : recordings({FaultKind::Drop, FaultKind::Reorder})) {
        if (recording.outcome.tally.frames < 50) continue; // a few overtaken ones decide the way
        Between between;
        REQUIRE(compare(recording.ports.at(0), by_clock(recording.ports.at(1), -7'000'000'123, 40),
                        between));
        INFO(recording.outcome.tally.frames << " frames");
        CHECK(between.missing() == recording.suffered(FaultKind::Drop));
        CHECK(between.sum(Fate::Damaged) == 0);
        CHECK(between.sum(Fate::NotCaptured) == 0);
        CHECK(between.sum(&Flow::only_far) == 0);
        CHECK(between.sum(&Flow::doubled) == 0);
        lost += between.sum(Fate::Lost);
        for (const Flow& flow : between.passages.flows()) {
            if (flow.arrived < 20) continue; // most of a few may have been overtaken
            CHECK((flow.path.from.low32() % 2 == 1) == (flow.nearer == Point::First));
        }
    }
    CHECK(lost > (veriroce::test::kSanitized ? 5U : 20U));
}

TEST_CASE("two points: copies are told from what was sent again", "[two_points][sim]") {
    std::uint64_t doubled = 0;
    for (const Recording& recording : recordings({FaultKind::Duplicate})) {
        Between between;
        REQUIRE(compare(recording.ports.at(0), recording.ports.at(1), between));
        CHECK(between.missing() == 0);
        CHECK((between.sum(&Flow::doubled) > 0) == (recording.suffered(FaultKind::Duplicate) > 0));
        doubled += between.sum(&Flow::doubled);
    }
    CHECK(doubled > 20);
}

TEST_CASE("two points: clocks are compared in both orders", "[two_points][sim]") {
    for (const Recording& recording : recordings({})) {
        constexpr std::int64_t kAhead = 3'000'000'000;
        Between there;
        Between back;
        const auto shifted = by_clock(recording.ports.at(1), kAhead, 0);
        REQUIRE(compare(recording.ports.at(0), shifted, there));
        REQUIRE(compare(shifted, recording.ports.at(0), back));
        // The link takes 1 us each way.
        if (!there.clocks.both_ways()) continue;
        CHECK(std::chrono::abs(there.clocks.offset() - 3s) <= 1us);
        CHECK(std::chrono::abs(back.clocks.offset() + 3s) <= 1us);
        CHECK(there.clocks.uncertainty() <= 2us);
        CHECK(there.missing() == 0);
        CHECK(back.missing() == 0);
        for (const Flow& flow : there.passages.flows())
            CHECK(flow.delay_ns.quantile(0.5) <= 2000);
    }
}

TEST_CASE("two points: captures that lack packets show no lost ones", "[two_points][sim]") {
    std::uint64_t lacking = 0;
    for (const Recording& recording : recordings({})) {
        for (const std::size_t every : {2U, 3U, 7U, 20U}) {
            std::vector<Frame> thinned;
            for (std::size_t i = 0; i < recording.ports.at(1).size(); ++i) {
                if (i % every != 1) thinned.push_back(recording.ports.at(1)[i]);
            }
            Between between;
            if (!compare(recording.ports.at(0), thinned, between)) continue;
            CHECK(between.sum(Fate::Lost) == 0);
            CHECK(between.sum(Fate::Damaged) == 0);
            lacking += between.missing() + between.sum(&Flow::only_far);
        }
    }
    CHECK(lacking > 100);
}

TEST_CASE("two points: damage, marks and strangers on the way", "[two_points]") {
    flow::test::Wire wire;
    std::vector<flow::Packet> sent{wire.from_a(0x04, 0, 64), wire.from_a(0x04, 1, 64),
                                   wire.ack(1, 2)};
    std::vector<flow::Packet> came = sent;
    came[0].integrity = flow::Integrity::Bad;
    came[1].ecn = 3;
    flow::Packet stranger = wire.from_a(0x04, 7, 64);
    Clocks clocks;
    for (const flow::Packet& packet : sent)
        clocks.add(Point::First, packet);
    for (flow::Packet& packet : came) {
        *packet.time += packet.source == sent[0].source ? 500ns : -500ns;
        clocks.add(Point::Second, packet);
    }
    REQUIRE(clocks.compare());
    Passages passages(clocks);
    passages.observe(Point::First, sent[0]);
    passages.observe(Point::Second, came[0]);
    passages.observe(Point::First, sent[1]);
    passages.observe(Point::Second, came[1]);
    passages.observe(Point::Second, came[2]);
    passages.observe(Point::First, sent[2]);
    passages.observe(Point::Second, stranger);
    passages.finish();
    REQUIRE(passages.flows().size() == 2);
    const Flow& there = passages.flows()[0];
    CHECK(there.count(Fate::Damaged) == 1);
    CHECK(there.marked == 1);
    CHECK(there.arrived == 1);
    CHECK(there.only_far == 1);
    CHECK(passages.flows()[1].arrived == 1);
    CHECK(passages.flows()[1].nearer == Point::Second);
    REQUIRE(passages.missing().size() == 1);
    CHECK(passages.missing()[0].other == came[0].number);
    std::string json;
    append_json(json, clocks, passages);
    CHECK(json.find(R"("fate":"damaged","opcode":"SEND_ONLY","psn":0)") != std::string::npos);
}

TEST_CASE("two points: captures of different networks have nothing in common", "[two_points]") {
    Clocks clocks;
    flow::test::Wire one;
    flow::test::Wire other;
    clocks.add(Point::First, one.from_a(0x04, 0, 64));
    clocks.add(Point::Second, other.from_a(0x04, 1, 64));
    CHECK_FALSE(clocks.compare());
}

} // namespace veriroce::two_points::test
