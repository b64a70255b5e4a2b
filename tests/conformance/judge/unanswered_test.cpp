// Requests that nobody answers until the capture ends.
#include <catch2/catch.hpp>

#include <functional>
#include <random>

#include "dissector/wire/ip.hpp"
#include "tests/conformance/judge/history.hpp"
#include "tests/conformance/judge/tunnels.hpp"

namespace veriroce::judge::test {
namespace {

using flow::test::Frame;
using flow::test::frames_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

Assumptions listening(Assumptions assumptions = {}) {
    assumptions.longest_silence = seconds(1);
    return assumptions;
}

// All that a caller can know, but for the first PSNs, without which silence_rules.cpp says nothing.
Assumptions knowing() {
    auto assumptions = listening(at_both());
    for (auto& end : assumptions.connections.front())
        end.attributes.first_psn.reset();
    assumptions.patience = milliseconds(50);
    return assumptions;
}

flow::Packet asking(flow::Packet packet) {
    packet.transport.bth.ack_request = true;
    return packet;
}

flow::Packet atomic(Wire& wire, std::uint32_t psn) {
    return wire.from_a(kFetchAdd, psn);
}

std::vector<Found> judged_until(const Assumptions& assumptions, std::vector<flow::Packet> packets,
                                wire::Duration later) {
    Judge judge(assumptions);
    std::uint64_t number = 0;
    for (flow::Packet& packet : packets) {
        packet.number = ++number;
        judge.observe(packet);
    }
    judge.finish(*packets.back().time + later);
    return found_by(judge);
}

} // namespace

TEST_CASE("judge ACK-01: evidence of a single unanswered request names it once",
          "[judge][ACK-01]") {
    Wire wire;
    Judge judge(listening());
    flow::Packet request = atomic(wire, 100);
    request.number = 7;
    judge.observe(request);
    judge.finish(*request.time + seconds(2));
    REQUIRE(judge.violations().size() == 1);
    CHECK(judge.violations().front().packets.size == 1);
    CHECK(judge.violations().front().packets.numbers.front() == 7);
}

TEST_CASE("judge ACK-01: a device that answers nothing at all is found", "[judge][ACK-01]") {
    Wire wire;
    std::vector<flow::Packet> packets;
    for (std::uint32_t psn = 100; psn < 150; ++psn)
        packets.push_back(atomic(wire, psn));
    CHECK(judged_until(listening(), packets, seconds(2)) == possible("ACK-01"));
    CHECK(judged_until(listening(), packets, milliseconds(500)) == kNothing);  // it may still come
    CHECK(judged_until({}, packets, seconds(2)) == kNothing);                  // not asked for
    CHECK(judged_until(knowing(), packets, seconds(2)) == possible("ACK-01")); // it may have ended
    auto open = knowing();
    for (auto& end : open.connections.front())
        end.attributes.stays_open = true;
    CHECK(judged_until(open, packets, seconds(2)) == certain("ACK-01"));
    CHECK(judged_until(open, packets, milliseconds(40)) == kNothing);
    for (auto* weaken : {+[](Assumptions& a) { a.complete = false; },
                         +[](Assumptions& a) { a.recorded_at = {kA}; },
                         +[](Assumptions& a) { a.patience.reset(); }}) {
        auto less = open;
        weaken(less);
        CHECK(judged_until(less, packets, seconds(2)) == possible("ACK-01"));
    }
}

TEST_CASE("judge ACK-01: a QP that sends requests of its own lives", "[judge][ACK-01]") {
    Wire wire;
    const auto request = asking(wire.from_a(kSendOnly, 100));
    const auto soon = wire.from_b(kSendOnly, 5000);
    CHECK(judged_until(knowing(), {request, soon}, seconds(2)) == possible("ACK-01"));
    wire.wait(milliseconds(60));
    const auto later = wire.from_b(kSendOnly, 5001);
    CHECK(judged_until(knowing(), {request, soon, later}, seconds(2)) == certain("ACK-01"));
}

TEST_CASE("judge ACK-01: what was answered, refused or asked for nothing is no silence",
          "[judge][ACK-01]") {
    Wire wire;
    const auto request = asking(wire.from_a(kSendOnly, 100));
    const auto second = asking(wire.from_a(kSendOnly, 101));
    const auto quiet = wire.from_a(kSendOnly, 100);
    const auto ack = wire.ack(100, 1);
    const auto both = wire.ack(101, 2);
    const auto rnr = wire.answer(100, 0, wire::Syndrome::rnr(0));
    const auto nak = wire.nak(100, 0, wire::NakCode::PsnSequence);
    const auto dead = wire.nak(100, 0, wire::NakCode::InvalidRequest);
    CHECK(judged_until(listening(), {request, ack}, seconds(9)) == kNothing);
    CHECK(judged_until(listening(), {request, second, both}, seconds(9)) == kNothing);
    CHECK(judged_until(listening(), {quiet}, seconds(9)) == kNothing);
    CHECK(judged_until(listening(), {request, rnr}, seconds(9)) == kNothing);
    CHECK(judged_until(listening(), {request, dead, second}, seconds(9)) == kNothing);
    CHECK(judged_until(listening(), {request, ack, request}, seconds(9)) == kNothing); // RSP-10
    // Half an answer is none.
    CHECK(judged_until(listening(), {request, second, ack}, seconds(9)) == possible("ACK-01"));
    // After a NAK the requester is to send again; if it does, that wants an answer.
    const auto found = judged_until(listening(), {request, second, nak, request}, seconds(9));
    CHECK(std::ranges::find(found, possible("ACK-01").front()) != found.end());
}

namespace {

using Random = std::minstd_rand;

struct Damage {
    const char* name;
    std::function<std::vector<Frame>(const std::vector<Frame>&, Random&)> apply;
};

std::vector<Frame> thinned(const std::vector<Frame>& frames, Random& random, unsigned percent) {
    std::vector<Frame> left;
    for (const Frame& frame : frames) {
        if (random() % 100 >= percent) left.push_back(frame);
    }
    return left;
}

std::vector<Frame> twice(const std::vector<Frame>& frames, std::int64_t delay_ns) {
    std::vector<Frame> all;
    for (const Frame& frame : frames) {
        all.push_back(frame);
        all.push_back({frame.bytes, frame.time_ns + delay_ns});
    }
    return all;
}

std::vector<Frame> swapped(std::vector<Frame> frames) {
    for (std::size_t i = 0; i + 1 < frames.size(); i += 2)
        std::swap(frames[i].bytes, frames[i + 1].bytes);
    return frames;
}

std::vector<Frame> part_of(const std::vector<Frame>& frames, std::size_t first, std::size_t last) {
    return {frames.begin() + static_cast<std::ptrdiff_t>(first),
            frames.begin() + static_cast<std::ptrdiff_t>(last)};
}

std::vector<Frame> with_gap(const std::vector<Frame>& frames) {
    auto left = part_of(frames, 0, frames.size() / 3);
    const auto after = part_of(frames, frames.size() / 2, frames.size());
    left.insert(left.end(), after.begin(), after.end());
    return left;
}

std::vector<Frame> one_way(const std::vector<Frame>& frames, bool first) {
    const auto source = [](const Frame& frame) {
        decode::Dissection dissection;
        flow::test::dissect(frame, 1, dissection);
        return dissection.source();
    };
    const auto side = source(frames.front());
    std::vector<Frame> left;
    for (const Frame& frame : frames) {
        if ((source(frame) == side) == first) left.push_back(frame);
    }
    return left;
}

// A router between two points of a capture: every packet comes again with a smaller TTL.
std::vector<Frame> second_hop(const std::vector<Frame>& frames) {
    std::vector<Frame> all;
    for (const Frame& frame : frames) {
        all.push_back(frame);
        Frame hop{frame.bytes, frame.time_ns + 2000};
        const bool v6 = hop.bytes[12] == std::byte{0x86};
        std::byte& ttl = hop.bytes[14 + (v6 ? 7 : 8)];
        ttl = static_cast<std::byte>(std::to_integer<unsigned>(ttl) - 1);
        if (!v6) {
            const auto header = wire::MutableBytes(hop.bytes).subspan(14, 20);
            wire::store_be<2>(header, 10, 0);
            wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
        }
        all.push_back(hop);
    }
    return all;
}

std::vector<Frame> with_times(std::vector<Frame> frames, bool reversed) {
    const std::int64_t first = frames.front().time_ns;
    const std::int64_t last = frames.back().time_ns;
    for (Frame& frame : frames)
        frame.time_ns = reversed ? last - (frame.time_ns - first) : first;
    return frames;
}

std::vector<Frame> lived_twice(const std::vector<Frame>& frames) {
    std::vector<Frame> both = frames;
    for (const Frame& frame : frames)
        both.push_back({frame.bytes, frame.time_ns + 5'000'000'000});
    return both;
}

const std::vector<Damage>& damages() {
    using Frames = std::vector<Frame>;
    static const std::vector<Damage> all{
        {"whole", [](const Frames& f, Random&) { return f; }},
        {"every packet twice", [](const Frames& f, Random&) { return twice(f, 0); }},
        {"every packet twice, later", [](const Frames& f, Random&) { return twice(f, 700'000); }},
        {"10 % lost", [](const Frames& f, Random& r) { return thinned(f, r, 10); }},
        {"50 % lost", [](const Frames& f, Random& r) { return thinned(f, r, 50); }},
        {"torn off", [](const Frames& f, Random& r) { return part_of(f, 0, 1 + r() % f.size()); }},
        {"neighbours swapped", [](const Frames& f, Random&) { return swapped(f); }},
        {"begun in the middle",
         [](const Frames& f, Random& r) { return part_of(f, r() % f.size(), f.size()); }},
        {"a gap", [](const Frames& f, Random&) { return with_gap(f); }},
        {"two lives", [](const Frames& f, Random&) { return lived_twice(f); }},
        {"times reversed", [](const Frames& f, Random&) { return with_times(f, true); }},
        {"times equal", [](const Frames& f, Random&) { return with_times(f, false); }},
        {"one direction", [](const Frames& f, Random&) { return one_way(f, true); }},
        {"the other direction", [](const Frames& f, Random&) { return one_way(f, false); }},
        {"second hop", [](const Frames& f, Random&) { return second_hop(f); }},
        {"VXLAN",
         [](const Frames& f, Random&) {
             return wrapped(f, tunnels()[2], [](std::size_t i) {
                 return OuterHeader{.source_port = static_cast<std::uint16_t>(40'000 + i)};
             });
         }},
    };
    return all;
}

} // namespace

// Also where the user says how long a device may take and that recording went on.
TEST_CASE("judge: no damage to a capture makes a silence certain", "[judge][ACK-01]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        for (const Damage& damage : damages()) {
            Random random(static_cast<unsigned>(frames.size()));
            const auto left = damage.apply(frames, random);
            if (left.empty()) continue;
            for (const bool patient : {false, true}) {
                auto assumptions = listening();
                if (patient) assumptions.patience = milliseconds(1);
                Judge judge(assumptions);
                decode::Dissection dissection;
                for (std::size_t i = 0; i < left.size(); ++i) {
                    flow::test::dissect(left[i], i + 1, dissection);
                    judge.observe(dissection);
                }
                std::int64_t last = 0;
                for (const Frame& frame : left)
                    last = std::max(last, frame.time_ns);
                judge.finish(wire::Instant(wire::Duration(last)) + seconds(100));
                INFO(path.filename() << ": " << damage.name);
                for (const Violation& violation : judge.violations()) {
                    if (violation.certainty == Certainty::Certain)
                        UNSCOPED_INFO(violation.rule << " " << text_of(violation));
                }
                CHECK(judge.summary().certain == 0);
            }
        }
    }
}

// The end of a capture is no silence, and neither is a pause between messages.
TEST_CASE("judge: what is answered in a capture is no silence, however long it goes on",
          "[judge][ACK-01]") {
    std::size_t answered = 0;
    for (const auto& path : all_captures()) {
        Judge judge(listening());
        decode::Dissection dissection;
        const auto frames = frames_of(path);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            flow::test::dissect(frames[i], i + 1, dissection);
            judge.observe(dissection);
        }
        judge.finish(wire::Instant(wire::Duration(frames.back().time_ns)) + seconds(100));
        INFO(path.filename());
        // Of these the last requests have no answer: see the manifest.
        const std::string name = path.stem();
        const bool silent = name == "rxe-retry-exceeded";
        CHECK(judge.summary().certain == 0);
        CHECK((judge.summary().possible > 0) == silent);
        answered += silent ? 0 : 1;
    }
    CHECK(answered > 20);
}

} // namespace veriroce::judge::test
