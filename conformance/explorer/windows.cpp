// Memory windows: bound, used inside and outside their range, on their own QP and on another one,
// bound again, and invalidated by either side.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

struct Window {
    std::uint64_t number = 0;
    int type = 2;
    std::uint64_t offset = 0; // in t1
    std::uint64_t bytes = 0;
    bool writes = false;
    bool reads = false;
    bool atomics = false;   // and nothing else
    bool from_zero = false; // its addresses begin at 0
};

std::string_view rights_of(const Window& window) {
    if (window.atomics) return "remote_atomic";
    if (window.writes && window.reads) return "remote_read,remote_write";
    return window.writes ? "remote_write" : "remote_read";
}

void bind(Sketch& sketch, Qp& qp, Window& window) {
    const std::uint64_t id = sketch.next_id();
    window.bytes = 8 + sketch.random().below(sketch.percent(70) ? 100 : 3 * sketch.mtu());
    window.offset = sketch.target(1, window.bytes);
    const bool able = sketch.reach().atomics && qp.may_atomic && window.bytes >= 15;
    window.atomics = able && sketch.percent(20);
    window.writes = !window.atomics && sketch.percent(60);
    window.reads = !window.atomics && (!window.writes || sketch.percent(30));
    std::string line =
        fmt::format("dut    post {}BIND_MW id={} mw=w{} local=t1[{} +{}] access={}", of(qp), id,
                    window.number, window.offset, window.bytes, rights_of(window));
    constexpr std::string_view zero = ",zero_based";
    window.from_zero = window.type == 2 && !window.atomics &&
                       line.size() + zero.size() <= kColumns && sketch.percent(30);
    if (window.from_zero) line += zero;
    sketch.say(std::move(line));
    sketch.say(fmt::format("dut    done {}send id={} within 10s", of(qp), id));
}

// The line of a request; it takes as many PSNs as its answer, or its own packets, need.
std::string request(const Qp& qp, const Window& window, bool write, std::uint64_t from,
                    std::uint64_t bytes) {
    const std::string where =
        fmt::format("psn={} va=w{}+{} rkey=w{}", qp.psn, window.number, from, window.number);
    if (!write) return fmt::format("{}RDMA_READ_REQUEST {} dmalen={}", sends(qp), where, bytes);
    return fmt::format("{}RDMA_WRITE {} len={} ackreq", sends(qp), where, bytes);
}

// ATM-02: the address counts, not where the window begins.
std::string addition(Sketch& sketch, const Qp& qp, const Window& window) {
    const std::uint64_t first = (8 - window.offset % 8) % 8;
    const std::uint64_t words = (window.bytes - first) / 8;
    const std::uint64_t offset = first + 8 * sketch.random().below(words);
    return fmt::format("{0}FETCH_ADD psn={1} va=w{2}+{3} rkey=w{2} add={4}", sends(qp), qp.psn,
                       window.number, offset, 1 + sketch.random().below(1000));
}

// One that its rights allow.
std::string some_request(Sketch& sketch, const Qp& qp, const Window& window) {
    return window.atomics ? addition(sketch, qp, window) : request(qp, window, window.writes, 0, 8);
}

void add_through(Sketch& sketch, Qp& qp, const Window& window) {
    make_room_for_read(sketch, qp);
    send_pending(sketch, qp);
    sketch.say(addition(sketch, qp, window));
    sketch.say(fmt::format("{}ATOMIC_ACKNOWLEDGE psn={}", expects(qp), qp.psn++));
    qp.unheard = 0;
}

void use(Sketch& sketch, Qp& qp, const Window& window) {
    if (window.atomics) return add_through(sketch, qp, window);
    const bool write = window.writes && (!window.reads || sketch.percent(50));
    const std::uint64_t from = sketch.percent(40) ? 0 : sketch.random().below(window.bytes);
    const std::uint64_t bytes =
        sketch.percent(60) ? window.bytes - from : sketch.random().below(window.bytes - from) + 1;
    if (!write) make_room_for_read(sketch, qp);
    send_pending(sketch, qp);
    sketch.say(request(qp, window, write, from, bytes));
    const std::int64_t packets = sketch.packets_of(bytes);
    if (write) {
        sketch.say(fmt::format("{}ACK psn={}", expects(qp), qp.psn + packets - 1));
    } else {
        sketch.say(fmt::format("{}RDMA_READ_RESPONSE psn={} len={}", expects(qp), qp.psn, bytes));
        qp.unheard = 0;
    }
    qp.psn += packets;
    sketch.count(bytes);
}

// The tester sends a request that its rights do not allow, and the connection ends.
void misuse(Sketch& sketch, Qp& qp, const Window& window) {
    const bool write = window.writes;
    const std::uint64_t from = sketch.random().below(window.bytes);
    const std::uint64_t rest = window.bytes - from;
    const bool has_room = !qp.shared && qp.receives.empty(); // for a receive of a certain number
    switch (sketch.random().below(has_room ? 8 : 7)) {
    case 0: sketch.say(request(qp, window, write, from, rest + 1)); break; // beyond its end
    case 7: // KEY-11: a stale key. An ACK would be lawful, and what its MSN counts is open
        sketch.say(fmt::format("dut    recv {}id={} len=0", of(qp), sketch.next_id()));
        sketch.say(fmt::format("{}SEND_ONLY_WITH_INV psn={} len=0 ikey=w{}{}", sends(qp), qp.psn,
                               window.number, sketch.percent(50) ? "+1" : "-1"));
        break;
    case 6: { // KEY-08: the key that it had before, or will have
        const std::uint64_t id = sketch.next_id();
        sketch.say(fmt::format("dut    post {}LOCAL_INV id={} ikey=w{}{}", of(qp), id,
                               window.number, sketch.percent(50) ? "+1" : "-1"));
        sketch.say(fmt::format("dut    done {}send id={} status=FAILED within 10s", of(qp), id));
        break;
    }
    case 4: // a stale key
        sketch.say(fmt::format("{}RDMA_{} psn={} va=w{} rkey=w{}{} {}=4", sends(qp),
                               write ? "WRITE_ONLY" : "READ_REQUEST", qp.psn, window.number,
                               window.number, sketch.percent(50) ? "+1" : "-1",
                               write ? "ackreq len" : "dmalen"));
        break;
    case 5: // KEY-04: it has no right to atomics
        if (sketch.reach().atomics && window.bytes >= 15 && !window.from_zero && !window.atomics) {
            sketch.say(fmt::format("{}FETCH_ADD psn={} va=w{}+{} rkey=w{} add=1", sends(qp), qp.psn,
                                   window.number, (8 - window.offset % 8) % 8, window.number));
            break;
        }
        [[fallthrough]];
    case 1: // before its begin
        sketch.say(fmt::format("{}RDMA_{} psn={} va=w{}-1 rkey=w{} {}=4", sends(qp),
                               write ? "WRITE_ONLY" : "READ_REQUEST", qp.psn, window.number,
                               window.number, write ? "ackreq len" : "dmalen"));
        break;
    case 2:
        sketch.say(request(qp, window, !window.writes || !window.reads ? !write : write, from,
                           window.writes && window.reads ? rest + 1 : 1));
        break;
    default: // its region's address and length, under the key of the window
        sketch.say(fmt::format("{}RDMA_{} psn={} va=t1+{} rkey=w{} {}={}", sends(qp),
                               write ? "WRITE" : "READ_REQUEST", qp.psn, window.offset + from,
                               window.number, write ? "ackreq len" : "dmalen", rest + 1));
        break;
    }
}

void give_up(Sketch& sketch, const Qp& qp, const Window& window, std::uint64_t id) {
    sketch.say(fmt::format("dut    post {}LOCAL_INV id={} ikey=w{}", of(qp), id, window.number));
    sketch.say(fmt::format("dut    done {}send id={} within 10s", of(qp), id));
}

bool invalidate(Sketch& sketch, Qp& qp, const Window& window) {
    const std::uint64_t id = sketch.next_id();
    if (sketch.percent(50)) {
        give_up(sketch, qp, window, id);
        return true;
    }
    send_pending(sketch, qp);
    if (!qp.receives.empty()) return false;
    const std::uint64_t bytes = sketch.percent(40) ? 0 : sketch.random().below(3 * sketch.mtu());
    const std::string where = bytes == 0 ? "len=0"
                                         : fmt::format("local=k{}[{} +{}]", qp.domain,
                                                       sketch.sink(qp.domain, bytes), bytes);
    const std::string receive = fmt::format("dut    recv {}id={} {}", of(qp), id, where);
    const std::int64_t packets = sketch.packets_of(bytes);
    const std::int64_t last = qp.psn + packets - 1;
    std::string line = fmt::format("{}SEND_{}WITH_INV psn={} ikey=w{} len={} ackreq", sends(qp),
                                   packets == 1 ? "ONLY_" : "", qp.psn, window.number, bytes);
    // BTH-13: it solicits as any SEND does.
    const bool told = may_arm(sketch, qp) && sketch.percent(70);
    if (told) {
        line += " se";
        arm(sketch, qp, true);
    }
    const bool unready = sketch.features().unready && packets == 1 && sketch.percent(40);
    if (unready) {
        sketch.say(line);
        sketch.say(fmt::format("{}RNR_NAK psn={}", expects(qp), qp.psn));
    }
    sketch.say(receive);
    sketch.say(unready ? line + " after rnr(timer)" : line);
    sketch.say(fmt::format("{}ACK psn={}", expects(qp), last));
    if (told) sketch.say(fmt::format("dut    notified {}", queue_of(qp)));
    sketch.say(fmt::format("dut    done {}recv id={}", of(qp), id));
    sketch.count(bytes);
    qp.psn += packets;
    if (packets == 1) qp.sent.push_back({.packets = {line}, .first_psn = last, .last_psn = last});
    return true;
}

// RSP-10: one that comes once more is acknowledged and revokes nothing, not even the key of now.
void repeat_invalidation(Sketch& sketch, const Qp& qp) {
    if (!sketch.features().duplicates || qp.sent.empty() || !sketch.percent(50)) return;
    const std::string& line = qp.sent.back().packets.back();
    if (!line.contains("WITH_INV") || qp.sent.back().last_psn != qp.psn - 1) return;
    sketch.say(line);
    sketch.wait(std::chrono::milliseconds(1));
}

// KEY-07, KEY-08: the window is lost when a part of a WRITE has come.
bool lose_inside(Sketch& sketch, Qp& qp, Window& window) {
    if (!window.writes || window.bytes <= sketch.mtu()) return false;
    send_pending(sketch, qp);
    sketch.say(fmt::format("{0}RDMA_WRITE_FIRST psn={1} va=w{2} rkey=w{2} dmalen={3}", sends(qp),
                           qp.psn++, window.number, sketch.mtu() + 1));
    sketch.wait(std::chrono::milliseconds(1));
    if (window.type == 1) {
        bind(sketch, qp, window);
    } else {
        give_up(sketch, qp, window, sketch.next_id());
    }
    sketch.say(fmt::format("{}RDMA_WRITE_LAST psn={} len=1 ackreq", sends(qp), qp.psn++));
    return true;
}

void ends(Sketch& sketch, Qp& qp) {
    if (sketch.percent(50)) sketch.say(fmt::format("dut    state {}ERR", of(qp)));
    qp.close();
}

// KEY-11: two SENDs that follow each other revoke a key each.
bool invalidate_both(Sketch& sketch, Qp& qp, const Window& first, const Window& second) {
    send_pending(sketch, qp);
    if (!qp.receives.empty()) return false;
    const std::uint64_t id = sketch.next_ids(2);
    sketch.say(fmt::format("dut    recv {}id={}..{} len=0", of(qp), id, id + 1));
    for (const Window* one : {&first, &second}) {
        sketch.say(fmt::format("{}SEND_ONLY_WITH_INV psn={} ikey=w{} len=0{}", sends(qp), qp.psn++,
                               one->number, one == &second ? " ackreq" : ""));
    }
    sketch.say(fmt::format("{}ACK psn={}", expects(qp), qp.psn - 1));
    sketch.say(fmt::format("dut    done {}recv id={}..{}", of(qp), id, id + 1));
    return true;
}

// KEY-11, N-23: a window that this QP may not give up, or that was given up.
bool refuse_invalidation(Sketch& sketch, Qp& qp, const Window& window) {
    if (qp.shared || !qp.receives.empty()) return false;
    sketch.say(fmt::format("dut    recv {}id={} len=0", of(qp), sketch.next_id()));
    sketch.say(fmt::format("{}SEND_ONLY_WITH_INV psn={} len=0 ikey=w{}", sends(qp), qp.psn,
                           window.number));
    return true;
}

// KEY-03: a QP of another domain. No window is open to it.
bool use_in_another_domain(Sketch& sketch, const Window& window) {
    const auto stranger = std::ranges::find_if(sketch.qps(), [](const Qp& one) {
        return one.domain != 1 && one.talk == Talk::TesterAsks && one.known && !one.dead &&
               !one.early && one.may_read && one.may_write && one.may_atomic && one.pending.empty();
    });
    if (stranger == sketch.qps().end()) return false;
    sketch.say(some_request(sketch, *stranger, window));
    ends(sketch, *stranger);
    return true;
}

// KEY-09: another QP of the same domain. A window of type 1 is open to it, one of type 2 is not.
bool use_on_another(Sketch& sketch, const Qp& owner, const Window& window) {
    if (sketch.percent(50) && use_in_another_domain(sketch, window)) return true;
    const auto other = std::ranges::find_if(sketch.qps(), [&](const Qp& one) {
        return &one != &owner && one.domain == 1 && one.talk == Talk::TesterAsks && one.known &&
               !one.dead && one.may_read && one.may_write && one.pending.empty() &&
               (one.may_atomic || !window.atomics);
    });
    if (other == sketch.qps().end()) return false;
    if (window.type == 1) {
        use(sketch, *other, window);
        return true;
    }
    if (!sketch.percent(30) || !refuse_invalidation(sketch, *other, window))
        sketch.say(some_request(sketch, *other, window));
    ends(sketch, *other);
    return true;
}

} // namespace

void use_window(Sketch& sketch, Qp& qp) {
    const bool first_type = sketch.reach().type_1_windows && sketch.percent(40);
    Window window{.type = first_type ? 1 : 2};
    window.number = sketch.next_window(window.type);
    std::optional<Window> other; // which what is done to the window must not touch
    if (sketch.percent(40)) other.emplace().number = sketch.next_window(2);
    const bool older = sketch.percent(50);
    if (other && older) bind(sketch, qp, *other);
    bind(sketch, qp, window);
    if (other && !older) bind(sketch, qp, *other);
    use(sketch, qp, window);
    for (std::uint64_t more = sketch.random().below(3); more > 0; --more)
        use(sketch, qp, window);
    if (sketch.percent(30)) (void)use_on_another(sketch, qp, window);
    // A type 1 window is bound again as it is; one of type 2 after it was given up.
    if (sketch.percent(40) && (window.type == 1 || invalidate(sketch, qp, window))) {
        bind(sketch, qp, window);
        repeat_invalidation(sketch, qp);
        use(sketch, qp, window);
    }
    if (sketch.percent(40)) return;
    if (sketch.percent(30) && lose_inside(sketch, qp, window)) return ends(sketch, qp);
    if (window.type == 2 && sketch.percent(50)) {
        const bool both = other && sketch.percent(30);
        if (both ? !invalidate_both(sketch, qp, window, *other) : !invalidate(sketch, qp, window))
            return;
        repeat_invalidation(sketch, qp);
        if (other && !both) use(sketch, qp, *other); // KEY-07
        const Window& closed = both && sketch.percent(50) ? *other : window;
        if (!sketch.percent(30) || !refuse_invalidation(sketch, qp, closed))
            sketch.say(some_request(sketch, qp, closed));
    } else {
        misuse(sketch, qp, window);
    }
    ends(sketch, qp);
}

} // namespace veriroce::explorer
