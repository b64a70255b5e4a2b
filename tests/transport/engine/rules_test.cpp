// Rules that stand alone: what every packet looks like, what no packet may do, and how the pieces
// that have tests of their own go together.
#include <algorithm>

#include "dissector/wire/ip.hpp"
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr std::uint8_t sequence_nak = 0x60;
constexpr std::uint8_t invalid_request = 0x61;

// All that one engine can be brought to send: requests of each kind, and answers of each kind.
std::vector<Sent> everything(Lab& lab) {
    for (const WrOpcode opcode : {WrOpcode::Send, WrOpcode::SendWithImm, WrOpcode::RdmaWrite,
                                  WrOpcode::RdmaWriteWithImm, WrOpcode::RdmaRead})
        post(lab, opcode, 2501);
    post(lab, WrOpcode::AtomicFetchAndAdd, 8);
    auto sent = lab.drain();
    const auto answer = [&](std::string_view opcode, int n, std::size_t payload = 0) {
        wire::Packet packet = lab.packet(opcode, rq_psn + n);
        packet.reth.dma_length = opcode == "RDMA_READ_REQUEST" ? 2501 : 8;
        lab.receive(packet, pattern(payload));
        for (Sent& one : lab.drain())
            sent.push_back(std::move(one));
    };
    lab.post_receive(1, 64);
    answer("SEND_ONLY", 0, 8);
    answer("RDMA_WRITE_ONLY", 1, 8);
    answer("RDMA_READ_REQUEST", 2);
    answer("FETCH_ADD", 5);
    answer("SEND_ONLY", 6, 8);            // RNR: there is no receive
    answer("RDMA_WRITE_ONLY", 9, 8);      // a gap that the RNR NAK hides
    answer("RDMA_WRITE_MIDDLE", 6, 1024); // fatal
    return sent;
}

wire::Packet write_of(const Lab& lab, int n, std::uint64_t offset, std::uint32_t bytes) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    packet.reth = {
        .virtual_address = region_address + offset, .rkey = lab.region.rkey, .dma_length = bytes};
    return packet;
}

} // namespace

TEST_CASE("rules: every packet has the QP's P_Key, the peer's QPN and zeros where nothing is said",
          "[engine][BTH-08][BTH-16][BTH-17][BTH-19][ACK-06][ROB-04]") {
    Lab lab;
    const auto sent = everything(lab);
    REQUIRE(sent.size() == 5 * 3 - 2 + 1 + 8); // a READ is one packet
    for (const Sent& one : sent) {
        INFO(one.name() << " " << one.psn());
        const wire::Bth& bth = one.packet.bth;
        CHECK(bth.pkey == wire::kDefaultPkey);
        CHECK(bth.dest_qp == peer_qpn);
        CHECK(bth.version == 0);
        CHECK_FALSE((bth.fecn || bth.becn));
        CHECK(int{bth.reserved6} == 0);
        CHECK(int{bth.reserved7} == 0);
        if (one.packet.info().response()) {
            CHECK_FALSE(bth.ack_request);
            CHECK_FALSE(bth.solicited);
        }
        if (one.packet.headers.has(wire::Header::Aeth)) {
            const auto kind = one.packet.aeth.syndrome.kind();
            CHECK(kind != wire::AckKind::Reserved);
        }
        const wire::Bytes body = one.packet.body;
        REQUIRE(bth.pad <= body.size());
        CHECK(
            std::ranges::all_of(body.last(bth.pad), [](std::byte b) { return b == std::byte{}; }));
        CHECK(one.bytes.size() % 4 == 0);
        CHECK(one.packet.payload().size() <= 1024);
    }
}

TEST_CASE("rules: a QP of another P_Key sends that one", "[engine][BTH-08]") {
    constexpr wire::Pkey partition{0x8123};
    LabOptions options;
    options.config.pkeys = {wire::kDefaultPkey, partition};
    Lab lab(options);
    const QpId qp =
        lab.engine.create_qp({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq})
            .value();
    REQUIRE(lab.engine.modify_qp(
        qp, {.state = QpState::Init, .access = every_right, .pkey = partition}, lab.now));
    REQUIRE(lab.engine.modify_qp(
        qp,
        {.state = QpState::Rtr,
         .path_mtu = wire::Mtu::B1024,
         .dest_qp = peer_qpn,
         .rq_psn = rq_psn,
         .address = AddressVector{.source = our_address, .destination = peer_address},
         .min_rnr_timer = 12,
         .max_dest_rd_atomic = 4},
        lab.now));
    REQUIRE(lab.engine.modify_qp(qp,
                                 {.state = QpState::Rts,
                                  .sq_psn = sq_psn,
                                  .timeout = 14,
                                  .retry_count = 3,
                                  .rnr_retry = 3,
                                  .max_rd_atomic = 4},
                                 lab.now));
    Work work(lab, WrOpcode::RdmaWrite, 4);
    work.request.sges = work.sges;
    REQUIRE_FALSE(lab.engine.post_send(qp, std::span(&work.request, 1), lab.now).refused);
    CHECK(lab.one().packet.bth.pkey == partition);
}

TEST_CASE("rules: source port, hop limit, DSCP and flow label of what comes mean nothing",
          "[engine][ENC-03][ENC-11]") {
    Lab lab;
    int n = 0;
    for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{4791},
                                     std::uint16_t{53}, std::uint16_t{0xFFFF}}) {
        for (const std::uint8_t hops : {std::uint8_t{1}, std::uint8_t{64}, std::uint8_t{255}}) {
            lab.receive(write_of(lab, n, 0, 8), pattern(8),
                        {.source = peer_address,
                         .destination = our_address,
                         .source_port = port,
                         .dscp = static_cast<std::uint8_t>(hops & 0x3F),
                         .hop_limit = hops,
                         .flow_label = port});
            const Sent answer = lab.one();
            CHECK(answer.syndrome() == acked);
            CHECK(answer.psn() == rq_psn.value() + static_cast<std::uint32_t>(n));
            ++n;
        }
    }
}

TEST_CASE("rules: duplicates are answered while a NAK is outstanding", "[engine][RSP-04]") {
    Lab lab;
    lab.receive(write_of(lab, 0, 0, 8), pattern(8));
    CHECK(lab.one().syndrome() == acked);
    lab.receive(write_of(lab, 2, 0, 8), pattern(8));
    CHECK(lab.one().syndrome() == sequence_nak);
    lab.receive(write_of(lab, 0, 0, 8), pattern(8, 7));
    const Sent again = lab.one();
    CHECK(again.syndrome() == acked);
    CHECK(again.psn() == 1000);
    CHECK(again.msn() == 1);
    CHECK(std::ranges::equal(lab.memory(0, 8), pattern(8))); // and not carried out
}

TEST_CASE("rules: each pair of request opcodes is judged by the order of messages",
          "[engine][OPC-08]") {
    constexpr std::array names{"SEND_FIRST",
                               "SEND_MIDDLE",
                               "SEND_LAST",
                               "SEND_ONLY",
                               "SEND_LAST_WITH_IMM",
                               "SEND_ONLY_WITH_IMM",
                               "RDMA_WRITE_FIRST",
                               "RDMA_WRITE_MIDDLE",
                               "RDMA_WRITE_LAST",
                               "RDMA_WRITE_ONLY",
                               "RDMA_WRITE_LAST_WITH_IMM",
                               "RDMA_WRITE_ONLY_WITH_IMM",
                               "RDMA_READ_REQUEST",
                               "COMPARE_SWAP",
                               "FETCH_ADD"};
    const auto send_to = [](Lab& lab, std::string_view name, int n) {
        wire::Packet packet = lab.packet(name, rq_psn + n);
        const wire::OpcodeInfo& info = packet.info();
        const bool write = info.operation == wire::Operation::RdmaWrite;
        const bool whole =
            info.position == wire::Position::First || info.position == wire::Position::Middle;
        const std::size_t bytes = !info.carries_payload() ? 0 : whole ? 1024 : 8;
        packet.reth = {.virtual_address = region_address,
                       .rkey = lab.region.rkey,
                       .dma_length = write && whole ? 1032U : 8U};
        lab.receive(packet, pattern(bytes));
    };
    int lawful = 0;
    for (const std::string_view first : names) {
        for (const std::string_view second : names) {
            INFO(first << ", " << second);
            Lab lab;
            for (std::uint64_t id = 1; id <= 3; ++id)
                lab.post_receive(id, 4096);
            send_to(lab, first, 0);
            const auto& a = wire::opcode_info(lab.packet(first, rq_psn).bth.opcode);
            const auto& b = wire::opcode_info(lab.packet(second, rq_psn).bth.opcode);
            if (!a.starts_message()) {
                CHECK(lab.one().syndrome() == invalid_request);
                continue;
            }
            CHECK(lab.one().syndrome() == acked);
            send_to(lab, second, 1);
            // A message that is open goes on as what it is; one that is not is begun.
            const bool open = !a.ends_message();
            const bool same = a.operation == b.operation && !b.starts_message();
            const bool fits = open ? same : b.starts_message();
            // A WRITE of 1032 bytes has no MIDDLE: its length is what refuses it.
            const bool too_long = fits && b.operation == wire::Operation::RdmaWrite &&
                                  b.position == wire::Position::Middle;
            const Sent answer = lab.one();
            if (fits && !too_long) {
                CHECK(answer.syndrome() == acked);
                ++lawful;
            } else {
                CHECK(answer.syndrome() == invalid_request);
                CHECK(answer.psn() == 1001);
            }
            CHECK(lab.state() == (fits && !too_long ? QpState::Rts : QpState::Err));
        }
    }
    CHECK(lawful == 7 * 9 + 3 + 2); // after a whole message nine may begin
}

TEST_CASE("rules: the pad must agree with the RETH's length", "[engine][BTH-11]") {
    Lab lab;
    wire::Packet packet = write_of(lab, 0, 0, 5);
    packet.bth.pad = 2; // six bytes of data
    lab.receive(packet, pattern(8));
    CHECK(lab.one().syndrome() == invalid_request);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("rules: responses leave in the order of their PSNs, also those nobody asked an ACK for",
          "[engine][RDR-11][N-17]") {
    Lab lab;
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth = {.virtual_address = region_address, .rkey = lab.region.rkey, .dma_length = 2500};
    read.bth.ack_request = false;
    lab.receive(read);
    lab.receive(write_of(lab, 3, 0x4000, 8), pattern(8));
    wire::Packet atomic = lab.packet("FETCH_ADD", rq_psn + 4);
    atomic.bth.ack_request = false;
    lab.receive(atomic);
    const auto answers = lab.drain();
    CHECK(psns(answers) == Psns{1000, 1001, 1002, 1003, 1004});
    CHECK(answers.back().name() == "ATOMIC_ACKNOWLEDGE");
}

TEST_CASE("rules: atomics of two QPs follow each other", "[engine][ATM-09]") {
    Lab lab;
    const QpId other = lab.another(
        {.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq, .capacity = {}});
    const wire::Qpn second = lab.engine.query_qp(other)->qpn;
    const std::uint64_t before = lab.number(0);
    for (int n = 0; n < 4; ++n) {
        for (const wire::Qpn qpn : {our_qpn, second}) {
            wire::Packet add = lab.packet("FETCH_ADD", rq_psn + n);
            add.bth.dest_qp = qpn;
            add.atomic = {
                .virtual_address = region_address, .rkey = lab.region.rkey, .swap_or_add = 1};
            lab.receive(add);
        }
    }
    std::vector<std::uint64_t> seen;
    for (const Sent& answer : lab.drain())
        seen.push_back(answer.packet.atomic_ack.original);
    std::ranges::sort(seen);
    REQUIRE(seen.size() == 8);
    for (std::size_t i = 0; i < seen.size(); ++i)
        CHECK(seen[i] == before + i);
    CHECK(lab.number(0) == before + 8);
}

TEST_CASE("rules: after a gap the expected PSN may still meet RNR", "[engine][N-09][RNR-01]") {
    Lab lab;
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4));
    CHECK(lab.one().syndrome() == sequence_nak);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK((lab.one().syndrome() & 0xE0) == 0x20);
}

TEST_CASE("rules: every message counts once, at its last packet", "[engine][ACK-08][ACK-09]") {
    Lab lab;
    lab.post_receive(1, 4096);
    lab.receive(lab.packet("SEND_FIRST", rq_psn), pattern(1024));
    CHECK(lab.one().msn() == 0);
    lab.receive(lab.packet("SEND_LAST", rq_psn + 1), pattern(8));
    CHECK(lab.one().msn() == 1);
    lab.receive(write_of(lab, 2, 0, 8), pattern(8)); // no receive, but counted
    CHECK(lab.one().msn() == 2);
}

TEST_CASE("rules: an RNR NAK for a READ is waited out", "[engine][RNR-15]") {
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 8);
    CHECK(psns(lab.drain()) == Psns{2000});
    lab.receive(lab.ack(sq_psn, 0, 0x20 | 12)); // 0.64 ms
    CHECK(lab.drain().empty());
    const auto asked = lab.now;
    lab.next_deadline();
    CHECK(lab.now - asked >= 640us);
    const auto again = lab.drain();
    REQUIRE(again.size() == 1);
    CHECK(again[0].name() == "RDMA_READ_REQUEST");
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    CHECK(lab.sends().size() == 1);
}

TEST_CASE(
    "rules: a timeout resends from the oldest that is not acknowledged, with the same borders",
    "[engine][TMO-05][TMO-06][REQ-32]") {
    LabOptions options;
    options.timeout = 1; // 8.192 us
    Lab lab(options);
    post(lab, WrOpcode::RdmaWrite, 3000);
    post(lab, WrOpcode::Send, 2000, 2);
    const auto first = lab.drain();
    CHECK(psns(first) == Psns{2000, 2001, 2002, 2003, 2004});
    lab.receive(lab.ack(sq_psn + 1, 0));
    const auto began = lab.now;
    lab.next_deadline();
    CHECK(lab.now - began >= 8192ns);     // T
    CHECK(lab.now - began <= 4 * 8192ns); // 4 T
    const auto again = lab.drain();
    REQUIRE(psns(again) == Psns{2002, 2003, 2004});
    for (std::size_t i = 0; i < again.size(); ++i) {
        CHECK(again[i].name() == first[i + 2].name());
        CHECK(std::ranges::equal(again[i].packet.payload(), first[i + 2].packet.payload()));
    }
}

TEST_CASE("rules: answers that come again do no harm", "[engine][N-38]") {
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 2000, 1);
    post(lab, WrOpcode::RdmaWrite, 8, 2);
    lab.drain();
    const auto data = pattern(2000, 9);
    for (int twice = 0; twice < 2; ++twice) {
        lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 0, 1), wire::Bytes(data).first(1024));
        lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 1, 1), wire::Bytes(data).last(976));
        lab.receive(lab.ack(sq_psn + 2, 2));
    }
    CHECK(lab.sends().size() == 2);
    CHECK(std::ranges::equal(lab.memory(0, 2000), data));
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.drain().empty());
}

TEST_CASE("rules: a READ of 2^31 bytes takes its PSNs, one more byte is refused",
          "[engine][LEN-11]") {
    Lab lab;
    CHECK(lab.engine.limits().message_bytes == 0x80000000U);
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth.dma_length = 0x80000001U;
    lab.receive(read);
    CHECK(lab.one().syndrome() == invalid_request);
}

TEST_CASE("rules: frames say what Annex A17 prescribes",
          "[engine][CA17-1][CA17-2][CA17-3][CA17-5][CA17-6][CA17-7][CA17-8][CA17-10][CA17-11]"
          "[CA17-12][CA17-14][CA17-15][CA17-16][CA17-18][CA17-19][CA17-20][CA17-21][LEN-13]") {
    const auto v6 = [](std::uint8_t last) {
        std::array<std::byte, 16> bytes{std::byte{0xFD}, std::byte{0x77}};
        bytes[15] = std::byte{last};
        return wire::IpAddress::from_v6(bytes);
    };
    Lab lab;
    post(lab, WrOpcode::RdmaWrite, 1024);
    const Sent sent = lab.one();
    std::vector<std::byte> out(wire::kMaxFrameOverhead + sent.bytes.size());
    for (const bool six : {false, true}) {
        INFO((six ? "IPv6" : "IPv4"));
        wire::Envelope envelope = sent.envelope;
        if (six) {
            envelope.source = v6(1);
            envelope.destination = v6(2);
        }
        const std::size_t size = wire::write_frame({}, envelope, 7, sent.bytes, {}, out);
        const wire::Bytes frame = wire::Bytes(out).first(size);
        const wire::Bytes ip = frame.subspan(14);
        const std::size_t udp_at = six ? 40 : 20;
        if (six) {
            CHECK(wire::load_u8(ip, 0) >> 4 == 6);
            CHECK((wire::load_u16(ip, 0) >> 4 & 3) == 0); // ECN
            CHECK(wire::load_u16(ip, 4) == ip.size() - 40);
            CHECK(wire::load_u8(ip, 6) == 17);
            CHECK(wire::load_u8(ip, 8) == 0xFD);
            CHECK(wire::load_u8(ip, 23) == 1);
            CHECK(wire::load_u8(ip, 39) == 2);
        } else {
            CHECK(wire::load_u8(ip, 0) == 0x45);       // no options
            CHECK((wire::load_u8(ip, 1) & 3) == 0);    // ECN
            CHECK(wire::load_u16(ip, 2) == ip.size()); // ends with the ICRC
            CHECK(wire::load_u16(ip, 6) == 0x4000);    // do not fragment; offset 0
            CHECK(wire::load_u8(ip, 9) == 17);
            CHECK(wire::load_u32(ip, 12) == our_address.low32());
            CHECK(wire::load_u32(ip, 16) == peer_address.low32());
        }
        CHECK(wire::load_u16(ip, udp_at + 2) == 4791);
        CHECK(wire::load_u16(ip, udp_at + 4) == ip.size() - udp_at);
        CHECK(wire::unseal(frame));
    }
}
