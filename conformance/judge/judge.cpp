#include "conformance/judge/judge.hpp"

#include <algorithm>
#include <deque>

#include "conformance/judge/case_at_hand.hpp"
#include "dissector/wire/fetch.hpp"

namespace veriroce::judge {
namespace {

bool contains(const std::vector<wire::IpAddress>& addresses, const wire::IpAddress& address) {
    return std::ranges::find(addresses, address) != addresses.end();
}

std::string text_of_end(const flow::End& end) {
    std::string text = end.address.text() + " QP ";
    if (!end.qpn) return text + "?";
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (std::uint32_t rest = end.qpn->value; rest != 0 || digits.empty(); rest >>= 4)
        digits.insert(digits.begin(), kDigits[rest & 0xF]);
    return text + "0x" + digits;
}

Excuses left_over(Excuses excuses, const Case& at_hand) {
    const Knowledge& knowledge = at_hand.knowledge;
    const bool at_sender = at_hand.recorded_at(at_hand.packet.source);
    if (knowledge.complete) excuses = excuses.without(Excuse::CaptureLoss);
    if (knowledge.ordered || at_sender) {
        excuses = excuses.without(Excuse::NetworkOrder).without(Excuse::NetworkCopy);
    }
    if (at_sender) excuses = excuses.without(Excuse::InFlight);
    if (at_sender || at_hand.packet.integrity == flow::Integrity::Good) {
        excuses = excuses.without(Excuse::Damage);
    }
    if (at_hand.connection == nullptr) return excuses;
    const flow::Connection& connection = *at_hand.connection;
    if (at_hand.stream().begin_known()) excuses = excuses.without(Excuse::Beginning);
    // A pair that was found by its PSNs stays a guess: of thousands of QPs that begin alike, some
    // pairs are none, however many responses fit.
    if (connection.pairing == flow::Pairing::Known) {
        return excuses.without(Excuse::NewLife)
            .without(Excuse::Reconnect)
            .without(Excuse::WrongPair);
    }
    if (!at_hand.stream().maybe_restarted()) excuses = excuses.without(Excuse::NewLife);
    return excuses;
}

} // namespace

std::string text_of(wire::Psn psn) {
    return "PSN " + std::to_string(psn.value());
}

bool Case::recorded_at(const wire::IpAddress& address) const {
    return contains(knowledge.recorded_at, address);
}

bool Case::out_of_order(const wire::IpAddress& address) const {
    return contains(knowledge.out_of_order, address);
}

void Case::report(std::string_view rule, Excuses excuses, Evidence evidence, std::string text,
                  std::optional<rules::Level> level) const {
    if (contains(knowledge.not_judged, packet.source)) return;
    enter(packet.source, rule, excuses, evidence, std::move(text), level);
}

void Case::report_of(const flow::End& accused, std::string_view rule, Excuses excuses,
                     Evidence evidence, std::string text, std::optional<rules::Level> level) const {
    if (contains(knowledge.not_judged, accused.address)) return;
    enter(accused.address, rule, excuses, evidence, std::move(text), level);
}

void Case::enter(const wire::IpAddress& accused, std::string_view rule, Excuses excuses,
                 Evidence evidence, std::string text, std::optional<rules::Level> level) const {
    Violation violation;
    violation.accused = accused;
    violation.rule = rule;
    violation.level = level.value_or(rules::catalogue().at(rule).level);
    violation.excuses = left_over(excuses, *this);
    violation.certainty = violation.excuses.empty() ? Certainty::Certain : Certainty::Possible;
    if (connection != nullptr) {
        violation.connection = connection->id;
        violation.ends =
            text_of_end(connection->ends[0]) + " - " + text_of_end(connection->ends[1]);
    }
    violation.packets = evidence;
    violation.text = std::move(text);
    docket.enter(std::move(violation));
}

void Docket::enter(Violation violation) {
    ++counts_[static_cast<std::size_t>(violation.certainty)];
    if (violations_.size() < limits_.violations && one_more(violation)) {
        violations_.push_back(std::move(violation));
    }
}

bool Docket::one_more(const Violation& violation) {
    for (Seen& seen : seen_) {
        if (seen.rule != violation.rule || seen.connection != violation.connection ||
            seen.certainty != violation.certainty) {
            continue;
        }
        return ++seen.count <= limits_.of_one_rule_per_connection;
    }
    seen_.push_back({violation.rule, violation.connection, violation.certainty, 1});
    return true;
}

void Docket::count_into(Summary& summary) const {
    summary.certain = counts_[static_cast<std::size_t>(Certainty::Certain)];
    summary.possible = counts_[static_cast<std::size_t>(Certainty::Possible)];
    summary.undecidable = counts_[static_cast<std::size_t>(Certainty::Undecidable)];
}

struct Judge::Court {
    Court(Knowledge known, const Limits& limits)
        : knowledge(std::move(known)), tracker(limits.flow), docket(limits) {
        for (const wire::IpAddress& address : knowledge.memory_at_rest)
            writes.push_back({address, {}});
        for (const auto& [address, interval] : knowledge.notification_points)
            notifiers.push_back({.address = address, .interval = interval});
        for (const auto& ends : knowledge.connections)
            tracker.introduce(ends[0], ends[1]);
    }

    Notes& notes_of(std::uint32_t connection, std::uint8_t end) {
        const std::size_t at = connection * 2UL + end;
        if (at >= notes.size()) notes.resize(at + 1);
        Notes& found = notes[at];
        const flow::Connection& owner = tracker.connection(connection);
        const std::uint32_t generation = owner.ends[end].stream.generation();
        if (found.connection != owner.id || found.generation != generation) {
            found = Notes();
            found.connection = owner.id;
            found.generation = generation;
        }
        return found;
    }

    // Of the other end only what every packet on its path is held against.
    void fetch_notes(const flow::Tracker::Ahead& ahead) const {
        const std::size_t first = ahead.connection * 2UL;
        if (first + 1 >= notes.size()) return;
        const Notes& asking = notes[first + ahead.asking];
        const Notes& other = notes[first + 1 - ahead.asking];
        wire::fetch(&asking, &asking.pieces);
        wire::fetch(&other, &other.msn);
    }

    void note_writes(const flow::Packet& packet, Case& at_hand);
    void judge_together(std::span<const decode::Dissection> frames);
    void judge(const flow::Packet& packet, const decode::Dissection* frame);
    void judge_connected(const Case& at_hand);
    void judge_debtors(const Case& at_hand);
    void judge_debts_of(std::uint8_t end, const flow::Packet& packet, flow::Classified seen,
                        Sign sign);
    void judge_in_role(const Case& at_hand);
    void call_in_debts();

    Knowledge knowledge;
    flow::Tracker tracker;
    Docket docket;
    std::deque<Notes> notes; // of both ends of each connection
    struct Waiting {
        bool packet_there = false;
        flow::Packet packet;
        std::optional<flow::Tracker::Ahead> ahead;
    };
    std::array<Waiting, kTogether> together; // packets that are judged together
    Summary summary;
    std::optional<wire::Instant> last_time;
    std::vector<Notifier> notifiers;
    std::vector<std::pair<wire::IpAddress, Writes>> writes; // of each whose memory is at rest
    bool finished = false;
};

// Whatever brings payload or an atomic may write, whatever becomes of it.
void Judge::Court::note_writes(const flow::Packet& packet, Case& at_hand) {
    const wire::OpcodeInfo& info = packet.info();
    const bool may_write = info.request() && (info.carries_payload() || info.reserved() ||
                                              info.headers.has(wire::Header::AtomicEth));
    for (auto& [address, latest] : writes) {
        if (may_write && address == packet.destination) {
            latest = {.number = packet.number,
                      .connection = at_hand.connection != nullptr ? at_hand.connection->id : 0,
                      .time = packet.time};
        }
        if (address == packet.source) at_hand.writes = latest;
    }
}

// What several packets need is fetched for all of them at once.
void Judge::Court::judge_together(std::span<const decode::Dissection> frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        Waiting& waiting = together[i];
        waiting.packet = {};
        waiting.packet_there = flow::read_packet(frames[i], waiting.packet);
        waiting.ahead.reset();
        if (waiting.packet_there) tracker.fetch_path(waiting.packet);
    }
    const std::span<Waiting> there = std::span(together).first(frames.size());
    for (Waiting& waiting : there) {
        if (!waiting.packet_there) continue;
        waiting.ahead = tracker.fetch_connection(waiting.packet);
        if (waiting.ahead) fetch_notes(*waiting.ahead);
    }
    for (const Waiting& waiting : there) {
        if (waiting.ahead) tracker.fetch_history(waiting.packet, *waiting.ahead);
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (together[i].packet_there) judge(together[i].packet, &frames[i]);
    }
}

void Judge::Court::judge(const flow::Packet& packet, const decode::Dissection* frame) {
    assert(!finished);
    ++summary.packets;
    if (packet.time) last_time = packet.time;
    const flow::Classified seen = tracker.feed(packet);
    Case at_hand{.knowledge = knowledge,
                 .tracker = tracker,
                 .packet = packet,
                 .seen = seen,
                 .docket = docket};
    if (seen.connection) {
        at_hand.connection = &tracker.connection(*seen.connection);
        at_hand.notes = &notes_of(*seen.connection, seen.asking());
        at_hand.path = &notes_of(*seen.connection, seen.from);
    }
    if (!writes.empty()) note_writes(packet, at_hand);
    if (frame != nullptr) judge_frame(*frame, at_hand);
    const bool bad = packet.integrity == flow::Integrity::Bad;
    if (bad) ++summary.damaged;
    const bool dropped = bad || seen.kind == flow::Class::Damaged;
    if (!dropped) judge_packet(at_hand);
    if (!dropped) judge_management(at_hand);
    for (Notifier& notifier : notifiers)
        if (!dropped) judge_congestion(at_hand, notifier);
    if (!seen.connection) return;
    if (dropped || seen.kind == flow::Class::Outside) {
        note_without_effect(at_hand);
    } else {
        judge_connected(at_hand);
    }
}

// Answered READs and atomics are no longer outstanding (REQ-27).
void note_finished(const Case& at_hand) {
    std::uint32_t& open = at_hand.notes->open_reads;
    for (const flow::Message& message : at_hand.tracker.finished()) {
        const bool counted = message.info().operation == wire::Operation::RdmaReadRequest ||
                             message.info().headers.has(wire::Header::AtomicEth);
        if (counted && open > 0) --open;
    }
}

// Who sends a packet is alive, and whoever it goes to may be late. READ responses may still leave a
// QP that has ended (STA-07).
void Judge::Court::judge_debtors(const Case& at_hand) {
    const bool data = at_hand.packet.info().operation == wire::Operation::RdmaReadResponse;
    for (const std::uint8_t end : {at_hand.seen.from, std::uint8_t(1 - at_hand.seen.from)}) {
        const bool alive = end == at_hand.seen.from && !data;
        judge_debts_of(end, at_hand.packet, at_hand.seen, alive ? Sign::Alive : Sign::None);
    }
}

// What an end of a connection has not done by the time of this packet: as a responder, and as a
// requester.
void Judge::Court::judge_debts_of(std::uint8_t end, const flow::Packet& packet,
                                  flow::Classified seen, Sign sign) {
    seen.from = end;
    for (const flow::Side side : {flow::Side::Responder, flow::Side::Requester}) {
        seen.side = side;
        Notes& owed = notes_of(*seen.connection, seen.asking());
        const Case debtor{.knowledge = knowledge,
                          .tracker = tracker,
                          .packet = packet,
                          .seen = seen,
                          .connection = &tracker.connection(*seen.connection),
                          .notes = &owed,
                          .path = &owed,
                          .docket = docket};
        if (side == flow::Side::Responder) {
            judge_duties(debtor, *packet.time, sign);
        } else {
            judge_timer(debtor, *packet.time, sign);
        }
    }
}

void Judge::Court::judge_connected(const Case& at_hand) {
    // What was owed before this packet: it may come too late.
    if (at_hand.packet.time && !knowledge.recorded_at.empty()) judge_debtors(at_hand);
    judge_in_role(at_hand);
    if (at_hand.seen.kind != flow::Class::Unpaired) note_duties(at_hand);
}

void Judge::Court::judge_in_role(const Case& at_hand) {
    if (at_hand.seen.kind != flow::Class::Unpaired) judge_path(at_hand);
    if (at_hand.seen.kind == flow::Class::Unpaired) {
        ++summary.unpaired;
        return;
    }
    if (at_hand.seen.kind == flow::Class::Forgotten) ++summary.beyond_history;
    if (at_hand.response()) {
        note_finished(at_hand);
        judge_acceptance(at_hand);
        judge_msn(at_hand);
        judge_read_response(at_hand);
        judge_atomic_response(at_hand);
        judge_acknowledge(at_hand);
        note_told(at_hand);
        judge_arrivals(at_hand);
    } else {
        judge_recovery(at_hand);
        judge_waiting(at_hand);
        judge_read_retry(at_hand);
        note_defects(at_hand);
        judge_request(at_hand);
        judge_arrivals(at_hand);
    }
}

Judge::Judge(Knowledge knowledge, Limits limits)
    : court_(std::make_unique<Court>(std::move(knowledge), limits)) {}
Judge::~Judge() = default;
Judge::Judge(Judge&&) noexcept = default;
Judge& Judge::operator=(Judge&&) noexcept = default;

void Judge::observe(std::span<const decode::Dissection> frames) {
    while (!frames.empty()) {
        const std::size_t count = std::min(frames.size(), kTogether);
        court_->judge_together(frames.first(count));
        frames = frames.subspan(count);
    }
}

void Judge::observe(const flow::Packet& packet) {
    court_->judge(packet, nullptr);
}

// At the end: who still owes something, and for how long.
void Judge::Court::call_in_debts() {
    if (knowledge.recorded_at.empty() || !last_time) return;
    for (const std::uint32_t index : tracker.connections()) {
        const flow::Connection& connection = tracker.connection(index);
        for (std::uint8_t end = 0; end < 2; ++end) {
            // As if this end sent something now.
            flow::Packet packet;
            packet.time = last_time;
            packet.source = connection.ends[end].address;
            packet.destination = connection.ends[1 - end].address;
            packet.integrity = flow::Integrity::Good;
            flow::Classified seen;
            seen.connection = index;
            judge_debts_of(end, packet, seen, Sign::Last);
        }
    }
}

void Judge::finish(std::optional<wire::Instant> end) {
    if (end && court_->last_time && *end > *court_->last_time) court_->last_time = end;
    if (!court_->finished) court_->call_in_debts();
    court_->finished = true;
}

std::span<const Violation> Judge::violations() const {
    return court_->docket.violations();
}

Summary Judge::summary() const {
    Summary summary = court_->summary;
    court_->docket.count_into(summary);
    summary.evicted = court_->tracker.evicted();
    for (const std::uint32_t index : court_->tracker.connections()) {
        ++summary.connections;
        for (const flow::End& end : court_->tracker.connection(index).ends)
            summary.lost_by_capture += end.stream.counters().lost_by_capture;
    }
    return summary;
}

const flow::Tracker& Judge::tracker() const {
    return court_->tracker;
}

} // namespace veriroce::judge
