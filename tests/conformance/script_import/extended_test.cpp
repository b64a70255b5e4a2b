// SEND with Invalidate, FLUSH and ATOMIC WRITE, as our engine sends and answers them on a virtual
// link: captured, imported, played.
#include <catch2/catch.hpp>

#include "tests/conformance/script_import/imported.hpp"

namespace veriroce::script_import::test {
namespace {

// What passes the link while this script is played.
std::vector<flow::test::Frame> captured(std::string_view dialogue) {
    const interpreter::CaseResult result = veriroce::test::play_script(
        "rule   RSP-01\ntitle  \"captured\"\nrole   both\n\n" + std::string(dialogue));
    INFO(veriroce::test::text_of(result));
    REQUIRE(result.verdict == interpreter::Verdict::Pass);
    std::vector<flow::test::Frame> frames;
    for (const interpreter::RecordedPacket& packet : result.packets) {
        frames.push_back(
            {.bytes = packet.frame, .time_ns = packet.at.earliest.time_since_epoch().count()});
    }
    return frames;
}

std::string imported(const std::vector<flow::test::Frame>& frames, Part part,
                     std::string_view asking) {
    const auto found = connections_in(frames);
    REQUIRE(found.size() == 1);
    const auto script = script_of(
        conversation_in(frames, found.front()),
        {.tester = part, .asking = wire::IpAddress::parse(asking), .source = "engine.pcap"});
    if (!script) FAIL(script.error());
    return *script;
}

constexpr std::string_view tester_asks = "192.0.2.2";
constexpr std::string_view dut_asks = "192.0.2.1";

constexpr std::string_view with_invalidate =
    "dut    mr a len=4KiB access=mw_bind,remote_write\n"
    "dut    mw w on=a type=2\n"
    "dut    mw x on=a type=2\n"
    "dut    post BIND_MW id=1 mw=w\n"
    "dut    post BIND_MW id=2 mw=x\n"
    "dut    done send id=1..2\n"
    "dut    recv id=1..3 len=8KiB\n"
    "tester mr t len=8KiB fill=offsets\n"
    "tester answers\n"
    "tester post SEND_WITH_INV id=3 ikey=w len=16\n"
    "tester post SEND_WITH_INV id=4 ikey=x local=t[0 +5000]\n"
    "tester post SEND id=5 len=100\n"
    "tester done send id=3..5\n"
    "dut    done recv id=1..3\n";

constexpr std::string_view writes_and_flushes =
    "dut    mr d len=4KiB fill=offsets\n"
    "tester mr t len=4KiB fill=zero access=remote_write,flush_global\n"
    "tester mr u len=4KiB fill=zero access=remote_write\n"
    "tester answers\n"
    "dut    post RDMA_WRITE id=1 local=d[0 +600] remote=t[512 +600]\n"
    "dut    post FLUSH id=2 remote=t[512 +600]\n"
    "dut    post ATOMIC_WRITE id=3 local=d[8 +8] remote=u[8 +8]\n"
    "dut    post ATOMIC_WRITE id=4 local=d[16 +8] remote=u[8 +8]\n"
    "dut    post SEND id=5 len=40\n"
    "tester recv id=1\n"
    "dut    done send id=1..5\n"
    "tester done recv id=1\n";

} // namespace

TEST_CASE("script import: a SEND with Invalidate ends a window that the device has bound",
          "[script_import][KEY-11]") {
    const auto frames = captured(with_invalidate);
    const std::string script = imported(frames, Part::Requester, tester_asks);
    INFO(script);
    CHECK(says(script, "needs  mw send_inv\n"));
    CHECK(lines_beginning(script, "dut    mw w") == 2);
    CHECK(lines_beginning(script, "> SEND_ONLY_WITH_INV") == 1);
    CHECK(lines_beginning(script, "> SEND_LAST_WITH_INV") == 1);
    CHECK(says(script, " ikey=w1"));
    CHECK(says(script, " ikey=w2"));
    CHECK_FALSE(says(script, "left out"));
    CHECK(says(script, "dut    done recv id=2 len=5000"));
    check_passes(script);
    CHECK(says(script, " KEY-11"));
}

TEST_CASE("script import: a device is made to send with the captured key",
          "[script_import][KEY-11]") {
    const std::string script = imported(captured(with_invalidate), Part::Responder, tester_asks);
    INFO(script);
    CHECK(says(script, "needs  send_inv\n"));
    CHECK(says(script, "dut    post SEND_WITH_INV id=1 local=s[0 +16] ikey=abs:0x"));
    CHECK(lines_beginning(script, "< SEND_WITH_INV") == 2);
    CHECK_FALSE(says(script, "left out"));
    check_passes(script);
}

TEST_CASE("script import: FLUSH and ATOMIC WRITE are answered by empty READ responses",
          "[script_import][EXT-02]") {
    const auto frames = captured(writes_and_flushes);
    const std::string asked = imported(frames, Part::Requester, dut_asks);
    INFO(asked);
    CHECK(says(asked, "needs  flush atomic_write\n"));
    CHECK(says(asked, "access=remote_write,flush_global"));
    CHECK(says(asked, "dmalen=600 plt=1 sel=0"));
    CHECK(lines_beginning(asked, "< RDMA_READ_RESPONSE_ONLY") == 3);
    CHECK(says(asked, "expect b[2056 +8] == hex\""));
    CHECK_FALSE(says(asked, "left out"));
    check_passes(asked);

    const std::string asks = imported(frames, Part::Responder, dut_asks);
    INFO(asks);
    CHECK(says(asks, "dut    post FLUSH id=2 remote=ta[2560 +600]"));
    CHECK(says(asks, "dut    post ATOMIC_WRITE id=3 local=s[0 +8] remote=tb[2056 +8]"));
    CHECK(lines_beginning(asks, "> RDMA_READ_RESPONSE_ONLY") == 3);
    CHECK_FALSE(says(asks, "left out"));
    check_passes(asks);
}

TEST_CASE("script import: a FLUSH to persistence ends the script", "[script_import][EXT-03]") {
    Wire wire;
    flow::Packet send = wire.from_a(0x04, 100, 8);
    send.transport.bth.ack_request = true;
    flow::Packet flush = wire.from_a(0x1C, 101);
    flush.transport.reth = {.virtual_address = 0x1000, .rkey = {7}, .dma_length = 64};
    flush.transport.feth = {.selectivity = 0, .placement = 2};
    const std::string script = script_by_hand({send, wire.ack(100, 1), flush});
    INFO(script);
    CHECK(says(script, "# left out from here on: a FLUSH with placement 2, selectivity 0"));
    check_passes(script);
}

TEST_CASE("script import: an ATOMIC WRITE to an odd address is refused",
          "[script_import][EXT-01]") {
    Wire wire;
    flow::Packet write = wire.from_a(0x1D, 100, 8);
    write.transport.reth = {.virtual_address = 0x1004, .rkey = {7}, .dma_length = 8};
    const std::string script =
        script_by_hand({write, wire.nak(100, 0, wire::NakCode::InvalidRequest)});
    INFO(script);
    CHECK(says(script, "va=a+4"));
    CHECK(says(script, "code=INVALID_REQUEST"));
    check_passes(script);
}

} // namespace veriroce::script_import::test
