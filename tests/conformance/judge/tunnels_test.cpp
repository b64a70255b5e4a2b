// Of a packet in a tunnel its own headers are judged, not those that the network put around it.
#include <catch2/catch.hpp>

#include <random>

#include "dissector/wire/ip.hpp"
#include "tests/conformance/judge/history.hpp"
#include "tests/conformance/judge/tunnels.hpp"

namespace veriroce::judge::test {
namespace {

using flow::test::Frame;
using flow::test::frames_of;
using flow::test::pcap;

struct Outside {
    std::string name;
    std::function<OuterHeader(std::size_t)> header;
};

const std::vector<Outside>& outsides() {
    static const std::vector<Outside> all{
        {"DF clear, ports vary",
         [](std::size_t i) {
             return OuterHeader{.ttl = static_cast<std::uint8_t>(64 - i % 2),
                                .ecn = static_cast<std::uint8_t>(i % 4),
                                .source_port = static_cast<std::uint16_t>(0xC000 + i * 7919)};
         }},
        {"DF set, options",
         [](std::size_t) { return OuterHeader{.dont_fragment = true, .options = true}; }},
        {"IPv6",
         [](std::size_t i) {
             return OuterHeader{.v6 = true,
                                .ecn = 3,
                                .source_port = static_cast<std::uint16_t>(0xC000 + i * 7919)};
         }},
        {"checksums wrong",
         [](std::size_t) { return OuterHeader{.dont_fragment = true, .bad_checksums = true}; }},
    };
    return all;
}

void check_same(const Judge& judge, const Judge& expected) {
    const Summary found = judge.summary();
    const Summary wanted = expected.summary();
    CHECK(found.packets == wanted.packets);
    CHECK(found.connections == wanted.connections);
    CHECK(found.damaged == wanted.damaged);
    CHECK(found.contradictory == wanted.contradictory);
    CHECK(found.checksum_left == wanted.checksum_left);
    CHECK(found.unpaired == wanted.unpaired);
    CHECK(found.lost_by_capture == wanted.lost_by_capture);
    CHECK(found.certain == wanted.certain);
    CHECK(found.possible == wanted.possible);
    REQUIRE(judge.violations().size() == expected.violations().size());
    for (std::size_t i = 0; i < judge.violations().size(); ++i) {
        const Violation& one = judge.violations()[i];
        const Violation& other = expected.violations()[i];
        CHECK(one.rule == other.rule);
        CHECK(one.certainty == other.certainty);
        CHECK(one.packets.numbers == other.packets.numbers);
        CHECK(text_of(one) == text_of(other));
    }
}

Assumptions at_both_ports() {
    Assumptions assumptions;
    assumptions.complete = true;
    assumptions.recorded_at = {kA, kB};
    return assumptions;
}

// What a careless network leaves of a capture, so that much is found.
std::vector<Frame> spoiled(const std::vector<Frame>& frames) {
    std::minstd_rand random(7);
    std::vector<Frame> left;
    for (const Frame& frame : frames) {
        if (random() % 100 < 8) continue;
        left.push_back(frame);
        if (random() % 100 < 8 && left.size() > 1) {
            std::swap(left[left.size() - 1], left[left.size() - 2]);
        }
    }
    return left;
}

// The device's own IPv4 header is changed as `change` says, and its checksum made right.
template <typename Change>
void change_ipv4(Frame& frame, const Change& change) {
    constexpr std::size_t kIp = 14;
    if (frame.bytes[12] != std::byte{0x08} || frame.bytes[13] != std::byte{0}) return;
    const wire::MutableBytes header = wire::MutableBytes(frame.bytes).subspan(kIp, 20);
    change(header);
    wire::store_be<2>(header, 10, 0);
    wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
}

} // namespace

TEST_CASE("judge: a capture in a tunnel is judged as without it", "[judge][CA17-7][ENC-02]") {
    std::size_t found = 0;
    for (const auto& path : all_captures()) {
        const auto whole = frames_of(path);
        for (const auto& frames : {whole, spoiled(whole)}) {
            const Judge plain = judge_of(frames);
            const Judge plain_at_ports = judge_of(frames, at_both_ports());
            found += plain_at_ports.violations().size();
            for (std::size_t i = 0; i < tunnels().size(); ++i) {
                // Each tunnel has one of the outsides in each capture, and all of them in all.
                const Outside& outside = outsides()[(i + frames.size()) % outsides().size()];
                const auto inside = wrapped(frames, tunnels()[i], outside.header);
                INFO(path.filename() << " in " << tunnels()[i].name << ", " << outside.name);
                check_same(judge_of(inside), plain);
                check_same(judge_of(inside, at_both_ports()), plain_at_ports);
            }
        }
    }
    CHECK(found > 100); // the verdicts that are compared are not all empty
}

TEST_CASE("judge: every tunnel with every outside", "[judge][CA17-7][ENC-02]") {
    for (const char* capture : {"rxe-send-imm", "rxe-rping-cm-v6", "rxe-write-corrupt"}) {
        const auto frames = frames_of(pcap(capture));
        const Judge plain = judge_of(frames);
        for (const Tunnel& tunnel : tunnels()) {
            for (const Outside& outside : outsides()) {
                INFO(capture << " in " << tunnel.name << ", " << outside.name);
                const Judge judge = judge_of(wrapped(frames, tunnel, outside.header));
                CHECK(judge.summary().packets > 0);
                check_same(judge, plain);
            }
        }
    }
}

TEST_CASE("judge CA17-7: the device's own flags are judged inside a tunnel", "[judge][CA17-7]") {
    auto frames = frames_of(pcap("rxe-send-imm"));
    change_ipv4(frames[0], [](wire::MutableBytes header) { wire::store_be<2>(header, 6, 0); });
    wire::seal(frames[0].bytes);
    REQUIRE(found_by(judge_of(frames)) == certain("CA17-7"));
    for (const Tunnel& tunnel : tunnels()) {
        INFO(tunnel.name);
        const auto inside =
            wrapped(frames, tunnel, [](std::size_t) { return OuterHeader{.dont_fragment = true}; });
        CHECK(found_by(judge_of(inside)) == certain("CA17-7"));
    }
}

TEST_CASE("judge: ports, ECN and identification are those of the packet in the tunnel",
          "[judge][flow]") {
    const auto frames = frames_of(pcap("rxe-send-imm"));
    for (const Tunnel& tunnel : tunnels()) {
        INFO(tunnel.name);
        const auto inside = wrapped(frames, tunnel, outsides()[0].header);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            decode::Dissection plain;
            decode::Dissection wrapped_one;
            flow::test::dissect(frames[i], i + 1, plain);
            flow::test::dissect(inside[i], i + 1, wrapped_one);
            const auto expected = flow::packet_of(plain);
            const auto packet = flow::packet_of(wrapped_one);
            REQUIRE(expected);
            REQUIRE(packet);
            CHECK(packet->source_port == expected->source_port);
            CHECK(packet->ecn == expected->ecn);
            CHECK(packet->identification == expected->identification);
            CHECK(packet->source == expected->source);
        }
    }
}

// Captures at a sender whose NIC fills in the checksum.
TEST_CASE("judge: packets whose IP checksum is left to the NIC are judged", "[judge][N-03]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        const Judge plain = judge_of(frames);
        for (const unsigned sum : {0U, 0x1234U}) {
            auto left = frames;
            std::uint64_t changed = 0;
            for (Frame& frame : left) {
                if (frame.bytes[12] != std::byte{0x08} || frame.bytes[13] != std::byte{0}) continue;
                wire::store_be<2>(frame.bytes, 14 + 10, sum);
                ++changed;
            }
            INFO(path.filename() << ", checksum " << sum);
            const Judge judge = judge_of(left);
            CHECK(judge.violations().empty());
            CHECK(judge.summary().packets == plain.summary().packets);
            CHECK(judge.summary().connections == plain.summary().connections);
            CHECK(judge.summary().damaged == plain.summary().damaged);
            CHECK(judge.summary().unpaired == plain.summary().unpaired);
            CHECK(judge.summary().judged() == plain.summary().judged());
            CHECK(judge.summary().checksum_left <= changed);
            if (sum == 0 && plain.summary().judged() == frames.size()) {
                CHECK(judge.summary().checksum_left == changed);
            }
        }
    }
}

} // namespace veriroce::judge::test
