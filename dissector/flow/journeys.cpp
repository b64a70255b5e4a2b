#include "dissector/flow/journeys.hpp"

#include "dissector/flow/digest.hpp"

namespace veriroce::flow {
namespace {

void stir(std::uint64_t& state, std::uint64_t word) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    state = (state ^ word) * kFactor;
    state ^= state >> 32;
}

// All that the ICRC covers (CRC-06); the body by its digest, or by its length where it was cut off.
std::uint64_t identity_of(const Packet& packet) {
    const wire::Bth& bth = packet.transport.bth;
    std::uint64_t state = digest_of(packet);
    stir(state, bth.dest_qp.value | std::uint64_t{bth.psn.value()} << 32);
    stir(state, bth.pkey.value | std::uint64_t{bth.pad} << 16 | std::uint64_t{bth.version} << 20 |
                    std::uint64_t{bth.ack_request} << 24 | std::uint64_t{bth.solicited} << 25 |
                    std::uint64_t{bth.mig_req} << 26 | std::uint64_t{bth.opcode} << 32);
    stir(state, packet.transport.aeth.msn.value |
                    std::uint64_t{packet.transport.aeth.syndrome.value} << 32);
    stir(state, packet.transport.atomic_ack.original);
    stir(state, packet.source_port | std::uint64_t{packet.identification} << 16 |
                    std::uint64_t{packet.body_bytes} << 32);
    stir(state, digest_of_bytes(packet.source.bytes));
    stir(state, digest_of_bytes(packet.destination.bytes));
    return state;
}

} // namespace

void Journeys::left(const Packet& packet) {
    alike_[identity_of(packet)].push_back(journeys_.size());
    journeys_.push_back({.number = packet.number, .sent = packet.time});
}

bool Journeys::may_be(const Journey& journey, const Packet& packet) const {
    if (!longest_ || !packet.time || !journey.sent) return true;
    return *packet.time - *journey.sent <= *longest_;
}

std::optional<std::size_t> Journeys::came(const Packet& packet) {
    if (packet.integrity == Integrity::Bad) {
        ++damaged_;
        return std::nullopt;
    }
    const auto found = alike_.find(identity_of(packet));
    if (found == alike_.end()) {
        ++strangers_;
        return std::nullopt;
    }
    std::vector<std::size_t> candidates;
    for (const std::size_t index : found->second) {
        if (may_be(journeys_[index], packet)) candidates.push_back(index);
    }
    if (candidates.size() != 1) {
        for (const std::size_t index : candidates) {
            if (journeys_[index].fate == Fate::Missing) journeys_[index].fate = Fate::Undecided;
        }
        if (candidates.empty()) ++strangers_;
        return std::nullopt;
    }
    Journey& journey = journeys_[candidates.front()];
    journey.fate = Fate::Delivered;
    if (journey.arrivals++ == 0) {
        journey.first_arrival = packet.number;
        journey.came = packet.time;
    }
    return candidates.front();
}

} // namespace veriroce::flow
