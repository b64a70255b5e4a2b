#include "conformance/model/possible_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

// The part of a range that lies in `size` bytes.
ByteRange cut(std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    if (offset >= size) return {size, 0};
    return {offset, std::min(length, size - offset)};
}

std::vector<std::byte> part(const std::vector<std::byte>& bytes, std::uint64_t from,
                            std::uint64_t length) {
    if (bytes.empty()) return {};
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from);
    return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

} // namespace

bool PossibleBytes::certain(std::uint64_t offset, std::uint64_t length) const {
    auto next = uncertain_.upper_bound(offset);
    if (next != uncertain_.begin()) {
        const auto& [at, piece] = *std::prev(next);
        if (at + piece.length > offset) return length == 0;
    }
    return next == uncertain_.end() || next->first >= offset + length;
}

// Makes a piece that covers `at` end there, and another begin.
void PossibleBytes::split(std::uint64_t at) {
    auto next = uncertain_.upper_bound(at);
    if (next == uncertain_.begin()) return;
    auto& [begin, piece] = *std::prev(next);
    const std::uint64_t first = at - begin;
    if (first == 0 || first >= piece.length) return;
    Piece second{.length = piece.length - first, .old = piece.old, .candidates = {}};
    for (Candidate& one : piece.candidates) {
        second.candidates.push_back({.write = one.write,
                                     .settled = one.settled,
                                     .anything = one.anything,
                                     .bytes = part(one.bytes, first, second.length)});
        if (!one.bytes.empty()) one.bytes.resize(first);
    }
    piece.length = first;
    uncertain_.emplace(at, std::move(second));
}

void PossibleBytes::add(std::uint64_t offset, std::uint64_t length, const Candidate& candidate) {
    const ByteRange in = cut(offset, length, size());
    const std::uint64_t end = in.offset + in.length;
    split(in.offset);
    split(end);
    std::uint64_t at = in.offset;
    while (at < end) {
        auto found = uncertain_.lower_bound(at);
        if (found == uncertain_.end() || found->first > at) { // known up to there
            const std::uint64_t next =
                found == uncertain_.end() ? end : std::min(end, found->first);
            found =
                uncertain_.emplace(at, Piece{.length = next - at, .old = true, .candidates = {}})
                    .first;
        }
        Piece& piece = found->second;
        Candidate here{.write = candidate.write,
                       .settled = candidate.settled,
                       .anything = candidate.anything,
                       .bytes = part(candidate.bytes, at - offset, piece.length)};
        auto& all = piece.candidates;
        // A packet that is sent again changes nothing about what it may leave.
        const auto alike = [&](const Candidate& one) {
            return one.write.id == here.write.id && one.bytes == here.bytes &&
                   one.anything == here.anything;
        };
        const bool repeated = std::ranges::any_of(all, alike);
        if (!repeated && all.size() >= kMostCandidates) {
            here.anything = true;
            here.bytes.clear();
            // Those of other origins may still happen, whatever becomes of this one.
            const auto alone = [&](const Candidate& one) {
                return one.write.origin == here.write.origin;
            };
            if (std::erase_if(all, alone) == 0) all.clear();
        }
        const auto later = [&](const Candidate& one) {
            return one.write.origin == here.write.origin && one.write.id > here.write.id;
        };
        if (!repeated) all.insert(std::ranges::find_if(all, later), std::move(here));
        at += piece.length;
    }
}

void PossibleBytes::may_hold(const Write& write, std::uint64_t offset, wire::Bytes data) {
    add(offset, data.size(), {.write = write, .bytes = {data.begin(), data.end()}});
}

void PossibleBytes::may_hold_anything(const Write& write, std::uint64_t offset,
                                      std::uint64_t length) {
    add(offset, length, {.write = write, .anything = true, .bytes = {}});
}

bool PossibleBytes::resolve(std::uint64_t offset, Piece& piece) {
    if (piece.candidates.empty()) return true;
    const Candidate& only = piece.candidates.front();
    if (piece.old || piece.candidates.size() > 1 || only.anything || only.settled == 0) {
        return false;
    }
    std::memcpy(&known_[offset], only.bytes.data(), only.bytes.size());
    return true;
}

// Calls `change` with each uncertain piece of the range; a piece that it makes known is known then.
template <typename Change>
void PossibleBytes::change_pieces(ByteRange range, const Change& change) {
    const ByteRange in = cut(range.offset, range.length, size());
    split(in.offset);
    split(in.offset + in.length);
    auto at = uncertain_.lower_bound(in.offset);
    while (at != uncertain_.end() && at->first < in.offset + in.length) {
        change(at->first, at->second);
        at = resolve(at->first, at->second) ? uncertain_.erase(at) : std::next(at);
    }
}

void PossibleBytes::settle(std::uint64_t write, ByteRange range, std::uint64_t serial) {
    change_pieces(range, [&](std::uint64_t, Piece& piece) {
        auto& all = piece.candidates;
        const auto done =
            std::ranges::find(all, write, [](const Candidate& one) { return one.write.id; });
        if (done == all.end() || done->settled != 0) return;
        done->settled = serial;
        piece.old = false;
        const Write by = done->write;
        const auto replaced = [&](const Candidate& one) {
            const bool before = one.settled != 0 && one.settled < by.made;
            return before || one.write.origin == by.origin;
        };
        all.erase(std::remove_if(all.begin(), done, replaced), done);
    });
}

void PossibleBytes::refine(std::uint64_t write, std::uint64_t offset, wire::Bytes data) {
    change_pieces({offset, data.size()}, [&](std::uint64_t begin, Piece& piece) {
        for (Candidate& one : piece.candidates) {
            if (one.write.id != write) continue;
            const wire::Bytes here = data.subspan(begin - offset, piece.length);
            one.anything = false;
            one.bytes.assign(here.begin(), here.end());
        }
    });
}

void PossibleBytes::retract(std::uint64_t write, ByteRange range) {
    change_pieces(range, [&](std::uint64_t, Piece& piece) {
        std::erase_if(piece.candidates, [&](const Candidate& one) {
            return one.write.id == write && one.settled == 0;
        });
    });
}

std::vector<std::byte> PossibleBytes::candidates_at(std::uint64_t at, bool& anything) const {
    auto next = uncertain_.upper_bound(at);
    const bool open =
        next != uncertain_.begin() && std::prev(next)->first + std::prev(next)->second.length > at;
    if (!open) return {known_[at]};
    const auto& [begin, piece] = *std::prev(next);
    std::vector<std::byte> all;
    if (piece.old) all.push_back(known_[at]);
    for (const Candidate& one : piece.candidates) {
        anything = anything || one.anything;
        if (!one.anything) all.push_back(one.bytes[at - begin]);
    }
    std::ranges::sort(all);
    const auto [first, last] = std::ranges::unique(all);
    all.erase(first, last);
    return all;
}

std::string PossibleBytes::text(std::uint64_t offset, std::uint64_t length) const {
    std::string text;
    for (std::uint64_t at = offset; at < std::min(offset + length, size()); ++at) {
        bool anything = false;
        std::string one;
        for (const std::byte value : candidates_at(at, anything)) {
            one +=
                fmt::format("{}{:02x}", one.empty() ? "" : "|", std::to_integer<unsigned>(value));
        }
        text += (text.empty() ? "" : " ") + (anything ? "any" : one);
    }
    return text;
}

// Whether the bytes of a piece from `at` on are all old, or all of one write.
bool PossibleBytes::is_one_of(std::uint64_t begin, const Piece& piece, std::uint64_t at,
                              wire::Bytes actual) const {
    const auto same = [&](const std::byte* bytes) {
        return std::memcmp(bytes, actual.data(), actual.size()) == 0;
    };
    return (piece.old && same(&known_[at])) ||
           std::ranges::any_of(piece.candidates, [&](const Candidate& one) {
               return one.anything || same(&one.bytes[at - begin]);
           });
}

bool PossibleBytes::may_be(std::uint64_t begin, const Piece& piece, std::uint64_t at,
                           std::byte value) const {
    return (piece.old && value == known_[at]) ||
           std::ranges::any_of(piece.candidates, [&](const Candidate& one) {
               return one.anything || one.bytes[at - begin] == value;
           });
}

std::vector<ByteRange> PossibleBytes::differences(std::uint64_t offset, wire::Bytes actual) const {
    std::vector<ByteRange> found;
    const auto wrong = [&](std::uint64_t at) {
        if (!found.empty() && found.back().offset + found.back().length == at) {
            ++found.back().length;
        } else {
            found.push_back({at, 1});
        }
    };
    const ByteRange in = cut(offset, actual.size(), size());
    const std::uint64_t end = in.offset + in.length;
    auto piece = uncertain_.upper_bound(in.offset);
    if (piece != uncertain_.begin()) --piece;
    if (piece != uncertain_.end() && piece->first + piece->second.length <= in.offset) ++piece;
    // One piece after the other, and the bytes between them, which are known.
    for (std::uint64_t at = in.offset; at < end;) {
        const std::uint64_t begin = piece == uncertain_.end() ? end : std::min(end, piece->first);
        while (at < begin) {
            const auto rest = actual.subspan(at - offset, begin - at);
            const auto differs = std::mismatch(rest.begin(), rest.end(), &known_[at]).first;
            at += static_cast<std::uint64_t>(differs - rest.begin());
            if (at < begin) wrong(at++);
        }
        if (at >= end) break;
        const std::uint64_t last = std::min(end, piece->first + piece->second.length);
        const auto here = actual.subspan(at - offset, last - at);
        if (!is_one_of(piece->first, piece->second, at, here)) {
            for (std::uint64_t one = at; one < last; ++one) {
                if (!may_be(piece->first, piece->second, one, actual[one - offset])) wrong(one);
            }
        }
        at = last;
        ++piece;
    }
    return found;
}

PossibleBytes PossibleBytes::slice(std::uint64_t offset, std::uint64_t length) const {
    const ByteRange in = cut(offset, length, size());
    PossibleBytes copy(part(known_, in.offset, in.length));
    const std::uint64_t end = in.offset + in.length;
    for (const auto& [begin, piece] : uncertain_) {
        const std::uint64_t from = std::max(begin, in.offset);
        const std::uint64_t to = std::min(begin + piece.length, end);
        if (from >= to) continue;
        Piece cut_piece{.length = to - from, .old = piece.old, .candidates = {}};
        for (const Candidate& one : piece.candidates) {
            cut_piece.candidates.push_back({.write = one.write,
                                            .settled = one.settled,
                                            .anything = one.anything,
                                            .bytes = part(one.bytes, from - begin, to - from)});
        }
        copy.uncertain_.emplace(from - in.offset, std::move(cut_piece));
    }
    return copy;
}

} // namespace veriroce::model
