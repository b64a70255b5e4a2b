// Which counters of a driver say that PAUSE frames arrived.
#include "transport/net/pause_counters.hpp"

#include <catch2/catch.hpp>

#include "tests/transport/net/lab.hpp"

using namespace veriroce;

TEST_CASE("pause counters: the names of each driver are known", "[net]") {
    for (const auto* name : {"rx_prio3_pause", "rx_pause_ctrl_phy", "rx_global_pause", // mlx5
                             "rx_pfc_ena_frames_pri3", "rx_pause_frames",              // bnxt_en
                             "link_xoff_rx.nic", "rx_priority_3_xoff.nic",             // ice
                             "port.link_xoff_rx", "mac_rx_pfc_pri3_pkt_num", "[0]: rx_pfc_frames"})
        CHECK(net::counts_received_pause(name));
    for (const auto* name : {"tx_prio3_pause", "tx_pause_frames", "rx_packets", "link_xoff_tx.nic",
                             "rx_prio3_pause_duration", "rx_prio3_pause_transition", ""})
        CHECK_FALSE(net::counts_received_pause(name));
}

TEST_CASE("pause counters: an interface without any has none", "[net]") {
    const net_test::Lab lab;
    CHECK(net::received_pause("va").empty());
    CHECK(net::received_pause("nope").empty());
}
