// PFC frames as conditions: rules that select them, rules that ask what they stop, and how long
// they do so.
#include "tests/transport/fault/packets.hpp"

#include "transport/fault/generated_frames.hpp"

namespace veriroce::fault::tests {
namespace {

using namespace std::chrono_literals;

Frame pfc(std::uint8_t priority, std::uint16_t quanta) {
    return pause_frame({.priority = priority, .quanta = quanta}, wire::Frame{});
}

bool lost(const Decision& decision) {
    return !decision.untouched && decision.emissions.empty();
}

Selector until_pfc(Range classes, Range quanta) {
    Selector selector;
    selector.pfc = classes;
    selector.quanta = quanta;
    return selector;
}

} // namespace

TEST_CASE("fault: a PFC frame is read whole, and nothing else is taken for one", "[fault]") {
    const auto one = pfc_of(pfc(3, 100));
    REQUIRE(one);
    CHECK(one->about(3));
    CHECK_FALSE(one->about(2));
    CHECK(one->quanta[3] == 100);
    CHECK(one->quanta[4] == 0);
    Frame other = pfc(3, 100);
    other[15] = std::byte{0}; // 0100: not the opcode of PFC
    CHECK_FALSE(pfc_of(other));
    other = pfc(3, 100);
    other[12] = std::byte{0x86};
    CHECK_FALSE(pfc_of(other));
    CHECK(pfc_of(veriroce::wire::Bytes(pfc(3, 100)).first(34)));
    CHECK_FALSE(pfc_of(veriroce::wire::Bytes(pfc(3, 100)).first(33)));
}

TEST_CASE("fault: pfc= and quanta= select PFC frames, and only these", "[fault]") {
    Wire wire({drop_when(until_pfc({3, 3}, {1, 65'535}))});
    CHECK_FALSE(wire.dropped(0));
    CHECK(lost(wire.pass(pfc(3, 1), 0)));
    CHECK(wire.pass(pfc(3, 0), 0).untouched);
    CHECK(wire.pass(pfc(4, 1), 0).untouched);
    CHECK(wire.injector.fired(0).selected == 1);

    // A rule that does not name PFC never sees it.
    Wire plain({drop_when({.from = End::B})});
    CHECK(plain.pass(pfc(3, 1), 0).untouched);
    CHECK(plain.dropped(0));

    // The class that is named and the quanta are of the same class.
    Frame two = pfc(3, 0);
    two[17] |= std::byte{1U << 4};
    two[18 + 2 * 4] = std::byte{1};
    CHECK(wire.pass(two, 0).untouched);
    Wire any({drop_when(until_pfc({0, 7}, {256, 256}))});
    CHECK(lost(any.pass(two, 0)));

    // Each counts as sent once.
    Selector second = until_pfc({3, 3}, {});
    second.nth = Range{2, 2};
    Wire nth({drop_when(second)});
    CHECK(nth.pass(pfc(3, 1), 0).untouched);
    CHECK(lost(nth.pass(pfc(3, 1), 0)));
    CHECK(nth.pass(pfc(3, 1), 0).untouched);
}

TEST_CASE("fault: PFC frames are duplicated and delayed, and stand in nobody's way", "[fault]") {
    Rule twice{.action = Duplicate{.copies = 1}, .selector = until_pfc({1, 1}, {})};
    Rule later{.action = Delay{5us}, .selector = until_pfc({2, 2}, {})};
    Wire wire({twice, later});
    const Decision doubled = wire.pass(pfc(1, 9), 0);
    REQUIRE(doubled.emissions.size() == 2);
    CHECK(doubled.emissions[1].frame == pfc(1, 9));
    const Decision delayed = wire.pass(pfc(2, 9), 0);
    REQUIRE(delayed.emissions.size() == 1);
    CHECK(delayed.emissions[0].delay == 5us);
    CHECK(wire.pass(packet("SEND_ONLY", 0), 0).untouched);
    CHECK(wire.pass(pfc(3, 9), 0).untouched);
}

TEST_CASE("fault: a PFC frame releases what waits for it", "[fault]") {
    Rule hold{.action = Hold{.until = until_pfc({3, 3}, {0, 0}), .longest = 1s},
              .selector = {.psn = Range{0, 0}}};
    Wire wire({hold});
    CHECK(wire.pass(packet("SEND_ONLY", 0), 0).emissions.empty());
    CHECK(wire.pass(pfc(3, 1), 0, End::A).untouched);
    const Frame resume = pfc(3, 0);
    const Decision decision = wire.pass(resume, 0, End::A);
    REQUIRE(decision.emissions.size() == 2);
    CHECK(decision.emissions[0].frame == resume);
    CHECK(decision.emissions[0].from == End::A);
    CHECK(decision.emissions[1].frame == packet("SEND_ONLY", 0));
    CHECK(decision.emissions[1].from == End::B);
}

TEST_CASE("fault: class= is the VLAN priority, or else the upper bits of the DSCP", "[fault]") {
    Selector selector;
    selector.traffic_class = Range{0, 0};
    Wire wire({drop_when(selector)});
    CHECK(wire.dropped(0)); // DSCP 0
    Frame marked = packet("SEND_ONLY", 1);
    marked[15] = std::byte{26 << 2};
    CHECK(wire.pass(marked, 1).untouched);
    selector.traffic_class = Range{3, 3};
    Wire three({drop_when(selector)});
    CHECK(lost(three.pass(marked, 1)));
    CHECK_FALSE(three.dropped(2));
}

TEST_CASE("fault: paused= follows what reached the sender, for as long as it stops it", "[fault]") {
    Selector in_pause;
    in_pause.paused = Range{3, 3};
    Wire wire({drop_when(in_pause)});
    wire.injector.set_link_speed(1e9); // a quantum is 512 ns
    CHECK_FALSE(wire.dropped(0));
    wire.pass(pfc(3, 10), 0, End::A); // stops B for 5.12 us
    for (int psn = 1; psn <= 5; ++psn)
        CHECK(wire.dropped(psn));
    CHECK_FALSE(wire.dropped(6));
    wire.pass(pfc(3, 10), 0, End::B); // stops A
    CHECK_FALSE(wire.dropped(7));
    CHECK(wire.dropped(8, End::A));
    wire.pass(pfc(4, 10), 0, End::A); // another class
    CHECK_FALSE(wire.dropped(9));
    wire.pass(pfc(3, 10), 0, End::A);
    wire.pass(pfc(3, 0), 0, End::A); // ends it
    CHECK_FALSE(wire.dropped(10));

    // A frame that is lost stops nobody; one that is late does so later.
    Selector from_a = until_pfc({3, 3}, {});
    from_a.from = End::A;
    from_a.first = 1;
    Rule later{.action = Delay{3us}, .selector = until_pfc({3, 3}, {})};
    Wire faulty({drop_when(from_a), later, drop_when(in_pause)});
    faulty.injector.set_link_speed(1e9);
    CHECK(lost(faulty.pass(pfc(3, 10), 0, End::A)));
    CHECK_FALSE(faulty.dropped(0));
    faulty.pass(pfc(3, 10), 0, End::A); // reaches B 3 us from now
    CHECK_FALSE(faulty.dropped(1));
    CHECK_FALSE(faulty.dropped(2));
    CHECK(faulty.dropped(3));
    // What a rule sends stops, too.
    Rule pause{.action = Pause{.priority = 3, .quanta = 10}, .selector = {.psn = Range{0, 0}}};
    pause.also = true;
    Wire made({pause, drop_when(in_pause)});
    made.injector.set_link_speed(1e9);
    CHECK_FALSE(made.dropped(0));
    CHECK(made.dropped(1));
}

TEST_CASE("fault: a rule for PFC frames asks and does only what they allow", "[fault]") {
    const auto said = [](Rule rule) {
        rule.line = 7;
        const auto checked = check(std::vector<Rule>{std::move(rule)});
        return checked ? std::string() : checked.error();
    };
    Selector quanta;
    quanta.quanta = Range{0, 0};
    CHECK(said(drop_when(quanta)) == "line 7: quanta= needs the class: pfc=3 quanta=0");
    Selector both = until_pfc({3, 3}, {});
    CHECK(said(drop_when(both)).empty());
    both.psn = Range{0, 0};
    CHECK(said(drop_when(both)).find("line 7: with pfc= a rule selects PFC frames") == 0);
    CHECK(said({.action = MarkCe{}, .selector = until_pfc({3, 3}, {})}) ==
          "line 7: a PFC frame can be dropped, duplicated or delayed");
    CHECK(said({.action = Hold{.until = quanta}, .selector = {}}) ==
          "line 7: quanta= needs the class: pfc=3 quanta=0");
}

} // namespace veriroce::fault::tests
