// The packets of a batch, and to which of several trackers each goes. What is said of a connection
// depends on no packets between other addresses (Tracker::limited), so packets are divided by their
// two addresses: both directions of a connection, and its set-up by CM, go to one tracker.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dissector/flow/frame_packet.hpp"

namespace veriroce::flow {

// The same for both directions. Below `shares`.
std::size_t share_of(const wire::IpAddress& one, const wire::IpAddress& other, std::size_t shares);

inline constexpr std::size_t kMostShares = 256; // of DividedPackets

// Aligned: several threads write neighbours.
class alignas(64) DividedPackets {
  public:
    // Prepares the packets of these frames (read_packets) in place of the earlier ones.
    void read(std::span<const decode::Dissection> frames, std::size_t shares);

    // One for each frame.
    [[nodiscard]] std::span<const FramePacket> packets() const {
        return std::span(packets_).first(size_);
    }
    // Which share frame `index` is for. Frames without a packet are for the first one.
    [[nodiscard]] std::size_t share(std::size_t index) const { return shares_[index]; }

  private:
    std::size_t size_ = 0;
    std::vector<FramePacket> packets_; // kept for the next batch, as the other
    std::vector<std::uint8_t> shares_;
};

} // namespace veriroce::flow
