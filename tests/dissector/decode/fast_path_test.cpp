// A packet on the fast path and the same on the general walk are the same.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "dissector/capture/facts.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/decode/fast_path.hpp"
#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/corpus.hpp"
#include "tests/part_of.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using veriroce::test::kSweepStep;

namespace {

bool same(const LayerSpan& a, const LayerSpan& b) {
    return a.kind == b.kind && a.offset == b.offset && a.length == b.length;
}

bool same(const Finding& a, const Finding& b) {
    return a.kind == b.kind && a.offset == b.offset && a.length == b.length && a.found == b.found &&
           a.expected == b.expected;
}

bool same(const Icrc& a, const Icrc& b) {
    return a.status == b.status && a.reason == b.reason && a.found == b.found &&
           a.expected == b.expected;
}

// The headers that were read, as bytes.
std::array<std::byte, wire::kMaxTransportHeaderBytes> headers_of(const Dissection& d) {
    std::array<std::byte, wire::kMaxTransportHeaderBytes> bytes{};
    wire::encode_headers(d.packet, bytes);
    return bytes;
}

// What differs; empty if nothing does. Plain comparisons: there are millions of them.
std::string_view difference(const Dissection& a, const Dissection& b) {
    const auto alike = [](const auto& x, const auto& y) { return same(x, y); };
    if (!std::ranges::equal(a.layers, b.layers, alike)) return "layers";
    for (std::size_t kind = 0; kind < kLayerKinds; ++kind) {
        const auto one = static_cast<LayerKind>(kind);
        if (a.layers.has(one) != b.layers.has(one)) return "which layers there are";
    }
    if (!std::ranges::equal(a.findings.all(), b.findings.all(), alike)) return "findings";
    if (a.findings.dropped() != b.findings.dropped()) return "findings dropped";
    if (!same(a.network, b.network)) return "network";
    if (a.protocol != b.protocol) return "protocol";
    if (a.cut != b.cut || a.malformed != b.malformed) return "cut or malformed";
    if (a.fragment != b.fragment || a.upper != b.upper) return "fragment or upper";
    if (!same(a.icrc, b.icrc)) return "ICRC";
    if (a.transport.data() != b.transport.data()) return "where the transport packet is";
    if (a.transport.size() != b.transport.size()) return "the transport packet's bytes";
    if (a.has_bth != b.has_bth || !(a.packet.bth == b.packet.bth)) return "BTH";
    if (!(a.packet.headers == b.packet.headers)) return "which headers were read";
    if (a.has_bth && headers_of(a) != headers_of(b)) return "the headers";
    if (a.has_bth && a.packet.body.data() != b.packet.body.data()) return "where the body is";
    if (a.has_bth && a.packet.body.size() != b.packet.body.size()) return "the body's bytes";
    return a.body_bytes == b.body_bytes ? "" : "body";
}

struct Both {
    Dissection fast;
    Dissection walked;
    std::size_t compared = 0;
    std::size_t recognised = 0;

    void compare(const FrameFacts& frame, const std::string& what) {
        dissect_frame(frame, {}, fast);
        dissect_frame(frame, {.also_roce_ports = {}, .fast_path = false}, walked);
        const std::string_view wrong = difference(fast, walked);
        if (!wrong.empty()) FAIL_CHECK(what << ": " << wrong);
        ++compared;
        if (take_fast_path(fast)) ++recognised;
    }
};

} // namespace

TEST_CASE("fast path: every committed capture is the same recognised and walked through",
          "[decode]") {
    Both both;
    const auto folder = std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        auto reader = capture::Reader::open(entry.path().string());
        if (!reader) continue; // what is said of the captures
        capture::Record record;
        for (auto more = reader->next(record); more && *more; more = reader->next(record)) {
            FrameFacts frame;
            capture::tell(record, both.compared + 1, frame);
            both.compare(frame, entry.path().filename().string());
        }
    }
    CHECK(both.compared > 1'000);
    CHECK(both.recognised > both.compared / 2);
}

TEST_CASE("fast path: every made frame is the same, cut, lengthened, and with any byte changed",
          "[decode]") {
    constexpr std::size_t kHeaders = 100;
    Both both;
    for (const auto& made : corpus::corpora()) {
        for (const auto& one : made.frames) {
            const std::string what = made.name + ", " + one.carrier;
            std::vector<std::byte> bytes = one.bytes;
            FrameFacts frame;
            frame.link_code = made.link_code;
            const auto compare = [&](std::size_t captured, std::size_t length) {
                frame.bytes = wire::Bytes(bytes).first(captured);
                frame.original_length = static_cast<std::uint32_t>(length);
                both.compare(frame, what);
            };
            compare(bytes.size(), bytes.size());
            compare(bytes.size(), 0); // as some recorders leave it
            for (std::size_t size = 0; size < bytes.size(); size += kSweepStep) {
                compare(size, bytes.size());
                compare(size, size);
            }
            for (std::size_t at = 0; at < std::min(kHeaders, bytes.size()); at += kSweepStep) {
                for (const unsigned change : {0x01U, 0x02U, 0x10U, 0x80U, 0xFFU}) {
                    const std::byte before = bytes[at];
                    bytes[at] ^= static_cast<std::byte>(change);
                    compare(bytes.size(), bytes.size());
                    bytes[at] = before;
                }
            }
            bytes.resize(bytes.size() + 5); // padding after the packet
            compare(bytes.size(), bytes.size());
        }
    }
    CHECK(both.recognised > (veriroce::test::kSanitized ? 5'000 : 10'000));
    CHECK(both.recognised < both.compared);
}

namespace {

// A frame of the corpus that is recognised, with an IPv4 header of 20 bytes after Ethernet.
std::vector<std::byte> plain_ipv4() {
    for (const auto& made : corpus::corpora()) {
        for (const auto& one : made.frames) {
            Dissection d;
            d.frame.bytes = one.bytes;
            d.frame.original_length = static_cast<std::uint32_t>(one.bytes.size());
            d.frame.link_code = made.link_code;
            const bool plain = d.frame.link_code == 1 && one.bytes[12] == std::byte{0x08};
            if (plain && take_fast_path(d)) return one.bytes;
        }
    }
    return {};
}

} // namespace

TEST_CASE("fast path: each IPv4 checksum, right or wrong, is judged alike", "[decode]") {
    std::vector<std::byte> bytes = plain_ipv4();
    REQUIRE(!bytes.empty());
    Both both;
    FrameFacts frame;
    frame.bytes = bytes;
    frame.original_length = static_cast<std::uint32_t>(bytes.size());
    // The identification makes each sum appear; beside the right checksum there is the other zero.
    for (std::uint32_t id = 0; id <= 0xFFFF; ++id) {
        wire::store_be<2>(bytes, 18, id);
        const std::uint16_t right = wire::ipv4_checksum(wire::Bytes(bytes).subspan(14, 20));
        for (const std::uint32_t checksum : {std::uint32_t{right}, 0U, 0xFFFFU, right ^ 0x100U}) {
            wire::store_be<2>(bytes, 24, checksum);
            both.compare(frame, "checksum");
        }
    }
    CHECK(both.recognised >= 0xFFFF);
}
