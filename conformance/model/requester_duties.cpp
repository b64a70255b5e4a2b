#include "conformance/model/requester_duties.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "conformance/model/clear_packet.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::model {
namespace {

using enum rules::Level;
using rules::FindingClass;
using wire::AckKind;
using wire::Operation;

constexpr wire::Duration kUnderWay = std::chrono::milliseconds(1);
constexpr int kMostWaits = 16; // RNR-08: it names the shortest time, and no longest

bool asks_for_answer(const wire::Packet& request) {
    return request.bth.ack_request || request.info().operation == Operation::RdmaReadRequest ||
           request.headers.has(wire::Header::AtomicEth); // N-17
}

} // namespace

RequesterDuties::State& RequesterDuties::state_of(const Qp& qp) {
    State& state = states_[qp.handle];
    if (state.life != qp.life)
        state = {.life = qp.life, .open = {}, .open_writes = {}, .open_again = {}, .copies = {}};
    return state;
}

const SendWork* RequesterDuties::work_at(const Qp& qp, std::int64_t psn) {
    const auto after = std::ranges::upper_bound(qp.sends, psn, {}, &SendWork::first);
    // Work requests without packets have the PSN of the next one.
    for (auto one = after; one != qp.sends.begin();) {
        --one;
        if (one->packets > 0) return psn <= one->last_psn() ? &*one : nullptr;
    }
    return nullptr;
}

void RequesterDuties::tell(const Qp& qp, std::string rule, rules::Level level, std::string field,
                           std::string allowed, std::string measured) {
    const auto newest = newest_.find(qp.handle);
    std::vector<std::size_t> packets;
    if (newest != newest_.end()) packets.push_back(newest->second);
    log_.add({.rule = std::move(rule),
              .level = level,
              .kind = FindingClass::Absence,
              .field = std::move(field),
              .allowed = std::move(allowed),
              .measured = std::move(measured),
              .packets = std::move(packets)},
             qp.qpn);
}

// --- calls ------------------------------------------------------------------------------------

void RequesterDuties::asked(const Call& call) {
    posted_.asked(call);
    const auto* modify = std::get_if<dut::QpModify>(&call.request);
    const auto* post = std::get_if<dut::PostSend>(&call.request);
    if (modify != nullptr && modify->attributes.state) {
        Qp* qp = posted_.find(modify->qp);
        const bool leaves = qp != nullptr && qp->state == wire::QpState::Rts &&
                            modify->attributes.state != wire::QpState::Rts;
        if (leaves) state_of(*qp).left = true;
        if (qp != nullptr) state_of(*qp).drained.reset();
    } else if (post != nullptr) {
        if (Qp* qp = posted_.find(post->qp)) state_of(*qp).last_post = call.asked;
    }
}

void RequesterDuties::answered(const Call& call) {
    const auto* modify = std::get_if<dut::QpModify>(&call.request);
    const bool told = call.answer && call.answer->has_value();
    const bool drains = modify != nullptr && told && modify->attributes.state == wire::QpState::Sqd;
    if (Qp* qp = drains ? posted_.find(modify->qp) : nullptr) {
        ++state_of(*qp).drains;
        state_of(*qp).drained =
            qp->sends.empty() ? 0 : qp->sends.back().first + qp->sends.back().packets;
    }
    if (const auto* list = told ? std::get_if<dut::EventList>(&**call.answer) : nullptr) {
        for (const dut::Event& event : list->events)
            check_drained_event(event);
    }
    for (const Polled& one : posted_.answered(call)) {
        if (one.qp == nullptr || one.completion.status == wire::WcStatus::Success) continue;
        State& state = state_of(*one.qp);
        check_give_up(*one.qp, state, one);
        state.failed = true;
    }
}

// STA-06: the event comes behind the answers to all that was begun. An event that
// the tester fetched late may belong to an earlier change to SQD.
void RequesterDuties::check_drained_event(const dut::Event& event) {
    const bool drained = story_.setting.exact && event.type == wire::EventType::SqDrained;
    Qp* qp = drained && event.qp ? posted_.find(*event.qp) : nullptr;
    if (qp == nullptr || qp->type != wire::QpType::Rc || qp->lives != 1) return;
    const State& state = state_of(*qp);
    const bool begun = state.may_be_acknowledged < state.next_sent;
    if (!begun || state.drains != 1 || state.failed || state.odd) return;
    tell(*qp, "STA-06", Should, "event", "SQ_DRAINED must come behind the answer to what was sent",
         fmt::format("SQ_DRAINED; the request with PSN {} (counted from 0) has no answer",
                     state.may_be_acknowledged));
}

// TMO-03: it gives up after retry_cnt retries, not before.
void RequesterDuties::check_give_up(const Qp& qp, const State& state, const Polled& polled) {
    const auto& retries = qp.attributes.retry_cnt;
    const bool gives_up = polled.completion.status == wire::WcStatus::RetryExcErr;
    if (!gives_up || !retries || polled.send == nullptr || polled.send->packets == 0) return;
    // Only where nothing was said but silence.
    if (state.told || state.failed || !story_.setting.timed() || qp.attributes.alt_address_vector)
        return;
    const auto copies = state.copies.find(polled.send->first);
    const std::uint32_t count = copies == state.copies.end() ? 0 : copies->second;
    const std::uint32_t due = *retries + 1U;
    if (count >= due) return;
    tell(qp, "TMO-03", Must, "completion",
         fmt::format("it must send the request {} times before it gives up", due),
         fmt::format("RETRY_EXC_ERR after {}", count));
}

Qp* RequesterDuties::sender_of(const wire::Packet& request) {
    if (!request.headers.has(wire::Header::Deth)) return posted_.of_peer(request.bth.dest_qp);
    Qp* qp = posted_.of_qpn(request.deth.source_qp);
    return qp != nullptr && qp->type == wire::QpType::Ud ? qp : nullptr;
}

// --- packets ----------------------------------------------------------------------------------

void RequesterDuties::sent(const Packet& packet) {
    const wire::Packet& request = *packet.packet;
    Qp* qp = sender_of(request);
    if (qp == nullptr || request.info().service != wire::service_of(qp->type)) return;
    State& state = state_of(*qp);
    const std::int64_t psn = qp->own_psn(request.bth.psn, state.next_sent);
    if (qp->type != wire::QpType::Rc) {
        state.next_sent = std::max(state.next_sent, psn + 1);
        state.last_sent = packet.at.latest;
        newest_[qp->handle] = packet.number;
        return;
    }
    const SendWork* work = work_at(*qp, psn);
    if (work == nullptr) return; // requester.cpp tells it
    check_drained(packet, *qp, state, psn);
    state.answered.sent(*qp, packet, psn);
    const std::int64_t after = work->asks_for_data() ? work->last_psn() + 1 : psn + 1;
    PacketLog log(log_, packet.number, qp->qpn);
    check_restart(log, state, *qp, psn, packet.at.latest);
    check_left_out(log, state, psn);
    const bool goes_on = state.resending && psn == state.follows;
    state.resending = psn < state.next_sent;
    state.follows = after;
    if (psn >= state.next_sent) {
        check_fence(log, state, *work);
        check_open(log, *qp, state, *work);
        state.next_sent = after;
    } else {
        check_resend(log, *qp, state, {.work = *work, .psn = psn, .goes_on = goes_on},
                     packet.at.latest);
        state.resent = true;
        if (work->asks_for_data()) {
            state.open_again.insert(work->first);
            state.next_data = std::min(state.next_data, psn);
        }
        if (state.missing && psn <= *state.missing) state.missing.reset();
    }
    // A READ may be asked for again from an earlier response on.
    if (state.owed && psn <= state.owed->psn) state.owed.reset();
    ++state.copies[psn];
    if (asks_for_answer(request)) state.asked = std::max(state.asked, after);
    check_copies(log, *qp, state, psn);
    state.last_sent = packet.at.latest;
    newest_[qp->handle] = packet.number;
}

// STA-06: what is posted in SQD waits for RTS.
void RequesterDuties::check_drained(const Packet& packet, const Qp& qp, const State& state,
                                    std::int64_t psn) {
    if (!story_.setting.exact || !state.drained || psn < *state.drained) return;
    PacketLog(log_, packet.number, qp.qpn)
        .add("STA-06", Should, "psn", "a request that is posted in SQD must wait for RTS",
             fmt::format("request {} (counted from 0) is sent", psn));
}

// REQ-27
void RequesterDuties::check_open(PacketLog& log, const Qp& qp, State& state, const SendWork& work) {
    if (work.asks_for_response() && !state.first_read) state.first_read = work.first;
    const std::uint32_t most = qp.attributes.max_rd_atomic.value_or(0);
    if (work.request.opcode == wire::WrOpcode::AtomicWrite) {
        state.open_writes.insert(work.first);
        const std::size_t all = state.open.size() + state.open_writes.size();
        if (most == 0 || all <= most) return;
        log.add("REQ-27", Should, "outstanding",
                fmt::format("at most {} READs, atomics and ATOMIC WRITEs may be outstanding", most),
                fmt::format("{} are", all));
        return;
    }
    if (!work.asks_for_data()) return;
    state.open.insert(work.first);
    if (most == 0 || state.open.size() <= most) return;
    log.add("REQ-27", std::has_single_bit(most) ? Must : Should, "outstanding",
            fmt::format("at most {} READs and atomics may be outstanding", most),
            fmt::format("{} are", state.open.size()));
}

// REQ-28
void RequesterDuties::check_fence(PacketLog& log, const State& state, const SendWork& work) {
    const bool early = !state.open.empty() && *state.open.begin() < work.first;
    if (!work.request.flags.fence || !early) return;
    log.add("REQ-28", Must, "fence",
            "a fenced request must wait for the answers to all earlier READs and atomics",
            fmt::format("it is sent with {} unanswered", state.open.size()));
}

// TMO-06: a resend begins at the oldest PSN without an answer.
void RequesterDuties::check_resend(PacketLog& log, const Qp& qp, State& state, const Resend& resend,
                                   wire::Instant now) {
    const auto& [work, psn, goes_on] = resend;
    if (!story_.setting.exact || qp.attributes.alt_address_vector) return;
    const auto timeout = story_.setting.ack_timeout(qp.attributes.timeout);
    const bool quiet = timeout && now - state.last_sent >= *timeout;
    // An answer moves the window of a resend, which goes on behind what it sent before.
    const bool begins = quiet && now - state.last_told >= *timeout;
    if (begins && psn > state.may_be_acknowledged && !story_.setting.trait("selective_repeat")) {
        log.add("TMO-06", Must, "psn",
                fmt::format("request {} (counted from 0) must come first: no answer named it",
                            state.may_be_acknowledged),
                fmt::format("it is request {}", psn));
    }
    // What was under way when the answer came is tolerated.
    const bool late = state.acknowledged > psn && now - state.acknowledged_at > kUnderWay;
    // REQ-33: the answer came after the timer had expired, and the resend may leave late.
    const bool expired = timeout && state.acknowledged_at - state.sent_before_ack >= *timeout;
    if (!late || expired || !story_.setting.timed()) return;
    // REQ-33: a resend that has begun may go on to its end, however slowly.
    if (goes_on && !quiet) return;
    const bool complete = work.last_psn() < state.acknowledged;
    // REQ-09: from its first PSN to the first missing one.
    if (!complete && work.request.opcode == wire::WrOpcode::RdmaRead) return;
    // After a timeout the whole message may come again.
    if (!complete && quiet) state.begun_again = work.first;
    if (!complete && state.begun_again == work.first) return;
    log.add(
        "TMO-06", complete ? Must : Should, "psn",
        fmt::format("all before request {} (counted from 0) is acknowledged", state.acknowledged),
        fmt::format("request {} is sent again", psn));
}

// REQ-11, RNR-08: what follows a NAK begins with its PSN, or before it in the same message.
void RequesterDuties::check_restart(PacketLog& log, State& state, const Qp& qp, std::int64_t psn,
                                    wire::Instant now) const {
    if (!state.restart) return;
    const State::Restart asked = *state.restart;
    const bool fresh = psn >= state.next_sent;
    if (fresh && now - asked.since <= kUnderWay) return; // it was under way
    state.restart.reset();
    if (psn == asked.psn) return;
    const SendWork* refused = work_at(qp, asked.psn);
    const bool inside = refused != nullptr && refused->first <= psn && psn < asked.psn;
    log.add(asked.rule, inside ? Should : Must, "psn",
            fmt::format("after the NAK the device must go on with request {} (counted from 0)",
                        asked.psn),
            fmt::format("it goes on with request {}", psn));
}

// REQ-11: a resend goes through the PSNs in their order, up to what is answered.
void RequesterDuties::check_left_out(PacketLog& log, const State& state, std::int64_t psn) const {
    const bool ordered = story_.setting.exact && !story_.setting.trait("selective_repeat");
    if (!ordered || psn >= state.next_sent) return;
    if (psn <= std::max(state.follows, state.may_be_acknowledged)) return;
    log.add("REQ-11", Must, "psn",
            fmt::format("request {} (counted from 0) must come first: it has no answer",
                        std::max(state.follows, state.may_be_acknowledged)),
            fmt::format("it is request {}", psn));
}

// TMO-02, TMO-03: how often silence alone makes it send again.
void RequesterDuties::check_copies(PacketLog& log, const Qp& qp, const State& state,
                                   std::int64_t psn) {
    const std::uint32_t count = state.copies.at(psn);
    if (count < 2 || !story_.setting.timed() || qp.attributes.alt_address_vector) return;
    const FindingClass kind =
        story_.setting.exact ? FindingClass::Contradiction : FindingClass::Surplus;
    if (!state.told && qp.attributes.timeout == 0) {
        log.add("TMO-02", Must, "psn", "with ACK timeout 0 it must not send again in silence",
                "it sends the packet again", kind);
    }
    const auto& retries = qp.attributes.retry_cnt;
    if (!retries || count <= *retries + 1U) return;
    log.add("TMO-03", Must, "psn",
            fmt::format("it may send a packet at most {} times without an answer", *retries + 1),
            fmt::format("it sends it {} times", count), kind);
}

void RequesterDuties::take(const Packet& packet) {
    if (!packet.packet || !packet.packet->info().response()) return;
    Qp* qp = posted_.of_qpn(packet.packet->bth.dest_qp);
    if (qp == nullptr || qp->type != wire::QpType::Rc) return;
    const wire::Packet& answer = *packet.packet;
    State& state = state_of(*qp);
    const std::int64_t psn = qp->own_psn(answer.bth.psn, state.next_sent);
    state.last_told = packet.at.latest;
    state.told = true;
    state.copies.clear();
    const Operation operation = answer.info().operation;
    const bool has_aeth = answer.headers.has(wire::Header::Aeth);
    const AckKind kind = has_aeth ? answer.aeth.syndrome.kind() : AckKind::Ack;
    const bool again =
        kind == AckKind::RnrNak ||
        (kind == AckKind::Nak && answer.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence);
    state.may_be_acknowledged = std::max(state.may_be_acknowledged, again ? psn : psn + 1);
    note_restart(packet, *qp, state, psn, again ? kind : AckKind::Ack);
    const bool data =
        operation == Operation::RdmaReadResponse || operation == Operation::AtomicAcknowledge;
    note_data(state, psn, data);
    const std::int64_t answered = again ? psn - 1 : psn; // a NAK answers what is before its PSN
    const auto has_answer = [&](std::int64_t one) {
        const SendWork* work = work_at(*qp, one);
        return work == nullptr || answered >= work->last_psn();
    };
    std::erase_if(state.open, has_answer);
    std::erase_if(state.open_writes, has_answer);
    std::erase_if(state.open_again, has_answer);
    if (kind == AckKind::RnrNak) {
        const wire::Duration wait = wire::rnr_time(answer.aeth.syndrome.code());
        state.wait = packet.at.latest + wait;
        state.rnr_end = packet.at.latest + kMostWaits * wait;
    }
    note_nak(packet, *qp, state, psn, again ? kind : AckKind::Ack);
    const bool clear = is_clear(story_, packet, *qp);
    const bool plain = clear && operation == Operation::Acknowledge && kind == AckKind::Ack &&
                       answer.body.empty() && psn < state.next_sent;
    // An ACK behind a READ or atomic does not answer that (REQ-20, N-11).
    const bool behind_read = state.first_read && psn >= *state.first_read;
    if (clear) {
        state.answered.take(*qp, packet, psn, story_.setting.ack_timeout(qp->attributes.timeout));
    }
    const std::int64_t known = plain && !behind_read ? psn + 1 : state.answered.end();
    if (known > state.acknowledged) {
        state.acknowledged = known;
        state.acknowledged_at = packet.at.latest;
        state.sent_before_ack = state.last_sent;
    }
    if (!plain && !data) state.odd = true;
}

// REQ-08, REQ-20
void RequesterDuties::note_data(State& state, std::int64_t psn, bool data) {
    const auto oldest_of = [](const std::set<std::int64_t>& some) {
        return some.empty() ? std::numeric_limits<std::int64_t>::max() : *some.begin();
    };
    const std::int64_t oldest = std::min(oldest_of(state.open), oldest_of(state.open_again));
    const std::int64_t next = std::max(oldest, state.next_data);
    if (psn < oldest) return;
    if (psn > next && !state.missing) state.missing = next;
    if (psn == next && data) state.next_data = psn + 1;
}

// Where a resend may be under way, or the timer about to cause one, its packets may still come.
void RequesterDuties::note_restart(const Packet& packet, const Qp& qp, State& state,
                                   std::int64_t psn, AckKind kind) const {
    const auto timeout = story_.setting.ack_timeout(qp.attributes.timeout);
    const wire::Duration idle = packet.at.latest - state.last_sent;
    if (state.restart) state.restarts_until = packet.at.latest + kUnderWay;
    const auto is_before = [&](const std::optional<wire::Instant>& end) {
        return end && packet.at.latest <= *end;
    };
    const bool waits = is_before(state.restarts_until) || is_before(state.wait);
    const bool calm = !state.resending && !waits && story_.setting.timed() &&
                      (!timeout || idle + kUnderWay < *timeout);
    const bool outstanding = psn >= state.may_be_acknowledged && psn < state.next_sent;
    const bool ordered = story_.setting.exact && !story_.setting.trait("selective_repeat") &&
                         !qp.attributes.alt_address_vector;
    state.restart.reset();
    if (kind == AckKind::Ack || !calm || !outstanding || !ordered) return;
    if (state.waits_for_data() || !is_clear(story_, packet, qp)) return;
    state.restart = {.psn = psn,
                     .since = packet.at.latest,
                     .rule = kind == AckKind::RnrNak ? "RNR-08" : "REQ-11"};
}

// A NAK for what was acknowledged or never sent asks for nothing (REQ-18), and the second sequence
// NAK for a PSN may pass (REQ-15).
void RequesterDuties::note_nak(const Packet& packet, const Qp& qp, State& state, std::int64_t psn,
                               AckKind kind) {
    const bool outstanding = psn >= state.may_be_acknowledged && psn < state.next_sent;
    if (kind == AckKind::Ack) {
        // What answers it, or anything after it, ends the duty.
        if (state.owed && psn >= state.owed->psn) state.owed.reset();
        return;
    }
    const bool rnr = kind == AckKind::RnrNak;
    const bool again = !rnr && !state.naks.insert(psn).second;
    if (again || !outstanding || state.waits_for_data() || !is_clear(story_, packet, qp)) return;
    state.owed = {.psn = psn, .since = rnr ? state.rnr_end : packet.at.latest, .rnr = rnr};
}

// --- the end ----------------------------------------------------------------------------------

void RequesterDuties::finish() {
    for (Qp& qp : posted_.qps()) {
        const auto found = states_.find(qp.handle);
        if (qp.gone || found == states_.end()) continue;
        const State& state = found->second;
        if (qp.type != wire::QpType::Rc) {
            check_unsent(qp, state);
            continue;
        }
        if (!may_owe(qp, state) || qp.reported != wire::QpState::Rts) continue;
        auto duty = state.late ? state.late : overdue(qp, state, story_.end);
        if (duty)
            tell(qp, std::string(duty->rule), duty->level, std::string(duty->field),
                 std::move(duty->allowed), std::string(duty->measured));
    }
}

// Only where it is known what reached the device and when.
bool RequesterDuties::may_owe(const Qp& qp, const State& state) const {
    return state.life == qp.life && qp.state == wire::QpState::Rts && !state.failed &&
           !state.left && story_.setting.exact && !qp.attributes.alt_address_vector;
}

std::optional<RequesterDuties::Duty> RequesterDuties::overdue(const Qp& qp, const State& state,
                                                              wire::Instant now) const {
    using Check =
        std::optional<Duty> (RequesterDuties::*)(const Qp&, const State&, wire::Instant) const;
    constexpr std::array<Check, 4> checks{&RequesterDuties::silent, &RequesterDuties::asks_nothing,
                                          &RequesterDuties::not_sent,
                                          &RequesterDuties::not_sent_again};
    for (const Check check : checks) {
        if (auto duty = (this->*check)(qp, state, now)) return duty;
    }
    return std::nullopt;
}

// What was due before something else happened. A QP may have failed, and no completion has told so
// yet: it counts at the end.
void RequesterDuties::look(wire::Instant now) {
    if (!story_.setting.exact || now - looked_ < story_.setting.answer_time / 2) return;
    looked_ = now;
    for (Qp& qp : posted_.qps()) {
        const auto found = states_.find(qp.handle);
        if (qp.gone || found == states_.end() || qp.type != wire::QpType::Rc) continue;
        State& state = found->second;
        if (!state.late && may_owe(qp, state)) state.late = overdue(qp, state, now);
    }
}

// UC and UD: nothing holds a request back, and one that completes with success has left.
void RequesterDuties::check_unsent(const Qp& qp, const State& state) {
    const SendWork* next = work_at(qp, state.next_sent);
    if (next == nullptr || !story_.setting.exact || state.failed || state.life != qp.life) return;
    const auto& ports = story_.setting.dut.ports;
    const bool datagrams = qp.type == wire::QpType::Ud;
    const std::uint64_t longest = ports.empty() ? 0 : wire::bytes_of(ports.front().mtu_active);
    // A datagram above the MTU is not sent, and what PSNs the later ones have is open.
    const bool oversize = datagrams && std::ranges::any_of(qp.sends, [&](const SendWork& one) {
                              return one.bytes > longest;
                          });
    const bool up = qp.state == wire::QpState::Rts && qp.reported == wire::QpState::Rts;
    const bool done = next->polled && next->status == wire::WcStatus::Success;
    if (oversize || (!done && (!up || state.left))) return;
    if (story_.end - std::max(state.last_post, state.last_sent) < story_.setting.answer_time)
        return;
    tell(qp, datagrams ? "EXT-05" : "REQ-01", Must, "request",
         fmt::format("request id={} must be sent: nothing holds it back", next->request.id),
         done ? "it completed, and was not sent until the end" : "it was not sent until the end");
}

// REQ-11, RNR-08
std::optional<RequesterDuties::Duty>
RequesterDuties::not_sent_again(const Qp& qp, const State& state, wire::Instant now) const {
    const bool retries = qp.attributes.retry_cnt.value_or(0) > 0;
    const auto& owed = state.owed;
    if (!owed || story_.setting.trait("selective_repeat")) return std::nullopt;
    if (!owed->rnr && (now < state.rnr_end || !retries)) return std::nullopt;
    if (now - owed->since < story_.setting.answer_time) return std::nullopt;
    return Duty{.rule = owed->rnr ? "RNR-08" : "REQ-11",
                .field = "psn",
                .allowed = fmt::format("{} NAK makes it send request {} (counted from 0) again",
                                       owed->rnr ? "an RNR" : "a sequence", owed->psn),
                .measured = "it was not sent again in time"};
}

// TMO-01: the device sends a request without an answer again after at most four timeouts.
std::optional<RequesterDuties::Duty> RequesterDuties::silent(const Qp& qp, const State& state,
                                                             wire::Instant now) const {
    const auto one = story_.setting.ack_timeout(qp.attributes.timeout);
    const bool waits = state.may_be_acknowledged < state.next_sent && !state.copies.empty();
    const bool untold = !state.odd && !state.wait && !state.resent;
    const bool retries = story_.setting.timed() && qp.attributes.retry_cnt.value_or(0) > 0;
    if (!waits || !untold || !retries || !one) return std::nullopt;
    const wire::Instant since = std::max(state.last_sent, state.last_told);
    if (now - since <= 4 * *one + story_.setting.answer_time) return std::nullopt;
    return Duty{.rule = "TMO-01",
                .field = "psn",
                .allowed = "a request without an answer must be sent again after at most four "
                           "timeouts",
                .measured = "nothing was sent again in time"};
}

// BTH-18: it asks for the answer that it waits for.
std::optional<RequesterDuties::Duty> RequesterDuties::asks_nothing(const Qp& qp, const State& state,
                                                                   wire::Instant now) const {
    if (qp.sends.empty() || now - state.last_sent < story_.setting.answer_time) return std::nullopt;
    const SendWork& last = qp.sends.back();
    const std::int64_t end = last.first + last.packets;
    const bool waits = last.packets > 0 && state.next_sent == end &&
                       state.may_be_acknowledged < end && !last.asks_for_response();
    const bool asks = state.asked >= end;
    if (!waits || asks || now < state.rnr_end) return std::nullopt;
    return Duty{.rule = "BTH-18",
                .level = last.signaled ? Must : Should,
                .field = "ackreq",
                .allowed = "the last packet that it waits for must ask for an answer",
                .measured = "none of its packets does"};
}

// N-18: with all that was sent answered, the next request follows.
std::optional<RequesterDuties::Duty> RequesterDuties::not_sent(const Qp& qp, const State& state,
                                                               wire::Instant now) const {
    const SendWork* next = work_at(qp, state.next_sent);
    if (next == nullptr || state.odd || !state.open.empty()) return std::nullopt;
    if (state.acknowledged < state.next_sent) return std::nullopt;
    const bool may_read = qp.attributes.max_rd_atomic.value_or(0) > 0;
    if (next->asks_for_response() && !may_read) return std::nullopt;
    const wire::Instant since =
        std::max({state.last_post, state.last_told, state.last_sent, state.rnr_end});
    if (now - since < story_.setting.answer_time) return std::nullopt;
    return Duty{.rule = "N-18",
                .field = "request",
                .allowed = fmt::format("request id={} must be sent: nothing holds it back",
                                       next->request.id),
                .measured = "it was not sent in time"};
}

} // namespace veriroce::model
