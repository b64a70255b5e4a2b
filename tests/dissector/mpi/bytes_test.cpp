// What processes send each other comes out as it went in: the packets and the facts of the
// committed captures.
#include <catch2/catch.hpp>

#include <deque>
#include <filesystem>

#include "dissector/analyze/report.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "dissector/mpi/facts_bytes.hpp"
#include "dissector/mpi/packet_bytes.hpp"

namespace veriroce::mpi {
namespace {

// Of all packets of a committed capture.
void for_each_packet(const std::filesystem::path& path, const auto& what) {
    auto reader = capture::Reader::open(path.string());
    REQUIRE(reader.has_value());
    capture::DecodedFrames frames(std::move(*reader), {.decode = {}, .threads = 1});
    for (auto some = frames.next(); !some.empty(); some = frames.next()) {
        std::vector<flow::FramePacket> packets(some.size());
        flow::read_packets(some, packets);
        for (const flow::FramePacket& one : packets) {
            if (one.there) what(one.packet);
        }
    }
}

std::vector<std::filesystem::path> captures() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(VERIROCE_SOURCE_DIR "/pcaps")) {
        if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
    }
    return paths;
}

void check_same(const flow::Packet& one, const flow::Packet& other) {
    CHECK(one.number == other.number);
    CHECK(one.time == other.time);
    CHECK(one.source == other.source);
    CHECK(one.destination == other.destination);
    CHECK(one.source_port == other.source_port);
    CHECK(one.ecn == other.ecn);
    CHECK(one.identification == other.identification);
    CHECK(one.body_bytes == other.body_bytes);
    CHECK(one.integrity == other.integrity);
    CHECK(one.digest == other.digest);
    CHECK(one.transport.headers == other.transport.headers);
    std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
    std::array<std::byte, wire::kMaxTransportHeaderBytes> others{};
    CHECK(wire::encode_headers(one.transport, headers) ==
          wire::encode_headers(other.transport, others));
    CHECK(headers == others);
}

TEST_CASE("bytes: packets") {
    std::size_t count = 0;
    std::size_t bodies = 0;
    for (const auto& path : captures()) {
        Letter letter;
        std::vector<flow::Packet> packets;
        for_each_packet(path, [&](const flow::Packet& packet) {
            put_packet(letter, packet);
            packets.push_back(packet);
            packets.back().transport.body = {};
        });
        Opened opened(std::as_const(letter).bytes());
        for (const flow::Packet& packet : packets) {
            CAPTURE(path.string(), packet.number);
            Opened ahead = opened;
            CHECK(take_bytes(ahead).number == packet.number);
            flow::Packet taken;
            take_packet(opened, taken);
            check_same(packet, taken);
            ++count;
            const bool datagram = packet.info().service == wire::Service::Ud &&
                                  packet.transport.bth.dest_qp == wire::Qpn{1};
            CHECK(taken.transport.body.empty() != datagram);
            bodies += datagram ? 1 : 0;
        }
        CHECK(opened.empty());
    }
    CHECK(count > 1000);
    CHECK(bodies > 5);
}

TEST_CASE("bytes: a packet gets its number on the way") {
    Letter letter;
    for_each_packet(captures().front(), [&](const flow::Packet& packet) {
        if (packet.number == 1) put_packet(letter, packet);
    });
    REQUIRE_FALSE(std::as_const(letter).bytes().empty());
    set_number(letter.bytes(), 0x123456789ABCDEF0);
    flow::Packet taken;
    Opened opened(std::as_const(letter).bytes());
    take_packet(opened, taken);
    CHECK(taken.number == 0x123456789ABCDEF0);
}

TEST_CASE("bytes: conversations and totals") {
    for (const auto& path : captures()) {
        CAPTURE(path.string());
        analyze::Analyzer analyzer;
        for_each_packet(path, [&](const flow::Packet& packet) { analyzer.observe(packet); });
        analyzer.finish();
        std::string expected;
        analyze::append_json(expected, analyze::report_of(analyzer, {}));

        analyze::Totals totals = analyzer.totals();
        Letter letter;
        put_totals(letter, totals);
        const auto conversations = analyzer.conversations();
        for (analyze::Conversation* const one : conversations)
            put_conversation(letter, *one);
        Opened opened(std::as_const(letter).bytes());
        const analyze::Totals taken = take_totals(opened);
        std::deque<analyze::Conversation> copies;
        std::vector<const analyze::Conversation*> all;
        for (std::size_t i = 0; i < conversations.size(); ++i) {
            all.push_back(&copies.emplace_back());
            take_conversation(opened, copies.back());
        }
        CHECK(opened.empty());
        std::string got;
        analyze::append_json(got, analyze::report_of(all, taken, {}));
        CHECK(got == expected);
    }
}

} // namespace
} // namespace veriroce::mpi
