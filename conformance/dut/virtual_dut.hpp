// The built-in device in virtual time: our engine behind the contract, and a port that receives and
// transmits frames. A mutant replaces a check or adds a filter around the engine.
//
//   VirtualDut dut({.checks = mutant.checks, .filter = std::move(filter)});
//   dut.submit(QpModify{...}, now);
//   dut.receive(frame, now);                               what the link delivered at this instant
//   while (auto frame = dut.transmit(now)) link.carry(*frame, now);
//   while (auto reply = dut.poll(now)) ...
//   next: sleep until min(link's next arrival, dut.next_deadline())
//
// After each step of time the driver calls transmit() and poll() until both are empty. Time comes
// only from `now`, and equal calls give equal frames, to the byte.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "conformance/dut/dut.hpp"
#include "conformance/dut/engine_device.hpp"
#include "conformance/dut/late_device.hpp"
#include "conformance/dut/limited_device.hpp"
#include "conformance/dut/pending_calls.hpp"
#include "transport/engine/engine.hpp"
#include "transport/engine/surface_filter.hpp"
#include "transport/sim/nic.hpp"

namespace veriroce::dut {

struct VirtualDutOptions {
    EngineDeviceDescription description; // mac and addresses are those of the port
    AgentLimits limits;
    engine::Config engine;
    engine::Checks checks = engine::kStandardChecks;
    std::unique_ptr<engine::SurfaceFilter> filter; // may be null
    // The only neighbour of the port: it leads to every peer of a QP.
    wire::MacAddress neighbour;
    std::uint16_t first_ip_id = 1; // counts up, so that an ICRC without it is detected
    Lacks lacks;
    Told told = Told::Yes;
};

class VirtualDut final : public Dut {
  public:
    explicit VirtualDut(VirtualDutOptions options);
    ~VirtualDut() override;

    CallId submit(Request request, wire::Instant now) override;
    std::optional<Reply> poll(wire::Instant now) override;
    // The earliest of the engine's timers, held-back frames and deadlines of waiting calls.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override;
    [[nodiscard]] int descriptor() const override { return -1; }

    // A frame arrives at the port.
    void receive(wire::Bytes frame, wire::Instant now);
    // The next frame that leaves the port; valid until the next call.
    std::optional<wire::Bytes> transmit(wire::Instant now);

    [[nodiscard]] engine::Engine& engine(); // to read counters, not to control it
    [[nodiscard]] const sim::PortCounters& port_counters() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace veriroce::dut
