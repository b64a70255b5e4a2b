// Two engines in one process, connected by RC QPs and a wire that carries their packets as whole
// frames. The sender seals and the receiver unseals each frame, so every byte is copied twice and
// every ICRC is computed twice, as between two hosts.
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

// The place in `room` for a packet whose payload begins at `offset` and should be in the middle of
// a page, as drivers lay packets out. The application memory begins near the beginning of a page.
// If source and destination of a copy have nearly the same last twelve address bits, the processor
// takes loads for dependent on stores, and the copy is a fifth slower. `room` is kPage bytes larger
// than the packet.
inline constexpr std::size_t kPage = 4096;
wire::MutableBytes from_mid_page(std::vector<std::byte>& room, std::size_t offset);

class ConnectedEngines {
  public:
    // Registers `memory` bytes at each end. Throws only if allocation fails.
    ConnectedEngines(std::size_t qps, std::size_t memory, wire::Mtu mtu,
                     std::uint32_t queue_depth = 128);

    End a;
    End b;
    wire::Instant now{std::chrono::seconds(1)};

    // Carries and counts packets until neither engine has one.
    void carry();
    [[nodiscard]] std::uint64_t packets() const { return packets_; }

  private:
    bool carry_one(End& from, End& to);

    std::vector<std::byte> room_;
    wire::MutableBytes frame_; // within room_
    std::vector<std::byte> padded_;
    std::uint64_t packets_ = 0;
    std::uint16_t ip_id_ = 0;
};

} // namespace veriroce::bench
