// What a responder may do in more than one lawful way: each option, both ways.
#include <algorithm>

#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

LabOptions choosing(const Behaviour& behaviour) {
    LabOptions options;
    options.config.behaviour = behaviour;
    return options;
}

void write(Lab& lab, int n, std::uint32_t length = 4) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    packet.reth.dma_length = length;
    lab.receive(packet, pattern(length));
}

wire::Packet read(const Lab& lab, int n, std::uint32_t length) {
    wire::Packet packet = lab.packet("RDMA_READ_REQUEST", rq_psn + n);
    packet.reth.dma_length = length;
    return packet;
}

wire::Packet write_imm(const Lab& lab, bool bad_key) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY_WITH_IMM", rq_psn);
    packet.reth.dma_length = 4;
    if (bad_key) packet.reth.rkey.value ^= 1;
    return packet;
}

} // namespace

TEST_CASE("ack policy: every packet, whether it asks or not", "[engine][ACK-02]") {
    Lab lab(choosing({.ack_policy = AckPolicy::EveryPacket}));
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn);
    first.bth.ack_request = false;
    first.reth.dma_length = 1028;
    lab.receive(first, pattern(1024));
    CHECK(lab.one().psn() == 1000);
}

TEST_CASE("ack policy: one for N requests, or when the delay is over", "[engine][ACK-03][TMO-07]") {
    Lab lab(choosing({.ack_policy = AckPolicy::EveryNth, .ack_every = 4, .ack_delay = 20us}));
    for (int n = 0; n < 3; ++n)
        write(lab, n);
    CHECK(lab.drain().empty());
    write(lab, 3);
    const Sent fourth = lab.one();
    CHECK(fourth.psn() == 1003);
    CHECK(fourth.msn() == 4);
    CHECK_FALSE(lab.engine.next_timeout());
    write(lab, 4);
    CHECK(lab.drain().empty());
    CHECK(lab.engine.next_timeout() == lab.now + 20us);
    lab.next_deadline();
    CHECK(lab.one().psn() == 1004);
}

TEST_CASE("ack policy: delayed, unless something says as much before", "[engine][ACK-03][ACK-01]") {
    Lab lab(choosing({.ack_policy = AckPolicy::Delayed}));
    write(lab, 0);
    lab.pass(9us);
    write(lab, 1);
    CHECK(lab.drain().empty());
    lab.pass(1us);
    const Sent both = lab.one();
    CHECK(both.psn() == 1001);
    CHECK(both.msn() == 2);
    SECTION("a READ response acknowledges what stands before it") {
        write(lab, 2);
        lab.receive(read(lab, 3, 8));
        CHECK(lab.one().name() == "RDMA_READ_RESPONSE_ONLY");
        CHECK_FALSE(lab.engine.next_timeout());
    }
    SECTION("and so does a NAK") {
        write(lab, 2);
        write(lab, 9);
        CHECK(lab.one().syndrome() == 0x60);
        CHECK_FALSE(lab.engine.next_timeout());
    }
    SECTION("a QP in ERR or RESET has no timer left") {
        write(lab, 2);
        const auto state = GENERATE(QpState::Err, QpState::Reset);
        REQUIRE(lab.engine.modify_qp(lab.qp, {.state = state}, lab.now));
        CHECK_FALSE(lab.engine.next_timeout());
        CHECK(lab.drain().empty());
    }
}

TEST_CASE("responder: a duplicate that asks for no ACK gets one or not", "[engine][RSP-11]") {
    const bool answered = GENERATE(true, false);
    Lab lab(choosing({.duplicate_without_ack_request_is_acked = answered}));
    write(lab, 0);
    lab.drain();
    wire::Packet again = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    again.reth.dma_length = 4;
    again.bth.ack_request = false;
    lab.receive(again, pattern(4));
    CHECK(lab.drain().size() == (answered ? 1 : 0));
}

TEST_CASE("responder: a duplicate lets a gap be NAKed anew, by option", "[engine][RSP-03]") {
    const bool rearms = GENERATE(false, true);
    Lab lab(choosing({.duplicate_rearms_nak = rearms}));
    write(lab, 0);
    write(lab, 2);
    CHECK(lab.drain().size() == 2);
    write(lab, 3);
    CHECK(lab.drain().empty());
    write(lab, 0);
    CHECK(lab.one().syndrome() == 0x1F);
    write(lab, 3);
    CHECK(lab.drain().size() == (rearms ? 1 : 0));
}

TEST_CASE("responder: a duplicate lets nothing be NAKed after an RNR NAK", "[engine][RNR-04]") {
    Lab lab(choosing({.duplicate_rearms_nak = true}));
    write(lab, 0);
    lab.drain();
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4));
    CHECK(lab.one().syndrome() >> 5 == 1); // RNR NAK
    write(lab, 0);
    CHECK(lab.one().syndrome() == 0x1F);
    write(lab, 2);
    CHECK(lab.drain().empty());
}

TEST_CASE("responder: the first READ response counts the READ in its MSN, or not",
          "[engine][N-01][RDR-03]") {
    const auto choice = GENERATE(FirstMsn::New, FirstMsn::Old);
    Lab lab(choosing({.first_msn = choice}));
    lab.receive(read(lab, 0, 3000));
    auto all = lab.drain();
    REQUIRE(all.size() == 3);
    CHECK(all[0].msn() == (choice == FirstMsn::New ? 1 : 0));
    CHECK(all[2].msn() == 1);
    lab.receive(read(lab, 3, 8)); // an ONLY always counts it
    CHECK(lab.one().msn() == 2);
}

TEST_CASE("responder: a response's MSN is its request's, or the newest", "[engine][RDR-03]") {
    const auto choice = GENERATE(ResponseMsn::OfRequest, ResponseMsn::Current);
    Lab lab(choosing({.response_msn = choice}));
    lab.receive(read(lab, 0, 8));
    wire::Packet add = lab.packet("FETCH_ADD", rq_psn + 1);
    lab.receive(add);
    write(lab, 2);
    const auto all = lab.drain();
    REQUIRE(all.size() == 3);
    const bool current = choice == ResponseMsn::Current;
    CHECK(all[0].msn() == (current ? 3 : 1));
    CHECK(all[1].msn() == (current ? 3 : 2));
    CHECK(all[2].msn() == 3);
}

TEST_CASE("responder: an ACK by itself tells of new credits, by option", "[engine][ACK-11]") {
    const bool tells = GENERATE(false, true);
    Lab lab(choosing({.credits = true, .unsolicited_credits = tells}));
    lab.post_receive(1, 100);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK(lab.one().syndrome() == 0);
    lab.post_receive(2, 100);
    const auto all = lab.drain();
    REQUIRE(all.size() == (tells ? 1 : 0));
    if (tells) {
        CHECK(all[0].psn() == 1000);
        CHECK(all[0].msn() == 1);
        CHECK(all[0].syndrome() == 1);
    }
    lab.post_receive(3, 100);
    CHECK(lab.drain().empty());
}

TEST_CASE("responder: an ACK that tells of new credits does not go back behind a READ",
          "[engine][ACK-11][ACK-04]") {
    Lab lab(choosing({.credits = true, .unsolicited_credits = true}));
    lab.post_receive(1, 100);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    lab.receive(read(lab, 1, 4));
    CHECK(lab.drain().back().psn() == 1001);
    lab.post_receive(2, 100);
    CHECK(lab.drain().empty());
}

TEST_CASE("responder: a duplicate READ of other memory is silent, or asked anew",
          "[engine][RDR-07]") {
    const auto choice = GENERATE(DuplicateRead::OriginalOnly, DuplicateRead::Revalidated);
    Lab lab(choosing({.duplicate_read = choice}));
    lab.receive(read(lab, 0, 100));
    lab.drain();
    wire::Packet other = read(lab, 0, 100);
    other.reth.virtual_address += 0x1000;
    lab.receive(other);
    auto all = lab.drain();
    if (choice == DuplicateRead::Revalidated) {
        REQUIRE(all.size() == 1);
        CHECK(std::ranges::equal(all[0].packet.payload(), lab.memory(0x1000, 100)));
    } else {
        CHECK(all.empty());
    }
    other.reth.rkey.value ^= 1; // never what the key does not allow
    lab.receive(other);
    lab.receive(read(lab, 0, 101)); // never more than the original
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: another duplicate atomic is silent, or draws the saved answer",
          "[engine][ATM-05]") {
    const auto choice = GENERATE(OtherAtomic::Silent, OtherAtomic::SavedAnswer);
    Lab lab(choosing({.other_atomic = choice}));
    const std::uint64_t before = lab.number(0);
    wire::Packet add = lab.packet("FETCH_ADD", rq_psn);
    add.atomic.swap_or_add = 5;
    lab.receive(add);
    lab.drain();
    add.atomic.swap_or_add = 6;
    lab.receive(add);
    const auto all = lab.drain();
    REQUIRE(all.size() == (choice == OtherAtomic::SavedAnswer ? 1 : 0));
    if (!all.empty()) CHECK(all[0].packet.atomic_ack.original == before);
    CHECK(lab.number(0) == before + 5);
    wire::Packet of_read = lab.packet("FETCH_ADD", rq_psn + 1); // a READ is not an atomic
    lab.receive(read(lab, 1, 8));
    lab.drain();
    lab.receive(of_read);
    CHECK(lab.drain().empty());
}

TEST_CASE("responder: what lies behind a duplicate is sent again too, by option",
          "[engine][RDR-15]") {
    const bool resends = GENERATE(false, true);
    Lab lab(choosing({.duplicate_resends_later = resends}));
    lab.receive(read(lab, 0, 8));
    lab.receive(read(lab, 1, 2000));
    lab.receive(lab.packet("FETCH_ADD", rq_psn + 3));
    CHECK(lab.drain().size() == 4);
    lab.receive(read(lab, 0, 8));
    const auto all = lab.drain();
    if (resends) {
        CHECK(psns(all) == Psns{1000, 1001, 1002, 1003});
    } else {
        CHECK(psns(all) == Psns{1000});
    }
}

TEST_CASE("responder: more requests than agreed upon may be remembered",
          "[engine][RDR-08][ATM-06]") {
    const std::uint8_t extra = GENERATE(std::uint8_t{0}, std::uint8_t{1});
    LabOptions options = choosing({.remembered_extra = extra});
    options.max_dest_rd_atomic = 1;
    Lab lab(options);
    for (int n = 0; n < 3; ++n) {
        lab.receive(read(lab, n, 8));
        CHECK(lab.drain().size() == 1);
    }
    lab.receive(read(lab, 1, 8));
    CHECK(lab.drain().size() == extra);
    lab.receive(read(lab, 0, 8));
    CHECK(lab.drain().empty());
}

TEST_CASE("responder: a READ too many draws a NAK, an RNR NAK or nothing",
          "[engine][RDR-09][RDR-10][RNR-03]") {
    const auto choice =
        GENERATE(ExcessRead::NakInvalidRequest, ExcessRead::Rnr, ExcessRead::Silent);
    LabOptions options = choosing({.excess_read = choice});
    options.max_dest_rd_atomic = 1;
    Lab lab(options);
    lab.receive(read(lab, 0, 8));
    lab.receive(read(lab, 1, 8));
    auto all = lab.drain();
    switch (choice) {
    case ExcessRead::NakInvalidRequest:
        REQUIRE(all.size() == 2);
        CHECK(all[1].syndrome() == 0x61);
        break;
    case ExcessRead::Rnr:
        REQUIRE(all.size() == 2);
        CHECK(all[1].syndrome() == (0x20 | 12));
        break;
    case ExcessRead::Silent: CHECK(all.size() == 1); break;
    }
    if (choice != ExcessRead::NakInvalidRequest) { // tried again, it is served
        lab.receive(read(lab, 1, 8));
        CHECK(lab.one().psn() == 1001);
    }
    options.max_dest_rd_atomic = 0;
    Lab none(options);
    none.receive(read(none, 0, 8));
    CHECK(none.one().syndrome() == 0x61);
}

TEST_CASE("responder: a key that goes away under a READ ends it in one of three ways",
          "[engine][RDR-13][RDR-14]") {
    const auto choice =
        GENERATE(LostKey::NakRemoteAccess, LostKey::NakRemoteOperational, LostKey::Silent);
    Lab lab(choosing({.lost_key = choice}));
    lab.receive(read(lab, 0, 3000));
    REQUIRE(lab.engine.poll_transmit(lab.now));
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    const auto all = lab.drain();
    if (choice == LostKey::Silent) {
        CHECK(all.empty());
    } else {
        REQUIRE(all.size() == 1);
        CHECK(all[0].psn() == 1001);
        CHECK(all[0].syndrome() == (choice == LostKey::NakRemoteAccess ? 0x62 : 0x63));
    }
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("responder: a pad larger than the payload is NAKed or dropped", "[engine][BTH-12]") {
    const auto choice = GENERATE(ExcessPad::Nak, ExcessPad::Silent);
    Lab lab(choosing({.excess_pad = choice}));
    lab.post_receive(1, 100);
    wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
    packet.bth.pad = 3;
    lab.receive(packet);
    const auto all = lab.drain();
    REQUIRE(all.size() == (choice == ExcessPad::Nak ? 1 : 0));
    CHECK(lab.state() == (choice == ExcessPad::Nak ? QpState::Err : QpState::Rts));
}

TEST_CASE("responder: a READ request with payload is NAKed, dropped or served",
          "[engine][ATM-07]") {
    const auto choice = GENERATE(StrayPayload::Nak, StrayPayload::Silent, StrayPayload::Ignored);
    Lab lab(choosing({.stray_payload = choice}));
    lab.receive(read(lab, 0, 8), pattern(8));
    const auto all = lab.drain();
    switch (choice) {
    case StrayPayload::Nak:
        REQUIRE(all.size() == 1);
        CHECK(all[0].syndrome() == 0x61);
        break;
    case StrayPayload::Silent: CHECK(all.empty()); break;
    case StrayPayload::Ignored:
        REQUIRE(all.size() == 1);
        CHECK(std::ranges::equal(all[0].packet.payload(), lab.memory(0, 8)));
        break;
    }
}

TEST_CASE("responder: of two faults either may be told", "[engine][KEY-10][ATM-03]") {
    const auto choice = GENERATE(FaultOrder::KeysLast, FaultOrder::KeysFirst);
    const bool keys = choice == FaultOrder::KeysFirst;
    Lab lab(choosing({.fault_order = choice}));
    lab.receive(write_imm(lab, true), pattern(4)); // no receive either
    CHECK(lab.one().syndrome() == (keys ? 0x62 : (0x20 | 12)));
    Lab other(choosing({.fault_order = choice}));
    wire::Packet atomic = other.packet("FETCH_ADD", rq_psn);
    atomic.atomic.virtual_address += 4;
    atomic.atomic.rkey.value ^= 1;
    other.receive(atomic);
    CHECK(other.one().syndrome() == (keys ? 0x62 : 0x61));
    Lab sound(choosing({.fault_order = choice}));
    write(sound, 0);
    CHECK(sound.one().syndrome() == 0x1F);
}

TEST_CASE("responder: a WRITE's range is judged whole or packet by packet", "[engine][KEY-06]") {
    const auto choice = GENERATE(WriteRange::AtFirst, WriteRange::EachPacket);
    Lab lab(choosing({.write_range = choice}));
    const std::uint64_t offset = region_bytes - 1024;
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn);
    first.reth.virtual_address = region_address + offset;
    first.reth.dma_length = 1028; // 4 bytes too many
    lab.receive(first, pattern(1024));
    const bool whole = choice == WriteRange::AtFirst;
    CHECK(lab.one().syndrome() == (whole ? 0x62 : 0x1F));
    CHECK(std::ranges::equal(lab.memory(offset, 1024), pattern(1024)) != whole);
    lab.receive(lab.packet("RDMA_WRITE_LAST", rq_psn + 1), pattern(4));
    const auto all = lab.drain();
    REQUIRE(all.size() == (whole ? 0 : 1));
    if (!whole) {
        CHECK(all[0].syndrome() == 0x62);
        CHECK(all[0].psn() == 1001);
    }
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("responder: a WRITE that brings too much is NAKed where it shows, or at its end",
          "[engine][LEN-04]") {
    const auto choice = GENERATE(WriteExcess::AtOnce, WriteExcess::AtLast);
    Lab lab(choosing({.write_excess = choice}));
    const auto behind = std::vector(lab.memory(1500, 4000).begin(), lab.memory(1500, 4000).end());
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn);
    first.reth.dma_length = 1500;
    lab.receive(first, pattern(1024));
    CHECK(lab.one().syndrome() == 0x1F);
    lab.receive(lab.packet("RDMA_WRITE_MIDDLE", rq_psn + 1), pattern(1024, 2));
    lab.receive(lab.packet("RDMA_WRITE_MIDDLE", rq_psn + 2), pattern(1024, 2));
    lab.receive(lab.packet("RDMA_WRITE_LAST", rq_psn + 3), pattern(8, 2));
    const auto all = lab.drain();
    REQUIRE_FALSE(all.empty());
    CHECK(all.back().syndrome() == 0x61);
    CHECK(all.back().psn() == (choice == WriteExcess::AtOnce ? 1001 : 1003));
    CHECK(all.back().msn() == 0);
    CHECK(std::ranges::equal(lab.memory(1500, 4000), behind));
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("responder: nothing of a request that does not fit is written, or what fits",
          "[engine][KEY-14][KEY-06]") {
    const auto choice = GENERATE(RefusedData::NotWritten, RefusedData::AsFits);
    const bool fits = choice == RefusedData::AsFits;
    Lab lab(choosing({.refused_data = choice}));
    lab.post_receive(1, 1028, 0x8000);
    const auto behind = std::vector(lab.memory(0x8404, 64).begin(), lab.memory(0x8404, 64).end());
    lab.receive(lab.packet("SEND_FIRST", rq_psn), pattern(1024));
    lab.receive(lab.packet("SEND_LAST", rq_psn + 1), pattern(8, 2));
    CHECK(lab.drain().back().syndrome() == 0x61);
    CHECK(std::ranges::equal(lab.memory(0x8400, 4), wire::Bytes(pattern(8, 2)).first(4)) == fits);
    CHECK(std::ranges::equal(lab.memory(0x8404, 64), behind));
    Lab region(choosing({.refused_data = choice}));
    wire::Packet write = region.packet("RDMA_WRITE_ONLY", rq_psn);
    write.reth.virtual_address = region_address + region_bytes - 4;
    write.reth.dma_length = 8;
    region.receive(write, pattern(8, 3));
    CHECK(region.one().syndrome() == 0x62);
    CHECK(std::ranges::equal(region.memory(region_bytes - 4, 4),
                             wire::Bytes(pattern(8, 3)).first(4)) == fits);
}

TEST_CASE("responder: a length above 2 GiB draws either NAK", "[engine][LEN-05]") {
    const auto choice = GENERATE(OversizeNak::InvalidRequest, OversizeNak::RemoteAccess);
    Lab lab(choosing({.oversize_nak = choice}));
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn);
    first.reth.dma_length = 0x80000001;
    lab.receive(first, pattern(1024));
    CHECK(lab.one().syndrome() == (choice == OversizeNak::InvalidRequest ? 0x61 : 0x62));
    CHECK_FALSE(std::ranges::equal(lab.memory(0, 1024), pattern(1024)));
}

TEST_CASE("responder: a request that comes back too early is NAKed again or dropped",
          "[engine][RNR-05]") {
    const auto choice = GENERATE(EarlyResend::NakAgain, EarlyResend::Silent);
    Lab lab(choosing({.early_resend = choice}));
    const wire::Packet send = lab.packet("SEND_ONLY", rq_psn);
    lab.receive(send, pattern(4));
    CHECK(lab.one().syndrome() == (0x20 | 12));
    lab.pass(639us); // of 0.64 ms
    lab.receive(send, pattern(4));
    CHECK(lab.drain().size() == (choice == EarlyResend::NakAgain ? 1 : 0));
    lab.pass(640us);
    lab.receive(send, pattern(4));
    CHECK(lab.one().syndrome() == (0x20 | 12));
    lab.post_receive(1, 100); // with a receive it is welcome at any time
    lab.receive(send, pattern(4));
    CHECK(lab.one().syndrome() == 0x1F);
}

TEST_CASE("responder: the RNR timer may be longer than it was set", "[engine][RNR-07]") {
    struct Case {
        wire::Duration least;
        int code;
    };
    const auto expected = GENERATE(Case{0ns, 12}, Case{640us, 12}, Case{641us, 13}, Case{1ms, 14},
                                   Case{500ms, 0}, Case{10s, 0});
    Lab lab(choosing({.shortest_rnr_wait = expected.least}));
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK(lab.one().syndrome() == (0x20 | expected.code));
}
