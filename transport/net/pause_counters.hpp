// How many PAUSE and PFC frames an interface has received, by the counters of its driver
// (`ethtool -S`). A frame that a program sends may be kept by its own NIC or by a switch: these
// counters say whether it arrived.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace veriroce::net {

// Whether a counter has the name of one of received PAUSE or PFC frames: rx_prio3_pause,
// port.link_xoff_rx, rx_pfc_ena_frames_pri3.
bool counts_received_pause(std::string_view name);

// Empty if the driver has no such counters.
std::map<std::string, std::uint64_t> received_pause(const std::string& interface);

} // namespace veriroce::net
