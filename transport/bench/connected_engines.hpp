// Two engines in one process with RC QPs between them, and the wire that carries their packets as
// whole frames: sealed by the sender, unsealed by the receiver, so that every byte is copied twice
// and its ICRC is computed twice, as two hosts would.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/engine/engine.hpp"

namespace veriroce::bench {

struct End {
    std::unique_ptr<engine::Engine> engine;
    engine::PdId pd;
    engine::CqId cq;
    std::vector<std::byte> memory;
    engine::Engine::Region region;
    std::vector<engine::QpId> qps;
    wire::IpAddress address;
    wire::MacAddress mac;
};

// Where in `room` a packet begins whose byte `offset`, the first of its payload, falls in the
// middle of a page, as drivers lay packets out. The memory that is read and written begins near a
// page's begin; where two places differ by little in their last twelve bits a processor takes a
// load for one that waits for a store, and a copy becomes dearer by a fifth. `room` has kPage bytes
// more than the packet.
inline constexpr std::size_t kPage = 4096;
wire::MutableBytes from_mid_page(std::vector<std::byte>& room, std::size_t offset);

class ConnectedEngines {
  public:
    // `memory` bytes are registered at each end. Fails only by exception of the allocator.
    ConnectedEngines(std::size_t qps, std::size_t memory, wire::Mtu mtu,
                     std::uint32_t queue_depth = 128);

    End a;
    End b;
    wire::Instant now{std::chrono::seconds(1)};

    // Carries packets until neither engine has one; counts them.
    void carry();
    [[nodiscard]] std::uint64_t packets() const { return packets_; }

  private:
    bool carry_one(End& from, End& to);

    std::vector<std::byte> room_;
    wire::MutableBytes frame_; // in it
    std::vector<std::byte> padded_;
    std::uint64_t packets_ = 0;
    std::uint16_t ip_id_ = 0;
};

} // namespace veriroce::bench
