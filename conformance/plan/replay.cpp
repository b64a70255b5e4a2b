#include "conformance/plan/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/judging.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using rules::FindingClass;

namespace {

// Findings that the wire explains with this probability are not blamed on the device: where it has
// never been seen to lose a packet, and where it has.
constexpr double kChanceOnGoodWire = 1e-3;
constexpr double kChanceOnBadWire = 1e-8;

// A bad wire is to blame for the plays that do not pass only if both hold: a defect that shows in
// every other play would hardly show this seldom (at most the first probability), and the wire may
// well disturb as many plays (at least the second). One failure takes five passes, two take seven.
constexpr double kChanceOfHalfADefect = 0.11;
constexpr double kChanceOfBadWire = 0.05;

// No wire damages more of the packets than this: then it is the device.
constexpr double kMostDamage = 0.04;
// Nor does it repeat more.
constexpr double kMostCopies = 0.04;

bool blames(const CaseResult& result) {
    return result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
}

bool passes(const CaseResult& result) {
    return result.verdict == Verdict::Pass || result.verdict == Verdict::Info;
}

bool is_contradiction(const Finding& finding) {
    return class_of(finding) == FindingClass::Contradiction;
}

bool contradicts(const CaseResult& result) {
    return blames(result) && std::ranges::any_of(result.findings, is_contradiction);
}

bool shows(const CaseResult& result, const std::string& signature) {
    return blames(result) && std::ranges::any_of(result.findings, [&](const Finding& one) {
               return signature_of(one) == signature;
           });
}

// How probable it is that something happens at least `least` times in `times`, if it happens in
// each with this share.
double chance_of_at_least(std::uint64_t least, std::uint64_t times, double share) {
    double sum = 0;
    double ways = 1; // to choose `some` of `times`
    for (std::uint64_t some = 0; some <= times; ++some) {
        if (some >= least) {
            sum += ways * std::pow(share, static_cast<double>(some)) *
                   std::pow(1 - share, static_cast<double>(times - some));
        }
        ways = ways * static_cast<double>(times - some) / static_cast<double>(some + 1);
    }
    return sum;
}

// How far a play came: the packets that the tester sent.
std::uint64_t place_of(const CaseResult& play) {
    return static_cast<std::uint64_t>(std::ranges::count(play.packets, interpreter::Side::Tester,
                                                         &interpreter::RecordedPacket::from));
}

// Whether two plays ended at one place: resends move it a little.
bool near(std::uint64_t one, std::uint64_t other) {
    const auto [less, more] = std::minmax(one, other);
    return more - less <= 4 + less / 16;
}

// How many packets of a play the wire could have disturbed to this effect. A device that repeats
// one for ever, while the tester says nothing, must not hide behind the many that could get lost.
std::uint64_t packets_at_risk_in(const CaseResult& play) {
    constexpr std::uint64_t most_alike = 16;
    std::uint64_t packets = 0;
    std::uint64_t alike = 0; // in a row
    std::string_view before;
    for (const interpreter::RecordedPacket& packet : play.packets) {
        const bool again = packet.from == interpreter::Side::Dut && packet.script == before;
        alike = again ? alike + 1 : 1;
        if (alike <= most_alike) ++packets;
        before = packet.script;
    }
    return packets;
}

bool is_damage(const Finding& finding) {
    return finding.kind == FindingKind::Violation &&
           interpreter::is_icrc_rule(finding.rules.front());
}

} // namespace

// --- the wire ---------------------------------------------------------------------------------

void WireRecord::Count::add(std::uint64_t more, Disturbance disturbance) {
    packets += more;
    if (disturbance == Disturbance::Lost) ++lost;
    if (disturbance == Disturbance::Damaged) ++damaged;
}

std::uint64_t WireRecord::Count::disturbed(bool damages) const {
    const double share = static_cast<double>(damaged) / static_cast<double>(packets + 1);
    return lost + (damages && share <= kMostDamage ? damaged : 0);
}

double WireRecord::Count::share(bool damages) const {
    return std::min(1.0,
                    static_cast<double>(disturbed(damages) + 1) / static_cast<double>(packets + 1));
}

void WireRecord::add(std::uint64_t packets, Disturbance disturbance) {
    all_.add(packets, disturbance);
}

void WireRecord::add_probe(std::uint64_t packets, Disturbance disturbance) {
    all_.add(packets, disturbance);
    probes_.add(packets, disturbance);
}

void WireRecord::add_copies(std::uint64_t packets, std::uint64_t copies) {
    const double share = static_cast<double>(copies) / static_cast<double>(packets + 1);
    if (share > kMostCopies) { // more likely the device's doing: it makes no wire a bad one
        all_.add(packets, Disturbance::Lost);
        probes_.add(packets, Disturbance::None);
        return;
    }
    add_probe(packets);
    for (std::uint64_t i = 0; i < copies; ++i)
        add_probe(0, Disturbance::Lost);
}

std::string WireRecord::probes_text() const {
    return fmt::format("{} of {} packets of a probe", probes_.disturbed(true), probes_.packets);
}

double WireRecord::share() const {
    const double all = all_.share(damages());
    return is_bad() ? std::max(all, probes_.share(true)) : all;
}

WireRecord::Disturbance disturbance_of(const CaseResult& play) {
    return play.damaged_packets > 0 ? WireRecord::Disturbance::Damaged
                                    : WireRecord::Disturbance::Lost;
}

double WireRecord::chance(std::uint64_t plays, std::uint64_t disturbed,
                          std::uint64_t packets) const {
    const double share_of_play =
        1 - std::pow(1 - share(), static_cast<double>(std::max(packets, 1UL)));
    return chance_of_at_least(disturbed, plays, share_of_play);
}

// --- the plays --------------------------------------------------------------------------------

bool Replay::needed_for(const CaseResult& result) {
    const bool final = std::ranges::any_of(result.findings, [](const Finding& one) {
        return one.kind == FindingKind::Unanswering || one.kind == FindingKind::Internal ||
               one.kind == FindingKind::Interrupted;
    });
    // What the device seemed to lack while a case was played, it may have lacked because of a loss.
    const bool lacked = result.verdict == Verdict::Skip && !result.packets.empty();
    return !final && (blames(result) || result.verdict == Verdict::Error || lacked);
}

void Replay::add(CaseResult result) {
    if (blames(result)) interpreter::tell_contradictions(result);
    plays_.push_back(std::move(result));
}

bool Replay::settled() const {
    return decision() != Decision::Open;
}

bool Replay::cleared() const {
    return decision() == Decision::Clean && std::ranges::any_of(plays_, blames);
}

std::size_t Replay::clean() const {
    return static_cast<std::size_t>(std::ranges::count_if(plays_, passes));
}

Replay::Seen Replay::most_seen() const {
    const bool proven = std::ranges::any_of(plays_, contradicts);
    Seen most;
    for (std::size_t i = 0; i < plays_.size(); ++i) {
        if (!blames(plays_[i])) continue;
        for (const Finding& finding : plays_[i].findings) {
            if (proven && !is_contradiction(finding)) continue;
            std::string signature = signature_of(finding);
            const auto plays = static_cast<std::size_t>(std::ranges::count_if(
                plays_, [&](const CaseResult& one) { return shows(one, signature); }));
            if (plays > most.plays) most = {i, plays, std::move(signature)};
        }
    }
    return most;
}

std::uint64_t Replay::packets_at_risk() const {
    std::uint64_t packets = 0;
    std::uint64_t all = 0;
    std::uint64_t fewest =
        std::numeric_limits<std::uint64_t>::max(); // of a play that does not pass
    for (const CaseResult& play : plays_) {
        const std::uint64_t risky = packets_at_risk_in(play);
        packets = std::max(packets, risky);
        all += risky;
        if (!passes(play)) fewest = std::min(fewest, risky);
    }
    // A long case ends at the first lost packet, each time at another one, and the packets after it
    // were at risk as well. A defect of the device ends the case at the same place each time.
    return packets > 2 * fewest ? all : packets;
}

// What did not come was at risk as well.
bool Replay::wire_explains() const {
    const double chance =
        wire_.chance(plays_.size(), plays_.size() - clean(), packets_at_risk() + 1);
    return chance > (wire_.disturbed() == 0 ? kChanceOnGoodWire : kChanceOnBadWire);
}

bool Replay::cleared_by(std::size_t more_passes) const {
    const std::size_t passed = clean() + more_passes;
    return std::ranges::all_of(plays_, [&](const CaseResult& failed) {
        if (passes(failed)) return true;
        const std::uint64_t place = place_of(failed);
        std::size_t here = 0;
        std::size_t beyond = passed;
        for (const CaseResult& play : plays_) {
            if (passes(play)) continue;
            if (near(place_of(play), place)) {
                ++here;
            } else if (place_of(play) > place) {
                ++beyond;
            }
        }
        return chance_of_at_least(beyond, here + beyond, 0.5) <= kChanceOfHalfADefect;
    });
}

bool Replay::wire_is_to_blame() const {
    const std::size_t plays = plays_.size();
    const std::size_t spoiled = plays - clean();
    if (!wire_.is_bad() || !cleared_by(0)) return false;
    // Not the first one: every run of the suite has a chance to be played again for it.
    return wire_.chance(plays - 1, spoiled - 1, packets_at_risk()) >= kChanceOfBadWire;
}

Replay::Decision Replay::decision() const {
    const std::size_t plays = plays_.size();
    if (plays == 0) return Decision::Open;
    if (std::ranges::any_of(plays_, contradicts)) {
        return plays < kPlays ? Decision::Open : Decision::Blamed;
    }
    if (std::ranges::none_of(plays_, blames)) {
        if (clean() > 0) return Decision::Clean;
        return plays < 2 ? Decision::Open : Decision::Unjudged;
    }
    const std::size_t seen = most_seen().plays;
    const bool most = seen >= 2 && 2 * seen > plays;
    if (most && !wire_explains()) return Decision::Blamed;
    if (plays < kPlays) return Decision::Open;
    if (wire_is_to_blame()) return Decision::Clean;
    if (plays >= kMostPlays) return Decision::NotRepeatable;
    const bool may_clear = wire_.is_bad() && cleared_by(kMostPlays - plays);
    return most || may_clear ? Decision::Open : Decision::NotRepeatable;
}

CaseResult Replay::take_result() {
    Decision decided = decision();
    if (decided == Decision::Open) { // the device or the way to it is gone
        const bool proven = std::ranges::any_of(plays_, contradicts);
        decided = proven ? Decision::Blamed : Decision::Unjudged;
    }
    const Seen seen = most_seen();
    std::size_t chosen = plays_.size() - 1; // an ERROR again
    if (decided == Decision::Clean) {
        const auto last = std::ranges::find_if(plays_.rbegin(), plays_.rend(), passes);
        chosen = static_cast<std::size_t>(plays_.rend() - last) - 1;
    }
    if (decided == Decision::Blamed || decided == Decision::NotRepeatable) chosen = seen.play;
    const auto damaged = std::ranges::count_if(plays_, [](const CaseResult& play) {
        return blames(play) && std::ranges::any_of(play.findings, is_damage);
    });
    const bool damage = decided == Decision::Blamed && damaged >= 2 &&
                        std::ranges::any_of(plays_[chosen].findings, is_damage);
    for (const CaseResult& play : plays_) {
        if (passes(play)) {
            told_.push_back({play.packets.size(), WireRecord::Disturbance::None});
        } else if (decided != Decision::Blamed && play.verdict != Verdict::Skip) {
            told_.push_back({play.packets.size(), disturbance_of(play)});
        }
    }
    CaseResult result = std::move(plays_[chosen]);
    for (std::size_t i = 0; i < plays_.size(); ++i) {
        if (i == chosen) continue;
        result.other_plays.push_back({.verdict = plays_[i].verdict,
                                      .findings = std::move(plays_[i].findings),
                                      .packets = std::move(plays_[i].packets),
                                      .capture = {}});
    }
    if (decided == Decision::Clean || decided == Decision::Unjudged) return result;
    result.seen_in = static_cast<std::uint32_t>(seen.plays);
    if (damage) interpreter::make_damage_certain(result);
    if (decided == Decision::Blamed) return result;
    std::string why = fmt::format("not repeatable: {}", result.seen_text());
    if (2 * seen.plays > result.other_plays.size() + 1) {
        why += fmt::format(", but about {:.1f} % of the packets are lost or changed on the way, "
                           "which explains as much",
                           100 * wire_.share());
    }
    result.verdict = Verdict::Error;
    result.findings.insert(result.findings.begin(),
                           Finding{.kind = FindingKind::NotRepeatable, .detail = std::move(why)});
    return result;
}

void Replay::tell(WireRecord& wire) const {
    for (const Told& one : told_)
        wire.add(one.packets, one.disturbance);
}

} // namespace veriroce::plan
