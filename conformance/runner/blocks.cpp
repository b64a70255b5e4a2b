// any, unordered, repeat.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/runner/dialogue.hpp"
#include "conformance/runner/notation.hpp"

namespace veriroce::runner {
namespace {

// The `<` line that opens an alternative; nothing if it begins with silence.
const script::ExpectPacket* opening(const script::Alternative& alternative) {
    if (alternative.body.empty()) return nullptr;
    return std::get_if<script::ExpectPacket>(&alternative.body.front().node);
}

// The completion that opens an alternative.
const script::SideCommand* completion_of(const script::Alternative& alternative) {
    if (alternative.body.empty()) return nullptr;
    const auto* side = std::get_if<script::SideCommand>(&alternative.body.front().node);
    const bool done = side != nullptr && side->side == script::Side::Dut &&
                      std::holds_alternative<script::Done>(side->command);
    return done ? side : nullptr;
}

bool whole_message(const script::ExpectPacket& line) {
    return std::holds_alternative<script::Message>(line.kind);
}

} // namespace

Task<Met<>> Dialogue::take(const script::Alternative& alternative) {
    const Met<> met = co_await block(alternative.body);
    if (met && alternative.warn && result_.verdict != Verdict::Warn) {
        result_.verdict = Verdict::Warn;
        result_.reason = *alternative.warn;
        result_.line = alternative.span.line;
    }
    co_return met;
}

// Whether the DUT has the completion that opens this alternative.
Task<Met<bool>> Dialogue::completed(const script::Alternative& alternative) {
    const script::SideCommand* side = completion_of(alternative);
    if (side == nullptr) co_return false;
    const auto& done = std::get<script::Done>(side->command);
    const Met<Peer*> peer = peer_of(side->qp);
    if (!peer) co_return std::unexpected(peer.error());
    const Met<> polled = co_await collect_completions(**peer, wire::Duration(0), alternative.span);
    if (!polled) co_return std::unexpected(polled.error());
    const engine::Queue queue =
        done.queue == script::Queue::Send ? engine::Queue::Send : engine::Queue::Receive;
    const auto& seen = (*peer)->completions;
    const auto next = std::ranges::find(seen, queue, &dut::Completion::queue);
    if (next == seen.end()) co_return false;
    const auto ids = ids_of(done.ids, **peer);
    if (!ids) co_return std::unexpected(ids.error());
    co_return is_as_wanted(*next, static_cast<std::uint64_t>(ids->first), done, **peer);
}

// How long the alternatives that begin with something may take to begin.
Met<wire::Duration> Dialogue::patience_of(const script::AnyBlock& block) const {
    wire::Duration longest{0};
    const Peer& peer = peers_.begin()->second;
    for (const script::Alternative& alternative : block.alternatives) {
        const script::ExpectPacket* line = opening(alternative);
        const script::SideCommand* side = completion_of(alternative);
        if (line == nullptr && side == nullptr) continue;
        const auto time =
            time_or(line != nullptr ? line->within : std::get<script::Done>(side->command).within,
                    setting_.patience, peer);
        if (!time) return time;
        longest = std::max(longest, *time);
    }
    return longest;
}

// The first packet or completion that comes decides: it opens the alternative that begins with it.
// If none comes within the settle time, the first alternative that begins with silence is taken.
Task<Met<>> Dialogue::any(const script::AnyBlock& block, script::SourceSpan span) {
    const script::Alternative* silent = nullptr;
    bool waits = false;
    bool polls = false;
    for (const script::Alternative& alternative : block.alternatives) {
        polls = polls || completion_of(alternative) != nullptr;
        if (opening(alternative) != nullptr || completion_of(alternative) != nullptr)
            waits = true;
        else if (silent == nullptr)
            silent = &alternative;
    }
    const auto patience = patience_of(block);
    if (!patience) co_return std::unexpected(patience.error());
    const wire::Instant deadline = line_end_ + (silent != nullptr ? setting_.settle : *patience);
    std::string came = "nothing";
    while (waits) {
        bool unclaimed = false;
        for (const script::Alternative& alternative : block.alternatives) {
            const script::ExpectPacket* line = opening(alternative);
            if (line == nullptr) continue;
            const Met<Peer*> peer = peer_of(line->qp);
            if (!peer) co_return std::unexpected(peer.error());
            if ((*peer)->next >= (*peer)->heard.size()) continue;
            const Entry& entry = history_[(*peer)->heard[(*peer)->next]];
            Met<Match> matched = Match{.satisfied = kind_matches(line->kind, **peer, entry)};
            if (!whole_message(*line)) matched = match(*line, **peer, entry);
            if (!matched) co_return std::unexpected(matched.error());
            if (matched->satisfied) {
                const Met<> met = co_await take(alternative);
                co_return met;
            }
            unclaimed = true;
        }
        for (const script::Alternative& alternative : block.alternatives) {
            const auto came_about = co_await completed(alternative);
            if (!came_about) co_return std::unexpected(came_about.error());
            if (!*came_about) continue;
            const Met<> met = co_await take(alternative);
            co_return met;
        }
        if (unclaimed) {
            // No alternative begins with this packet: one that needs no line is passed over.
            bool passed = false;
            for (auto& [name, peer] : peers_) {
                if (peer.next >= peer.heard.size()) continue;
                const Entry& entry = history_[peer.heard[peer.next]];
                came = notation(&peer, entry);
                if (silent == nullptr && (peer.answering || tolerated(peer, entry))) {
                    ++peer.next;
                    passed = true;
                }
            }
            if (passed) continue;
            break;
        }
        if (stage_.now() >= deadline) break;
        const wire::Instant next_look = stage_.now() + setting_.settle / 10;
        co_await stage_.wait(polls ? std::min(deadline, next_look) : deadline);
    }
    if (silent != nullptr) {
        const Met<> met = co_await take(*silent);
        co_return met;
    }
    co_return std::unexpected(failed(span, "none of the alternatives came", came));
}

// The open line that the packet at hand satisfies; nothing if none does.
Met<std::optional<std::size_t>>
Dialogue::line_for_next_packet(std::span<const script::Statement* const> open) {
    for (std::size_t i = 0; i < open.size(); ++i) {
        const auto& line = std::get<script::ExpectPacket>(open[i]->node);
        const Met<Peer*> peer = peer_of(line.qp);
        if (!peer) return std::unexpected(peer.error());
        if ((*peer)->next >= (*peer)->heard.size()) continue;
        const auto matched = match(line, **peer, history_[(*peer)->heard[(*peer)->next]]);
        if (!matched) return std::unexpected(matched.error());
        if (matched->satisfied) return i;
    }
    return std::nullopt;
}

// Every line once, in whatever order the packets come. A packet that no open line wants is judged
// by the first of them: tolerated or not.
Task<Met<>> Dialogue::unordered(const script::Unordered& block, script::SourceSpan span) {
    std::vector<const script::Statement*> open;
    for (const script::Statement& statement : block.body)
        open.push_back(&statement);
    while (!open.empty()) {
        const auto taken = line_for_next_packet(open);
        if (!taken) co_return std::unexpected(taken.error());
        if (*taken) {
            const Met<> met = co_await statement(*open[**taken]);
            if (!met) co_return met;
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(**taken));
            continue;
        }
        const auto& line = std::get<script::ExpectPacket>(open.front()->node);
        Peer& peer = **peer_of(line.qp);
        if (peer.next < peer.heard.size()) {
            const Entry& entry = history_[peer.heard[peer.next]];
            if (!peer.answering && !tolerated(peer, entry)) {
                co_return std::unexpected(
                    failed(span, "no open line expects this packet", notation(&peer, entry)));
            }
            ++peer.next;
            continue;
        }
        const wire::Instant deadline = line_end_ + setting_.patience;
        if (stage_.now() >= deadline) {
            co_return std::unexpected(
                failed(open.front()->span,
                       fmt::format("no such packet within {}", duration_text(setting_.patience)),
                       "nothing"));
        }
        co_await stage_.wait(deadline);
    }
    co_return Met<>{};
}

Task<Met<>> Dialogue::repeat(const script::Repeat& block, script::SourceSpan span) {
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

} // namespace veriroce::runner
