// CNPs out and in, and the rate limiter.
#include <algorithm>

#include "tests/transport/engine/requests.hpp"
#include "transport/engine/rate_limiter.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

wire::Envelope envelope(std::uint8_t ecn) {
    return {.source = peer_address, .destination = our_address, .ecn = ecn};
}

wire::Packet marked_write(const Lab& lab, int n) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    packet.reth.dma_length = 4;
    return packet;
}

void receive_marked(Lab& lab, int n, std::uint8_t ecn = wire::kCongestionExperienced) {
    lab.receive(marked_write(lab, n), pattern(4), envelope(ecn));
}

std::size_t cnps(Lab& lab) {
    const auto all = lab.drain();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [](const Sent& sent) { return sent.packet.bth.opcode == wire::kCnpOpcode; }));
}

wire::Packet cnp() {
    wire::Packet packet;
    packet.bth = {.opcode = wire::kCnpOpcode, .becn = true, .dest_qp = our_qpn};
    return packet;
}

const std::vector<std::byte> zeros(16);

} // namespace

TEST_CASE("notification: a marked packet is answered by a CNP", "[engine][CNP-01][CNP-02]") {
    Lab lab;
    receive_marked(lab, 0);
    const auto all = lab.drain();
    REQUIRE(all.size() == 2);
    const Sent& sent = all[0];
    const wire::Packet packet = wire::decode_packet(sent.bytes).value();
    CHECK(packet.bth == wire::Bth{.opcode = 0x81, .becn = true, .dest_qp = peer_qpn});
    CHECK(std::ranges::equal(packet.body, zeros));
    CHECK(sent.envelope.source == our_address);
    CHECK(sent.envelope.destination == peer_address);
    CHECK(sent.envelope.destination_port == wire::kRocePort);
    CHECK(sent.envelope.dscp == 48);
    CHECK(sent.envelope.ecn == 0);
    CHECK(all[1].name() == "ACKNOWLEDGE"); // the write was still executed
    CHECK(lab.engine.counters().ecn_marked == 1);
    CHECK(lab.engine.counters().cnp_sent == 1);
}

TEST_CASE("notification: other ECN values draw no CNP", "[engine][CNP-03]") {
    Lab lab;
    for (int n = 0; n < 3; ++n)
        receive_marked(lab, n, static_cast<std::uint8_t>(n));
    CHECK(cnps(lab) == 0);
    CHECK(lab.engine.counters().ecn_marked == 0);
}

TEST_CASE("notification: a CNP carries the P_Key of the marked packet", "[engine][CNP-02]") {
    Lab lab;
    wire::Packet packet = marked_write(lab, 0);
    packet.bth.pkey = {0x7FFF};
    lab.receive(packet, pattern(4), envelope(3));
    CHECK(lab.drain()[0].packet.bth.pkey == wire::Pkey{0x7FFF});
}

TEST_CASE("notification: the interval is kept for each QP", "[engine][CNP-04]") {
    Lab lab;
    receive_marked(lab, 0);
    receive_marked(lab, 1);
    CHECK(cnps(lab) == 1);
    lab.pass(50us - 1ns);
    receive_marked(lab, 2);
    CHECK(cnps(lab) == 0);
    lab.pass(1ns);
    receive_marked(lab, 3);
    CHECK(cnps(lab) == 1);
    CHECK(lab.engine.counters().ecn_marked == 4);
    CHECK(lab.engine.counters().cnp_sent == 2);
}

TEST_CASE("notification: the interval may hold for an address or the port", "[engine][CNP-04]") {
    struct Case {
        CnpScope scope;
        std::size_t same_address;
        std::size_t other_address;
    };
    const auto expected = GENERATE(Case{CnpScope::Qp, 2, 2}, Case{CnpScope::Destination, 1, 2},
                                   Case{CnpScope::Port, 1, 1});
    const auto cnps_of_two_qps = [&](const wire::IpAddress& second) {
        LabOptions options;
        options.config.behaviour.congestion.notification.scope = expected.scope;
        Lab lab(options);
        const QpId other = lab.connect_another(second);
        receive_marked(lab, 0);
        wire::Packet packet = marked_write(lab, 0);
        packet.bth.dest_qp = lab.engine.query_qp(other).value().qpn;
        wire::Envelope from = envelope(3);
        from.source = second;
        lab.receive(packet, pattern(4), from);
        return cnps(lab);
    };
    CHECK(cnps_of_two_qps(peer_address) == expected.same_address);
    CHECK(cnps_of_two_qps(wire::IpAddress::from_v4(0x0A4D0003)) == expected.other_address);
}

TEST_CASE("notification: off by option", "[engine][CNP-01]") {
    LabOptions options;
    options.config.behaviour.congestion.notification.enabled = false;
    Lab lab(options);
    receive_marked(lab, 0);
    CHECK(lab.one().name() == "ACKNOWLEDGE");
    CHECK(lab.engine.counters().ecn_marked == 1);
}

TEST_CASE("notification: DSCP and ECN bits of a CNP are options", "[engine][CNP-06]") {
    LabOptions options;
    options.config.behaviour.congestion.notification.dscp = 26;
    options.config.behaviour.congestion.notification.ecn = 1;
    Lab lab(options);
    receive_marked(lab, 0);
    const auto all = lab.drain();
    CHECK(all[0].envelope.dscp == 26);
    CHECK(all[0].envelope.ecn == 1);
}

TEST_CASE("notification: a mark on a response counts unless the option says no",
          "[engine][CNP-07]") {
    const bool counts = GENERATE(true, false);
    LabOptions options;
    options.config.behaviour.congestion.notification.for_responses = counts;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 1), {}, envelope(3));
    CHECK(cnps(lab) == (counts ? 1 : 0));
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("notification: silence for what is dropped, and for a marked CNP",
          "[engine][CNP-08][CNP-10][N-35]") {
    Lab lab;
    wire::Packet packet = marked_write(lab, 0);
    packet.bth.pkey = {0x1234};
    lab.receive(packet, pattern(4), envelope(3));
    wire::Envelope stranger = envelope(3);
    stranger.source = wire::IpAddress::from_v4(0x01020304);
    lab.receive(marked_write(lab, 0), pattern(4), stranger);
    lab.receive(cnp(), zeros, envelope(3));
    CHECK(lab.drain().empty());
    const auto state = GENERATE(QpState::Reset, QpState::Init);
    LabOptions options;
    options.state = state;
    Lab early(options);
    receive_marked(early, 0);
    CHECK(early.drain().empty());
}

TEST_CASE("notification: what waits is bounded", "[engine][CNP-04]") {
    LabOptions options;
    options.config.behaviour.congestion.notification.interval = wire::Duration{0};
    Lab lab(options);
    for (int n = 0; n < 3000; ++n)
        receive_marked(lab, n);
    CHECK(cnps(lab) == 1024);
}

TEST_CASE("reaction: a CNP is obeyed in every state that sends, and has no other effect",
          "[engine][CNP-10][CNP-12]") {
    struct Case {
        QpState state;
        std::uint64_t handled;
    };
    const auto expected =
        GENERATE(Case{QpState::Reset, 0}, Case{QpState::Init, 0}, Case{QpState::Rtr, 1},
                 Case{QpState::Rts, 1}, Case{QpState::Sqd, 1}, Case{QpState::Err, 0});
    LabOptions options;
    options.state = expected.state;
    Lab lab(options);
    lab.receive(cnp(), zeros);
    CHECK(lab.drain().empty());
    CHECK(lab.events().empty());
    CHECK(lab.state() == expected.state);
    CHECK(lab.engine.counters().cnp_handled == expected.handled);
}

TEST_CASE("reaction: a CNP from elsewhere is ignored", "[engine][CNP-10]") {
    Lab lab;
    wire::Envelope stranger = envelope(0);
    stranger.source = wire::IpAddress::from_v4(0x01020304);
    lab.receive(cnp(), zeros, stranger);
    CHECK(lab.engine.counters().cnp_handled == 0);
    CHECK(lab.engine.counters().dropped == 1);
}

TEST_CASE("reaction: an odd CNP is obeyed or ignored by option", "[engine][CNP-11]") {
    const auto choice = GENERATE(OddCnp::Obey, OddCnp::Ignore);
    LabOptions options;
    options.config.behaviour.congestion.reaction.odd_cnp = choice;
    Lab lab(options);
    wire::Packet without_becn = cnp();
    without_becn.bth.becn = false;
    lab.receive(without_becn, zeros);
    wire::Packet with_fecn = cnp();
    with_fecn.bth.fecn = true;
    lab.receive(with_fecn, zeros);
    lab.receive(cnp(), pattern(16));
    lab.receive(cnp(), pattern(12));
    CHECK(lab.engine.counters().cnp_handled == (choice == OddCnp::Obey ? 4 : 0));
    lab.receive(cnp(), zeros);
    CHECK(lab.engine.counters().cnp_handled == (choice == OddCnp::Obey ? 5 : 1));
}

namespace {

LabOptions reacting(std::uint64_t line_rate) {
    LabOptions options;
    options.config.behaviour.congestion.reaction.enabled = true;
    options.config.behaviour.congestion.reaction.dcqcn.line_rate = line_rate;
    options.timeout = 0;
    return options;
}

} // namespace

TEST_CASE("reaction: after a CNP requests are paced, and the rate comes back",
          "[engine][CNP-09][CA17-45][CA17-46]") {
    Lab lab(reacting(1'000'000'000));
    post(lab, WrOpcode::RdmaWrite, 16 * 1024);
    lab.receive(cnp(), zeros);
    // Half the rate: a packet of 1024 bytes and its headers takes 2 x 8 ns a byte.
    const Sent first = lab.one();
    CHECK(first.envelope.ecn == 2);
    const auto wire_bytes = static_cast<std::int64_t>(14 + 20 + 8 + first.bytes.size() + 4);
    CHECK(lab.engine.next_timeout() == lab.now + wire::Duration(wire_bytes * 16));
    std::size_t packets = 1;
    const wire::Instant begin = lab.now;
    while (lab.engine.next_timeout()) {
        lab.next_deadline();
        packets += lab.drain().size();
    }
    CHECK(packets == 16);
    const wire::Duration took = lab.now - begin;
    CHECK(took > 15 * wire_bytes * 8ns);  // slower than the line
    CHECK(took < 15 * wire_bytes * 16ns); // and faster than at the start: it recovers
}

TEST_CASE("reaction: READ responses are paced as well, acknowledges are not", "[engine][CNP-09]") {
    Lab lab(reacting(1'000'000'000));
    lab.receive(cnp(), zeros);
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth.dma_length = 4096;
    lab.receive(read);
    CHECK(lab.one().name() == "RDMA_READ_RESPONSE_FIRST");
    std::size_t packets = 1;
    while (lab.engine.next_timeout()) {
        lab.next_deadline();
        packets += lab.drain().size();
    }
    CHECK(packets == 4);
    for (int n = 4; n < 8; ++n)
        lab.receive(marked_write(lab, n), pattern(4));
    CHECK(lab.drain().size() == 4);
}

TEST_CASE("reaction: off by default", "[engine][CNP-09]") {
    Lab lab;
    post(lab, WrOpcode::RdmaWrite, 16 * 1024);
    lab.receive(cnp(), zeros);
    const auto all = lab.drain();
    CHECK(all.size() == 16);
    CHECK(all[0].envelope.ecn == 0);
}

TEST_CASE("reaction: a QP in ERR has no pace timer left", "[engine][CNP-09][STA-07]") {
    Lab lab(reacting(1'000'000'000));
    post(lab, WrOpcode::RdmaWrite, 16 * 1024);
    lab.receive(cnp(), zeros);
    lab.one();
    REQUIRE(lab.engine.next_timeout());
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Err}, lab.now));
    CHECK_FALSE(lab.engine.next_timeout());
}

// --- the limiter by itself

TEST_CASE("rate limiter: nothing is limited before the first CNP", "[engine][CNP-09]") {
    RateLimiter limiter{Dcqcn{}};
    const wire::Instant now{5us};
    limiter.sent(1'000'000, now);
    CHECK(limiter.next_send(now) == now);
    CHECK_FALSE(limiter.limited());
    CHECK(limiter.rate() == 100'000'000'000);
}

TEST_CASE("rate limiter: the first CNP halves the rate, later ones cut by alpha",
          "[engine][CNP-09]") {
    RateLimiter limiter{Dcqcn{}};
    limiter.congested(wire::Instant{});
    CHECK(limiter.rate() == 50'000'000'000);
    limiter.congested(wire::Instant{}); // alpha is 1 still
    CHECK(limiter.rate() == 25'000'000'000);
    // Alpha falls by 1/256 each 55 us; after 100 ms there is next to nothing of it, and the rate
    // is the line's again.
    limiter.next_send(wire::Instant{1s});
    CHECK_FALSE(limiter.limited());
    limiter.congested(wire::Instant{1s});
    CHECK(limiter.rate() > 99'000'000'000);
}

TEST_CASE("rate limiter: fast recovery halves the way to the target", "[engine][CNP-09]") {
    Dcqcn parameters;
    RateLimiter limiter(parameters);
    limiter.congested(wire::Instant{});
    limiter.congested(wire::Instant{}); // target 50, rate 25 Gbit/s
    wire::Instant now{};
    std::uint64_t expected = 25'000'000'000;
    for (int step = 0; step < 5; ++step) {
        now += 55us;
        limiter.next_send(now);
        expected = (expected + 50'000'000'000 + 1) / 2;
        CHECK(limiter.rate() == expected);
    }
    now += 55us; // additive: the target is 40 Mbit/s higher
    limiter.next_send(now);
    CHECK(limiter.rate() == (expected + 50'040'000'000 + 1) / 2);
}

TEST_CASE("rate limiter: with timer and byte counter both run out the increase is hyper",
          "[engine][CNP-09]") {
    Dcqcn parameters;
    parameters.increase_bytes = 1000;
    RateLimiter limiter(parameters);
    limiter.congested(wire::Instant{});
    limiter.congested(wire::Instant{});
    wire::Instant now{};
    for (int step = 0; step < 5; ++step) {
        now += 55us;
        limiter.sent(1000, now);
    }
    const std::uint64_t before = limiter.rate();
    limiter.sent(1000, now); // the sixth of the bytes, the timer has five: additive
    const std::uint64_t additive = limiter.rate();
    CHECK(additive == (before + 50'040'000'000 + 1) / 2);
    limiter.next_send(now + 55us); // the sixth of the timer too: hyper
    CHECK(limiter.rate() == (additive + 50'440'000'000 + 1) / 2);
}

TEST_CASE("rate limiter: the rate never falls below the least", "[engine][CNP-09]") {
    RateLimiter limiter{Dcqcn{}};
    for (int n = 0; n < 1000; ++n)
        limiter.congested(wire::Instant{});
    CHECK(limiter.rate() == 10'000'000);
    limiter.sent(1250, wire::Instant{});
    CHECK(limiter.next_send(wire::Instant{}) == wire::Instant{1ms});
}

TEST_CASE("rate limiter: cuts keep their interval, and the target may stay", "[engine][CNP-09]") {
    Dcqcn parameters;
    parameters.cut_interval = 10us;
    parameters.clamp_target = false;
    RateLimiter limiter(parameters);
    limiter.congested(wire::Instant{});
    limiter.congested(wire::Instant{9us});
    CHECK(limiter.rate() == 50'000'000'000);
    limiter.congested(wire::Instant{10us});
    CHECK(limiter.rate() == 25'000'000'000);
    limiter.next_send(wire::Instant{65us}); // half way to the target, which is the line's rate
    CHECK(limiter.rate() == 62'500'000'000);
}

TEST_CASE("rate limiter: a long silence costs no time", "[engine][CNP-09]") {
    RateLimiter limiter{Dcqcn{}};
    limiter.congested(wire::Instant{});
    const wire::Instant late{std::chrono::hours(24 * 365)};
    CHECK(limiter.next_send(late) == late);
    CHECK(limiter.rate() == 100'000'000'000);
}

TEST_CASE("rate limiter: parameters without sense still come to an end", "[engine][CNP-09]") {
    Dcqcn nothing{.line_rate = 100'000'000'000,
                  .min_rate = 0,
                  .gain_shift = 200,
                  .alpha_period = wire::Duration{0},
                  .increase_period = wire::Duration{-5},
                  .increase_bytes = 0,
                  .fast_recovery_steps = 0,
                  .additive_rate = 0,
                  .hyper_rate = 0};
    RateLimiter limiter(nothing);
    for (int n = 0; n < 100; ++n)
        limiter.congested(wire::Instant{});
    CHECK(limiter.rate() == 1'000'000);
    limiter.sent(1500, wire::Instant{});
    limiter.next_send(wire::Instant{std::chrono::hours(1)});
    CHECK(limiter.rate() == 100'000'000'000);
}
