// What the responder refuses: one row per fault, with what goes out, what the host sees, and that
// nothing was written. Then the packets that are met with silence.
#include "tests/transport/engine/lab.hpp"

#include <algorithm>
#include <functional>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

struct Stimulus {
    wire::Packet packet;
    std::size_t payload = 0;
};

struct Fault {
    std::string_view what;
    std::uint8_t syndrome;
    std::optional<EventType> event; // N-13: nothing where a receive is completed in error
    std::optional<WcStatus> receive;
    std::function<std::vector<Stimulus>(Lab&)> packets; // the last one is at fault
    std::function<void(LabOptions&)> prepare = [](LabOptions&) {};
};

wire::Packet write(const Lab& lab, std::string_view opcode, std::int64_t n, std::uint32_t length) {
    wire::Packet packet = lab.packet(opcode, rq_psn + n);
    packet.reth.dma_length = length;
    return packet;
}

// A WRITE_ONLY of 8 bytes whose RETH is changed.
std::function<std::vector<Stimulus>(Lab&)>
write_with(const std::function<void(wire::Reth&)>& change) {
    return [change](Lab& lab) {
        wire::Packet packet = write(lab, "RDMA_WRITE_ONLY", 0, 8);
        change(packet.reth);
        return std::vector<Stimulus>{{packet, 8}};
    };
}

// A WRITE_FIRST of 3000 bytes and then this packet.
std::function<std::vector<Stimulus>(Lab&)> behind_write(std::string_view opcode,
                                                        std::size_t payload) {
    return [=](Lab& lab) {
        return std::vector<Stimulus>{{write(lab, "RDMA_WRITE_FIRST", 0, 3000), 1024},
                                     {write(lab, opcode, 1, 8), payload}};
    };
}

std::function<std::vector<Stimulus>(Lab&)> behind_send(std::string_view opcode,
                                                       std::size_t payload) {
    return [=](Lab& lab) {
        return std::vector<Stimulus>{{lab.packet("SEND_FIRST", rq_psn), 1024},
                                     {write(lab, opcode, 1, 8), payload}};
    };
}

std::function<std::vector<Stimulus>(Lab&)> alone(std::string_view opcode, std::size_t payload,
                                                 std::uint32_t dma_length = 8) {
    return [=](Lab& lab) {
        return std::vector<Stimulus>{{write(lab, opcode, 0, dma_length), payload}};
    };
}

std::vector<Stimulus> misaligned_atomic(Lab& lab) {
    wire::Packet packet = lab.packet("FETCH_ADD", rq_psn);
    packet.atomic.virtual_address += 4;
    return {{packet, 0}};
}

std::vector<Stimulus> padded_first(Lab& lab) {
    wire::Packet packet = write(lab, "RDMA_WRITE_FIRST", 0, 3000);
    packet.bth.pad = 2;
    return {{packet, 1024}};
}

std::vector<Stimulus> other_domain(Lab& lab) {
    static std::vector<std::byte> elsewhere(4096);
    const PdId pd = lab.engine.create_pd().value();
    const auto region = lab.engine.register_region(pd, elsewhere, 0x900000, every_right).value();
    wire::Packet packet = write(lab, "RDMA_WRITE_ONLY", 0, 8);
    packet.reth = {.virtual_address = 0x900000, .rkey = region.rkey, .dma_length = 8};
    return {{packet, 8}};
}

constexpr auto no_right = [](bool Access::* right, bool at_region) {
    return [=](LabOptions& options) {
        Access& access = at_region ? options.region_access : options.qp_access;
        access.*right = false;
    };
};

const std::uint8_t invalid = 0x61;
const std::uint8_t access_fault = 0x62;
const std::uint8_t operational = 0x63;

std::vector<Fault> faults() {
    const auto req = EventType::QpReqErr;
    const auto acc = EventType::QpAccessErr;
    return {
        // BTH, OPC
        {"BTH-06 reserved opcode",
         invalid,
         req,
         {},
         [](Lab& lab) {
             wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
             packet.bth.opcode = 0x1F;
             return std::vector<Stimulus>{{packet, 4}};
         }},
        {"BTH-10 padded FIRST", invalid, req, {}, padded_first},
        {"OPC-03 WRITE_MIDDLE alone", invalid, req, {}, alone("RDMA_WRITE_MIDDLE", 1024)},
        {"OPC-03 WRITE_LAST alone", invalid, req, {}, alone("RDMA_WRITE_LAST", 8)},
        {"OPC-03 SEND_MIDDLE alone", invalid, req, {}, alone("SEND_MIDDLE", 1024)},
        {"OPC-03 SEND_LAST alone", invalid, req, {}, alone("SEND_LAST", 8)},
        {"OPC-02 WRITE_ONLY in a WRITE", invalid, req, {}, behind_write("RDMA_WRITE_ONLY", 8)},
        {"OPC-10 WRITE_FIRST in a WRITE", invalid, req, {}, behind_write("RDMA_WRITE_FIRST", 1024)},
        {"OPC-05 SEND_LAST in a WRITE", invalid, req, {}, behind_write("SEND_LAST", 8)},
        {"OPC-04 READ in a WRITE", invalid, req, {}, behind_write("RDMA_READ_REQUEST", 0)},
        {"OPC-01 SEND_ONLY in a SEND",
         invalid,
         {},
         WcStatus::LocQpOpErr,
         behind_send("SEND_ONLY", 8)},
        {"OPC-05 WRITE_LAST in a SEND",
         invalid,
         {},
         WcStatus::LocQpOpErr,
         behind_send("RDMA_WRITE_LAST", 8)},
        {"OPC-04 atomic in a SEND", invalid, {}, WcStatus::LocQpOpErr, behind_send("FETCH_ADD", 0)},
        // LEN
        {"LEN-01 short FIRST", invalid, req, {}, alone("RDMA_WRITE_FIRST", 1020, 3000)},
        {"LEN-01 long FIRST", invalid, req, {}, alone("RDMA_WRITE_FIRST", 1028, 3000)},
        {"LEN-01 short MIDDLE", invalid, req, {}, behind_write("RDMA_WRITE_MIDDLE", 1020)},
        {"LEN-02 empty LAST", invalid, req, {}, behind_write("RDMA_WRITE_LAST", 0)},
        {"LEN-02 long LAST", invalid, req, {}, behind_write("RDMA_WRITE_LAST", 1025)},
        {"LEN-03 long ONLY", invalid, req, {}, alone("RDMA_WRITE_ONLY", 1025, 1025)},
        {"LEN-04 WRITE_LAST too short", invalid, req, {}, behind_write("RDMA_WRITE_LAST", 8)},
        {"LEN-04 more than announced", invalid, req, {}, alone("RDMA_WRITE_ONLY", 8, 7)},
        {"LEN-04 less than announced", invalid, req, {}, alone("RDMA_WRITE_ONLY", 8, 9)},
        {"LEN-04 FIRST for one packet", invalid, req, {}, alone("RDMA_WRITE_FIRST", 1024, 1024)},
        {"LEN-05 READ of too much", invalid, req, {}, alone("RDMA_READ_REQUEST", 0, 0x80000001)},
        {"ATM-07 atomic with a body", invalid, req, {}, alone("FETCH_ADD", 4)},
        {"LEN-06 SEND longer than its receive",
         invalid,
         {},
         WcStatus::LocLenErr,
         alone("SEND_ONLY", 1024)},
        // KEY, ATM
        {"KEY-01 QP without remote write",
         invalid,
         req,
         {},
         alone("RDMA_WRITE_ONLY", 8),
         no_right(&Access::remote_write, false)},
        {"KEY-01 QP without remote read",
         invalid,
         req,
         {},
         alone("RDMA_READ_REQUEST", 0),
         no_right(&Access::remote_read, false)},
        {"KEY-01 QP without atomics",
         invalid,
         req,
         {},
         alone("COMPARE_SWAP", 0),
         no_right(&Access::remote_atomic, false)},
        {"LEN-08 no bytes, but no right either",
         invalid,
         req,
         {},
         alone("RDMA_WRITE_ONLY", 0, 0),
         no_right(&Access::remote_write, false)},
        {"ATM-02 misaligned", invalid, req, {}, misaligned_atomic},
        {"KEY-02 unknown rkey", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.rkey = {0xABCD00};
         })},
        {"KEY-08 other variant", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.rkey.value ^= 1U;
         })},
        {"KEY-03 other domain", access_fault, acc, {}, other_domain},
        {"KEY-04 region without remote write",
         access_fault,
         acc,
         {},
         alone("RDMA_WRITE_ONLY", 8),
         no_right(&Access::remote_write, true)},
        {"KEY-04 region without remote read",
         access_fault,
         acc,
         {},
         alone("RDMA_READ_REQUEST", 0),
         no_right(&Access::remote_read, true)},
        {"KEY-04 region without atomics",
         access_fault,
         acc,
         {},
         alone("FETCH_ADD", 0),
         no_right(&Access::remote_atomic, true)},
        {"KEY-05 below", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.virtual_address -= 1;
         })},
        {"KEY-05 across the end", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.virtual_address += region_bytes - 7;
         })},
        {"KEY-05 behind the end", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.virtual_address += region_bytes;
         })},
        {"KEY-05 around 2^64", access_fault, acc, {}, write_with([](wire::Reth& reth) {
             reth.virtual_address = ~std::uint64_t{3};
         })},
        {"KEY-06 the whole WRITE is asked for at its first packet",
         access_fault,
         acc,
         {},
         [](Lab& lab) {
             wire::Packet packet = write(lab, "RDMA_WRITE_FIRST", 0, 3000);
             packet.reth.virtual_address += region_bytes - 2048;
             return std::vector<Stimulus>{{packet, 1024}};
         }},
        {"KEY-12 a receive in memory that is not ours",
         operational,
         {},
         WcStatus::LocProtErr,
         [](Lab& lab) {
             const Sge bad{.address = region_address, .length = 64, .lkey = {0x77700}};
             const ReceiveRequest request{.id = 1, .sges = std::span(&bad, 1)};
             lab.engine.post_receive(lab.qp, std::span(&request, 1));
             return std::vector<Stimulus>{{lab.packet("SEND_ONLY", rq_psn), 8}};
         },
         [](LabOptions& options) { options.capacity.max_recv = 1; }},
    };
}

} // namespace

TEST_CASE("responder: each fault has its NAK, its report and the end of the QP",
          "[engine][OPC-06][KEY-14][N-07][N-13][STA-12][ACK-08][BTH-10][OPC-01][OPC-02][OPC-03]"
          "[OPC-04][OPC-05][OPC-10][LEN-01][LEN-02][LEN-03][KEY-03][KEY-04][ATM-02]") {
    for (const Fault& fault : faults()) {
        INFO(fault.what);
        LabOptions options;
        fault.prepare(options);
        Lab lab(options);
        // A receive of 1028 bytes: enough for the SENDs that fail in their second packet.
        const bool has_receive = options.capacity.max_recv > 1;
        const bool small = fault.receive == WcStatus::LocLenErr;
        if (has_receive) lab.post_receive(1, small ? 1023 : 1032);
        const auto packets = fault.packets(lab);
        const auto before =
            std::vector(lab.memory(0, region_bytes).begin(), lab.memory(0, region_bytes).end());
        for (std::size_t i = 0; i + 1 < packets.size(); ++i) {
            lab.receive(packets[i].packet, pattern(packets[i].payload));
            CHECK(lab.one().syndrome() == 0x1F);
        }
        const auto between =
            std::vector(lab.memory(0, region_bytes).begin(), lab.memory(0, region_bytes).end());
        const Stimulus& bad = packets.back();
        lab.receive(bad.packet, pattern(bad.payload));
        const Sent nak = lab.one();
        CHECK(nak.name() == "ACKNOWLEDGE");
        CHECK(int{nak.syndrome()} == int{fault.syndrome});
        CHECK(nak.psn() == bad.packet.bth.psn.value()); // OPC-06
        CHECK(nak.msn() == 0);                          // ACK-08
        CHECK(lab.state() == QpState::Err);
        CHECK(std::ranges::equal(between, lab.memory(0, region_bytes)));

        const auto receives = lab.receives();
        REQUIRE(receives.size() == 1);
        CHECK(receives[0].id == 1);
        CHECK(receives[0].status == fault.receive.value_or(WcStatus::WrFlushErr));
        const auto events = lab.events();
        REQUIRE(events.size() == (fault.event ? 1 : 0));
        if (fault.event) CHECK(events[0].type == *fault.event);

        lab.receive(lab.packet("SEND_ONLY", bad.packet.bth.psn), pattern(4)); // N-07
        lab.receive(lab.packet("SEND_ONLY", rq_psn - 1), pattern(4));
        CHECK(lab.drain().empty());
        CHECK(lab.sends().empty());
    }
}

TEST_CASE("responder: an overlong SEND of several packets fails where it overflows",
          "[engine][LEN-06]") {
    Lab lab;
    lab.post_receive(1, 1500);
    lab.receive(lab.packet("SEND_FIRST", rq_psn), pattern(1024));
    lab.receive(lab.packet("SEND_MIDDLE", rq_psn + 1), pattern(1024));
    const auto answers = lab.drain();
    REQUIRE(answers.size() == 2);
    CHECK(int{answers[1].syndrome()} == 0x61);
    CHECK(answers[1].psn() == 1001);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == WcStatus::LocLenErr);
}

TEST_CASE("responder: a receive longer than its region serves a shorter message",
          "[engine][KEY-12]") {
    Lab lab;
    lab.post_receive(1, 4096, region_bytes - 16);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(16));
    CHECK(lab.one().syndrome() == 0x1F);
    CHECK(std::ranges::equal(lab.memory(region_bytes - 16, 16), pattern(16)));
}

TEST_CASE("responder: no bytes need no key, and the last byte of a region is in it",
          "[engine][LEN-08][N-37]") {
    Lab lab;
    wire::Packet none = write(lab, "RDMA_WRITE_ONLY", 0, 0);
    none.reth.rkey = {0xDEAD};
    none.reth.virtual_address = ~std::uint64_t{0};
    lab.receive(none);
    CHECK(lab.one().syndrome() == 0x1F);
    wire::Packet last = write(lab, "RDMA_WRITE_ONLY", 1, 1);
    last.reth.virtual_address += region_bytes - 1;
    lab.receive(last, pattern(1));
    CHECK(lab.one().syndrome() == 0x1F);
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: pad bytes may hold anything", "[engine][N-06]") {
    Lab lab;
    wire::Packet packet = write(lab, "RDMA_WRITE_ONLY", 0, 5);
    packet.bth.pad = 3;
    auto data = pattern(8);
    lab.receive(packet, data);
    CHECK(lab.one().syndrome() == 0x1F);
    CHECK(std::ranges::equal(lab.memory(0, 5), wire::Bytes(data).first(5)));
}

TEST_CASE("engine: what is met with silence, and the next good packet works",
          "[engine][BTH-01][BTH-02][BTH-03][BTH-04][BTH-05][BTH-07][BTH-16][BTH-17][ENC-14][OPC-07]"
          "[CA17-29][CA17-33]") {
    const wire::Envelope honest{.source = peer_address, .destination = our_address};
    wire::Envelope stranger = honest;
    stranger.source = wire::IpAddress::from_v4(0x0A4D0003);
    wire::Envelope elsewhere = honest;
    elsewhere.destination = wire::IpAddress::from_v4(0x0A4D0004);
    struct Row {
        std::string_view what;
        std::function<void(wire::Bth&)> change;
        wire::Envelope envelope;
    };
    const auto same = [](wire::Bth&) {};
    const std::vector<Row> rows{
        {"transport version 1", [](wire::Bth& b) { b.version = 1; }, honest},
        {"transport version 15", [](wire::Bth& b) { b.version = 15; }, honest},
        {"unknown QP", [](wire::Bth& b) { b.dest_qp = {0x4711}; }, honest},
        {"QP 0", [](wire::Bth& b) { b.dest_qp = {0}; }, honest},
        {"QP 1", [](wire::Bth& b) { b.dest_qp = {1}; }, honest},
        {"QP of multicast", [](wire::Bth& b) { b.dest_qp = {0xFFFFFF}; }, honest},
        {"UC", [](wire::Bth& b) { b.opcode |= 0x20; }, honest},
        {"UD", [](wire::Bth& b) { b.opcode |= 0x60; }, honest},
        {"reserved service", [](wire::Bth& b) { b.opcode |= 0xE0; }, honest},
        {"P_Key 0", [](wire::Bth& b) { b.pkey = {0}; }, honest},
        {"other P_Key", [](wire::Bth& b) { b.pkey = {0x8001}; }, honest},
        {"source address", same, stranger},
        {"destination address", same, elsewhere},
    };
    Lab lab;
    lab.post_receive(1, 64);
    for (const Row& row : rows) {
        INFO(row.what);
        wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
        row.change(packet.bth);
        lab.receive(packet, pattern(4), row.envelope);
        CHECK(lab.drain().empty());
        CHECK(lab.receives().empty());
        CHECK(lab.state() == QpState::Rts);
    }
    for (const std::string_view response :
         {"ACKNOWLEDGE", "RDMA_READ_RESPONSE_ONLY", "ATOMIC_ACKNOWLEDGE"}) { // OPC-07
        lab.receive(lab.packet(response, rq_psn));
        CHECK(lab.drain().empty());
    }
    CHECK(lab.engine.counters().bad_pkey == 2);
    CHECK(lab.engine.counters().dropped == rows.size() + 3);
    wire::Packet limited = lab.packet("SEND_ONLY", rq_psn);
    limited.bth.pkey = {0x7FFF};                // BTH-07: one side is a full member
    limited.bth.fecn = limited.bth.becn = true; // BTH-17
    limited.bth.reserved6 = 0x3F;               // BTH-16
    limited.bth.reserved7 = 0x7F;
    lab.receive(limited, pattern(4));
    CHECK(lab.one().syndrome() == 0x1F);
    CHECK(lab.receives().size() == 1);
}

TEST_CASE("engine: a packet cut off anywhere does no harm", "[engine][BTH-20][BTH-12]") {
    Lab lab;
    for (const std::string_view opcode :
         {"SEND_ONLY", "RDMA_WRITE_ONLY", "FETCH_ADD", "ACKNOWLEDGE"}) {
        std::vector<std::byte> bytes(wire::kMaxTransportHeaderBytes);
        bytes.resize(wire::encode_headers(lab.packet(opcode, rq_psn), bytes));
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            if (opcode == "SEND_ONLY" && size == wire::Bth::kSize) continue;
            lab.engine.handle({.envelope = {.source = peer_address, .destination = our_address},
                               .bytes = wire::Bytes(bytes).first(size)},
                              lab.now);
        }
    }
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.events().empty());
}

TEST_CASE("responder: a reserved opcode may be met with silence by option", "[engine][BTH-06]") {
    LabOptions options;
    options.config.behaviour.reserved_opcode = ReservedOpcode::Silent;
    Lab lab(options);
    wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
    packet.bth.opcode = 0x18;
    lab.receive(packet, pattern(4));
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("checks: a replaced entry is all that a planted defect needs", "[engine][KEY-05]") {
    LabOptions options;
    options.checks = kStandardChecks.with(
        RequestCheck::KeyRange, [](const RequestView&) { return RequestVerdict::Accept; });
    Lab lab(options);
    wire::Packet packet = write(lab, "RDMA_WRITE_ONLY", 0, 8);
    packet.reth.virtual_address += region_bytes - 4;
    lab.receive(packet, pattern(8));
    CHECK(lab.drain().empty()); // no NAK any more, and the engine keeps memory safe by itself
    CHECK(lab.state() == QpState::Rts);
    CHECK(kStandardChecks != options.checks);
}

TEST_CASE("checks: those of keys and of the path say so", "[engine][KEY-10]") {
    const auto begins = [](std::string_view name, std::string_view with) {
        return name.starts_with(with);
    };
    for (const RequestRow& row : kRequestRows)
        CHECK((row.group == CheckGroup::Key) == begins(row.name, "key-"));
    constexpr std::array path{PacketCheck::Pkey, PacketCheck::SourceAddress,
                              PacketCheck::DestinationAddress, PacketCheck::Vlan};
    for (const PacketRow& row : kPacketRows) {
        const bool of_path = std::ranges::find(path, row.check) != path.end();
        CHECK((row.group == CheckGroup::Path) == of_path);
    }
}

TEST_CASE("checks: each has a name of its own", "[engine]") {
    std::vector<std::string_view> names;
    names.reserve(kRequestRows.size());
    for (const RequestRow& row : kRequestRows)
        names.push_back(name_of(row.check));
    CHECK(names.back() == "invalidate-key");
    CHECK(names.front() == "state");
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
    CHECK(name_of(PacketCheck::DestinationAddress) == "destination-address");
    CHECK(name_of(DuplicateCheck::SameAtomic) == "same-atomic");
    CHECK(name_of(ResponseCheck::ReadLength) == "read-length");
    CHECK(name_of(SendCheck::RnrRetryLeft) == "rnr-retry-left");
}
