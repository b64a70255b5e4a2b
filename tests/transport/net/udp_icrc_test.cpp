// Which identification a received ICRC is right for, in messages that the kernel joined.
#include "transport/net/udp_icrc.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "dissector/wire/icrc.hpp"
#include "tests/transport/net/udp_packets.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using net::IcrcCheck;
using net::IcrcVerdict;

constexpr auto kExpected = IcrcVerdict::ExpectedId;
constexpr auto kSome = IcrcVerdict::SomeId;
constexpr auto kWrong = IcrcVerdict::Wrong;

wire::Envelope envelope() {
    return {.source = ip("10.77.0.2"), .destination = ip("10.77.0.1")};
}

std::uint32_t icrc_with(std::uint16_t id, wire::Bytes transport) {
    std::vector<std::byte> frame(transport.size() + wire::kMaxFrameOverhead);
    frame.resize(wire::write_frame({}, envelope(), id, transport, {}, frame));
    return wire::load_icrc(wire::Bytes(frame).last(wire::kIcrcBytes));
}

// The verdicts on datagrams of one message with these identifications; nothing is a broken one.
std::vector<IcrcVerdict> verdicts(IcrcCheck& check,
                                  const std::vector<std::optional<std::uint16_t>>& ids) {
    check.begin_message();
    std::vector<IcrcVerdict> all;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto bytes = UdpPacket(static_cast<std::uint32_t>(i), 64).bytes();
        const auto icrc = icrc_with(ids[i].value_or(0), bytes) ^ (ids[i] ? 0 : 0x00010203);
        all.push_back(check.judge(envelope(), bytes, icrc));
    }
    return all;
}

using Verdicts = std::vector<IcrcVerdict>;

} // namespace

TEST_CASE("udp icrc: identifications that count up from 0, or are all 0, are expected", "[net]") {
    IcrcCheck check(true);
    CHECK(verdicts(check, {0, 1, 2, 3}) == Verdicts(4, kExpected));
    CHECK(verdicts(check, {0, 0, 0, 0}) == Verdicts(4, kExpected));
    CHECK(verdicts(check, {0}) == Verdicts(1, kExpected));
    CHECK(verdicts(check, {5}) == Verdicts(1, kWrong));
    CHECK(verdicts(check, {0, 1, 7, 3}) == Verdicts{kExpected, kExpected, kWrong, kExpected});
}

TEST_CASE("udp icrc: a run that comes in two messages goes on", "[net]") {
    IcrcCheck check(true);
    CHECK(verdicts(check, {0, 1, 2}) == Verdicts(3, kExpected));
    CHECK(verdicts(check, {3, 4}) == Verdicts(2, kExpected));
    CHECK(verdicts(check, {5}) == Verdicts(1, kExpected));
    CHECK(verdicts(check, {0}) == Verdicts(1, kExpected));
    CHECK(verdicts(check, {3}) == Verdicts(1, kWrong));
}

TEST_CASE("udp icrc: what was found once is expected of those after it", "[net]") {
    IcrcCheck check(false);
    CHECK(verdicts(check, {0xFFFE, 0xFFFF, 0, 1}) ==
          Verdicts{kSome, kExpected, kExpected, kExpected});
    CHECK(verdicts(check, {77, 77, 77}) == Verdicts{kSome, kExpected, kExpected});
    CHECK(verdicts(check, {0, 9, 10}) == Verdicts{kExpected, kSome, kExpected});
}

TEST_CASE("udp icrc: a broken datagram does not take its neighbours with it", "[net]") {
    const bool expected_only = GENERATE(false, true);
    IcrcCheck check(expected_only);
    CHECK(verdicts(check, {0, std::nullopt, 2, 3}) ==
          Verdicts{kExpected, kWrong, kExpected, kExpected});
    CHECK(verdicts(check, {std::nullopt, 1, 2}) == Verdicts{kWrong, kExpected, kExpected});
}

TEST_CASE("udp icrc: pad is zero bytes behind the payload", "[net]") {
    const std::vector<std::byte> bytes(40, std::byte{0xA5});
    for (std::size_t pad = 0; pad <= 3; ++pad) {
        auto padded = bytes;
        padded.resize(bytes.size() + pad);
        CHECK(net::icrc_with_zeros(wire::icrc_unmasked(bytes), pad) == wire::icrc_unmasked(padded));
    }
}
