// Which packets a rule selects.
#include "tests/transport/fault/packets.hpp"

namespace veriroce::fault::tests {
namespace {

// The PSNs of 0..count-1 that are dropped, each sent once.
std::vector<std::int64_t> dropped_of(Wire& wire, std::int64_t count) {
    std::vector<std::int64_t> psns;
    for (std::int64_t psn = 0; psn < count; ++psn) {
        if (wire.dropped(psn)) psns.push_back(psn);
    }
    return psns;
}

OpcodeSet opcode(std::string_view name) {
    OpcodeSet set;
    set.set(*veriroce::wire::opcode_by_name(name));
    return set;
}

} // namespace

TEST_CASE("fault: an empty plan touches nothing", "[fault]") {
    Wire wire({});
    const Decision decision = wire.pass(packet("SEND_ONLY", 0), 0);
    CHECK(decision.untouched);
    CHECK(decision.emissions.empty());
    CHECK(decision.rules.empty());
}

TEST_CASE("fault: side, QP, opcode and PSN select", "[fault]") {
    Wire from({drop_when({.from = End::A})});
    CHECK(from.dropped(0, End::A));
    CHECK_FALSE(from.dropped(0, End::B));

    Wire named({drop_when({.qp = std::string("b")})});
    CHECK(named.dropped(0, End::A, "b"));
    CHECK_FALSE(named.dropped(0, End::A));

    Wire numbered({drop_when({.qp = qpn})});
    CHECK(numbered.dropped(0));
    Wire other({drop_when({.qp = qpn + 1})});
    CHECK_FALSE(other.dropped(0));

    Wire acks({drop_when({.opcodes = opcode("ACKNOWLEDGE")})});
    CHECK_FALSE(acks.dropped(0));
    CHECK(acks.pass(packet("ACKNOWLEDGE", 0), 0).emissions.empty());

    Wire psns({drop_when({.psn = Range{1, 3}})});
    CHECK(dropped_of(psns, 6) == std::vector<std::int64_t>{1, 2, 3});
    CHECK(psns.injector.fired(0).fired == 3);
}

TEST_CASE("fault: pass counts how often a side sent a PSN", "[fault]") {
    Wire wire({drop_when({.psn = Range{3, 3}, .pass = Range{1, 2}, .fires = 2})});
    CHECK(wire.dropped(3));
    CHECK_FALSE(wire.dropped(4));
    CHECK(wire.dropped(3));
    CHECK_FALSE(wire.dropped(3));
    CHECK(wire.injector.unmet().empty());
}

TEST_CASE("fault: pass does not mind that an opcode changes", "[fault]") {
    Wire wire({drop_when({.psn = Range{2, 2}, .pass = Range{2, 2}})});
    CHECK(wire.pass(packet("RDMA_READ_RESPONSE_MIDDLE", 2), 2).untouched);
    CHECK_FALSE(wire.pass(packet("RDMA_READ_RESPONSE_FIRST", 2), 2).untouched);
}

TEST_CASE("fault: requests and responses, sides and QPs count their passes apart", "[fault]") {
    Wire wire({drop_when({.pass = Range{2, 2}})});
    CHECK_FALSE(wire.dropped(5));
    CHECK(wire.pass(packet("ACKNOWLEDGE", 5), 5).untouched);
    CHECK_FALSE(wire.dropped(5, End::A));
    CHECK_FALSE(wire.dropped(5, End::B, "b"));
    CHECK(wire.dropped(5));
}

TEST_CASE("fault: message and packet are those of the first pass", "[fault]") {
    Wire wire({drop_when({.message = Range{2, 2}, .packet = Range{2, 3}})});
    const std::vector<std::string_view> opcodes{"SEND_ONLY", "SEND_FIRST", "SEND_MIDDLE",
                                                "SEND_LAST", "SEND_ONLY"};
    std::vector<std::int64_t> gone;
    for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t psn = 0; psn < 5; ++psn) {
            const auto name = opcodes[static_cast<std::size_t>(psn)];
            if (!wire.pass(packet(name, psn), psn).untouched) gone.push_back(psn);
        }
    }
    CHECK(gone == std::vector<std::int64_t>{2, 3, 2, 3});
}

TEST_CASE("fault: nth with pass is the retransmission of the nth", "[fault]") {
    Wire wire({drop_when({.from = End::B, .pass = Range{2, 2}, .nth = Range{3, 3}})});
    CHECK(dropped_of(wire, 5).empty());
    CHECK(dropped_of(wire, 5) == std::vector<std::int64_t>{2});
    CHECK(dropped_of(wire, 5).empty());
}

TEST_CASE("fault: every, first and between", "[fault]") {
    Wire every({drop_when({.every = 3})});
    CHECK(dropped_of(every, 9) == std::vector<std::int64_t>{2, 5, 8});
    Wire first({drop_when({.first = 2})});
    CHECK(dropped_of(first, 5) == std::vector<std::int64_t>{0, 1});
    Wire between({drop_when({.between = Range{2'000, 3'000}})}); // one packet a microsecond
    CHECK(dropped_of(between, 6) == std::vector<std::int64_t>{2, 3});
}

TEST_CASE("fault: random rules draw the same from the same seed and line", "[fault]") {
    const auto gone = [](std::uint64_t seed, std::vector<Rule> rules) {
        Wire wire(std::move(rules), seed);
        return dropped_of(wire, 2'000);
    };
    Rule rule = drop_when({.probability = 0.1});
    rule.line = 7;
    const auto once = gone(42, {rule});
    CHECK(once == gone(42, {rule}));
    CHECK(once != gone(43, {rule}));
    CHECK(once.size() > 120);
    CHECK(once.size() < 280);
    // A rule that is added, and draws too, changes nothing for this one.
    Rule other{.action = MarkCe{}, .selector = {.probability = 0.5}, .also = true, .line = 3};
    CHECK(once == gone(42, {other, rule}));
    Rule none = rule;
    none.selector.probability = 0;
    CHECK(gone(42, {none}).empty());
    none.selector.probability = 1;
    CHECK(gone(42, {none}).size() == 2'000);
}

TEST_CASE("fault: the first rule that matches acts, unless it ends in also", "[fault]") {
    const Rule mark{.action = MarkCe{}, .selector = {.psn = Range{1, 1}}};
    Rule mark_also = mark;
    mark_also.also = true;
    Wire alone({mark, drop_when({.psn = Range{1, 1}})});
    CHECK_FALSE(alone.dropped(1));
    CHECK(alone.injector.fired(0).fired == 1);
    CHECK(alone.injector.fired(1).fired == 0);
    CHECK(alone.injector.fired(1).selected == 1);
    Wire both({mark_also, drop_when({.psn = Range{1, 1}})});
    CHECK(both.dropped(1));
}

TEST_CASE("fault: a rule that did not fire as it should have says so", "[fault]") {
    Rule never = drop_when({.psn = Range{9, 9}});
    never.text = "drop when psn=9";
    Rule twice = drop_when({.psn = Range{0, 0}, .fires = 2});
    twice.text = "drop when psn=0 fires=2";
    const Rule random = drop_when({.psn = Range{9, 9}, .probability = 0.5});
    Rule none = drop_when({.psn = Range{9, 9}, .fires = 0});
    Wire wire({never, twice, random, none});
    CHECK(wire.dropped(0));
    CHECK(wire.injector.unmet() ==
          std::vector<std::string>{"line 1: 'drop when psn=9' never fired",
                                   "line 2: 'drop when psn=0 fires=2' fired 1 times, expected 2"});
}

TEST_CASE("fault: what is forgotten to stay within bounds is counted", "[fault]") {
    Wire wire({drop_when({.psn = Range{0, 0}, .pass = Range{2, 2}})});
    const Frame frame = packet("SEND_ONLY", 0);
    const auto send = [&](std::int64_t psn) { return wire.pass(frame, psn).untouched; };
    for (std::int64_t psn = 0; psn < static_cast<std::int64_t>(kMaxPsns); ++psn)
        REQUIRE(send(psn));
    CHECK(wire.injector.evicted() == 0);
    CHECK(send(kMaxPsns));
    CHECK(wire.injector.evicted() == 1);
    CHECK(send(0)); // its first pass is forgotten
    CHECK_FALSE(send(0));

    Wire many({});
    for (std::size_t i = 0; i <= kMaxFlows; ++i)
        many.pass(frame, 0, End::A, std::to_string(i));
    CHECK(many.injector.evicted() > 0);
}

TEST_CASE("fault: what is not RoCEv2 passes untouched", "[fault]") {
    Wire wire({drop_when({})});
    Frame arp(60);
    arp[12] = std::byte{0x08};
    arp[13] = std::byte{0x06};
    CHECK(wire.pass(arp, 0).untouched);
    CHECK(wire.pass({}, 0).untouched);
    Frame cut = packet("SEND_ONLY", 0);
    cut.resize(50);
    CHECK(wire.pass(cut, 0).untouched);
    CHECK(wire.injector.fired(0).fired == 0);
}

TEST_CASE("fault: a plan that cannot be carried out is refused", "[fault]") {
    const auto refusal = [](Action action) {
        const Rule rule{.action = std::move(action), .line = 4};
        const auto result = check(std::array{rule});
        return result ? std::string("accepted") : result.error();
    };
    CHECK(refusal(Replay{kMaxReplayAge}) == "accepted");
    CHECK(refusal(Replay{kMaxReplayAge + 1}) == "line 4: a replay reaches back 1 to 1024 packets");
    CHECK(refusal(Replay{0}) == "line 4: a replay reaches back 1 to 1024 packets");
    CHECK(refusal(Drop{}) == "accepted");
    CHECK(refusal(Reorder{}) == "accepted");
    CHECK(check(std::vector<Rule>(kMaxRules)));
    CHECK_FALSE(check(std::vector<Rule>(kMaxRules + 1)));
}

} // namespace veriroce::fault::tests
