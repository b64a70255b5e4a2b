#include "conformance/testbed/device_facts.hpp"

#include <algorithm>

namespace veriroce::testbed {

DeviceFacts device_facts(const dut::Welcome& welcome) {
    DeviceFacts facts{.name = welcome.name,
                      .device = welcome.device,
                      .firmware = welcome.firmware,
                      .driver = welcome.driver.value_or(""),
                      .kernel = welcome.kernel.value_or(""),
                      .backend = welcome.backend,
                      .capabilities = welcome.capabilities,
                      .traits = welcome.traits,
                      .limits = {}};
    std::ranges::sort(facts.capabilities);
    std::ranges::sort(facts.traits);
    const dut::DeviceMax& max = welcome.max;
    facts.limits = {{"qp", max.qp},
                    {"qp_wr", max.qp_wr},
                    {"sge", max.sge},
                    {"cqe", max.cqe},
                    {"mr_bytes", max.mr_bytes},
                    {"rd_atomic", max.rd_atomic},
                    {"dest_rd_atomic", max.dest_rd_atomic},
                    {"msg_bytes", max.msg_bytes},
                    {"inline", max.inline_bytes},
                    {"local_ca_ack_delay", welcome.local_ca_ack_delay}};
    if (!welcome.ports.empty()) {
        const dut::Port& port = welcome.ports.front();
        facts.limits["mtu_active"] = wire::bytes_of(port.mtu_active);
        facts.limits["mtu_max"] = wire::bytes_of(port.mtu_max);
        if (port.speed_mbps) facts.limits["speed_mbps"] = *port.speed_mbps;
    }
    return facts;
}

RunInfo begun_info(std::uint64_t seed, const dut::Welcome& welcome) {
    RunInfo info;
    info.program = "veriroce " VERIROCE_VERSION;
    info.seed = seed;
    info.device = device_facts(welcome);
    return info;
}

} // namespace veriroce::testbed
