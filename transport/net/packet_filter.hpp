// Internal: classic BPF programs that decide in the kernel which packets a socket receives. Offsets
// count from the Ethernet header. A VLAN tag that the kernel stripped is absent; one in the frame
// is present.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace veriroce::net {

// RoCEv2 (UDP 4791 over IPv4 and IPv6, and all later IPv4 fragments), RoCEv1, ARP, ICMP, ICMPv6,
// IPv6 with extension headers, MAC control (PFC), and any frame with two VLAN tags.
std::vector<sock_filter> link_filter();

// ARP and ICMPv6, with or without a VLAN tag.
std::vector<sock_filter> neighbour_filter();

// No packets.
std::vector<sock_filter> drop_all_filter();

// Attaches the program to `fd`; returns 0 or an errno.
int attach(int fd, std::vector<sock_filter> filter);

} // namespace veriroce::net
