// What several plays of a case prove together.
#include <catch2/catch.hpp>

#include "conformance/plan/replay.hpp"
#include "conformance/plan/results.hpp"

namespace veriroce::plan::test {

using namespace interpreter;
using rules::FindingClass;

namespace {

constexpr std::size_t packets_of_play = 10;

CaseResult played(Verdict verdict, std::vector<Finding> findings = {}) {
    CaseResult result;
    result.verdict = verdict;
    result.findings = std::move(findings);
    result.packets.resize(packets_of_play);
    return result;
}

CaseResult passed() {
    return played(Verdict::Pass);
}

// A line to which nothing came, by its number.
CaseResult missed(std::uint32_t line, Verdict verdict = Verdict::Fail) {
    return played(verdict, {{.kind = FindingKind::Missing, .line = line, .subject = "ACK"}});
}

CaseResult contradicted() {
    return played(Verdict::Fail, {{.kind = FindingKind::Mismatch,
                                   .line = 3,
                                   .differences = {{"tver", "0", "1"}},
                                   .packet = 1}});
}

CaseResult damaged(Verdict verdict) {
    CaseResult result =
        played(verdict, {{.kind = FindingKind::Violation,
                          .differences = {{"CRC-01",
                                           "it must be 1 (a wire damages packets, but very "
                                           "rarely)",
                                           "2"}},
                          .rules = {"CRC-01"},
                          .known_class = FindingClass::Absence}});
    result.violations = {{.rule = "CRC-01", .packets = {1}, .of_class = FindingClass::Absence}};
    return result;
}

const WireRecord& good_wire() {
    static const WireRecord wire = [] {
        WireRecord made;
        made.add(4000);
        return made;
    }();
    return wire;
}

// Of whose packets 1 % are lost.
WireRecord bad_wire() {
    WireRecord wire;
    for (int i = 0; i < 40; ++i)
        wire.add(100, WireRecord::Disturbance::Lost);
    return wire;
}

// Of whose packets 0.2 % were lost while it was measured.
WireRecord measured_wire() {
    WireRecord wire;
    for (int i = 0; i < 8; ++i)
        wire.add_probe(500, WireRecord::Disturbance::Lost);
    return wire;
}

// Takes as many plays as it needs; the last one is played again and again.
struct Settled {
    CaseResult result;
    std::size_t plays = 0;
};
Settled settled(const std::vector<CaseResult>& plays, const WireRecord& wire = good_wire()) {
    Replay replay(wire);
    std::size_t used = 0;
    while (!replay.settled()) {
        replay.add(plays[std::min(used, plays.size() - 1)]);
        REQUIRE(++used <= Replay::kMostPlays);
    }
    return {replay.take_result(), used};
}

} // namespace

TEST_CASE("replay: what shows in two plays of three counts", "[plan]") {
    const Settled twice = settled({missed(7), missed(7)});
    CHECK(twice.result.verdict == Verdict::Fail);
    CHECK(twice.result.seen_text() == "seen in 2 of 2 plays");
    CHECK(twice.plays == 2);
    const Settled not_always = settled({missed(7), passed(), missed(7)});
    CHECK(not_always.result.verdict == Verdict::Fail);
    CHECK(not_always.result.seen_text() == "seen in 2 of 3 plays");
    REQUIRE(not_always.result.other_plays.size() == 2);
    CHECK(not_always.result.other_plays.front().verdict == Verdict::Pass);
    CHECK(not_always.result.other_plays.front().packets.size() == packets_of_play);
    CHECK(settled({missed(7, Verdict::Warn)}).result.verdict == Verdict::Warn);
}

TEST_CASE("replay: what shows in one play of three is not repeatable", "[plan]") {
    const Settled once = settled({missed(7), passed()});
    CHECK(once.result.verdict == Verdict::Error);
    CHECK(once.plays == 3);
    REQUIRE(once.result.findings.size() == 2);
    CHECK(once.result.findings.front().kind == FindingKind::NotRepeatable);
    CHECK(once.result.reason() ==
          "not repeatable: seen in 1 of 3 plays; there: line 7: expected ACK, got nothing");
    CHECK(once.result.other_plays.size() == 2);
    // Another line each time: a device that is wrong is wrong in one way.
    CHECK(settled({missed(7), missed(8), missed(9)}).result.verdict == Verdict::Error);
}

TEST_CASE("replay: a contradiction counts in one play, and is told as such", "[plan]") {
    const Settled once = settled({contradicted(), passed()});
    CHECK(once.result.verdict == Verdict::Fail);
    CHECK(once.result.seen_text() == "seen in 1 of 3 plays");
    const Settled later = settled({missed(7), contradicted(), passed()});
    CHECK(later.result.verdict == Verdict::Fail);
    CHECK(later.result.line() == 3);
    CHECK(settled({contradicted()}).result.seen_text() == "seen in 3 of 3 plays");
}

TEST_CASE("replay: a violation that no loss explains counts beside a line that one explains",
          "[plan]") {
    CaseResult play = missed(7);
    play.violations = {{.rule = "BTH-01", .certain = true, .packets = {1}}};
    CHECK(settled({play, passed()}).result.verdict == Verdict::Fail);
    play.violations.front().of_class = FindingClass::Absence;
    CHECK(settled({play, passed()}).result.verdict == Verdict::Error);
}

TEST_CASE("replay: a wrong ICRC in two plays is the device's doing", "[plan][CRC-01]") {
    const Settled once = settled({damaged(Verdict::Warn), passed()});
    CHECK(once.result.verdict == Verdict::Error);
    const Settled twice = settled({damaged(Verdict::Warn), passed(), damaged(Verdict::Warn)});
    CHECK(twice.result.verdict == Verdict::Fail);
    CHECK(twice.result.violations.front().certain);
    CHECK(twice.result.reason().find("rarely") == std::string::npos);
}

TEST_CASE("replay: a wire that loses packets takes more plays", "[plan]") {
    const Settled always = settled({missed(7)}, bad_wire());
    CHECK(always.result.verdict == Verdict::Fail);
    CHECK(always.plays > 4);
    CHECK(always.result.seen_in == always.plays);
    CHECK(settled({missed(7), passed(), missed(7), passed()}, bad_wire()).result.verdict ==
          Verdict::Error);
    // Of packets that are all alike not each one counts.
    CaseResult endless = missed(7);
    endless.packets.assign(800, {.from = Side::Dut, .script = "< SEND_ONLY psn=0"});
    CHECK(settled({endless}, bad_wire()).result.verdict == Verdict::Fail);
    // But where the tester asks for each again, each may be lost.
    for (std::size_t i = 0; i < endless.packets.size(); i += 2)
        endless.packets[i] = {.from = Side::Tester, .script = "> RNR_NAK psn=0"};
    CHECK(settled({endless}, bad_wire()).result.verdict == Verdict::Error);
    // A request and its answer: the answer that did not come was at risk, too.
    WireRecord damaging;
    for (int i = 0; i < 8; ++i)
        damaging.add_probe(1'000, WireRecord::Disturbance::Damaged);
    CaseResult unanswered = missed(7);
    unanswered.packets.assign(1, {.from = Side::Tester});
    const Settled request = settled({unanswered}, damaging);
    CHECK(request.result.verdict == Verdict::Fail);
    CHECK(request.plays == 4);
    WireRecord worse;
    for (int i = 0; i < 80; ++i)
        worse.add_probe(100, WireRecord::Disturbance::Damaged);
    CHECK(settled({unanswered}, worse).plays == 5);
    // Where the wire explains everything nothing counts.
    WireRecord unknown;
    const Settled never = settled({missed(7)}, unknown);
    CHECK(never.result.verdict == Verdict::Error);
    CHECK(never.plays == Replay::kMostPlays);
    CHECK(never.result.reason().find("which explains as much") != std::string::npos);
}

TEST_CASE("replay: on a wire that probes saw lose packets, enough passes clear the device",
          "[plan]") {
    const Settled once = settled({missed(7), passed()}, measured_wire());
    CHECK(once.result.verdict == Verdict::Pass);
    CHECK(once.result.findings.empty());
    CHECK(once.result.seen_in == 0);
    CHECK(once.plays == 6);
    REQUIRE(once.result.other_plays.size() == 5);
    CHECK(once.result.other_plays.front().verdict == Verdict::Fail); // its packets are kept
    const Settled twice = settled({missed(7), missed(8), passed()}, measured_wire());
    CHECK(twice.result.verdict == Verdict::Pass);
    CHECK(twice.plays == 9);
    // A play that failed elsewhere, later in a long case, is a pass here. One of the end is not.
    const auto at = [](std::size_t sent) {
        CaseResult play = missed(7);
        play.packets.assign(sent, {.from = Side::Tester});
        return play;
    };
    const Settled far = settled({at(10), at(600), at(300), passed()}, measured_wire());
    CHECK(far.result.verdict == Verdict::Pass);
    CHECK(far.plays == 8); // five passes after the one that failed last
    CHECK(settled({at(300), at(306), at(600), passed()}, measured_wire()).plays == 9);
    // The pass is told, even if another play comes last.
    const WireRecord wire = measured_wire();
    Replay replay(wire);
    for (const CaseResult& play : {passed(), played(Verdict::Error)})
        replay.add(play);
    CHECK(replay.take_result().verdict == Verdict::Pass);
}

TEST_CASE("replay: passes clear no device that fails more often than the wire makes it", "[plan]") {
    // Every other play.
    std::vector<CaseResult> half;
    for (std::size_t i = 0; i < Replay::kMostPlays; ++i)
        half.push_back(i % 2 == 0 ? missed(7) : passed());
    const Settled in_turn = settled(half, measured_wire());
    CHECK(in_turn.result.verdict == Verdict::Fail);
    CHECK(in_turn.plays == 13);
    // Every fifth one, of two packets each: the wire disturbs 4 in 1000.
    std::vector<CaseResult> fifth(Replay::kMostPlays, passed());
    for (std::size_t i = 0; i < fifth.size(); ++i) {
        if (i % 5 == 0) fifth[i] = missed(7);
        fifth[i].packets.resize(2);
    }
    CHECK(settled(fifth, measured_wire()).result.verdict == Verdict::Error);
    // What no lost packet explains counts all the same.
    CHECK(settled({missed(7), contradicted(), passed()}, measured_wire()).result.verdict ==
          Verdict::Fail);
    CHECK(settled({missed(7)}, measured_wire()).result.verdict == Verdict::Fail);
    // Losses that cases alone showed may be the device's.
    WireRecord unmeasured;
    for (int i = 0; i < 8; ++i)
        unmeasured.add(500, WireRecord::Disturbance::Lost);
    CHECK(settled({missed(7), passed()}, unmeasured).result.verdict == Verdict::Error);
}

TEST_CASE("replay: packets that come twice are counted one by one", "[plan]") {
    WireRecord wire;
    for (int i = 0; i < 10; ++i)
        wire.add_copies(400, 4);
    CHECK(wire.probed() == 4000);
    CHECK(wire.is_bad());
    CHECK(wire.share() == Approx(0.01).epsilon(0.05));
    CHECK(wire.probes_text() == "40 of 4000 packets of a probe");
    // A device that says everything twice makes no bad wire, but its copies count as disturbances.
    WireRecord twice;
    for (int i = 0; i < 10; ++i)
        twice.add_copies(400, 200);
    CHECK_FALSE(twice.is_bad());
    CHECK(twice.disturbed() == 10);
    WireRecord quiet;
    quiet.add_copies(400, 0);
    CHECK_FALSE(quiet.is_bad());
    CHECK(quiet.disturbed() == 0);
}

TEST_CASE("replay: what the tester could not do, it tries once more", "[plan]") {
    const CaseResult failed =
        played(Verdict::Error, {{.kind = FindingKind::Unplayable, .detail = "it never fired"}});
    CHECK(Replay::needed_for(failed));
    const Settled then = settled({failed, passed()});
    CHECK(then.result.verdict == Verdict::Pass);
    CHECK(then.plays == 2);
    CHECK(then.result.seen_in == 0);
    const Settled again = settled({failed});
    CHECK(again.result.verdict == Verdict::Error);
    CHECK(again.plays == 2);
    CHECK_FALSE(is_not_repeatable(again.result));
}

TEST_CASE("replay: a device that does not answer is not asked again", "[plan]") {
    CaseResult dead = missed(7);
    dead.findings.insert(dead.findings.begin(), {.kind = FindingKind::Unanswering});
    CHECK_FALSE(Replay::needed_for(dead));
    CHECK_FALSE(Replay::needed_for(passed()));
    CHECK(Replay::needed_for(missed(7, Verdict::Warn)));
    // It died in the second play: that one is told.
    Replay replay(good_wire());
    replay.add(missed(7));
    replay.add(dead);
    CHECK(replay.take_result().findings.front().kind == FindingKind::Unanswering);
}

TEST_CASE("replay: the wire is known by the plays that a device does not decide", "[plan]") {
    const auto told = [](const std::vector<CaseResult>& plays) {
        WireRecord wire = good_wire();
        Replay replay(wire);
        for (const CaseResult& play : plays)
            replay.add(play);
        static_cast<void>(replay.take_result());
        replay.tell(wire);
        return wire;
    };
    CHECK(told({missed(7), passed(), passed()}).disturbed() == 1);
    CHECK(told({missed(7), missed(7)}).disturbed() == 0);
    CHECK(told({missed(7), missed(7)}).packets() == good_wire().packets());
    CHECK(good_wire().chance(2, 2, 10) < 1e-4);
    CHECK(good_wire().chance(3, 0, 10) == Approx(1));
    CHECK(bad_wire().chance(2, 2, 10) > 5e-3);
    // A device that damages most of its packets must not pass for a wire that does.
    WireRecord damaging;
    for (int i = 0; i < 1000; ++i)
        damaging.add(4, WireRecord::Disturbance::Damaged);
    CHECK(damaging.share() < 1e-3);
    CHECK(damaging.disturbed() == 0);
    // Nor one of which the probes show no damage, however little it damages.
    WireRecord damaged;
    for (int i = 0; i < 10; ++i)
        damaged.add(100, WireRecord::Disturbance::Damaged);
    CHECK(damaged.share() < 1.1e-3);
    CHECK(damaged.disturbed() == 0);
    damaged.add_probe(100, WireRecord::Disturbance::Damaged);
    CHECK(damaged.share() == Approx(0.02).epsilon(0.1));
    CHECK(damaged.disturbed() == 11);
    CHECK(WireRecord().share() == 1);
}

// A case in which no two packets can be mistaken passes, whatever overtakes what.
TEST_CASE("replay: what passes does not hide what probes tell of the wire", "[plan]") {
    WireRecord wire;
    for (int i = 0; i < 20; ++i)
        wire.add_probe(200, WireRecord::Disturbance::Lost);
    wire.add(100'000);
    CHECK(wire.probed() == 4000);
    CHECK(wire.packets() == 104'000);
    CHECK(wire.share() == Approx(0.00525).epsilon(0.01));
    CHECK(settled({missed(7), missed(7), passed()}, wire).plays > Replay::kPlays);
    // Probes that saw nothing say nothing new.
    WireRecord good = good_wire();
    good.add_probe(10);
    CHECK(good.share() == Approx(1.0 / 4011));
}

// The case has hundreds of packets, and 2 % are lost: it never comes to its end.
TEST_CASE("replay: plays that end at different places are more likely the wire's doing", "[plan]") {
    WireRecord wire;
    for (int i = 0; i < 80; ++i)
        wire.add_probe(50, WireRecord::Disturbance::Lost);
    std::vector<CaseResult> plays;
    for (const std::size_t packets : {14U, 3U, 9U, 13U, 6U, 11U, 4U, 12U, 8U, 10U, 5U, 14U, 7U}) {
        plays.push_back(missed(7));
        plays.back().packets.resize(packets);
    }
    CHECK(settled(plays, wire).result.verdict == Verdict::Error);
    CHECK(settled({missed(7)}, wire).result.verdict == Verdict::Fail); // always at the same place
}

TEST_CASE("replay: what a device lacked while a case was played is looked for again", "[plan]") {
    const CaseResult skipped =
        played(Verdict::Skip, {{.kind = FindingKind::Unsupported, .detail = "needs more"}});
    CHECK(Replay::needed_for(skipped));
    CHECK(settled({skipped, passed()}).result.verdict == Verdict::Pass);
    const Settled lacking = settled({skipped});
    CHECK(lacking.result.verdict == Verdict::Skip);
    CHECK(lacking.plays == 2);
    CaseResult unplayed = skipped; // the plan knew it before
    unplayed.packets.clear();
    CHECK_FALSE(Replay::needed_for(unplayed));
    WireRecord wire = good_wire();
    Replay replay(wire);
    replay.add(skipped);
    replay.add(skipped);
    static_cast<void>(replay.take_result());
    replay.tell(wire);
    CHECK(wire.disturbed() == 0);
}

TEST_CASE("finding: what no lost packet explains", "[interpreter]") {
    const auto with = [](std::string field, std::optional<std::size_t> packet) {
        return Finding{.kind = FindingKind::Mismatch,
                       .differences = {{.field = std::move(field), .expected = "1", .actual = "2"}},
                       .packet = packet};
    };
    CHECK(class_of(with("tver", 0)) == FindingClass::Contradiction);
    CHECK(class_of(with("tver", std::nullopt)) == FindingClass::Absence);
    for (const auto* field : {"psn", "msn", "packet", "syndrome", "data", "len", "ip.ttl", "icrc"})
        CHECK(class_of(with(field, 0)) == FindingClass::Absence);
    Finding damaged = with("tver", 0);
    damaged.differences.push_back({.field = "icrc", .expected = "good", .actual = "bad"});
    CHECK(class_of(damaged) == FindingClass::Absence);
    // A datagram to another peer that came once more differs in more than the address.
    Finding another = with("ip.dst", 0);
    CHECK(class_of(another) == FindingClass::Contradiction);
    another.differences.push_back({.field = "mad.transactionid", .expected = "2", .actual = "1"});
    CHECK(class_of(another) == FindingClass::Absence);
    CHECK(class_of({.kind = FindingKind::Unexpected}) == FindingClass::Surplus);
    CHECK(class_of({.kind = FindingKind::Violation, .known_class = FindingClass::Contradiction}) ==
          FindingClass::Contradiction);
    // Two plays never agree in times, and need not in values.
    Finding one = with("msn", 0);
    Finding other = with("msn", 5);
    other.differences.front().actual = "7";
    other.time = std::chrono::seconds(1);
    CHECK(signature_of(one) == signature_of(other));
    other.line = 9;
    CHECK(signature_of(one) != signature_of(other));
    // But a device goes wrong at one packet.
    Finding place = with("psn", 3);
    CHECK(signature_of(place) == signature_of(with("psn", 3)));
    place.differences.front().expected = "4";
    CHECK(signature_of(place) != signature_of(with("psn", 3)));
}

} // namespace veriroce::plan::test
