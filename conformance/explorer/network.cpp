// What a network does to the tester's requests: it loses, repeats and damages them.
#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conformance/explorer/requests.hpp"

namespace veriroce::explorer {
namespace {

// Of a packet line.
std::optional<std::int64_t> psn_of(std::string_view line) {
    constexpr std::string_view field = " psn=";
    const std::size_t at = line.find(field);
    if (at == std::string_view::npos) return std::nullopt;
    std::int64_t psn = 0;
    std::from_chars(line.data() + at + field.size(), line.data() + line.size(), psn);
    return psn;
}

// The lowest PSN of a packet that will be sent.
std::int64_t first_waiting_psn(const Qp& qp) {
    std::int64_t first = qp.psn;
    for (const std::string& line : qp.pending) {
        if (line.starts_with(sends(qp))) first = std::min(first, psn_of(line).value_or(first));
    }
    return first;
}

// A READ that is asked for again from this PSN on is answered from there on (RDR-06).
void expect_rest_of_read(Sketch& sketch, const Qp& qp, std::int64_t from, std::int64_t last) {
    const bool one = from == last;
    const auto say = [&](std::string_view place, std::int64_t psn) {
        sketch.say(fmt::format("{}RDMA_READ_RESPONSE_{} psn={}", expects(qp), place, psn));
    };
    sketch.say("any");
    say(one ? "ONLY" : "FIRST", from);
    sketch.say("or");
    say(one ? "LAST" : "MIDDLE", from);
    sketch.say("end");
    if (!one) say("LAST", last);
}

// Of what is old for certain: all that came before the request whose lines wait.
void repeat_old(Sketch& sketch, const Qp& qp) {
    const std::int64_t waiting = first_waiting_psn(qp);
    std::vector<const Sent*> old;
    for (const Sent& one : qp.sent) {
        if (one.last_psn < waiting) old.push_back(&one);
    }
    if (old.empty()) return;
    // The newest ones more often: of READs and atomics only those are kept.
    constexpr std::size_t kept = 3;
    const std::size_t most = sketch.percent(70) ? std::min(old.size(), kept) : old.size();
    const std::size_t back = sketch.random().below(most);
    const Sent& one = *old[old.size() - 1 - back];
    if (one.atomic && back >= kept) return;
    sketch.say(one.packets[sketch.random().below(one.packets.size())]);
}

// Whether requests of the dialogue may take as many PSNs as a packet far ahead is away.
bool reaches_far(const Sketch& sketch) {
    return sketch.features().volume || sketch.features().large;
}

// Farther ahead than any packet of the dialogue: one PSN never stands for two requests. Not so far
// that the judge takes it for a gap that it cannot judge.
std::int64_t far_ahead(Sketch& sketch) {
    constexpr std::array<std::int64_t, 4> distances{700, 800, 900, 1000};
    return sketch.random().pick(distances);
}

// At times longer than any device takes for a NAK. Its own requests do not like to wait so long.
std::string time_for_nak(Sketch& sketch) {
    const bool none_open = std::ranges::all_of(
        sketch.qps(), [](const Qp& one) { return one.open.empty() && one.talk != Talk::Peers; });
    return none_open && sketch.percent(30) ? std::string(kLongPause) : "wait 1ms";
}

// A request from far ahead.
std::string request_ahead(Sketch& sketch, const Qp& qp) {
    const std::string remote = fmt::format("va=f{0} rkey=f{0}", qp.domain);
    const std::string foreign = fmt::format("va=f{0} rkey=f{0}+{1}", qp.domain, 1);
    const std::string_view asks = sketch.percent(70) ? " ackreq" : "";
    const std::array<std::string, 10> kinds{"SEND_ONLY",
                                            "SEND_MIDDLE",
                                            "SEND_LAST",
                                            "SEND_FIRST",
                                            "RDMA_WRITE_MIDDLE",
                                            "RDMA_WRITE_ONLY " + remote,
                                            "RDMA_WRITE_ONLY len=8 " + foreign,
                                            "RDMA_READ_REQUEST dmalen=8 " + remote,
                                            sketch.reach().atomics ? "FETCH_ADD add=1 " + remote
                                                                   : "SEND_ONLY len=1",
                                            "RDMA_READ_REQUEST dmalen=8 " + foreign};
    const std::string kind = sketch.random().pick(kinds);
    return fmt::format("{}{} psn={}{}", sends(qp), kind, qp.psn + far_ahead(sketch), asks);
}

} // namespace

// Of an atomic only the latest ones are kept.
void duplicate(Sketch& sketch, Qp& qp) {
    if (qp.sent.empty()) return ask_legally(sketch, qp);
    const std::size_t most = std::min<std::size_t>(qp.sent.size(), 4);
    // Of what is older, what takes no resource to remember.
    const std::size_t oldest = sketch.random().below(qp.sent.size());
    const Sent& recent = qp.sent[qp.sent.size() - 1 - sketch.random().below(most)];
    const bool message = !qp.sent[oldest].atomic && !qp.sent[oldest].read;
    const bool old = message && sketch.percent(15);
    const Sent& one = old ? qp.sent[oldest] : recent;
    // From any packet to the end, as after a timeout.
    const std::size_t first = sketch.random().below(one.packets.size());
    std::vector<std::string> again(one.packets.begin() + static_cast<std::ptrdiff_t>(first),
                                   one.packets.end());
    if (sketch.percent(20)) again.resize(1); // one packet that the network repeated
    if (!one.variants.empty() && sketch.percent(60)) {
        again = {one.variants[sketch.random().below(one.variants.size())]};
        if (sketch.percent(30)) { // and once more, as another part
            again.emplace_back("wait 1ms");
            again.push_back(one.variants[sketch.random().below(one.variants.size())]);
        }
    } else if (one.packets.size() == 1 && sketch.percent(10)) { // many times
        for (std::uint64_t more = 2 + sketch.random().below(10); more > 0; --more) {
            again.emplace_back("wait 1ms");
            again.push_back(one.packets.front());
        }
    }
    // Between the packets of another message (RSP-13), or after all that was
    // sent.
    if (!qp.pending.empty() && sketch.percent(50)) {
        for (std::string& line : again)
            sketch.say(std::move(line));
        return;
    }
    queue(qp, std::move(again));
}

void ask_again(Sketch& sketch, Qp& qp) {
    const Sent* one = qp.sent.empty() ? nullptr : &qp.sent.back();
    if (one == nullptr || one->last_psn != qp.psn - 1) return ask_legally(sketch, qp);
    const bool able = one->read ? qp.may_read : one->atomic && qp.may_atomic;
    if (!able) return ask_legally(sketch, qp);
    sketch.wait(std::chrono::milliseconds(1));
    if (one->read) {
        const std::vector<std::string>& ways = one->variants.empty() ? one->packets : one->variants;
        const std::string& line = ways[sketch.random().below(ways.size())];
        sketch.say(line);
        return expect_rest_of_read(sketch, qp, psn_of(line).value_or(0), one->last_psn);
    }
    const std::string& line = one->packets.back();
    const bool extension = line.contains("FLUSH") || line.contains("ATOMIC_WRITE");
    sketch.say(line);
    sketch.say(fmt::format("{}{} psn={}", expects(qp),
                           extension ? "RDMA_READ_RESPONSE_ONLY" : "ATOMIC_ACKNOWLEDGE",
                           one->last_psn));
}

void far_packet(Sketch& sketch, Qp& qp) {
    if (reaches_far(sketch)) return ask_legally(sketch, qp); // as far as its messages
    qp.pending.push_back(request_ahead(sketch, qp));
    expect(sketch, qp, 80, fmt::format("{}NAK psn={} code=PSN_SEQUENCE", expects(qp), qp.psn));
    if (sketch.features().unready && sketch.features().sends && sketch.percent(30))
        return unready(sketch, qp);
    if (sketch.features().illegal && sketch.percent(20)) return ask_illegally(sketch, qp);
    ask_legally(sketch, qp);
}

void gap(Sketch& sketch, Qp& qp) {
    const std::int64_t expected = qp.psn;
    const auto is_packet = [&](const std::string& line) { return line.starts_with(sends(qp)); };
    for (int i = 0; i < 3 && std::ranges::count_if(qp.pending, is_packet) < 2; ++i)
        ask_legally(sketch, qp);
    const std::deque<std::string> whole = std::exchange(qp.pending, {});
    std::deque<std::string> rest;
    std::vector<std::string> packets;
    for (const std::string& line : whole) {
        const bool prepares = line.starts_with("dut    recv"); // must be there for both
        if (is_packet(line)) packets.push_back(line);
        (prepares ? qp.pending : rest).push_back(line);
    }
    const std::size_t most = packets.size() - 1;
    const std::size_t lost = most == 0 ? 0 : 1 + sketch.random().below(most);
    // Those up to `from` arrive, and all from `to` on.
    const auto lose = [&](std::size_t from, std::size_t to) {
        const auto at = [&](std::size_t i) {
            return packets.begin() + static_cast<std::ptrdiff_t>(i);
        };
        qp.pending.insert(qp.pending.end(), packets.begin(), at(from));
        qp.pending.insert(qp.pending.end(), at(to), packets.end());
    };
    if (lost > 0) {
        lose(0, lost);
        const std::size_t before = qp.pending.size();
        expect(sketch, qp, 60,
               fmt::format("{}NAK psn={} code=PSN_SEQUENCE", expects(qp), expected));
        const bool waits = qp.pending.size() > before;
        if (!waits && sketch.percent(30)) qp.pending.push_back(time_for_nak(sketch));
        // Of what is sent again another one is lost. An RNR NAK for the first may come instead.
        const std::size_t from =
            most > 1 && sketch.percent(30) ? 1 + sketch.random().below(most - 1) : 0;
        const auto takes_room = [](const std::string& line) {
            return line.contains("READ_REQUEST") || line.contains("COMPARE_SWAP") ||
                   line.contains("FETCH_ADD");
        };
        const auto open = std::ranges::count_if(std::span(packets).first(from), takes_room);
        if (from > 0 && std::cmp_less_equal(open, sketch.reach().reads)) {
            lose(from, from + 1);
            // The NAK acknowledges what is before it.
            const auto is_early = [&](const std::string& line) {
                return line.starts_with(fmt::format("{}ACK", expects(qp))) &&
                       line != fmt::format("{}ACK psn={}", expects(qp), qp.psn - 1);
            };
            std::erase_if(rest, is_early);
        }
        // RSP-04: duplicates are answered in the meantime.
        const auto is_old = [&](const Sent& one) { return one.last_psn < expected; };
        const auto old = std::ranges::find_if(qp.sent.rbegin(), qp.sent.rend(), is_old);
        if (sketch.features().duplicates && old != qp.sent.rend() && sketch.percent(40))
            queue(qp, old->packets);
    }
    qp.pending.insert(qp.pending.end(), rest.begin(), rest.end());
}

void unready(Sketch& sketch, Qp& qp) {
    if (qp.shared || !qp.receives.empty() || !qp.known) return ask_legally(sketch, qp);
    const bool write = sketch.features().immediate && qp.may_write && sketch.percent(25);
    Message message = some_message(sketch, qp, write);
    message.from = sketch.constant(message.bytes);
    const std::vector<std::string> packets = packets_of(sketch, qp, message, qp.psn);
    // A WRITE lacks its receive at the last packet only, and is sent again from there.
    const std::size_t refused = write ? packets.size() - 1 : 0;
    const std::int64_t psn = qp.psn + static_cast<std::int64_t>(refused);
    const bool fits = packets[refused].size() + kAfterTimer.size() <= kColumns;
    // One line may stand for all packets.
    const bool apart = !write || sketch.packets_of(message.bytes) == std::ssize(packets);
    if (!fits || !apart || (write && !message.immediate)) return ask_legally(sketch, qp);
    queue(qp, packets);
    qp.pending.push_back(fmt::format("{}RNR_NAK psn={}", expects(qp), psn));
    // Meanwhile duplicates are answered, and what follows is dropped.
    if (sketch.features().duplicates && !qp.sent.empty() && sketch.percent(30))
        queue(qp, qp.sent.back().packets);
    if (sketch.features().gaps && !reaches_far(sketch) && sketch.percent(30)) {
        qp.pending.push_back(request_ahead(sketch, qp));
    }
    std::vector<std::string> again(packets.begin() + static_cast<std::ptrdiff_t>(refused),
                                   packets.end());
    again.front() += kAfterTimer;
    // RSP-02: of what comes again a packet is lost once more.
    const bool apart_again =
        again.size() > 2 && std::cmp_equal(sketch.packets_of(message.bytes), packets.size());
    std::vector<std::string> lossy;
    if (sketch.features().gaps && apart_again && sketch.percent(40)) {
        lossy = {again.front(), again.back(), time_for_nak(sketch)};
        again.erase(again.begin());
    }
    if (lossy.empty() && sketch.percent(25)) { // still none
        qp.pending.push_back(again.front());
        qp.pending.push_back(fmt::format("{}RNR_NAK psn={}", expects(qp), psn));
    }
    const std::uint64_t more = sketch.percent(50) ? 0 : sketch.random().below(300);
    post_receive(sketch, qp, message.bytes + more);
    queue(qp, std::move(lossy));
    accepted(sketch, qp, message, std::move(again));
    qp.sent.back().packets = packets;
}

void dropped(Sketch& sketch, Qp& qp) {
    ask_legally(sketch, qp);
    const auto is_packet = [&](const std::string& line) { return line.starts_with(sends(qp)); };
    auto which = sketch.random().below(static_cast<std::uint64_t>(
        std::max<std::ptrdiff_t>(1, std::ranges::count_if(qp.pending, is_packet))));
    const auto one = std::ranges::find_if(
        qp.pending, [&](const std::string& line) { return is_packet(line) && which-- == 0; });
    if (one == qp.pending.end()) return;
    if (auto copy = damaged(*one, damage(sketch))) {
        // CNP-10, ENC-14: its mark is no reason for a CNP.
        const bool marked = copy->contains(" ip.ecn=");
        if (sketch.features().marks && !marked && sketch.percent(40))
            copy = with_option(*std::move(copy), "ip.ecn=3");
        qp.pending.insert(one, *std::move(copy));
    }
    if (sketch.percent(10)) // CNP-12: it is no request
        qp.pending.push_front(fmt::format("{}CNP psn=abs:0 becn{}", sends(qp),
                                          sketch.percent(20) ? " icrc=bad" : ""));
}

void intrude(Sketch& sketch, Qp& qp) {
    const bool able = is_reliable(qp.talk) && qp.talk != Talk::Peers && !qp.dead && !qp.early;
    if (able && !qp.pending.empty() && sketch.features().duplicates) repeat_old(sketch, qp);
}

} // namespace veriroce::explorer
