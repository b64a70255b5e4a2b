// Two engines, each behind its port, joined by a link in virtual time. Frames are sealed and opened
// as on a real wire; a fault says what becomes of each of them.
//
// Each side has one region of 256 KiB at 0x100000 (side 0) or 0x900000 (side 1), filled with a
// pattern of its own.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "transport/sim/network.hpp"
#include "transport/sim/nic.hpp"

namespace veriroce::sim::test {

using namespace std::chrono_literals;

inline constexpr std::size_t region_bytes = 256UL * 1024;

// What becomes of a frame: nothing set lets it pass.
struct Fate {
    bool drop = false;
    bool duplicate = false;
    wire::Duration later{0};
    bool damage = false; // one byte of the frame
};

struct PairOptions {
    engine::Behaviour behaviour;
    wire::Mtu mtu = wire::Mtu::B1024;
    wire::Psn psn{0x123456}; // of side 0's requests; side 1's begin a thousand later
    bool ipv6 = false;
    std::uint8_t timeout = 10; // 4.19 ms
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;
    std::uint8_t min_rnr_timer = 1;
    std::uint8_t max_rd_atomic = 4;
    engine::SurfaceFilter* filter = nullptr; // of side 1
};

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed);

struct Side {
    Side(const PairOptions& options, std::size_t index);

    [[nodiscard]] engine::Sge sge(std::uint64_t offset, std::uint32_t length) const;
    [[nodiscard]] wire::MutableBytes at(std::uint64_t offset, std::size_t length);
    void post_receive(std::uint64_t id, std::uint32_t length, std::uint64_t offset);
    std::vector<engine::Completion> completions();

    std::uint64_t base;
    std::vector<std::byte> memory;
    engine::Engine engine;
    Nic nic;
    engine::PdId pd;
    engine::CqId cq;
    engine::Engine::Region region;
    engine::QpId qp;
    wire::Qpn qpn;
};

class Pair {
  public:
    explicit Pair(const PairOptions& options = {});

    Side& operator[](std::size_t index) { return *sides_[index]; }

    // Side 0 posts a request that names side 1's region at `remote`.
    void post(engine::SendRequest request, std::span<const engine::Sge> sges,
              std::uint64_t remote = 0);
    // Until nothing happens any more, or this time has passed. `until` may end it earlier.
    void run(wire::Duration longest = std::chrono::minutes(10));

    std::function<Fate(std::uint64_t)> fate; // by the frame's number on the wire, from 0
    std::vector<std::vector<std::byte>> wire_log;
    wire::Instant now;

  private:
    void pump();
    void carry(std::size_t port, wire::Bytes frame);

    std::array<std::unique_ptr<Side>, 2> sides_;
    Network network_{2};
};

} // namespace veriroce::sim::test
