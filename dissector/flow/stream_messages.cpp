// Messages: which packets form one, which responses answer it, and what is acknowledged.
#include "dissector/flow/stream.hpp"

#include <algorithm>

namespace veriroce::flow {
namespace {

constexpr std::size_t kFirstMessages = 4;

// FLUSH and ATOMIC WRITE are answered like a one-packet READ (EXT-02).
bool answered_by_data(const Extent& extent) {
    const wire::Operation operation = extent.info().operation;
    return !extent.missing &&
           (operation == wire::Operation::RdmaReadRequest || operation == wire::Operation::Flush ||
            operation == wire::Operation::AtomicWrite || extent.atomic());
}

} // namespace

// The message of the packet at `index`, or of the packet that is about to be appended there.
std::uint64_t Stream::join_message(const Packet& packet, Extent& extent, std::size_t index,
                                   Budget& budget) {
    std::uint64_t ordinal = 0;
    const bool follows = index > 0 && !extents_[index - 1].missing;
    if (!packet.info().starts_message() && follows && !extents_[index - 1].info().ends_message()) {
        ordinal = extents_[index - 1].message;
    }
    if (message_index(ordinal)) {
        extend_message(ordinal, packet, extent);
    } else {
        ordinal = new_message(packet, extent, budget);
    }
    extent.message = ordinal;
    // A gap was filled: the packets after it may belong to this message.
    const std::size_t behind = index + 1;
    if (!packet.info().ends_message() && behind < extents_.size() && !extents_[behind].missing &&
        !extents_[behind].info().starts_message() && extents_[behind].message != ordinal) {
        merge_messages(ordinal, extents_[behind].message, behind);
    }
    return ordinal;
}

std::uint64_t Stream::new_message(const Packet& packet, const Extent& extent, Budget& budget) {
    if (messages_.full()) {
        const bool grows = messages_.empty() ||
                           (!messages_.front().answered && messages_.capacity() < kMaxHistory);
        if (grows) {
            messages_.grow(kFirstMessages, budget.memory);
        } else {
            messages_.pop_front();
        }
    }
    Message message;
    message.ordinal = ++last_ordinal_;
    message.opcode = packet.transport.bth.opcode;
    message.begun = packet.info().starts_message();
    message.first = message.next_response = packet.psn();
    message.start_number = packet.number;
    message.start = packet.time;
    if (extent.read()) message.bytes = extent.length;
    messages_.push_back(message);
    extend_message(message.ordinal, packet, extent);
    return message.ordinal;
}

void Stream::extend_message(std::uint64_t ordinal, const Packet& packet, const Extent& extent) {
    Message& message = messages_[*message_index(ordinal)];
    message.bytes += extent.payload_bytes;
    message.ended = message.ended || packet.info().ends_message();
    message.last = extent.last_psn();
}

void Stream::merge_messages(std::uint64_t into, std::uint64_t from, std::size_t index) {
    const auto source = message_index(from);
    const auto target = message_index(into);
    if (!source || !target || messages_[*source].begun) return;
    messages_[*target].bytes += messages_[*source].bytes;
    messages_[*target].ended = messages_[*source].ended;
    messages_[*target].last = messages_[*source].last;
    messages_[*source].answered = true; // merged: no longer a message of its own
    for (std::size_t i = index; i < extents_.size() && extents_[i].message == from; ++i)
        extents_[i].message = into;
}

StreamResult Stream::response(const Packet& packet, std::vector<Message>& finished,
                              Answered& answered) {
    ++counters_.responses;
    StreamResult result{.kind = Class::Unsolicited};
    const wire::Psn psn = packet.psn();
    const bool read_data = packet.info().operation == wire::Operation::RdmaReadResponse;
    if (read_data && !mtu_ && !packet.info().ends_message()) learn_mtu_of(packet);
    const auto index = index_of(psn);
    if (!started_ || (!index && wire::distance(next_, psn) >= 0)) return result;
    result.kind = wire::distance(unacknowledged_, psn) >= 0 ? Class::New : Class::Duplicate;
    if (index) {
        const Extent& request = extents_[*index];
        result.message = request.message;
        answered.request = request.last_number; // 0 if it was not seen
        answered.sent_once = request.copies == 1;
        answered.asked = request.last_time;
        answered.damaged = request.missing && request.damaged;
    }
    const bool acknowledges = !packet.transport.headers.has(wire::Header::Aeth) ||
                              packet.transport.aeth.syndrome.kind() == wire::AckKind::Ack;
    if (acknowledges) {
        acknowledge_before(psn, packet, finished, answered);
        if (index && extents_[*index].atomic() &&
            packet.info().operation == wire::Operation::AtomicAcknowledge) {
            if (const auto at = message_index(extents_[*index].message)) {
                if (!messages_[*at].answered) result.kind = Class::New;
                finish(messages_[*at], packet, finished);
            }
        }
        if (index && read_data && !extents_[*index].missing) {
            if (read_response(packet, *index, finished, answered)) result.kind = Class::New;
        } else if (index) {
            acknowledge_before(psn + 1, packet, finished, answered);
        }
    } else {
        acknowledge_before(psn, packet, finished,
                           answered); // a NAK acknowledges everything before it
        const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
        if (syndrome.kind() == wire::AckKind::RnrNak) {
            ++counters_.rnr_naks;
            asked_ = {.psn = psn, .cause = Cause::RnrNak};
        } else if (syndrome.nak_code() == wire::NakCode::PsnSequence) {
            ++counters_.sequence_naks;
            asked_ = {.psn = psn, .cause = Cause::SequenceNak};
        } else {
            ++counters_.fatal_naks;
        }
        result.kind = Class::New;
    }
    any_answer_ = true;
    return result;
}

// Everything before this PSN has arrived. Messages that do not wait for response data are complete.
void Stream::acknowledge_before(wire::Psn psn, const Packet& packet, std::vector<Message>& finished,
                                Answered& answered) {
    const std::int32_t ahead = wire::distance(unacknowledged_, psn);
    if (ahead <= 0) return;
    const bool nak = asked_.cause == Cause::SequenceNak || asked_.cause == Cause::RnrNak;
    if (nak && wire::distance(asked_.psn, psn) > 0) asked_ = {};
    auto index = index_of(unacknowledged_);
    if (!index && !extents_.empty()) index = 0;
    for (std::size_t i = index.value_or(extents_.size()); i < extents_.size(); ++i) {
        Extent& extent = extents_[i];
        if (wire::distance(extent.last_psn(), psn) <= 0) break;
        if (extent.missing) {
            // One that came with a wrong ICRC is in the capture.
            const std::uint32_t seen = extent.damaged ? 1 : 0;
            if (!extent.lost_by_capture) {
                counters_.lost_by_capture += extent.span - seen;
                answered.unseen += extent.span - seen;
            }
            extent.lost_by_capture = true;
            continue;
        }
        if (answered_by_data(extent)) {
            // REQ-08: a response beyond an unanswered READ or atomic implies that it must be
            // retried.
            const auto at = message_index(extent.message);
            if (at && !messages_[*at].answered) {
                asked_ = {.psn = extent.psn, .cause = Cause::Implied};
                if (answered.unanswered == 0) answered.unanswered = extent.last_number;
            }
            continue;
        }
        const std::uint64_t number = extent.last_number;
        answered.first = answered.first == 0 ? number : std::min(answered.first, number);
        answered.last = std::max(answered.last, number);
        if (!extent.info().ends_message()) continue;
        if (const auto at = message_index(extent.message)) finish(messages_[*at], packet, finished);
    }
    unacknowledged_ = psn;
}

// Whether the response brings new data.
bool Stream::read_response(const Packet& packet, std::size_t index, std::vector<Message>& finished,
                           Answered& answered) {
    const Extent& extent = extents_[index];
    const auto at = message_index(extent.message);
    if (!at) {
        acknowledge_before(packet.psn() + 1, packet, finished, answered);
        return false;
    }
    Message& message = messages_[*at];
    answered.read = read_answer(message, packet.psn(), answered.skipped);
    const std::int32_t ahead = wire::distance(message.next_response, packet.psn());
    if (ahead >= 0) {
        message.lost_responses += static_cast<std::uint32_t>(ahead);
        message.next_response = packet.psn() + 1;
        if (ahead > 0) asked_ = {.psn = message.next_response, .cause = Cause::Implied};
    }
    if (packet.psn() == extent.last_psn()) finish(message, packet, finished);
    acknowledge_before(packet.psn() + 1, packet, finished, answered);
    return ahead >= 0;
}

ReadAnswer Stream::read_answer(Message& message, wire::Psn psn, std::uint32_t& skipped) {
    const bool back = message.any_response && wire::distance(message.last_response, psn) <= 0;
    const bool anew = message.retried && wire::distance(message.retried_from, psn) >= 0;
    if (back && !anew) {
        const bool seen = psn == message.last_response || !message.response_holes;
        return seen ? ReadAnswer::Repeated : ReadAnswer::Late;
    }
    const bool of_copies = message.retried && !back;
    wire::Psn expected = message.retried ? message.retried_from : message.first;
    if (message.any_response && !back) expected = message.last_response + 1;
    if (back) message.retried = message.response_holes = false;
    const std::int32_t ahead = wire::distance(expected, psn);
    if (ahead > 0) {
        skipped = static_cast<std::uint32_t>(ahead);
        message.response_holes = true;
    }
    message.last_response = psn;
    message.any_response = true;
    return of_copies ? ReadAnswer::OfCopies : ReadAnswer::Next;
}

void Stream::finish(Message& message, const Packet& packet, std::vector<Message>& finished) {
    if (message.answered) return;
    message.answered = true;
    const bool was_missed = wire::distance(message.first, asked_.psn) >= 0 &&
                            wire::distance(asked_.psn, message.last) >= 0;
    if (asked_.cause == Cause::Implied && was_missed) asked_ = {};
    message.answer = packet.time;
    message.answer_number = packet.number;
    ++counters_.messages;
    counters_.bytes += message.bytes;
    finished.push_back(message);
}

} // namespace veriroce::flow
