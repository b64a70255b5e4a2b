// What the tracker says of packets, held against the simulation that made and lost them: from both
// ports, from the sender's alone, from the receiver's alone.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "dissector/decode/decoder.hpp"
#include "dissector/flow/deliveries.hpp"
#include "dissector/wire/syndrome.hpp"
#include "tests/conformance/judge/simulated.hpp"

namespace veriroce::judge::test {
namespace {

// One sighting of a run, at whichever port, as a packet; times are those of the simulation.
struct Sighting {
    std::size_t port = 0;
    bool leaves = false;
    const Seen* seen = nullptr;
    const sim::SentFrame* truth = nullptr; // of one that leaves
};

std::vector<Sighting> merged(const Recording& recording) {
    std::vector<Sighting> all;
    for (const auto& [port, frames] : recording.ports) {
        for (const Seen& seen : frames)
            all.push_back({.port = port, .leaves = seen.leaves, .seen = &seen});
    }
    // A frame takes a microsecond: what leaves at an instant does not come at the same.
    std::ranges::sort(all, {}, [](const Sighting& one) { return one.seen->order; });
    std::size_t sent = 0;
    for (Sighting& sighting : all) {
        if (sighting.leaves) sighting.truth = &recording.outcome.sent.at(sent++);
    }
    REQUIRE(sent == recording.outcome.sent.size());
    return all;
}

std::optional<flow::Packet> packet_of(const Seen& seen, std::uint64_t number,
                                      decode::Dissection& dissection) {
    decode::dissect_frame({.bytes = seen.frame,
                           .original_length = static_cast<std::uint32_t>(seen.frame.size()),
                           .number = number,
                           .time_ns = seen.when.time_since_epoch().count()},
                          {}, dissection);
    return flow::packet_of(dissection);
}

struct Share {
    std::uint64_t decided = 0;
    std::uint64_t undecided = 0;

    [[nodiscard]] double of_undecided() const {
        return static_cast<double>(undecided) / static_cast<double>(decided + undecided);
    }
};

flow::Tracker tracker_for(const Recording& recording) {
    flow::Tracker tracker;
    for (const auto& [first, second] : assumptions_at(recording, 0, Told::Everything).connections)
        tracker.introduce(first, second);
    return tracker;
}

void check(Share& share, const std::optional<bool>& said, bool truth) {
    if (!said) {
        ++share.undecided;
        return;
    }
    ++share.decided;
    CHECK(*said == truth);
}

// At one port: the requests that leave it, and those that come to it.
void check_port(const Recording& recording, const std::vector<Sighting>& all, std::size_t port,
                Share& own, Share& far) {
    flow::Tracker tracker = tracker_for(recording);
    flow::Deliveries deliveries; // only to know which packet of the simulation it is that came
    std::vector<const sim::SentFrame*> truths;
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Sighting& sighting : all) {
        auto packet = packet_of(*sighting.seen, ++number, dissection);
        if (!packet) continue;
        const bool here = sighting.port == port;
        if (sighting.leaves && !here) {
            deliveries.sent(*packet);
            truths.push_back(sighting.truth);
        }
        if (!here) continue;
        packet->tap = sighting.leaves ? flow::Tap::Sender : flow::Tap::Receiver;
        const flow::Classified seen = tracker.feed(*packet);
        if (seen.role != flow::Role::Requester) continue;
        INFO("seed " << recording.scenario.seed << ", port " << port << ", packet " << number);
        if (sighting.leaves) {
            if (sighting.truth->request) check(own, seen.sent_again, sighting.truth->again);
        } else if (const auto delivery = deliveries.arrived(*packet)) {
            if (truths[*delivery]->request) check(far, seen.sent_again, truths[*delivery]->again);
        }
    }
}

// What a fault does to whether a frame comes as it left. A corrupted bit may be one that the ICRC
// does not cover.
std::optional<bool> delivered(const std::optional<sim::FaultKind>& fault) {
    using enum sim::FaultKind;
    if (!fault) return true;
    switch (*fault) {
    case Drop: return false;
    case CorruptBit:
    case CorruptByte:
    case CorruptField:
    case Truncate: return std::nullopt;
    case Duplicate:
    case Delay:
    case Reorder:
    case Hold:
    case MarkCe:
    case Rewrite:
    case Replay:
    case Forge: return true;
    }
    return std::nullopt;
}

// The simulation delays nothing by more than its shortest timeout, and the link's own time.
wire::Duration longest_way(const sim::Scenario& scenario) {
    wire::Duration longest = std::chrono::milliseconds(1);
    for (const sim::ConnectionPlan& connection : scenario.connections) {
        for (const sim::DirectionPlan& direction : connection.directions) {
            const auto timeout = wire::ack_timeout(direction.timeout);
            if (timeout) longest = std::min<wire::Duration>(longest, *timeout);
        }
    }
    return longest + std::chrono::microseconds(2);
}

// With both ports of a packet's way: what became of each.
void check_fates(const Recording& recording, const std::vector<Sighting>& all, Share& ipv4,
                 Share& ipv6) {
    if (recording.ports.size() != 2) return; // of a third port's packets the way is not known
    // A dropped packet may still come when it is replayed.
    const auto replays = static_cast<std::size_t>(sim::FaultKind::Replay);
    if (recording.scenario.fault_rates.one_in[replays] != 0) return;
    flow::Deliveries deliveries(longest_way(recording.scenario));
    std::vector<const sim::SentFrame*> truths;
    std::vector<bool> v4;
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Sighting& sighting : all) {
        const auto packet = packet_of(*sighting.seen, ++number, dissection);
        if (!packet) continue;
        if (sighting.leaves) {
            deliveries.sent(*packet);
            truths.push_back(sighting.truth);
            v4.push_back(packet->source.v4());
        } else {
            deliveries.arrived(*packet);
        }
    }
    for (std::size_t i = 0; i < truths.size(); ++i) {
        if (!truths[i]->request) continue;
        const flow::Delivery& delivery = deliveries.all()[i];
        const auto truth = delivered(truths[i]->fault);
        INFO("seed " << recording.scenario.seed << ", packet " << delivery.number);
        std::optional<bool> said;
        if (delivery.status != flow::DeliveryStatus::Undecided)
            said = delivery.status == flow::DeliveryStatus::Delivered;
        check(v4[i] ? ipv4 : ipv6, said, truth.value_or(said.value_or(false)));
        if (delivery.arrivals > 1) CHECK(truths[i]->fault == sim::FaultKind::Duplicate);
    }
}

} // namespace

TEST_CASE("both ends: nothing that is said contradicts the simulation", "[judge][flow][sim]") {
    Share own;
    Share far;
    Share fates4;
    Share fates6;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const Recording recording(sim::scenario_of(seed), {});
        const auto all = merged(recording);
        for (const auto& [port, frames] : recording.ports)
            check_port(recording, all, port, own, far);
        check_fates(recording, all, fates4, fates6);
    }
    const auto text = [](const Share& share) {
        return std::to_string(100 * share.of_undecided()) + " % of " +
               std::to_string(share.decided + share.undecided) + " undecided";
    };
    const std::string said =
        "sent again, at the sender's port: " + text(own) + "; at the receiver's: " + text(far) +
        "; what became of it, at both: IPv4 " + text(fates4) + ", IPv6 " + text(fates6);
    if (std::getenv("VERIROCE_PRINT") != nullptr) WARN(said);
    INFO(said);
    CHECK(own.decided > 10'000);
    CHECK(own.undecided == 0);
    CHECK(far.undecided > 0);
    CHECK(fates4.decided > 3'000);
    CHECK(fates4.undecided == 0);
    CHECK(fates6.decided > 3'000);
    CHECK(fates6.of_undecided() < 0.4);
}

} // namespace veriroce::judge::test
