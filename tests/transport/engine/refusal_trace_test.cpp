// Why a packet had no effect: each refusal names its check, the check's rules and what followed.
#include "conformance/rules/rules.hpp"
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

std::vector<std::string> refusals(Lab& lab) {
    std::vector<std::string> all;
    while (const auto refusal = lab.engine.poll_refusal())
        all.push_back(text_of(*refusal));
    return all;
}

using Texts = std::vector<std::string>;

wire::Packet write_only(const Lab& lab, std::uint32_t length) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    packet.reth.dma_length = length;
    return packet;
}

template <typename Rows>
void check_rows(const Rows& rows) {
    for (const auto& row : rows) {
        CAPTURE(row.name, row.rules);
        CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
        CHECK(std::ranges::count(rows, row.name, [](const auto& one) { return one.name; }) == 1);
        std::string_view rules = row.rules;
        while (!rules.empty()) {
            const std::size_t end = std::min(rules.find(", "), rules.size());
            CHECK(rules::catalogue().contains(rules.substr(0, end)));
            rules.remove_prefix(std::min(end + 2, rules.size()));
        }
    }
}

} // namespace

TEST_CASE("checks: every row has a name of its own and rules of the catalogue", "[engine]") {
    check_rows(kPacketRows);
    check_rows(kRequestRows);
    check_rows(kDuplicateRows);
    check_rows(kDatagramRows);
    check_rows(kResponseRows);
    check_rows(kSendRows);
    check_rows(kDropRows);
    const auto cites = [](const auto& rows) {
        return std::ranges::none_of(rows, [](const auto& row) { return row.rules.empty(); });
    };
    CHECK(cites(kPacketRows));
    CHECK(cites(kRequestRows));
    CHECK(cites(kDuplicateRows));
    CHECK(cites(kDatagramRows));
    CHECK(cites(kResponseRows));
    CHECK(cites(kSendRows));
}

TEST_CASE("refusals: an accepted packet leaves none", "[engine]") {
    Lab lab;
    lab.receive(write_only(lab, 8), pattern(8));
    CHECK(lab.one().name() == "ACKNOWLEDGE");
    CHECK(refusals(lab).empty());
}

TEST_CASE("refusals: a NAK names the check that asked for it", "[engine][KEY-05]") {
    Lab lab;
    wire::Packet packet = write_only(lab, 8);
    packet.reth.virtual_address += region_bytes - 4;
    lab.receive(packet, pattern(8));
    CHECK(refusals(lab) == Texts{"RDMA_WRITE_ONLY for QP 0x000011, PSN 1000: "
                                 "NAK remote access error by key-range (KEY-05, KEY-06)"});
    CHECK(refusals(lab).empty()); // each is told once
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4));
    CHECK(refusals(lab) == Texts{"SEND_ONLY for QP 0x000011, PSN 1001: "
                                 "dropped by state (STA-01, STA-02, STA-07)"});
}

TEST_CASE("refusals: gaps, missing receives and other faults are told apart", "[engine]") {
    Lab lab;
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK(refusals(lab) == Texts{"SEND_ONLY for QP 0x000011, PSN 1000: "
                                 "RNR NAK by receive-ready (RNR-01, RNR-02)"});
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 2), pattern(4));
    CHECK(refusals(lab) == Texts{"SEND_ONLY for QP 0x000011, PSN 1002: "
                                 "dropped by one-nak (RSP-03, RSP-05, RNR-04)"});
    lab.post_receive(1, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 2), pattern(4));
    CHECK(refusals(lab) ==
          Texts{"SEND_ONLY for QP 0x000011, PSN 1002: "
                "NAK PSN sequence error by expected-psn (RSP-01, RSP-02, RSP-08)"});
    wire::Packet invalidating = lab.packet("SEND_ONLY_WITH_INV", rq_psn + 1);
    lab.post_receive(2, 64);
    lab.receive(invalidating, pattern(4));
    CHECK(refusals(lab) == Texts{"SEND_ONLY_WITH_INV for QP 0x000011, PSN 1001: "
                                 "QP ended without an answer by invalidate-key (KEY-11)"});
}

TEST_CASE("refusals: packets that no check of a QP sees", "[engine][BTH-02][BTH-20]") {
    Lab lab;
    wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
    packet.bth.dest_qp = wire::Qpn{0xABCDEF};
    lab.receive(packet, pattern(4));
    packet.bth.dest_qp = wire::Qpn{0xFFFFFF};
    lab.receive(packet, pattern(4));
    const std::vector<std::byte> few(5);
    lab.engine.handle({.envelope = {}, .bytes = few}, lab.now);
    CHECK(refusals(lab) ==
          Texts{"SEND_ONLY for QP 0xabcdef, PSN 1000: dropped by unknown-qp (BTH-02, BTH-03)",
                "SEND_ONLY for QP 0xffffff, PSN 1000: dropped by unknown-group (BTH-04)",
                "packet without a whole BTH: dropped by too-short (BTH-20)"});
    packet.bth.dest_qp = our_qpn;
    packet.bth.version = 1;
    lab.receive(packet, pattern(4));
    CHECK(refusals(lab) == Texts{"SEND_ONLY for QP 0x000011, PSN 1000: "
                                 "dropped by transport-version (BTH-01)"});
    CHECK(lab.engine.counters().dropped == 4);
}

TEST_CASE("refusals: a duplicate that is not answered", "[engine][RDR-07][RSP-12]") {
    Lab lab;
    wire::Packet packet = lab.packet("RDMA_READ_REQUEST", rq_psn);
    packet.reth.dma_length = 8;
    lab.receive(packet);
    CHECK(lab.one().name() == "RDMA_READ_RESPONSE_ONLY");
    packet.reth.dma_length = 16;
    lab.receive(packet);
    CHECK(refusals(lab) == Texts{"RDMA_READ_REQUEST for QP 0x000011, PSN 1000: "
                                 "dropped by within-read (RDR-05, RDR-07)"});
}

TEST_CASE("refusals: responses at the requester", "[engine][REQ-07][REQ-21]") {
    Lab lab;
    lab.receive(lab.ack(sq_psn + 5, 1));
    CHECK(refusals(lab) == Texts{"ACKNOWLEDGE for QP 0x000011, PSN 2005: "
                                 "dropped by window (REQ-06, REQ-07, REQ-18, N-38)"});
    post(lab, WrOpcode::RdmaRead, 8, 2);
    CHECK(lab.one().name() == "RDMA_READ_REQUEST");
    lab.receive(lab.packet("RDMA_READ_RESPONSE_ONLY", sq_psn), pattern(4));
    CHECK(refusals(lab) == Texts{"RDMA_READ_RESPONSE_ONLY for QP 0x000011, PSN 2000: "
                                 "work request failed by read-length (REQ-21, REQ-22)"});
}

TEST_CASE("refusals: the engine keeps the newest, and their numbers show how many are lost",
          "[engine]") {
    Lab lab;
    constexpr std::uint32_t many = kRefusals + 10;
    for (std::uint32_t i = 0; i < many; ++i) {
        lab.now += 1us;
        lab.receive(lab.ack(sq_psn + i, 1));
    }
    std::uint64_t expected = many - kRefusals;
    while (const auto refusal = lab.engine.poll_refusal()) {
        ++expected;
        CHECK(refusal->number == expected);
        CHECK(refusal->by == RefusedBy{ResponseCheck::Window});
        CHECK(refusal->outcome == RefusalOutcome::Dropped);
        CHECK(refusal->at == wire::Instant{} + expected * 1us);
        REQUIRE(refusal->bth);
        CHECK(refusal->bth->psn == sq_psn + static_cast<std::int64_t>(expected - 1));
    }
    CHECK(expected == many);
}
