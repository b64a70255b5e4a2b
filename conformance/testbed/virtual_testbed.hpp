// The testbed in virtual time: the built-in engine as the device behind a port of 10 Gbit/s, a link
// with a delay of 1 us, and a clock that only moves to the next thing that happens. Equal runs are
// equal to the byte.
//
// Each case gets a device of its own, so that it gives the same result alone and in a suite.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "conformance/dut/virtual_dut.hpp"
#include "conformance/testbed/testbed.hpp"
#include "conformance/testbed/wire_noise.hpp"

namespace veriroce::testbed {

// A lab that is not as exact as virtual time: for tests of what cannot be judged then.
struct InexactLab {
    wire::Duration stamp_width{0}; // of what the device sends: it was there so much earlier, or not
    wire::Duration lateness{0};    // our packets leave so much later than the script wants
    // How long packets take each way; then it is not known what passed the device's port when.
    std::optional<wire::Duration> path_delay;
    wire::Duration call_delay{0}; // of a call to the device's agent, and the same of its answer
    wire::Duration jitter{0};     // every packet, call and answer takes up to so much longer
};

// As inexact as real labs are: the tester does not see when a packet passes the device's port.
inline constexpr InexactLab kRealLab{.stamp_width = std::chrono::microseconds(50),
                                     .path_delay = std::chrono::microseconds(200),
                                     .call_delay = std::chrono::microseconds(300),
                                     .jitter = std::chrono::microseconds(100)};

// Not 0, so that every packet shows whether the device keeps it.
inline constexpr std::uint8_t kVirtualDscp = 26;
inline constexpr std::uint32_t kVirtualFlow = 0x9A5C3;

// Of the device's port, which sends one frame after the other: what arrives meanwhile finds the
// device in the middle of a message.
inline constexpr std::uint64_t kVirtualLineRate = 10'000'000'000;

struct VirtualTestbedOptions {
    std::string device = "built-in engine, virtual time";
    std::string mutant; // its name, for the report
    engine::Config engine;
    engine::Checks checks = engine::kStandardChecks;
    // Makes the filter of each device; may be empty.
    std::function<std::unique_ptr<engine::SurfaceFilter>()> filter;
    std::uint64_t seed = 1;
    std::vector<std::string> traits;
    std::uint8_t ack_timer_floor = 0; // as a profile tells it
    std::uint8_t dscp = kVirtualDscp; // of the device's packets, unless a case sets another
    dut::Lacks lacks;                 // what the device does not have
    std::uint32_t least_cqe = 0;      // depth of its smallest completion queue
    dut::Told told = dut::Told::Yes;
    std::uint64_t line_rate = kVirtualLineRate; // bits/s
    InexactLab lab;
    WireNoise noise;
};

class VirtualTestbed final : public Testbed {
  public:
    explicit VirtualTestbed(VirtualTestbedOptions options);

    [[nodiscard]] interpreter::Environment
    environment(const interpreter::Network& network) const override;
    [[nodiscard]] std::optional<std::string> lacks(const interpreter::Network& network) override;
    [[nodiscard]] bool may_lose_packets() const override { return options_.noise.any(); }
    [[nodiscard]] bool plays_stand_alone() const override { return !options_.noise.any(); }
    [[nodiscard]] bool link_capable(std::string_view word) const override;
    interpreter::CaseResult play(const script::Case& script, const script::Run& run,
                                 const interpreter::Environment& environment) override;
    [[nodiscard]] std::optional<std::string> broken() const override { return std::nullopt; }
    [[nodiscard]] RunInfo info() const override;

  private:
    [[nodiscard]] std::unique_ptr<dut::VirtualDut> make_device(wire::VlanId vlan) const;

    VirtualTestbedOptions options_;
    dut::Welcome welcome_;
};

} // namespace veriroce::testbed
