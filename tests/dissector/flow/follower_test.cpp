// What a packet is told about itself: by hand, and on captures against the raw PSNs.
#include <catch2/catch.hpp>

#include <map>
#include <optional>

#include "dissector/flow/follower.hpp"
#include "dissector/wire/splitmix64.hpp"
#include "tests/dissector/flow/captured.hpp"
#include "tests/part_of.hpp"

namespace veriroce::flow::test {
namespace {

using decode::FlowFacts;

constexpr std::uint8_t kSendFirst = 0x00;
constexpr std::uint8_t kSendLast = 0x02;
constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint8_t kReadFirst = 0x0D;
constexpr std::uint8_t kReadMiddle = 0x0E;
constexpr std::uint8_t kReadLast = 0x0F;
constexpr std::uint8_t kFetchAdd = 0x14;
constexpr std::uint8_t kAtomicAck = 0x12;

// Packets by hand, numbered from 1, each with what is known of it.
class Story : public Wire {
  public:
    FlowFacts tell(const Packet& packet) {
        const FlowFacts* facts = follower_.follow(packet);
        REQUIRE(facts != nullptr);
        return *facts;
    }
    FlowFacts send(std::uint32_t psn) { return tell(from_a(kSendOnly, psn, 64)); }
    FlowFacts acknowledge(std::uint32_t psn, std::uint32_t msn) { return tell(ack(psn, msn)); }
    FlowFacts read_response(std::uint8_t opcode, std::uint32_t psn, std::uint32_t bytes) {
        if (opcode == kReadMiddle) return tell(from_b(opcode, psn, bytes));
        return tell(answer(psn, 1, wire::Syndrome::ack(31), opcode, bytes));
    }

  private:
    Follower follower_;
};

} // namespace

TEST_CASE("follower: an ACK names the packets that it acknowledges first", "[flow]") {
    Story story;
    story.send(0xFFFFFE);
    story.send(0xFFFFFF);
    const FlowFacts sent = story.send(0);
    CHECK(sent.kind == "new");
    CHECK(sent.connection == 1);
    CHECK_FALSE(sent.source_qp);
    const FlowFacts acked = story.acknowledge(0, 3);
    CHECK(acked.acks_first == 1);
    CHECK(acked.acks_last == 3);
    CHECK(acked.response_to == 3);
    CHECK(acked.latency_ns == 1000);
    CHECK(acked.completes == 3);
    CHECK(acked.completed_bytes == 192);
    CHECK(acked.source_qp == 0x22);
    CHECK(story.send(1).source_qp == 0x11);
    const FlowFacts old = story.acknowledge(0, 3);
    CHECK(old.nothing_new);
    CHECK(old.acks_first == 0);
    CHECK_FALSE(old.latency_ns);
}

TEST_CASE("follower: PSNs that no packet carried are counted across the wrap", "[flow]") {
    Story story;
    story.send(0xFFFFFE);
    CHECK(story.send(1).gap == 2);
    const FlowFacts acked = story.acknowledge(1, 4);
    CHECK(acked.acks_first == 1);
    CHECK(acked.acks_last == 2);
    CHECK(acked.acks_unseen == 2); // the capture lost them, not the network
}

TEST_CASE("follower: a retransmission names the copy before and its cause", "[flow]") {
    Story story;
    story.send(99);
    story.acknowledge(99, 1); // shows which QPs belong together
    story.send(100);
    CHECK(story.send(102).gap == 1);
    const FlowFacts nak = story.tell(story.nak(101, 2, wire::NakCode::PsnSequence));
    CHECK(nak.response_to == 0);
    CHECK(nak.acks_last == 3);
    const FlowFacts filled = story.send(101);
    CHECK(filled.retransmission);
    CHECK(filled.again_of == 0);
    CHECK(filled.cause == "sequence-nak");
    const FlowFacts again = story.send(102);
    CHECK(again.retransmission);
    CHECK(again.again_of == 4);
    CHECK(again.again_after_ns == 3000);
    const FlowFacts acked = story.acknowledge(102, 4);
    CHECK(acked.acks_first == 6);
    CHECK(acked.acks_last == 7);
    CHECK_FALSE(acked.latency_ns); // which copy it answers is not known
}

TEST_CASE("follower: RNR NAKs, timeouts and copies of the network are told apart", "[flow]") {
    Story story;
    story.send(100);
    const FlowFacts nak = story.tell(story.answer(100, 0, wire::Syndrome::rnr(20)));
    CHECK(nak.response_to == 1);
    CHECK(nak.latency_ns == 1000);
    CHECK(story.send(100).cause == "rnr-nak");
    story.acknowledge(100, 1);
    story.send(101);
    const FlowFacts copy = story.send(101);
    CHECK(copy.duplicate);
    CHECK_FALSE(copy.retransmission);
    CHECK(copy.again_of == 5);
    story.wait(std::chrono::milliseconds(1));
    CHECK(story.send(101).cause == "timeout");
    // Late among other packets: the capture lacks what caused it.
    Story busy;
    busy.send(100);
    busy.send(103);
    CHECK(busy.send(102).reordered);
    for (std::uint32_t psn = 104; psn < 154; ++psn) {
        busy.wait(std::chrono::microseconds(40));
        CHECK(busy.send(psn).kind == "new");
    }
    const FlowFacts late = busy.send(101);
    CHECK_FALSE(late.reordered);
    CHECK(late.kind == "retransmission");
    Story repeated;
    for (std::uint32_t psn = 100; psn < 150; ++psn) {
        repeated.wait(std::chrono::microseconds(40));
        repeated.send(psn);
    }
    const FlowFacts again = repeated.send(100);
    CHECK(again.retransmission);
    CHECK_FALSE(again.duplicate);
    CHECK(again.cause.empty());
}

TEST_CASE("follower: every response of a READ names it", "[flow]") {
    Story story;
    story.tell(story.from_a(kSendFirst, 98, 1024)); // shows the path MTU
    story.tell(story.from_a(kSendLast, 99, 1024));
    story.tell(story.read(100, 4096));
    const FlowFacts first = story.read_response(kReadFirst, 100, 1024);
    CHECK(first.response_to == 3);
    CHECK(first.acks_first == 1); // the SEND before it
    CHECK(first.acks_last == 2);
    CHECK(first.response_gap == 0);
    const FlowFacts third = story.read_response(kReadMiddle, 102, 1024);
    CHECK(third.response_to == 3);
    CHECK(third.response_gap == 1);
    CHECK(third.latency_ns == 2000);
    const FlowFacts second = story.read_response(kReadMiddle, 101, 1024);
    CHECK(second.perhaps_late); // overtaken or repeated
    CHECK_FALSE(second.duplicate);
    const FlowFacts last = story.read_response(kReadLast, 103, 1024);
    CHECK(last.completes == 1);
    CHECK(last.completed_bytes == 4096);
    CHECK(last.completion_ns == 4000);
    CHECK(story.read_response(kReadLast, 103, 1024).duplicate);
}

TEST_CASE("follower: responses on the way when a READ is sent again leave no gap", "[flow]") {
    Story story;
    story.tell(story.from_a(kSendFirst, 98, 1024));
    story.tell(story.from_a(kSendLast, 99, 1024));
    story.tell(story.read(100, 8192));
    for (std::uint32_t psn = 100; psn < 104; ++psn)
        story.read_response(psn == 100 ? kReadFirst : kReadMiddle, psn, 1024);
    story.wait(std::chrono::milliseconds(1));
    const FlowFacts again = story.tell(story.read(100, 8192));
    CHECK(again.retransmission);
    CHECK(again.again_of == 3);
    const FlowFacts fifth = story.read_response(kReadMiddle, 104, 1024);
    CHECK(fifth.response_gap == 0);
    CHECK(fifth.to_earlier_copy);
    CHECK(story.read_response(kReadMiddle, 106, 1024).response_gap == 1);
    const FlowFacts anew = story.read_response(kReadFirst, 100, 1024);
    CHECK(anew.response_to == 8);
    CHECK_FALSE(anew.to_earlier_copy);
    CHECK_FALSE(anew.duplicate);
    CHECK(story.read_response(kReadMiddle, 102, 1024).response_gap == 1);
    // A part of it.
    story.wait(std::chrono::milliseconds(1));
    CHECK(story.tell(story.read(101, 7168)).again_of == 8);
    CHECK(story.read_response(kReadFirst, 101, 1024).response_gap == 0);
}

TEST_CASE("follower: an ACK behind an unanswered atomic names it", "[flow][REQ-08]") {
    Story story;
    story.tell(story.from_a(kFetchAdd, 100));
    story.send(101);
    const FlowFacts acked = story.acknowledge(101, 2);
    CHECK(acked.unanswered == 1);
    CHECK(acked.acks_first == 2);
    CHECK(story.tell(story.from_a(kFetchAdd, 100)).cause == "implied-nak");
    const FlowFacts answered =
        story.tell(story.answer(100, 2, wire::Syndrome::ack(31), kAtomicAck));
    CHECK(answered.response_to == 4);
    CHECK(answered.completes == 1);
    CHECK_FALSE(answered.duplicate);
    CHECK(story.tell(story.answer(100, 2, wire::Syndrome::ack(31), kAtomicAck)).duplicate);
}

TEST_CASE("follower: a capture that begins in the middle invents nothing", "[flow]") {
    Story story;
    CHECK(story.send(105).kind == "new"); // PSNs before it are not missing
    story.acknowledge(105, 9);
    const FlowFacts old = story.acknowledge(101, 5); // of a request before the capture
    CHECK(old.kind == "forgotten");
    CHECK_FALSE(old.nothing_new);
    CHECK_FALSE(old.duplicate);
    story.wait(std::chrono::milliseconds(1));
    const FlowFacts behind = story.send(103);
    CHECK(behind.behind); // sent before the capture began, or late
    CHECK_FALSE(behind.retransmission);
    CHECK(story.send(105).retransmission);
    const FlowFacts jump = story.send(30'000);
    CHECK(jump.jump == 29'894); // a QP connected anew, or a hole in the capture
    CHECK(jump.gap == 0);
}

TEST_CASE("follower: damaged packets and READs of unknown length bound a gap", "[flow]") {
    Story story;
    story.send(100);
    story.acknowledge(100, 1);
    Packet bad = story.from_a(kSendOnly, 101, 64);
    bad.integrity = Integrity::Bad;
    CHECK(story.tell(bad).kind == "damaged");
    const FlowFacts beyond = story.send(102);
    CHECK(beyond.gap == 1);
    CHECK(beyond.gap_damaged);
    CHECK_FALSE(beyond.gap_at_most);
    CHECK(story.tell(story.nak(101, 1, wire::NakCode::PsnSequence)).damaged);
    Story reads;
    reads.tell(reads.read(100, 3000)); // 1, 2, 3, 6 or 12 PSNs
    CHECK(reads.send(110).gap_at_most);
}

TEST_CASE("follower: connections beyond the limit are counted", "[flow]") {
    Follower follower({.connections = 2, .extents = 1000});
    Wire wire;
    for (std::uint32_t qpn = 1; qpn < 6; ++qpn) {
        Packet packet = wire.from_a(kSendOnly, 100, 64);
        packet.transport.bth.dest_qp = {qpn};
        const FlowFacts* facts = follower.follow(packet);
        REQUIRE(facts != nullptr);
        CHECK(facts->connection == qpn);
    }
    CHECK(follower.evicted() == 3);
}

// Raw facts of a packet, taken from its headers alone.
namespace {

struct Raw {
    Path path;
    wire::Psn psn;
    std::uint32_t span = 1; // PSNs that it can take at most
    bool request = false;
    bool undamaged = false;
};

Raw raw_of(const Packet& packet) {
    Raw raw{.path = {packet.source, packet.destination, packet.transport.bth.dest_qp.value},
            .psn = packet.psn(),
            .request = packet.info().request(),
            .undamaged = packet.integrity != Integrity::Bad};
    if (packet.info().operation == wire::Operation::RdmaReadRequest) {
        raw.span = wire::packets_of(packet.transport.reth.dma_length, wire::Mtu::B256);
    }
    return raw;
}

bool carries(const Raw& raw, wire::Psn psn) {
    const std::int32_t ahead = wire::distance(raw.psn, psn);
    return ahead >= 0 && ahead < static_cast<std::int32_t>(raw.span);
}

bool opposite(const Raw& a, const Raw& b) {
    return a.path.source == b.path.destination && a.path.destination == b.path.source;
}

struct Sums {
    std::size_t packets = 0;
    std::size_t faults = 0; // everything that speaks of loss, repetition or disorder
    std::size_t gaps = 0;
    std::size_t unseen = 0;
};

// Checks what each packet is told against the packets that were given.
class Witness {
  public:
    void give(const Packet& packet) {
        INFO("packet " << packet.number);
        const Raw raw = raw_of(packet);
        if (const FlowFacts* facts = follower_.follow(packet)) {
            ++sums.packets;
            check(raw, *facts);
        }
        raws_.emplace(packet.number, raw);
    }
    Sums sums;

  private:
    void check(const Raw& raw, const FlowFacts& facts) {
        if (facts.again_of != 0) {
            const Raw& before = raws_.at(facts.again_of);
            CHECK(before.path == raw.path);
            CHECK(before.request);
            CHECK(before.undamaged);
            CHECK(carries(before, raw.psn));
        }
        for (std::uint32_t i = 1; i <= facts.gap; ++i)
            CHECK_FALSE(seen(raw, raw.psn - i));
        if (facts.response_to != 0) {
            const Raw& asked = raws_.at(facts.response_to);
            CHECK(opposite(asked, raw));
            CHECK(asked.request);
            // A READ may have been asked for in part since.
            CHECK((carries(asked, raw.psn) || facts.to_earlier_copy || asked.span > 1));
        }
        if (facts.acks_first != 0) {
            CHECK(facts.acks_first <= facts.acks_last);
            for (const std::uint64_t number : {facts.acks_first, facts.acks_last}) {
                CHECK(opposite(raws_.at(number), raw));
                CHECK(raws_.at(number).request);
                CHECK(wire::distance(raws_.at(number).psn, raw.psn) >= 0);
            }
        }
        if (facts.gap + facts.response_gap > 0) ++sums.gaps;
        sums.unseen += facts.acks_unseen;
        const bool fault = facts.retransmission || facts.duplicate || facts.reordered ||
                           facts.behind || facts.perhaps_late || facts.changed || facts.jump > 0;
        if (fault) ++sums.faults;
    }
    [[nodiscard]] bool seen(const Raw& like, wire::Psn psn) const {
        return std::ranges::any_of(raws_, [&](const auto& one) {
            const Raw& raw = one.second;
            return raw.path == like.path && raw.request && raw.undamaged && raw.psn == psn;
        });
    }

    Follower follower_;
    std::map<std::uint64_t, Raw> raws_;
};

std::vector<std::string> captures() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps"))
        if (entry.path().extension() == ".pcap") names.push_back(entry.path().stem());
    std::ranges::sort(names);
    return names;
}

// Gives each packet, but every n-th on average if `thinned`.
Sums told(const std::vector<Frame>& frames, unsigned one_of, std::uint64_t state) {
    Witness witness;
    decode::Dissection dissection;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (one_of != 0 && wire::splitmix64(state) % one_of == 0) continue;
        dissect(frames[i], i + 1, dissection);
        if (const auto packet = packet_of(dissection)) witness.give(*packet);
    }
    return witness.sums;
}

} // namespace

TEST_CASE("follower: what is told of every capture is true, also where packets are missing",
          "[flow]") {
    std::size_t clean = 0;
    std::size_t packets = 0;
    for (const std::string& name : veriroce::test::sweep_of(captures(), 0, 1)) {
        INFO(name);
        const auto frames = frames_of(pcap(name));
        const Sums whole = told(frames, 0, 0);
        packets += whole.packets;
        CHECK(whole.unseen == 0);
        for (const unsigned one_of : {20U, 3U}) {
            for (std::uint64_t seed = 1; seed < 4; ++seed) {
                INFO("one of " << one_of << " is missing, seed " << seed);
                const Sums thinned = told(frames, one_of, seed);
                // A capture that lacks packets has gaps, and nothing else that was not there.
                if (whole.faults == 0) CHECK(thinned.faults == 0);
            }
        }
        if (whole.faults == 0) {
            CHECK(whole.gaps == 0);
            ++clean;
        }
    }
    CHECK(packets > (veriroce::test::kSanitized ? 100U : 1500U));
    CHECK(clean > (veriroce::test::kSanitized ? 1U : 15U));
}

} // namespace veriroce::flow::test
