// The packets that follow from work requests: right ones pass, each wrong one is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

using wire::WrOpcode;

// A WRITE of 600 bytes: three packets at PSNs 0 to 2.
Scene scene_of_write() {
    Scene scene;
    dut::SendRequest write = request(WrOpcode::RdmaWrite, 8, 600);
    write.remote_address = 0x123456789A;
    write.rkey = wire::Rkey{0xABCD};
    scene.post(write);
    return scene;
}

void with_reth(wire::Packet& packet) {
    packet.reth = {.virtual_address = 0x123456789A, .rkey = {0xABCD}, .dma_length = 600};
}

std::string found_with_first(const EditPacket& edit) {
    Scene scene = scene_of_write();
    scene.heard("RDMA_WRITE_FIRST", 0, filled(8, 256), {.packet = [&](wire::Packet& packet) {
                    with_reth(packet);
                    edit(packet);
                }});
    return scene.found();
}

dut::SendRequest read_of(std::uint32_t length) {
    dut::SendRequest read = request(WrOpcode::RdmaRead, 0, length);
    read.remote_address = 0x1000;
    read.rkey = wire::Rkey{0xABCD};
    return read;
}

Edits asks(std::uint64_t address, std::uint32_t length) {
    return {.packet = [=](wire::Packet& packet) {
        packet.reth = {.virtual_address = address, .rkey = {0xABCD}, .dma_length = length};
    }};
}

} // namespace

TEST_CASE("model: the packets of a WRITE follow from the request", "[model][LEN-10]") {
    Scene scene = scene_of_write();
    scene.heard("RDMA_WRITE_FIRST", 0, filled(8, 256), {.packet = with_reth});
    scene.heard("RDMA_WRITE_MIDDLE", 1, filled(264, 256));
    scene.heard("RDMA_WRITE_LAST", 2, filled(520, 88));
    scene.heard("RDMA_WRITE_MIDDLE", 1, filled(264, 256)); // resent
    CHECK(scene.found() == "");
}

TEST_CASE("model: each wrong field of a WRITE is found", "[model][LEN-10]") {
    CHECK(found_with_first([](auto&) {}) == "");
    CHECK(found_with_first([](auto& p) { p.reth.virtual_address += 1; }) == "LEN-10 va");
    CHECK(found_with_first([](auto& p) { p.reth.rkey = {1}; }) == "LEN-10 rkey");
    CHECK(found_with_first([](auto& p) { p.reth.dma_length = 256; }) == "LEN-10 dmalen");
    CHECK(found_with_first([](auto& p) { p.bth.solicited = true; }) == "BTH-14 se");
}

TEST_CASE("model: a packet has the opcode of its place, also when resent", "[model][REQ-31]") {
    Scene scene = scene_of_write();
    scene.heard("RDMA_WRITE_ONLY", 0, filled(8, 256), {.packet = with_reth});
    CHECK(scene.found() == "REQ-31 opcode");
}

TEST_CASE("model: a packet has the size of its place", "[model][LEN-10]") {
    Scene scene = scene_of_write();
    scene.heard("RDMA_WRITE_FIRST", 0, filled(8, 252), {.packet = with_reth});
    CHECK(scene.found() == "LEN-10 the payload");
}

TEST_CASE("model: a packet carries the bytes that were posted", "[model][REQ-31]") {
    Scene scene = scene_of_write();
    scene.heard("RDMA_WRITE_FIRST", 0, filled(9, 256), {.packet = with_reth});
    CHECK(scene.found() == "REQ-31 data");
}

TEST_CASE("model: bytes that the application changed may be old or new", "[model][REQ-31]") {
    const auto found = [](const std::vector<std::byte>& payload, bool inline_data) {
        Scene scene;
        dut::SendRequest send = request(WrOpcode::Send, 0, 4);
        send.flags.inline_data = inline_data;
        scene.post(send);
        scene.call(dut::MrWrite{.mr = kRegion, .offset = 0, .data = {4, std::byte{0xEE}}});
        scene.heard("SEND_ONLY", 0, payload);
        return scene.found();
    };
    const std::vector<std::byte> fresh(4, std::byte{0xEE});
    CHECK(found(filled(0, 4), false) == "");
    CHECK(found(fresh, false) == "");
    CHECK(found(std::vector<std::byte>(4, std::byte{0x55}), false) == "REQ-31 data");
    CHECK(found(filled(0, 4), true) == "");
    CHECK(found(fresh, true) == "REQ-31 data"); // inline data counts as posted
}

TEST_CASE("model: a region that others may have written is not compared", "[model][REQ-31]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, filled(0, 4),
               {.packet = [](wire::Packet& packet) { packet.reth.rkey = kRegionKey; }});
    scene.post(request(WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, std::vector<std::byte>(4, std::byte{0xEE}));
    CHECK(scene.found() == "");
}

TEST_CASE("model: SE, immediate data and keys are those of the request", "[model][REQ-34]") {
    dut::SendRequest send = request(WrOpcode::SendWithImm, 0, 4);
    send.imm = 0x01020304;
    send.flags.solicited = true;
    const auto found = [&](const EditPacket& edit) {
        Scene scene;
        scene.post(send);
        scene.heard("SEND_ONLY_WITH_IMM", 0, filled(0, 4), {.packet = [&](wire::Packet& packet) {
                        packet.imm.value = 0x01020304;
                        packet.bth.solicited = true;
                        edit(packet);
                    }});
        return scene.found();
    };
    CHECK(found([](auto&) {}) == "");
    CHECK(found([](auto& p) { p.imm.value = 0; }) == "REQ-34 imm");
    CHECK(found([](auto& p) { p.bth.solicited = false; }) == "BTH-14 se");
}

TEST_CASE("model: both halves of an atomic's operands are sent", "[model][ATM-01]") {
    dut::SendRequest swap = request(WrOpcode::AtomicCmpAndSwp, 0, 8);
    swap.remote_address = 0x1000;
    swap.rkey = wire::Rkey{5};
    swap.compare = 0x1122334455667788;
    swap.swap = 0x8877665544332211;
    const auto found = [&](const EditPacket& edit) {
        Scene scene;
        scene.post(swap);
        scene.heard("COMPARE_SWAP", 0, {}, {.packet = [&](wire::Packet& packet) {
                        packet.atomic = {.virtual_address = 0x1000,
                                         .rkey = {5},
                                         .swap_or_add = 0x8877665544332211,
                                         .compare = 0x1122334455667788};
                        edit(packet);
                    }});
        return scene.found();
    };
    CHECK(found([](auto&) {}) == "");
    CHECK(found([](auto& p) { p.atomic.swap_or_add &= 0xFFFFFFFF; }) == "ATM-01 swap");
    CHECK(found([](auto& p) { p.atomic.compare = 0; }) == "ATM-01 compare");
    CHECK(found([](auto& p) { p.atomic.virtual_address = 0; }) == "ATM-01 va");
}

TEST_CASE("model: a READ takes the PSNs of its responses", "[model][REQ-01]") {
    const auto found = [](std::int64_t psn_of_next) {
        Scene scene;
        scene.post(read_of(600));
        scene.post(request(WrOpcode::Send, 0, 4));
        scene.heard("RDMA_READ_REQUEST", 0, {}, asks(0x1000, 600));
        scene.heard("SEND_ONLY", psn_of_next, filled(0, 4));
        return scene.found();
    };
    CHECK(found(3) == "");
    CHECK(found(1) == "REQ-31 opcode"); // there is a part of the READ
    CHECK(found(4) == "REQ-01 psn");
}

TEST_CASE("model: a READ may be asked for again in pieces", "[model][REQ-10]") {
    const auto found = [](std::int64_t psn, std::uint64_t address, std::uint32_t length) {
        Scene scene;
        scene.post(read_of(600));
        scene.heard("RDMA_READ_REQUEST", 0, {}, asks(0x1000, 600));
        scene.heard("RDMA_READ_REQUEST", psn, {}, asks(address, length));
        return scene.found();
    };
    CHECK(found(0, 0x1000, 600) == "");
    CHECK(found(1, 0x1100, 344) == "");
    CHECK(found(1, 0x1100, 256) == "");
    CHECK(found(1, 0x1000, 344) == "LEN-10 va");
    CHECK(found(1, 0x1100, 600) == "LEN-10 dmalen");
    CHECK(found(1, 0x1100, 300) == "LEN-10 dmalen");
}

TEST_CASE("model: a request that nobody posted is found", "[model][REQ-01]") {
    Scene scene;
    scene.heard("SEND_ONLY", 0, filled(0, 4));
    CHECK(scene.found() == "REQ-01 psn");
}

TEST_CASE("model: a PSN that is left out is found, for certain only without a network",
          "[model][REQ-01]") {
    Scene scene;
    scene.post(request(WrOpcode::Send, 0, 4));
    scene.post(request(WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 1, filled(0, 4));
    const auto found = check_packets(scene.story);
    REQUIRE(found.size() == 1);
    CHECK(found[0].rule == "REQ-01");
    CHECK(found[0].kind == rules::FindingClass::Absence);
}

TEST_CASE("model: requests that send nothing take no PSN", "[model][REQ-01]") {
    Scene scene;
    scene.post({.opcode = WrOpcode::LocalInv});
    scene.post(request(WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4));
    CHECK(scene.found() == "");
}

TEST_CASE("model: requests that the device refused are not expected", "[model][REQ-01]") {
    Scene scene;
    dut::PostSend chain{.qp = kQp};
    chain.requests.push_back(request(WrOpcode::Send, 0, 4));
    chain.requests.push_back(request(WrOpcode::Send, 0, 4));
    scene.call(std::move(chain), std::unexpected(dut::Failure{.code = -32000, .posted = 1}));
    scene.heard("SEND_ONLY", 0, filled(0, 4));
    CHECK(scene.found() == "");
    scene.heard("SEND_ONLY", 1, filled(0, 4));
    CHECK(scene.found() == "REQ-01 psn");
}

} // namespace veriroce::model::test
