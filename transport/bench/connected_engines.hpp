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
