// Any bytes are a history: each twenty of them a packet of one of a few QPs, with any opcode, PSN,
// length, syndrome and MSN. Whatever comes, the judge ends, and its violations are well-formed.
#include "conformance/judge/judge.hpp"

using namespace veriroce;

namespace {

constexpr std::size_t kPacketBytes = 20;
constexpr std::size_t kMaxPackets = 2000;

flow::Packet packet_of(wire::Bytes bytes, std::uint64_t number, wire::Bytes body) {
    flow::Packet packet;
    const std::uint8_t flags = wire::load_u8(bytes, 1);
    packet.number = number;
    packet.time = wire::Instant(std::chrono::microseconds(number * wire::load_u8(bytes, 2)));
    packet.source = wire::IpAddress::from_v4(1 + (flags & 1));
    packet.destination = wire::IpAddress::from_v4(2 - (flags & 1));
    packet.source_port = flags >> 7;
    packet.integrity = static_cast<flow::Integrity>((flags >> 1 & 3) % 3);
    wire::Packet& transport = packet.transport;
    transport.bth.opcode = wire::load_u8(bytes, 0);
    transport.headers = transport.info().headers;
    transport.bth.dest_qp = {static_cast<std::uint32_t>(flags >> 3 & 3)};
    transport.bth.psn = wire::Psn(wire::load_u24(bytes, 3));
    transport.bth.ack_request = (flags & 0x20) != 0;
    transport.bth.pad = flags >> 5 & 3;
    transport.aeth = {.syndrome = {wire::load_u8(bytes, 6)}, .msn = {wire::load_u24(bytes, 7)}};
    transport.reth = {.virtual_address = wire::load_u16(bytes, 10),
                      .rkey = {wire::load_u8(bytes, 12)},
                      .dma_length = wire::load_u32(bytes, 13)};
    transport.atomic.virtual_address = transport.reth.virtual_address;
    transport.atomic_ack.original = wire::load_u8(bytes, 12);
    packet.body_bytes = wire::load_u16(bytes, 17) & 0x1FFF;
    transport.body =
        body.first(std::min<std::size_t>(packet.body_bytes, wire::load_u8(bytes, 19) * 8));
    return packet;
}

judge::Knowledge knowledge_of(std::uint8_t choice) {
    judge::Knowledge knowledge;
    knowledge.complete = (choice & 1) != 0;
    knowledge.ordered = (choice & 2) != 0;
    if ((choice & 4) != 0) knowledge.recorded_at = {wire::IpAddress::from_v4(2)};
    if ((choice & 8) != 0) knowledge.patience = std::chrono::microseconds(100);
    if ((choice & 16) != 0) {
        const flow::Attributes attributes{.mtu = wire::Mtu::B1024,
                                          .first_psn = wire::Psn(0xFFFFFE),
                                          .max_rd_atomic = 2,
                                          .timeout = std::uint8_t{5}};
        knowledge.connections.push_back(
            {flow::Introduction{wire::IpAddress::from_v4(1), {0}, attributes},
             flow::Introduction{wire::IpAddress::from_v4(2), {1}, attributes}});
    }
    return knowledge;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::byte> body(0x2000, std::byte{7});
    auto bytes = std::as_bytes(std::span(data, size));
    if (bytes.empty()) return 0;
    const judge::Limits limits{.flow = {.connections = 4, .extents = 256}, .violations = 100};
    judge::Judge judge(knowledge_of(wire::load_u8(bytes, 0)), limits);
    bytes = bytes.subspan(1);
    std::uint64_t number = 0;
    while (bytes.size() >= kPacketBytes && number < kMaxPackets) {
        judge.observe(packet_of(bytes.first(kPacketBytes), ++number, body));
        bytes = bytes.subspan(kPacketBytes);
    }
    judge.finish();
    for (const judge::Violation& violation : judge.violations()) {
        assert(rules::catalogue().contains(violation.rule));
        assert((violation.certainty == judge::Certainty::Certain) == violation.excuses.empty());
        assert(violation.packets.size > 0 && violation.packets.numbers[0] <= number);
        assert(!violation.text.empty());
    }
    assert(judge.violations().size() <= limits.violations);
    assert(judge.summary().packets == number);
    return 0;
}
