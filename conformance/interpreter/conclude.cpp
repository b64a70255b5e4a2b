#include "conformance/interpreter/conclude.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/connections.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/host_steps.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/judging.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/patience.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/story.hpp"
#include "conformance/interpreter/walk.hpp"
#include "conformance/interpreter/wire.hpp"
#include "conformance/model/packets.hpp"
#include "conformance/model/shadow.hpp"
#include "conformance/model/visited_states.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::interpreter {
namespace {

bool says_that_qp_failed(engine::EventType type) {
    return type == engine::EventType::LastWqeReached || type == engine::EventType::QpFatal ||
           type == engine::EventType::QpReqErr || type == engine::EventType::QpAccessErr;
}

// Asynchronous events that no line expects. COMM_EST needs no line, nor do those with which a QP
// that is in ERR may say so (N-13, N-16).
Task<Met<>> no_event_left(Interpreter& interpreter) {
    Objects& objects = interpreter.objects();
    co_await collect_events(interpreter, wire::Duration(0), {});
    if (is_unscripted(interpreter)) co_return Met<>{};
    for (const dut::Event& event : objects.events) {
        if (event.type == engine::EventType::CommEst) continue;
        const CaseQp* owner = event.qp ? objects.qp_of_dut(*event.qp) : nullptr;
        if (owner != nullptr && owner->judged) continue;
        if (says_that_qp_failed(event.type) && owner != nullptr) {
            const auto state = co_await state_of_dut(interpreter, *owner, {});
            if (state == engine::QpState::Err || !reports_state(interpreter)) continue;
        }
        const std::string name = event_text(event.type);
        co_return failed(unexpected({}, name, name));
    }
    co_return Met<>{};
}

// Completions that no line expects. Where none needs a line the model judges them: it sees each
// poll. One poll returns a limited number of them.
Task<Met<>> no_completion_left(Interpreter& interpreter, CaseQp& qp) {
    co_await collect_completions(interpreter, qp, wire::Duration(0), {});
    while (!qp.completions.empty()) {
        const dut::Completion& completion = qp.completions.front();
        if (!is_unscripted(interpreter) && !qp.judged) {
            co_return failed(
                unexpected({}, completion_name(completion), completion_text(completion)));
        }
        qp.completions.clear();
        co_await collect_completions(interpreter, qp, wire::Duration(0), {});
    }
    co_return Met<>{};
}

Verdict verdict_of(script::Level level) {
    switch (level) {
    case script::Level::Must: return Verdict::Fail;
    case script::Level::Should: return Verdict::Warn;
    case script::Level::Info: return Verdict::Info;
    }
    return Verdict::Fail;
}

bool speaks_against(const Met<>& outcome) {
    return !outcome &&
           (outcome.error().verdict == Verdict::Fail || outcome.error().verdict == Verdict::Warn);
}

// The case is not for this DUT after all.
void say_nothing(Met<>& outcome, std::string why) {
    Unmet& unmet = outcome.error();
    unmet.verdict = Verdict::Skip;
    unmet.finding = {
        .kind = FindingKind::Unsupported, .line = unmet.finding.line, .detail = std::move(why)};
}

// A packet of ours left late, so a case about time did not test the time that its script names.
void hold_to_own_times(Interpreter& interpreter, Met<>& outcome) {
    if (!speaks_against(outcome) && !(outcome && interpreter.script().tagged("timing"))) return;
    if (auto late = interpreter.clock().own_lateness()) become_error(outcome, std::move(*late));
}

// REQ-02: a case that needs more requests outstanding than the DUT sends says nothing about it.
void hold_to_window(const Objects& objects, Met<>& outcome) {
    if (!speaks_against(outcome)) return;
    for (const auto& [name, qp] : objects.qps) {
        if (!qp.window.helped) continue;
        return say_nothing(outcome, fmt::format("needs more requests outstanding: the DUT waits "
                                                "for an answer after {}",
                                                qp.window.answered));
    }
}

// Whether a line expects that retries are used up.
bool expects_to_give_up(const script::Block& body) {
    const auto given_up = [](const script::StatusMatch& one) {
        const auto* status = std::get_if<engine::WcStatus>(&one);
        return status != nullptr && *status == engine::WcStatus::RetryExcErr;
    };
    bool found = false;
    each_command<script::Done>(body, [&](const script::Done& done, Span /*span*/) {
        found = found || std::ranges::any_of(done.statuses, given_up);
    });
    return found;
}

// TMO-05: a DUT with a timer of its own ends a request that the case leaves unanswered for longer:
// the case says nothing about it.
void hold_to_dut_timer(Interpreter& interpreter, Met<>& outcome) {
    if (!speaks_against(outcome) || !interpreter.environment().early_ack_timer()) return;
    if (expects_to_give_up(interpreter.run().body)) return;
    const bool gave_up = std::ranges::any_of(interpreter.objects().qps, [&](const auto& one) {
        return retries_used_up(interpreter.record(), one.second);
    });
    if (gave_up) {
        say_nothing(outcome, "needs a longer ACK timer: by its own the DUT gave up a request that "
                             "had no answer yet");
    }
}

// A DUT that does not stop sending: a case whose packets were not all recorded has no verdict.
void hold_to_record(const Record& record, Met<>& outcome) {
    if (record.unrecorded() == 0) return;
    become_error(outcome, {.kind = FindingKind::Unplayable,
                           .detail = fmt::format(
                               "the DUT sent {} packets beyond the {} of this case that fill its "
                               "record of {} KiB",
                               record.unrecorded(), record.size(), record.most_bytes() >> 10)});
}

// A fault rule that did not act as often as it must makes the case an ERROR: the case tested
// something else. But if a line was not met, the case ended early, most likely because the DUT did
// not send again: then the unmet line is the finding.
void close_faults(Interpreter& interpreter, Met<>& outcome) {
    interpreter.result().faults = interpreter.wire().fault_counts();
    const bool settled = !outcome && (outcome.error().verdict == Verdict::Skip ||
                                      outcome.error().verdict == Verdict::Error);
    auto idle = interpreter.wire().idle_rule(!outcome);
    if (!idle || settled) return;
    become_error(outcome, {.kind = FindingKind::Unplayable, .detail = std::move(*idle)});
}

// What a device does by design that the case is not for, where the finding looks like that.
struct LooksLike {
    FindingKind kind;
    std::string_view trait;
    std::string_view design;
};
constexpr std::array kLooksLike{
    LooksLike{FindingKind::Unexpected, "buffers_before_rtr", "keeps requests until RTR"},
    LooksLike{FindingKind::Missing, "out_of_order", "accepts packets out of order"},
    LooksLike{FindingKind::Missing, "full_cq_idles", "stops when a completion queue is full"},
};

void name_trait(const script::Case& script, Finding& finding) {
    if (!finding.detail.empty()) return;
    for (const LooksLike& one : kLooksLike) {
        const bool excluded =
            std::ranges::find(script.unless, one.trait, &script::Word::text) != script.unless.end();
        if (one.kind != finding.kind || !excluded) continue;
        finding.detail =
            fmt::format("if the device {} by design, its profile must name the trait {}",
                        one.design, one.trait);
    }
}

// The QPs with the numbers that they have at the end.
std::vector<JudgedQp> last_qps(const Objects& objects, bool early_resends) {
    std::vector<JudgedQp> qps;
    for (const auto& [name, qp] : objects.qps) {
        if (qp.gsi) continue; // no connection
        qps.push_back({.identity = qp.book.identity(),
                       .dut_timeout = qp.timeout,
                       .tester_address = qp.tester_address,
                       .early_resends = early_resends});
    }
    return qps;
}

// From when until when a QP of the DUT was not in RTR or a later state.
struct Deaf {
    dut::QpHandle qp;
    wire::Qpn qpn;
    wire::Instant since;
    wire::Instant until = wire::Instant::max();
};

std::vector<Deaf> deaf_times(const std::vector<CallLog::Logged>& calls) {
    std::vector<Deaf> times;
    for (const CallLog::Logged& logged : calls) {
        const model::Call& call = logged.call;
        if (!call.answer || !*call.answer) continue;
        if (const auto* made = std::get_if<dut::QpCreated>(&**call.answer)) {
            times.push_back({.qp = made->qp, .qpn = made->qpn, .since = call.asked});
        }
        const auto* modify = std::get_if<dut::QpModify>(&call.request);
        if (modify == nullptr) continue;
        const auto last = std::ranges::find(times.rbegin(), times.rend(), modify->qp, &Deaf::qp);
        if (last == times.rend()) continue;
        if (modify->attributes.state == engine::QpState::Rtr)
            last->until = call.asked;
        else if (modify->attributes.state == engine::QpState::Reset)
            times.push_back({.qp = modify->qp, .qpn = last->qpn, .since = call.asked});
    }
    return times;
}

// STA-01, STA-02: what reached a QP before RTR is dropped, and another request may have its PSN
// later. The judge, who knows no states, does not see it. Where it is not known when it reached the
// device, it counts when it left.
void hide_what_was_not_heard(Interpreter& interpreter, std::vector<RecordedPacket>& packets) {
    if (interpreter.environment().trait("buffers_before_rtr")) return;
    const wire::Duration delay = interpreter.environment().path_delay.value_or(wire::Duration(0));
    const std::vector<Deaf> times = deaf_times(interpreter.events().call_log().calls());
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const Entry& entry = interpreter.record()[i];
        if (entry.from != Side::Tester || !entry.packet) continue;
        const wire::Instant at = entry.at.latest + delay;
        const bool unheard = std::ranges::any_of(times, [&](const Deaf& one) {
            return one.qpn == entry.packet->bth.dest_qp && at > one.since && at < one.until;
        });
        if (unheard) packets[i].on_wire = false;
    }
}

// N-05: the packets that the tester sent in a foreign VLAN. The judge, who knows no VLANs, must not
// see them, unless a line failed: a device that took one answers it.
std::vector<std::size_t> foreign_packets(const Record& record, const Environment& environment,
                                         const CaseResult& result) {
    if (!result.findings.empty()) return {};
    const std::uint16_t ours = vlan_id_of(environment.vlan);
    std::vector<std::size_t> foreign;
    for (std::size_t i = 0; i < record.size(); ++i) {
        const Entry& entry = record[i];
        if (entry.from == Side::Tester && vlan_id_of(entry.frame.vlan) != ours)
            foreign.push_back(i);
    }
    return foreign;
}

// The judge reads all QPs with their numbers at the end. It also reads each earlier life of a
// reconnected QP by itself, with the numbers and the packets of that time.
std::vector<Violation> violations(Interpreter& interpreter) {
    const Objects& objects = interpreter.objects();
    const Record& record = interpreter.record();
    const Environment& environment = interpreter.environment();
    const wire::Instant end = interpreter.events().now();
    const bool early = early_resends_pass(interpreter);
    const auto is_of = [&](std::size_t packet, const QpIdentity& life) {
        const Entry& entry = record[packet];
        const wire::Qpn& own = entry.from == Side::Dut ? life.tester_qpn : life.dut_qpn;
        return entry.packet && entry.packet->bth.dest_qp == own;
    };
    std::vector<Violation> all;
    const auto judge = [&](const std::vector<RecordedPacket>& packets,
                           const std::vector<JudgedQp>& qps) {
        auto found = judge_packets(packets, qps, environment, end);
        std::ranges::move(found, std::back_inserter(all));
    };
    const bool in_rts = std::ranges::all_of(objects.qps, [](const auto& one) {
        return one.second.setup.attribute("state") == nullptr; // nor was it ever told to leave
    });
    const auto foreign = foreign_packets(record, environment, interpreter.result());
    if (objects.past.empty() && in_rts && foreign.empty()) { // no need to copy the packets
        judge(interpreter.result().packets, last_qps(objects, early));
        return all;
    }
    std::vector<RecordedPacket> left =
        interpreter.result().packets; // that belong to no earlier life
    hide_what_was_not_heard(interpreter, left);
    for (const std::size_t packet : foreign)
        left[packet].on_wire = false;
    for (const PastQp& past : objects.past) {
        std::vector<RecordedPacket> then = left;
        for (std::size_t i = 0; i < then.size(); ++i) {
            const bool in = i < past.end && is_of(i, past.identity);
            (in ? left : then)[i].on_wire = false;
        }
        judge(then, {{past.identity, past.timeout, past.tester_address, early}});
    }
    judge(left, last_qps(objects, early));
    return all;
}

// Whether the packet was on the wire with a wrong ICRC; what fault rules made of it was not.
bool damaged(const Entry& entry) {
    return entry.from == Side::Dut && entry.on_wire && entry.lost();
}

// Packets with a wrong ICRC. Where the device's own port was recorded, the judge finds them.
std::vector<Violation> wrong_icrcs(const Interpreter& interpreter, const Record& record) {
    if (interpreter.environment().path_delay) return {};
    std::vector<DamagedPacket> packets;
    for (std::size_t i = 0; i < record.size(); ++i) {
        const Entry& entry = record[i];
        if (!damaged(entry)) continue;
        packets.push_back({.packet = i,
                           .cnp = entry.packet && entry.packet->bth.opcode == wire::kCnpOpcode,
                           .found = entry.frame.icrc,
                           .right = wire::icrc(entry.frame.covered())});
    }
    return judge_damage(packets);
}

// A wire that changes bits may make right again what the tester sent with a wrong ICRC: that a
// device took such a packet is no proof by itself.
void doubt_mended_packets(Interpreter& interpreter, std::vector<Violation>& violations) {
    if (interpreter.environment().path_delay) return;
    const Record& record = interpreter.record();
    bool any = false;
    for (std::size_t i = 0; i < record.size() && !any; ++i)
        any = record[i].from == Side::Tester && record[i].lost();
    if (!any) return;
    for (Violation& one : violations) {
        if (one.of_class == rules::FindingClass::Contradiction)
            one.of_class = rules::FindingClass::Absence;
    }
}

model::RegionNames names_of_regions(const Objects& objects) {
    model::RegionNames names;
    for (const Memory& one : objects.regions) {
        if (one.side != Side::Dut) continue;
        names[one.mr] = one.name.empty() ? one.purpose : fmt::format("region '{}'", one.name);
    }
    return names;
}

// What the model finds in memory, completions and events up to now.
const HostLook& look_at_host(Interpreter& interpreter) {
    const Record& record = interpreter.record();
    const CallLog& log = interpreter.events().call_log();
    const wire::Instant now = interpreter.events().now();
    std::optional<HostLook>& last = interpreter.last_look();
    if (!last || !last->still_holds(record, log, now)) {
        last.emplace(HostLook{.story = story_of(interpreter.environment(), record, log, now),
                              .packets = record.size()});
        last->found = model::check_memory(last->story, names_of_regions(interpreter.objects()));
    }
    return *last;
}

// What the model finds in the whole run, whatever the lines named.
std::vector<Violation> deviations(Interpreter& interpreter) {
    const HostLook& look = look_at_host(interpreter);
    std::vector<Violation> found;
    for (const model::Deviation& one : model::check_packets(look.story))
        found.push_back(violation_of(one, look.story.setting));
    for (const model::Deviation& one : look.found)
        found.push_back(violation_of(one, look.story.setting));
    return found;
}

// Whether the model misses something that a device may show later.
bool misses_what_may_come(Interpreter& interpreter) {
    return std::ranges::any_of(look_at_host(interpreter).found, &model::Deviation::may_come);
}

// No line waits for what the model misses, so it may not have been looked for long enough.
Task<Met<>> what_comes_late(Interpreter& interpreter) {
    const bool whole = interpreter.record().unrecorded() == 0;
    if (!whole || !interpreter.environment().judged) co_return Met<>{};
    Patience patience(interpreter);
    while (misses_what_may_come(interpreter)) {
        const bool again = co_await patience.look_again();
        if (!again) break;
        for (auto& [name, qp] : interpreter.objects().qps)
            co_await no_completion_left(interpreter, qp);
        co_await no_event_left(interpreter);
        co_await guards_intact(interpreter);
    }
    co_return Met<>{};
}

// Some devices send another hop limit than the one that was set: that of the route. A question
// about each QP that has one of its own tells the model which one to hold the packets to. A device
// may be unable to say. Where a call costs nothing, each QP is asked: one that is alive must have
// done all that it owes.
Task<void> ask_for_states(Interpreter& interpreter) {
    std::vector<dut::QpHandle> handles{interpreter.objects().own_qp().dut_qp};
    for (const auto& [name, qp] : interpreter.objects().qps) {
        const bool asked =
            interpreter.environment().path_delay || qp.setup.attribute("ttl") != nullptr;
        if (asked && qp.dut_qp != handles.front() && !qp.gsi) handles.push_back(qp.dut_qp);
    }
    for (const dut::QpHandle handle : handles) { // the model reads the answers in the call log
        dut::Request query = dut::QpQuery{.qp = handle};
        co_await interpreter.events().call(std::move(query));
    }
}

} // namespace

Task<Met<>> conclude(Interpreter& interpreter) {
    co_await interpreter.events().sleep(interpreter.clock().now() +
                                        interpreter.environment().settle);
    for (auto& [name, qp] : interpreter.objects().qps) {
        while (co_await obey_refusal(interpreter, qp, {})) {
            co_await interpreter.events().sleep(interpreter.clock().now() +
                                                interpreter.environment().settle);
        }
    }
    for (auto& [name, qp] : interpreter.objects().qps)
        co_await collect_completions(interpreter, qp, wire::Duration(0), {});
    for (auto& [name, qp] : interpreter.objects().qps)
        co_await all_claimed(interpreter, qp);
    co_await no_event_left(interpreter);
    co_await no_connection_event_left(interpreter);
    co_await guards_intact(interpreter);
    co_await ask_for_states(interpreter);
    co_await what_comes_late(interpreter);
    co_return Met<>{};
}

Task<Met<>> all_claimed(Interpreter& interpreter, CaseQp& qp) {
    co_await no_completion_left(interpreter, qp);
    if (is_unscripted(interpreter)) {
        qp.next = qp.heard.size();
        co_return Met<>{};
    }
    for (; qp.next < qp.heard.size(); ++qp.next) {
        const std::size_t index = qp.heard[qp.next];
        if (passes_without_line(interpreter, qp, index)) continue;
        Entry& entry = interpreter.record()[index];
        entry.remarks.emplace_back("no line expects it");
        co_return failed(unexpected_packet(qp, interpreter.record(), index, {}));
    }
    co_return Met<>{};
}

Task<Met<>> hear_who_gave_up(Interpreter& interpreter) {
    if (!interpreter.environment().early_ack_timer()) co_return Met<>{};
    for (auto& [name, qp] : interpreter.objects().qps)
        co_await collect_completions(interpreter, qp, wire::Duration(0), {});
    co_return Met<>{};
}

void judge_outcome(Interpreter& interpreter, Met<> outcome) {
    if (!outcome && outcome.error().verdict == Verdict::Fail && !outcome.error().at_any_level) {
        outcome.error().verdict = verdict_of(interpreter.script().level);
    }
    hold_to_window(interpreter.objects(), outcome);
    hold_to_dut_timer(interpreter, outcome);
    hold_to_own_times(interpreter, outcome);
    hold_to_record(interpreter.record(), outcome);
    close_faults(interpreter, outcome);
    if (outcome) return; // PASS, or the WARN of an alternative
    CaseResult& result = interpreter.result();
    result.verdict = outcome.error().verdict;
    result.findings.assign(1, std::move(outcome.error().finding));
    name_trait(interpreter.script(), result.findings.front());
    std::ranges::move(outcome.error().before, std::back_inserter(result.findings));
    for (Finding& finding : result.findings) {
        if (finding.line == 0 || !finding.expected.empty()) continue;
        finding.expected = interpreter.script().line_text({.line = finding.line});
    }
}

namespace {

std::vector<RecordedQp> recorded_qps(const Objects& objects) {
    std::vector<RecordedQp> qps;
    const auto add = [&](const QpIdentity& identity) {
        qps.push_back({.name = identity.name,
                       .tester = identity.tester_qpn,
                       .dut = identity.dut_qpn,
                       .tester_psn = identity.tester_start,
                       .dut_psn = identity.dut_start});
    };
    for (const PastQp& past : objects.past)
        add(past.identity);
    for (const auto& [name, qp] : objects.qps)
        add(qp.book.identity());
    return qps;
}

} // namespace

void judge_record(Interpreter& interpreter) {
    Record& record = interpreter.record();
    CaseResult& result = interpreter.result();
    record.remark_on_those_not_kept();
    const bool whole = record.unrecorded() == 0; // else it is an ERROR, and nothing is judged
    const std::size_t shown =
        whole ? record.size() : std::min(record.size(), Record::packets_that_show);
    for (std::size_t i = 0; i < shown; ++i) {
        const Entry& entry = record[i];
        if (damaged(entry)) ++result.damaged_packets;
        const CaseQp* qp =
            entry.packet ? interpreter.objects().qp_of_packet(entry.from, entry.packet->bth.dest_qp)
                         : nullptr;
        result.packets.push_back(
            {.from = entry.from,
             .frame = entry.bytes,
             .at = entry.at,
             .script = entry_text(entry, qp == nullptr ? "" : qp->book.identity().name),
             .remarks = entry.remarks,
             .line = entry.line,
             .on_wire = entry.on_wire});
    }
    result.qps = recorded_qps(interpreter.objects());
    result.host = host_steps(interpreter.events().call_log(), interpreter.objects());
    if (whole && interpreter.environment().judged) {
        const std::vector<Violation> judged = violations(interpreter);
        const auto all = std::back_inserter(result.violations);
        std::ranges::copy_if(judged, all, is_icrc_rule, &Violation::rule);
        std::ranges::move(wrong_icrcs(interpreter, record), all);
        std::ranges::copy_if(judged, all, std::not_fn(is_icrc_rule), &Violation::rule);
        std::ranges::move(deviations(interpreter), all);
        doubt_mended_packets(interpreter, result.violations);
        if (interpreter.environment().notes_states)
            result.states = model::visited_states(look_at_host(interpreter).story);
    }
    blame_violations(result);
}

} // namespace veriroce::interpreter
