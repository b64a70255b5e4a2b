// The packets around faults: which are kept, and which faults share a ladder.
#include <catch2/catch.hpp>

#include "conformance/script/script.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/inject/excerpts.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> frame(std::string_view opcode, std::uint32_t psn) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name(opcode);
    const bool response = wire::opcode_info(packet.bth.opcode).response();
    packet.bth.dest_qp = wire::Qpn{response ? 0x21U : 0x11U};
    packet.bth.psn = wire::Psn(psn);
    packet.headers = wire::opcode_info(packet.bth.opcode).headers;
    packet.aeth.syndrome = wire::Syndrome::ack(31);
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const std::vector<std::byte> payload(response ? 0 : 1'000, std::byte{7});
    wire::Envelope envelope{.source = wire::IpAddress::from_v4(0x0A000001),
                            .destination = wire::IpAddress::from_v4(0x0A000002)};
    if (response) std::swap(envelope.source, envelope.destination);
    std::vector<std::byte> whole(wire::kMaxFrameOverhead + headers.size() + payload.size());
    whole.resize(wire::write_frame({}, envelope, 7, headers, payload, whole));
    return whole;
}

struct Observed {
    explicit Observed(std::string_view plan)
        : bump(1, script::load_injection("x.faults", plan)->rules), excerpts(bump) {}
    void at(wire::Duration time, End from, const std::vector<std::byte>& bytes) {
        const wire::Instant now(time);
        out.clear();
        bump.advance(now, out);
        for (const Leaving& one : out)
            excerpts.went(one.to, one.bytes, true, now);
        bump.sent();
        out.clear();
        const Handled handled = bump.handle(from, bytes, now, out);
        excerpts.came(from, bytes, handled, now);
        for (const Leaving& one : out)
            excerpts.went(one.to, one.bytes, one.bytes.data() != bytes.data(), now);
        bump.sent();
    }
    // A request and its ACK.
    void both(std::uint32_t psn, wire::Duration time) {
        at(time, End::A, frame("SEND_ONLY", psn));
        at(time + 1us, End::B, frame("ACKNOWLEDGE", psn));
    }
    Bump bump;
    Excerpts excerpts;
    std::vector<Leaving> out;
};

} // namespace

TEST_CASE("excerpts: a fault has its packets before, until the recovery, and after", "[inject]") {
    Observed line("drop when from=a psn=20 pass=1\ndelay 2ms when from=a psn=60");
    for (std::uint32_t psn = 0; psn < 20; ++psn)
        line.both(psn, psn * 1ms);
    line.at(20ms, End::A, frame("SEND_ONLY", 20));
    line.at(30ms, End::A, frame("SEND_ONLY", 20)); // again
    line.at(31ms, End::B, frame("ACKNOWLEDGE", 20));
    for (std::uint32_t psn = 21; psn < 60; ++psn)
        line.both(psn, psn * 2ms);
    line.at(120ms, End::A, frame("SEND_ONLY", 60));
    line.at(123ms, End::B, frame("ACKNOWLEDGE", 60));
    line.excerpts.finish();

    REQUIRE(line.excerpts.all().size() == 2);
    const Excerpt& lost = line.excerpts.all().front();
    CHECK(lost.connection == 1);
    CHECK(lost.events == std::vector<std::size_t>{0});
    CHECK(lost.whole);
    REQUIRE(lost.packets.size() == Excerpts::kBefore + 2 + Excerpts::kAfter);
    const ExcerptPacket& hit = lost.packets[Excerpts::kBefore];
    CHECK(hit.at == wire::Instant(20ms));
    CHECK(hit.lost);
    CHECK(hit.rules == std::vector<std::size_t>{0});
    CHECK(hit.psn == 20);
    CHECK(hit.length > 1'000);
    CHECK(hit.bytes().size() == ExcerptPacket::kHeadBytes);
    CHECK(lost.packets[Excerpts::kBefore + 1].pass == 2);
    CHECK(lost.packets[Excerpts::kBefore + 2].from == End::B);
    // A delayed packet is there twice: where it came, and where it left.
    const Excerpt& late = line.excerpts.all().back();
    CHECK_FALSE(late.whole); // the run ended before
    std::vector<std::pair<wire::Instant, std::int64_t>> of_it;
    for (const ExcerptPacket& one : late.packets) {
        if (one.psn == 60 && one.from == End::A) of_it.emplace_back(one.at, one.pass);
    }
    CHECK(of_it == std::vector<std::pair<wire::Instant, std::int64_t>>{{wire::Instant(120ms), 1},
                                                                       {wire::Instant(123ms), 0}});
}

TEST_CASE("excerpts: a long recovery keeps its end, and close faults share a ladder", "[inject]") {
    Observed line("drop when from=a psn=0 pass=1\ndrop when from=a psn=3 pass=1");
    for (std::uint32_t psn = 0; psn < 500; ++psn)
        line.at(psn * 1us, End::A, frame("SEND_ONLY", psn));
    line.at(1ms, End::A, frame("SEND_ONLY", 0));
    line.at(2ms, End::A, frame("SEND_ONLY", 3));
    line.at(3ms, End::B, frame("ACKNOWLEDGE", 499));
    line.excerpts.finish();
    REQUIRE(line.excerpts.all().size() == 1);
    const Excerpt& one = line.excerpts.all().front();
    CHECK(one.events == std::vector<std::size_t>{0, 1});
    CHECK(one.packets.size() == Excerpts::kFollowing + Excerpts::kLast);
    CHECK(one.packets[Excerpts::kFollowing].skipped ==
          503 - Excerpts::kFollowing - Excerpts::kLast);
    CHECK(one.packets.back().at == wire::Instant(3ms));
}

TEST_CASE("excerpts: their number is bounded", "[inject]") {
    Observed line("drop when from=a every=100 pass=1");
    for (std::uint32_t psn = 0; psn < 15'000; ++psn) {
        line.at(psn * 10us, End::A, frame("SEND_ONLY", psn));
        if ((psn + 1) % 100 == 0) line.at(psn * 10us + 5us, End::A, frame("SEND_ONLY", psn));
        line.at(psn * 10us + 6us, End::B, frame("ACKNOWLEDGE", psn));
    }
    CHECK(line.bump.recovery().events().size() == 150);
    CHECK(line.excerpts.all().size() == Excerpts::kMaxExcerpts);
    for (const Excerpt& one : line.excerpts.all())
        CHECK(one.whole);
}

} // namespace veriroce::inject::tests
