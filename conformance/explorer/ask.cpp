// The tester's requests.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dissector/wire/opcode.hpp"

namespace veriroce::explorer {
namespace {

constexpr std::int64_t kMostPacketLines = 24;
constexpr std::int64_t kMostPacketsOfIllegal = 6;              // in one line
constexpr wire::Duration kCall = std::chrono::milliseconds(1); // of the agent, in a slow lab
// How far keys are beside those that exist.
constexpr std::array<std::uint32_t, 6> kBeside{1, 1, 2, 128, 0x10000, 0x1000000};

// A SEND or a WRITE of the tester.
struct Message {
    bool write = false;
    bool immediate = false;
    std::uint64_t bytes = 0;
    bool solicited = false;
    bool asks = false;  // for an ACK
    std::string remote; // va= and rkey= of a WRITE
    std::string flags;  // of the last packet
    std::uint64_t from = 0;
};

std::string data_field(std::uint64_t from, std::uint64_t bytes) {
    return bytes == 0 ? "len=0" : fmt::format("data=u[{} +{}]", from, bytes);
}

// The packets of a message, a line each; of a very long one, one line for all. Requests of the
// tester ask for an answer at the end, and sometimes before.
std::vector<std::string> packets_of(Sketch& sketch, const Qp& qp, const Message& message,
                                    std::int64_t psn) {
    const std::int64_t count = sketch.packets_of(message.bytes);
    const std::string_view name = message.write ? "RDMA_WRITE" : "SEND";
    std::vector<std::string> lines;
    if (count > kMostPacketLines) {
        std::string line = fmt::format("{}{}{} psn={}{} {}{}", sends(qp), name,
                                       message.immediate ? "_WITH_IMM" : "", psn, message.remote,
                                       data_field(message.from, message.bytes), message.flags);
        if (message.solicited) line = with_option(std::move(line), "se");
        return {std::move(line)};
    }
    std::uint64_t done = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool first = i == 0;
        const bool last = i + 1 == count;
        const std::uint64_t bytes = std::min<std::uint64_t>(sketch.mtu(), message.bytes - done);
        std::string line = fmt::format(
            "{}{}_{}{} psn={}{} {}{}", sends(qp), name, place_of(i, count),
            last && message.immediate ? "_WITH_IMM" : "", psn + i, first ? message.remote : "",
            data_field(message.from + done, bytes), last ? message.flags : "");
        if (first && !last && message.write) line += fmt::format(" dmalen={}", message.bytes);
        if (last && message.solicited) line = with_option(std::move(line), "se");
        if (!last && sketch.percent(8)) line = with_option(std::move(line), "ackreq");
        lines.push_back(with_marks(sketch, std::move(line)));
        done += bytes;
    }
    return lines;
}

// The lines of one QP that come next, now or between those of others.
void queue(Qp& qp, std::vector<std::string> lines) {
    std::ranges::move(lines, std::back_inserter(qp.pending));
}

void expect(Sketch& sketch, Qp& qp, std::uint64_t chance, std::string line) {
    if (qp.known && sketch.percent(chance)) qp.pending.push_back(std::move(line));
}

// Any QP that uses the shared queue may take it.
std::string shared_receive(Sketch& sketch) {
    ++sketch.shared_receives();
    const std::uint64_t id = sketch.next_id();
    return fmt::format("dut    recv id={} local=k1[{} +{}] srq=q", id,
                       sketch.sink(1, kSharedReceiveBytes), kSharedReceiveBytes);
}

void post_receive(Sketch& sketch, Qp& qp, std::uint64_t bytes) {
    if (qp.shared) {
        qp.pending.push_back(shared_receive(sketch));
        return;
    }
    const std::uint64_t id = sketch.next_id();
    const std::string where =
        bytes == 0 ? "len=0" : "local=" + sketch.sinks(qp.domain, sketch.parts(bytes, 3));
    qp.pending.push_back(fmt::format("dut    recv {}id={} {}", of(qp), id, where));
    qp.receives.push_back({id, bytes});
}

// A receive for a message of this length; the message is cut to one that is
// there already.
std::uint64_t with_receive(Sketch& sketch, Qp& qp, std::uint64_t bytes) {
    if (qp.shared) {
        // One more than is needed, in case a message that ended its connection took
        // one.
        if (sketch.shared_receives() == 0 || sketch.percent(30)) post_receive(sketch, qp, 0);
        return std::min(bytes, kSharedReceiveBytes);
    }
    if (qp.receives.empty()) {
        const std::uint64_t more = sketch.percent(50) ? 0 : sketch.random().below(300);
        post_receive(sketch, qp, bytes + more);
    }
    return std::min(bytes, qp.receives.front().bytes);
}

// Anywhere in a large region, or up to the end of a small one; without data, nowhere.
std::string remote_target(Sketch& sketch, const Qp& qp, std::uint64_t bytes) {
    if (bytes == 0 && sketch.percent(30)) return " va=abs:0 rkey=abs:0";
    if (bytes <= kFixedBytes && sketch.percent(12))
        return fmt::format(" va=f{0}+{1} rkey=f{0}", qp.domain, kFixedBytes - bytes);
    if (bytes <= kOddBytes && sketch.percent(12))
        return fmt::format(" va=o{0}+{1} rkey=o{0}", qp.domain, kOddBytes - bytes);
    return fmt::format(" va=t{0}+{1} rkey=t{0}", qp.domain, sketch.target(qp.domain, bytes));
}

Message some_message(Sketch& sketch, const Qp& qp, bool write) {
    const bool immediate = sketch.features().immediate && sketch.percent(30);
    Message message{.write = write, .immediate = immediate, .bytes = sketch.length()};
    message.solicited = (!write || immediate) && sketch.percent(10);
    if (immediate) {
        const std::uint64_t value = sketch.percent(15) ? 0 : sketch.random().next() >> 32;
        message.flags = fmt::format(" imm=0x{:X}", value);
    }
    message.asks = sketch.percent(85);
    if (message.asks) message.flags += " ackreq";
    if (write) message.remote = remote_target(sketch, qp, message.bytes);
    return message;
}

bool takes_receive(const Message& message) {
    return !message.write || message.immediate;
}

// The device accepts the message.
void accepted(Sketch& sketch, Qp& qp, const Message& message, std::vector<std::string> packets) {
    const std::int64_t count = sketch.packets_of(message.bytes);
    const std::int64_t last = qp.psn + count - 1;
    qp.sent.push_back({.packets = packets, .first_psn = qp.psn, .last_psn = last});
    queue(qp, std::move(packets));
    if (message.asks) expect(sketch, qp, 60, fmt::format("{}ACK psn={}", expects(qp), last));
    if (takes_receive(message) && qp.shared) {
        --sketch.shared_receives();
    } else if (takes_receive(message)) {
        expect(sketch, qp, 30,
               fmt::format("dut    done {}recv id={}", of(qp), qp.receives.front().id));
        qp.receives.pop_front();
    }
    qp.psn += count;
    sketch.count(message.bytes);
}

void send_message(Sketch& sketch, Qp& qp, bool write) {
    Message message = some_message(sketch, qp, write);
    if (takes_receive(message)) {
        const std::uint64_t room = with_receive(sketch, qp, message.bytes);
        if (!write) message.bytes = room;
    }
    message.from = sketch.constant(message.bytes);
    accepted(sketch, qp, message, packets_of(sketch, qp, message, qp.psn));
}

void send_read(Sketch& sketch, Qp& qp) {
    make_room_for_read(sketch, qp);
    const std::uint64_t bytes = sketch.length();
    const std::int64_t count = sketch.packets_of(bytes);
    const bool at_end = bytes <= kFixedBytes && sketch.percent(12);
    const bool at_odd_end = !at_end && bytes <= kOddBytes && sketch.percent(12);
    const std::string_view region = at_end ? "f" : at_odd_end ? "o" : "t";
    const std::uint64_t offset = at_end       ? kFixedBytes - bytes
                                 : at_odd_end ? kOddBytes - bytes
                                              : sketch.target(qp.domain, bytes);
    // A later part of it is what a requester asks for that lost the first
    // responses.
    const auto request = [&](std::int64_t skipped) {
        const std::uint64_t before = static_cast<std::uint64_t>(skipped) * sketch.mtu();
        return fmt::format("{0}RDMA_READ_REQUEST psn={1} va={5}{2}+{3} rkey={5}{2} dmalen={4}",
                           sends(qp), qp.psn + skipped, qp.domain, offset + before, bytes - before,
                           region);
    };
    qp.pending.push_back(with_marks(sketch, request(0)));
    expect(sketch, qp, 70,
           fmt::format("{}RDMA_READ_RESPONSE psn={} len={}", expects(qp), qp.psn, bytes));
    const std::int64_t skipped =
        count > 1
            ? static_cast<std::int64_t>(sketch.random().below(static_cast<std::uint64_t>(count)))
            : 0;
    Sent sent{.packets = {request(skipped)},
              .first_psn = qp.psn + skipped,
              .last_psn = qp.psn + count - 1,
              .read = true};
    if (count > 1) sent.variants = {request(0), request(count - 1), request(count / 2)};
    qp.sent.push_back(std::move(sent));
    qp.psn += count;
    sketch.count(bytes);
}

// A value whose carries and words show.
std::uint64_t some_word(Sketch& sketch) {
    constexpr std::array<std::uint64_t, 6> words{
        0, 1, 0xFFFF'FFFF, 0x7FFF'FFFF'FFFF'FFFF, 0xFFFF'FFFF'FFFF'FFFF, 0xFFFF'FFFF'0000'0000};
    return sketch.percent(50) ? sketch.random().pick(words) : sketch.random().next();
}

// ATM-01, ATM-08: on a word that is known, so that a compare meets it, or misses it by one bit.
void send_atomics_on_known_word(Sketch& sketch, Qp& qp) {
    const Place word = sketch.word(qp.domain);
    const std::string where = word.fields();
    std::uint64_t value = some_word(sketch);
    std::string bytes;
    for (int i = 0; i < 8; ++i) // as a host of the usual byte order holds it
        bytes += fmt::format("{:02X}", (value >> (8 * i)) & 0xFF);
    qp.pending.push_back(
        fmt::format("dut    write {}[{} +8] = hex\"{}\"", word.region, word.offset, bytes));
    for (std::uint64_t more = 1 + sketch.random().below(3); more > 0; --more) {
        make_room_for_read(sketch, qp);
        std::string line = fmt::format("{}FETCH_ADD psn={} {} add=", sends(qp), qp.psn, where);
        if (sketch.percent(50)) {
            const std::uint64_t add = some_word(sketch);
            line += fmt::format("0x{:X}", add);
            value += add;
        } else {
            constexpr std::array<std::uint64_t, 5> misses{0, 0, 1, 0x1'0000'0000,
                                                          0x8000'0000'0000'0000};
            const std::uint64_t compare = value ^ sketch.random().pick(misses);
            const std::uint64_t swap = some_word(sketch);
            line = fmt::format("{}COMPARE_SWAP psn={} {} compare=0x{:X} swap=0x{:X}", sends(qp),
                               qp.psn, where, compare, swap);
            if (compare == value) value = swap;
        }
        qp.pending.push_back(line);
        expect(sketch, qp, 70, fmt::format("{}ATOMIC_ACKNOWLEDGE psn={}", expects(qp), qp.psn));
        qp.sent.push_back(
            {.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn, .atomic = true});
        ++qp.psn;
    }
}

void send_atomic(Sketch& sketch, Qp& qp) {
    if (sketch.percent(35)) return send_atomics_on_known_word(sketch, qp);
    make_room_for_read(sketch, qp);
    sim::Random& random = sketch.random();
    const std::string where = sketch.word(qp.domain).fields();
    const bool add = sketch.percent(50);
    const std::uint64_t most = add ? 1'000'000 : 3;
    const std::uint64_t compare = random.below(most); // of FETCH_ADD it is not looked at
    const std::uint64_t other = random.below(most);
    const std::string operation =
        add ? fmt::format("FETCH_ADD psn={} {} add={} compare={}", qp.psn, where, other, compare)
            : fmt::format("COMPARE_SWAP psn={} {} compare={} swap={}", qp.psn, where, compare,
                          other);
    const std::string line = sends(qp) + operation;
    qp.pending.push_back(with_marks(sketch, line));
    expect(sketch, qp, 70, fmt::format("{}ATOMIC_ACKNOWLEDGE psn={}", expects(qp), qp.psn));
    qp.sent.push_back({.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn, .atomic = true});
    ++qp.psn;
}

// EXT-01 to EXT-04: both are answered with an empty READ response.
void send_extension(Sketch& sketch, Qp& qp) {
    make_room_for_read(sketch, qp);
    std::string line;
    if (sketch.percent(60)) {
        const std::string where = sketch.word(qp.domain).fields();
        line = fmt::format("{}ATOMIC_WRITE psn={} {} data=hex\"{:016X}\"", sends(qp), qp.psn, where,
                           sketch.random().next());
    } else {
        std::uint64_t bytes = 1 + sketch.random().below(100);
        Place place{fmt::format("t{}", qp.domain), sketch.target(qp.domain, bytes)};
        const bool whole = sketch.percent(25); // EXT-03: the region, with every range
        if (whole) {
            bytes = sketch.random().below(3 * kFixedBytes);
            place = {fmt::format("f{}", qp.domain), sketch.random().below(kFixedBytes)};
        }
        line = fmt::format("{}FLUSH psn={} {} dmalen={} plt=1 sel={}", sends(qp), qp.psn,
                           place.fields(), bytes, whole ? 1 : 0);
    }
    qp.pending.push_back(line);
    expect(sketch, qp, 70,
           fmt::format("{}RDMA_READ_RESPONSE_ONLY psn={} len=0", expects(qp), qp.psn));
    qp.sent.push_back({.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn, .atomic = true});
    ++qp.psn;
}

void legal(Sketch& sketch, Qp& qp) {
    const Features& features = sketch.features();
    std::vector<void (*)(Sketch&, Qp&)> ways;
    const auto add = [&](bool on, std::size_t weight, void (*way)(Sketch&, Qp&)) {
        if (on) ways.insert(ways.end(), weight, way);
    };
    const bool nothing = !qp.may_write && !qp.may_read;
    add(features.sends || nothing, 3, [](Sketch& s, Qp& q) { send_message(s, q, false); });
    add(features.writes && qp.may_write, 3, [](Sketch& s, Qp& q) { send_message(s, q, true); });
    add(features.reads && qp.may_read, 2, send_read);
    add(features.atomics && qp.may_atomic, 1, send_atomic);
    add(features.extensions && qp.may_write && qp.may_atomic, 1, send_extension);
    if (ways.empty()) add(true, 1, [](Sketch& s, Qp& q) { send_message(s, q, false); });
    ways[sketch.random().below(ways.size())](sketch, qp);
}

// --- what a network does ----------------------------------------------------------------------

// RSP-10, RDR-04, ATM-04. Of an atomic only the latest ones are kept.
void duplicate(Sketch& sketch, Qp& qp) {
    if (qp.sent.empty()) return legal(sketch, qp);
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

// RDR-04, ATM-04: the answer to the latest request, a READ or an atomic, was lost, and the tester
// asks again. No other answer is due, so the device has one way. (A SEND or WRITE may have to come
// more than twice.)
void ask_again(Sketch& sketch, Qp& qp) {
    const Sent* one = qp.sent.empty() ? nullptr : &qp.sent.back();
    if (one == nullptr || one->last_psn != qp.psn - 1) return legal(sketch, qp);
    const bool able = one->read ? qp.may_read : one->atomic && qp.may_atomic;
    if (!able) return legal(sketch, qp);
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

void unready(Sketch& sketch, Qp& qp);
void illegal(Sketch& sketch, Qp& qp);

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

// RSP-02: it comes, and then what is expected.
void far_packet(Sketch& sketch, Qp& qp) {
    if (reaches_far(sketch)) return legal(sketch, qp); // as far as its messages
    qp.pending.push_back(request_ahead(sketch, qp));
    expect(sketch, qp, 80, fmt::format("{}NAK psn={} code=PSN_SEQUENCE", expects(qp), qp.psn));
    if (sketch.features().unready && sketch.features().sends && sketch.percent(30))
        return unready(sketch, qp);
    if (sketch.features().illegal && sketch.percent(20)) return illegal(sketch, qp);
    legal(sketch, qp);
}

// RSP-02: the first packets of what follows are lost, and those after them arrive. All are sent
// again.
void gap(Sketch& sketch, Qp& qp) {
    const std::int64_t expected = qp.psn;
    const auto is_packet = [&](const std::string& line) { return line.starts_with(sends(qp)); };
    for (int i = 0; i < 3 && std::ranges::count_if(qp.pending, is_packet) < 2; ++i)
        legal(sketch, qp);
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

// RNR-01: no receive is there. The tester waits, and sends again.
void unready(Sketch& sketch, Qp& qp) {
    if (qp.shared || !qp.receives.empty() || !qp.known) return legal(sketch, qp);
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
    if (!fits || !apart || (write && !message.immediate)) return legal(sketch, qp);
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

// A request, and before it a copy that every device must drop.
void dropped(Sketch& sketch, Qp& qp) {
    legal(sketch, qp);
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

// --- what ends a connection -------------------------------------------------------------------

// A request that a responder must refuse; `certain`: with a NAK, and the QP is
// in ERR after it.
struct Illegal {
    std::vector<std::string> packets; // without their QP
    bool certain = true;
};

std::string remote_of(std::string_view region, std::uint32_t domain, std::uint64_t offset) {
    return fmt::format("va={0}{1}+{2} rkey={0}{1}", region, domain, offset);
}

// The same of an atomic.
Illegal bad_atomic(Sketch& sketch, const Qp& qp) {
    const std::uint32_t domain = qp.domain;
    const std::string operation =
        sketch.percent(50) ? fmt::format("FETCH_ADD psn={} add=1 ", qp.psn)
                           : fmt::format("COMPARE_SWAP psn={} compare=0 swap=1 ", qp.psn);
    if (!qp.may_atomic) return {{operation + remote_of("f", domain, 0)}};
    switch (sketch.random().below(6)) {
    case 0: return {{operation + remote_of("f", domain, kFixedBytes)}};
    case 1: return {{operation + remote_of("n", domain, 8)}};
    case 2: return {{operation + remote_of("k", domain, 0)}};
    case 3:
        return {{fmt::format("{}va=f{} rkey=f{}+{}", operation, domain, domain,
                             sketch.random().pick(kBeside))}};
    case 4: {
        const std::uint64_t word = 8 * sketch.random().below(8);
        const std::uint64_t beside = 1 + sketch.random().below(7);
        return {{operation + remote_of("f", domain, word + beside)}, false};
    }
    default: break;
    }
    return {{operation + remote_of(sketch.domains() < 2 ? "s" : "f",
                                   sketch.domains() < 2 ? domain : 3 - domain, 0)}};
}

// KEY-01 to KEY-05, KEY-07, KEY-08: the key or the range is wrong.
Illegal bad_access(Sketch& sketch, Qp& qp) {
    sim::Random& random = sketch.random();
    const std::int64_t psn = qp.psn;
    const std::uint32_t domain = qp.domain;
    const std::uint64_t bytes = 1 + random.below(sketch.mtu());
    const std::uint64_t beyond = kFixedBytes - random.below(bytes);
    const std::string write = fmt::format("RDMA_WRITE_ONLY psn={} len={} ", psn, bytes);
    const std::string read = fmt::format("RDMA_READ_REQUEST psn={} dmalen={} ", psn, bytes);
    if (!qp.may_write && sketch.percent(50)) return {{write + remote_of("f", domain, 0)}};
    if (!qp.may_read && sketch.percent(50)) return {{read + remote_of("f", domain, 0)}};
    if (sketch.reach().atomics && sketch.percent(25)) return bad_atomic(sketch, qp);
    if (sketch.features().extensions && qp.may_write && sketch.percent(20)) { // EXT-03
        return {{fmt::format("FLUSH psn={} {} dmalen={} plt=1 sel=0", psn,
                             remote_of("f", domain, beyond), bytes)}};
    }
    const std::string request = sketch.features().reads && sketch.percent(40) ? read : write;
    switch (random.below(12)) {
    case 8: // the upper half of an address counts as well
        return {{fmt::format("{}va=f{}+0x100000000 rkey=f{}", request, domain, domain)}};
    case 9:
    case 10: { // the first packets are within, the last one is not
        const std::uint64_t within = sketch.mtu() + random.below(3 * sketch.mtu());
        if (within > kFixedBytes) break;
        const std::uint64_t last = within + 1 + random.below(sketch.mtu());
        const bool writes = sketch.percent(60);
        return {{fmt::format("RDMA_{} psn={} va=f{}+{} rkey=f{} {}={}",
                             writes ? "WRITE" : "READ_REQUEST", psn, domain, kFixedBytes - within,
                             domain, writes ? "len" : "dmalen", last)},
                false};
    }
    case 11: // an immediate needs the right as well
        if (!sketch.features().immediate) break;
        (void)with_receive(sketch, qp, 0);
        return {{fmt::format("RDMA_WRITE_ONLY_WITH_IMM psn={} len={} {} imm=0x1", psn, bytes,
                             remote_of("n", domain, 0))},
                false};
    case 0:
        return {
            {fmt::format("{}va=f{} rkey=f{}+{}", request, domain, domain, random.pick(kBeside))}};
    case 6: // KEY-07
        if (!sketch.take_spare(domain)) break;
        qp.pending.push_back(fmt::format("dut    dereg g{}", domain));
        return {{request + remote_of("g", domain, 0)}};
    case 1: return {{fmt::format("{}va=f{} rkey=abs:0x5A5A5A5A", request, domain)}};
    case 2: return {{request + remote_of("f", domain, beyond)}};
    case 3: return {{fmt::format("{}va=f{}-1 rkey=f{}", request, domain, domain)}};
    case 4: return {{write + remote_of("n", domain, 0)}};
    case 5: return {{request + remote_of("k", domain, 0)}};
    default: break;
    }
    if (sketch.domains() < 2) return {{request + remote_of("s", domain, 0)}};
    return {{request + remote_of("f", 3 - domain, 0)}};
}

// OPC-01 to OPC-05, OPC-10: the order of opcodes.
Illegal bad_order(Sketch& sketch, const Qp& qp) {
    constexpr std::array<std::string_view, 4> orphans{"SEND_MIDDLE", "SEND_LAST",
                                                      "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST"};
    constexpr std::array<std::string_view, 4> intruders{"RDMA_WRITE_FIRST", "RDMA_WRITE_ONLY",
                                                        "SEND_MIDDLE", "SEND_LAST"};
    constexpr std::array<std::string_view, 2> with_immediate{"SEND_LAST", "RDMA_WRITE_LAST"};
    if (sketch.features().immediate && sketch.percent(15))
        return {{fmt::format("{}_WITH_IMM psn={} imm=7", sketch.random().pick(with_immediate),
                             qp.psn)}};
    if (sketch.reach().windows && sketch.percent(15))
        return {{fmt::format("SEND_LAST_WITH_INV psn={} ikey=abs:0x5A5A00", qp.psn)}};
    if (sketch.percent(50))
        return {{fmt::format("{} psn={}", sketch.random().pick(orphans), qp.psn)}};
    const std::string target = remote_of("f", qp.domain, 0);
    const std::string begin =
        fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", qp.psn, target, 3 * sketch.mtu());
    if (sketch.reach().atomics && sketch.percent(25)) // answered requests are no part of it either
        return {{begin, fmt::format("FETCH_ADD psn={} {} add=1", qp.psn + 1, target)}, false};
    if (sketch.reach().reading && sketch.percent(25))
        return {{begin, fmt::format("RDMA_READ_REQUEST psn={} {} dmalen=8", qp.psn + 1, target)},
                false};
    if (sketch.reach().flush && sketch.percent(20))
        return {{begin, fmt::format("FLUSH psn={} {} dmalen=8 plt=1 sel=0", qp.psn + 1, target)},
                false};
    if (sketch.reach().atomic_write && sketch.percent(20))
        return {{begin, fmt::format("ATOMIC_WRITE psn={} {} len=8", qp.psn + 1, target)}, false};
    const std::string_view intruder = sketch.random().pick(intruders);
    const bool remote = intruder == "RDMA_WRITE_FIRST" || intruder == "RDMA_WRITE_ONLY";
    return {{begin, fmt::format("{} psn={}{}", intruder, qp.psn + 1, remote ? " " + target : "")}};
}

// LEN-01 to LEN-06, ATM-02, BTH-11: lengths, alignment, padding.
Illegal bad_length(Sketch& sketch, const Qp& qp) {
    const std::uint32_t mtu = sketch.mtu();
    const std::string target = remote_of("f", qp.domain, 0);
    const std::int64_t psn = qp.psn;
    switch (sketch.random().below(10)) {
    case 0:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={} len={}", psn, target, 2 * mtu,
                             sketch.percent(30) ? 0 : mtu - 1 - sketch.random().below(8))}};
    case 6: // the two lengths differ by what 16 bits do not tell
        return {
            {fmt::format("RDMA_WRITE_ONLY psn={} {} dmalen={} len=64", psn, target, 65'536 + 64)},
            false};
    case 7: // a whole last packet, and more is announced
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, 3 * mtu),
                 fmt::format("RDMA_WRITE_LAST psn={} len={}", psn + 1, mtu)},
                false};
    case 8:
        return {{fmt::format("RDMA_WRITE_ONLY psn={0} {1} dmalen={2} len={2}", psn, target,
                             mtu + 4 * (1 + sketch.random().below(mtu / 4)))},
                false};
    case 1:
        return {{fmt::format("RDMA_WRITE_ONLY psn={} {} dmalen=64 len={}", psn, target,
                             60 + sketch.random().below(4))},
                false};
    case 2:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, mtu + 8),
                 fmt::format("RDMA_WRITE_LAST psn={} len=12", psn + 1)},
                false};
    case 3:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, mtu + 8),
                 fmt::format("RDMA_WRITE_LAST psn={} len=0", psn + 1)},
                false};
    case 4:
        if (mtu < 1024) break; // its PSNs would be half of all
        return {{fmt::format("RDMA_READ_REQUEST psn={} {} dmalen=0x80000001", psn, target)}, false};
    case 5:
        if (sketch.reach().atomic_write && qp.may_write && sketch.percent(50))
            return {{fmt::format("ATOMIC_WRITE psn={} {} len=8", psn,
                                 remote_of("f", qp.domain, 1 + sketch.random().below(7)))},
                    false};
        if (sketch.reach().atomics)
            return {{fmt::format("FETCH_ADD psn={} {} add=1", psn, remote_of("f", qp.domain, 4))},
                    false};
        break;
    default: break;
    }
    return {{fmt::format("SEND_ONLY psn={} opcode=0x{:X}", psn, 0x18 + sketch.random().below(4))},
            false};
}

// LEN-06, KEY-12: it does not fit into its receive, or the receive names no memory.
Illegal bad_receive(Sketch& sketch, Qp& qp) {
    const std::uint64_t id = sketch.next_id();
    const std::uint64_t room = sketch.random().below(2 * sketch.mtu());
    std::string where = "len=0";
    if (room > 0)
        where = fmt::format("local=k{}[{} +{}]", qp.domain, sketch.sink(qp.domain, room), room);
    std::string line = fmt::format("dut    recv {}id={} {}", of(qp), id, where);
    const bool no_memory = room > 0 && sketch.percent(25);
    if (no_memory) line = with_option(std::move(line), "lkey=abs:0x5A5A00");
    qp.pending.push_back(std::move(line));
    const std::uint64_t bytes = no_memory ? room : room + 1 + sketch.random().below(sketch.mtu());
    return {{fmt::format("SEND psn={} len={}", qp.psn, bytes)}, false};
}

// LEN-04: the same of a WRITE with immediate data, which would take a receive.
void add_immediate(Sketch& sketch, Qp& qp, Illegal& found) {
    constexpr std::array<std::string_view, 2> ends{"RDMA_WRITE_ONLY", "RDMA_WRITE_LAST"};
    std::string& last = found.packets.back();
    for (const std::string_view end : ends) {
        if (!last.starts_with(end)) continue;
        last.insert(end.size(), "_WITH_IMM");
        last += " imm=7";
        qp.pending.push_back(fmt::format("dut    recv {}id={} len=0", of(qp), sketch.next_id()));
        return;
    }
}

void illegal(Sketch& sketch, Qp& qp) {
    Illegal found;
    switch (sketch.random().below(4)) {
    case 0: found = bad_access(sketch, qp); break;
    case 1: found = bad_order(sketch, qp); break;
    case 2:
        if (!qp.shared && qp.receives.empty()) {
            found = bad_receive(sketch, qp);
            break;
        }
        [[fallthrough]];
    default:
        found = bad_length(sketch, qp);
        if (!qp.shared && sketch.features().immediate && sketch.percent(30))
            add_immediate(sketch, qp, found);
        break;
    }
    for (const std::string& packet : found.packets)
        qp.pending.push_back(sends(qp) + packet);
    qp.pending.back() += " ackreq";
    // The refused message may have taken a receive (N-14).
    if (qp.shared && sketch.shared_receives() > 0) --sketch.shared_receives();
    const std::size_t before = qp.pending.size();
    if (found.certain) expect(sketch, qp, 50, fmt::format("dut    state {}ERR", of(qp)));
    qp.close();
    qp.in_error = qp.pending.size() > before;
    // N-07: silence, whatever follows.
    const std::int64_t after = found.packets.size() == 1 ? kMostPacketsOfIllegal : 2;
    if (sketch.percent(50)) {
        qp.pending.push_back(fmt::format("{}SEND_ONLY psn={} ackreq", sends(qp), qp.psn + after));
    }
}

// N-07: a QP that has failed stays silent.
void speak_to_the_dead(Sketch& sketch, Qp& qp) {
    if (qp.in_error && sketch.features().aftermath && sketch.percent(20))
        return work_in_error(sketch, qp);
    if (!sketch.percent(20)) return;
    if (sketch.features().duplicates && !qp.sent.empty() && sketch.percent(30)) {
        const Sent& one = qp.sent[sketch.random().below(qp.sent.size())];
        return qp.pending.push_back(one.packets.front());
    }
    constexpr std::int64_t apart = 8; // no PSN stands for two requests
    const std::int64_t psn = qp.psn += apart;
    const std::string_view mark = sketch.features().marks && sketch.percent(40) ? " ip.ecn=3" : "";
    if (sketch.percent(50)) {
        return qp.pending.push_back(
            fmt::format("{}SEND_ONLY psn={} ackreq{}", sends(qp), psn, mark));
    }
    qp.pending.push_back(fmt::format("{}RDMA_READ_REQUEST psn={} va=f{} rkey=f{} dmalen=64",
                                     sends(qp), psn, qp.domain, qp.domain));
}

// ATM-04: two atomics, with PSNs of a READ between them, and both once more.
void send_replays(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::int64_t, 8> distances{1, 2, 3, 7, 15, 31, 63, 127};
    const std::int64_t count = sketch.random().pick(distances);
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sketch.mtu();
    if (!sketch.has_room(bytes)) return legal(sketch, qp);
    qp.pending.emplace_back("wait 2ms"); // for the answers of those before
    std::vector<std::string> atomics;
    const auto atomic = [&] {
        const std::string where = sketch.word(qp.domain).fields();
        const std::string& line =
            atomics.emplace_back(fmt::format("{}FETCH_ADD psn={} {} add={}", sends(qp), qp.psn,
                                             where, 1 + sketch.random().below(1000)));
        qp.pending.push_back(line);
        expect(sketch, qp, 100, fmt::format("{}ATOMIC_ACKNOWLEDGE psn={}", expects(qp), qp.psn));
        qp.sent.push_back(
            {.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn, .atomic = true});
        ++qp.psn;
    };
    atomic();
    qp.pending.push_back(
        fmt::format("{0}RDMA_READ_REQUEST psn={1} va=t{2}+{3} rkey=t{2} dmalen={4}", sends(qp),
                    qp.psn, qp.domain, sketch.target(qp.domain, bytes), bytes));
    expect(sketch, qp, 100,
           fmt::format("{}RDMA_READ_RESPONSE psn={} len={}", expects(qp), qp.psn, bytes));
    qp.psn += count;
    atomic();
    if (sketch.percent(50)) std::swap(atomics.front(), atomics.back());
    for (const std::string& line : atomics) { // a duplicate need not be answered at once
        qp.pending.emplace_back("wait 1ms");
        qp.pending.push_back(line);
    }
    qp.unheard = 0;
    sketch.count(bytes);
}

// ATM-04, RDR-04: what a QP keeps to answer a duplicate, another QP's requests do not take away.
void repeat_behind_another(Sketch& sketch, Qp& qp) {
    const auto is_able = [&](const Qp& one) {
        return &one != &qp && one.talk == Talk::TesterAsks && one.known && !one.dead &&
               !one.early && one.may_read && one.pending.empty();
    };
    const auto other = std::ranges::find_if(sketch.qps(), is_able);
    if (other == sketch.qps().end() || qp.sent.empty()) return legal(sketch, qp);
    send_pending(sketch, qp);
    constexpr std::array<std::int64_t, 8> counts{2, 4, 8, 16, 16, 17, 17, 33};
    const std::int64_t count = sketch.random().pick(counts);
    const auto region = fmt::format("f{}", other->domain);
    sketch.wait(std::chrono::milliseconds(2)); // for the answers to its requests
    sketch.say(fmt::format("repeat i in {}..{}", other->psn, other->psn + count - 1));
    sketch.say(fmt::format("{}RDMA_READ_REQUEST psn=i va={} rkey={} dmalen=8", sends(*other),
                           region, region));
    sketch.say(fmt::format("{}RDMA_READ_RESPONSE_ONLY psn=i", expects(*other)));
    sketch.say("end");
    constexpr wire::Duration most_of_each = std::chrono::milliseconds(20);
    sketch.pass(count * most_of_each);
    other->psn += count;
    other->unheard = 0;
    const std::size_t back = sketch.random().below(std::min<std::size_t>(qp.sent.size(), 2));
    queue(qp, (qp.sent.rbegin() + static_cast<std::ptrdiff_t>(back))->packets);
    qp.pending.emplace_back("wait 1ms");
}

// Hundreds of short WRITEs, so that what counts messages in few bits shows.
void send_volume(Sketch& sketch, Qp& qp) {
    const std::uint64_t count = 200 + sketch.random().below(120);
    const auto packets = static_cast<std::int64_t>(count);
    const std::uint64_t bytes = 1 + sketch.random().below(16);
    const std::uint64_t to = sketch.target(qp.domain, bytes);
    send_pending(sketch, qp);
    sketch.say(fmt::format("repeat i in {}..{}", qp.psn, qp.psn + packets - 1));
    sketch.say(fmt::format("{}RDMA_WRITE_ONLY psn=i va=t{}+{} rkey=t{} len={}", sends(qp),
                           qp.domain, to, qp.domain, bytes));
    sketch.say("end");
    qp.psn += packets;
    legal(sketch, qp);
}

// CNP-01, CNP-04: a device that answered one mark answers any later one, some time after it.
void congest(Sketch& sketch, Qp& qp) {
    constexpr wire::Duration apart = std::chrono::milliseconds(50);
    const std::uint64_t bytes = sketch.percent(40) ? 1 + sketch.random().below(sketch.mtu())
                                                   : 3 * std::uint64_t{sketch.mtu()};
    if (!sketch.has_room(bytes)) return legal(sketch, qp);
    send_pending(sketch, qp);
    const auto write = [&](std::string_view place, std::uint64_t part) {
        const bool begins = place == "ONLY" || place == "FIRST";
        std::string line = fmt::format("{}RDMA_WRITE_{} psn={}", sends(qp), place, qp.psn++);
        if (begins) line += remote_target(sketch, qp, bytes) + fmt::format(" dmalen={}", bytes);
        return line + fmt::format(" len={}", part);
    };
    sketch.say(fmt::format("{}RDMA_WRITE_ONLY psn={}{} len=8 ip.ecn=3", sends(qp), qp.psn++,
                           remote_target(sketch, qp, 8)));
    std::vector<std::string> lines;
    if (bytes <= sketch.mtu()) {
        lines = {write("ONLY", bytes)};
    } else {
        for (const std::string_view place : {"FIRST", "MIDDLE", "LAST"})
            lines.push_back(write(place, sketch.mtu()));
    }
    std::string& marked = lines[sketch.random().below(lines.size())];
    marked += " ip.ecn=3";
    const std::array<std::string, 4> others{
        fmt::format("ip.dscp={}", sketch.random().below(64)),
        fmt::format("ip.ttl={}", 1 + sketch.random().below(255)),
        fmt::format("udp.sport={}", 1024 + sketch.random().below(64'512)), "ackreq"};
    if (sketch.percent(60)) marked = with_option(std::move(marked), sketch.random().pick(others));
    const auto say_all = [&] {
        for (const std::string& line : lines)
            sketch.say(line);
    };
    sketch.say("any");
    sketch.say(fmt::format("{}CNP", expects(qp)));
    sketch.say("wait 50ms");
    say_all();
    sketch.say(fmt::format("{}CNP", expects(qp)));
    sketch.say("or"); // it sends none
    say_all();
    sketch.say("end");
    sketch.pass(apart + kSilence);
    sketch.count(bytes);
}

} // namespace

void post_shared_receive(Sketch& sketch) {
    sketch.say(shared_receive(sketch));
}

void ask(Sketch& sketch, Qp& qp) {
    if (qp.dead) return speak_to_the_dead(sketch, qp);
    if (std::exchange(qp.begins_with_send, false)) return send_small(sketch, qp, false);
    const Features& features = sketch.features();
    if (qp.early && sketch.percent(15)) {
        qp.pending.push_back(fmt::format("dut    modify {}state=RTS", of(qp)));
        qp.early = false;
        return;
    }
    const Qp& first = sketch.qps().front();
    if (features.twins && &qp != &first && qp.psn == 0 && !qp.early) {
        begin_alike(sketch, qp, first.sent);
        if (!qp.pending.empty()) return;
    }
    const bool rights = qp.may_read && qp.may_write && qp.domain == 1 && !qp.shared && !qp.early;
    constexpr std::uint32_t resources = 3;
    const bool replays =
        features.replays && qp.may_read && qp.may_atomic && sketch.reach().reads >= resources;
    const bool writes = qp.may_write && qp.known && !qp.early;
    const bool several = sketch.qps().size() > 1 && qp.known;
    const bool again = features.duplicates && qp.known && !qp.early && qp.unheard == 0;
    const std::array<Step, 15> steps{{
        {52, true, legal},
        {6, features.congestion && writes, congest},
        {12, features.windows && qp.known && qp.open.empty() && rights && !qp.drains, use_window},
        {8, replays, send_replays},
        {10, features.duplicates, duplicate},
        {4, features.duplicates && several, repeat_behind_another},
        {7, features.gaps, gap},
        {5, again, ask_again},
        {7, features.unready && features.sends, unready},
        {8, features.dropped, dropped},
        {3, features.illegal, illegal},
        {2, features.volume && qp.may_write && qp.known, send_volume},
        {1, features.volume, post_many_receives},
        {2, features.sends, [](Sketch& s, Qp& q) { post_receive(s, q, s.length()); }},
        {3, features.gaps && qp.known, far_packet},
    }};
    take_one(sketch, qp, steps);
}

void begin_alike(Sketch& sketch, Qp& qp, const std::vector<Sent>& former) {
    constexpr std::size_t most = 4;
    constexpr std::string_view arrow = "> ";
    // The same packet on this QP.
    const auto here = [&](std::string& line) {
        line.replace(0, line.find(arrow) + arrow.size(), sends(qp));
        return line.size() <= kColumns;
    };
    for (std::size_t i = 0; i < std::min(former.size(), most); ++i) {
        const Sent& one = former[i];
        const bool writes =
            one.packets.front().contains("RDMA_WRITE") && !one.packets.back().contains("IMM");
        const bool allowed = one.read     ? qp.may_read
                             : one.atomic ? qp.may_atomic
                                          : writes && qp.may_write;
        if (!allowed || one.first_psn != qp.psn) return;
        Sent again = one;
        if (!std::ranges::all_of(again.packets, here) || !std::ranges::all_of(again.variants, here))
            return;
        if (one.read || one.atomic) make_room_for_read(sketch, qp);
        for (std::string& line : again.packets)
            line = with_other_data(std::move(line));
        queue(qp, again.packets);
        qp.psn = one.last_psn + 1;
        qp.sent.push_back(std::move(again));
    }
}

void ask_legally(Sketch& sketch, Qp& qp) {
    legal(sketch, qp);
}

void intrude(Sketch& sketch, Qp& qp) {
    const bool able = is_reliable(qp.talk) && qp.talk != Talk::Peers && !qp.dead && !qp.early;
    if (able && !qp.pending.empty() && sketch.features().duplicates) repeat_old(sketch, qp);
}

void make_room_for_read(Sketch& sketch, Qp& qp) {
    if (++qp.unheard < sketch.reach().reads) return;
    qp.pending.emplace_back("wait 2ms"); // for the answers of those before it
    qp.unheard = 1;
}

void send_small(Sketch& sketch, Qp& qp, bool solicited) {
    const std::uint64_t bytes = with_receive(sketch, qp, sketch.random().below(64));
    const std::string data = data_field(sketch.constant(bytes), bytes);
    const std::string_view flags = solicited ? "ackreq se" : "ackreq";
    std::string line = fmt::format("{}SEND_ONLY psn={} {} {}", sends(qp), qp.psn, data, flags);
    if (sketch.features().immediate && qp.may_write && sketch.percent(40)) {
        line = fmt::format("{}RDMA_WRITE_ONLY_WITH_IMM psn={} va=t{}+{} rkey=t{} {} imm=0x1 {}",
                           sends(qp), qp.psn, qp.domain, sketch.target(qp.domain, bytes), qp.domain,
                           data, flags);
    }
    qp.pending.push_back(line);
    qp.pending.push_back(fmt::format("{}ACK psn={}", expects(qp), qp.psn));
    qp.sent.push_back({.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn});
    ++qp.psn;
    if (qp.shared) {
        --sketch.shared_receives();
        return;
    }
    qp.pending.push_back(fmt::format("dut    done {}recv id={}", of(qp), qp.receives.front().id));
    qp.receives.pop_front();
}

void send_noticed(Sketch& sketch, Qp& qp, bool solicited) {
    if (qp.shared || sketch.percent(40)) return send_small(sketch, qp, solicited);
    const bool write = qp.may_write && sketch.features().immediate && sketch.percent(30);
    Message message = some_message(sketch, qp, write);
    message.immediate = write;
    message.bytes = sketch.percent(25) ? 0 : sketch.random().below(3 * sketch.mtu());
    message.remote = write ? remote_target(sketch, qp, message.bytes) : "";
    message.flags = write ? " imm=0x1 ackreq" : " ackreq";
    message.asks = true;
    message.solicited = solicited;
    const bool unready = sketch.features().unready && qp.receives.empty() && !write;
    const bool first_unready = unready && sketch.percent(40);
    if (!first_unready) {
        const std::uint64_t room = with_receive(sketch, qp, message.bytes);
        if (!write) message.bytes = std::min(message.bytes, room);
    }
    message.from = sketch.constant(message.bytes);
    std::vector<std::string> packets = packets_of(sketch, qp, message, qp.psn);
    const std::int64_t last = qp.psn + sketch.packets_of(message.bytes) - 1;
    const auto fits = packets.front().size() + kAfterTimer.size() <= kColumns;
    if (first_unready) {
        if (fits) {
            qp.pending.push_back(packets.front());
            qp.pending.push_back(fmt::format("{}RNR_NAK psn={}", expects(qp), qp.psn));
        }
        post_receive(sketch, qp, message.bytes);
        if (fits) packets.front() += kAfterTimer;
    } else if (sketch.features().gaps && packets.size() > 1 && sketch.percent(40)) {
        qp.pending.insert(qp.pending.end(), packets.begin() + 1, packets.end());
        qp.pending.push_back(fmt::format("{}NAK psn={} code=PSN_SEQUENCE", expects(qp), qp.psn));
    }
    queue(qp, packets);
    qp.pending.push_back(fmt::format("{}ACK psn={}", expects(qp), last));
    qp.pending.push_back(fmt::format("dut    done {}recv id={}", of(qp), qp.receives.front().id));
    qp.receives.pop_front();
    qp.psn = last + 1;
    sketch.count(message.bytes);
}

void post_many_receives(Sketch& sketch, Qp& qp) {
    if (qp.shared || qp.many || !is_reliable(qp.talk) || qp.talk == Talk::Peers) return;
    qp.many = true;
    const std::uint64_t count = 5 + sketch.random().below(36);
    const std::uint64_t first = sketch.next_ids(count);
    const std::uint64_t bytes = sketch.random().below(100);
    qp.pending.push_back(
        fmt::format("dut    recv {}id={}..{} len={}", of(qp), first, first + count - 1, bytes));
    for (std::uint64_t id = first; id < first + count; ++id)
        qp.receives.push_back({id, bytes});
    sketch.pass(count * kCall);
}

void probe(Sketch& sketch, Qp& qp) {
    if (qp.talk == Talk::Peers) return traffic(sketch, qp);
    if (!is_reliable(qp.talk)) return talk_unreliably(sketch, qp);
    const bool asks = qp.talk != Talk::DutAsks;
    if (asks && !qp.early) {
        for (std::uint64_t more = 1 + sketch.random().below(3); more > 0; --more) {
            ask(sketch, qp);
            send_pending(sketch, qp);
        }
        if (!qp.dead && qp.known)
            send_small(sketch, qp, false);
        else if (!qp.dead)
            legal(sketch, qp);
        send_pending(sketch, qp);
    }
    if (qp.talk == Talk::TesterAsks || qp.dut_dead) return;
    ask_device(sketch, qp);
    answer_all(sketch, qp);
}

} // namespace veriroce::explorer
