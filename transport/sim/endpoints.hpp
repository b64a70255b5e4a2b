// The endpoints of a run: engines behind their ports, connected according to the scenario, with
// memory laid out according to layout.hpp. Internal to this room.
#pragma once

#include <memory>
#include <vector>

#include "transport/sim/nic.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::sim {

struct Endpoint {
    Endpoint(std::size_t index, std::size_t memory_bytes, const engine::Behaviour& behaviour,
             const Defect& defect, std::uint64_t seed);

    std::vector<std::byte> memory;
    std::uint64_t base = 0; // virtual address of the first byte
    std::unique_ptr<engine::SurfaceFilter> filter;
    engine::Engine engine;
    Nic nic;
    engine::PdId pd;
    engine::Engine::Region region;
    std::vector<engine::CqId> queues;
};

// One side of a connection.
struct SideOf {
    engine::QpId qp;
    wire::Qpn qpn;
};

class Endpoints {
  public:
    Endpoints(const Scenario& scenario, const Layout& layout, const Defect& defect);

    [[nodiscard]] std::size_t size() const { return endpoints_.size(); }
    Endpoint& operator[](std::size_t index) { return *endpoints_[index]; }
    const Endpoint& operator[](std::size_t index) const { return *endpoints_[index]; }
    [[nodiscard]] const SideOf& side(std::size_t connection, std::size_t side) const {
        return sides_[2 * connection + side];
    }
    [[nodiscard]] std::vector<wire::Bytes> memories() const;
    // The endpoint whose port sent the frame.
    [[nodiscard]] static std::size_t sender_of(wire::Bytes frame);

    struct Place {
        std::size_t connection = 0;
        std::size_t side = 0;
    };
    [[nodiscard]] std::optional<Place> with(wire::Qpn qpn) const;
    [[nodiscard]] std::optional<Place> with(std::size_t endpoint, engine::QpId qp) const;

  private:
    void create(const Scenario& scenario, std::size_t connection, std::size_t side);
    void connect(const Scenario& scenario, std::size_t connection, std::size_t side);

    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    std::vector<SideOf> sides_;      // by 2 * connection + side
    std::vector<std::size_t> homes_; // the endpoint of each side
};

} // namespace veriroce::sim
