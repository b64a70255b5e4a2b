#include "conformance/model/answered.hpp"

#include <algorithm>

namespace veriroce::model {
namespace {

bool is_read(const SendWork& work) {
    return work.request.opcode == wire::WrOpcode::RdmaRead;
}

wire::Operation answer_of(const SendWork& work) {
    if (!work.asks_for_response()) return wire::Operation::Acknowledge;
    return work.asks_for_data() && !is_read(work) ? wire::Operation::AtomicAcknowledge
                                                  : wire::Operation::RdmaReadResponse;
}

} // namespace

std::uint64_t bytes_expected(const SendWork& work, std::int64_t psn, wire::Mtu mtu) {
    if (!is_read(work)) return kAtomicBytes;
    const std::uint64_t full = wire::bytes_of(mtu);
    return std::min(full, work.bytes - static_cast<std::uint64_t>(psn - work.first) * full);
}

void Answered::sent(const Qp& qp, const Packet& packet, std::int64_t psn) {
    const wire::Packet& request = *packet.packet;
    const bool read = request.info().operation == wire::Operation::RdmaReadRequest;
    on_wire_ = psn + (read ? wire::packets_of(request.reth.dma_length, qp.mtu()) : 1);
    if (read) asked_from_.insert(psn);
    last_sent_ = packet.at.latest;
}

// REQ-08, REQ-09: an answer behind it makes the QP ask for its own again, or give up.
void Answered::ask_again(const SendWork& work) {
    on_wire_ = std::min(on_wire_, std::max(end_, work.first));
}

// REQ-21, REQ-23, N-19
bool Answered::is_well_formed(const Qp& qp, const SendWork& work, const wire::Packet& answer,
                              std::int64_t psn) const {
    if (!work.asks_for_response()) return answer.body.empty();
    if (!work.asks_for_data()) return answer.payload().empty();
    if (!is_read(work)) return true;
    const bool first = asked_from_.contains(psn);
    const bool last = psn == work.last_psn();
    return answer.payload().size() == bytes_expected(work, psn, qp.mtu()) &&
           answer.info().starts_message() == first && answer.info().ends_message() == last;
}

void Answered::take(const Qp& qp, const Packet& packet, std::int64_t psn,
                    std::optional<wire::Duration> timer) {
    const wire::Packet& answer = *packet.packet;
    const bool has_aeth = answer.headers.has(wire::Header::Aeth);
    if (has_aeth && answer.aeth.syndrome.kind() != wire::AckKind::Ack) {
        on_wire_ = std::min(on_wire_, psn);
        return;
    }
    // After its last try it may have given up.
    const bool in_time = !timer || packet.at.latest - last_sent_ < *timer;
    if (psn < end_ || !in_time) return;
    std::size_t work = unanswered_;
    std::uint32_t messages = whole_answers_; // before the one that it answers
    for (; work < qp.sends.size() && qp.sends[work].first + qp.sends[work].packets <= psn; ++work) {
        if (qp.sends[work].asks_for_response()) return ask_again(qp.sends[work]);
        messages += qp.sends[work].packets > 0 ? 1 : 0;
    }
    if (work == qp.sends.size() || psn < qp.sends[work].first || psn >= on_wire_) return;
    const SendWork& named = qp.sends[work];
    if (answer.info().operation != answer_of(named)) return;
    if (named.asks_for_response() && psn != std::max(end_, named.first)) return ask_again(named);
    if (!is_well_formed(qp, named, answer, psn)) return;
    const bool read = named.asks_for_data() && is_read(named);
    const bool last = psn == named.last_psn();
    const auto counts = [&](std::uint32_t whole) {
        return answer.aeth.msn.value == (whole & wire::kMask24);
    };
    // ACK-07: any response of a READ may count it.
    if (has_aeth && !counts(last ? messages + 1 : messages) && !(read && counts(messages + 1)))
        return;
    end_ = psn + 1;
    asked_from_.erase(asked_from_.begin(), asked_from_.lower_bound(end_));
    at_ = packet.at.latest;
    unanswered_ = last ? work + 1 : work;
    whole_answers_ = last ? messages + 1 : messages;
}

} // namespace veriroce::model
