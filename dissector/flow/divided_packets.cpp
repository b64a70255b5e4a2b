#include "dissector/flow/divided_packets.hpp"

#include <algorithm>
#include <cassert>

#include "dissector/flow/path.hpp"

namespace veriroce::flow {

std::size_t share_of(const wire::IpAddress& one, const wire::IpAddress& other, std::size_t shares) {
    assert(shares > 0);
    return mixed(Path::hash_of(one) + Path::hash_of(other)) % shares;
}

void DividedPackets::read(std::span<const decode::Dissection> frames, std::size_t shares) {
    assert(shares <= kMostShares);
    size_ = frames.size();
    if (packets_.size() < size_) packets_.resize(size_);
    if (shares_.size() < size_) shares_.resize(size_);
    read_packets(frames, packets_);
    if (shares == 1) return; // all are 0
    for (std::size_t i = 0; i < size_; ++i) {
        const Packet& packet = packets_[i].packet;
        shares_[i] =
            packets_[i].there
                ? static_cast<std::uint8_t>(share_of(packet.source, packet.destination, shares))
                : std::uint8_t{0};
    }
}

} // namespace veriroce::flow
