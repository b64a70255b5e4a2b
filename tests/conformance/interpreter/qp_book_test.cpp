// What the book of a QP knows: PSNs from the asking side's first, across the wrap; messages; and
// repetitions.
#include "conformance/interpreter/qp_book.hpp"

#include <catch2/catch.hpp>

namespace veriroce::interpreter::test {
namespace {

using wire::Operation;
using wire::Position;

QpBook book_at(std::uint32_t dut_start, std::uint32_t tester_start) {
    return QpBook({.name = {},
                   .dut_qpn = {0x12},
                   .tester_qpn = {0x800},
                   .dut_start = wire::Psn(dut_start),
                   .tester_start = wire::Psn(tester_start),
                   .mtu = wire::Mtu::B1024});
}

wire::Packet packet(Operation operation, Position position, std::uint32_t psn,
                    std::uint32_t dma_length = 0) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_of(wire::Service::Rc, operation, position, false, false);
    packet.bth.psn = wire::Psn(psn);
    packet.headers = packet.info().headers;
    packet.reth.dma_length = dma_length;
    return packet;
}

wire::Packet send_only(std::uint32_t psn) {
    return packet(Operation::Send, Position::Only, psn);
}
wire::Packet ack(std::uint32_t psn) {
    return packet(Operation::Acknowledge, Position::Only, psn);
}
wire::Packet read(std::uint32_t psn, std::uint32_t length) {
    return packet(Operation::RdmaReadRequest, Position::Only, psn, length);
}

} // namespace

TEST_CASE("book: PSNs count from the asking side's first, across the wrap",
          "[interpreter][RSP-09]") {
    const QpBook book = book_at(0xFFFFFE, 0xFFFFFF);
    CHECK(book.relative_psn(Side::Tester, send_only(0xFFFFFF)) == 0);
    CHECK(book.relative_psn(Side::Tester, send_only(0)) == 1);
    CHECK(book.relative_psn(Side::Tester, send_only(0xFFFFFE)) == -1);
    CHECK(book.relative_psn(Side::Dut, send_only(1)) == 3);
    // A response is numbered by those who asked.
    CHECK(book.relative_psn(Side::Dut, ack(0)) == 1);
    CHECK(book.relative_psn(Side::Tester, ack(0)) == 2);
}

TEST_CASE("book: an absolute PSN is the inverse of the relative one", "[interpreter]") {
    const QpBook book = book_at(0x000010, 0xFFFFFF);
    const std::uint8_t opcode = send_only(0).bth.opcode;
    for (const std::int64_t psn : {-5, -1, 0, 1, 2, 1000}) {
        wire::Packet one = send_only(0);
        one.bth.psn = book.absolute_psn(Side::Tester, opcode, psn);
        CHECK(book.relative_psn(Side::Tester, one) == psn);
    }
    CHECK(book.absolute_psn(Side::Tester, opcode, 1) == wire::Psn(0));
    CHECK(book.absolute_psn(Side::Tester, ack(0).bth.opcode, 0) == wire::Psn(0x10));
}

TEST_CASE("book: a READ of the tester takes a PSN for each response", "[interpreter][LEN-07]") {
    QpBook book = book_at(0, 100);
    book.note(Side::Tester, read(100, 4096), {});
    CHECK(book.next_request() == 4);
    book.note(Side::Tester, send_only(104), {});
    CHECK(book.next_request() == 5);
    book.note(Side::Tester, read(105, 0), {});
    CHECK(book.next_request() == 6);
    CHECK_FALSE(book.repeated_up_to(5));
    book.note(Side::Tester, send_only(104), {});
    CHECK(book.next_request() == 6);
    CHECK_FALSE(book.repeated_up_to(3));
    CHECK(book.repeated_up_to(4));
    book.rewind_next_request(1);
    CHECK(book.next_request() == 1);
}

TEST_CASE("book: an honest MSN counts the DUT's messages, READs once", "[interpreter][ACK-07]") {
    QpBook book = book_at(0xFFFFFF, 0);
    book.note(Side::Dut, packet(Operation::Send, Position::First, 0xFFFFFF), {}); // psn 0
    book.note(Side::Dut, packet(Operation::Send, Position::Last, 0), {});         // psn 1
    book.note(Side::Dut, read(1, 3 * 1024), {});                                  // psn 2 to 4
    book.note(Side::Dut, send_only(4), {});                                       // psn 5
    CHECK(book.last_dut_request() == 5);
    CHECK(book.msn_up_to(0, true) == wire::Msn{0});
    CHECK(book.msn_up_to(1, false) == wire::Msn{0});
    CHECK(book.msn_up_to(1, true) == wire::Msn{1});
    CHECK(book.msn_up_to(4, true) == wire::Msn{2});
    CHECK(book.msn_up_to(5, true) == wire::Msn{3});
    // A READ's tail that is requested again is not a message of its own.
    book.note(Side::Dut, read(2, 2 * 1024), {}); // psn 3
    CHECK(book.msn_up_to(5, true) == wire::Msn{3});
}

TEST_CASE("book: requests and responses of the DUT are counted by PSN", "[interpreter]") {
    QpBook book = book_at(7, 100);
    CHECK(book.last_dut_request() == -1);
    CHECK_FALSE(book.dut_request(0).has_value());
    const Interval when{wire::Instant(std::chrono::seconds(1)),
                        wire::Instant(std::chrono::seconds(2))};
    book.note(Side::Dut, read(7, 2048), {});
    book.note(Side::Dut, read(7, 2048), when);
    const auto asked = book.dut_request(0);
    REQUIRE(asked.has_value());
    CHECK(asked->times == 2);
    CHECK(asked->dma_length == 2048);
    CHECK(asked->ends_message);
    CHECK(asked->last.latest == when.latest);
    CHECK(book.dut_responses(0) == 0);
    book.note(Side::Dut, ack(100), {});
    book.note(Side::Dut, ack(100), {});
    CHECK(book.dut_responses(0) == 2);
    CHECK(book.dut_responses(1) == 0);
}

} // namespace veriroce::interpreter::test
