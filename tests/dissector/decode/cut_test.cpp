// Every frame, cut at every length: by the capture it is cut, by its own lengths it is malformed.
#include <catch2/catch.hpp>

#include "dissector/wire/icrc.hpp"
#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;

namespace {

// All layers but the first follow each other inside the captured bytes.
void check_layers(const Dissection& d) {
    std::uint32_t at = 0;
    for (const LayerSpan& layer : d.layers) {
        REQUIRE(layer.offset + layer.length <= d.frame.bytes.size());
        if (layer.kind == LayerKind::Frame) continue;
        REQUIRE(layer.offset >= at);
        at = layer.offset + layer.length;
    }
}

// What must not be so of a frame that the capture cut; empty if all is well. Plain comparisons:
// there are half a million of them.
std::string_view wrong_of_cut(const Dissection& d, std::uint8_t opcode) {
    if (!d.cut) return "it does not say cut";
    if (d.malformed) return "it says malformed";
    if (d.icrc.status != IcrcStatus::Unchecked) return "its ICRC was checked";
    if (!d.findings.empty()) return "it has a finding";
    if (d.has_bth && d.packet.bth.opcode != opcode) return "its opcode is another one";
    std::uint32_t at = 0;
    for (const LayerSpan& layer : d.layers) {
        if (layer.offset + layer.length > d.frame.bytes.size()) return "a layer ends beyond it";
        if (layer.kind == LayerKind::Frame) continue;
        if (layer.offset != at) return "a layer does not begin where the one before ends";
        at = layer.offset + layer.length;
    }
    return at == d.frame.bytes.size() ? "" : "the layers do not cover it";
}

// Cuts every frame at every length. How many cuts that were.
std::size_t check_cuts(const std::vector<corpus::Corpus>& corpora) {
    Dissection d;
    std::size_t cuts = 0;
    for (const corpus::Corpus& made : corpora) {
        for (const corpus::CorpusFrame& frame : made.frames) {
            FrameFacts facts;
            facts.link_code = made.link_code;
            facts.original_length = static_cast<std::uint32_t>(frame.bytes.size());
            for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
                facts.bytes = wire::Bytes(frame.bytes).first(size);
                dissect_frame(facts, {}, d);
                ++cuts;
                const std::string_view wrong = wrong_of_cut(d, frame.opcode);
                if (wrong.empty()) continue;
                FAIL_CHECK(made.name << ", " << frame.carrier << ", opcode " << int{frame.opcode}
                                     << ", cut to " << size << ": " << wrong);
            }
        }
    }
    return cuts;
}

} // namespace

TEST_CASE("decode: every opcode in every encapsulation, cut at every length, says cut",
          "[decode]") {
    CHECK(check_cuts(corpus::corpora()) > 300'000);
}

TEST_CASE("decode: what comes beside connections, cut at every length, says cut", "[decode]") {
    CHECK(check_cuts(corpus::other_corpora()) > 8'000);
}

TEST_CASE("decode: a frame that the capture cut is never malformed", "[decode]") {
    for (const auto* capture : {"rxe-atomic.pcap", "rxe-rping-cm-v6.pcap", "rxe-send-imm.pcap",
                                "rxe-nak-access-read.pcap", "rxe-ud-verbs.pcap"}) {
        const auto frames = frames_of(capture);
        for (std::size_t number = 0; number < std::min<std::size_t>(frames.size(), 8); ++number) {
            const wire::Bytes whole = frames[number];
            for (std::size_t size = 0; size < whole.size(); ++size) {
                INFO(capture << " frame " << number + 1 << " cut to " << size);
                const auto original = static_cast<std::uint32_t>(whole.size());
                const Dissection d = taken_apart(whole.first(size), 1, original);
                REQUIRE_FALSE(d.malformed);
                REQUIRE(d.findings.empty());
                REQUIRE((d.cut || size < 14 + 20 || !d.roce()));
                REQUIRE(d.icrc.status == IcrcStatus::Unchecked);
                check_layers(d);
            }
        }
    }
}

TEST_CASE("decode: a packet that ends inside a header by its own lengths is malformed",
          "[decode]") {
    const FrameBytes whole = made({.opcode = 0x0C}); // RDMA READ request: BTH and RETH
    const std::size_t transport = 14 + 20 + 8;
    for (std::size_t kept = 0; kept < 12 + 16; ++kept) {
        INFO("transport bytes kept: " << kept);
        const FrameBytes frame = made({.opcode = 0x0C, .damage = {.truncate = kept}});
        REQUIRE(frame.size() <= whole.size());
        REQUIRE(frame.size() >= transport);
        const Dissection d = taken_apart(frame);
        CHECK(d.malformed);
        CHECK_FALSE(d.cut);
        REQUIRE_FALSE(d.findings.empty());
        CHECK(d.findings.all()[0].kind == FindingKind::HeaderTooShort);
        check_layers(d);
    }
}

TEST_CASE("decode: lengths that contradict each other are found, and nothing is read beyond",
          "[decode]") {
    struct Row {
        wire::Field field;
        std::int64_t change;
        FindingKind kind;
    };
    for (const Row& row : {Row{wire::Field::UdpLength, 4, FindingKind::UdpLength},
                           Row{wire::Field::UdpLength, -4, FindingKind::UdpLength},
                           Row{wire::Field::IpLength, 100, FindingKind::IpLength}}) {
        FrameBytes frame = made({.opcode = 0x04, .payload = payload(64)});
        const std::size_t at = row.field == wire::Field::UdpLength ? 14 + 20 + 4 : 14 + 2;
        const auto value = static_cast<std::int64_t>(wire::load_u16(frame, at)) + row.change;
        wire::store_be<2>(frame, at, static_cast<std::uint64_t>(value));
        const auto ip = wire::MutableBytes(frame).subspan(14, 20);
        wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
        const Dissection d = taken_apart(frame);
        REQUIRE_FALSE(d.findings.empty());
        CHECK(d.findings.all()[0].kind == row.kind);
        check_layers(d);
        // Where the ICRC is, nobody can say: it is not called wrong.
        CHECK(d.icrc.status == IcrcStatus::Unchecked);
        CHECK(d.icrc.reason == IcrcReason::Lengths);
        for (const Finding& finding : d.findings.all())
            CHECK(finding.kind != FindingKind::BadIcrc);
    }
}

TEST_CASE("decode: an ICRC that is right by the UDP length is right, though the IP length differs",
          "[decode]") {
    FrameBytes frame = made({.opcode = 0x04, .payload = payload(64)});
    const auto ip = wire::MutableBytes(frame).subspan(14, 20);
    wire::store_be<2>(ip, 2, wire::load_u16(ip, 2) + 8U);
    wire::store_be<2>(ip, 10, 0);
    wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
    const auto covered = wire::Bytes(frame).subspan(14, frame.size() - 14 - 4);
    wire::store_icrc(wire::MutableBytes(frame).last(4), wire::icrc(covered));
    frame.resize(frame.size() + 8);
    const Dissection d = taken_apart(frame);
    CHECK(kinds_of(d) == std::vector{FindingKind::UdpLength});
    CHECK(d.icrc.status == IcrcStatus::Good);
}

TEST_CASE("decode: the first fragment of a packet is no cut and has no checkable ICRC",
          "[decode]") {
    FrameBytes frame = made({.opcode = 0x04, .payload = payload(64)});
    const auto ip = wire::MutableBytes(frame).subspan(14, 20);
    wire::store_be<2>(ip, 2, 20 + 8 + 12 + 20);
    wire::store_be<2>(ip, 6, 0x2000);
    wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
    frame.resize(14 + 20 + 8 + 12 + 20);
    const Dissection d = taken_apart(frame);
    CHECK(d.roce());
    CHECK(d.fragment);
    CHECK_FALSE(d.cut);
    CHECK(d.icrc.reason == IcrcReason::Fragment);
    CHECK(kinds_of(d) == std::vector{FindingKind::IpFragment});
}
