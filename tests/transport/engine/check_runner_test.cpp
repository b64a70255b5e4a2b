// The standard lists run as one inlined function each, any other list entry by entry: both decide
// the same, by the same check.
#include <string>

#include <fmt/format.h>

#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

// Other functions that say what the standard ones say: the lists are not the standard ones.
bool version(const PacketView& view) {
    return packet_check::transport_version(view);
}
RequestVerdict state(const RequestView& view) {
    return request_check::state(view);
}
ResponseVerdict response_state(const ResponseView& view) {
    return response_check::state(view);
}
constexpr Checks one_by_one = kStandardChecks.with(PacketCheck::TransportVersion, version)
                                  .with(RequestCheck::State, state)
                                  .with(ResponseCheck::State, response_state);

// What can be wrong with a packet, one thing at a time.
struct Fault {
    std::int64_t psn = 0; // ahead of the expected one
    std::size_t payload = 8;
    std::uint32_t rkey_step = 0;
    std::uint64_t address_step = 0;
    std::uint8_t pad = 0;
    std::uint8_t version = 0;
    wire::Pkey pkey = wire::kDefaultPkey;
    wire::IpAddress source = peer_address;
};

std::vector<Fault> faults() {
    return {{},
            {.psn = 1},
            {.psn = -1},
            {.payload = 0},
            {.payload = 1024},
            {.payload = 1028},
            {.rkey_step = 1},
            {.rkey_step = 0x100},
            {.address_step = 4},
            {.address_step = 1U << 24U},
            {.pad = 3},
            {.version = 1},
            {.pkey = {0x1234}},
            {.source = wire::IpAddress::from_v4(0x0A4D0009)}};
}

// All that can be seen of an engine that got one packet after one work of its own.
std::string seen(const Checks& checks, FaultOrder order, const wire::OpcodeInfo& info,
                 const Fault& fault) {
    LabOptions options;
    options.checks = checks;
    options.config.behaviour.fault_order = order;
    Lab lab(options);
    lab.post_receive(1, 64);
    post(lab, WrOpcode::RdmaRead, 8, 2);
    std::string text;
    const auto note = [&] {
        for (const Sent& sent : lab.drain())
            text += fmt::format("{} {} {:02x} ", sent.name(), sent.psn(), sent.syndrome());
    };
    note();
    wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
    packet.bth.opcode = info.code;
    packet.headers = info.headers;
    packet.bth.psn = (info.response() ? sq_psn : rq_psn) + fault.psn;
    packet.bth.pad = fault.pad;
    packet.bth.version = fault.version;
    packet.bth.pkey = fault.pkey;
    packet.reth = {.virtual_address = region_address + fault.address_step,
                   .rkey = {lab.region.rkey.value + fault.rkey_step},
                   .dma_length = static_cast<std::uint32_t>(fault.payload)};
    packet.atomic = {.virtual_address = packet.reth.virtual_address, .rkey = packet.reth.rkey};
    packet.aeth = {.syndrome = {0x1F}, .msn = {1}};
    const bool carries = info.carries_payload();
    lab.receive(packet, pattern(carries ? fault.payload : 0),
                {.source = fault.source, .destination = our_address});
    note();
    for (const Completion& done : lab.receives())
        text += fmt::format("R{} {} ", done.id, name_of(done.status));
    for (const Completion& done : lab.sends())
        text += fmt::format("S{} {} ", done.id, name_of(done.status));
    for (const Event& event : lab.events())
        text += fmt::format("{} ", name_of(event.type));
    while (const auto refusal = lab.engine.poll_refusal())
        text += text_of(*refusal) + " ";
    const Counters& counters = lab.engine.counters();
    return text + fmt::format("{} dropped {} pkey {} gaps {}", name_of(lab.state()),
                              counters.dropped, counters.bad_pkey, counters.out_of_sequence);
}

} // namespace

TEST_CASE("checks: joined lists decide what the same lists decide one by one", "[engine][KEY-10]") {
    CHECK_FALSE(one_by_one.of<PacketCheck>() == kStandardChecks.of<PacketCheck>());
    CHECK_FALSE(one_by_one.of<RequestCheck>() == kStandardChecks.of<RequestCheck>());
    CHECK_FALSE(one_by_one.of<ResponseCheck>() == kStandardChecks.of<ResponseCheck>());
    const auto order = GENERATE(FaultOrder::KeysLast, FaultOrder::KeysFirst);
    for (unsigned code = 0; code < 0x20; ++code) {
        const wire::OpcodeInfo& info = wire::opcode_info(static_cast<std::uint8_t>(code));
        for (const Fault& fault : faults()) {
            INFO(info.title << ", pad " << int{fault.pad} << ", payload " << fault.payload);
            CHECK(seen(kStandardChecks, order, info, fault) ==
                  seen(one_by_one, order, info, fault));
        }
    }
}

TEST_CASE("checks: a replaced one is asked, and those around it", "[engine]") {
    const Checks deaf = kStandardChecks.with(
        RequestCheck::InvalidateKey, [](const RequestView&) { return RequestVerdict::Drop; });
    const auto& info = wire::opcode_info(wire::opcode_by_name("SEND_ONLY").value());
    const auto of = [&](const Checks& checks, const Fault& fault) {
        return seen(checks, FaultOrder::KeysLast, info, fault);
    };
    CHECK(of(kStandardChecks, {}).ends_with("R1 SUCCESS RTS dropped 0 pkey 0 gaps 0"));
    CHECK(of(deaf, {}).ends_with("RTS dropped 1 pkey 0 gaps 0"));
    CHECK(of(deaf, {}).find("R1") == std::string::npos);
    CHECK(of(deaf, {.psn = 1}) == of(kStandardChecks, {.psn = 1}));
}
