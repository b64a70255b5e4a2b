#include "transport/inject/report.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dissector/wire/duration_text.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::inject {

Recoveries recoveries_of(std::span<const FaultEvent> events, std::optional<std::size_t> rule) {
    Recoveries all;
    for (const FaultEvent& event : events) {
        if (!event.followed || (rule && event.rule != *rule)) continue;
        ++all.followed;
        all.retransmitted += event.retransmitted;
        if (event.recovery) all.times.push_back(*event.recovery);
    }
    std::ranges::sort(all.times);
    return all;
}

namespace {

constexpr std::size_t kShownEvents = 8; // of a rule, in the text
constexpr std::size_t kShownConnections = 20;

std::string name_of(const Connections::Side& side) {
    return side.qpn ? fmt::format("{} QP {:#x}", side.address.text(), side.qpn->value)
                    : side.address.text();
}

char letter(End end) {
    return end == End::A ? 'A' : 'B';
}

double mbits(std::uint64_t bytes, wire::Duration elapsed) {
    const double seconds = std::chrono::duration<double>(elapsed).count();
    return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e6 : 0;
}

std::string time_text(const std::optional<wire::Duration>& time) {
    return time ? wire::short_time(*time) : "-";
}

Verdict verdict_of(const fault::Expectation& expectation, const Recovery& recovery) {
    Verdict verdict{.line = expectation.line, .text = expectation.text, .met = true, .why = {}};
    const Recoveries all = recoveries_of(recovery.events(), std::nullopt);
    const std::size_t open = all.followed - all.times.size();
    if (const auto* within = std::get_if<fault::RecoveryWithin>(&expectation.what)) {
        const bool late = !all.times.empty() && all.times.back() > within->longest;
        verdict.met = !late && open == 0 && all.followed > 0;
        verdict.why =
            all.followed == 0
                ? std::string("there was no fault to recover from")
                : fmt::format("{} of {} faults recovered, slowest {}", all.times.size(),
                              all.followed,
                              all.times.empty() ? "-" : wire::short_time(all.times.back()));
    } else if (const auto* again = std::get_if<fault::RetransmissionsAtMost>(&expectation.what)) {
        const std::uint64_t found = recovery.total().retransmissions;
        verdict.met = found <= again->most;
        verdict.why = fmt::format("{} packets were sent again", found);
    } else {
        const std::uint64_t fatal = recovery.total().fatal_naks;
        verdict.met = fatal == 0 && open == 0;
        verdict.why = fmt::format("{} fatal NAKs, {} of {} faults without recovery", fatal, open,
                                  all.followed);
    }
    return verdict;
}

std::string event_line(const FaultEvent& event, std::size_t number, wire::Instant began) {
    const Place& place = event.place;
    std::string line = fmt::format(
        "  {:>4}  {:>10}  {} {} PSN {}, transmission {}, message {} packet {}", number,
        wire::short_time(event.at - began),
        place.connection == 0 ? std::string("no connection")
                              : fmt::format("connection {}", place.connection),
        wire::opcode_info(place.opcode).name, place.psn, event.pass, event.message, event.packet);
    if (!event.followed) return line + '\n';
    line += fmt::format(": detected {}", time_text(event.detection));
    if (event.sign != Sign::None) line += fmt::format(" ({})", inject::name_of(event.sign));
    line += event.recovery ? fmt::format(", recovered {}", wire::short_time(*event.recovery))
                           : std::string(", not recovered");
    line += fmt::format(", {} sent again", event.retransmitted);
    if (event.dip) line += fmt::format(", goodput {:+.0f} %", -*event.dip * 100);
    return line + '\n';
}

std::string rule_text(const Result& result, std::size_t index) {
    const Recovery& recovery = result.bump.recovery();
    const fault::Rule& rule = result.bump.injector().rules()[index];
    const fault::Fired& fired = result.bump.injector().fired(index);
    std::string text = fmt::format("line {}: {}: fired {} of {} selected\n", rule.line,
                                   wire::safe_text(rule.text), fired.fired, fired.selected);
    const Recoveries all = recoveries_of(recovery.events(), index);
    if (all.followed > 0) {
        text += fmt::format("  {} of {} recovered", all.times.size(), all.followed);
        if (!all.times.empty()) {
            text += fmt::format(", in {} to {}, median {}", wire::short_time(all.times.front()),
                                wire::short_time(all.times.back()),
                                wire::short_time(all.times[all.times.size() / 2]));
        }
        text += '\n';
    }
    std::size_t shown = 0;
    for (std::size_t i = 0; i < recovery.events().size(); ++i) {
        if (recovery.events()[i].rule != index) continue;
        if (++shown > kShownEvents) {
            text +=
                fmt::format("  ... and {} more: --report has all\n", fired.fired - kShownEvents);
            break;
        }
        text += event_line(recovery.events()[i], i + 1, result.began);
    }
    return text;
}

std::string losses_text(char port, const PortCounts& counts) {
    std::string text;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0) text += fmt::format("port {}: {} frames {}\n", port, count, what);
    };
    add(counts.dropped_by_kernel, "lost: they came faster than this path takes them");
    add(counts.unreadable, "lost: the kernel had merged them and could not hand them over");
    add(counts.refused, "lost: they did not fit the MTU, or the link was down");
    add(counts.queue_full, "lost: the interface's queue was full");
    return text;
}

// --- JSON ---

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : wire::safe_text(text)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string json_time(const std::optional<wire::Duration>& time) {
    return time ? fmt::format("{}", time->count()) : "null";
}

std::string json_of_event(const FaultEvent& event, const fault::Rule& rule, wire::Instant began) {
    return fmt::format(
        R"({{"line":{},"at_ns":{},"from":"{}","connection":{},"opcode":"{}","qpn":{},"psn":{},)"
        R"("psn_on_the_wire":{},"transmission":{},"message":{},"packet":{},"followed":{},)"
        R"("detection_ns":{},"detected_by":"{}","recovery_ns":{},"retransmitted":{},)"
        R"("goodput_dip":{}}})",
        rule.line, (event.at - began).count(), letter(event.from), event.place.connection,
        wire::opcode_info(event.place.opcode).name, event.place.qpn, event.place.psn,
        event.place.psn24, event.pass, event.message, event.packet, event.followed,
        json_time(event.detection), inject::name_of(event.sign), json_time(event.recovery),
        event.retransmitted, event.dip ? fmt::format("{:.4f}", *event.dip) : "null");
}

std::string json_of_port(const Traffic& traffic, const PortCounts& counts) {
    return fmt::format(
        R"({{"frames":{},"bytes":{},"roce":{},"lost":{{"kernel":{},"merged":{},"refused":{},)"
        R"("queue_full":{}}},"in_kernel":{},"roce_in_kernel":{},"dropped_by_rules":{}}})",
        traffic.frames, traffic.bytes, traffic.roce, counts.dropped_by_kernel, counts.unreadable,
        counts.refused, counts.queue_full, counts.in_kernel, counts.roce_in_kernel,
        counts.dropped_by_rules);
}

std::string json_of_connection(const Connections::Known& known, const Counters& counters,
                               std::size_t number) {
    const auto side = [](const Connections::Side& one) {
        return fmt::format(R"({{"address":{},"qpn":{}}})", quoted(one.address.text()),
                           one.qpn ? fmt::format("{}", one.qpn->value) : "null");
    };
    return fmt::format(
        R"({{"number":{},"a":{},"b":{},"packets":{},"new_bytes":{},"retransmissions":{},)"
        R"("delivered_bytes":{},"delivered_messages":{},)"
        R"("sequence_naks":{},"rnr_naks":{},"fatal_naks":{},"faults":{}}})",
        number, side(known.sides[0]), side(known.sides[1]), counters.packets, counters.new_bytes,
        counters.retransmissions, counters.delivered.bytes, counters.delivered.messages,
        counters.sequence_naks, counters.rnr_naks, counters.fatal_naks, counters.faults);
}

std::string json_of_step(const SweepStep& step) {
    std::string samples;
    for (const double one : step.samples)
        samples += fmt::format("{}{:.0f}", samples.empty() ? "" : ",", one);
    return fmt::format(
        R"({{"loss":{:.9g},"measured_ns":{},"bytes":{},"messages":{},"packets":{},"dropped":{},)"
        R"("retransmissions":{},"goodput_bits_per_second":{:.0f},"messages_per_second":{:.1f},)"
        R"("samples_bits_per_second":[{}]}})",
        step.loss, step.measured.count(), step.bytes, step.messages, step.packets, step.dropped,
        step.retransmissions, step.goodput(), step.messages_per_second(), samples);
}

std::string json_of_signals(const Fabric& fabric, End from) {
    const Fabric::Signals& one = fabric.signals(from);
    std::string pauses;
    for (std::size_t i = 0; i < kClasses; ++i) {
        const Fabric::Pauses& each = one.pauses[i];
        if (each.frames == 0) continue;
        pauses += fmt::format(
            R"({}{{"class":{},"frames":{},"time_ns":{},"packets":{},"other_packets":{}}})",
            pauses.empty() ? "" : ",", i, each.frames, each.time.count(), each.packets,
            each.other_packets);
    }
    std::string reactions;
    for (const double each : fabric.reactions(from))
        reactions += fmt::format("{}{:.4f}", reactions.empty() ? "" : ",", each);
    return fmt::format(R"({{"ce":{},"cnps":{},"marked":{},"not_capable":{},"pauses":[{}],)"
                       R"("cnp_reactions":[{}]}})",
                       one.ce, one.cnps, one.marked, one.not_capable, pauses, reactions);
}

// The items as a JSON array, one a line.
class Lines {
  public:
    void add(const std::string& item) { text_ += (text_.empty() ? "\n    " : ",\n    ") + item; }
    [[nodiscard]] std::string text() const { return "[" + text_ + "]"; }

  private:
    std::string text_;
};

Counters counters_of(const Recovery& recovery, std::size_t index) {
    return index < recovery.counters().size() ? recovery.counters()[index] : Counters{};
}

} // namespace

std::vector<Verdict> judge(const Bump& bump, std::span<const fault::Expectation> expectations) {
    std::vector<Verdict> verdicts;
    for (const fault::Expectation& one : expectations)
        verdicts.push_back(verdict_of(one, bump.recovery()));
    for (const std::string& sentence : bump.injector().unmet())
        verdicts.push_back({.text = "every rule fires as written", .why = sentence});
    return verdicts;
}

std::string connection_table(const Bump& bump, wire::Duration elapsed, std::size_t most) {
    const auto& known = bump.connections().known();
    std::vector<std::size_t> order(known.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    // Of equally busy ones the first.
    std::ranges::sort(order, {}, [&](std::size_t one) {
        return std::pair(~counters_of(bump.recovery(), one).packets, one);
    });
    std::string text = fmt::format("{:>4}  {:<28} {:<28} {:>9} {:>9} {:>7} {:>6} {:>6}\n", "conn",
                                   "A", "B", "packets", "Mbit/s", "again", "NAKs", "faults");
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
        const Connections::Known& one = known[order[i]];
        const Counters counters = counters_of(bump.recovery(), order[i]);
        text += fmt::format("{:>4}  {:<28} {:<28} {:>9} {:>9.1f} {:>7} {:>6} {:>6}\n", order[i] + 1,
                            name_of(one.sides[0]), name_of(one.sides[1]), counters.packets,
                            mbits(counters.new_bytes, elapsed), counters.retransmissions,
                            counters.sequence_naks + counters.rnr_naks + counters.fatal_naks,
                            counters.faults);
    }
    if (order.size() > most) text += fmt::format("... and {} more\n", order.size() - most);
    return text;
}

std::string sweep_table(std::span<const SweepStep> steps) {
    std::string text =
        fmt::format("{:>8}  {:>10}  {:>8}  {:>11}  {:>9}  {:>8}  {:>10}\n", "loss", "Mbit/s",
                    "of best", "messages/s", "packets", "lost", "sent again");
    double best = 0;
    for (const SweepStep& step : steps)
        best = std::max(best, step.goodput());
    for (const SweepStep& step : steps) {
        text += fmt::format("{:>8}  {:>10.3f}  {:>8.3f}  {:>11.1f}  {:>9}  {:>8}  {:>10}\n",
                            loss_text(step.loss), step.goodput() / 1e6,
                            best > 0 ? step.goodput() / best : 0, step.messages_per_second(),
                            step.packets, step.dropped, step.retransmissions);
    }
    return text;
}

std::string text_of(const Result& result) {
    const Bump& bump = result.bump;
    std::string text = connection_table(bump, result.elapsed, kShownConnections);
    for (const End end : {End::A, End::B}) {
        const Traffic& traffic = bump.traffic(end);
        const PortCounts& counts = end == End::A ? result.a : result.b;
        text += fmt::format("from {}: {} frames, {} of them RoCEv2", letter(end),
                            traffic.frames + counts.in_kernel + counts.dropped_by_rules,
                            traffic.roce + counts.roce_in_kernel + counts.dropped_by_rules);
        if (counts.in_kernel > 0) {
            text += fmt::format("; {} passed in the kernel, {} of them RoCEv2", counts.in_kernel,
                                counts.roce_in_kernel);
        }
        if (counts.dropped_by_rules > 0) {
            text += fmt::format("; the kernel dropped {} by rules", counts.dropped_by_rules);
        }
        text += '\n';
    }
    // The rules of a sweep are its steps, which have a table.
    for (std::size_t i = 0; i < bump.injector().rules().size() && result.sweep.empty(); ++i)
        text += rule_text(result, i);
    text += losses_text('A', result.a) + losses_text('B', result.b);
    if (bump.overflowed() > 0) {
        text += fmt::format("{} frames lost: more were delayed at the same time than there is "
                            "room for\n",
                            bump.overflowed());
    }
    if (bump.injector().evicted() > 0) {
        text += fmt::format("{} PSNs and flows were forgotten: the next transmission of such a "
                            "packet counted as its first\n",
                            bump.injector().evicted());
    }
    if (bump.connections().unnumbered() > 0) {
        text += fmt::format("{} packets belonged to connections beyond the first {}\n",
                            bump.connections().unnumbered(), kMaxConnections);
    }
    text += fabric_text(bump.fabric());
    if (!result.sweep.empty()) text += sweep_table(result.sweep);
    for (const Verdict& verdict : result.verdicts) {
        text += fmt::format("{}  {}{}: {}\n", verdict.met ? "met     " : "NOT MET ",
                            verdict.line == 0 ? "" : fmt::format("line {}: ", verdict.line),
                            wire::safe_text(verdict.text), wire::safe_text(verdict.why));
    }
    return text;
}

std::string json_of(const Result& result) {
    const Bump& bump = result.bump;
    Lines rules;
    Lines events;
    Lines connections;
    Lines verdicts;
    Lines sweep;
    for (std::size_t i = 0; i < bump.injector().rules().size(); ++i) {
        const fault::Rule& rule = bump.injector().rules()[i];
        const fault::Fired& fired = bump.injector().fired(i);
        rules.add(fmt::format(R"({{"line":{},"text":{},"selected":{},"fired":{}}})", rule.line,
                              quoted(rule.text), fired.selected, fired.fired));
    }
    for (const FaultEvent& event : bump.recovery().events()) {
        events.add(json_of_event(event, bump.injector().rules()[event.rule], result.began));
    }
    for (std::size_t i = 0; i < bump.connections().known().size(); ++i) {
        connections.add(json_of_connection(bump.connections().known()[i],
                                           counters_of(bump.recovery(), i), i + 1));
    }
    for (const Verdict& one : result.verdicts) {
        verdicts.add(fmt::format(R"({{"line":{},"text":{},"met":{},"why":{}}})", one.line,
                                 quoted(one.text), one.met, quoted(one.why)));
    }
    for (const SweepStep& step : result.sweep)
        sweep.add(json_of_step(step));
    return fmt::format(
        "{{\n  \"schema\": \"veriroce/injection/1\",\n  \"path\": {},\n  \"plan\": {},\n"
        "  \"seed\": {},\n  \"elapsed_ns\": {},\n  \"a\": {},\n  \"b\": {},\n"
        "  \"overflowed\": {},\n  \"forgotten\": {},\n  \"events_not_kept\": {},\n  \"rules\": "
        "{},\n"
        "  \"connections\": {},\n  \"faults\": {},\n  \"sweep\": {},\n  \"fabric\": "
        "{{\"a\":{},\"b\":{}}},\n  \"verdicts\": {}\n}}\n",
        quoted(result.path), quoted(result.plan), result.seed, result.elapsed.count(),
        json_of_port(bump.traffic(End::A), result.a), json_of_port(bump.traffic(End::B), result.b),
        bump.overflowed(), bump.injector().evicted(), bump.recovery().events_not_kept(),
        rules.text(), connections.text(), events.text(), sweep.text(),
        json_of_signals(bump.fabric(), End::A), json_of_signals(bump.fabric(), End::B),
        verdicts.text());
}

} // namespace veriroce::inject
