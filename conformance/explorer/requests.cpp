// The tester's legal requests.
#include "conformance/explorer/requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

constexpr std::int64_t kMostPacketLines = 24;
constexpr wire::Duration kCall = std::chrono::milliseconds(1); // of the agent, in a slow lab

// Any QP that uses the shared queue may take it.
std::string shared_receive(Sketch& sketch) {
    ++sketch.shared_receives();
    const std::uint64_t id = sketch.next_id();
    return fmt::format("dut    recv id={} local=k1[{} +{}] srq=q", id,
                       sketch.sink(1, kSharedReceiveBytes), kSharedReceiveBytes);
}

bool takes_receive(const Message& message) {
    return !message.write || message.immediate;
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

} // namespace

std::string data_field(std::uint64_t from, std::uint64_t bytes) {
    return bytes == 0 ? "len=0" : fmt::format("data=u[{} +{}]", from, bytes);
}

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

void queue(Qp& qp, std::vector<std::string> lines) {
    std::ranges::move(lines, std::back_inserter(qp.pending));
}

void expect(Sketch& sketch, Qp& qp, std::uint64_t chance, std::string line) {
    if (qp.known && sketch.percent(chance)) qp.pending.push_back(std::move(line));
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

void ask_legally(Sketch& sketch, Qp& qp) {
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

void post_shared_receive(Sketch& sketch) {
    sketch.say(shared_receive(sketch));
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

} // namespace veriroce::explorer
