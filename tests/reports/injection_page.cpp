#include "tests/reports/injection_page.hpp"

#include <catch2/catch.hpp>

#include "dissector/wire/packet.hpp"
#include "reports/injection_html.hpp"

namespace veriroce::reports::test {
namespace {

using namespace std::chrono_literals;
using fault::End;

constexpr std::string_view kHostilePlan = "</script><script>owned=1</script><img src=x "
                                          "onerror=owned=1>";

std::vector<std::byte> frame(std::string_view opcode, std::uint32_t psn, wire::Syndrome syndrome) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name(opcode);
    const bool response = wire::opcode_info(packet.bth.opcode).response();
    packet.bth.dest_qp = wire::Qpn{response ? 0x21U : 0x11U};
    packet.bth.psn = wire::Psn(psn);
    packet.headers = wire::opcode_info(packet.bth.opcode).headers;
    packet.aeth.syndrome = syndrome;
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const std::vector<std::byte> payload(response ? 0 : 512, std::byte{7});
    wire::Envelope envelope{.source = wire::IpAddress::from_v4(0x0A000001),
                            .destination = wire::IpAddress::from_v4(0x0A000002)};
    if (response) std::swap(envelope.source, envelope.destination);
    std::vector<std::byte> whole(wire::kMaxFrameOverhead + headers.size() + payload.size());
    whole.resize(wire::write_frame({}, envelope, 7, headers, payload, whole));
    return whole;
}

} // namespace

std::string injection_page() {
    fault::Rule rule{.action = fault::Drop{}, .selector = {}, .line = 4};
    rule.text = "drop when from=a psn=3 pass=1 " + std::string(kHostilePlan);
    rule.selector.from = End::A;
    rule.selector.psn = fault::Range{3, 3};
    rule.selector.pass = fault::Range{1, 1};
    inject::Bump bump(1, {rule});
    inject::Excerpts excerpts(bump);
    std::vector<inject::Leaving> out;
    wire::Instant now(1s);
    const auto pass = [&](End from, const std::vector<std::byte>& bytes) {
        now += 10us;
        out.clear();
        const auto handled = bump.handle(from, bytes, now, out);
        excerpts.came(from, bytes, handled, now);
        for (const inject::Leaving& one : out)
            excerpts.went(one.to, one.bytes, false, now);
        bump.sent();
    };
    for (std::uint32_t psn = 0; psn < 4; ++psn) {
        pass(End::A, frame("SEND_ONLY", psn, {}));
        if (psn < 3) pass(End::B, frame("ACKNOWLEDGE", psn, wire::Syndrome::ack(31)));
    }
    now += 50us;
    pass(End::A, frame("SEND_ONLY", 3, {}));
    pass(End::B, frame("ACKNOWLEDGE", 3, wire::Syndrome::ack(31)));
    excerpts.finish();
    REQUIRE(excerpts.all().size() == 1);
    const std::vector<inject::Verdict> verdicts{{.line = 5,
                                                 .text = std::string(kHostilePlan),
                                                 .met = false,
                                                 .why = std::string(kHostilePlan)}};
    const std::vector<inject::SweepStep> sweep{
        {.loss = 0, .measured = 1s, .bytes = 100'000, .samples = {800'000, 820'000}},
        {.loss = 0.01, .measured = 1s, .bytes = 50'000, .samples = {400'000, 300'000}}};
    return injection_html({.bump = bump,
                           .verdicts = verdicts,
                           .path = "AF_PACKET",
                           .plan = std::string(kHostilePlan),
                           .seed = 1,
                           .began = wire::Instant(1s),
                           .elapsed = 1ms,
                           .a = {},
                           .b = {},
                           .sweep = sweep,
                           .excerpts = excerpts.all(),
                           .a_name = "eth1",
                           .b_name = "<img src=x onerror=owned=1>"});
}

} // namespace veriroce::reports::test
