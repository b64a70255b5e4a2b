#include "dissector/flow/follower.hpp"

namespace veriroce::flow {
namespace {

// No network delays one copy of a packet longer than this against another copy or against its
// neighbours. What comes later, its sender sent again, although the capture does not show why.
constexpr auto kLongestDetour = std::chrono::milliseconds(1);

std::string_view pairing_text(Pairing pairing) {
    switch (pairing) {
    case Pairing::None: return {};
    case Pairing::Inferred: return "PSNs";
    case Pairing::Known: return "CM";
    }
    return {};
}

std::string_view role_text(Role role) {
    switch (role) {
    case Role::None: return {};
    case Role::Requester: return "requester";
    case Role::Responder: return "responder";
    }
    return {};
}

std::optional<std::int64_t> since(Moment from, std::optional<wire::Instant> to) {
    if (!from || !to) return std::nullopt;
    return (*to - *from).count();
}

bool is_nak(const Packet& packet) {
    return packet.transport.headers.has(wire::Header::Aeth) &&
           packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
}

// A sequence NAK names a packet that its sender lacks: no request that it answers.
bool sequence_nak(const Packet& packet) {
    return is_nak(packet) &&
           packet.transport.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
}

} // namespace

const decode::FlowFacts* Follower::follow(const Packet& packet) {
    const Classified seen = tracker_.feed(packet);
    index_ = seen.connection;
    if (!index_) return nullptr;
    facts_ = {};
    describe(packet, seen);
    return &facts_;
}

void Follower::follow(decode::Dissection& dissection) {
    index_.reset();
    Packet packet;
    if (!read_packet(dissection, packet)) return;
    dissection.flow = follow(packet);
    if (dissection.flow == nullptr) return;
    if (dissection.layers.size() == decode::Layers::kCapacity) return;
    dissection.layers.push(decode::LayerKind::Flow,
                           static_cast<std::uint32_t>(dissection.frame.bytes.size()), 0);
}

void Follower::describe(const Packet& packet, const Classified& seen) {
    const Connection& connection = tracker_.connection(*seen.connection);
    facts_.connection = connection.id;
    facts_.pairing = pairing_text(connection.pairing);
    if (const auto qpn = connection.ends[seen.from].qpn) facts_.source_qp = qpn->value;
    facts_.role = role_text(seen.role);
    facts_.kind = name_of(seen.kind);
    facts_.message = seen.message;
    switch (seen.role) {
    case Role::None: break;
    case Role::Requester: describe_request(packet, seen); break;
    case Role::Responder: describe_response(packet, seen); break;
    }
}

void Follower::describe_request(const Packet& packet, const Classified& seen) {
    const auto soon = [&](std::optional<wire::Instant> before) {
        return !before || !packet.time || *packet.time - *before < kLongestDetour;
    };
    const bool copy = seen.kind == Class::Duplicate;
    const bool filler = seen.kind == Class::Reordered;
    facts_.duplicate = copy && soon(seen.previous);
    facts_.behind = seen.before_first;
    if (seen.before_first) {
        // Either it was sent before the capture began, or later than a packet that overtook it.
        facts_.kind = "behind";
    } else {
        facts_.reordered = filler && soon(seen.overtaken);
        facts_.retransmission = seen.kind == Class::Retransmission || (copy && !facts_.duplicate) ||
                                (filler && !facts_.reordered);
        facts_.cause = name_of(seen.cause);
    }
    if (facts_.retransmission) facts_.kind = name_of(Class::Retransmission);
    facts_.again_of = seen.previous_number;
    if (seen.previous) facts_.again_after_ns = since(Moment(seen.previous), packet.time);
    facts_.changed = seen.changed;
    // More than that is a QP connected anew, or a long hole of the capture: no loss.
    (seen.skipped > kWideGap ? facts_.jump : facts_.gap) = seen.skipped;
    facts_.gap_at_most = seen.skipped_at_most;
    facts_.gap_damaged = seen.damaged_skipped;
}

void Follower::describe_response(const Packet& packet, const Classified& seen) {
    if (seen.kind == Class::Unpaired) return;
    const Answered& answered = tracker_.answered();
    facts_.response_to = answered.request;
    facts_.damaged = answered.damaged;
    facts_.to_earlier_copy = answered.read == ReadAnswer::OfCopies;
    if (answered.sent_once && seen.kind == Class::New && !sequence_nak(packet)) {
        facts_.latency_ns = since(answered.asked, packet.time);
    }
    facts_.acks_first = answered.first;
    facts_.acks_last = answered.last;
    facts_.acks_unseen = answered.unseen;
    facts_.response_gap = answered.skipped;
    facts_.unanswered = answered.unanswered;
    if (seen.kind == Class::Duplicate) describe_repetition(packet, answered);
    for (const Message& message : tracker_.finished()) {
        ++facts_.completes;
        facts_.completed_bytes += message.bytes;
        facts_.completion_ns = message.begun ? since(message.start, packet.time) : std::nullopt;
    }
}

// It is behind what had been acknowledged.
void Follower::describe_repetition(const Packet& packet, const Answered& answered) {
    if (answered.request == 0) {
        // What it answers was sent before the history begins: nothing was answered twice.
        facts_.kind = name_of(Class::Forgotten);
        return;
    }
    if (packet.info().operation == wire::Operation::Acknowledge) {
        facts_.nothing_new = true;
        facts_.kind = "nothing-new";
        return;
    }
    switch (answered.read) {
    case ReadAnswer::Next:
    case ReadAnswer::OfCopies: facts_.kind = name_of(Class::New); break;
    case ReadAnswer::Late:
        facts_.perhaps_late = true;
        facts_.kind = "late";
        break;
    case ReadAnswer::None:
    case ReadAnswer::Repeated: facts_.duplicate = true; break;
    }
}

} // namespace veriroce::flow
