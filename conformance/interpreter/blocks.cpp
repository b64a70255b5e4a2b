// any, repeat.
#include <algorithm>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

// An alternative begins with a packet or a completion of the DUT, or with silence.
bool begins_with_something(const script::Alternative& alternative) {
    if (alternative.body.empty()) return false;
    const auto& node = alternative.body.front().node;
    if (std::holds_alternative<script::ExpectPacket>(node)) return true;
    const auto* side = std::get_if<script::SideCommand>(&node);
    return side != nullptr && side->side == script::Side::Dut && !side->refused &&
           std::holds_alternative<script::Done>(side->command);
}

} // namespace

Task<Met<>> Interpreter::take(const script::Alternative& alternative) {
    const Met<> met = co_await block(alternative.body);
    if (met && alternative.warn && result_.verdict != Verdict::Warn) {
        result_.verdict = Verdict::Warn;
        result_.findings.assign(1, Finding{.kind = FindingKind::Discouraged,
                                           .line = alternative.span.line,
                                           .detail = *alternative.warn});
    }
    co_return met;
}

// A packet that opens no alternative is passed over if it needs no line. Nothing: it needs one, or
// stands where an alternative wants silence.
std::optional<bool> Interpreter::pass_over(std::span<const Awaited> openings, bool silence,
                                           std::string& came) {
    for (const Awaited& opening : openings) {
        if (!std::holds_alternative<Awaited::Packet>(opening.what)) continue;
        Peer& peer = *opening.peer;
        if (peer.next >= peer.heard.size()) continue;
        Entry& entry = history_[peer.heard[peer.next]];
        came = notation(&peer, entry);
        if (silence || !needs_no_line(peer, entry)) return std::nullopt;
        ++peer.next;
        return true; // the one behind it may open an alternative
    }
    return false;
}

// The first packet or completion that comes decides: it opens the alternative that begins with it.
// If none comes within the settle time, the first alternative that begins with silence is taken.
Task<Met<>> Interpreter::any(const script::AnyBlock& block, script::SourceSpan span) {
    const script::Alternative* silent = nullptr;
    std::vector<Awaited> openings;
    std::vector<const script::Alternative*> opened;
    wire::Duration patience{0};
    bool asks = false;
    for (const script::Alternative& alternative : block.alternatives) {
        if (!begins_with_something(alternative)) {
            if (silent == nullptr) silent = &alternative;
            continue;
        }
        auto opening = awaited(alternative.body.front());
        if (!opening) co_return std::unexpected(opening.error());
        patience = std::max(patience, (*opening)->patience);
        asks = asks || !(*opening)->asked;
        openings.push_back(std::move(**opening));
        opened.push_back(&alternative);
    }
    const wire::Instant deadline =
        interval_of(line_end_).latest + (silent != nullptr ? environment_.settle : patience);
    std::string came = "nothing";
    while (!openings.empty()) {
        // Packets first: asking takes time, in which more may come, which are looked at anew.
        const std::size_t heard = history_.size();
        for (const bool packets : {true, false}) {
            for (std::size_t i = 0; i < openings.size(); ++i) {
                Awaited& opening = openings[i];
                if (std::holds_alternative<Awaited::Packet>(opening.what) != packets) continue;
                const Met<> asked = co_await ask(opening, wire::Duration(0));
                if (!asked) co_return asked;
                const auto there = is_there(opening);
                if (!there) co_return std::unexpected(there.error());
                if (!*there) continue;
                const Met<> met = co_await take(*opened[i]);
                co_return met;
            }
        }
        if (history_.size() != heard) continue;
        const std::optional<bool> passed = pass_over(openings, silent != nullptr, came);
        if (!passed) break;
        if (*passed) continue;
        if (events_.now() >= deadline) break;
        const wire::Instant next_look = events_.now() + environment_.settle / 10;
        co_await events_.wait(asks ? std::min(deadline, next_look) : deadline);
    }
    if (silent != nullptr) {
        const Met<> met = co_await take(*silent);
        co_return met;
    }
    co_return std::unexpected(failed(span, "none of the alternatives came", came));
}

Task<Met<>> Interpreter::repeat(const script::Repeat& block, script::SourceSpan span) {
    const Peer& peer = peers_.begin()->second;
    std::int64_t first = 1;
    std::int64_t last = 0;
    if (const auto* count = std::get_if<script::Expr>(&block.times)) {
        const auto value = number(*count, peer);
        if (!value) co_return std::unexpected(value.error());
        last = *value;
    } else {
        const auto limits = bounds(std::get<script::ValueRange>(block.times), peer);
        if (!limits) co_return std::unexpected(limits.error());
        if (!limits->low || !limits->high) {
            co_return std::unexpected(error(span, "'repeat' needs both ends of its range"));
        }
        first = *limits->low;
        last = *limits->high;
    }
    for (std::int64_t i = first; i <= last; ++i) {
        if (block.counter) counters_.emplace_back(block.counter->text, i);
        const Met<> met = co_await this->block(block.body);
        if (block.counter) counters_.pop_back();
        if (!met) co_return met;
    }
    co_return Met<>{};
}

} // namespace veriroce::interpreter
