// The flows of a summary: each packet is counted once, and memory stays bounded.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "dissector/decode/decoder.hpp"
#include "dissector/dissect/flow_counts.hpp"
#include "tests/dissector/corpus/corpus.hpp"

using namespace veriroce;
using dissect::FlowCounts;
using dissect::FlowPacket;

namespace {

// A packet over IPv4 whose source address and QP can be set.
class Sender {
  public:
    Sender() {
        for (const auto& made : corpus::corpora()) {
            for (const auto& one : made.frames) {
                bytes_ = one.bytes;
                packet_.frame.link_code = made.link_code;
                packet_.frame.original_length = static_cast<std::uint32_t>(bytes_.size());
                packet_.frame.bytes = bytes_;
                decode::dissect_frame({}, packet_);
                const bool ipv4 = packet_.network.kind == decode::LayerKind::Ipv4;
                if (packet_.has_bth && ipv4) return;
            }
        }
        FAIL("no such packet in the corpus");
    }
    const decode::Dissection& packet(std::uint32_t source, std::uint32_t qpn) {
        wire::store_be<4>(bytes_, packet_.network.offset + 12, source);
        packet_.packet.bth.dest_qp = wire::Qpn{qpn};
        return packet_;
    }

  private:
    std::vector<std::byte> bytes_;
    decode::Dissection packet_;
};

std::uint64_t packets_of(const std::vector<FlowCounts::Flow>& flows) {
    std::uint64_t sum = 0;
    for (const FlowCounts::Flow& flow : flows)
        sum += flow.packets;
    return sum;
}

} // namespace

TEST_CASE("flow counts: flows differ by address and by QP, and the largest come first") {
    Sender sender;
    FlowCounts counts;
    for (std::uint32_t source = 1; source <= 40; ++source)
        for (std::uint32_t qpn = 1; qpn <= 50; ++qpn)
            for (std::uint32_t i = 0; i < (source == 7 && qpn == 9 ? 5U : 2U); ++i)
                counts.add(FlowPacket(sender.packet(0x0A000000 + source, qpn)));
    const auto flows = counts.largest(3000);
    REQUIRE(flows.size() == 40 * 50);
    CHECK(counts.size() == flows.size());
    CHECK(flows[0].packets == 5);
    CHECK(flows[0].path.source == wire::IpAddress::from_v4(0x0A000007));
    CHECK(flows[0].path.qpn == 9);
    CHECK(packets_of(flows) == 40 * 50 * 2 + 3);
    CHECK(counts.beyond() == 0);
}

TEST_CASE("flow counts: of more flows than there is room for, the packets are counted") {
    constexpr std::uint32_t each = 1'000'000;
    Sender sender;
    FlowCounts by_qp;
    for (std::uint32_t i = 0; i < each; ++i)
        by_qp.add(FlowPacket(sender.packet(1, i)));
    CHECK(packets_of(by_qp.largest(each)) + by_qp.beyond() == each);
    CHECK(by_qp.size() == 1U << 18U);

    FlowCounts by_address;
    for (std::uint32_t i = 0; i < each; ++i)
        by_address.add(FlowPacket(sender.packet(i, 1)));
    CHECK(packets_of(by_address.largest(each)) + by_address.beyond() == each);
    CHECK(by_address.size() == 1U << 17U);
}
