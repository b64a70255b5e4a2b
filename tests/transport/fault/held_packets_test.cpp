// Packets that leave later than others that came behind them: reorder and hold.
#include "tests/transport/fault/packets.hpp"

namespace veriroce::fault::tests {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

OpcodeSet acknowledges() {
    OpcodeSet set;
    set.set(*veriroce::wire::opcode_by_name("ACKNOWLEDGE"));
    return set;
}

std::int64_t psn_of(const Frame& frame) {
    const auto decoded = veriroce::wire::decode_frame(frame);
    REQUIRE(decoded);
    const auto bth = veriroce::wire::Bth::decode(decoded->transport);
    REQUIRE(bth);
    return veriroce::wire::distance(veriroce::wire::Psn(first_psn), bth->psn);
}

// The packets on the wire after the injector, as PSNs in the order in which they leave.
struct Leaving {
    explicit Leaving(std::vector<Rule> rules) : wire(std::move(rules)) {}

    void send(std::int64_t psn, End from = End::B) {
        const Frame frame = packet("SEND_ONLY", psn);
        const Decision decision = wire.pass(frame, psn, from);
        if (decision.untouched) psns.push_back(psn);
        note(decision.emissions);
    }
    void note(const std::vector<Emission>& emissions) {
        for (const Emission& emission : emissions) {
            psns.push_back(psn_of(emission.frame));
            CHECK(emission.frame == packet("SEND_ONLY", psns.back())); // bytes as they came
        }
    }

    Wire wire;
    std::vector<std::int64_t> psns;
};

} // namespace

TEST_CASE("fault: a reordered packet leaves behind so many later ones", "[fault]") {
    Leaving leaving({{.action = Reorder{2}, .selector = only(1)}});
    for (std::int64_t psn = 0; psn < 6; ++psn)
        leaving.send(psn);
    CHECK(leaving.psns == std::vector<std::int64_t>{0, 2, 3, 1, 4, 5});
    CHECK(leaving.wire.injector.fired(0).fired == 1);
    CHECK_FALSE(leaving.wire.injector.next_release());
}

TEST_CASE("fault: only packets of the same side and QP overtake", "[fault]") {
    Leaving leaving({{.action = Reorder{1}, .selector = only(0)}});
    leaving.send(0);
    leaving.send(7, End::A);
    const Frame other = packet("SEND_ONLY", 8);
    CHECK(leaving.wire.pass(other, 8, End::B, "b").untouched);
    CHECK(leaving.psns == std::vector<std::int64_t>{7});
    leaving.send(1);
    CHECK(leaving.psns == std::vector<std::int64_t>{7, 1, 0});
}

TEST_CASE("fault: a packet that does not leave overtakes nobody", "[fault]") {
    Leaving dropped(
        {{.action = Reorder{1}, .selector = only(0)}, {.action = Drop{}, .selector = only(1)}});
    for (const std::int64_t psn : {0, 1, 2})
        dropped.send(psn);
    CHECK(dropped.psns == std::vector<std::int64_t>{2, 0});
    // Two in a row: the second does not release the first by being held itself.
    Leaving both({{.action = Reorder{1}, .selector = {.psn = Range{0, 1}}}});
    for (const std::int64_t psn : {0, 1, 2})
        both.send(psn);
    CHECK(both.psns == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("fault: a reordered packet that nothing overtakes leaves when things settle", "[fault]") {
    Injector injector(1, milliseconds(3));
    injector.add({.action = Reorder{1}});
    const Frame frame = packet("SEND_ONLY", 0);
    const wire::Instant now{microseconds(5)};
    const Decision held = injector.handle({.from = End::B, .qpn = qpn, .now = now, .frame = frame});
    CHECK_FALSE(held.untouched);
    CHECK(held.emissions.empty());
    REQUIRE(injector.next_release());
    CHECK(*injector.next_release() == now + milliseconds(3));
    CHECK(injector.release(now + milliseconds(2)).empty());
    const auto released = injector.release(now + milliseconds(3));
    REQUIRE(released.size() == 1);
    CHECK(released[0].frame == frame);
    CHECK(released[0].from == End::B);
    CHECK_FALSE(injector.next_release());
}

TEST_CASE("fault: a held packet leaves behind the one that it waits for", "[fault]") {
    Leaving leaving({{.action = Hold{.until = {.from = End::A, .opcodes = acknowledges()}},
                      .selector = only(0)}});
    leaving.send(0);
    leaving.send(1);
    const Frame ack = packet("ACKNOWLEDGE", 1);
    const Decision decision = leaving.wire.pass(ack, 1, End::A);
    REQUIRE(decision.emissions.size() == 2);
    CHECK(decision.emissions[0].frame == ack);
    CHECK(decision.emissions[0].from == End::A);
    CHECK(decision.emissions[1].frame == packet("SEND_ONLY", 0));
    CHECK(decision.emissions[1].from == End::B);
    CHECK(decision.rules.empty());
}

TEST_CASE("fault: what a hold waits for counts from when it holds", "[fault]") {
    Leaving leaving({{.action = Hold{.until = {.nth = Range{2, 2}}}, .selector = only(1)}});
    for (std::int64_t psn = 0; psn < 5; ++psn)
        leaving.send(psn);
    CHECK(leaving.psns == std::vector<std::int64_t>{0, 2, 3, 1, 4});
}

TEST_CASE("fault: a held packet leaves at the latest after its time", "[fault]") {
    Leaving leaving(
        {{.action = Hold{.until = only(9), .longest = microseconds(50)}, .selector = only(0)}});
    leaving.send(0); // at 1 us
    leaving.send(1);
    CHECK(leaving.wire.injector.next_release() == wire::Instant{microseconds(51)});
    leaving.note(leaving.wire.injector.release(wire::Instant{microseconds(51)}));
    CHECK(leaving.psns == std::vector<std::int64_t>{1, 0});
    leaving.send(9);
    CHECK(leaving.psns == std::vector<std::int64_t>{1, 0, 9}); // and not once more
}

TEST_CASE("fault: a corrupted packet can be held as well", "[fault]") {
    Wire wire({{.action = Corrupt{CorruptByte{30}}, .selector = only(0), .also = true},
               {.action = Reorder{1}, .selector = only(0)}});
    const Frame first = packet("SEND_ONLY", 0);
    CHECK(wire.pass(first, 0).emissions.empty());
    const Decision decision = wire.pass(packet("SEND_ONLY", 1), 1);
    REQUIRE(decision.emissions.size() == 2);
    Frame damaged = first;
    damaged[14 + 30] = ~damaged[14 + 30];
    CHECK(decision.emissions[1].frame == damaged);
}

TEST_CASE("fault: no more packets wait than there is room for", "[fault]") {
    Wire wire({{.action = Hold{.until = only(-1)}}});
    const Frame frame = packet("SEND_ONLY", 0);
    for (std::size_t i = 0; i < kMaxHeld; ++i)
        REQUIRE_FALSE(wire.pass(frame, 0).untouched);
    CHECK(wire.pass(frame, 0).untouched);
    CHECK(wire.injector.fired(0).fired == kMaxHeld);
    CHECK(wire.injector.fired(0).selected == kMaxHeld + 1);
}

} // namespace veriroce::fault::tests
