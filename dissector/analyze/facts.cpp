#include "dissector/analyze/facts.hpp"

#include <numeric>

namespace veriroce::analyze {

MessageKind kind_of(wire::Operation operation) {
    switch (operation) {
    case wire::Operation::Send: return MessageKind::Send;
    case wire::Operation::RdmaWrite: return MessageKind::Write;
    case wire::Operation::RdmaReadRequest: return MessageKind::Read;
    case wire::Operation::CompareSwap: return MessageKind::CompareSwap;
    case wire::Operation::FetchAdd: return MessageKind::FetchAdd;
    case wire::Operation::Flush: return MessageKind::Flush;
    case wire::Operation::AtomicWrite: return MessageKind::AtomicWrite;
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::Acknowledge:
    case wire::Operation::AtomicAcknowledge:
    case wire::Operation::Resync:
    case wire::Operation::Cnp:
    case wire::Operation::Reserved: return MessageKind::Other;
    }
    return MessageKind::Other;
}

std::string_view name_of(MessageKind kind) {
    switch (kind) {
    case MessageKind::Send: return "SEND";
    case MessageKind::Write: return "WRITE";
    case MessageKind::Read: return "READ";
    case MessageKind::CompareSwap: return "COMPARE_SWAP";
    case MessageKind::FetchAdd: return "FETCH_ADD";
    case MessageKind::Flush: return "FLUSH";
    case MessageKind::AtomicWrite: return "ATOMIC_WRITE";
    case MessageKind::Other: return "OTHER";
    }
    return {};
}

std::string_view name_of(EpisodeKind kind) {
    switch (kind) {
    case EpisodeKind::SequenceNak: return "sequence-nak";
    case EpisodeKind::RnrNak: return "rnr-nak";
    case EpisodeKind::ImpliedNak: return "implied-nak";
    case EpisodeKind::Timeout: return "timeout";
    case EpisodeKind::FatalNak: return "fatal-nak";
    }
    return {};
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::Unclear: return "unclear";
    case Verdict::Damaged: return "damaged";
    case Verdict::Lost: return "lost";
    case Verdict::Overtaken: return "overtaken";
    case Verdict::Behind: return "behind";
    }
    return {};
}

std::string_view name_of(Doing doing) {
    switch (doing) {
    case Doing::Idle: return "idle";
    case Doing::Sending: return "sending";
    case Doing::Waiting: return "waiting";
    case Doing::RnrWait: return "rnr-wait";
    case Doing::Reacting: return "reacting";
    case Doing::Resending: return "resending";
    case Doing::Timeout: return "timeout";
    }
    return {};
}

std::uint64_t Direction::all_resent() const {
    return std::accumulate(resent.begin(), resent.end(), std::uint64_t{0});
}

double Direction::resent_part() const {
    if (request_packets == 0) return 0;
    return static_cast<double>(all_resent()) / static_cast<double>(request_packets);
}

std::uint64_t Direction::finished_messages() const {
    std::uint64_t sum = 0;
    for (const auto& counts : messages)
        sum += counts ? counts->messages : 0;
    return sum;
}

std::uint64_t Direction::finished_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& counts : messages)
        sum += counts ? counts->bytes : 0;
    return sum;
}

std::optional<double> Direction::goodput() const {
    if (!first_time || !last_time || *last_time <= *first_time) return std::nullopt;
    const std::chrono::duration<double> time = *last_time - *first_time;
    return static_cast<double>(finished_bytes()) / time.count();
}

std::uint64_t Direction::all_missed() const {
    return std::accumulate(requests_missed.begin(), requests_missed.end(), std::uint64_t{0}) +
           std::accumulate(responses_missed.begin(), responses_missed.end(), std::uint64_t{0});
}

wire::Duration Direction::time_lost() const {
    wire::Duration lost{0};
    for (const Doing doing : {Doing::RnrWait, Doing::Reacting, Doing::Resending, Doing::Timeout})
        lost += spent[static_cast<std::size_t>(doing)].sum;
    return lost;
}

void Totals::add(const Totals& other) {
    frames += other.frames;
    packets += other.packets;
    payload_bytes += other.payload_bytes;
    damaged += other.damaged;
    datagrams += other.datagrams;
    notifications += other.notifications;
    incomplete += other.incomplete;
    fragmented += other.fragmented;
    later_fragments += other.later_fragments;
    other_transport += other.other_transport;
    pauses += other.pauses;
    priority_pauses += other.priority_pauses;
    conversations_not_kept += other.conversations_not_kept;
    evicted += other.evicted;
    if (other.begin) note_time(*other.begin);
    if (other.end) note_time(*other.end);
    refusals.insert(refusals.end(), other.refusals.begin(), other.refusals.end());
}

} // namespace veriroce::analyze
