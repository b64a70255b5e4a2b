// Inside this room: the programs of classic BPF that decide in the kernel what reaches a socket.
// Loads count from the Ethernet header; a stripped VLAN tag is not there, a written one is.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace veriroce::net {

// RoCEv2 (UDP 4791 over IPv4 and IPv6, IPv4 fragments behind the first as well), RoCEv1, ARP, ICMP,
// ICMPv6, IPv6 with extension headers, MAC control (PFC) and whatever has two VLAN tags.
std::vector<sock_filter> link_filter();

// ARP and ICMPv6, with or without a VLAN tag.
std::vector<sock_filter> neighbour_filter();

// Nothing.
std::vector<sock_filter> drop_all_filter();

// Makes `fd` use it; 0 or an errno.
int attach(int fd, std::vector<sock_filter> filter);

} // namespace veriroce::net
