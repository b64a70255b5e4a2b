// What the bump says about a fault's recovery, in virtual time: every number is known.
#include <catch2/catch.hpp>

#include "conformance/script/script.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/inject/bump.hpp"
#include "transport/inject/delay_queue.hpp"
#include "transport/inject/report.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

constexpr std::uint32_t kFirst = 0xFFFFFE; // so that PSNs wrap

// A frame between the requester at 10.0.0.1 and the responder at 10.0.0.2, or back.
Frame frame(std::string_view opcode, std::int64_t psn, bool response, wire::Syndrome syndrome = {},
            std::uint32_t host = 1) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name(opcode);
    packet.bth.dest_qp = wire::Qpn{response ? 0x21U : 0x11U};
    packet.bth.psn = wire::Psn(kFirst) + psn;
    packet.headers = wire::opcode_info(packet.bth.opcode).headers;
    packet.aeth.syndrome = syndrome;
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const std::vector<std::byte> payload(response ? 0 : 64, std::byte{7});
    wire::Envelope envelope{.source = wire::IpAddress::from_v4(0x0A000000 + host),
                            .destination = wire::IpAddress::from_v4(0x0A000064)};
    if (response) std::swap(envelope.source, envelope.destination);
    Frame bytes(wire::kMaxFrameOverhead + headers.size() + payload.size());
    bytes.resize(wire::write_frame({}, envelope, 7, headers, payload, bytes));
    return bytes;
}

struct Virtual {
    explicit Virtual(std::string_view plan) : bump(1, rules(plan)) {}
    static std::vector<fault::Rule> rules(std::string_view plan) {
        const auto loaded = script::load_injection("x.faults", plan);
        REQUIRE(loaded);
        return loaded->rules;
    }
    // How many frames leave at that time because of this one.
    std::size_t at(wire::Duration time, End from, const Frame& bytes) {
        out.clear();
        bump.advance(wire::Instant(time), out);
        bump.handle(from, bytes, wire::Instant(time), out);
        return out.size();
    }
    Bump bump;
    std::vector<Leaving> out;
};

const auto kNak = wire::Syndrome::nak(wire::NakCode::PsnSequence);
const auto kAck = wire::Syndrome::ack(31);

} // namespace

TEST_CASE("recovery: a lost request is detected by its NAK and recovered by its ACK", "[inject]") {
    Virtual line("drop when from=a psn=20 pass=1");
    // One packet and its ACK each millisecond; the last packets of a window are not acknowledged.
    for (int psn = 0; psn < 20; ++psn) {
        line.at(psn * 1ms, End::A, frame("SEND_ONLY", psn, false));
        line.at(psn * 1ms + 100us, End::B, frame("ACKNOWLEDGE", psn, true, kAck));
    }
    CHECK(line.at(20ms, End::A, frame("SEND_ONLY", 20, false)) == 0);
    CHECK(line.at(21ms, End::A, frame("SEND_ONLY", 21, false)) == 1);
    line.at(22ms, End::B, frame("ACKNOWLEDGE", 20, true, kNak));
    CHECK(line.at(24ms, End::A, frame("SEND_ONLY", 20, false)) == 1);
    line.at(25ms, End::A, frame("SEND_ONLY", 21, false));
    line.at(30ms, End::B, frame("ACKNOWLEDGE", 21, true, kAck));

    REQUIRE(line.bump.recovery().events().size() == 1);
    const FaultEvent& event = line.bump.recovery().events().front();
    CHECK(event.place.connection == 1);
    CHECK(event.place.psn == 20);
    CHECK(event.pass == 1);
    CHECK(event.message == 21);
    CHECK(event.sign == Sign::SequenceNak);
    CHECK(event.detection == 2ms);
    CHECK(event.recovery == 10ms);
    CHECK(event.retransmitted == 2);
    CHECK(event.dip == Approx(1.0)); // nothing was acknowledged meanwhile
    const Counters counters = line.bump.recovery().total();
    CHECK(counters.retransmissions == 2);
    CHECK(counters.sequence_naks == 1);
    CHECK(counters.faults == 1);
    CHECK(counters.packets == 46);

    const auto met = [&](const fault::Expectation& one) {
        const auto verdicts = judge(line.bump, std::span(&one, 1));
        REQUIRE(verdicts.size() == 1);
        return verdicts.front().met;
    };
    CHECK(met({.what = fault::RecoveryWithin{10ms}}));
    CHECK_FALSE(met({.what = fault::RecoveryWithin{9ms}}));
    CHECK(met({.what = fault::NoError{}}));
    CHECK(met({.what = fault::RetransmissionsAtMost{2}}));
    CHECK_FALSE(met({.what = fault::RetransmissionsAtMost{1}}));
}

TEST_CASE("recovery: a lost READ response needs this very response", "[inject]") {
    Virtual line("drop when from=b opcode=RDMA_READ_RESPONSE_FIRST\n"
                 "drop when from=b psn=99");
    line.at(0ms, End::A, frame("RDMA_READ_REQUEST", 0, false));
    CHECK(line.at(1ms, End::B, frame("RDMA_READ_RESPONSE_FIRST", 0, true, kAck)) == 0);
    line.at(2ms, End::B, frame("RDMA_READ_RESPONSE_LAST", 1, true, kAck));
    const FaultEvent& event = line.bump.recovery().events().front();
    CHECK(event.place.response);
    CHECK_FALSE(event.recovery.has_value());
    line.at(5ms, End::A, frame("RDMA_READ_REQUEST", 0, false));
    line.at(6ms, End::B, frame("RDMA_READ_RESPONSE_ONLY", 0, true, kAck));
    CHECK(event.sign == Sign::Retransmission);
    CHECK(event.detection == 4ms);
    CHECK(event.recovery == 5ms);
    // A rule that never fired is not as the plan says.
    const auto verdicts = judge(line.bump, {});
    REQUIRE(verdicts.size() == 1);
    CHECK_FALSE(verdicts.front().met);
    CHECK(verdicts.front().why == "line 2: 'drop when from=b psn=99' never fired");
}

TEST_CASE("recovery: a fatal NAK is an error, and a fault without recovery is one", "[inject]") {
    const fault::Expectation no_error{.what = fault::NoError{}};
    Virtual fatal("mark ce when psn=0");
    fatal.at(0ms, End::A, frame("SEND_ONLY", 0, false));
    fatal.at(1ms, End::B,
             frame("ACKNOWLEDGE", 0, true, wire::Syndrome::nak(wire::NakCode::RemoteAccess)));
    CHECK_FALSE(judge(fatal.bump, std::span(&no_error, 1)).front().met);
    Virtual silent("drop when psn=0");
    silent.at(0ms, End::A, frame("SEND_ONLY", 0, false));
    CHECK_FALSE(judge(silent.bump, std::span(&no_error, 1)).front().met);
}

TEST_CASE("bump: connections are numbered by appearance, and rules can name them", "[inject]") {
    Virtual line("drop when conn=2 opcode=data\ndrop when host=\"10.0.0.3\"");
    // The same QPN on three hosts.
    CHECK(line.at(0ms, End::A, frame("SEND_ONLY", 0, false, {}, 1)) == 1);
    CHECK(line.at(1ms, End::A, frame("SEND_ONLY", 0, false, {}, 2)) == 0);
    CHECK(line.at(2ms, End::A, frame("SEND_ONLY", 0, false, {}, 3)) == 0);
    CHECK(line.at(3ms, End::A, frame("SEND_ONLY", 1, false, {}, 1)) == 1);
    CHECK(line.at(4ms, End::B, frame("ACKNOWLEDGE", 0, true, kAck, 2)) == 1);
    const auto& known = line.bump.connections().known();
    REQUIRE(known.size() == 3);
    CHECK(known[1].sides[0].address == *wire::IpAddress::parse("10.0.0.2"));
    CHECK(known[1].sides[0].qpn == wire::Qpn{0x21});
    CHECK(known[1].sides[1].qpn == wire::Qpn{0x11});
    CHECK(line.bump.injector().fired(0).fired == 1);
    CHECK(line.bump.injector().fired(1).fired == 1);
}

TEST_CASE("bump: a rate spaces firings evenly", "[inject]") {
    Virtual line("drop when from=a rate=100");
    std::size_t left = 0;
    for (int i = 0; i < 100; ++i)
        left += line.at(i * 1ms, End::A, frame("SEND_ONLY", i, false));
    CHECK(left == 90); // one in each 10 ms is dropped
}

TEST_CASE("bump: delayed frames leave at their time and in order", "[inject]") {
    Virtual line("delay 3ms when from=a psn=1");
    CHECK(line.at(0ms, End::A, frame("SEND_ONLY", 0, false)) == 1);
    CHECK(line.at(1ms, End::A, frame("SEND_ONLY", 1, false)) == 0);
    CHECK(line.at(2ms, End::A, frame("SEND_ONLY", 2, false)) == 0); // stays behind it
    const Frame arp(60, std::byte{1});
    CHECK(line.at(3ms, End::A, arp) == 1);
    CHECK(line.bump.next_deadline() == wire::Instant(4ms));
    line.out.clear();
    line.bump.advance(wire::Instant(4ms), line.out);
    REQUIRE(line.out.size() == 2);
    CHECK(Frame(line.out[0].bytes.begin(), line.out[0].bytes.end()) ==
          frame("SEND_ONLY", 1, false));
    CHECK(line.out[1].to == End::B);
    CHECK_FALSE(line.bump.next_deadline().has_value());
}

TEST_CASE("bump: the delay queue is bounded", "[inject]") {
    DelayQueue queue;
    std::size_t taken = 0;
    while (taken <= kMaxDelayedFrames && queue.push(wire::Instant(1ms), End::A, {}))
        ++taken;
    CHECK(taken == kMaxDelayedFrames);
    CHECK_FALSE(queue.push(wire::Instant(1ms), End::A, {}));
    CHECK_FALSE(queue.pop(wire::Instant(0ms)).has_value());
    CHECK(queue.pop(wire::Instant(1ms))->number == 1);
}

} // namespace veriroce::inject::tests
