// What an action makes of the bytes on the wire. Offsets are typed by hand: Ethernet 14, IPv4 20
// (IPv6 40), UDP 8, so that the BTH begins at 42 (62).
#include "tests/transport/fault/packets.hpp"

#include "dissector/wire/icrc.hpp"

namespace veriroce::fault::tests {
namespace {

using veriroce::wire::Field;

Frame after(const Action& action, const Frame& frame, std::int64_t psn = 0) {
    Wire wire({{.action = action}});
    const Decision decision = wire.pass(frame, psn);
    REQUIRE_FALSE(decision.untouched);
    REQUIRE(decision.emissions.size() == 1);
    CHECK(decision.rules == std::vector<std::size_t>{0});
    return decision.emissions[0].frame;
}

std::vector<std::size_t> changed(const Frame& before, const Frame& now) {
    REQUIRE(before.size() == now.size());
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != now[i]) offsets.push_back(i);
    }
    return offsets;
}

bool ip_checksum_good(const Frame& frame) {
    return veriroce::wire::checksum_fold(
               veriroce::wire::checksum_add(veriroce::wire::Bytes(frame).subspan(ip, 20))) == 0;
}

// What a receiver says of the frame: nothing if all is well.
std::optional<veriroce::wire::FrameError> refusal(const Frame& frame) {
    const auto result = veriroce::wire::unseal(veriroce::wire::Bytes(frame));
    if (result) return std::nullopt;
    return result.error();
}

std::uint32_t icrc_on_wire(const Frame& frame) {
    return veriroce::wire::load_icrc(veriroce::wire::Bytes(frame).last(4));
}

} // namespace

TEST_CASE("fault: corrupt bit flips that bit and leaves the ICRC stale", "[fault]") {
    const Frame before = packet("SEND_ONLY", 0);
    const std::size_t bit = (bth4 - ip) * 8 + 95; // the last of the BTH: PSN bit 0
    const Frame now = after(Corrupt{CorruptBit{bit}}, before);
    CHECK(changed(before, now) == std::vector<std::size_t>{bth4 + 11});
    CHECK(now[bth4 + 11] == (before[bth4 + 11] ^ std::byte{1}));
    CHECK(refusal(now) == veriroce::wire::FrameError::BadIcrc);
}

TEST_CASE("fault: corrupt of the IP header makes its checksum good again", "[fault]") {
    const Frame before = packet("SEND_ONLY", 0);
    const Frame now = after(Corrupt{CorruptByte{5}}, before); // the low byte of the IP ID
    CHECK(now[ip + 5] == ~before[ip + 5]);
    CHECK(changed(before, now) == std::vector<std::size_t>{ip + 5, ip + 10, ip + 11});
    CHECK(ip_checksum_good(now));
    CHECK(icrc_on_wire(now) == icrc_on_wire(before));
    CHECK(refusal(now) == veriroce::wire::FrameError::BadIcrc);
}

TEST_CASE("fault: a corrupted checksum stays wrong", "[fault]") {
    const Frame before = packet("SEND_ONLY", 0);
    const Frame now = after(Corrupt{CorruptField{Field::IpChecksum}}, before);
    CHECK(changed(before, now) == std::vector<std::size_t>{ip + 10, ip + 11});
    CHECK(refusal(now) == veriroce::wire::FrameError::BadIpChecksum);
}

TEST_CASE("fault: corrupt field inverts the field, in either IP family", "[fault]") {
    for (const bool v6 : {false, true}) {
        const std::size_t bth = v6 ? bth4 + 20 : bth4;
        const Frame before = packet("RDMA_READ_REQUEST", 1, v6);
        const Frame psn = after(Corrupt{CorruptField{Field::Psn}}, before, 1);
        CHECK(changed(before, psn) == std::vector<std::size_t>{bth + 9, bth + 10, bth + 11});
        CHECK(refusal(psn) == veriroce::wire::FrameError::BadIcrc);
        const Frame rkey = after(Corrupt{CorruptField{Field::Rkey}}, before, 1);
        CHECK(changed(before, rkey) ==
              std::vector<std::size_t>{bth + 20, bth + 21, bth + 22, bth + 23});
        const Frame tver = after(Corrupt{CorruptField{Field::TVer}}, before, 1);
        CHECK(changed(before, tver) == std::vector<std::size_t>{bth + 1});
        CHECK(tver[bth + 1] == (before[bth + 1] ^ std::byte{0x0F}));
        const Frame icrc = after(Corrupt{CorruptField{Field::Icrc}}, before, 1);
        CHECK(icrc_on_wire(icrc) == ~icrc_on_wire(before));
    }
}

TEST_CASE("fault: a UDP checksum that was there is good after a corruption", "[fault]") {
    for (const bool v6 : {false, true}) {
        Frame before = packet("SEND_ONLY", 0, v6);
        const std::size_t udp = v6 ? 54 : 34;
        // Some checksum that is not zero; corrupt makes it the right one.
        before[udp + 6] = std::byte{0x12};
        const Frame now = after(Corrupt{CorruptField{Field::Psn}}, before);
        CHECK(refusal(now) == veriroce::wire::FrameError::BadIcrc); // and not BadUdpChecksum
        const Frame itself = after(Corrupt{CorruptField{Field::UdpChecksum}}, before);
        CHECK(refusal(itself) == veriroce::wire::FrameError::BadUdpChecksum);
    }
}

TEST_CASE("fault: what a packet has not cannot be corrupted, and counts as not fired", "[fault]") {
    Wire wire(
        {{.action = Corrupt{CorruptField{Field::Va}}}, {.action = Corrupt{CorruptByte{5'000}}}});
    CHECK(wire.pass(packet("SEND_ONLY", 0), 0).untouched);
    CHECK(wire.injector.fired(0).selected == 1);
    CHECK(wire.injector.fired(0).fired == 0);
    CHECK(wire.injector.unmet().size() == 2);
}

TEST_CASE("fault: duplicate sends the packet again", "[fault]") {
    Wire wire({{.action = Duplicate{.copies = 2, .after = std::chrono::microseconds(5)}}});
    const Frame frame = packet("SEND_ONLY", 0);
    const Decision decision = wire.pass(frame, 0);
    REQUIRE(decision.emissions.size() == 3);
    for (const Emission& emission : decision.emissions)
        CHECK(emission.frame == frame);
    CHECK(decision.emissions[0].delay.count() == 0);
    CHECK(decision.emissions[2].delay == std::chrono::microseconds(5));
}

TEST_CASE("fault: a delayed packet is not overtaken on its side of its QP", "[fault]") {
    using std::chrono::microseconds;
    Wire wire({{.action = Delay{microseconds(10)}, .selector = {.psn = Range{0, 0}}}});
    const Frame frame = packet("SEND_ONLY", 0);
    CHECK(wire.pass(frame, 0).emissions.at(0).delay == microseconds(10));
    // A microsecond later: nine are left.
    const Decision held = wire.pass(frame, 1);
    REQUIRE(held.emissions.size() == 1);
    CHECK(held.emissions[0].frame == frame);
    CHECK(held.emissions[0].delay == microseconds(9));
    CHECK(held.rules.empty());
    CHECK(wire.pass(frame, 1, End::A).untouched);
    CHECK(wire.pass(frame, 1, End::B, "b").untouched);
    wire.now += microseconds(20);
    CHECK(wire.pass(frame, 2).untouched);
}

TEST_CASE("fault: rewrite makes checksums and ICRC good", "[fault]") {
    const Frame before = packet("RDMA_READ_REQUEST", 1);
    const Rewrite rewrite{{{Field::Rkey, std::uint64_t{0xDEADBEEF}},
                           {Field::IpTtl, std::uint64_t{3}},
                           {Field::Psn, std::uint64_t{4}}}};
    const Frame now = after(rewrite, before, 1);
    CHECK(refusal(now) == std::nullopt);
    CHECK(now[ip + 8] == std::byte{3});
    CHECK(veriroce::wire::load_u32(now, bth4 + 20) == 0xDEADBEEF);
    // PSNs count from the first, which is 0xFFFFFE here.
    CHECK(veriroce::wire::load_u24(now, bth4 + 9) == 0x000002);
    Wire other({{.action = rewrite}});
    CHECK(other.pass(packet("SEND_ONLY", 0), 0).untouched); // it has no rkey
}

TEST_CASE("fault: truncate keeps bytes from the BTH on and repairs lengths", "[fault]") {
    for (const bool v6 : {false, true}) {
        const std::size_t bth = v6 ? bth4 + 20 : bth4;
        const Frame before = packet("SEND_ONLY", 0, v6);
        const Frame now = after(Truncate{20}, before);
        REQUIRE(now.size() == bth + 20);
        CHECK(veriroce::wire::load_u16(now, bth - 4) == 8 + 20);
        CHECK(veriroce::wire::load_u16(now, v6 ? ip + 4 : ip + 2) == (v6 ? 28 : 48));
        CHECK(refusal(now) == veriroce::wire::FrameError::BadIcrc);
        if (!v6) CHECK(ip_checksum_good(now));
        const Frame tiny = after(Truncate{3}, before);
        CHECK(tiny.size() == bth + 3);
        CHECK(refusal(tiny) == veriroce::wire::FrameError::Truncated);
        Wire longer({{.action = Truncate{1'000}}});
        CHECK(longer.pass(before, 0).untouched);
    }
}

TEST_CASE("fault: mark ce sets both ECN bits and harms nothing else", "[fault]") {
    for (const bool v6 : {false, true}) {
        const Frame before = packet("SEND_ONLY", 0, v6);
        const Frame now = after(MarkCe{}, before);
        CHECK(refusal(now) == std::nullopt);
        const auto frame = veriroce::wire::decode_frame(now);
        REQUIRE(frame);
        CHECK(frame->envelope().ecn == 3);
        CHECK(icrc_on_wire(now) == icrc_on_wire(before));
    }
}

} // namespace veriroce::fault::tests
