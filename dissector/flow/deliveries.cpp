#include "dissector/flow/deliveries.hpp"

#include "dissector/flow/digest.hpp"

namespace veriroce::flow {
namespace {

// The body counts as its digest, or as its length if it was truncated.
std::uint64_t identity_of(const Packet& packet) {
    std::uint64_t state = identity_of_headers(packet);
    if (packet.whole()) mix_into(state, digest_of_bytes(packet.transport.body));
    return state;
}

} // namespace

void Deliveries::sent(const Packet& packet) {
    by_digest_[identity_of(packet)].push_back(deliveries_.size());
    deliveries_.push_back({.number = packet.number, .sent = packet.time});
}

bool Deliveries::may_match(const Delivery& delivery, const Packet& packet) const {
    if (!longest_ || !packet.time || !delivery.sent) return true;
    return *packet.time - *delivery.sent <= *longest_;
}

std::optional<std::size_t> Deliveries::arrived(const Packet& packet) {
    if (packet.integrity == Integrity::Bad) {
        ++damaged_;
        return std::nullopt;
    }
    const auto found = by_digest_.find(identity_of(packet));
    if (found == by_digest_.end()) {
        ++unmatched_;
        return std::nullopt;
    }
    std::vector<std::size_t> candidates;
    for (const std::size_t index : found->second) {
        if (may_match(deliveries_[index], packet)) candidates.push_back(index);
    }
    if (candidates.size() != 1) {
        for (const std::size_t index : candidates) {
            if (deliveries_[index].status == DeliveryStatus::Missing)
                deliveries_[index].status = DeliveryStatus::Undecided;
        }
        if (candidates.empty()) ++unmatched_;
        return std::nullopt;
    }
    Delivery& delivery = deliveries_[candidates.front()];
    delivery.status = DeliveryStatus::Delivered;
    if (delivery.arrivals++ == 0) {
        delivery.first_arrival_number = packet.number;
        delivery.first_arrival = packet.time;
    }
    return candidates.front();
}

} // namespace veriroce::flow
