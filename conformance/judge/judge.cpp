#include "conformance/judge/judge.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "conformance/judge/context.hpp"
#include "conformance/judge/violation_log.hpp"
#include "dissector/flow/arena.hpp"
#include "dissector/wire/fetch.hpp"

namespace veriroce::judge {
namespace {

bool contains(const std::vector<wire::IpAddress>& addresses, const wire::IpAddress& address) {
    return std::ranges::find(addresses, address) != addresses.end();
}

std::string text_of_end(const flow::End& end) {
    if (!end.qpn) return end.address.text() + " QP ?";
    return phrase({end.address.text(), " QP ", Hex{end.qpn->value}});
}

Excuses left_over(Excuses excuses, const Context& context) {
    const Assumptions& assumptions = context.assumptions;
    const bool at_sender = context.recorded_at(context.packet.source);
    if (assumptions.complete) excuses = excuses.without(Excuse::CaptureLoss);
    if (assumptions.ordered || at_sender) {
        excuses = excuses.without(Excuse::NetworkOrder).without(Excuse::NetworkCopy);
    }
    if (at_sender) {
        excuses = excuses.without(Excuse::InFlight)
                      .without(Excuse::Rewritten)
                      .without(Excuse::NetworkLoss);
    }
    if (at_sender || context.packet.undamaged()) {
        excuses = excuses.without(Excuse::Damage);
    }
    if (context.connection == nullptr) return excuses;
    const flow::Connection& connection = *context.connection;
    const auto open = [](const flow::End& end) { return end.attributes.stays_open; };
    if (std::ranges::all_of(connection.ends, open)) excuses = excuses.without(Excuse::Closed);
    if (context.stream().begin_known()) excuses = excuses.without(Excuse::Beginning);
    // A pair that was found by its PSNs stays a guess: of thousands of QPs that begin alike, some
    // pairs are none, however many responses fit.
    if (connection.pairing == flow::Pairing::Known) {
        return excuses.without(Excuse::NewLife)
            .without(Excuse::Reconnect)
            .without(Excuse::WrongPair);
    }
    if (!context.stream().maybe_restarted()) excuses = excuses.without(Excuse::NewLife);
    return excuses;
}

} // namespace

bool Context::recorded_at(const wire::IpAddress& address) const {
    return contains(assumptions.recorded_at, address);
}

bool Context::out_of_order(const wire::IpAddress& address) const {
    return contains(assumptions.out_of_order, address);
}

void Context::report(std::string_view rule, Excuses excuses, Evidence evidence, Values values,
                     std::optional<rules::Level> level) const {
    add(packet.source, rule, excuses, evidence, std::move(values), level);
}

void Context::report_of(const flow::End& device, std::string_view rule, Excuses excuses,
                        Evidence evidence, Values values) const {
    add(device.address, rule, excuses, evidence, std::move(values), std::nullopt);
}

void Context::add(const wire::IpAddress& device, std::string_view rule, Excuses excuses,
                  Evidence evidence, Values values, std::optional<rules::Level> level) const {
    if (contains(assumptions.not_judged, device)) return;
    Violation violation;
    violation.device = device;
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
    violation.measured = std::move(values.measured);
    violation.allowed = std::move(values.allowed);
    log.add(std::move(violation), packet.number);
}

struct Judge::State {
    State(Assumptions known, const Limits& limits)
        : assumptions(std::move(known)), tracker(limits.flow), log(limits) {
        for (const wire::IpAddress& address : assumptions.memory_at_rest)
            writes.push_back({address, {}});
        for (const auto& [address, interval] : assumptions.notification_points)
            notifiers.push_back({.address = address, .interval = interval});
        for (const auto& ends : assumptions.connections)
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

    void note_writes(const flow::Packet& packet, Context& context);
    void count(const decode::Dissection& frame, bool judged);
    void observe(const decode::Dissection& frame, const flow::FramePacket& packet);
    void judge_gathered();
    void judge(const flow::Packet& packet, const decode::Dissection* frame);
    void judge_connected(const Context& context);
    void judge_pending(const Context& context);
    void judge_pending_of(std::uint8_t end, const flow::Packet& packet, flow::Classified seen,
                          Sign sign);
    void judge_in_role(const Context& context);
    void judge_pending_at_end();
    void judge_unanswered_at_end();
    void judge_unanswered_by(std::uint32_t index, std::uint8_t from);

    Assumptions assumptions;
    flow::Tracker tracker;
    ViolationLog log;
    flow::Arena arena;
    std::pmr::deque<Notes> notes{arena.for_ever()}; // of both ends of each connection
    // Packets that are judged together.
    struct Gathered {
        const flow::Packet* packet = nullptr;
        const decode::Dissection* frame = nullptr;
        std::optional<flow::Tracker::Ahead> fetched;
    };
    std::array<Gathered, kTogether> gathered{};
    std::size_t gathered_count = 0;
    std::array<flow::FramePacket, kTogether> together;
    Summary summary;
    LastTimes times;
    std::deque<Repeatable> messages; // of CM
    std::vector<Notifier> notifiers;
    std::vector<std::pair<wire::IpAddress, Writes>> writes; // of each whose memory is at rest
    bool finished = false;
};

// Whatever brings payload or an atomic may write, whatever becomes of it.
void Judge::State::note_writes(const flow::Packet& packet, Context& context) {
    const wire::OpcodeInfo& info = packet.info();
    const bool may_write = info.request() && (info.carries_payload() || info.reserved() ||
                                              info.headers.has(wire::Header::AtomicEth));
    for (auto& [address, latest] : writes) {
        if (may_write && address == packet.destination) {
            latest = {.number = packet.number,
                      .connection = context.connection != nullptr ? context.connection->id : 0,
                      .time = packet.time};
        }
        if (address == packet.source) context.writes = latest;
    }
}

void Judge::State::count(const decode::Dissection& frame, bool judged) {
    ++summary.frames;
    if (frame.frame.time_ns) {
        const wire::Instant time{wire::Duration(*frame.frame.time_ns)};
        times.frame = std::max(times.frame.value_or(time), time);
    }
    if (judged) {
        if (frame.findings.empty()) return;
        const auto left = [&frame](const decode::Finding& finding) {
            return finding.kind == decode::FindingKind::IpChecksumLeft && frame.is_own(finding);
        };
        if (std::ranges::any_of(frame.findings.all(), left)) ++summary.checksum_left;
    } else if (frame.not_followed.stop == decode::Stop::LaterFragment) {
        ++summary.later_fragments;
    } else if (frame.roce()) {
        ++(frame.fragment ? summary.fragmented : summary.incomplete);
    } else if (frame.transport_packet()) {
        ++summary.other_transport;
    } else if (frame.layers.has(decode::LayerKind::Unsupported)) {
        ++summary.unsupported;
        summary.unsupported_link = frame.frame.link_code;
    }
}

void Judge::State::observe(const decode::Dissection& frame, const flow::FramePacket& packet) {
    count(frame, packet.there);
    if (!packet.there) return;
    tracker.fetch_path(packet.packet);
    gathered[gathered_count++] = {&packet.packet, &frame, std::nullopt};
    if (gathered_count == kTogether) judge_gathered();
}

// What several packets need is fetched for all of them at once.
void Judge::State::judge_gathered() {
    const auto some = std::span(gathered).first(std::exchange(gathered_count, 0));
    for (Gathered& one : some) {
        one.fetched = tracker.fetch_connection(*one.packet);
        if (one.fetched) fetch_notes(*one.fetched);
    }
    for (const Gathered& one : some) {
        if (one.fetched) tracker.fetch_history(*one.packet, *one.fetched);
    }
    for (const Gathered& one : some)
        judge(*one.packet, one.frame);
}

void Judge::State::judge(const flow::Packet& packet, const decode::Dissection* frame) {
    assert(!finished);
    ++summary.packets;
    if (packet.time) {
        times.packet = packet.time;
        times.number = packet.number;
    }
    if (packet.time && frame == nullptr) { // of a frame it is noted already
        times.frame = std::max(times.frame.value_or(*packet.time), *packet.time);
    }
    const flow::Classified seen = tracker.feed(packet);
    Context context{
        .assumptions = assumptions, .tracker = tracker, .packet = packet, .seen = seen, .log = log};
    if (seen.connection) {
        context.connection = &tracker.connection(*seen.connection);
        context.notes = &notes_of(*seen.connection, seen.asking());
        context.path = &notes_of(*seen.connection, seen.from);
    }
    if (!writes.empty()) note_writes(packet, context);
    if (frame != nullptr) judge_frame(*frame, context);
    const bool bad = packet.integrity == flow::Integrity::Bad;
    const bool contradicts = frame != nullptr && frame->icrc.status != decode::IcrcStatus::Bad;
    if (bad) ++(contradicts ? summary.contradictory : summary.damaged);
    const bool dropped = bad || seen.kind == flow::Class::Damaged;
    if (!dropped) {
        judge_packet(context);
        judge_management(context, messages);
        for (Notifier& notifier : notifiers)
            judge_congestion(context, notifier);
    }
    if (!seen.connection) return;
    if (dropped || seen.kind == flow::Class::Outside) {
        note_without_effect(context);
    } else {
        judge_connected(context);
    }
}

// Answered READs and atomics are no longer outstanding (REQ-27).
void note_finished(const Context& context) {
    std::uint32_t& open = context.notes->open_reads;
    for (const flow::Message& message : context.tracker.finished()) {
        const bool counted = message.info().operation == wire::Operation::RdmaReadRequest ||
                             message.info().headers.has(wire::Header::AtomicEth);
        if (counted && open > 0) --open;
    }
}

// Who sends a packet is alive, and whoever it goes to may be late. READ responses may still leave a
// QP that has ended (STA-07).
void Judge::State::judge_pending(const Context& context) {
    const bool data = context.packet.info().operation == wire::Operation::RdmaReadResponse;
    for (const std::uint8_t end : {context.seen.from, std::uint8_t(1 - context.seen.from)}) {
        const bool alive = end == context.seen.from && !data;
        judge_pending_of(end, context.packet, context.seen, alive ? Sign::Alive : Sign::None);
    }
}

// What an end of a connection has not done by the time of this packet: as a responder, and as a
// requester.
void Judge::State::judge_pending_of(std::uint8_t end, const flow::Packet& packet,
                                    flow::Classified seen, Sign sign) {
    seen.from = end;
    for (const flow::Role role : {flow::Role::Responder, flow::Role::Requester}) {
        seen.role = role;
        Notes& waiting = notes_of(*seen.connection, seen.asking());
        const Context waiting_end{.assumptions = assumptions,
                                  .tracker = tracker,
                                  .packet = packet,
                                  .seen = seen,
                                  .connection = &tracker.connection(*seen.connection),
                                  .notes = &waiting,
                                  .path = &waiting,
                                  .log = log};
        if (role == flow::Role::Responder) {
            judge_silence(waiting_end, *packet.time, sign);
        } else {
            judge_timer(waiting_end, *packet.time, sign);
        }
    }
}

void Judge::State::judge_connected(const Context& context) {
    // What was pending before this packet: it may come too late.
    if (context.packet.time && !assumptions.recorded_at.empty()) judge_pending(context);
    judge_in_role(context);
    if (context.seen.kind == flow::Class::Unpaired) return;
    note_pending(context);
    note_unanswered(context);
}

void Judge::State::judge_in_role(const Context& context) {
    if (context.seen.kind != flow::Class::Unpaired) judge_path(context);
    if (context.seen.kind == flow::Class::Unpaired) {
        ++summary.unpaired;
        return;
    }
    if (context.seen.kind == flow::Class::Forgotten) ++summary.beyond_history;
    if (context.response()) {
        note_finished(context);
        judge_acceptance(context);
        judge_msn(context);
        judge_read_response(context);
        judge_atomic_response(context);
        judge_acknowledge(context);
        note_told(context);
        judge_arrivals(context);
    } else {
        judge_recovery(context);
        judge_waiting(context);
        judge_read_retry(context);
        note_defects(context);
        judge_request(context);
        judge_arrivals(context);
    }
}

void Summary::add(const Summary& other) {
    packets += other.packets;
    connections += other.connections;
    evicted += other.evicted;
    damaged += other.damaged;
    contradictory += other.contradictory;
    checksum_left += other.checksum_left;
    unpaired += other.unpaired;
    beyond_history += other.beyond_history;
    lost_by_capture += other.lost_by_capture;
    certain += other.certain;
    possible += other.possible;
    undecidable += other.undecidable;
    frames += other.frames;
    incomplete += other.incomplete;
    fragmented += other.fragmented;
    later_fragments += other.later_fragments;
    other_transport += other.other_transport;
    unsupported += other.unsupported;
    if (other.unsupported > 0) unsupported_link = other.unsupported_link;
}

Judge::Judge(Assumptions assumptions, Limits limits)
    : state_(std::make_unique<State>(std::move(assumptions), limits)) {}
Judge::~Judge() = default;
Judge::Judge(Judge&&) noexcept = default;
Judge& Judge::operator=(Judge&&) noexcept = default;

void Judge::observe(std::span<const decode::Dissection> frames) {
    State& state = *state_;
    while (!frames.empty()) {
        const std::size_t count = std::min(frames.size(), kTogether);
        flow::read_packets(frames.first(count), state.together);
        for (std::size_t i = 0; i < count; ++i)
            state.observe(frames[i], state.together[i]);
        state.judge_gathered();
        frames = frames.subspan(count);
    }
}

void Judge::observe(std::span<const decode::Dissection> frames,
                    std::span<const flow::FramePacket> packets) {
    for (std::size_t i = 0; i < frames.size(); ++i)
        state_->observe(frames[i], packets[i]);
    state_->judge_gathered();
}

void Judge::observe(std::span<const decode::Dissection> frames, const flow::DividedPackets& packets,
                    std::size_t share) {
    const auto all = packets.packets();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (packets.share(i) == share) state_->observe(frames[i], all[i]);
    }
    state_->judge_gathered();
}

void Judge::observe(const flow::Packet& packet) {
    state_->judge(packet, nullptr);
}

// At the end: which answers are still pending, and for how long.
void Judge::State::judge_pending_at_end() {
    if (assumptions.recorded_at.empty() || !times.packet) return;
    for (const std::uint32_t index : tracker.connections()) {
        const flow::Connection& connection = tracker.connection(index);
        log.at_end(1, connection.last_number);
        for (std::uint8_t end = 0; end < 2; ++end) {
            // As if this end sent something now.
            flow::Packet packet;
            packet.time = times.packet;
            packet.source = connection.ends[end].address;
            packet.destination = connection.ends[1 - end].address;
            packet.integrity = flow::Integrity::Good;
            flow::Classified seen;
            seen.connection = index;
            judge_pending_of(end, packet, seen, Sign::Last);
        }
    }
}

namespace {

using AddressPair = std::pair<wire::IpAddress, wire::IpAddress>;

AddressPair addresses_of(const flow::Connection& connection) {
    return std::minmax(
        connection.ends[0].address, connection.ends[1].address,
        [](const wire::IpAddress& a, const wire::IpAddress& b) { return a.bytes < b.bytes; });
}

} // namespace

void Judge::State::judge_unanswered_at_end() {
    if (!assumptions.longest_silence || !times.frame) return;
    // Responses that could not be paired may be the answers.
    std::vector<AddressPair> unpaired;
    for (const std::uint32_t index : tracker.connections()) {
        const flow::Connection& connection = tracker.connection(index);
        if (connection.unpaired_responses == 0) continue;
        const AddressPair addresses = addresses_of(connection);
        if (std::ranges::find(unpaired, addresses) == unpaired.end()) unpaired.push_back(addresses);
    }
    for (const std::uint32_t index : tracker.connections()) {
        const flow::Connection& connection = tracker.connection(index);
        if (connection.pairing == flow::Pairing::None &&
            std::ranges::find(unpaired, addresses_of(connection)) != unpaired.end()) {
            continue;
        }
        log.at_end(2, connection.last_number);
        for (std::uint8_t from = 0; from < 2; ++from)
            judge_unanswered_by(index, from);
    }
}

// As if this end sent something at the end of the capture.
void Judge::State::judge_unanswered_by(std::uint32_t index, std::uint8_t from) {
    const auto to = static_cast<std::uint8_t>(1 - from);
    Notes& asking = notes_of(index, to);
    if (!asking.unanswered) return;
    const flow::Connection& connection = tracker.connection(index);
    flow::Packet packet;
    packet.time = times.frame;
    packet.source = connection.ends[from].address;
    packet.destination = connection.ends[to].address;
    packet.integrity = flow::Integrity::Good;
    const flow::Classified seen{.connection = index, .from = from, .role = flow::Role::Responder};
    const Context context{.assumptions = assumptions,
                          .tracker = tracker,
                          .packet = packet,
                          .seen = seen,
                          .connection = &connection,
                          .notes = &asking,
                          .path = &asking,
                          .log = log};
    judge_unanswered(context, notes_of(index, from), *times.frame);
}

void Judge::finish(std::optional<wire::Instant> end) {
    LastTimes times = state_->times;
    if (end && times.packet && *end > *times.packet) times.packet = end;
    if (end) times.frame = std::max(times.frame.value_or(*end), *end);
    finish(times);
}

void Judge::finish(const LastTimes& times) {
    State& state = *state_;
    state.times = times;
    if (!state.finished) {
        state.judge_pending_at_end();
        state.judge_unanswered_at_end();
    }
    state.finished = true;
}

const LastTimes& Judge::last_times() const {
    return state_->times;
}

std::span<const Violation> Judge::violations() const {
    return state_->log.violations();
}

std::span<const FoundAt> Judge::found_at() const {
    return state_->log.found_at();
}

Summary Judge::summary() const {
    Summary summary = state_->summary;
    state_->log.count_into(summary);
    summary.evicted = state_->tracker.evicted();
    for (const std::uint32_t index : state_->tracker.connections()) {
        ++summary.connections;
        for (const flow::End& end : state_->tracker.connection(index).ends)
            summary.lost_by_capture += end.stream.counters().lost_by_capture;
    }
    return summary;
}

const flow::Tracker& Judge::tracker() const {
    return state_->tracker;
}

} // namespace veriroce::judge
