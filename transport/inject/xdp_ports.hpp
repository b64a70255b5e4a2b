// The ports by an XDP program (bump.bpf.c) and AF_XDP sockets. The program sends what is not
// RoCEv2, and what bypass() named, from port to port; the rest comes here, each direction in its
// order.
//
// A program that is built without libxdp has none: opening says so.
// Errors: net::Error. Needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF.
// Source: Documentation/networking/af_xdp.rst.
#pragma once

#include <array>

#include "transport/inject/kernel_rules.hpp"
#include "transport/inject/ports.hpp"

namespace veriroce::inject {

struct XdpOptions {
    std::string a;
    std::string b;
    std::array<std::uint32_t, 2> queues{1, 1}; // receive queues
    std::size_t mtu = 1500;
    bool native = true;
    bool fills_checksums = false; // frames may come whose UDP checksum is not complete
    bool forward_when_killed = false;
    bool takes_pfc = false; // PFC frames come here as well
    KernelRules rules;      // that the program decides
};

std::expected<std::unique_ptr<Ports>, net::Error> open_xdp_ports(const XdpOptions& options);

// Removes the program that a killed process left on the interface, if there is one.
void remove_left_program(const std::string& interface);

} // namespace veriroce::inject
