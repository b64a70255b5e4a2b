// Frames that a rule adds: replay, forge, pause. Offsets are typed by hand.
#include "tests/transport/fault/packets.hpp"

namespace veriroce::fault::tests {
namespace {

using veriroce::wire::Field;

std::uint8_t opcode_byte(std::string_view name) {
    return *veriroce::wire::opcode_by_name(name);
}

bool good(const Frame& frame) {
    return veriroce::wire::unseal(veriroce::wire::Bytes(frame)).has_value();
}

} // namespace

TEST_CASE("fault: replay sends an earlier packet of this side and QP again", "[fault]") {
    Wire wire({{.action = Replay{2}, .selector = only(3)}});
    for (std::int64_t psn = 0; psn < 3; ++psn)
        CHECK(wire.pass(packet("SEND_ONLY", psn), psn).untouched);
    CHECK(wire.pass(packet("SEND_ONLY", 9), 9, End::A).untouched);
    const Frame third = packet("SEND_ONLY", 3);
    const Decision decision = wire.pass(third, 3);
    REQUIRE(decision.emissions.size() == 2);
    CHECK(decision.emissions[0].frame == third);
    CHECK(decision.emissions[1].frame == packet("SEND_ONLY", 1));
    CHECK(decision.emissions[1].from == End::B);
    CHECK(wire.injector.fired(0).fired == 1);
}

TEST_CASE("fault: a replay from before the first packet has not fired", "[fault]") {
    Wire wire({{.action = Replay{2}, .selector = only(1)}});
    CHECK(wire.pass(packet("SEND_ONLY", 0), 0).untouched);
    CHECK(wire.pass(packet("SEND_ONLY", 1), 1).untouched);
    CHECK(wire.injector.unmet().size() == 1);
}

TEST_CASE("fault: a forged packet goes on behind the one that it is made from", "[fault]") {
    for (const bool v6 : {false, true}) {
        const std::size_t bth = v6 ? bth4 + 20 : bth4;
        Wire wire({{.action = Forge{.packet = {.opcode = opcode_byte("ACKNOWLEDGE"),
                                               .fields = {{Field::Psn, std::uint64_t{4}},
                                                          {Field::Msn, std::uint64_t{7}}}}}}});
        const Frame before = packet("SEND_ONLY", 1, v6);
        const Decision decision = wire.pass(before, 1);
        REQUIRE(decision.emissions.size() == 2);
        CHECK(decision.emissions[0].frame == before);
        const Frame& made = decision.emissions[1].frame;
        CHECK(decision.emissions[1].from == End::B);
        CHECK(good(made));
        CHECK(std::equal(made.begin(), made.begin() + 14, before.begin())); // the same way
        CHECK(veriroce::wire::load_u8(made, bth) == opcode_byte("ACKNOWLEDGE"));
        CHECK(veriroce::wire::load_u24(made, bth + 5) == qpn);
        // PSNs count from the first, which is 0xFFFFFE here.
        CHECK(veriroce::wire::load_u24(made, bth + 9) == 0x000002);
        CHECK(veriroce::wire::load_u32(made, bth + 12) == 0x1F000007);
    }
}

TEST_CASE("fault: a forged answer goes back to the sender", "[fault]") {
    const Forge nak{.packet = {.opcode = opcode_byte("ACKNOWLEDGE"),
                               .fields = {{Field::Syndrome, std::uint64_t{0x60}}}},
                    .to = ForgeTo::Sender};
    Wire wire({{.action = nak, .selector = only(1)}});
    const Frame before = packet("SEND_ONLY", 1);
    CHECK(wire.pass(before, 1).untouched); // the sender's QP is not known yet
    const Frame answer = packet("ACKNOWLEDGE", 0);
    CHECK(wire.injector
              .handle({.from = End::A, .qpn = 0x99, .psn = 0, .now = wire.now, .frame = answer})
              .untouched);
    const Decision decision = wire.pass(before, 1);
    REQUIRE(decision.emissions.size() == 2);
    const Frame& made = decision.emissions[1].frame;
    CHECK(decision.emissions[1].from == End::A);
    CHECK(good(made));
    for (std::size_t i = 0; i < 4; ++i) { // the addresses of IPv4, turned round
        CHECK(made[26 + i] == before[30 + i]);
        CHECK(made[30 + i] == before[26 + i]);
    }
    CHECK(veriroce::wire::load_u24(made, bth4 + 5) == 0x99);
    CHECK(veriroce::wire::load_u24(made, bth4 + 9) == veriroce::wire::load_u24(before, bth4 + 9));
    CHECK(veriroce::wire::load_u8(made, bth4 + 12) == 0x60);
}

TEST_CASE("fault: a packet cannot be forged with fields that it does not have", "[fault]") {
    Wire wire({{.action = Forge{.packet = {.opcode = opcode_byte("ACKNOWLEDGE"),
                                           .fields = {{Field::Rkey, std::uint64_t{1}}}}}}});
    CHECK(wire.pass(packet("SEND_ONLY", 0), 0).untouched);
    CHECK(wire.injector.fired(0).fired == 0);
}

TEST_CASE("fault: pause is a PFC frame towards the sender", "[fault]") {
    Wire wire({{.action = Pause{.priority = 3, .quanta = 0x1234}}});
    const Frame before = packet("SEND_ONLY", 0);
    const Decision decision = wire.pass(before, 0);
    REQUIRE(decision.emissions.size() == 2);
    CHECK(decision.emissions[0].frame == before);
    const Frame& made = decision.emissions[1].frame;
    CHECK(decision.emissions[1].from == End::A);
    REQUIRE(made.size() == 60);
    CHECK(veriroce::wire::load_u32(made, 0) == 0x0180C200);
    CHECK(veriroce::wire::load_u16(made, 4) == 0x0001);
    CHECK(std::equal(made.begin() + 6, made.begin() + 12, before.begin())); // as if from the peer
    CHECK(veriroce::wire::load_u16(made, 12) == 0x8808);
    CHECK(veriroce::wire::load_u16(made, 14) == 0x0101);
    CHECK(veriroce::wire::load_u16(made, 16) == 0x0008);
    for (std::size_t priority = 0; priority < 8; ++priority) {
        const std::uint16_t quanta = priority == 3 ? 0x1234 : 0;
        CHECK(veriroce::wire::load_u16(made, 18 + 2 * priority) == quanta);
    }
}

TEST_CASE("fault: actions that the caller has chosen act behind the rules", "[fault]") {
    Wire wire({{.action = MarkCe{}, .selector = only(0)}});
    const Frame frame = packet("SEND_ONLY", 0);
    const std::array<Action, 2> chosen{Duplicate{}, Truncate{20}};
    const Decision decision = wire.injector.handle({.qpn = qpn, .frame = frame}, chosen);
    CHECK(decision.rules == std::vector<std::size_t>{0});
    CHECK(decision.chosen == 2);
    REQUIRE(decision.emissions.size() == 2);
    CHECK(decision.emissions[0].frame.size() == bth4 + 20);
    CHECK(decision.emissions[0].frame == decision.emissions[1].frame);
    const std::array<Action, 1> impossible{Corrupt{CorruptField{Field::Rkey}}};
    CHECK(wire.injector.handle({.qpn = qpn, .psn = 1, .frame = frame}, impossible).chosen == 0);
}

} // namespace veriroce::fault::tests
