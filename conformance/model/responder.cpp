#include "conformance/model/responder.hpp"

#include <algorithm>

#include "dissector/wire/syndrome.hpp"

namespace veriroce::model {
namespace {

using enum rules::Level;
using rules::FindingClass;
using wire::AckKind;
using wire::Operation;
using wire::Position;

constexpr std::int64_t kWindow = std::int64_t{1} << 22; // of duplicates (RSP-08)

// Answered by an empty READ response (EXT-02).
bool is_answered_empty(Operation operation) {
    return operation == Operation::Flush || operation == Operation::AtomicWrite;
}

// A packet that every receiver drops reaches no QP: it is not the expected one.
bool can_be_taken(const Packet& packet, const Connection& connection) {
    if (!packet.packet || packet.refusal == wire::FrameError::BadIcrc) return false;
    const wire::OpcodeInfo& info = packet.packet->info();
    const bool served = info.service == wire::service_of(connection.type);
    const bool asks = info.reserved() || info.request();
    return served && asks && packet.packet->bth.version == 0;
}

bool is_nak_of(const wire::Packet& answer, wire::NakCode code) {
    return answer.aeth.syndrome.nak_code() == code;
}

} // namespace

void ResponderChecks::take(const Call& call) {
    const auto* posted = std::get_if<dut::PostRecv>(&call.request);
    if (posted == nullptr) return;
    std::size_t accepted = posted->requests.size();
    if (call.answer && !*call.answer) accepted = call.answer->error().posted.value_or(0);
    receives_[posted->qp] += accepted;
}

void ResponderChecks::take_frame(const Packet& packet) {
    unread_ = unread_ || (!packet.packet && !setting_.exact);
}

void ResponderChecks::take(const Packet& packet, const Connection& connection) {
    if (!can_be_taken(packet, connection)) return;
    const wire::Packet& request = *packet.packet;
    const wire::OpcodeInfo& info = request.info();
    State& state = states_[&connection];
    const std::int64_t psn = connection.peer_psn(request.bth.psn);
    const bool reads = info.operation == Operation::RdmaReadRequest;
    const std::int64_t packets =
        reads ? wire::packets_of(request.reth.dma_length, connection.mtu()) : 1;
    if (psn <= state.newest)
        state.repeated_to = std::max(state.repeated_to.value_or(-1), psn + packets - 1);
    // RSP-08: near the edge of the window a PSN behind may be taken for one ahead.
    const std::int64_t ahead = psn < -kWindow ? psn + wire::kMask24 + 1 : psn;
    state.newest = std::max(state.newest, ahead + packets - 1);
    state.lowest = std::min(state.lowest, psn);
    if (reads) state.reads.push_back({psn, request.reth.dma_length, packets});
    if (is_atomic(info.operation)) state.atomics.insert(psn);
    if (is_answered_empty(info.operation)) state.empty_answers.insert(psn);
    if (psn < 0) return;
    const bool known_part = is_part_of_read(state, psn, true);
    const bool may_end = !info.reserved() && info.ends_message() && !known_part;
    const bool ends = may_end && !is_part_of_read(state, psn, false);
    const bool answered = reads || is_atomic(info.operation) || is_answered_empty(info.operation);
    const auto [known, fresh] = state.sent.try_emplace(psn);
    Sent& sent = known->second;
    const std::int64_t last = psn + packets - 1;
    sent.one_length = fresh || (sent.one_length && sent.last == last);
    sent.last = std::max(sent.last, last);
    sent.always_ends = sent.always_ends && ends;
    sent.ever_ends = sent.ever_ends || may_end;
    sent.always_receives = sent.always_receives && ends && info.consumes_receive();
    sent.always_answered = sent.always_answered && answered;
    sent.ever_answered = sent.ever_answered || answered;
    sent.ever_invalidates = sent.ever_invalidates || info.invalidates();
    sent.rnr_timer = connection.attributes.min_rnr_timer;
    // RDR-07: what begins before the newest answer is no request of its own.
    const bool behind = state.acknowledged && psn <= *state.acknowledged;
    if (fresh && answered && !behind) state.unanswered.insert(psn);
    state.at_answer.changed(psn);
    state.at_reach.changed(psn);
    reach(state, psn, last + 1);
}

// RDR-05: a request inside a READ asks for its tail again, and is no message of its own. `certain`:
// if nothing but that READ was sent there.
bool ResponderChecks::is_part_of_read(const State& state, std::int64_t psn, bool certain) const {
    return std::ranges::any_of(state.reads, [&](const Read& read) {
        if (psn <= read.first || psn >= read.first + read.packets) return false;
        const auto sent = state.sent.find(read.first);
        if (sent == state.sent.end()) return !certain;
        return !certain || (sent->second.one_length && sent->second.always_answered);
    });
}

// The packet is the expected one if one of the reached PSNs is its own. Where the network may bring
// packets in another order, a packet ahead is kept until its PSN is reached.
void ResponderChecks::reach(State& state, std::int64_t psn, std::int64_t after) const {
    const bool ordered = setting_.exact && !setting_.trait("out_of_order");
    if (!state.reached.contains(psn)) {
        if (!ordered) state.ahead.emplace(psn, after);
        return;
    }
    std::vector<std::int64_t> fresh{after};
    while (!fresh.empty()) {
        const std::int64_t next = fresh.back();
        fresh.pop_back();
        if (!state.reached.insert(next).second) continue;
        const auto [from, to] = state.ahead.equal_range(next);
        for (auto one = from; one != to; ++one)
            fresh.push_back(one->second);
        state.ahead.erase(from, to);
    }
}

ResponderChecks::Ended ResponderChecks::Counter::up_to(const std::map<std::int64_t, Sent>& sent,
                                                       std::int64_t psn) {
    if (psn < counted_) changed(psn);
    for (auto one = sent.upper_bound(counted_); one != sent.end() && one->first <= psn; ++one) {
        ended_.least += one->second.always_ends ? 1 : 0;
        ended_.most += one->second.ever_ends ? 1 : 0;
        ended_.receives += one->second.always_receives ? 1 : 0;
    }
    counted_ = psn;
    return ended_;
}

void ResponderChecks::Counter::changed(std::int64_t psn) {
    if (psn > counted_) return;
    counted_ = -1;
    ended_ = {};
}

std::uint64_t ResponderChecks::receives(const Connection& connection) const {
    const auto found = receives_.find(connection.handle);
    return found == receives_.end() ? 0 : found->second;
}

bool ResponderChecks::knows(const Connection& connection, wire::Psn psn) const {
    const auto found = states_.find(&connection);
    if (found == states_.end()) return false;
    const std::int64_t answered = connection.peer_psn(psn);
    return answered >= found->second.lowest - 1 && answered <= found->second.newest + 1;
}

void ResponderChecks::check(const Packet& packet, const Connection& connection) {
    if (connection.type != wire::QpType::Rc || unread_) return;
    const wire::Packet& answer = *packet.packet;
    if (answer.info().service != wire::Service::Rc) return;
    PacketLog log(log_, packet.number, connection.qpn);
    State& state = states_[&connection];
    const std::int64_t psn = connection.peer_psn(answer.bth.psn);
    const bool has_aeth = answer.headers.has(wire::Header::Aeth);
    if (has_aeth && !syndrome(log, answer, connection)) return;
    if (has_aeth) rnr_timer(log, answer, psn, connection, state);
    position(log, answer, psn, state);
    if (has_aeth) msn(log, answer, psn, state);
    const Operation operation = answer.info().operation;
    if (operation == Operation::RdmaReadResponse) {
        read_response(log, answer, psn, connection, state);
    } else if (operation == Operation::AtomicAcknowledge) {
        if (!state.atomics.contains(psn)) {
            log.add("ATM-10", Must, "psn", "an ATOMIC ACKNOWLEDGE answers an atomic at its PSN",
                    "no atomic was sent there");
        }
        state.ended.insert(psn);
    } else if (answer.aeth.syndrome.kind() == AckKind::Ack) {
        acknowledge(log, answer, psn, connection, state);
    } else if (is_nak_of(answer, wire::NakCode::PsnSequence)) {
        sequence_nak(log, psn, state);
    } else if (answer.aeth.syndrome.kind() == AckKind::Nak) {
        fatal_nak(log, psn, state);
    }
}

// RNR-07. What refuses a request that came before the last change may have the timer of that time.
void ResponderChecks::rnr_timer(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                                const Connection& connection, const State& state) const {
    const wire::Syndrome syndrome = answer.aeth.syndrome;
    const auto configured = connection.attributes.min_rnr_timer;
    if (syndrome.kind() != AckKind::RnrNak || !configured) return;
    const auto sent = state.sent.find(psn);
    const std::optional<std::uint8_t> before =
        sent == state.sent.end() ? configured : sent->second.rnr_timer.value_or(*configured);
    const wire::Duration shortest = std::min(wire::rnr_time(*configured), wire::rnr_time(*before));
    if (wire::rnr_time(syndrome.code()) >= shortest) return;
    log.add("RNR-07", Must, "timer", fmt::format("timer must be {} or a longer one", *configured),
            fmt::format("timer is {}", syndrome.code()));
}

bool ResponderChecks::syndrome(PacketLog& log, const wire::Packet& answer,
                               const Connection& connection) const {
    const wire::Syndrome syndrome = answer.aeth.syndrome;
    const bool defined = syndrome.value < 0x80 && syndrome.kind() != AckKind::Reserved &&
                         (syndrome.kind() != AckKind::Nak || syndrome.code() <= 3);
    if (!defined) {
        log.add("ACK-06", Must, "syndrome", "syndrome must be a defined one",
                fmt::format("syndrome is 0x{:02X}", syndrome.value));
        return false;
    }
    if (answer.info().operation != Operation::Acknowledge && syndrome.kind() != AckKind::Ack) {
        log.add("ACK-06", Must, "syndrome", "the AETH of a response with data is an ACK",
                fmt::format("syndrome is 0x{:02X}", syndrome.value));
    }
    if (syndrome.kind() != AckKind::Ack || syndrome.code() == wire::kNoCredits) return true;
    const std::uint64_t credits = wire::credits_of(syndrome.code()).value_or(0);
    if (connection.shared_receives && credits > 0) { // 0 promises nothing
        log.add("ACK-10", Should, "credits", "credits must be 31 with an SRQ",
                fmt::format("credits is {}", syndrome.code()));
    } else if (credits > receives(connection)) {
        log.add("ACK-10", Should, "credits",
                fmt::format("credits must stand for at most the {} posted receives",
                            receives(connection)),
                fmt::format("they stand for {}", credits));
    }
    return true;
}

// An answer names no PSN that the responder cannot have reached.
void ResponderChecks::position(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                               const State& state) const {
    const bool gap = is_nak_of(answer, wire::NakCode::PsnSequence);
    const std::int64_t most = gap ? state.reach() : state.reach() - 1;
    const std::int64_t back = answer.bth.psn.value() - psn; // the QP's first PSN, before any wrap
    if (psn > most) {
        log.add(gap ? "RSP-02" : "ACK-04", Must, "psn",
                fmt::format("psn must be at most that of the {} request PSNs that can have been "
                            "accepted",
                            state.reach()),
                fmt::format("it is {} ahead of them (the first is {})", psn - most,
                            wire::Psn(static_cast<std::uint32_t>(back)).value()));
    } else if (psn < std::min<std::int64_t>(state.lowest, 0)) {
        log.add(gap ? "RSP-02" : "ACK-04", Must, "psn", "psn must not be before the first request",
                fmt::format("it is {} before it", -psn));
    }
}

// RSP-02: it names the expected PSN, and something ahead of that came.
void ResponderChecks::sequence_nak(PacketLog& log, std::int64_t psn, const State& state) const {
    if (state.newest <= psn) {
        log.add("RSP-02", Must, "code", "a sequence NAK needs a packet ahead of its PSN",
                "none was sent");
    }
    if (state.acknowledged && psn <= *state.acknowledged) {
        log.add("RSP-02", Must, "psn", "a sequence NAK names the PSN after all that was accepted",
                fmt::format("it names one that is {} before an acknowledged one",
                            *state.acknowledged - psn),
                setting_.exact ? FindingClass::Contradiction : FindingClass::Absence);
    }
}

// RDR-11: a READ or atomic is answered before what comes after it.
void ResponderChecks::unanswered(PacketLog& log, std::int64_t psn, State& state) const {
    while (!state.unanswered.empty() && *state.unanswered.begin() <= psn) {
        const Sent& sent = state.sent.at(*state.unanswered.begin());
        if (sent.last > psn) return;
        state.unanswered.erase(state.unanswered.begin());
        if (!sent.always_answered || !sent.one_length || state.ended.contains(sent.last)) continue;
        log.add("RDR-11", Must, "psn", "a READ or atomic is answered before later requests",
                fmt::format("an ACK comes that is {} PSNs after one without an answer",
                            psn - sent.last),
                FindingClass::Absence);
    }
}

// RDR-14: inside a READ it takes the place of the response that does not come. A READ, or its tail,
// that was asked for again may have begun anywhere.
void ResponderChecks::fatal_nak(PacketLog& log, std::int64_t psn, const State& state) const {
    if (!setting_.exact || !state.next_response || psn <= *state.next_response) return;
    if (state.repeated_to && psn <= *state.repeated_to) return;
    const bool inside = std::ranges::any_of(state.reads, [&](const Read& read) {
        const std::int64_t after = read.first + read.packets;
        return read.first < *state.next_response && *state.next_response < after && psn < after;
    });
    if (!inside) return;
    log.add("RDR-14", Must, "psn", "a NAK inside a READ names the response that it replaces",
            fmt::format("{} responses before it were not sent", psn - *state.next_response));
}

void ResponderChecks::acknowledge(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                                  const Connection& connection, State& state) const {
    unanswered(log, psn, state);
    const std::uint64_t needed = state.at_answer.up_to(state.sent, psn).receives;
    if (!connection.shared_receives && needed > receives(connection)) {
        log.add("RNR-01", Must, "psn",
                fmt::format("only the {} posted receives can have been used", receives(connection)),
                fmt::format("it acknowledges {} messages that need one", needed));
    }
    if (state.acknowledged && psn < *state.acknowledged && !state.repeated_to && setting_.exact) {
        log.add("ACK-04", Must, "psn", "psn of an ACK must not go back",
                fmt::format("it goes back by {}", *state.acknowledged - psn));
    }
    const std::uint32_t msn = answer.aeth.msn.value;
    if (state.msn && setting_.exact && wire::distance(wire::Psn(*state.msn), wire::Psn(msn)) < 0) {
        log.add("ACK-07", Must, "msn", fmt::format("msn must not go back from {}", *state.msn),
                fmt::format("msn is {}", msn));
    }
    // The answer to a duplicate counts later messages too, and may overtake their own answers.
    const bool newest = !state.acknowledged || psn > *state.acknowledged;
    if (!state.repeated_to || (newest && psn > *state.repeated_to)) state.msn = msn;
    state.acknowledged = std::max(state.acknowledged.value_or(psn), psn);
}

void ResponderChecks::read_response(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                                    const Connection& connection, State& state) const {
    const Position position = answer.info().position;
    const std::size_t size = answer.payload().size();
    const bool ends = wire::ends_message(position);
    state.next_response = ends ? std::nullopt : std::optional(psn + 1);
    if (ends) state.ended.insert(psn);
    if (state.empty_answers.contains(psn) && position == Position::Only && size == 0) return;
    const std::uint64_t mtu = wire::bytes_of(connection.mtu());
    bool asked = false;
    bool fits = false;
    for (const Read& read : state.reads) {
        const std::int64_t index = psn - read.first;
        if (index < 0 || index >= read.packets) continue;
        asked = true;
        const bool last = index == read.packets - 1;
        const std::uint64_t due =
            std::min(mtu, read.length - static_cast<std::uint64_t>(index) * mtu);
        // RDR-06: the tail of a READ lies in that READ, too.
        fits = fits || (size == due && position == wire::position_of(index == 0, last));
    }
    if (!asked) {
        log.add("RDR-02", Must, "psn", "a READ response answers a READ request",
                "none was sent for its PSN");
    } else if (!fits) {
        log.add("RDR-01", Must, "opcode", "position and size must be those of the READ",
                fmt::format("{} with {} bytes", answer.info().name, size));
    }
}

void ResponderChecks::msn(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                          State& state) const {
    const bool nak = answer.info().operation == Operation::Acknowledge &&
                     answer.aeth.syndrome.kind() != AckKind::Ack;
    const bool first = answer.info().operation == Operation::RdmaReadResponse &&
                       answer.info().position == Position::First;
    Ended bounds = state.at_answer.up_to(state.sent, nak ? psn - 1 : psn);
    if (first) --bounds.least; // N-01
    // KEY-11: a SEND whose key cannot be invalidated fails, and may be acknowledged.
    const auto newest = state.sent.find(psn);
    const bool invalidates = newest != state.sent.end() && newest->second.ever_invalidates;
    if (!nak && invalidates) --bounds.least;
    // ACK-08: a READ or atomic that failed may count, and what ended after it.
    const auto after = state.sent.upper_bound(psn);
    const bool reads = after != state.sent.begin() && std::prev(after)->second.ever_answered &&
                       psn <= std::prev(after)->second.last;
    if (nak && reads && std::prev(after)->first < psn) --bounds.least; // it has not ended
    if (!nak || reads) bounds.most = state.at_reach.up_to(state.sent, state.reach() - 1).most;
    bounds.least = std::clamp<std::int64_t>(bounds.least, 0, bounds.most);
    const wire::Psn base(static_cast<std::uint32_t>(bounds.least));
    const std::int64_t above = wire::distance(base, wire::Psn(answer.aeth.msn.value));
    if (above >= 0 && above <= bounds.most - bounds.least) return;
    const std::string_view rule = nak                                                 ? "ACK-08"
                                  : answer.info().operation == Operation::Acknowledge ? "ACK-07"
                                                                                      : "RDR-03";
    const bool low = above < 0;
    log.add(rule, Must, "msn",
            bounds.least == bounds.most
                ? fmt::format("msn must be {}", bounds.least & wire::kMask24)
                : fmt::format("msn must be {} to {}", bounds.least & wire::kMask24,
                              bounds.most & wire::kMask24),
            fmt::format("msn is {}{}", answer.aeth.msn.value, low ? ", too few" : ""));
}

} // namespace veriroce::model
