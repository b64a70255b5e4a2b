#include "conformance/agent/wr_ledger.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace veriroce;
using namespace veriroce::agent;

WrLedger::Entry send(std::uint64_t id, std::uint64_t qp) {
    return {.id = id, .qp = {qp}, .queue = engine::Queue::Send, .opcode = engine::WcOpcode::Send};
}
WrLedger::Entry receive(std::uint64_t id, std::uint64_t qp) {
    return {
        .id = id, .qp = {qp}, .queue = engine::Queue::Receive, .opcode = engine::WcOpcode::Recv};
}

} // namespace

TEST_CASE("ledger: a number leads to what was posted, once", "[agent]") {
    WrLedger ledger;
    const auto one = ledger.add(send(~std::uint64_t{0}, 1));
    const auto other = ledger.add(receive(~std::uint64_t{0}, 1)); // ids need not differ
    CHECK(one != other);
    CHECK(ledger.take(other)->queue == engine::Queue::Receive);
    CHECK(ledger.take(one)->queue == engine::Queue::Send);
    CHECK_FALSE(ledger.take(one));
    CHECK_FALSE(ledger.take(12345));
}

TEST_CASE("ledger: a completion strikes out the unsignaled sends before it", "[agent]") {
    WrLedger ledger;
    ledger.add(send(1, 1));
    ledger.add(send(2, 1));
    const auto other_qp = ledger.add(send(3, 2));
    const auto recv = ledger.add(receive(4, 1));
    const auto signaled = ledger.add(send(5, 1));
    const auto later = ledger.add(send(6, 1));
    CHECK(ledger.take(signaled)->id == 5);
    CHECK(ledger.open() == 3); // the other QP's, the receive, and the later one
    CHECK(ledger.take(other_qp));
    CHECK(ledger.take(recv));
    CHECK(ledger.take(later)->id == 6);
}

TEST_CASE("ledger: a QP that is destroyed takes its work with it", "[agent]") {
    WrLedger ledger;
    const auto gone = ledger.add(send(1, 1));
    const auto stays = ledger.add(receive(2, 2));
    ledger.forget({1});
    CHECK_FALSE(ledger.take(gone));
    CHECK(ledger.take(stays));
}

TEST_CASE("ledger: what the device did not take is dropped", "[agent]") {
    WrLedger ledger;
    const auto first = ledger.add(send(1, 1));
    const auto refused = ledger.add(send(2, 1));
    ledger.drop(refused);
    CHECK_FALSE(ledger.take(refused));
    CHECK(ledger.take(first)->id == 1);
    CHECK(ledger.open() == 0);
}
