// Where a case is played: who the two ends are, and how long things take there. Made once a run by
// a driver, the same for every case.
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

// Where the first PSNs of a run are drawn from; what a case fixes stays as it is.
enum class StartPsn : std::uint8_t {
    Any,
    Low,  // 0 to 3: what comes before the first packet lies behind the wrap
    Wrap, // the last four: the PSN wraps within the first packets
};

// The VLAN that frames with this tag are in: its ID, and 0 without a tag. VLAN 0 is a priority and
// no VLAN.
template <typename Tag>
constexpr std::uint16_t vlan_id_of(const std::optional<Tag>& tag) {
    return tag ? tag->id : std::uint16_t{0};
}

// Which of the device's networks a case is played in.
struct Network {
    int ip_version = 4;
    std::optional<wire::VlanId> vlan; // of the frames: an ID, or 0 and a priority alone

    // What tells networks apart.
    [[nodiscard]] std::uint16_t vlan_id() const { return vlan_id_of(vlan); }
};

// Faults for every case that is played, from outside of it: they come before those of the case.
struct FaultPlan {
    std::string path;
    std::string text;
    std::vector<fault::Rule> rules; // of it
};

struct Environment {
    dut::Welcome dut; // what the device said of itself
    std::uint32_t gid_index = 0;
    std::optional<wire::VlanId> vlan; // of all that the tester sends
    wire::IpAddress dut_address;
    wire::MacAddress dut_mac;                         // or of the next hop
    std::vector<wire::IpAddress> dut_others;          // of the DUT's host; not RoCEv2 GIDs
    std::map<std::string, wire::IpAddress> dut_named; // `dut address NAME`: the first of them
    TesterPort tester;
    wire::Mtu path_mtu = wire::Mtu::B1024; // where a case does not ask for another
    wire::Duration patience{std::chrono::seconds(1)};
    wire::Duration settle{std::chrono::milliseconds(10)};
    wire::Duration round_trip_p99{0}; // 99 % of the calibration's round trips took no longer
    wire::Duration sleep_p99{0};      // the same of the tester's sleeps of 1 ms
    // How far an instant of a packet may be from its stamp: 99 % of those measured were no farther.
    wire::Duration stamp_width{0};
    // How long every packet takes between the two ports, none lost and none overtaken. Known only
    // in virtual time.
    std::optional<wire::Duration> path_delay;
    // Of the packets that a case keeps: what comes beyond them makes it an ERROR.
    std::uint64_t most_recorded_bytes = std::uint64_t{128} << 20;
    std::uint64_t seed = 1;
    std::map<wire::DeviceCounter, std::string> counters; // the device's names, where they differ
    FaultPlan plan;
    bool judged = true; // rules that no line names; else the lines alone decide
    StartPsn start_psn = StartPsn::Any;
    std::optional<bool> mig_req; // of all that the tester sends (BTH-15); else each side's default
    wire::Qpn first_tester_qpn{kLowestTesterQpn}; // never used again within a run

    // Patience and settle time as these round trips want them. A device that states an ACK delay of
    // its own longer than the floor is given that time (`dut` is known before).
    void take_round_trips(wire::Duration p99);

    [[nodiscard]] bool capable(std::string_view word) const;
    [[nodiscard]] bool trait(std::string_view word) const;
    // Of `tester`, `dut`, or the name of a `tester address` or `dut address`, plus `offset`;
    // nothing if nothing has that name.
    [[nodiscard]] std::optional<wire::IpAddress> address(std::string_view name,
                                                         std::int64_t offset) const;
    // How the device calls this counter.
    [[nodiscard]] std::string counter_name(wire::DeviceCounter counter) const;
};

} // namespace veriroce::interpreter
