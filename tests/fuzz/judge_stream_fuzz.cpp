// Whatever packets come, the judge ends, and its violations are well-formed.
#include "conformance/judge/judge.hpp"
#include "tests/fuzz/history.hpp"

using namespace veriroce;

namespace {

judge::Assumptions assumptions_of(std::uint8_t choice) {
    judge::Assumptions assumptions;
    assumptions.complete = (choice & 1) != 0;
    assumptions.ordered = (choice & 2) != 0;
    if ((choice & 4) != 0) assumptions.recorded_at = {wire::IpAddress::from_v4(2)};
    if ((choice & 8) != 0) assumptions.patience = std::chrono::microseconds(100);
    if ((choice & 16) != 0) {
        const flow::Attributes attributes{.mtu = wire::Mtu::B1024,
                                          .first_psn = wire::Psn(0xFFFFFE),
                                          .max_rd_atomic = 2,
                                          .timeout = std::uint8_t{5}};
        assumptions.connections.push_back(
            {flow::Introduction{wire::IpAddress::from_v4(1), {0}, attributes},
             flow::Introduction{wire::IpAddress::from_v4(2), {1}, attributes}});
    }
    return assumptions;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    if (bytes.empty()) return 0;
    const judge::Limits limits{.flow = {.connections = 4, .extents = 256}, .violations = 100};
    judge::Judge judge(assumptions_of(wire::load_u8(bytes, 0)), limits);
    const std::uint64_t number = fuzz::each_packet(
        bytes.subspan(1), [&](const flow::Packet& packet) { judge.observe(packet); });
    judge.finish();
    for (const judge::Violation& violation : judge.violations()) {
        assert(rules::catalogue().contains(violation.rule));
        assert((violation.certainty == judge::Certainty::Certain) == violation.excuses.empty());
        assert(violation.packets.size > 0 && violation.packets.numbers[0] <= number);
        assert(!text_of(violation).empty());
    }
    assert(judge.violations().size() <= limits.violations);
    assert(judge.summary().packets == number);
    return 0;
}
