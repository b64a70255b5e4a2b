// A ladder's lines are as wide as asked, whatever is in them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "dissector/decode/flow_facts.hpp"
#include "dissector/print/ladder.hpp"

namespace veriroce::print {
namespace {

decode::Dissection packet(std::uint8_t opcode, const decode::FlowFacts& facts) {
    decode::Dissection d;
    d.frame.number = 7;
    d.protocol = decode::Protocol::RoceV2;
    d.has_bth = true;
    d.packet.bth.opcode = opcode;
    d.packet.bth.psn = wire::Psn(3);
    d.packet.headers = wire::opcode_info(opcode).headers;
    d.flow = &facts;
    d.layers.push(decode::LayerKind::Flow, 0, 0);
    return d;
}

std::string ladder_of(const decode::Dissection& d, std::size_t width, bool to_right) {
    std::string out;
    TimeColumn time;
    Ladder(width).append(out, d, to_right, time);
    return out;
}

} // namespace

TEST_CASE("ladder: every line has the width, also where words have no room", "[print]") {
    const decode::FlowFacts facts{.role = "requester",
                                  .retransmission = true,
                                  .again_of = 4'000'000'000,
                                  .cause = "sequence-nak",
                                  .gap = 1024,
                                  .gap_damaged = true};
    for (const std::size_t width : {0U, 60U, 61U, 80U, 200U}) {
        const std::string out = ladder_of(packet(0x04, facts), width, width % 2 == 0);
        std::size_t columns = 0;
        std::size_t lines = 0;
        for (const char c : out) {
            if (c == '\n') {
                CHECK(columns == std::max(width, Ladder::kNarrowest));
                columns = 0;
                ++lines;
            } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
                ++columns;
            }
        }
        CHECK(lines == 2);
    }
}

TEST_CASE("ladder: PSNs that no packet carried are named across the wrap", "[print]") {
    const decode::FlowFacts facts{.role = "requester", .gap = 5};
    CHECK(ladder_of(packet(0x04, facts), 80, true).contains(" 5 PSNs missing: 16777214-2 "));
}

} // namespace veriroce::print
