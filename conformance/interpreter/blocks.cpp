#include "conformance/interpreter/blocks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/waiting.hpp"

namespace veriroce::interpreter {
namespace {

// An alternative, and the packet or completion of the DUT that it begins with.
struct Opening {
    Awaited line;
    const script::Alternative* alternative = nullptr;
};

// A line that selects its alternative when it is met: a packet, or a completion of the DUT.
bool decides(const script::Block& body) {
    if (body.empty()) return false;
    if (std::holds_alternative<script::ExpectPacket>(body.front().node)) return true;
    const auto* command = std::get_if<script::SideCommand>(&body.front().node);
    return command != nullptr && command->side == Side::Dut && !command->refused &&
           std::holds_alternative<script::Done>(command->command);
}

Task<Met<>> take(Interpreter& interpreter, const script::Alternative& alternative) {
    co_await play(interpreter, alternative.body);
    CaseResult& result = interpreter.result();
    if (alternative.warn && result.verdict != Verdict::Warn) {
        result.verdict = Verdict::Warn;
        result.findings.assign(1, Finding{.kind = FindingKind::Discouraged,
                                          .line = alternative.span.line,
                                          .detail = *alternative.warn});
    }
    co_return Met<>{};
}

// The alternative whose first line is met. Packets come first: a question to the DUT takes time,
// and more packets may come during it.
Task<Met<const script::Alternative*>> opened(Interpreter& interpreter,
                                             std::span<Opening> openings) {
    for (const bool packets : {true, false}) {
        for (Opening& one : openings) {
            if ((one.line.packet() != nullptr) != packets) continue;
            co_await ask_for(interpreter, one.line, wire::Duration(0));
            if (co_await is_there(interpreter, one.line)) co_return one.alternative;
        }
    }
    co_return nullptr;
}

// What happens to a packet that opens no alternative.
enum class NextPacket : std::uint8_t { None, PassedOver, NeedsLine };

// The packet is passed over if it needs no line and no alternative expects silence.
NextPacket pass_over(Interpreter& interpreter, std::span<const Opening> openings, bool silence,
                     std::optional<std::string>& came) {
    for (const Opening& opening : openings) {
        CaseQp& qp = *opening.line.qp;
        if (opening.line.packet() == nullptr || qp.next >= qp.heard.size()) continue;
        const std::size_t index = qp.heard[qp.next];
        came = entry_text(interpreter.record()[index], qp.book.identity().name);
        const bool obeyed = interpreter.record()[index].tolerated; // an RNR NAK breaks no silence
        const bool passes = obeyed || (silence ? passes_in_silence(interpreter, qp, index)
                                               : passes_without_line(interpreter, qp, index));
        if (!passes) return NextPacket::NeedsLine;
        ++qp.next;
        return NextPacket::PassedOver;
    }
    return NextPacket::None;
}

// RNR-03: whether a QP had an RNR NAK that the tester obeyed.
Task<Met<bool>> obeyed(Interpreter& interpreter, std::span<Opening> openings, Span span) {
    for (Opening& one : openings) {
        if (co_await obey_refusal(interpreter, *one.line.qp, span)) co_return true;
    }
    co_return false;
}

// Whether there were duplicates to repeat.
bool repeated(Interpreter& interpreter, std::span<Opening> openings) {
    return std::ranges::any_of(openings, [&](Opening& one) {
        return one.line.packet() != nullptr && repeat_duplicates(interpreter, *one.line.qp);
    });
}

// "any of: < ACK psn=0; or: dropped".
std::string alternatives_text(const script::Case& script, const script::AnyBlock& block) {
    std::string text;
    for (const script::Alternative& one : block.alternatives) {
        text += text.empty() ? "any of: " : "; or: ";
        text += one.body.empty() ? "nothing" : script.line_text(one.body.front().span);
    }
    return text;
}

// A completion of one of the QPs that opened no alternative.
std::optional<std::string> unclaimed_completion(std::span<const Opening> openings) {
    for (const Opening& one : openings) {
        if (!one.line.qp->completions.empty())
            return completion_text(one.line.qp->completions.front());
    }
    return std::nullopt;
}

// What came in place of the alternatives: a packet of one of the QPs, a completion, or a packet
// that belongs to no QP of the case. Nothing if nothing came.
std::optional<Difference> came_instead(Interpreter& interpreter, std::span<const Opening> openings,
                                       const std::optional<std::string>& packet) {
    const auto instead = [](std::string_view what, std::string came) {
        return Difference{std::string(what), "one of the alternatives", std::move(came)};
    };
    if (packet) return instead("packet", *packet);
    if (auto completion = unclaimed_completion(openings)) {
        return instead("completion", std::move(*completion));
    }
    const Clock& clock = interpreter.clock();
    const auto astray = astray_since(interpreter, clock.interval_of(clock.line_end()));
    if (!astray) return std::nullopt;
    return instead("packet", astray_text(interpreter.record()[*astray]));
}

// The first lines of the alternatives; an alternative without one expects silence.
Met<std::vector<Opening>> openings_of(Interpreter& interpreter, const script::AnyBlock& block) {
    std::vector<Opening> openings;
    for (const script::Alternative& alternative : block.alternatives) {
        if (!decides(alternative.body)) continue;
        auto line = awaited(interpreter, alternative.body.front());
        if (!line) return std::unexpected(std::move(line.error()));
        openings.push_back({std::move(**line), &alternative});
    }
    return openings;
}

const script::Alternative* silent_one(const script::AnyBlock& block,
                                      std::span<const Opening> openings) {
    for (const script::Alternative& alternative : block.alternatives) {
        if (std::ranges::find(openings, &alternative, &Opening::alternative) == openings.end()) {
            return &alternative;
        }
    }
    return nullptr;
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::AnyBlock& block, Span span) {
    std::vector<Opening> openings = co_await openings_of(interpreter, block);
    const script::Alternative* silent = silent_one(block, openings);
    wire::Duration patience =
        silent != nullptr ? interpreter.environment().settle : wire::Duration(0);
    bool asks = false;
    for (const Opening& one : openings) {
        if (silent == nullptr) patience = std::max(patience, one.line.patience);
        asks = asks || !one.line.asked;
    }
    Clock& clock = interpreter.clock();
    wire::Instant deadline = clock.interval_of(clock.line_end()).latest + patience;
    std::optional<std::string> packet; // that opens no alternative
    while (!openings.empty()) {
        const std::size_t heard = interpreter.record().size();
        const script::Alternative* taken = co_await opened(interpreter, openings);
        if (taken != nullptr) {
            co_await take(interpreter, *taken);
            co_return Met<>{};
        }
        if (interpreter.record().size() != heard) continue;
        if (co_await obeyed(interpreter, openings, span)) {
            deadline = clock.interval_of(clock.line_end()).latest + patience;
            continue;
        }
        const NextPacket next = pass_over(interpreter, openings, silent != nullptr, packet);
        if (next == NextPacket::NeedsLine) break;
        if (next == NextPacket::PassedOver) continue; // the next one may open an alternative
        if (clock.now() >= deadline) {
            if (silent != nullptr || !repeated(interpreter, openings)) break;
            deadline = clock.interval_of(clock.line_end()).latest + patience;
        }
        const wire::Instant next_look = clock.now() + interpreter.environment().settle / 10;
        co_await interpreter.events().wait(asks ? std::min(deadline, next_look) : deadline);
    }
    if (silent != nullptr) {
        co_await take(interpreter, *silent);
        co_return Met<>{};
    }
    const auto came = came_instead(interpreter, openings, packet);
    Finding finding = came ? mismatch(span, {*came}, came->actual)
                           : missing(span, "one of the alternatives", patience);
    finding.expected = alternatives_text(interpreter.script(), block);
    co_return failed(std::move(finding));
}

Task<Met<>> play(Interpreter& interpreter, const script::Unordered& block, Span span) {
    OpenLines open{.lines = {}, .span = span};
    for (const script::Statement& line : block.body) {
        std::optional<Awaited> one = co_await awaited(interpreter, line);
        if (!one) co_return unplayable(line.span, "this line does not wait");
        open.lines.push_back(std::move(*one));
    }
    co_await await_all(interpreter, std::move(open));
    co_return Met<>{};
}

Task<Met<>> play(Interpreter& interpreter, const script::Repeat& block, Span span) {
    Objects& objects = interpreter.objects();
    script::Bounds times{.low = 1, .high = {}};
    if (const auto* count = std::get_if<script::Expr>(&block.times)) {
        times.high = co_await number(objects, *count, objects.own_qp());
    } else {
        times =
            co_await bounds(objects, std::get<script::ValueRange>(block.times), objects.own_qp());
    }
    if (!times.low || !times.high) {
        co_return unplayable(span, "'repeat' needs both ends of its range");
    }
    for (std::int64_t i = *times.low; i <= *times.high; ++i) {
        // Without a bound a loop's packets and findings would take all memory.
        if (++objects.loop_turns > script::kMostTurns) {
            co_return unplayable(
                span, fmt::format("the loops of a run turn at most {} times", script::kMostTurns));
        }
        if (block.counter) objects.loop_counters.emplace_back(block.counter->text, i);
        co_await play(interpreter, block.body);
        if (block.counter) objects.loop_counters.pop_back();
    }
    co_return Met<>{};
}

} // namespace veriroce::interpreter
