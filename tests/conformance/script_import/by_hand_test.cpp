// What is concluded from packets that were captured: lost ones, refused ones, what cannot be said.
#include <catch2/catch.hpp>

#include "tests/conformance/script_import/imported.hpp"

namespace veriroce::script_import::test {
namespace {

constexpr std::uint8_t send_first = 0x00;
constexpr std::uint8_t send_only = 0x04;
constexpr std::uint8_t read_only = 0x10;
constexpr std::uint8_t atomic_ack = 0x12;
constexpr std::uint8_t fetch_add = 0x14;

flow::Packet asking(flow::Packet packet) {
    packet.transport.bth.ack_request = true;
    return packet;
}

flow::Packet atomic(Wire& wire, std::uint32_t psn, std::uint64_t address) {
    flow::Packet packet = wire.from_a(fetch_add, psn);
    packet.transport.atomic = {.virtual_address = address, .rkey = {7}, .swap_or_add = 3};
    return packet;
}

} // namespace

TEST_CASE("script import: what a NAK shows to be lost is left out, and its NAK comes",
          "[script_import][RSP-02]") {
    Wire wire;
    const std::string script = script_by_hand(
        {asking(wire.from_a(send_only, 100, 8)), wire.ack(100, 1), wire.from_a(send_only, 101, 8),
         wire.from_a(send_only, 102, 8), wire.nak(101, 1, wire::NakCode::PsnSequence),
         wire.from_a(send_only, 101, 8), asking(wire.from_a(send_only, 102, 8)), wire.ack(102, 3)});
    INFO(script);
    CHECK(says(script, "# left out: 1 requests that were lost"));
    CHECK(says(script, "unless out_of_order\n"));
    CHECK(lines_beginning(script, "> SEND_ONLY  psn=1") == 1);
    CHECK(lines_beginning(script, "> SEND_ONLY  psn=2") == 2);
    CHECK(says(script, "< NAK        psn=1 code=PSN_SEQUENCE"));
    check_passes(script);
}

TEST_CASE("script import: a NAK that asks for nothing new loses nothing",
          "[script_import][RSP-03]") {
    Wire wire;
    const std::string script =
        script_by_hand({wire.from_a(send_only, 100, 8), asking(wire.from_a(send_only, 101, 8)),
                        wire.nak(101, 1, wire::NakCode::PsnSequence),
                        asking(wire.from_a(send_only, 101, 8)), wire.ack(101, 2)});
    INFO(script);
    CHECK_FALSE(says(script, "left out"));
    CHECK_FALSE(says(script, "NAK  "));
    check_passes(script);
}

TEST_CASE("script import: of two copies before an RNR NAK the first was lost",
          "[script_import][RNR-01]") {
    Wire wire;
    const std::string script = script_by_hand(
        {asking(wire.from_a(send_only, 100, 8)), asking(wire.from_a(send_only, 100, 8)),
         wire.answer(100, 0, wire::Syndrome::rnr(12)), asking(wire.from_a(send_only, 100, 8)),
         wire.ack(100, 1)});
    INFO(script);
    CHECK(says(script, "# left out: 1 requests that were lost"));
    CHECK(lines_beginning(script, "> SEND_ONLY") == 2);
    CHECK(lines_beginning(script, "< RNR_NAK") == 1);
    CHECK(says(script, "after rnr(12)"));
    check_passes(script);
}

TEST_CASE("script import: an ACK that nothing explains ends the script", "[script_import]") {
    Wire wire;
    const std::string script =
        script_by_hand({asking(wire.from_a(send_only, 100, 8)), wire.ack(100, 1),
                        asking(wire.from_a(send_only, 102, 8)), wire.ack(102, 3),
                        asking(wire.from_a(send_only, 103, 8)), wire.ack(103, 4)});
    INFO(script);
    CHECK(says(script, "# left out from here on: the capture does not show how PSN 2 arrived"));
    CHECK_FALSE(says(script, "psn=3"));
    check_passes(script);
}

TEST_CASE("script import: what the language cannot say ends the script", "[script_import]") {
    constexpr std::uint8_t resync = 0x15;
    Wire wire;
    const std::string script = script_by_hand(
        {asking(wire.from_a(send_only, 100, 8)), wire.ack(100, 1), asking(wire.from_a(resync, 101)),
         wire.ack(101, 2), asking(wire.from_a(send_only, 102, 8)), wire.ack(102, 3)});
    INFO(script);
    CHECK(says(script, "# left out from here on: "));
    CHECK(lines_beginning(script, "> ") == 1);
    check_passes(script);
}

TEST_CASE("script import: what must be refused is refused, whatever the captured device did",
          "[script_import][ATM-02]") {
    Wire wire;
    const std::string script = script_by_hand(
        {atomic(wire, 100, 0x1004), wire.answer(100, 1, wire::Syndrome::ack(31), atomic_ack)});
    INFO(script);
    CHECK(says(script, "va=a+4"));
    CHECK(says(script, "code=INVALID_REQUEST"));
    check_passes(script);

    Wire other;
    const std::string order =
        script_by_hand({other.from_a(send_first, 100, 1024),
                        asking(other.from_a(send_only, 101, 8)), other.ack(101, 1)});
    INFO(order);
    CHECK(says(order, "code=INVALID_REQUEST"));
    CHECK(says(order, "dut    done recv id=1 status=FAILED"));
    check_passes(order);
}

TEST_CASE("script import: atomics return what the ones before them left",
          "[script_import][ATM-01]") {
    Wire wire;
    std::vector<flow::Packet> packets;
    for (std::uint32_t psn = 100; psn < 103; ++psn) {
        packets.push_back(atomic(wire, psn, 0x1008));
        packets.push_back(wire.answer(psn, psn - 99, wire::Syndrome::ack(31), atomic_ack));
    }
    packets.push_back(atomic(wire, 101, 0x1008)); // again: ATM-04
    const std::string script = script_by_hand(packets);
    INFO(script);
    for (const char* value : {"psn=0 original=0x0", "psn=2 original=0x6"})
        CHECK(says(script, value));
    std::size_t again = 0;
    for (std::size_t at = script.find("psn=1 original=0x3"); at != std::string::npos;
         at = script.find("psn=1 original=0x3", at + 1))
        ++again;
    CHECK(again == 2);
    check_passes(script);
}

TEST_CASE("script import: data of a READ are not compared where a WRITE may have overtaken them",
          "[script_import][RDR-01]") {
    const auto packets = [](bool overtaken) {
        Wire wire;
        std::vector<flow::Packet> made;
        const auto write = [&] {
            flow::Packet packet = asking(wire.from_a(0x0A, 101, 64));
            packet.transport.reth = {.virtual_address = 0x1000, .rkey = {7}, .dma_length = 64};
            made.push_back(packet);
        };
        made.push_back(wire.read(100, 64));
        if (overtaken) write();
        made.push_back(wire.answer(100, 1, wire::Syndrome::ack(31), read_only, 64));
        if (!overtaken) write();
        made.push_back(wire.ack(101, 2));
        return made;
    };
    const std::string compared = script_by_hand(packets(false));
    CHECK(says(compared, "len=64 data=a[0 +64]\n"));
    check_passes(compared);
    const std::string overtaken = script_by_hand(packets(true));
    CHECK_FALSE(says(overtaken, "data=a"));
    check_passes(overtaken);
}

TEST_CASE("script import: the first messages alone, and which end asks", "[script_import]") {
    Wire wire;
    std::vector<flow::Packet> packets;
    for (std::uint32_t i = 0; i < 5; ++i) {
        packets.push_back(asking(wire.from_a(send_only, 100 + i, 64)));
        packets.push_back(wire.ack(100 + i, i + 1));
    }
    packets.push_back(asking(wire.from_b(send_only, 7000, 8)));
    for (const Part part : {Part::Requester, Part::Responder}) {
        const std::string three = script_by_hand(packets, {.tester = part, .messages = 3});
        INFO(three);
        CHECK(says(three, "# left out from here on: 3 messages were wanted"));
        CHECK(says(three, "psn=2"));
        CHECK_FALSE(says(three, "psn=3"));
        check_passes(three);
        const auto b = wire::IpAddress::parse("10.77.0.2");
        const std::string other = script_by_hand(packets, {.tester = part, .asking = b});
        INFO(other);
        CHECK(says(other, "psn=0x001B58"));
        CHECK(says(other, "# left out: 5 messages of the other direction (--from 10.77.0.1)"));
        check_passes(other);
    }
    const auto nobody =
        script_of(conversation_of(packets), {.asking = wire::IpAddress::parse("10.77.0.3")});
    REQUIRE_FALSE(nobody.has_value());
    CHECK(
        nobody.error() ==
        "10.77.0.3 is not an end of the connection 10.77.0.1 QP 0x000011 - 10.77.0.2 QP 0x000022");
}

TEST_CASE("script import: more receives than a queue holds are posted in turns",
          "[script_import]") {
    Wire wire;
    std::vector<flow::Packet> packets;
    for (std::uint32_t i = 0; i < 150; ++i)
        packets.push_back(asking(wire.from_a(send_only, 100 + i, 64)));
    packets.push_back(wire.ack(249, 150));
    for (const Part part : {Part::Requester, Part::Responder}) {
        const std::string script = script_by_hand(packets, {.tester = part});
        INFO(script);
        CHECK(says(script, part == Part::Requester ? "dut    recv id=129..150"
                                                   : "dut    post SEND id=101..150"));
        check_passes(script);
    }
}

TEST_CASE("script import: a script that would be too long is refused, with what helps",
          "[script_import]") {
    Wire wire;
    std::vector<flow::Packet> packets;
    for (std::uint32_t i = 0; i < 12'000; ++i)
        packets.push_back(wire.from_a(send_only, 100 + i, 8));
    const auto script = script_of(conversation_of(packets), {});
    REQUIRE_FALSE(script.has_value());
    CHECK(script.error().ends_with("Take fewer messages (--messages)"));
}

TEST_CASE("script import: memory beyond what a region holds ends the script", "[script_import]") {
    Wire wire;
    const std::string script = script_by_hand(
        {asking(wire.from_a(send_only, 100, 8)), wire.ack(100, 1), wire.read(101, 1U << 30)});
    INFO(script);
    CHECK(says(script, "# left out from here on: frame 3 accesses memory that no region"));
    check_passes(script);
}

} // namespace veriroce::script_import::test
