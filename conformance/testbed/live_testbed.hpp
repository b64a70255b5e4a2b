// The testbed on a real link: packets over AF_PACKET, the device driven through its agent.
//
// open() does all that can fail before anything is tested: the agent, the interface, the two
// addresses, the device's MAC, and the calibration of time (200 round trips, 200 sleeps of 1 ms),
// from whose 99th percentiles patience and settle time follow. It is done again every ten minutes.
// Errors are one sentence each.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/remote_dut.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/preflight/checks.hpp"
#include "conformance/testbed/testbed.hpp"
#include "transport/net/line_address.hpp"
#include "transport/net/raw_link.hpp"

namespace veriroce::testbed {

struct LiveTestbedOptions {
    net::LineAddress agent;
    std::optional<std::string> token;              // that the agent wants
    std::string interface;                         // of the tester
    std::vector<wire::IpAddress> tester_addresses; // that the kernel does not own; else its own
    std::vector<wire::IpAddress> dut_addresses; // which GIDs of the device; else the first that fit
    dut::Chosen dut_chosen;                     // of its ports and GIDs
    // Of the device's host and not GIDs, beside those that the agent knows.
    std::vector<wire::IpAddress> dut_other_addresses;
    std::uint64_t seed = 1;
    std::uint8_t dscp = 0; // of the device's packets, unless a case sets another
    // Gets what open() plays to calibrate, so that a refusal can be looked at.
    std::vector<interpreter::CaseResult>* calibration = nullptr;
};

class LiveTestbed final : public Testbed {
  public:
    static std::expected<std::unique_ptr<LiveTestbed>, std::string>
    open(const LiveTestbedOptions& options);

    [[nodiscard]] interpreter::Environment
    environment(const interpreter::Network& network) const override;
    [[nodiscard]] std::optional<std::string> lacks(const interpreter::Network& network) override;
    [[nodiscard]] bool may_lose_packets() const override { return true; }
    [[nodiscard]] bool link_capable(std::string_view word) const override;
    interpreter::CaseResult play(const script::Case& script, const script::Run& run,
                                 const interpreter::Environment& environment) override;
    void keep_calibrated() override;
    [[nodiscard]] std::optional<std::string> broken() const override { return broken_; }
    std::expected<FoundAgain, std::string> find_again(wire::Duration patience) override;
    SignOfLife sign_of_life() override;
    [[nodiscard]] RunInfo info() const override;
    [[nodiscard]] std::vector<std::string> changes() const override { return changes_; }

  private:
    // Both ends of one IP version, in one VLAN or in none.
    struct Ends {
        wire::IpAddress tester;
        wire::IpAddress dut;
        std::uint32_t gid_index = 0;
        wire::MacAddress dut_mac;
    };

    LiveTestbed() = default;
    std::expected<void, std::string> find_device(wire::Instant until);
    std::expected<void, std::string> choose_ends();
    std::expected<Ends, std::string> ends_of(const interpreter::Network& network) const;
    // Looks for the ends there, once.
    void find_ends(const interpreter::Network& network);
    std::expected<void, std::string> calibrate();
    std::expected<std::vector<wire::Duration>, std::string> round_trips();
    std::map<std::string, std::uint64_t> received_pause();
    // Why nothing is proved by a case that sends PAUSE frames: none can be seen to have arrived.
    std::optional<std::string> no_pause_since(const std::map<std::string, std::uint64_t>& before);
    void play_on(interpreter::Interpreter& interpreter);
    bool carry_out(interpreter::Interpreter& interpreter, interpreter::Action action);
    bool take_replies(interpreter::Interpreter& interpreter);
    bool take_packets(interpreter::Interpreter& interpreter);
    std::optional<wire::Instant> take_packets_at_hand(interpreter::Interpreter& interpreter);
    void take_packet(interpreter::Interpreter& interpreter, const net::Received& packet);

    LiveTestbedOptions options_;
    std::unique_ptr<net::RawLink> link_;
    std::unique_ptr<dut::RemoteDut> dut_;
    dut::Welcome welcome_;
    using Key = std::pair<std::uint16_t, int>; // VLAN, IP version: the untagged ones come first
    std::map<Key, Ends> ends_;
    std::map<Key, std::string> lacking_; // why a network has no ends
    std::optional<std::string> broken_;
    std::optional<std::string> merged_; // a received "packet" that GRO made
    std::map<dut::CallId, std::uint64_t> tickets_;
    std::map<std::uint64_t, std::uint64_t> numbers_; // of the link, to those of SendFrame
    wire::Duration round_trip_p99_{0};
    wire::Duration sleep_p99_{0};
    wire::Duration stamp_width_{0};
    wire::Instant calibrated_at_{};
    std::vector<std::string> changes_;           // of the interface
    std::string calibration_note_;               // empty: as it should be
    std::vector<preflight::CheckResult> checks_; // as they were at open()
};

} // namespace veriroce::testbed
