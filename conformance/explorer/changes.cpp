// What an application does to a QP between the packets: it begins again, drains, loses rights,
// ends; and it waits for notifications.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

constexpr wire::Duration kSettled = std::chrono::milliseconds(20); // how long a reset takes
constexpr wire::Duration kSent = std::chrono::milliseconds(3);

// Other QPs wait meanwhile, and so do theirs.
bool others_wait(Sketch& sketch, const Qp& qp) {
    return std::ranges::any_of(sketch.qps(),
                               [&](const Qp& one) { return &one != &qp && !one.open.empty(); });
}

// STA-10: a connection has its own attributes, and another peer.
std::string with_new_attributes(Sketch& sketch, Qp& qp, std::string line) {
    sim::Random& random = sketch.random();
    const auto takes = [&](const std::string& option) {
        const std::size_t before = line.size();
        line = with_option(std::move(line), option);
        return line.size() > before;
    };
    if (sketch.percent(50)) takes("new_peer");
    if (qp.talk != Talk::TesterAsks && sketch.reach().reading && sketch.percent(40))
        takes(fmt::format("max_rd_atomic={}", 1 + random.below(sketch.reach().reads)));
    if (qp.talk == Talk::DutAsks && sketch.percent(40)) {
        const auto retries = static_cast<int>(2 + random.below(6));
        if (takes(fmt::format("retry_cnt={}", retries))) qp.retries = retries;
    }
    if (qp.talk == Talk::DutAsks && sketch.percent(40)) {
        const auto retries = static_cast<int>(random.below(8));
        if (takes(fmt::format("rnr_retry={}", retries))) qp.rnr_retries = retries;
    }
    if (qp.talk != Talk::DutAsks && sketch.percent(40))
        takes(fmt::format("min_rnr_timer={}", 1 + random.below(12)));
    if (sketch.percent(40)) takes(fmt::format("dscp={}", random.below(64)));
    if (sketch.percent(20)) takes(fmt::format("flow=0x{:X}", random.below(0x100000)));
    return line;
}

} // namespace

void send_one_pending(Sketch& sketch, Qp& qp) {
    if (qp.pending.empty()) return;
    std::string line = std::move(qp.pending.front());
    qp.pending.pop_front(); // first: what the line brings may make others pointless
    sketch.say(std::move(line));
}

void send_pending(Sketch& sketch, Qp& qp) {
    while (!qp.pending.empty())
        send_one_pending(sketch, qp);
}

// STA-10: RESET forgets all. A QP that failed lives again.
void reconnect(Sketch& sketch, Qp& qp) {
    if (!is_reliable(qp.talk) || qp.talk == Talk::Peers || qp.shared) return;
    // Inside a message.
    if (sketch.features().aftermath && !qp.early && sketch.percent(40)) qp.pending.clear();
    send_pending(sketch, qp);
    // What is late must not be taken for a part of the next connection.
    const Features& features = sketch.features();
    if (features.alike || features.other_mtu || sketch.reach().buffers_early) sketch.wait(kSettled);
    // STA-10: with the path MTU as well.
    if (sketch.features().other_mtu && sketch.qps().size() == 1 && !sketch.features().large) {
        sketch.change_mtu();
        const std::string mtu = fmt::format(" mtu={}", sketch.mtu());
        for (const std::string_view state : {"RESET", "INIT", "RTR", "RTS"}) {
            sketch.say(fmt::format("dut    modify {}state={}{}", of(qp), state,
                                   state == "RTR" ? mtu : ""));
        }
    }
    std::string line = fmt::format("dut    reconnect {}", of(qp));
    // With the PSNs of the first connection, or others that wrap.
    if (sketch.features().alike && sketch.percent(80)) {
        line += fmt::format("psn={} tester.psn={}", qp.dut_first, qp.tester_first);
    } else if (sketch.features().wrap && sketch.percent(50)) {
        line += fmt::format("psn={}", 0xFFFFFF - sketch.random().below(3));
        line += fmt::format(" tester.psn={}", 0xFFFFFF - sketch.random().below(3));
    }
    while (line.ends_with(' '))
        line.pop_back();
    if (sketch.percent(50)) line = with_new_attributes(sketch, qp, std::move(line));
    sketch.say(std::move(line));
    sketch.pass(kSettled);
    const std::vector<Sent> former = std::exchange(qp.sent, {});
    qp.begin_again();
    if (sketch.features().alike) begin_alike(sketch, qp, former);
    qp.early = false;
    qp.answered_at = sketch.now();
}

// N-25: what may change in SQD, and holds from then on.
void change_in_sqd(Sketch& sketch, Qp& qp) {
    if (!sketch.percent(40)) return;
    std::string change;
    switch (sketch.random().below(5)) {
    case 4: // fewer may be under way
        if (qp.talk != Talk::DutAsks || !sketch.reach().reading) return;
        change = "max_rd_atomic=1";
        break;
    case 3: // longer: what waits for retries counts none too few
        if (qp.talk != Talk::DutAsks) return;
        change = fmt::format("timeout={}", sketch.longer_timeout());
        break;
    case 0:
        if (qp.talk != Talk::DutAsks) return;
        qp.rnr_retries = static_cast<int>(sketch.random().below(8));
        change = fmt::format("rnr_retry={}", qp.rnr_retries);
        break;
    case 1:
        if (qp.talk != Talk::DutAsks) return;
        qp.retries = static_cast<int>(3 + sketch.random().below(5));
        change = fmt::format("retry_cnt={}", qp.retries);
        break;
    default: change = fmt::format("min_rnr_timer={}", 1 + sketch.random().below(12)); break;
    }
    sketch.say(fmt::format("dut    modify {}{}", of(qp), change));
}

// STA-06, N-25: the same while engines at both ends send to each other.
void drain_under_traffic(Sketch& sketch, Qp& qp) {
    if (!sketch.reach().draining || !sketch.reach().events || !qp.known) return;
    sketch.say(fmt::format("dut    modify {}state=SQD en_sqd_async_notify=1", of(qp)));
    sketch.say(fmt::format("dut    event {}SQ_DRAINED within 60s", of(qp)));
    sketch.pass(std::chrono::milliseconds(200));
    sketch.say(fmt::format("dut    modify {}state=RTS", of(qp)));
}

// STA-06, N-25: the send queue drains, waits, and goes on. With a request under way the device
// raises the event when that one is answered.
void drain(Sketch& sketch, Qp& qp) {
    if (qp.talk == Talk::Peers) return drain_under_traffic(sketch, qp);
    const bool able =
        !qp.dut_dead && !qp.dead && !qp.early && is_reliable(qp.talk) && sketch.reach().draining;
    if (!able) return;
    send_pending(sketch, qp);
    if (qp.open.size() > 1 || !qp.answers_known || !qp.known) return;
    const bool idle = qp.open.empty();
    const bool told = sketch.reach().events && sketch.percent(50);
    sketch.wait(kSent);
    sketch.say(
        fmt::format("dut    modify {}state=SQD{}", of(qp), told ? " en_sqd_async_notify=1" : ""));
    qp.drains = true;
    if (!idle && sketch.percent(30)) disturb(sketch, qp);
    if (!idle) answer_all(sketch, qp);
    qp.drains = false;
    if (qp.dut_dead || !qp.open.empty() || !qp.answers_known) {
        qp.known = qp.answers_known = false;
        return;
    }
    if (told && qp.answers_known)
        sketch.say(fmt::format("dut    event {}SQ_DRAINED within 1s", of(qp)));
    sketch.say(fmt::format("dut    state {}SQD", of(qp)));
    // The peer is still served.
    if (qp.known && !qp.shared && qp.talk != Talk::DutAsks && sketch.percent(50)) {
        qp.drains = true;
        if (sketch.percent(40)) {
            send_small(sketch, qp, false);
        } else {
            ask(sketch, qp);
        }
        send_pending(sketch, qp);
        qp.drains = false;
        if (qp.dead || !qp.known) return qp.close();
    }
    // ENC-12, CA17-9: its packets have the new class and hop limit from now on.
    if (told && qp.known && sketch.percent(30)) {
        const std::string vector = sketch.address_vector();
        if (!vector.empty())
            sketch.say(fmt::format("dut    modify {}{}", of(qp),
                                   vector.substr(0, vector.find_last_not_of(' ') + 1)));
    }
    if (told && qp.known) change_in_sqd(sketch, qp);
    // What is posted meanwhile waits, and is flushed or sent.
    if (sketch.features().aftermath && qp.talk == Talk::DutAsks && sketch.percent(50)) {
        ask_device(sketch, qp);
        if (sketch.percent(30)) return end(sketch, qp);
    }
    sketch.wait(std::chrono::milliseconds(1));
    sketch.say(fmt::format("dut    modify {}state=RTS", of(qp)));
    qp.answered_at = sketch.now();
}

// KEY-01: rights that change in RTS hold from the next request on. A request before them may have
// got an RNR NAK (RNR-03): it is under way until something behind it is acknowledged.
void change_rights(Sketch& sketch, Qp& qp) {
    if (qp.dead || !qp.known || !is_reliable(qp.talk) || qp.talk == Talk::Peers || qp.early) return;
    send_pending(sketch, qp);
    if (qp.talk != Talk::DutAsks) send_small(sketch, qp, false);
    send_pending(sketch, qp);
    qp.unheard = 0;
    sketch.say(fmt::format("dut    modify {}{}", of(qp), rights_of(sketch, qp)));
}

// N-26, RSP-10: a SEND that comes once more makes no completion, so none that is solicited.
void repeat_solicited(Sketch& sketch, const Qp& qp) {
    if (!sketch.features().duplicates || qp.sent.empty() || !sketch.percent(40)) return;
    const std::string& line = qp.sent.back().packets.back();
    if (!line.contains("SEND_ONLY") && !line.contains("SEND_LAST")) return;
    sketch.say(line.contains(" se") ? line : with_option(line, "se"));
    sketch.wait(kSent);
}

// BTH-13: a WRITE without immediate data completes nothing, and SE in it asks for nothing.
void write_solicited(Sketch& sketch, Qp& qp) {
    if (!qp.may_write || !sketch.features().writes || !sketch.percent(30)) return;
    sketch.say(fmt::format("{0}RDMA_WRITE_ONLY psn={1} va=t{2}+{3} rkey=t{2} len=8 ackreq se",
                           sends(qp), qp.psn, qp.domain, sketch.target(qp.domain, 8)));
    sketch.say(fmt::format("{}ACK psn={}", expects(qp), qp.psn++));
}

// N-26: a solicited message that is refused solicits nothing, at another QP either. The QP that
// refused one.
Qp* refuse_solicited(Sketch& sketch, const Qp& armed) {
    if (!sketch.features().unready || !sketch.percent(40)) return nullptr;
    const auto other = std::ranges::find_if(sketch.qps(), [&](const Qp& one) {
        return &one != &armed && one.talk == Talk::TesterAsks && one.known && !one.dead &&
               !one.early && !one.shared && one.receives.empty() && one.pending.empty();
    });
    if (other == sketch.qps().end()) return nullptr;
    sketch.say(fmt::format("{}SEND_ONLY psn={} ackreq se", sends(*other), other->psn));
    sketch.say(fmt::format("{}RNR_NAK psn={}", expects(*other), other->psn));
    return &*other;
}

void accept_solicited(Sketch& sketch, Qp& qp) {
    const std::uint64_t id = sketch.next_id();
    sketch.say(fmt::format("dut    recv {}id={} len=64", of(qp), id));
    sketch.say(fmt::format("{}SEND_ONLY psn={} ackreq se{}", sends(qp), qp.psn, kAfterTimer));
    sketch.say(fmt::format("{}ACK psn={}", expects(qp), qp.psn++));
    sketch.say(fmt::format("dut    done {}recv id={}", of(qp), id));
}

bool may_arm(Sketch& sketch, const Qp& qp) {
    return qp.notices && !qp.armed && !qp.dead && qp.known && !others_wait(sketch, qp);
}

void arm(Sketch& sketch, Qp& qp, bool solicited) {
    send_pending(sketch, qp);
    sketch.wait(kSent);
    sketch.say(fmt::format("dut    arm {}{}", queue_of(qp), solicited ? " solicited" : ""));
}

// N-26: the device's own requests. What is done is not solicited, and what failed always counts.
void notice_requests(Sketch& sketch, Qp& qp) {
    answer_all(sketch, qp);
    if (!qp.open.empty() || !qp.answers_known || qp.dut_dead) return;
    const bool solicited = sketch.percent(50);
    arm(sketch, qp, solicited);
    qp.armed = true; // until a notification comes
    ask_device(sketch, qp);
    const std::string queue = queue_of(qp);
    if (qp.open.size() != 1) return;
    const Asked asked = qp.open.front();
    if (sketch.percent(30)) {
        sketch.wait(kSent);
        sketch.say(fmt::format("{}NAK psn={} code=REMOTE_ACCESS", sends(qp), asked.first_psn));
        sketch.say(fmt::format("dut    notified {}", queue));
        return qp.close();
    }
    answer_all(sketch, qp);
    if (!qp.open.empty() || !qp.answers_known) return;
    const bool tells = asked.signaled && !solicited;
    sketch.say(fmt::format("dut    {} {}", tells ? "notified" : "quiet", queue));
    sketch.pass(kSettled);
    qp.armed = !tells && !solicited;
    qp.armed_for_faults = !tells && solicited;
    if (!tells) return;
    ask_device(sketch, qp);
    answer_all(sketch, qp);
    sketch.say(fmt::format("dut    quiet {}", queue));
    sketch.pass(kSettled);
}

// N-26: an armed queue tells of a completion once, and one that is armed for solicited ones of
// those alone.
void use_notices(Sketch& sketch, Qp& qp) {
    if (!may_arm(sketch, qp)) return;
    if (qp.talk == Talk::DutAsks) return notice_requests(sketch, qp);
    const std::string queue = queue_of(qp);
    const bool solicited = sketch.percent(50);
    arm(sketch, qp, solicited);
    Qp* refused = nullptr;
    if (solicited) {
        repeat_solicited(sketch, qp);
        write_solicited(sketch, qp);
        refused = refuse_solicited(sketch, qp);
    }
    send_noticed(sketch, qp, false);
    send_pending(sketch, qp);
    sketch.say(fmt::format("dut    {} {}", solicited ? "quiet" : "notified", queue));
    if (refused != nullptr) accept_solicited(sketch, *refused);
    send_noticed(sketch, qp, true);
    send_pending(sketch, qp);
    sketch.say(fmt::format("dut    {} {}", solicited ? "notified" : "quiet", queue));
    sketch.pass(kSettled);
}

void end(Sketch& sketch, Qp& qp) {
    if (qp.talk == Talk::Peers || qp.dead) return;
    if (sketch.percent(20)) post_many_receives(sketch, qp);
    if (!is_reliable(qp.talk)) post_idle_receives(sketch, qp);
    send_pending(sketch, qp);
    // A message that has begun, and the receive that it fills.
    if (qp.talk == Talk::TesterAsks && qp.known && !qp.shared && sketch.percent(20)) {
        sketch.say(
            fmt::format("dut    recv {}id={} len={}", of(qp), sketch.next_id(), 2 * sketch.mtu()));
        sketch.say(fmt::format("{}SEND_FIRST psn={}", sends(qp), qp.psn++));
        sketch.wait(kSent);
    }
    sketch.say(fmt::format("dut    modify {}state=ERR", of(qp)));
    if (is_reliable(qp.talk) && sketch.percent(50))
        sketch.say(fmt::format("{}SEND_ONLY psn={} ackreq", sends(qp), qp.psn));
    qp.close();
    qp.in_error = true;
    if (sketch.features().aftermath && sketch.percent(50)) work_in_error(sketch, qp);
}

// STA-07: work that is posted to a QP in ERR is flushed.
void work_in_error(Sketch& sketch, Qp& qp) {
    if (!is_reliable(qp.talk) || qp.talk == Talk::Peers) return;
    const std::uint64_t id = sketch.next_id();
    if (sketch.windows() > 0 && qp.domain == 1 && sketch.percent(40)) {
        sketch.say(fmt::format("dut    post {}LOCAL_INV id={} ikey=w{}", of(qp), id,
                               1 + sketch.random().below(sketch.windows())));
        return sketch.say(fmt::format("dut    done {}send id={} status=WR_FLUSH_ERR", of(qp), id));
    }
    const bool sends = qp.shared || sketch.percent(60);
    if (sends) {
        const std::uint64_t bytes = 1 + sketch.random().below(64);
        sketch.say(fmt::format("dut    post {}SEND id={} local=s{}[{} +{}]", of(qp), id, qp.domain,
                               sketch.source(qp.domain, bytes), bytes));
    } else {
        sketch.say(fmt::format("dut    recv {}id={} len=0", of(qp), id));
    }
    sketch.say(fmt::format("dut    done {}{} id={} status=WR_FLUSH_ERR", of(qp),
                           sends ? "send" : "recv", id));
}

} // namespace veriroce::explorer
