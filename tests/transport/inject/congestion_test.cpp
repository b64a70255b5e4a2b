// Congestion that the bump plays, and what it sees of the devices' answers, in virtual time.
#include <catch2/catch.hpp>

#include "dissector/wire/packet.hpp"
#include "transport/fault/generated_frames.hpp"
#include "transport/inject/report.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

Frame frame(std::string_view opcode, std::uint32_t psn, std::uint8_t ecn, std::uint8_t dscp = 24) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name(opcode);
    const wire::OpcodeInfo& info = wire::opcode_info(packet.bth.opcode);
    const bool back = info.response() || info.operation == wire::Operation::Cnp;
    packet.bth.dest_qp = wire::Qpn{back ? 0x21U : 0x11U};
    packet.bth.psn = wire::Psn(psn);
    packet.headers = info.headers;
    packet.aeth.syndrome = wire::Syndrome::ack(31);
    Frame headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const Frame payload(back ? 0 : 1'000, std::byte{7});
    wire::Envelope envelope{.source = wire::IpAddress::from_v4(0x0A000001),
                            .destination = wire::IpAddress::from_v4(0x0A000002),
                            .dscp = dscp,
                            .ecn = ecn};
    if (back) std::swap(envelope.source, envelope.destination);
    Frame whole(wire::kMaxFrameOverhead + headers.size() + payload.size());
    whole.resize(wire::write_frame({}, envelope, 7, headers, payload, whole));
    return whole;
}

} // namespace

TEST_CASE("congestion: options are read strictly", "[inject]") {
    const auto red = parse_red("p=0.2,from=b,rate=2.5Gbit,max=256KiB,min=32KiB");
    REQUIRE(red);
    CHECK(red->from == End::B);
    CHECK(red->rate == 2.5e9);
    CHECK(red->min == 32'768);
    CHECK(red->max == 262'144);
    for (const auto* wrong :
         {"", "from=a", "from=c,rate=1Gbit,min=1,max=2,p=0", "from=a,rate=1,min=1,max=2,p=0",
          "from=a,rate=1Gbit,min=2,max=2,p=0", "from=a,rate=1Gbit,min=1,max=2,p=1.1",
          "from=a,rate=0Gbit,min=1,max=2,p=0", "from=a,rate=1Gbit,min=1,max=2,p=0,p=0",
          "from=a,rate=1Gbit,min=1,max=2,q=0", "from=a,rate=nanGbit,min=1,max=2,p=0"}) {
        INFO(wrong);
        CHECK_FALSE(parse_red(wrong));
    }
    const auto storm = parse_storm("to=a,class=3,quanta=65535,every=1ms,after=0s,for=5s");
    REQUIRE(storm);
    CHECK(storm->pause.priority == 3);
    CHECK(storm->every == 1ms);
    CHECK(storm->lasts == 5s);
    for (const auto* wrong : {"to=a,class=8,quanta=1,every=1ms,after=0s,for=5s",
                              "to=a,class=3,quanta=65536,every=1ms,after=0s,for=5s",
                              "to=a,class=3,quanta=1,every=1us,after=0s,for=5s",
                              "to=a,class=3,quanta=1,every=1ms,after=0s,for=61s",
                              "to=a,class=3,quanta=1,every=1ms,for=5s"}) {
        INFO(wrong);
        CHECK_FALSE(parse_storm(wrong));
    }
}

TEST_CASE("congestion: a virtual queue marks by its length", "[inject]") {
    // 8 Mbit/s: 1,000 bytes a millisecond.
    const RedOptions red{.rate = 8e6, .min = 10'000, .max = 20'000, .probability = 0.5};
    VirtualQueue calm(red, 1);
    for (int i = 0; i < 1'000; ++i)
        CHECK_FALSE(calm.marks(1'000, wire::Instant(i * 1ms)));
    CHECK(calm.longest() == 1'000);
    VirtualQueue full(red, 1);
    int marked = 0;
    for (int i = 1; i <= 10; ++i)
        marked += full.marks(1'000, wire::Instant(0ms)) ? 1 : 0;
    CHECK(marked == 0);
    for (int i = 11; i <= 20; ++i)
        marked += full.marks(1'000, wire::Instant(0ms)) ? 1 : 0;
    CHECK(marked > 0);
    CHECK(marked < 10);
    CHECK(full.marks(1'000, wire::Instant(0ms))); // above max
    CHECK_FALSE(full.marks(1'000, wire::Instant(30ms)));
    // Half way between, with a probability of 1/4.
    VirtualQueue half({.rate = 8e6, .min = 10'000, .max = 20'000, .probability = 0.5}, 7);
    half.marks(15'000, wire::Instant(0ms));
    marked = 0;
    for (int i = 1; i <= 4'000; ++i)
        marked += half.marks(1'000, wire::Instant(i * 1ms)) ? 1 : 0;
    CHECK(marked == Approx(1'000).margin(120));
}

TEST_CASE("congestion: the bump marks capable packets, and counts CNPs and the reaction",
          "[inject]") {
    Bump bump(1, {});
    bump.add_red({.from = End::A, .rate = 8e6, .min = 3'000, .max = 4'000, .probability = 1});
    CHECK(bump.concerns_all());
    std::vector<Leaving> out;
    const auto pass = [&](wire::Duration at, End from, const Frame& bytes) {
        out.clear();
        bump.handle(from, bytes, wire::Instant(at), out);
        REQUIRE(out.size() == 1);
        const auto left = wire::decode_frame(out.front().bytes);
        REQUIRE(left);
        CHECK(wire::unseal(*left).has_value());
        const std::uint8_t ecn = left->envelope().ecn;
        bump.sent();
        return ecn;
    };
    // A connection, then a burst; then a packet without ECT.
    CHECK(pass(0ms, End::A, frame("SEND_ONLY", 0, 2)) == 2);
    CHECK(pass(1ms, End::B, frame("ACKNOWLEDGE", 0, 2)) == 2);
    std::size_t marked = 0;
    for (std::uint32_t i = 1; i <= 10; ++i)
        marked += pass(10ms, End::A, frame("SEND_ONLY", i, 2)) == 3 ? 1 : 0;
    CHECK(marked >= 6);
    CHECK(pass(10ms, End::A, frame("SEND_ONLY", 11, 0)) == 0);
    CHECK(bump.fabric().signals(End::A).marked == marked);
    CHECK(bump.fabric().signals(End::A).not_capable == 1);
    // A packet each 100 us; after the CNP each 200 us.
    std::uint32_t psn = 12;
    for (int i = 0; i < 100; ++i)
        pass(100ms + i * 100us, End::A, frame("SEND_ONLY", psn++, 2));
    pass(110ms, End::B, frame("CNP", 0, 2));
    pass(110ms, End::B, frame("CNP", 0, 2)); // of the same episode
    for (int i = 1; i < 100; ++i)
        pass(110ms + i * 200us, End::A, frame("SEND_ONLY", psn++, 2));
    CHECK(bump.fabric().signals(End::B).cnps == 2);
    REQUIRE(bump.fabric().reactions(End::B).size() == 1);
    CHECK(bump.fabric().reactions(End::B).front() == Approx(0.5).margin(0.03));
    CHECK(fabric_text(bump.fabric())
              .find("from B: 0 packets marked CE, 2 CNPs; in the 5 ms after "
                    "a CNP the sender's rate is 0.") != std::string::npos);
}

TEST_CASE("congestion: pause time is that of the quanta, and a storm ends", "[inject]") {
    Bump bump(1, {});
    bump.set_link_speed(1e9); // a quantum is 512 ns
    bump.set_storm({.to = End::A,
                    .pause = {.priority = 3, .quanta = 1'000},
                    .every = 1ms,
                    .after = 10ms,
                    .lasts = 5ms});
    CHECK_FALSE(bump.next_deadline());
    std::vector<Leaving> out;
    bump.handle(End::A, frame("SEND_ONLY", 0, 2), wire::Instant(1s), out);
    bump.sent();
    std::size_t sent = 0;
    while (const auto next = bump.next_deadline()) {
        CHECK(*next == wire::Instant(1s) + 10ms + sent * 1ms);
        out.clear();
        bump.advance(*next, out);
        REQUIRE(out.size() == 1);
        CHECK(out.front().to == End::A);
        CHECK(wire::load_u16(out.front().bytes, 12) == 0x8808);
        CHECK(wire::load_u16(out.front().bytes, 16) == 1U << 3);
        bump.sent();
        ++sent;
        // In the pause: a packet of class 3, and one of class 0.
        out.clear();
        bump.handle(End::A, frame("SEND_ONLY", 1, 2), *next + 200us, out);
        bump.handle(End::A, frame("SEND_ONLY", 1, 2, 0), *next + 200us, out);
        bump.handle(End::A, frame("SEND_ONLY", 1, 2), *next + 600us, out); // after it
        bump.sent();
    }
    CHECK(sent == 5);
    const Fabric::Pauses& pauses = bump.fabric().signals(End::B).pauses[3];
    CHECK(pauses.frames == 5);
    CHECK(pauses.time == 5 * 512us);
    CHECK(pauses.packets == 5);
    CHECK(pauses.other_packets == 5);
    // A device's own frame; one that ends it early; two that overlap.
    const auto pfc = [](std::uint16_t quanta) {
        wire::Frame model;
        return fault::pause_frame({.priority = 5, .quanta = quanta}, model);
    };
    out.clear();
    bump.handle(End::A, pfc(1'000), wire::Instant(2s), out);
    bump.handle(End::A, pfc(0), wire::Instant(2s) + 100us, out);
    bump.handle(End::A, pfc(1'000), wire::Instant(3s), out);
    bump.handle(End::A, pfc(1'000), wire::Instant(3s) + 500us, out);
    bump.handle(End::A, Frame(14, std::byte{0x88}), wire::Instant(3s), out);
    CHECK(out.size() == 5);
    CHECK(bump.fabric().signals(End::A).pauses[5].frames == 4);
    CHECK(bump.fabric().signals(End::A).pauses[5].time == 100us + 500us + 512us);
    CHECK(bump.fabric().signals(End::A).pauses[5].packets == 0);
}

} // namespace veriroce::inject::tests
