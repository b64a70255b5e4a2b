#include "dissector/analyze/analyzer.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <utility>

#include "dissector/analyze/direction_watch.hpp"
#include "dissector/analyze/set_ups.hpp"
#include "dissector/flow/arena.hpp"
#include "dissector/wire/fetch.hpp"

namespace veriroce::analyze {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::uint8_t kMarked = 3; // congestion experienced

struct Place {
    std::uint64_t tracked = 0; // id of the tracker's connection; 0: became part of another
    std::array<DirectionWatch, 2> watches;
    Conversation conversation;
};

} // namespace

void count_frame(const decode::Dissection& frame, Totals& totals) {
    ++totals.frames;
    if (frame.frame.time_ns) totals.note_time(wire::Instant(wire::Duration(*frame.frame.time_ns)));
    if (frame.not_followed.stop == decode::Stop::LaterFragment) {
        ++totals.later_fragments;
    } else if (frame.roce()) {
        ++(frame.fragment ? totals.fragmented : totals.incomplete);
    } else if (frame.transport_packet()) {
        ++totals.other_transport;
    } else {
        if (frame.layers.has(decode::LayerKind::Pause)) ++totals.pauses;
        if (frame.layers.has(decode::LayerKind::Pfc)) ++totals.priority_pauses;
    }
}

void Need::add(const Need& other) {
    flow.add(other.flow);
    conversations += other.conversations;
    open_set_ups += other.open_set_ups;
    set_ups += other.set_ups;
}

bool Need::within(const Options& options) const {
    return flow.within(options.flow) && conversations <= options.conversations &&
           open_set_ups <= SetUps::kMostOpen && set_ups <= SetUps::kMostKept;
}

struct Analyzer::State {
    explicit State(Options chosen) : options(chosen), tracker(chosen.flow) {}

    void begin() {
        messages.clear();
        named.clear();
    }
    void observe(const decode::Dissection& frame, const flow::FramePacket& packet);
    void gather(const flow::Packet& packet);
    void take_gathered();
    void take(const flow::Packet& packet);
    void outside(const flow::Packet& packet, const flow::Classified& seen);
    Place* place_of(std::uint32_t index);
    Place* new_place(std::uint32_t index, std::uint64_t number);
    void absorb(std::uint32_t gone, Place& into);
    void refresh(Place& place, const flow::Connection& connection, std::uint64_t number);
    void note_finished(Place& place, std::uint8_t requester);
    void fetch(const flow::Tracker::Ahead& ahead) const;
    void finish();

    Options options;
    flow::Arena arena;
    flow::Tracker tracker;
    SetUps set_ups;
    std::pmr::deque<Place> places{arena.for_ever()};
    std::vector<std::uint32_t> place_by_index; // of the tracker
    std::uint64_t last_id = 0;
    std::size_t traced = 0;
    std::array<flow::FramePacket, kTogether> together;
    std::array<const flow::Packet*, kTogether> gathered{};
    std::size_t gathered_count = 0;
    std::array<std::optional<flow::Tracker::Ahead>, kTogether> fetched;
    std::vector<FinishedMessage> messages;
    std::vector<std::uint64_t> named;
    Totals totals;
    bool finished = false;
};

void Analyzer::State::fetch(const flow::Tracker::Ahead& ahead) const {
    if (ahead.connection >= place_by_index.size()) return;
    const std::uint32_t at = place_by_index[ahead.connection];
    if (at == kNone) return;
    const Place& place = places[at];
    wire::fetch(place.watches[ahead.asking]);
    const Direction& facts = place.conversation.directions[ahead.asking];
    wire::fetch(&facts, &facts.requests_missed);
    wire::fetch(&facts.outstanding, &facts.timeouts);
}

// Frames that hold packets are not touched: another thread may have decoded them, and they would
// come from its cache.
void Analyzer::State::observe(const decode::Dissection& frame, const flow::FramePacket& packet) {
    if (packet.there) {
        gather(packet.packet);
    } else {
        count_frame(frame, totals);
    }
}

void Analyzer::State::gather(const flow::Packet& packet) {
    ++totals.frames;
    if (packet.time) totals.note_time(*packet.time);
    tracker.fetch_path(packet);
    gathered[gathered_count++] = &packet;
    if (gathered_count == kTogether) take_gathered();
}

// What several packets need is fetched for all of them at once.
void Analyzer::State::take_gathered() {
    const auto packets = std::span(gathered).first(std::exchange(gathered_count, 0));
    for (std::size_t i = 0; i < packets.size(); ++i) {
        fetched[i] = tracker.fetch_connection(*packets[i]);
        if (fetched[i]) fetch(*fetched[i]);
    }
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (fetched[i]) tracker.fetch_history(*packets[i], *fetched[i]);
    }
    for (const flow::Packet* const packet : packets)
        take(*packet);
}

void Analyzer::State::take(const flow::Packet& packet) {
    assert(!finished);
    ++totals.packets;
    totals.payload_bytes += packet.payload_bytes();
    const flow::Classified seen = tracker.feed(packet);
    if (seen.kind == flow::Class::Damaged || packet.integrity == flow::Integrity::Bad) {
        ++totals.damaged;
        if (!seen.connection || !packet.info().request()) return;
        if (Place* const place = place_of(*seen.connection)) {
            place->watches[seen.from].damaged(place->conversation.directions[seen.from], packet);
        }
        return;
    }
    if (seen.kind == flow::Class::Outside) return outside(packet, seen);
    Place* place = place_of(*seen.connection);
    if (place == nullptr) place = new_place(*seen.connection, packet.number);
    if (place == nullptr) return;
    if (seen.absorbed) absorb(*seen.absorbed, *place);
    Conversation& conversation = place->conversation;
    const flow::Connection& connection = tracker.connection(*seen.connection);
    if (conversation.pairing != connection.pairing) refresh(*place, connection, packet.number);
    conversation.service = connection.service;
    if (conversation.first_number == 0) {
        conversation.first_number = packet.number;
        conversation.first_time = packet.time;
    }
    conversation.last_number = packet.number;
    conversation.last_time = packet.time;
    if (packet.ecn == kMarked) ++conversation.ends[seen.from].congestion_marks;
    if (seen.kind == flow::Class::Unpaired) {
        ++conversation.unpaired_responses;
        return;
    }
    const std::uint8_t asking = seen.asking();
    const flow::Stream& stream = connection.ends[asking].stream;
    if (!conversation.mtu) conversation.mtu = stream.mtu();
    DirectionWatch& watch = place->watches[asking];
    if (seen.role == flow::Role::Responder) {
        watch.response(conversation, asking, packet, seen, stream);
        if (!tracker.finished().empty()) note_finished(*place, asking);
    } else {
        const bool known = connection.pairing != flow::Pairing::None ||
                           tracker.unpaired_beside(*seen.connection) == 0;
        watch.request(conversation, asking, packet, seen, stream, known);
    }
}

void Analyzer::State::outside(const flow::Packet& packet, const flow::Classified& seen) {
    if (packet.info().operation != wire::Operation::Cnp) {
        ++totals.datagrams;
        set_ups.note(packet);
        return;
    }
    ++totals.notifications;
    if (!seen.connection) return;
    if (Place* const place = place_of(*seen.connection)) {
        ++place->conversation.ends[seen.from].notifications;
        // It slows the requests of the end that it goes to.
        Direction& slowed = place->conversation.directions[1 - seen.from];
        if (slowed.trace && packet.time) {
            slowed.trace->mark(MarkKind::Cnp, *packet.time, packet.number);
        }
    }
}

Place* Analyzer::State::place_of(std::uint32_t index) {
    if (index >= place_by_index.size() || place_by_index[index] == kNone) return nullptr;
    Place& place = places[place_by_index[index]];
    return place.tracked == tracker.connection(index).id ? &place : nullptr;
}

Place* Analyzer::State::new_place(std::uint32_t index, std::uint64_t number) {
    if (index >= place_by_index.size()) place_by_index.resize(index + 1UL, kNone);
    place_by_index[index] = kNone;
    if (places.size() >= options.conversations) {
        ++totals.conversations_not_kept;
        return nullptr;
    }
    place_by_index[index] = static_cast<std::uint32_t>(places.size());
    const flow::Connection& connection = tracker.connection(index);
    Place& place = places.emplace_back();
    place.conversation.made_by = number;
    place.tracked = connection.id;
    if (traced < options.traces) {
        ++traced;
        for (Direction& direction : place.conversation.directions)
            direction.trace = std::make_unique<Trace>();
    }
    for (std::size_t end = 0; end < 2; ++end) {
        place.conversation.ends[end].address = connection.ends[end].address;
        place.conversation.ends[end].qpn = connection.ends[end].qpn;
    }
    return &place;
}

// The other direction of the connection was known by itself until now.
void Analyzer::State::absorb(std::uint32_t gone, Place& into) {
    if (gone >= place_by_index.size() || place_by_index[gone] == kNone) return;
    Place& from = places[place_by_index[gone]];
    place_by_index[gone] = kNone;
    if (&from == &into || from.tracked == 0) return;
    from.tracked = 0;
    Conversation& target = into.conversation;
    Conversation& source = from.conversation;
    // Each knew its receiver only: the sender of one is the receiver of the other.
    target.directions[1] = std::move(source.directions[0]);
    into.watches[1] = from.watches[0];
    target.unpaired_responses += source.unpaired_responses;
    target.ends[1].congestion_marks += source.ends[0].congestion_marks;
    target.ends[1].notifications += source.ends[0].notifications;
    target.ends[0].congestion_marks += source.ends[1].congestion_marks;
    target.ends[0].notifications += source.ends[1].notifications;
    if (source.first_number != 0 &&
        (target.first_number == 0 || source.first_number < target.first_number)) {
        target.first_number = source.first_number;
        target.first_time = source.first_time;
    }
    for (Episode& episode : source.episodes) {
        episode.requester = 1;
        target.episodes.push_back(episode);
    }
    target.more_episodes += source.more_episodes;
    into.watches[1].belong_to(1);
}

void Analyzer::State::refresh(Place& place, const flow::Connection& connection,
                              std::uint64_t number) {
    Conversation& conversation = place.conversation;
    conversation.pairing = connection.pairing;
    for (std::size_t end = 0; end < 2; ++end) {
        conversation.ends[end].address = connection.ends[end].address;
        conversation.ends[end].qpn = connection.ends[end].qpn;
    }
    if (conversation.id != 0) return;
    conversation.id = ++last_id;
    conversation.named_by = number;
    named.push_back(number);
}

void Analyzer::State::note_finished(Place& place, std::uint8_t requester) {
    Conversation& conversation = place.conversation;
    Direction& facts = conversation.directions[requester];
    for (const flow::Message& message : tracker.finished()) {
        auto& counts = facts.messages[static_cast<std::size_t>(kind_of(message.info().operation))];
        if (!counts) counts = std::make_unique<MessageCounts>();
        ++counts->messages;
        counts->bytes += message.bytes;
        counts->sizes.add(message.bytes);
        const auto latency = message.latency();
        if (message.begun && latency && *latency >= wire::Duration{0}) {
            counts->latencies.add(static_cast<std::uint64_t>(latency->count()));
        }
        if (options.messages) {
            messages.push_back({conversation.id, requester, message});
        }
    }
}

void Analyzer::State::finish() {
    assert(!finished);
    finished = true;
    std::vector<bool> alive(places.size());
    for (const std::uint32_t index : tracker.connections()) {
        const Place* const place = place_of(index);
        if (place != nullptr) alive[place_by_index[index]] = true;
    }
    for (std::size_t at = 0; at < places.size(); ++at) {
        Place& place = places[at];
        if (place.tracked == 0) continue;
        Conversation& conversation = place.conversation;
        if (conversation.id == 0) conversation.id = ++last_id;
        conversation.evicted = !alive[at];
        for (std::uint8_t requester = 0; requester < 2; ++requester)
            place.watches[requester].finish(conversation, requester);
        if (conversation.pairing != flow::Pairing::Known || !conversation.ends[1].qpn) continue;
        const Setup* const setup =
            set_ups.find({conversation.ends[0].address, conversation.ends[1].address,
                          conversation.ends[1].qpn->value});
        if (setup != nullptr) conversation.setup = *setup;
    }
    totals.evicted = tracker.evicted();
    totals.refusals = set_ups.refusals();
}

Analyzer::Analyzer(Options options) : state_(std::make_unique<State>(options)) {}
Analyzer::~Analyzer() = default;
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;

void Analyzer::observe(std::span<const decode::Dissection> frames) {
    State& state = *state_;
    state.begin();
    while (!frames.empty()) {
        const std::size_t count = std::min(frames.size(), kTogether);
        flow::read_packets(frames.first(count), state.together);
        for (std::size_t i = 0; i < count; ++i)
            state.observe(frames[i], state.together[i]);
        state.take_gathered();
        frames = frames.subspan(count);
    }
}

void Analyzer::observe(std::span<const decode::Dissection> frames,
                       std::span<const flow::FramePacket> packets) {
    state_->begin();
    for (std::size_t i = 0; i < frames.size(); ++i)
        state_->observe(frames[i], packets[i]);
    state_->take_gathered();
}

void Analyzer::observe(std::span<const flow::FramePacket> packets) {
    state_->begin();
    for (const flow::FramePacket& one : packets)
        state_->gather(one.packet);
    state_->take_gathered();
}

void Analyzer::observe(const flow::Packet& packet) {
    state_->begin();
    state_->gather(packet);
    state_->take_gathered();
}

void Analyzer::observe(std::span<const decode::Dissection> frames,
                       const flow::DividedPackets& packets, std::size_t share) {
    state_->begin();
    const auto all = packets.packets();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (packets.share(i) == share) state_->observe(frames[i], all[i]);
    }
    state_->take_gathered();
}

void Analyzer::finish() {
    state_->finish();
}

std::span<const FinishedMessage> Analyzer::messages() const {
    return state_->messages;
}

std::span<const std::uint64_t> Analyzer::named() const {
    return state_->named;
}

Need Analyzer::need() const {
    return {.flow = state_->tracker.need(),
            .conversations = state_->places.size(),
            .open_set_ups = state_->set_ups.most_open(),
            .set_ups = state_->set_ups.kept()};
}

bool Analyzer::limited() const {
    return state_->tracker.limited() || state_->totals.conversations_not_kept > 0 ||
           state_->set_ups.limited();
}

const Totals& Analyzer::totals() const {
    return state_->totals;
}

std::vector<const Conversation*> Analyzer::conversations() const {
    std::vector<const Conversation*> all;
    for (const Place& place : state_->places) {
        if (place.tracked != 0) all.push_back(&place.conversation);
    }
    return all;
}

std::vector<Conversation*> Analyzer::conversations() {
    std::vector<Conversation*> all;
    for (Place& place : state_->places) {
        if (place.tracked != 0) all.push_back(&place.conversation);
    }
    return all;
}

} // namespace veriroce::analyze
