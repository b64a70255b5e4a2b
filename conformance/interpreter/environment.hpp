// Where a case is played: the two ends, and how long things take there. A testbed makes it once per
// run; it is the same for every case.
//
// Units: times in ns; MTU of the link in bytes of IP. Source: "What a `<` line waits for"
// in conformance/script/README.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "dissector/wire/frame.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::interpreter {

// The tester's QPNs count up from here.
inline constexpr wire::Qpn kLowestTesterQpn{0x800};

struct TesterPort {
    wire::MacAddress mac;
    wire::IpAddress address;
    std::vector<wire::IpAddress> spare;           // more addresses that are ours
    std::map<std::string, wire::IpAddress> named; // `tester address NAME`: the first of them
    std::size_t mtu = 9000;
};

// The range from which the first PSNs of a run are drawn, unless the case fixes them.
enum class StartPsn : std::uint8_t {
    Any,
    Low,  // 0 to 3: PSNs before the first packet are at the top of the range
    Wrap, // the last four: the PSN wraps within the first packets
};

// The ID of the VLAN that frames with this tag belong to; 0 without a tag. VLAN 0 is only a
// priority, not a VLAN.
template <typename Tag>
constexpr std::uint16_t vlan_id_of(const std::optional<Tag>& tag) {
    return tag ? tag->id : std::uint16_t{0};
}

// The network of the device in which a case is played.
struct Network {
    int ip_version = 4;
    std::optional<wire::VlanId> vlan; // of the frames: an ID, or 0 and a priority alone

    // Networks with different IDs are different.
    [[nodiscard]] std::uint16_t vlan_id() const { return vlan_id_of(vlan); }
};

// Faults for every case, from a file of their own: they act before those of the case.
struct FaultPlan {
    std::string path;
    std::string text;
    std::vector<fault::Rule> rules; // of it
};

// The largest path MTU whose packets fit through a link of this MTU and a port of this one.
wire::Mtu largest_mtu(std::size_t link_mtu, wire::Mtu active);

struct Environment {
    dut::Welcome dut; // the device's answer to hello
    std::uint32_t gid_index = 0;
    std::optional<wire::VlanId> vlan; // of all that the tester sends
    wire::IpAddress dut_address;
    wire::MacAddress dut_mac;                         // or of the next hop
    std::vector<wire::IpAddress> dut_others;          // of the DUT's host; not RoCEv2 GIDs
    std::map<std::string, wire::IpAddress> dut_named; // `dut address NAME`: the first of them
    TesterPort tester;
    std::uint8_t dut_port = 1;                // of the device, by its number
    wire::Mtu path_mtu = wire::Mtu::B1024;    // unless the case sets another
    wire::Mtu largest_mtu = wire::Mtu::B1024; // that link and device allow
    std::uint8_t usual_dscp = 0;  // of the device's packets, unless the case sets another
    std::uint32_t usual_flow = 0; // the same of their IPv6 flow label
    wire::Duration patience{std::chrono::seconds(1)};
    wire::Duration settle{std::chrono::milliseconds(10)};
    wire::Duration round_trip_p99{0}; // 99th percentile of the calibration's round trips
    wire::Duration sleep_p99{0};      // 99th percentile of the tester's sleeps of 1 ms
    // How far a packet's instant may be from its stamp: the 99th percentile of the measured ones.
    wire::Duration stamp_width{0};
    // How long every packet takes between the two ports, where none is lost or overtaken. Known
    // only in virtual time.
    std::optional<wire::Duration> path_delay;
    std::uint64_t line_rate = 0; // of the device's port, bits/s; 0: not known
    // The packets that a case keeps may take this much; with more the case is an ERROR.
    std::uint64_t most_recorded_bytes = std::uint64_t{128} << 20;
    std::uint64_t seed = 1;
    std::uint64_t wire_seed = 1; // of a noisy virtual wire: another in each play
    std::map<wire::DeviceCounter, std::string> counters; // the device's names, where they differ
    FaultPlan plan;
    bool judged = true;        // rules that no line names; else the lines alone decide
    bool notes_states = false; // fills CaseResult::states
    StartPsn start_psn = StartPsn::Any;
    std::optional<bool> mig_req; // of all that the tester sends (BTH-15); else each side's default
    wire::Qpn first_tester_qpn{kLowestTesterQpn}; // not used again within a run

    // TMO-05: the DUT's ACK timer takes smaller codes for this one, as its profile says.
    std::uint8_t ack_timer_floor = 0;

    // Derives patience and settle time from these round trips. If the device states its own ACK
    // delay, the settle time includes it (`dut` must be set before).
    void take_round_trips(wire::Duration p99);

    // TMO-08: whether the DUT is known to send again sooner than its ACK timer says.
    [[nodiscard]] bool early_ack_timer() const {
        return trait("adaptive_retransmission") || trait("ack_timer_ignored");
    }
    [[nodiscard]] bool capable(std::string_view word) const;
    [[nodiscard]] bool trait(std::string_view word) const;
    // Of `tester`, `dut`, or the name of a `tester address` or `dut address`, plus `offset`;
    // nothing if nothing has that name.
    [[nodiscard]] std::optional<wire::IpAddress> address(std::string_view name,
                                                         std::int64_t offset) const;
    // The device's name for this counter.
    [[nodiscard]] std::string counter_name(wire::DeviceCounter counter) const;
};

} // namespace veriroce::interpreter
