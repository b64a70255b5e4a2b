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
        facts.limits["mtu_active"] = wire::bytes_of(welcome.ports.front().mtu_active);
        facts.limits["mtu_max"] = wire::bytes_of(welcome.ports.front().mtu_max);
    }
    return facts;
}

} // namespace veriroce::testbed
