// The device's requests, and what the tester makes of them.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "conformance/interpreter/completions.hpp"

namespace veriroce::explorer {
namespace {

constexpr wire::Duration kWait = std::chrono::milliseconds(3);      // until a request has come
constexpr wire::Duration kLongWait = std::chrono::milliseconds(60); // it must have come long before
constexpr int kMostTimeouts = 20;                                   // until a device has given up
constexpr wire::Duration kLongTimeout = std::chrono::milliseconds(200); // too long to be used up
constexpr std::size_t kMostOpen = 12;     // requests that the tester has not answered
constexpr std::size_t kMostChained = 24;  // of them in one chain
constexpr std::uint32_t kMostPosted = 60; // of a QP; its queue holds 128

// Of the request at a PSN.
constexpr std::array<std::string_view, 4> kRefusals{
    "NAK psn={} code=REMOTE_ACCESS", "NAK psn={} code=PSN_SEQUENCE", "RNR_NAK psn={} timer=1",
    "RNR_NAK psn={} timer=0"}; // the longest wait

bool waits_for_packets(const Qp& qp) {
    // Elsewhere lines for answers would pass over the requests.
    return qp.talk == Talk::DutAsks;
}

// A line with an immediate has no room for two pieces, and one that names the tester's memory none
// for three.
std::string source_field(Sketch& sketch, const Qp& qp, std::uint64_t bytes, bool one_piece) {
    if (bytes == 0) return "len=0";
    const std::uint64_t most = one_piece ? 1 : sketch.features().writes ? 2 : 3;
    return "local=" + sketch.sources(qp.domain, sketch.parts(bytes, most));
}

std::string sink_field(Sketch& sketch, const Qp& qp, std::uint64_t bytes) {
    if (bytes == 0) return "len=0";
    return "local=" + sketch.sinks(qp.domain, sketch.parts(bytes, 2));
}

std::string with_flags(Sketch& sketch, const Qp& qp, Asked& asked, std::string line) {
    const std::size_t before = line.size();
    if (sketch.features().unsignaled && sketch.percent(25))
        line = with_option(std::move(line), "unsignaled");
    asked.signaled = qp.all_signaled || line.size() == before;
    // BTH-14: a WRITE without immediate data leaves without SE, whatever it was posted with.
    const bool message = asked.kind == Asked::Kind::Message;
    if (message && sketch.percent(10)) line = with_option(std::move(line), "se");
    if (sketch.percent(sketch.features().bursts ? 20 : 8))
        line = with_option(std::move(line), "fence");
    const bool small = asked.bytes > 0 && asked.bytes <= kInlineBytes;
    const bool carries = small && (message || asked.name == "ATOMIC_WRITE");
    if (carries && sketch.features().pieces && sketch.reach().inline_data && sketch.percent(40))
        line = with_option(std::move(line), "inline");
    return line;
}

// The piece of the tester's region that a WRITE or READ names.
std::string far_piece(Sketch& sketch, std::uint64_t bytes, Place& place) {
    place = sketch.far(bytes);
    return fmt::format(" remote={}", bytes == 0 ? place.region : place.piece(bytes));
}

// Its value has as many digits as the line has room for.
std::string immediate_field(Sketch& sketch, std::size_t columns) {
    const std::uint64_t value = sketch.percent(10) ? 0 : sketch.random().next() >> 32;
    std::string text = fmt::format(" imm=0x{:X}", value);
    return columns + text.size() <= kColumns ? text : " imm=7";
}

// Mostly with all 64 bits, of which carries and words may show; as long as the line has room for.
std::string operand(Sketch& sketch, std::size_t room) {
    constexpr std::array<std::uint64_t, 6> values{
        0, 1, 0xFFFF'FFFF, 0x1'0000'0000, 0xFFFF'FFFF'FFFF'FFFF, 0x8000'0000'0000'0000};
    const std::uint64_t value =
        sketch.percent(50) ? sketch.random().pick(values) : sketch.random().next();
    std::string text = fmt::format("0x{:X}", value);
    return text.size() <= room ? text : fmt::format("{}", value % (room == 0 ? 10 : 1000));
}

// REQ-31: the device took the data with the request. No packet has what the application writes to
// the same place afterwards.
void post_inline_and_write_over(Sketch& sketch, const Qp& qp, Asked& asked) {
    const bool write = sketch.features().writes;
    asked.name = write ? "RDMA_WRITE" : "SEND";
    asked.takes_receive = !write;
    asked.bytes = 1 + sketch.random().below(kInlineBytes);
    const std::string piece =
        fmt::format("k{}[{} +{}]", qp.domain, sketch.sink(qp.domain, asked.bytes), asked.bytes);
    std::string line =
        fmt::format("dut    post {}{} id={} local={}", of(qp), asked.name, asked.id, piece);
    if (write) line += far_piece(sketch, asked.bytes, asked.from);
    sketch.say(line + " inline");
    sketch.say(fmt::format("dut    write {} = random", piece));
}

void post_message(Sketch& sketch, const Qp& qp, Asked& asked) {
    const Features& features = sketch.features();
    if (features.pieces && sketch.reach().inline_data && sketch.percent(8))
        return post_inline_and_write_over(sketch, qp, asked);
    const bool write = features.writes && (!features.sends || sketch.percent(50));
    const bool immediate = features.immediate && sketch.percent(30);
    const bool invalidates = !write && !immediate && sketch.reach().windows && sketch.percent(15);
    const std::string_view rest = immediate ? "_WITH_IMM" : invalidates ? "_WITH_INV" : "";
    asked.name = fmt::format("{}{}", write ? "RDMA_WRITE" : "SEND", rest);
    asked.takes_receive = !write || immediate;
    std::string line = fmt::format("dut    post {}{} id={} {}", of(qp), asked.name, asked.id,
                                   source_field(sketch, qp, asked.bytes, !rest.empty()));
    if (write) line += far_piece(sketch, asked.bytes, asked.from);
    if (immediate) line += immediate_field(sketch, line.size());
    if (invalidates) line += fmt::format(" ikey=abs:0x{:X}", sketch.random().next() >> 32);
    sketch.say(with_flags(sketch, qp, asked, std::move(line)));
}

void post_read(Sketch& sketch, const Qp& qp, Asked& asked) {
    asked.kind = Asked::Kind::Read;
    asked.name = "RDMA_READ_REQUEST";
    const std::string remote = far_piece(sketch, asked.bytes, asked.from);
    const std::string local = sink_field(sketch, qp, asked.bytes);
    std::string line =
        fmt::format("dut    post {}RDMA_READ id={} {}{}", of(qp), asked.id, local, remote);
    sketch.say(with_flags(sketch, qp, asked, std::move(line)));
}

void post_atomic(Sketch& sketch, const Qp& qp, Asked& asked) {
    asked.kind = Asked::Kind::Atomic;
    asked.bytes = 8;
    const bool add = sketch.percent(50);
    asked.name = add ? "FETCH_ADD" : "COMPARE_SWAP";
    const std::string far = sketch.far_word().piece(8);
    const auto begin = [&](const std::string& local) {
        return fmt::format("dut    post {}{} id={} {} remote={} ", of(qp),
                           add ? "ATOMIC_FETCH_AND_ADD" : "ATOMIC_CMP_AND_SWP", asked.id, local,
                           far);
    };
    constexpr std::size_t names = 24; // of the operands, and short values
    std::string line = begin(sink_field(sketch, qp, 8));
    if (line.size() + names > kColumns) // has no room for two pieces
        line = begin(fmt::format("local=k{}[{} +8]", qp.domain, sketch.sink(qp.domain, 8)));
    const std::size_t room = kColumns - std::min(line.size() + names, kColumns);
    std::string operands = add ? "add=" + operand(sketch, room + 10)
                               : fmt::format("compare={}", sketch.random().below(3));
    if (!add) operands += " swap=" + operand(sketch, room);
    if (line.size() + operands.size() > kColumns) line = begin("len=8"); // anywhere
    line += operands;
    sketch.say(with_flags(sketch, qp, asked, std::move(line)));
}

void post_extension(Sketch& sketch, const Qp& qp, Asked& asked) {
    asked.kind = Asked::Kind::Extension;
    asked.bytes = 8;
    const bool write = sketch.percent(60);
    asked.name = write ? "ATOMIC_WRITE" : "FLUSH";
    const std::string local =
        write ? fmt::format("local=s{}[{} +8] ", qp.domain, sketch.source(qp.domain, 8)) : "";
    std::string line = fmt::format("dut    post {}{} id={} {}remote={}", of(qp), asked.name,
                                   asked.id, local, sketch.far_word().piece(8));
    if (!write && sketch.percent(50)) {
        line += fmt::format(" plt={}", 1 + sketch.random().below(3));
        line += fmt::format(" sel={}", sketch.random().below(2));
    }
    sketch.say(with_flags(sketch, qp, asked, std::move(line)));
}

// The request that was posted waits for its answer.
void open_request(Sketch& sketch, Qp& qp, Asked asked) {
    const bool one = asked.kind == Asked::Kind::Atomic || asked.kind == Asked::Kind::Extension;
    if (!one) asked.packets = sketch.packets_of(asked.bytes);
    qp.dut_psn += asked.packets;
    if (qp.open.empty()) qp.answered_at = sketch.now();
    ++qp.posted;
    sketch.count(asked.bytes);
    qp.open.push_back(std::move(asked));
}

// REQ-31: each with data of its own, and more of them than a device may have places for such data.
void post_many_inline(Sketch& sketch, Qp& qp) {
    constexpr wire::Duration each = std::chrono::microseconds(200);
    for (std::uint64_t more = kMostChained - sketch.random().below(6); more > 0; --more) {
        Asked asked{.id = sketch.next_id(), .first_psn = qp.dut_psn};
        post_inline_and_write_over(sketch, qp, asked);
        open_request(sketch, qp, std::move(asked));
        sketch.pass(each);
    }
}

// Equal requests in one chain; mostly the last one alone tells that they are done.
void post_chain(Sketch& sketch, Qp& qp) {
    const std::uint64_t count =
        2 + sketch.random().below(std::min<std::uint64_t>(20, kMostChained - qp.open.size()));
    const bool write = sketch.features().writes && sketch.percent(50);
    const std::uint64_t bytes = 1 + sketch.random().below(sketch.percent(80) ? 64 : sketch.mtu());
    const std::uint64_t first = sketch.next_ids(count);
    Asked asked{.name = write ? "RDMA_WRITE" : "SEND", .bytes = bytes, .takes_receive = !write};
    std::string remote;
    if (write) remote = far_piece(sketch, bytes, asked.from);
    const auto line = [&](std::uint64_t from, std::uint64_t to) {
        return fmt::format("dut    post {}{} id={}..{} local=s{}[{} +{}]{}", of(qp), asked.name,
                           from, to, qp.domain, sketch.source(qp.domain, bytes), bytes, remote);
    };
    const std::uint64_t last = first + count - 1;
    std::string most = line(first, last - 1);
    const std::size_t signaled = most.size();
    if (sketch.features().unsignaled && sketch.percent(60))
        most = with_option(std::move(most), "unsignaled");
    const bool silent = most.size() > signaled;
    sketch.say(silent ? std::move(most) : line(first, last));
    if (silent) sketch.say(line(last, last));
    if (qp.open.empty()) qp.answered_at = sketch.now();
    for (std::uint64_t id = first; id <= last; ++id) {
        asked.id = id;
        asked.first_psn = qp.dut_psn;
        asked.packets = sketch.packets_of(bytes);
        asked.signaled = qp.all_signaled || !silent || id == last;
        qp.dut_psn += asked.packets;
        ++qp.posted;
        qp.open.push_back(asked);
    }
    sketch.count(count * bytes);
    if (!sketch.percent(40) || qp.open.size() != count) return;
    // The last one is acknowledged, and all with it.
    sketch.wait(kWait);
    qp.known = qp.answers_known = false; // the device may not have sent it yet
    sketch.say(fmt::format("{}ACK psn={}", sends(qp), qp.dut_psn - 1));
    qp.open.clear();
    qp.answered_at = sketch.now();
}

void post(Sketch& sketch, Qp& qp) {
    const Features& features = sketch.features();
    const bool may_burst = features.bursts && qp.open.size() < kMostOpen;
    if (may_burst && (features.sends || features.writes) && sketch.percent(8) &&
        sketch.has_room(kMostChained * sketch.mtu()))
        return post_chain(sketch, qp);
    if (may_burst && features.pieces && sketch.reach().inline_data && sketch.percent(4))
        return post_many_inline(sketch, qp);
    Asked asked{.id = sketch.next_id(), .bytes = sketch.length(), .first_psn = qp.dut_psn};
    const bool messages = features.sends || features.writes;
    const std::uint64_t die = sketch.random().below(messages ? 10 : 4);
    if (features.extensions && sketch.percent(20))
        post_extension(sketch, qp, asked);
    else if (die < 3 && features.reads)
        post_read(sketch, qp, asked);
    else if (die == 3 && features.atomics)
        post_atomic(sketch, qp, asked);
    else
        post_message(sketch, qp, asked);
    open_request(sketch, qp, std::move(asked));
}

// TMO-01: a part of the time has passed in which an earlier request must be answered.
void post_late(Sketch& sketch, Qp& qp) {
    constexpr std::int64_t parts = 8;
    const auto some = static_cast<std::int64_t>(1 + sketch.random().below(parts - 1));
    sketch.wait(some * sketch.ack_timeout() / parts);
    post(sketch, qp);
}

// --- answers ----------------------------------------------------------------------------------

// The line that expects the request; the tester does not answer what the device
// has not sent.
std::string request_line(const Qp& qp, const Asked& asked) {
    if (asked.kind == Asked::Kind::Message) {
        return fmt::format("{}{} psn={} len={}", expects(qp), asked.name, asked.first_psn,
                           asked.bytes);
    }
    return fmt::format("{}{} psn={}", expects(qp), asked.name, asked.first_psn);
}

// Devices may keep one packet outstanding: only a request of one packet comes for certain when all
// before it are answered.
bool comes_whole(const Asked& asked) {
    return asked.kind != Asked::Kind::Message || asked.packets == 1;
}

void await_request(Sketch& sketch, Qp& qp, Asked& asked) {
    const bool fresh = !asked.seen && sketch.now() - qp.answered_at < sketch.ack_timeout();
    const bool certain = comes_whole(asked) && qp.answers_known && fresh;
    if (certain && waits_for_packets(qp))
        sketch.say(request_line(qp, asked));
    else
        sketch.wait(kWait);
    asked.seen = true;
    if (!comes_whole(asked)) qp.known = qp.answers_known = false;
}

std::string answer_line(Sketch& sketch, const Qp& qp, const Asked& asked) {
    switch (asked.kind) {
    case Asked::Kind::Message:
        return fmt::format("{}ACK psn={}", sends(qp), asked.first_psn + asked.packets - 1);
    case Asked::Kind::Read:
        if (asked.bytes == 0)
            return fmt::format("{}RDMA_READ_RESPONSE psn={} len=0", sends(qp), asked.first_psn);
        return fmt::format("{}RDMA_READ_RESPONSE psn={} data={}", sends(qp), asked.first_psn,
                           asked.from.piece(asked.bytes));
    case Asked::Kind::Atomic:
        return fmt::format("{}ATOMIC_ACKNOWLEDGE psn={} original={}", sends(qp), asked.first_psn,
                           operand(sketch, kColumns));
    case Asked::Kind::Extension:
        return fmt::format("{}RDMA_READ_RESPONSE_ONLY psn={} len=0", sends(qp), asked.first_psn);
    }
    return {};
}

void expect_done(Sketch& sketch, const Qp& qp, const Asked& asked, std::uint64_t chance) {
    if (!qp.answers_known || !asked.signaled || !sketch.percent(chance)) return;
    sketch.say(fmt::format("dut    done {}send id={} within 10s", of(qp), asked.id));
}

// The answer has arrived.
void close_request(Sketch& sketch, Qp& qp, const Asked& asked) {
    const bool brings = asked.kind == Asked::Kind::Read || asked.kind == Asked::Kind::Atomic;
    if (brings && qp.answers_known) qp.answered = asked;
    qp.answered_at = sketch.now();
    qp.tried_again = 0;
    expect_done(sketch, qp, asked, 50);
}

// The first open request, as a right responder answers it. An answer may cover several messages
// before it.
void answer_first(Sketch& sketch, Qp& qp) {
    Asked asked = qp.open.front();
    qp.open.pop_front();
    while (asked.kind == Asked::Kind::Message && !qp.open.empty() &&
           sketch.percent(sketch.features().bursts ? 70 : 15)) {
        asked = qp.open.front();
        qp.open.pop_front();
        qp.known = qp.answers_known = false; // the device may not have sent the last one yet
    }
    await_request(sketch, qp, asked);
    std::string line = answer_line(sketch, qp, asked);
    if (sketch.features().marks && sketch.percent(10)) {
        constexpr std::array<std::string_view, 8> marks{
            "ip.ecn=3", "ip.ecn=1", "becn", "fecn", "resv7=1", "migreq=0", "ip.ttl=1", "trailer=4"};
        line = with_option(std::move(line), sketch.random().pick(marks));
    }
    sketch.say(std::move(line));
    if (sketch.features().ghosts && sketch.percent(10)) // the network repeats it
        sketch.say(answer_line(sketch, qp, asked));
    close_request(sketch, qp, asked);
}

// An answer that the device must drop: it would complete the request with other data, or end it.
void say_damaged(Sketch& sketch, const Qp& qp, const Asked& asked) {
    std::string line = answer_line(sketch, qp, asked);
    std::string fault = damage(sketch);
    if (sketch.percent(40)) {
        line =
            sends(qp) + fmt::format(fmt::runtime(sketch.random().pick(kRefusals)), asked.first_psn);
        // The judge compares no P_Keys, and takes every refusal for one that counts.
        if (fault.find("pkey") != std::string::npos) fault = "icrc=bad";
    }
    if (auto copy = damaged(std::move(line), fault)) sketch.say(*std::move(copy));
}

// The answer to a later message answers those before it.
void skip_some(Sketch& sketch, Qp& qp) {
    const auto is_message = [](const Asked& one) { return one.kind == Asked::Kind::Message; };
    while (qp.open.size() > 1 && is_message(qp.open[0]) && is_message(qp.open[1]) &&
           sketch.percent(sketch.features().bursts ? 40 : 10)) {
        qp.open.pop_front();
        qp.known = qp.answers_known = false; // the device may not have sent the next one yet
    }
}

bool may_post(const Qp& qp) {
    return (qp.talk == Talk::DutAsks || qp.talk == Talk::Both) && !qp.early && !qp.dut_dead &&
           !qp.drains && qp.open.size() < kMostOpen && qp.posted < kMostPosted;
}

// ROB-07: while one QP waits, another one does not.
void post_elsewhere(Sketch& sketch, const Qp& qp) {
    for (Qp& other : sketch.qps()) {
        if (&other == &qp || !may_post(other) || !sketch.percent(50)) continue;
        sketch.wait(std::chrono::milliseconds(1)); // until what it waits for has come
        return post(sketch, other);
    }
}

// Something arrives while the device waits for something else.
void meanwhile(Sketch& sketch, Qp& qp) {
    if (!sketch.features().meanwhile || !sketch.percent(50)) return;
    const Asked asked = qp.open.front();
    switch (sketch.random().below(6)) {
    case 0: // CNP-12
        return sketch.say(fmt::format("{}CNP psn=abs:0 becn", sends(qp)));
    case 1: // one that the network repeats
        if (asked.first_psn > 0)
            sketch.say(fmt::format("{}ACK psn={}", sends(qp), asked.first_psn - 1));
        return;
    case 2: return say_damaged(sketch, qp, asked);
    case 3:
        if (may_post(qp)) post(sketch, qp);
        return;
    default: break;
    }
    if (qp.talk != Talk::Both || qp.dead || qp.early) return;
    ask_legally(sketch, qp);
    send_pending(sketch, qp);
}

// An ACK inside a message (ACK-09), which is right.
void answer_part(Sketch& sketch, Qp& qp) {
    skip_some(sketch, qp);
    Asked& asked = qp.open.front();
    if (asked.kind != Asked::Kind::Message || asked.packets < 2) return answer_first(sketch, qp);
    await_request(sketch, qp, asked);
    const auto inside = static_cast<std::int64_t>(
        sketch.random().below(static_cast<std::uint64_t>(asked.packets - 1)));
    asked.acknowledged = std::max(asked.acknowledged, inside + 1);
    sketch.say(fmt::format("{}ACK psn={}", sends(qp), asked.first_psn + inside));
}

// RNR-08: each QP waits for itself.
void refuse_elsewhere(Sketch& sketch, const Qp& qp) {
    constexpr std::uint64_t short_wait = 18; // 5.12 ms
    for (Qp& other : sketch.qps()) {
        const bool able = &other != &qp && !other.dut_dead && !other.early &&
                          other.talk != Talk::Peers && is_reliable(other.talk) &&
                          !other.open.empty() && other.open.front().acknowledged == 0 &&
                          other.rnr_retries == kForEver;
        if (!able) continue;
        await_request(sketch, other, other.open.front());
        sketch.say(fmt::format("{}RNR_NAK psn={} timer={}", sends(other),
                               other.open.front().first_psn,
                               1 + sketch.random().below(short_wait)));
    }
}

// RNR-08, RNR-15: not ready, for any request.
void refuse_for_now(Sketch& sketch, Qp& qp) {
    constexpr std::uint64_t long_wait = 26; // 82 ms
    const bool others = sketch.features().meanwhile && sketch.qps().size() > 1;
    const bool elsewhere = others && sketch.percent(35);
    const bool before = elsewhere && sketch.percent(30);
    const std::uint64_t timer = elsewhere ? long_wait : sketch.rnr_code();
    if (before) refuse_elsewhere(sketch, qp);
    sketch.say(
        fmt::format("{}RNR_NAK psn={} timer={}", sends(qp), qp.open.front().first_psn, timer));
    if (!elsewhere) {
        meanwhile(sketch, qp);
    } else if (!before) {
        sketch.percent(50) ? post_elsewhere(sketch, qp) : refuse_elsewhere(sketch, qp);
    }
    sketch.wait(4 * wire::rnr_time(static_cast<std::uint8_t>(timer)) + kWait);
}

// RNR-11: for ever means more often than rnr_retry says, or than any counter of few bits can tell.
void refuse_many_times(Sketch& sketch, Qp& qp, std::uint64_t times) {
    constexpr wire::Duration each = std::chrono::milliseconds(1);
    sketch.say(fmt::format("repeat {}", times));
    sketch.say(fmt::format("{}RNR_NAK psn={} timer=1", sends(qp), qp.open.front().first_psn));
    sketch.say("wait 1ms");
    sketch.say("end");
    sketch.pass(static_cast<std::int64_t>(times) * each);
    sketch.wait(kWait);
}

// REQ-11, RNR-08: the device sends again.
void refuse(Sketch& sketch, Qp& qp) {
    skip_some(sketch, qp);
    Asked& asked = qp.open.front();
    await_request(sketch, qp, asked);
    // Where few of them end the QP, each must be counted.
    const bool fresh = asked.acknowledged == 0;
    const bool endless = qp.rnr_retries == kForEver;
    if (fresh && endless && asked.packets == 1 && sketch.qps().size() == 1) {
        const bool volume = sketch.features().volume && sketch.percent(50);
        if (volume || sketch.percent(15))
            return refuse_many_times(sketch, qp, volume ? 20 + sketch.random().below(240) : 9);
    }
    if (fresh && endless && sketch.percent(asked.takes_receive ? 50 : 25)) {
        refuse_for_now(sketch, qp);
        if (sketch.percent(30)) refuse_for_now(sketch, qp);
        return;
    }
    const bool message = asked.kind == Asked::Kind::Message;
    const auto rest = static_cast<std::uint64_t>(asked.packets - asked.acknowledged);
    const auto at =
        message ? asked.acknowledged + static_cast<std::int64_t>(sketch.random().below(rest))
                : std::int64_t{0};
    asked.acknowledged = std::max(asked.acknowledged, at);
    sketch.say(fmt::format("{}NAK psn={} code=PSN_SEQUENCE", sends(qp), asked.first_psn + at));
    qp.retry(1);
    meanwhile(sketch, qp);
    sketch.wait(sketch.percent(10) ? kLongWait : kWait);
    if (!sketch.percent(15)) return;
    // What comes again is lost again.
    sketch.say(fmt::format("{}NAK psn={} code=PSN_SEQUENCE", sends(qp), asked.first_psn + at));
    qp.retry(1);
    sketch.wait(kWait);
}

// A response of a READ with its own data, and with the place in the message that it says.
void say_response(Sketch& sketch, const Qp& qp, const Asked& asked, std::int64_t number,
                  std::string_view place) {
    const std::uint64_t from = static_cast<std::uint64_t>(number) * sketch.mtu();
    const std::uint64_t bytes = std::min<std::uint64_t>(sketch.mtu(), asked.bytes - from);
    const Place part{asked.from.region, asked.from.offset + from};
    sketch.say(fmt::format("{}RDMA_READ_RESPONSE_{} psn={} data={}", sends(qp), place,
                           asked.first_psn + number, part.piece(bytes)));
}

// Responses of a READ of several packets, each a line.
void say_responses(Sketch& sketch, const Qp& qp, const Asked& asked, std::int64_t first,
                   std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i)
        say_response(sketch, qp, asked, i, place_of(i, asked.packets));
}

// REQ-28: all of a READ arrives, and something else between its parts.
void answer_in_parts(Sketch& sketch, Qp& qp) {
    constexpr std::int64_t most = 8;
    const bool able = qp.open.front().kind == Asked::Kind::Read && qp.answers_known &&
                      qp.open.front().packets > 1 && qp.open.front().packets <= most;
    if (!able) return answer_first(sketch, qp);
    await_request(sketch, qp, qp.open.front());
    for (std::int64_t at = 0; at < qp.open.front().packets;) {
        Asked& asked = qp.open.front();
        const auto rest = static_cast<std::uint64_t>(asked.packets - at);
        const auto count = static_cast<std::int64_t>(1 + sketch.random().below(rest));
        say_responses(sketch, qp, asked, at, count);
        at = asked.acknowledged = at + count;
        if (at < asked.packets) meanwhile(sketch, qp);
    }
    const Asked asked = qp.open.front();
    qp.open.pop_front();
    close_request(sketch, qp, asked);
}

// A few responses that follow each other arrive, from anywhere in the READ.
void send_some_responses(Sketch& sketch, const Qp& qp, Asked& asked) {
    constexpr std::int64_t most = 3;
    const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(sketch.random().below(static_cast<std::uint64_t>(limit)));
    };
    const std::int64_t first = sketch.percent(50) ? 0 : below(asked.packets);
    const std::int64_t count = std::min(1 + below(most), asked.packets - first);
    if (first == 0 && count == asked.packets) return;
    if (first == 0) asked.acknowledged = std::max(asked.acknowledged, count);
    say_responses(sketch, qp, asked, first, count);
}

// TMO-01: the tester does not answer, and the device sends the request again.
void lose(Sketch& sketch, Qp& qp) {
    Asked& asked = qp.open.front();
    await_request(sketch, qp, asked);
    if (asked.kind == Asked::Kind::Read && asked.packets > 1 && sketch.percent(50)) {
        send_some_responses(sketch, qp, asked);
    }
    meanwhile(sketch, qp);
    constexpr std::array<int, 4> times{1, 2, 2, 3};
    // A timer of its own may use up all retries meanwhile.
    const int timeouts = sketch.reach().times_retries ? sketch.random().pick(times) : 1;
    sketch.wait(timeouts * sketch.ack_timeout());
    qp.retry(timeouts);
}

// REQ-08, N-11: the answer to a READ or atomic is lost, and a later message is acknowledged.
void overtake(Sketch& sketch, Qp& qp) {
    const auto is_message = [](const Asked& one) { return one.kind == Asked::Kind::Message; };
    const auto later = std::ranges::find_if(qp.open, is_message);
    if (later == qp.open.begin() || later == qp.open.end()) return answer_first(sketch, qp);
    await_request(sketch, qp, qp.open.front());
    sketch.wait(kWait);
    qp.known = qp.answers_known = false; // the device may not have sent the later one yet
    sketch.say(fmt::format("{}ACK psn={}", sends(qp), later->first_psn + later->packets - 1));
    qp.retry(1);
    sketch.wait(sketch.percent(50) ? kWait : sketch.ack_timeout());
}

// Answers that a requester drops: of PSNs before and after its own, and with a
// bad ICRC.
void haunt(Sketch& sketch, Qp& qp) {
    Asked& asked = qp.open.front();
    constexpr std::array<std::int64_t, 6> places{-1, -2, -100, 1000, 0x100000, 0x3FFFFF};
    // N-38: what was answered is answered once more, with other data.
    if (qp.answered && qp.answers_known && sketch.percent(40))
        return sketch.say(with_other_data(answer_line(sketch, qp, *qp.answered)));
    const std::int64_t place = sketch.random().pick(places);
    const std::int64_t psn = place < 0 ? asked.first_psn + place : qp.dut_psn + place;
    switch (sketch.random().below(4)) {
    case 0:
        if (!sketch.percent(30)) return sketch.say(fmt::format("{}ACK psn={}", sends(qp), psn));
        // The PSN that comes next: nothing may be posted before all see what that completes.
        sketch.say(fmt::format("{}ACK psn={}", sends(qp), qp.dut_psn));
        return sketch.wait(interpreter::kWaitThatLooks);
    case 1:
        return sketch.say(fmt::format("{}RDMA_READ_RESPONSE_ONLY psn={} len=64", sends(qp), psn));
    case 2:
        return sketch.say(fmt::format(
            "{}{}", sends(qp), fmt::format(fmt::runtime(sketch.random().pick(kRefusals)), psn)));
    default: break;
    }
    await_request(sketch, qp, asked);
    say_damaged(sketch, qp, asked);
}

// REQ-21: one response of a READ, after some that were right, has a few bytes too many or too few.
void answer_with_wrong_length(Sketch& sketch, const Qp& qp, const Asked& asked) {
    const std::uint64_t mtu = sketch.mtu();
    const auto at =
        static_cast<std::int64_t>(sketch.random().below(static_cast<std::uint64_t>(asked.packets)));
    if (asked.packets > 1) say_responses(sketch, qp, asked, 0, at);
    const std::uint64_t right =
        std::min<std::uint64_t>(mtu, asked.bytes - static_cast<std::uint64_t>(at) * mtu);
    const std::uint64_t off = 1 + sketch.random().below(sketch.percent(70) ? 3 : 64);
    const bool more = right <= off || (right + off <= mtu && sketch.percent(50));
    sketch.say(fmt::format("{}RDMA_READ_RESPONSE_{} psn={} len={}", sends(qp),
                           place_of(at, asked.packets), asked.first_psn + at,
                           more ? right + off : right - off));
    sketch.wait(kWait);
}

// REQ-23: one response of a READ of several packets says another place than its own.
void answer_out_of_place(Sketch& sketch, const Qp& qp, const Asked& asked) {
    constexpr std::array<std::string_view, 4> places{"FIRST", "MIDDLE", "LAST", "ONLY"};
    const auto at =
        static_cast<std::int64_t>(sketch.random().below(static_cast<std::uint64_t>(asked.packets)));
    const std::string_view place = sketch.random().pick(places);
    if (place == place_of(at, asked.packets)) return;
    say_responses(sketch, qp, asked, 0, at);
    say_response(sketch, qp, asked, at, place);
    sketch.wait(kWait);
}

// A fatal NAK, or a wrong answer: the request fails, or is asked for again.
void spoil(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::string_view, 3> codes{"INVALID_REQUEST", "REMOTE_ACCESS",
                                                    "REMOTE_OPERATIONAL"};
    Asked asked = qp.open.front();
    await_request(sketch, qp, asked);
    // A refusal of what has a part of its answer is ignored.
    const bool known = qp.answers_known && waits_for_packets(qp) && asked.acknowledged == 0;
    qp.close();
    if (asked.kind != Asked::Kind::Message && sketch.percent(20)) { // REQ-20
        const auto place = sketch.random().below(static_cast<std::uint64_t>(asked.packets));
        sketch.say(fmt::format("{}ACK psn={}", sends(qp),
                               asked.first_psn + static_cast<std::int64_t>(place)));
        return sketch.wait(kWait);
    }
    const std::uint64_t die = sketch.random().below(4);
    if (die == 0) {
        if (asked.kind == Asked::Kind::Read && asked.packets > 1 && sketch.percent(30))
            return answer_out_of_place(sketch, qp, asked);
        if (asked.kind == Asked::Kind::Read && asked.bytes > 0 && sketch.percent(80))
            return answer_with_wrong_length(sketch, qp, asked);
        sketch.say(
            fmt::format("{}RDMA_READ_RESPONSE_ONLY psn={} len=64", sends(qp), asked.first_psn));
        return sketch.wait(kWait);
    }
    // REQ-16: inside a READ too, of which the first responses were right.
    std::int64_t at = 0;
    if (asked.kind == Asked::Kind::Read && asked.packets > 1 && asked.acknowledged == 0 &&
        sketch.percent(50)) {
        at = 1 + static_cast<std::int64_t>(
                     sketch.random().below(static_cast<std::uint64_t>(asked.packets - 1)));
        say_responses(sketch, qp, asked, 0, at);
    }
    if (die == 1) {
        const std::uint64_t reserved = 5 + sketch.random().below(27);
        sketch.say(fmt::format("{}NAK psn={} code={}", sends(qp), asked.first_psn + at, reserved));
        return sketch.wait(kWait);
    }
    sketch.say(fmt::format("{}NAK psn={} code={}", sends(qp), asked.first_psn + at,
                           sketch.random().pick(codes)));
    if (known) sketch.say(fmt::format("dut    state {}ERR", of(qp)));
    qp.in_error = known;
}

// N-20: a window is bound and given up behind requests that have no answer yet.
void bind_behind(Sketch& sketch, Qp& qp) {
    const std::uint64_t window = sketch.next_window(2);
    const std::uint64_t ids = sketch.next_ids(2);
    const std::uint64_t bytes = 8 + sketch.random().below(100);
    sketch.say(fmt::format("dut    post {}BIND_MW id={} mw=w{} local=t1[{} +{}] access=remote_read",
                           of(qp), ids, window, sketch.target(1, bytes), bytes));
    qp.posted += 2;
    if (may_post(qp) && sketch.percent(50)) post(sketch, qp);
    std::string line =
        fmt::format("dut    post {}LOCAL_INV id={} ikey=w{}", of(qp), ids + 1, window);
    if (sketch.percent(30)) line = with_option(std::move(line), "fence");
    sketch.say(std::move(line));
    sketch.wait(kWait);
}

// A request of 8 bytes, without a key of the device's memory.
std::string some_own_memory(Sketch& sketch, const Qp& qp, std::uint64_t id) {
    const Features& features = sketch.features();
    const std::uint64_t die = sketch.random().below(4);
    const bool writes = die == 1 && features.writes;
    const bool reads = die == 2 && features.reads;
    const std::uint64_t local = reads ? sketch.sink(qp.domain, 8) : sketch.source(qp.domain, 8);
    const std::string_view name = reads ? "RDMA_READ" : writes ? "RDMA_WRITE" : "SEND";
    std::string line = fmt::format("dut    post {}{} id={} local={}{}[{} +8]", of(qp), name, id,
                                   reads ? 'k' : 's', qp.domain, local);
    if (reads || writes) line += " remote=" + sketch.far(8).piece(8);
    return line;
}

// All that is open, one by one.
void answer_plainly(Sketch& sketch, Qp& qp) {
    for (; !qp.open.empty(); qp.open.pop_front()) {
        await_request(sketch, qp, qp.open.front());
        sketch.say(answer_line(sketch, qp, qp.open.front()));
    }
}

// KEY-12: the device may write nothing there, whenever it sees that.
void read_into_sources(Sketch& sketch, Qp& qp) {
    answer_plainly(sketch, qp);
    const std::uint64_t bytes = 1 + sketch.random().below(2 * sketch.mtu());
    const Place from = sketch.far(bytes);
    sketch.say(fmt::format("dut    post {}RDMA_READ id={} local=s{}[{} +{}] remote={}", of(qp),
                           sketch.next_id(), qp.domain, sketch.source(qp.domain, bytes), bytes,
                           from.piece(bytes)));
    sketch.wait(kWait);
    sketch.say(fmt::format("{}RDMA_READ_RESPONSE psn={} data={}", sends(qp), qp.dut_psn,
                           from.piece(bytes)));
    qp.close();
    sketch.wait(kWait);
}

// KEY-12, STA-07: the application names memory that is not its own. What it posts behind that is
// flushed, and what is open may still be answered.
void break_by_itself(Sketch& sketch, Qp& qp) {
    if (sketch.features().reads && sketch.percent(25)) return read_into_sources(sketch, qp);
    const bool fenced = !qp.open.empty() && sketch.percent(50);
    const std::uint64_t first = sketch.next_ids(3);
    const std::uint64_t more = sketch.random().below(3);
    if (!qp.shared && sketch.percent(40))
        sketch.say(fmt::format("dut    recv {}id={} len=0", of(qp), sketch.next_id()));
    const std::string work = some_own_memory(sketch, qp, first);
    sketch.say(work + " lkey=abs:0x5A5A00" + (fenced ? " fence" : ""));
    for (std::uint64_t id = first + 1; id <= first + more; ++id)
        sketch.say(fmt::format("dut    post {}SEND id={} len=0", of(qp), id));
    // With the answers the fence opens, and what is behind it waits in the queue.
    if (fenced) answer_plainly(sketch, qp);
    qp.close();
    sketch.wait(kWait);
}

// TMO-03, RNR-11: the tester never answers, or is never ready, and the device gives up.
void exhaust(Sketch& sketch, Qp& qp) {
    const bool others_wait = std::ranges::any_of(
        sketch.qps(), [&](const Qp& one) { return &one != &qp && !one.open.empty(); });
    const bool certain = qp.answers_known && waits_for_packets(qp) && qp.open.size() == 1 &&
                         comes_whole(qp.open.front()) && !others_wait &&
                         sketch.reach().times_retries && sketch.ack_timeout() < kLongTimeout;
    if (!certain) return answer_first(sketch, qp);
    if (!qp.shared && sketch.percent(40)) { // both queues are flushed
        const std::uint64_t first = sketch.next_ids(2);
        sketch.say(fmt::format("dut    recv {}id={}..{} len=0", of(qp), first, first + 1));
    }
    Asked& asked = qp.open.front();
    await_request(sketch, qp, asked);
    // What has a part of its answer is not refused any more: the device ignores such an RNR NAK.
    const bool fresh = asked.acknowledged == 0;
    const bool unready = qp.rnr_retries < kForEver && fresh && sketch.percent(50);
    // A NAK does not lift the limit of what comes after it.
    if (!unready && sketch.percent(50)) {
        const bool rnr = fresh && qp.rnr_retries == kForEver && sketch.percent(50);
        sketch.say(fmt::format("{}{} psn={} {}", sends(qp), rnr ? "RNR_NAK" : "NAK",
                               asked.first_psn + asked.acknowledged,
                               rnr ? "timer=1" : "code=PSN_SEQUENCE"));
        sketch.wait(kWait);
    }
    // RNR-09: retries of other kinds count by themselves.
    int spare = std::min(2, (qp.retries - 1) / 2);
    if (unready && sketch.features().mixed_ends && spare > 0) {
        const bool silent = sketch.percent(40);
        if (silent) {
            sketch.wait(sketch.ack_timeout());
        } else {
            for (std::uint64_t more = 1 + sketch.random().below(static_cast<std::uint64_t>(spare));
                 more > 0; --more) {
                sketch.say(
                    fmt::format("{}NAK psn={} code=PSN_SEQUENCE", sends(qp), asked.first_psn));
                sketch.wait(kWait);
            }
        }
    }
    for (int i = 0; unready && i <= qp.rnr_retries; ++i) {
        if (i > 0 && spare > 0 && sketch.features().mixed_ends && sketch.percent(30)) {
            sketch.wait(sketch.ack_timeout());
            --spare;
        }
        sketch.say(fmt::format("{}RNR_NAK psn={} timer=1", sends(qp), asked.first_psn));
        sketch.wait(kWait);
    }
    sketch.say(fmt::format("dut    done {}send id={} status={} within 60s", of(qp), asked.id,
                           unready ? "RNR_RETRY_EXC_ERR" : "RETRY_EXC_ERR"));
    sketch.say(fmt::format("dut    state {}ERR", of(qp)));
    sketch.pass(kMostTimeouts * sketch.ack_timeout());
    qp.close();
}

} // namespace

void answer(Sketch& sketch, Qp& qp) {
    if (qp.dut_dead) return;
    const Features& features = sketch.features();
    const bool full = qp.open.size() >= kMostOpen || qp.posted >= kMostPosted;
    if (qp.open.empty() && qp.posted >= kMostPosted) return;
    const std::uint64_t chance = features.bursts ? 75 : 45;
    if (qp.open.empty() || (!full && sketch.percent(chance))) return post(sketch, qp);
    const bool in_time = sketch.now() - qp.answered_at <= sketch.ack_timeout();
    const bool windows = features.windows && qp.domain == 1 && qp.answers_known && !qp.drains;
    const std::array<Step, 12> steps{{
        {55, true, answer_first},
        {1, features.illegal, break_by_itself},
        {4, windows, bind_behind},
        {10, true, answer_part},
        {8, features.meanwhile, answer_in_parts},
        {3, features.losses && may_post(qp) && in_time, post_late},
        {10, features.refusals, refuse},
        {4, features.losses, overtake},
        {6, features.losses && in_time, lose},
        {10, features.ghosts, haunt},
        {3, features.illegal, spoil},
        {4, features.exhaustion, exhaust},
    }};
    take_one(sketch, qp, steps);
}

void exhaust_at_end(Sketch& sketch, Qp& qp) {
    if (qp.dut_dead || !waits_for_packets(qp)) return;
    if (qp.open.empty()) post(sketch, qp);
    if (!qp.open.empty()) exhaust(sketch, qp); // a chain is answered already
    if (!sketch.features().reconnects || !qp.dut_dead || !sketch.percent(50)) return;
    // TMO-03, STA-10: its next life has all its retries.
    reconnect(sketch, qp);
    post(sketch, qp);
    if (sketch.features().losses && !qp.open.empty()) lose(sketch, qp);
    answer_all(sketch, qp);
}

void ask_device(Sketch& sketch, Qp& qp) {
    post(sketch, qp);
}

void disturb(Sketch& sketch, Qp& qp) {
    if (qp.open.empty() || qp.dut_dead) return;
    const Features& features = sketch.features();
    if (features.refusals && (!features.losses || sketch.percent(60))) return refuse(sketch, qp);
    if (features.losses) lose(sketch, qp);
}

void answer_all(Sketch& sketch, Qp& qp) {
    while (!qp.dut_dead && !qp.open.empty()) {
        if (sketch.percent(10)) return; // the dialogue ends before its answer
        answer_first(sketch, qp);
    }
}

} // namespace veriroce::explorer
