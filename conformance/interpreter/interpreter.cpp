#include "conformance/interpreter/interpreter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/judging.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {

Interpreter::Interpreter(const script::Case& script, const script::Run& run,
                         const Environment& environment)
    : script_(script), run_(run), environment_(environment),
      events_([this](wire::Bytes frame, Interval at) { hear(frame, at); }),
      faults_(environment.seed, environment.settle) {
    result_.id = script.id() + run.suffix;
    result_.title = run.title;
    result_.level = script.level;
    result_.file = script.path;
    for (const script::Word& rule : script.rules)
        result_.rules.push_back(rule.text);
    result_.verdict = Verdict::Pass;
    for (const fault::Rule& rule : environment.plan.rules)
        faults_.add(rule);
    for (std::size_t i = 0; i < script.tester_addresses.size(); ++i) {
        if (i == environment.tester.spare.size()) break;
        environment_.tester.named[script.tester_addresses[i].text] = environment.tester.spare[i];
    }
}

void Interpreter::start(wire::Instant now) {
    events_.advance(now);
    play_ = play();
    play_.start();
}

void Interpreter::advance(wire::Instant now) {
    events_.advance(now);
    if (engine_ && engine_->next_timeout() && *engine_->next_timeout() <= now) {
        engine_->handle_timeout(now);
        pump_engine();
    }
    release_delayed();
}

std::optional<wire::Instant> Interpreter::deadline() const {
    std::optional<wire::Instant> earliest = events_.deadline();
    if (!delayed_.empty() && (!earliest || delayed_.begin()->first < *earliest)) {
        earliest = delayed_.begin()->first;
    }
    const auto held = faults_.next_release();
    if (held && (!earliest || *held < *earliest)) earliest = held;
    if (engine_) {
        const auto engine = engine_->next_timeout();
        if (engine && (!earliest || *engine < *earliest)) earliest = engine;
    }
    return earliest;
}

// --- the play ---------------------------------------------------------------------------------

Task<void> Interpreter::play() {
    Met<> outcome;
    try {
        outcome = co_await play_all();
    } catch (const std::exception& escaped) { // a mistake of ours: one case is lost, not the run
        outcome = std::unexpected(error({}, fmt::format("the harness failed: {}", escaped.what())));
    }
    hold_to_own_times(outcome);
    hold_to_record(outcome);
    close_faults(outcome);
    conclude_with(outcome);
    // All that the case made at the DUT goes, whatever the outcome.
    dut::Request reset = dut::Reset{};
    const dut::Answer gone = co_await events_.call(std::move(reset));
    if (!gone && result_.verdict == Verdict::Pass) {
        result_.become(Verdict::Error, FindingKind::Refused, refusal_text(gone.error()));
    }
}

Task<Met<>> Interpreter::play_all() {
    Met<> met = co_await connect();
    if (!met) co_return met;
    met = co_await block(run_.body);
    if (!met) co_return met;
    met = co_await conclude();
    co_return met;
}

Task<Met<>> Interpreter::block(const script::Block& statements) {
    for (const script::Statement& one : statements) {
        const Met<> met = co_await statement(one);
        if (!met) co_return met;
    }
    co_return Met<>{};
}

Task<Met<>> Interpreter::statement(const script::Statement& statement) {
    const script::SourceSpan span = statement.span;
    Met<> met;
    if (const auto* packet = std::get_if<script::SendPacket>(&statement.node)) {
        met = co_await send(*packet, span);
    } else if (const auto* expected = std::get_if<script::ExpectPacket>(&statement.node)) {
        met = co_await expect(*expected, span);
    } else if (const auto* side = std::get_if<script::SideCommand>(&statement.node)) {
        met = co_await command(*side, span);
    } else if (const auto* fault = std::get_if<script::FaultLine>(&statement.node)) {
        faults_.add(fault->rule);
    } else if (const auto* region = std::get_if<script::ExpectRegion>(&statement.node)) {
        met = co_await expect_region(*region, span);
    } else if (const auto* unwanted = std::get_if<script::No>(&statement.node)) {
        met = co_await no(*unwanted, span);
    } else if (const auto* silence = std::get_if<script::Quiet>(&statement.node)) {
        met = co_await quiet(*silence, span);
    } else if (const auto* drop = std::get_if<script::Dropped>(&statement.node)) {
        met = co_await dropped(*drop, span);
    } else if (const auto* free = std::get_if<script::Judged>(&statement.node)) {
        met = co_await judged(*free, span);
    } else if (const auto* raw = std::get_if<script::SendRaw>(&statement.node)) {
        met = send_raw(*raw);
    } else if (const auto* piece = std::get_if<script::SendFragment>(&statement.node)) {
        met = send_fragment(*piece, span);
    } else if (const auto* pause_frame = std::get_if<script::SendPfc>(&statement.node)) {
        met = send_pfc(*pause_frame, span);
    } else if (const auto* wait = std::get_if<script::Wait>(&statement.node)) {
        const auto time = number(wait->time, peers_.begin()->second);
        if (!time) co_return std::unexpected(time.error());
        met = co_await pause(wire::Duration(*time));
    } else if (const auto* choice = std::get_if<script::AnyBlock>(&statement.node)) {
        met = co_await any(*choice, span);
    } else if (const auto* set = std::get_if<script::Unordered>(&statement.node)) {
        met = co_await unordered(*set, span);
    } else if (const auto* loop = std::get_if<script::Repeat>(&statement.node)) {
        met = co_await repeat(*loop, span);
    } else {
        met = std::unexpected(error(span, "the interpreter cannot carry out this line yet"));
    }
    co_return met;
}

// After the last line: whatever came and belongs to no line must be lawful without one.
Task<Met<>> Interpreter::conclude() {
    const wire::Instant until = events_.now() + environment_.settle;
    co_await events_.sleep(until);
    for (auto& [name, peer] : peers_) {
        const Met<> polled = co_await collect_completions(peer, wire::Duration(0), {});
        if (!polled) co_return polled;
    }
    for (auto& [name, peer] : peers_) {
        const Met<> claimed = co_await all_claimed(peer);
        if (!claimed) co_return claimed;
    }
    const Met<> expected = co_await no_event_left();
    if (!expected) co_return expected;
    const Met<> guarded = co_await guards_intact();
    co_return guarded;
}

// Asynchronous events that no line expects. COMM_EST needs no line, nor need those with which a QP
// that is in ERR may say so (N-13, N-16).
Task<Met<>> Interpreter::no_event_left() {
    const Met<> polled = co_await collect_events(wire::Duration(0), {});
    if (!polled) co_return polled;
    for (const dut::Event& event : dut_events_) {
        if (event.type == engine::EventType::CommEst) continue;
        const bool of_error = event.type == engine::EventType::LastWqeReached ||
                              event.type == engine::EventType::QpFatal ||
                              event.type == engine::EventType::QpReqErr ||
                              event.type == engine::EventType::QpAccessErr;
        const auto owner = std::ranges::find_if(
            peers_, [&](const auto& one) { return event.qp == one.second.dut_qp; });
        if (of_error && owner != peers_.end()) {
            Awaited::State state;
            const Met<> asked = co_await ask_state(state, owner->second, {});
            if (!asked) co_return asked;
            if (state.seen == engine::name_of(engine::QpState::Err)) continue;
        }
        co_return std::unexpected(failed({}, "an event came that no line expects",
                                         fmt::format("event {}", engine::name_of(event.type))));
    }
    co_return Met<>{};
}

// Every completion and packet of the QP was claimed by a line, or needs none.
Task<Met<>> Interpreter::all_claimed(Peer& peer) {
    const Met<> polled = co_await collect_completions(peer, wire::Duration(0), {});
    if (!polled) co_return polled;
    if (!peer.completions.empty()) {
        const dut::Completion& completion = peer.completions.front();
        co_return std::unexpected(failed({}, "a completion came that no line expects",
                                         fmt::format("completion id={} status={}", completion.id,
                                                     engine::name_of(completion.status))));
    }
    for (; peer.next < peer.heard.size(); ++peer.next) {
        Entry& entry = history_[peer.heard[peer.next]];
        if (needs_no_line(peer, entry)) continue;
        entry.remarks.emplace_back("no line expects it");
        const auto whole = wire::unseal(entry.frame);
        co_return std::unexpected(failed(
            {},
            whole ? std::string("a packet came that no line expects")
                  : fmt::format("a packet of the DUT is wrong: {}", wire::text_of(whole.error())),
            notation(&peer, entry)));
    }
    co_return Met<>{};
}

// --- the verdict ------------------------------------------------------------------------------

Unmet Interpreter::failed(script::SourceSpan span, std::string reason, std::string actual) const {
    const Verdict verdict = script_.level == script::Level::Must     ? Verdict::Fail
                            : script_.level == script::Level::Should ? Verdict::Warn
                                                                     : Verdict::Info;
    return {verdict, std::move(reason), span, {}, std::move(actual), false, {}};
}

Unmet Interpreter::error(script::SourceSpan span, std::string reason) const {
    return {Verdict::Error, std::move(reason), span, {}, {}, false, {}};
}

std::string Interpreter::refusal_text(const dut::Failure& failure) {
    if (!failure.refused()) return failure.message;
    return fmt::format("the DUT refused {}: {} ({})", failure.verb, failure.errno_name,
                       failure.message);
}

void Interpreter::conclude_with(const Met<>& outcome) {
    if (outcome) return; // PASS, or the WARN of an alternative
    const Unmet& unmet = outcome.error();
    result_.verdict = unmet.verdict;
    result_.findings.assign(1, finding_of(unmet));
    result_.findings.insert(result_.findings.end(), unmet.before.begin(), unmet.before.end());
}

// The reason is a sentence: which fields differ it does not tell.
Finding Interpreter::finding_of(const Unmet& unmet) const {
    Finding finding{.kind = FindingKind::Mismatch,
                    .line = unmet.span.line,
                    .differences = {},
                    .packet = {},
                    .rules = {},
                    .subject = {},
                    .expected = unmet.expected,
                    .actual = unmet.actual,
                    .detail = unmet.reason};
    if (unmet.verdict == Verdict::Error) finding.kind = FindingKind::Unplayable;
    if (unmet.verdict == Verdict::Skip) finding.kind = FindingKind::Unsupported;
    if (unmet.refused) finding.kind = FindingKind::Refused;
    if (finding.expected.empty() && unmet.span.line != 0) {
        const std::string_view line = script_.line_text(unmet.span);
        const std::size_t first = line.find_first_not_of(' ');
        finding.expected = first == std::string_view::npos ? "" : std::string(line.substr(first));
    }
    return finding;
}

CaseResult Interpreter::finish() {
    if (!play_.done()) {
        result_.become(Verdict::Error, FindingKind::Interrupted, "interrupted");
    }
    if (foreign_ > packets_that_show) {
        history_[last_foreign_].remarks.push_back(fmt::format(
            "and {} more that belong to no QP of this case", foreign_ - packets_that_show));
    }
    const bool whole = unrecorded_ == 0; // else it is an ERROR, and nothing is judged
    for (const Entry& entry : history_) {
        if (!whole && result_.packets.size() == packets_that_show) break;
        const Peer* peer = nullptr;
        if (entry.packet) peer = peer_with(entry.from, entry.packet->bth.dest_qp);
        result_.packets.push_back({.from = entry.from,
                                   .frame = entry.bytes,
                                   .at = entry.at,
                                   .script = notation(peer, entry),
                                   .remarks = entry.remarks,
                                   .on_wire = entry.on_wire});
    }
    if (whole) result_.violations = violations();
    heed(result_);
    return std::move(result_);
}

// The judge over all QPs as they are at the end, and over each that was reconnected by itself: as
// it was before, by the packets that it had then.
std::vector<Violation> Interpreter::violations() const {
    std::vector<JudgedQp> last;
    for (const auto& [name, peer] : peers_) {
        last.push_back({.identity = peer.book.identity(),
                        .dut_timeout = peer.timeout,
                        .tester_address = peer.tester_address});
    }
    if (past_.empty()) return judge_packets(result_.packets, last, environment_, events_.now());

    const auto owner = [&](std::size_t packet) -> std::string_view {
        const Entry& entry = history_[packet];
        const Peer* peer =
            entry.packet ? peer_with(entry.from, entry.packet->bth.dest_qp) : nullptr;
        return peer == nullptr ? std::string_view{} : peer->book.identity().name;
    };
    std::vector<Violation> all;
    std::vector<RecordedPacket> left = result_.packets; // of no earlier time
    for (const Past& past : past_) {
        std::vector<RecordedPacket> then = left;
        for (std::size_t i = 0; i < then.size(); ++i) {
            const bool in = i < past.end && owner(i) == past.name;
            (in ? left : then)[i].on_wire = false;
        }
        for (Violation& one : judge_packets(then, {past.qp}, environment_, events_.now()))
            all.push_back(std::move(one));
    }
    for (Violation& one : judge_packets(left, last, environment_, events_.now()))
        all.push_back(std::move(one));
    return all;
}

} // namespace veriroce::interpreter
