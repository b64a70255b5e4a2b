// What is known of both hosts before a run: values only. gather.hpp collects them; tests make them
// up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/device_methods.hpp"
#include "transport/net/error.hpp"
#include "transport/net/interface_facts.hpp"
#include "transport/net/subnet.hpp"

namespace veriroce::preflight {

// The tester's host, apart from the interface.
struct HostFacts {
    bool net_raw = false;                // CAP_NET_RAW
    bool net_admin = false;              // CAP_NET_ADMIN
    std::size_t receive_buffer_most = 0; // net.core.rmem_max, in bytes
    std::string clock_source;            // "tsc"; empty if the kernel does not tell
    // The share of CPU time since boot that a hypervisor gave to other machines.
    double stolen = 0;

    // The addresses of this host's interfaces, including the tester's.
    struct Address {
        std::string interface;
        net::Subnet subnet;
        // Whether the interface answers ARP for addresses of other interfaces (arp_ignore 0).
        bool answers_for_others = true;
    };
    std::vector<Address> addresses;
};

struct TesterFacts {
    net::InterfaceFacts interface;
    HostFacts host;
    std::vector<wire::IpAddress> extra_addresses; // --tester-address
    std::optional<net::Error> link_error;         // why no raw link opens
};

// The two ends of one IP version.
struct Ends {
    wire::IpAddress tester;
    wire::IpAddress dut;
    bool one_subnet = false;
    std::vector<wire::MacAddress> answered; // who answered ARP or neighbour discovery
};

struct DutFacts {
    std::string agent;                       // its address, as the user wrote it
    std::optional<std::string> no_agent;     // why the agent does not work, a sentence
    std::optional<std::string> wrong_choice; // --dut-port or --dut-gid names what is not there
    dut::Welcome welcome;                    // empty without an agent
    std::optional<wire::Duration> answers;   // how long the agent takes to answer
    std::vector<Ends> ends;                  // empty without a raw link
};

struct Facts {
    TesterFacts tester;
    std::optional<DutFacts> dut; // nothing if no DUT was named
};

} // namespace veriroce::preflight
