// The protocols above the transport: layers, findings, end. That the fields are right is
// compared with tshark (tests/dissector/dissect/tshark_test.cpp).
#include <catch2/catch.hpp>

#include "dissector/decode/field.hpp"
#include "dissector/decode/upper.hpp"
#include "tests/dissector/corpus/conversation.hpp"
#include "tests/dissector/corpus/upper_corpus.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using corpus::Message;
using enum LayerKind;

namespace {

constexpr std::uint8_t kSendFirst = 0x00;
constexpr std::uint8_t kSendOnly = 0x04;

UpperFacts facts(Upper protocol, Toward toward = Toward::Server) {
    UpperFacts known;
    known.protocol = protocol;
    known.toward = toward;
    return known;
}

// A message as one packet, taken apart with these facts. The frame lives as long as the result.
struct Taken {
    FrameBytes frame;
    Dissection d;
};
std::unique_ptr<Taken> taken(const UpperFacts& known, const Message& message,
                             std::uint8_t opcode = kSendOnly) {
    auto result = std::make_unique<Taken>();
    result->frame = made({.opcode = opcode, .payload = message.bytes()});
    result->d = taken_apart(result->frame);
    REQUIRE(begins_message(result->d));
    dissect_upper(known, result->d);
    return result;
}

std::vector<LayerKind> above(const Dissection& d) {
    std::vector<LayerKind> kinds;
    for (const LayerSpan& layer : d.layers.from(Bth)) {
        if (layer.kind != Bth && layer.kind != Pad && layer.kind != LayerKind::Icrc) {
            kinds.push_back(layer.kind);
        }
    }
    return kinds;
}

std::optional<std::uint64_t> number(std::string_view name, const Dissection& d) {
    std::optional<std::uint64_t> number;
    Column::find(name).value().for_each(
        d, [&](const FieldRow&, const Value& value) { number = value.number; });
    return number;
}

// Layers follow each other and cover the frame.
bool covered(const Dissection& d) {
    std::uint32_t at = 0;
    for (const LayerSpan& layer : d.layers) {
        if (layer.kind == Frame) continue;
        if (layer.offset != at) return false;
        at = layer.offset + layer.length;
    }
    return at == d.frame.bytes.size();
}

// A READ of `length` bytes into memory named by a key.
Message read_command(std::uint32_t length) {
    Message command;
    command.le(0x02, 1).le(0x40, 1).le(0x1234, 2).le(1, 4).zeros(16);
    command.le(0x7F0000001000, 8).le(length, 3).le(0xAABBCCDD, 4).le(0x4F, 1);
    return command.le(77, 8).le(7, 2).up_to(64);
}

} // namespace

TEST_CASE("upper: an NVMe command by the queue that it goes to", "[decode]") {
    UpperFacts known = facts(Upper::Nvme);
    const auto unknown = taken(known, read_command(4096));
    CHECK(above(unknown->d) == std::vector{NvmeAnyCommand}); // Read, or Get Log Page
    CHECK(number("nvme.cmd.opc", unknown->d) == 2);
    CHECK(number("nvme.cmd.sgl1.len", unknown->d) == 4096);
    CHECK(number("nvme.cmd.dword10", unknown->d) == 77);
    CHECK_FALSE(number("nvme.cmd.slba", unknown->d));
    known.nvme_queue = nvme_queue_of(0);
    CHECK(above(taken(known, read_command(4096))->d) == std::vector{NvmeCommand});
    known.nvme_queue = nvme_queue_of(3);
    const auto io = taken(known, read_command(4096));
    CHECK(above(io->d) == std::vector{NvmeIoCommand});
    CHECK(io->d.upper);
    CHECK(io->d.findings.empty());
    CHECK(number("nvme.cmd.cid", io->d) == 0x1234);
    CHECK(number("nvme.cmd.sgl1.len", io->d) == 4096);
    CHECK(number("nvme.cmd.sgl1.key", io->d) == 0xAABBCCDD);
    CHECK(number("nvme.cmd.slba", io->d) == 77);
    CHECK(number("nvme.cmd.nlb", io->d) == 8);
    CHECK_FALSE(number("nvme.cmd.dword10", io->d));
    const auto with_data = taken(known, read_command(0).fill(512, 7), kSendFirst);
    CHECK(above(with_data->d) == std::vector{NvmeIoCommand, Payload});
    CHECK(with_data->d.layers.find(Payload)->length == 512);
}

TEST_CASE("upper: an NVMe message of the wrong length is a finding", "[decode]") {
    for (const std::uint32_t bytes : {1U, 16U, 63U}) {
        const auto d = taken(facts(Upper::Nvme), Message().fill(bytes, 2));
        CHECK(kinds_of(d->d) == std::vector{FindingKind::NvmeLength});
        CHECK(d->d.findings.all()[0].found == bytes);
        CHECK(d->d.findings.all()[0].expected == 64);
        CHECK(above(d->d) == std::vector{Payload});
        CHECK_FALSE(d->d.upper);
    }
    for (const std::uint32_t bytes : {15U, 17U, 64U}) {
        const auto d = taken(facts(Upper::Nvme, Toward::Client), Message().fill(bytes, 2));
        CHECK(kinds_of(d->d) == std::vector{FindingKind::NvmeLength});
        CHECK(d->d.findings.all()[0].expected == 16);
    }
    const auto right = taken(facts(Upper::Nvme, Toward::Client), Message().fill(16, 2));
    CHECK(right->d.findings.empty());
    CHECK(above(right->d) == std::vector{NvmeCompletion});
}

TEST_CASE("upper: where the direction is not known, 16 bytes are a completion", "[decode]") {
    const UpperFacts known = facts(Upper::Nvme, Toward::Unknown);
    CHECK(above(taken(known, Message().fill(16, 0))->d) == std::vector{NvmeCompletion});
    CHECK(above(taken(known, read_command(1))->d) == std::vector{NvmeAnyCommand});
    const auto neither = taken(known, Message().fill(20, 0));
    CHECK(kinds_of(neither->d) == std::vector{FindingKind::NvmeLength});
}

TEST_CASE("upper: a Connect tells its queue, and its data the names", "[decode]") {
    Message connect;
    connect.le(0x7F, 1).le(0x40, 1).le(5, 2).le(1, 1).zeros(19).zeros(8).le(1024, 4).zeros(3);
    connect.le(0x01, 1).le(0, 2).le(9, 2).le(31, 2).up_to(64);
    Message data;
    data.fill(16, 0xAB).le(0xFFFF, 2).up_to(256).fill(5, 'n').le(0x0A, 1).up_to(1024);
    const auto d = taken(facts(Upper::Nvme), Message(connect).append(data));
    CHECK(above(d->d) == std::vector{NvmeFabrics, NvmeConnectData});
    CHECK(connected_nvme_queue(d->d) == 9);
    std::string name;
    Column::find("nvme.fabrics.cmd.connect.data.subnqn")
        .value()
        .for_each(d->d, [&](const FieldRow&, const Value& value) { name = value.text; });
    CHECK(name == "nnnnn"); // up to the first character that is not printable
    const auto short_data = taken(facts(Upper::Nvme), Message(connect).fill(100, 1));
    CHECK(kinds_of(short_data->d) == std::vector{FindingKind::NvmeLength});
    CHECK_FALSE(connected_nvme_queue(taken(facts(Upper::Nvme), read_command(1))->d));
}

TEST_CASE("upper: iSER tells its PDUs apart, and lengths beyond the message are findings",
          "[decode]") {
    const auto pdu = [](unsigned first, unsigned further, std::uint32_t data) {
        return Message()
            .be(first, 1)
            .zeros(27)
            .be(0x01, 1)
            .zeros(3)
            .be(further, 1)
            .be(data, 3)
            .up_to(28 + 48);
    };
    const UpperFacts known = facts(Upper::Iser);
    CHECK(above(taken(known, pdu(0x10, 0, 0))->d) == std::vector{Iser, Iscsi});
    CHECK(above(taken(known, pdu(0x10, 1, 4).fill(8, 0))->d) == std::vector{Iser, Iscsi, Payload});
    CHECK(above(taken(known, Message().be(0x20, 1).up_to(28))->d) == std::vector{IserHello});
    CHECK(above(taken(known, Message().be(0x30, 1).up_to(28))->d) == std::vector{IserHelloReply});
    const auto unknown = taken(known, Message().fill(28, 0x70));
    CHECK(kinds_of(unknown->d) == std::vector{FindingKind::IserOpcode});
    CHECK(unknown->d.findings.all()[0].found == 7);
    for (const auto& message : {pdu(0x10, 0, 1), pdu(0x10, 1, 0), Message().be(0x10, 1).up_to(60),
                                Message().be(0x20, 1).up_to(27)}) {
        CHECK(kinds_of(taken(known, message)->d) == std::vector{FindingKind::IserLength});
    }
}

TEST_CASE("upper: SMB Direct negotiates with the first packet of each side", "[decode]") {
    const Message request = Message().le(0x100, 2).le(0x100, 2).le(0, 2).le(255, 2).up_to(20);
    const Message response = Message().le(0x100, 2).le(0x100, 2).le(0x100, 2).up_to(32);
    UpperFacts known = facts(Upper::SmbDirect);
    known.first_psn = wire::Psn(100); // of the frames that are made here
    CHECK(above(taken(known, request)->d) == std::vector{SmbDirectRequest});
    known.toward = Toward::Client;
    CHECK(above(taken(known, response)->d) == std::vector{SmbDirectResponse});
    known.first_psn = wire::Psn(101);
    CHECK(above(taken(known, response)->d) == std::vector{SmbDirectData, Payload});
    const UpperFacts unknown = facts(Upper::SmbDirect, Toward::Unknown);
    CHECK(above(taken(unknown, request)->d) == std::vector{SmbDirectRequest});
    CHECK(above(taken(unknown, response)->d) == std::vector{SmbDirectResponse});
    // Data messages with 256 credits each way begin as these do.
    const Message credits = Message().le(0x100, 2).le(0x100, 2);
    CHECK(above(taken(unknown, Message(credits).up_to(20))->d) == std::vector{SmbDirectData});
    const Message eight = Message(credits).zeros(8).le(24, 4).le(8, 4).up_to(32);
    CHECK(above(taken(unknown, eight)->d) == std::vector{SmbDirectData, Payload});
}

TEST_CASE("upper: SMB Direct data that the message does not hold are a finding", "[decode]") {
    const auto data = [](std::uint32_t offset, std::uint32_t length) {
        return Message().zeros(12).le(offset, 4).le(length, 4).up_to(24 + 8);
    };
    const UpperFacts known = facts(Upper::SmbDirect);
    CHECK(taken(known, data(24, 8))->d.findings.empty());
    CHECK(above(taken(known, data(24, 8))->d) == std::vector{SmbDirectData, Payload});
    CHECK(above(taken(known, Message().zeros(20))->d) == std::vector{SmbDirectData});
    for (const auto& message :
         {data(24, 9), data(8, 4), data(0xFFFFFFFF, 0xFFFFFFFF), Message().zeros(19)}) {
        CHECK(kinds_of(taken(known, message)->d) == std::vector{FindingKind::SmbDirectLength});
    }
}

TEST_CASE("upper: RPC over RDMA lists are followed to their end", "[decode]") {
    const auto head = [](std::uint32_t version, std::uint32_t procedure) {
        return Message().be(0xA1B2C3D4, 4).be(version, 4).be(32, 4).be(procedure, 4);
    };
    const UpperFacts known = facts(Upper::RpcRdma);
    const auto plain = taken(known, head(1, 0).zeros(12).fill(40, 9));
    CHECK(above(plain->d) == std::vector{RpcRdma, RpcRdmaEnd, RpcRdmaEnd, RpcRdmaEnd, Payload});
    CHECK(number("rpcordma.reads_count", plain->d) == 0);
    CHECK(number("rpcordma.reply_count", plain->d) == 0);
    const auto endless = taken(known, head(1, 1).be(1, 4).zeros(20));
    CHECK(kinds_of(endless->d) == std::vector{FindingKind::RpcRdmaLength});
    CHECK(above(endless->d) == std::vector{RpcRdma, RpcRdmaRead});
    CHECK_FALSE(number("rpcordma.reads_count", endless->d));
    const auto neither = taken(known, head(1, 1).be(7, 4).zeros(20));
    CHECK(kinds_of(neither->d) == std::vector{FindingKind::RpcRdmaList});
    const auto version = taken(known, head(2, 0).zeros(12));
    CHECK(kinds_of(version->d) == std::vector{FindingKind::RpcRdmaVersion});
    CHECK(above(version->d) == std::vector{Payload});
    const auto many = taken(known, head(1, 1).zeros(4).be(1, 4).be(0xFFFFFFFF, 4).zeros(16 * 60));
    CHECK(many->d.findings.empty()); // there may be more segments than are kept apart
    CHECK(covered(many->d));
    CHECK(taken(known, head(1, 9))->d.findings.empty());
}

TEST_CASE("upper: a message of no bytes is too short for every protocol", "[decode]") {
    for (const auto& [protocol, kind] : {std::pair{Upper::Nvme, FindingKind::NvmeLength},
                                         {Upper::Iser, FindingKind::IserLength},
                                         {Upper::SmbDirect, FindingKind::SmbDirectLength},
                                         {Upper::RpcRdma, FindingKind::RpcRdmaLength}}) {
        const auto d = taken(facts(protocol), {});
        CHECK(kinds_of(d->d) == std::vector{kind});
        CHECK(d->d.findings.all()[0].offset == 14 + 20 + 8 + 12);
        CHECK(above(d->d).empty());
    }
}

TEST_CASE("upper: what goes on in the next packet is not too short", "[decode]") {
    Message lists;
    lists.be(1, 4).be(1, 4).be(1, 4).be(0, 4).be(1, 4).zeros(20).be(1, 4);
    const auto d = taken(facts(Upper::RpcRdma), lists, kSendFirst);
    CHECK(d->d.findings.empty());
    CHECK(covered(d->d));
}

TEST_CASE("upper: every message, cut at every length by the capture, says cut and has no finding",
          "[decode]") {
    std::size_t cuts = 0;
    for (const auto& corpus : corpus::upper_corpora()) {
        UpperFacts known = facts(*upper_by_name(corpus.name), Toward::Unknown);
        known.nvme_queue = NvmeQueue::Io;
        for (const auto& frame : corpus.frames) {
            const Dissection whole = taken_apart(frame.bytes);
            if (!begins_message(whole)) continue;
            for (const Toward toward : {Toward::Unknown, Toward::Server, Toward::Client}) {
                known.toward = toward;
                Dissection entire = whole;
                dissect_upper(known, entire);
                if (!entire.findings.empty()) continue; // its own lengths are wrong
                for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
                    Dissection d = taken_apart(wire::Bytes(frame.bytes).first(size), 1,
                                               static_cast<std::uint32_t>(frame.bytes.size()));
                    if (begins_message(d)) dissect_upper(known, d);
                    ++cuts;
                    if (d.cut && d.findings.empty() && !d.malformed && covered(d)) continue;
                    FAIL_CHECK(frame.carrier << " cut to " << size);
                }
            }
        }
    }
    CHECK(cuts > 10'000);
}

TEST_CASE("upper: a layer gives way to others in its place, or to none if there is no room",
          "[decode]") {
    Layers layers;
    layers.clear();
    layers.push(Frame, 0, 100);
    layers.push(Payload, 10, 80);
    layers.push(Pad, 90, 2);
    const std::array<LayerSpan, 2> pieces{LayerSpan{Iser, 10, 28}, LayerSpan{Payload, 38, 52}};
    CHECK(layers.replace(Payload, pieces));
    REQUIRE(layers.size() == 4);
    CHECK(layers.find(Iser)->offset == 10);
    CHECK(layers.find(Payload)->offset == 38);
    CHECK(layers.find(Pad)->offset == 90);
    CHECK_FALSE(layers.replace(LayerKind::Icrc, pieces));
    while (layers.size() < Layers::kCapacity)
        layers.push(Trailer, 92, 1);
    CHECK_FALSE(layers.replace(Payload, pieces));
    CHECK(layers.size() == Layers::kCapacity);
}

TEST_CASE("upper: names and ports", "[decode]") {
    for (const Upper one :
         {Upper::None, Upper::Nvme, Upper::Iser, Upper::SmbDirect, Upper::RpcRdma})
        CHECK(upper_by_name(name_of(one)) == one);
    CHECK_FALSE(upper_by_name("NVMe"));
    CHECK(upper_of_port(4420) == Upper::Nvme);
    CHECK(upper_of_port(3260) == Upper::Iser);
    CHECK(upper_of_port(445) == Upper::SmbDirect);
    CHECK(upper_of_port(5445) == Upper::SmbDirect);
    CHECK(upper_of_port(20'049) == Upper::RpcRdma);
    CHECK(upper_of_port(4791) == Upper::None);
}
