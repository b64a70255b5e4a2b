// In which order the story of a case says what happened.
#include "conformance/interpreter/story.hpp"

#include <catch2/catch.hpp>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter::test {
namespace {

using namespace std::chrono_literals;
using Kind = model::Step::Kind;

wire::Instant at(wire::Duration time) {
    return wire::Instant(time);
}

// A frame that is no RoCEv2 packet: only its place matters here.
Entry entry(Side from, wire::Duration time) {
    return parsed(from, std::vector<std::byte>(60), {at(time), at(time)});
}

std::string steps_of(const model::Story& story) {
    std::string text;
    for (const model::Step& step : story.steps) {
        switch (step.kind) {
        case Kind::Packet: text += story.packets[step.index].from == Side::Dut ? "<" : ">"; break;
        case Kind::Asked: text += "("; break;
        case Kind::Answered: text += ")"; break;
        }
    }
    return text;
}

struct Scene {
    Environment environment;
    Record record{1 << 20};
    CallLog log;

    std::size_t ask(wire::Duration time) { return log.asked(dut::Ping{}, at(time), record.size()); }
    void answer(std::size_t call, wire::Duration time) {
        log.answered(call, dut::Result{dut::Pong{}}, at(time), record.size());
    }
    model::Story story() { return story_of(environment, record, log, at(1s)); }
};

} // namespace

TEST_CASE("story: on a real link things are in the order of the tester", "[interpreter]") {
    Scene scene;
    scene.record.add(entry(Side::Tester, 10us));
    const std::size_t call = scene.ask(11us);
    scene.record.add(entry(Side::Dut, 12us));
    scene.answer(call, 13us);
    scene.record.add(entry(Side::Tester, 14us));
    const model::Story story = scene.story();
    CHECK_FALSE(story.setting.exact);
    CHECK(steps_of(story) == ">(<)>");
    CHECK(story.calls.size() == 1);
    CHECK(story.calls[0].answered == at(13us));
}

TEST_CASE("story: in virtual time things are in the order of the device", "[interpreter]") {
    Scene scene;
    scene.environment.path_delay = 1us;
    scene.record.add(entry(Side::Tester, 10us)); // at the device at 11 us
    const std::size_t call = scene.ask(11us);
    scene.answer(call, 11us);
    scene.record.add(entry(Side::Dut, 12us)); // left at 11 us
    scene.record.add(entry(Side::Tester, 12500ns));
    scene.record.add(entry(Side::Dut, 13us)); // left before that one came
    const model::Story story = scene.story();
    CHECK(story.setting.exact);
    CHECK(steps_of(story) == ">()<<>");
}

TEST_CASE("story: a packet that was not on the wire is left out", "[interpreter]") {
    Scene scene;
    scene.record.add(entry(Side::Tester, 10us));
    scene.record[0].on_wire = false;
    scene.record.add(entry(Side::Dut, 11us));
    const model::Story story = scene.story();
    REQUIRE(story.packets.size() == 1);
    CHECK(story.packets[0].number == 1);
    CHECK(steps_of(story) == "<");
}

TEST_CASE("story: a call without an answer was only asked", "[interpreter]") {
    Scene scene;
    scene.ask(1us);
    const model::Story story = scene.story();
    CHECK(steps_of(story) == "(");
    CHECK_FALSE(story.calls[0].answer.has_value());
}

TEST_CASE("story: only a contradiction is certain on a real link", "[interpreter]") {
    model::Deviation deviation{.rule = "CA17-4", .kind = rules::FindingClass::Contradiction};
    model::Setting setting;
    CHECK(violation_of(deviation, setting).certain);
    deviation.kind = rules::FindingClass::Absence;
    CHECK_FALSE(violation_of(deviation, setting).certain);
    setting.exact = true;
    CHECK(violation_of(deviation, setting).certain);
}

// A switch may have changed them, or a wire damaged them: the ICRC does not show it.
TEST_CASE("story: fields outside the ICRC prove nothing in one play on a link", "[interpreter]") {
    using rules::FindingClass;
    model::Setting link;
    const model::Setting exact{.exact = true};
    for (const auto* field : {"resv6", "udp.checksum", "ip.ttl", "eth.src", "becn"}) {
        const model::Deviation deviation{.rule = "BTH-16", .field = field};
        CHECK(violation_of(deviation, link).of_class == FindingClass::Absence);
        CHECK(violation_of(deviation, link).certain);
        CHECK(violation_of(deviation, exact).of_class == FindingClass::Contradiction);
    }
    for (const auto* field : {"resv7", "ip.src", "ip.dst", "pkey", "udp.sport"}) {
        const model::Deviation deviation{.rule = "BTH-16", .field = field};
        CHECK(violation_of(deviation, link).of_class == FindingClass::Contradiction);
    }
}

} // namespace veriroce::interpreter::test
