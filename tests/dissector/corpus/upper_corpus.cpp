#include "tests/dissector/corpus/upper_corpus.hpp"

#include <array>

#include "tests/dissector/corpus/conversation.hpp"

namespace veriroce::corpus {
namespace {

constexpr std::uint8_t kSendFirst = 0x00;
constexpr std::uint8_t kSendMiddle = 0x01;
constexpr std::uint8_t kSendLast = 0x02;
constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint8_t kWriteOnly = 0x0A;
constexpr std::uint8_t kSendOnlyInvalidate = 0x17;

// NVMe ----------------------------------------------------------------------------------------

// A keyed data block, invalidated by the answer.
Message keyed(std::uint64_t address, std::uint32_t length, std::uint32_t key) {
    return Message().le(address, 8).le(length, 3).le(key, 4).le(0x4F, 1);
}
// Data that stand in the capsule.
Message in_capsule(std::uint32_t length) {
    return Message().le(0, 8).le(length, 4).zeros(3).le(0x01, 1);
}

Message command(std::uint8_t opcode, std::uint16_t cid, std::uint32_t nsid, const Message& sgl,
                const std::array<std::uint32_t, 6>& words) {
    Message message;
    message.le(opcode, 1).le(0x40, 1).le(cid, 2).le(nsid, 4).zeros(8).le(0x1122334455667788, 8);
    message.append(sgl);
    for (const std::uint32_t word : words)
        message.le(word, 4);
    return message;
}

Message fabrics(std::uint8_t type, std::uint16_t cid, const Message& sgl, const Message& rest) {
    Message message;
    message.le(0x7F, 1).le(0x40, 1).le(cid, 2).le(type, 1).zeros(19).append(sgl).append(rest);
    return message.up_to(64);
}

Message completion(std::uint64_t result, std::uint16_t queue, std::uint16_t cid,
                   std::uint16_t status) {
    return Message().le(result, 8).le(0x0021, 2).le(queue, 2).le(cid, 2).le(status, 2);
}

Message connect_data() {
    Message data;
    data.fill(16, 0xAB).le(0xFFFF, 2).zeros(238);
    data.append(Message().fill(10, 'n').up_to(256)).append(Message().fill(10, 'h').up_to(256));
    return data.up_to(1024);
}

void nvme_connect(Conversation& peers, std::uint16_t queue) {
    const Message asks = Message().le(0, 2).le(queue, 2).le(32, 2).le(31, 2).le(1, 2).zeros(22);
    peers.connect(4420, asks, Message().le(0, 2).le(32, 2).zeros(28));
    const Message rest =
        Message().le(0, 2).le(queue, 2).le(31, 2).le(0x04, 1).zeros(1).le(15'000, 4);
    peers.send(From::Client, kSendOnly,
               fabrics(0x01, 0, in_capsule(1024), rest).append(connect_data()), "connect");
    peers.send(From::Server, kSendOnly, completion(1, 0, 0, 0), "connected");
}

void nvme_admin(Conversation& peers) {
    const Message none = Message().zeros(15).le(0x40, 1);
    peers.send(From::Client, kSendOnly,
               fabrics(0x04, 1, none, Message().le(1, 1).zeros(3).le(0, 4)), "property get");
    peers.send(From::Server, kSendOnly, completion(0x00000020'0F0100FF, 0, 1, 0), "property");
    peers.send(From::Client, kSendOnly,
               fabrics(0x00, 2, none, Message().le(0, 1).zeros(3).le(0x14, 4).le(0x460001, 8)),
               "property set");
    peers.send(From::Server, kSendOnly, completion(0, 0, 2, 0), "property was set");
    peers.send(From::Client, kSendOnly,
               command(0x06, 3, 0, keyed(0x7F0011223344, 4096, 0x8899AABB), {1, 0, 0, 0, 0, 0}),
               "identify");
    peers.send(From::Server, kSendOnlyInvalidate, completion(0, 0, 3, 0), "identified");
    peers.send(From::Client, kSendOnly, command(0x09, 4, 0, none, {7, 0x00070007, 0, 0, 0, 0}),
               "set features");
    peers.send(From::Server, kSendOnly, completion(0x00070007, 0, 4, 0), "features");
    peers.send(From::Client, kSendOnly, command(0x18, 5, 0, none, {}), "keep alive");
    peers.send(From::Server, kSendOnly, completion(0, 0, 5, 0x4004), "keep alive failed");
    peers.send(From::Client, kSendOnly, fabrics(0x05, 6, none, Message().le(0, 1).le(1, 1)),
               "authentication");
}

void nvme_io(Conversation& peers) {
    const Message none = Message().zeros(15).le(0x40, 1);
    const auto read = [](std::uint16_t cid) {
        return command(0x02, cid, 1, keyed(0x7F0011220000, 8192, 0x8899AACC),
                       {0x12345678, 0x9, 0xC5000F, 0x53, 0xDEADBEEF, 0x11112222});
    };
    peers.send(From::Client, kSendOnly, read(1), "read");
    peers.send(From::Server, kWriteOnly, Message().fill(64, 'd'), "data of a read");
    peers.send(From::Server, kSendOnlyInvalidate, completion(0, 1, 1, 0), "was read");
    const Message write = command(0x01, 2, 1, in_capsule(512), {100, 0, 0x40000000, 0, 0, 0});
    peers.send(From::Client, kSendOnly, Message(write).append(Message().fill(512, 'w')), "write");
    peers.send(From::Server, kSendOnly, completion(0, 1, 2, 0x8502), "write failed");
    peers.send(From::Client, kSendFirst, Message(write).append(Message().fill(960, 'w')),
               "long write");
    peers.send(From::Client, kSendMiddle, Message().fill(1024, 'w'), "its middle");
    peers.send(From::Client, kSendLast, Message().fill(512, 'w'), "its end");
    peers.send(From::Client, kSendOnly, command(0x00, 3, 1, none, {}), "flush");
    peers.send(From::Server, kSendOnly, completion(0, 1, 3, 0), "was flushed");
    peers.send(From::Client, kSendOnly, command(0x09, 4, 1, none, {0, 4, 0, 0, 0, 0}), "trim");
    peers.send(From::Client, kSendOnly, command(0xC1, 5, 1, none, {1, 2, 3, 4, 5, 6}), "vendor");
    peers.send(From::Client, kSendOnly, Message().fill(20, 1), "short command");
    peers.send(From::Server, kSendOnly, Message().fill(20, 1), "long completion");
    peers.send(From::Server, kSendOnly, completion(0, 1, 999, 0), "stray completion");
}

void nvme(Corpus& corpus, bool v6) {
    Conversation admin(corpus, v6, 0);
    nvme_connect(admin, 0);
    nvme_admin(admin);
    Conversation io(corpus, v6, 1);
    nvme_connect(io, 1);
    nvme_io(io);
    const Message none = Message().zeros(15).le(0x40, 1);
    io.send(From::Client, kSendOnly, fabrics(0x08, 7, none, {}), "disconnect");
    io.send(From::Server, kSendOnly, completion(0, 1, 7, 0), "was disconnected");
    io.disconnect();
    Conversation refused(corpus, v6, 2);
    refused.reject(4420, Message().le(0, 2).le(9, 2).le(32, 2).le(31, 2).up_to(32),
                   Message().le(0, 2).le(6, 2));
}

// iSER ----------------------------------------------------------------------------------------

Message iser(std::uint8_t flags, std::uint32_t write_tag, std::uint32_t read_tag) {
    Message header;
    header.be(flags, 1).zeros(3).be(write_tag, 4).be(write_tag ? 0x7F0000001000 : 0, 8);
    return header.be(read_tag, 4).be(read_tag ? 0x7F0000002000 : 0, 8);
}

struct Pdu {
    std::uint8_t opcode = 0;
    std::uint8_t flags = 0x80;
    std::uint32_t data = 0;
};

Message header_of(const Pdu& pdu) {
    Message header;
    header.be(pdu.opcode, 1).be(pdu.flags, 1).zeros(2).be(0, 1).be(pdu.data, 3);
    header.be(0x0001000000000000, 8).be(0x10000007, 4).be(0xFFFFFFFF, 4).be(0x21, 4).be(0x41, 4);
    return header.up_to(48);
}

// A key and a value that fill this many bytes, with their pad.
Message pairs(std::uint32_t bytes) {
    if (bytes == 0) return {};
    Message text;
    text.be('k', 1).be('=', 1).fill(bytes - 3, 'v').zeros(1);
    return text.up_to((bytes + 3) / 4 * 4);
}

void iser(Corpus& corpus, bool v6) {
    Conversation peers(corpus, v6, 0);
    peers.connect(3260, Message().be(0x03, 1).zeros(3), Message().be(0x03, 1).zeros(3));
    const auto hello = [](std::uint8_t flags, std::uint16_t depth) {
        return Message().be(flags, 1).be(0xAA, 1).be(depth, 2).up_to(28 + 48);
    };
    peers.send(From::Client, kSendOnly, hello(0x20, 16), "hello");
    peers.send(From::Server, kSendOnly, hello(0x31, 8), "hello reply");
    const auto plain = [&peers](From from, const Pdu& pdu, const std::string& what) {
        Message message = iser(0x10, 0, 0);
        message.append(header_of(pdu)).append(pairs(pdu.data));
        peers.send(from, kSendOnly, message, what);
    };
    plain(From::Client, {.opcode = 0x43, .flags = 0x87, .data = 41}, "login");
    plain(From::Server, {.opcode = 0x23, .flags = 0x87, .data = 40}, "login answer");
    peers.send(From::Client, kSendOnly,
               iser(0x14, 0, 0x55667788).append(header_of({.opcode = 0x01, .flags = 0xC1})),
               "SCSI read");
    peers.send(From::Server, kSendOnlyInvalidate,
               iser(0x10, 0, 0).append(header_of({.opcode = 0x21})), "SCSI answer");
    peers.send(From::Client, kSendOnly,
               iser(0x18, 0x11223344, 0).append(header_of({.opcode = 0x01, .flags = 0xA1})),
               "SCSI write");
    peers.send(From::Client, kSendOnly,
               iser(0x1C, 0x11223344, 0x55667788).append(header_of({.opcode = 0x41})), "SCSI both");
    plain(From::Client, {.opcode = 0x40}, "NOP out");
    plain(From::Server, {.opcode = 0x20}, "NOP in");
    plain(From::Client, {.opcode = 0x04, .data = 12}, "text");
    plain(From::Client, {.opcode = 0x46}, "logout");
    plain(From::Server, {.opcode = 0x26}, "logout answer");
    peers.send(From::Client, kSendOnly, Message().fill(40, 0x10), "short PDU");
    peers.send(From::Client, kSendOnly, Message().fill(80, 0x70), "unknown opcode");
}

// SMB Direct ----------------------------------------------------------------------------------

Message data_transfer(std::uint16_t flags, std::uint32_t remaining, std::uint32_t data) {
    Message message;
    message.le(10, 2).le(3, 2).le(flags, 2).le(0, 2).le(remaining, 4);
    message.le(data ? 24 : 0, 4).le(data, 4);
    return data ? message.zeros(4).fill(data, 0x42) : message;
}

void smb_direct(Corpus& corpus, bool v6) {
    Conversation peers(corpus, v6, 0);
    peers.connect(5445, {}, {});
    peers.send(From::Client, kSendOnly,
               Message().le(0x100, 2).le(0x100, 2).zeros(2).le(255, 2).le(1364, 4).le(8192, 4).le(
                   1048576, 4),
               "negotiate request");
    Message answer;
    answer.le(0x100, 2).le(0x100, 2).le(0x100, 2).zeros(2).le(255, 2).le(64, 2).le(0, 4);
    answer.le(8388608, 4).le(1364, 4).le(8192, 4).le(1048576, 4);
    peers.send(From::Server, kSendOnly, answer, "negotiate response");
    peers.send(From::Client, kSendOnly, data_transfer(0, 0, 100), "data");
    peers.send(From::Server, kSendOnly, data_transfer(1, 4096, 1000), "piece of data");
    peers.send(From::Client, kSendOnlyInvalidate, data_transfer(1, 0, 0), "credits");
    Message lies = data_transfer(0, 0, 100);
    peers.send(From::Client, kSendOnly, lies.up_to(60), "too much data named");
    peers.send(From::Client, kSendOnly, Message().fill(12, 0), "short message");
}

// RPC over RDMA -------------------------------------------------------------------------------

constexpr std::uint32_t kXid = 0xA1B2C3D4;

Message rpcordma(std::uint32_t type) {
    return Message().be(kXid, 4).be(1, 4).be(32, 4).be(type, 4);
}
Message segment(std::uint32_t ordinal) {
    return Message()
        .be(0x5E60000 + ordinal, 4)
        .be(4096 + ordinal, 4)
        .be(0x7F0000000000 + std::uint64_t{ordinal} * 4096, 8);
}
Message null_call() {
    return Message().be(kXid, 4).be(0, 4).be(2, 4).be(100'003, 4).be(4, 4).be(0, 4).zeros(16);
}

void rpcordma(Corpus& corpus, bool v6) {
    Conversation peers(corpus, v6, 0);
    peers.connect(20'049, {}, {});
    peers.send(From::Client, kSendOnly, rpcordma(0).zeros(12).append(null_call()), "call");
    peers.send(
        From::Server, kSendOnly,
        rpcordma(0).zeros(12).append(Message().be(kXid, 4).be(1, 4).be(0, 4).zeros(8).be(0, 4)),
        "reply");
    Message lists = rpcordma(0);
    lists.be(1, 4).be(148, 4).append(segment(1)).be(1, 4).be(148, 4).append(segment(2)).be(0, 4);
    lists.be(1, 4).be(2, 4).append(segment(3)).append(segment(4)).be(1, 4).be(1, 4);
    lists.append(segment(5)).be(0, 4).be(1, 4).be(1, 4).append(segment(6));
    peers.send(From::Client, kSendOnly, Message(lists).append(null_call()), "call with lists");
    Message nothing = rpcordma(1);
    nothing.be(1, 4).be(0, 4).append(segment(7)).be(0, 4).be(0, 4).be(0, 4);
    peers.send(From::Client, kSendOnly, nothing, "no message");
    Message padded = rpcordma(2).be(8, 4).be(1024, 4);
    peers.send(From::Client, kSendOnly, padded.zeros(12).append(null_call()), "padded");
    peers.send(From::Client, kSendOnly, rpcordma(3), "done");
    peers.send(From::Server, kSendOnly, rpcordma(4).be(1, 4).be(1, 4).be(1, 4), "version error");
    peers.send(From::Server, kSendOnly, rpcordma(4).be(2, 4), "chunk error");
    Message endless = rpcordma(1);
    peers.send(From::Client, kSendOnly, endless.be(1, 4).be(0, 4).append(segment(8)),
               "list without end");
    peers.send(From::Client, kSendOnly, Message().be(kXid, 4).be(2, 4).be(32, 4).be(0, 4),
               "version 2");
    peers.send(From::Client, kSendOnly, Message().be(kXid, 4).be(1, 4), "short header");
}

} // namespace

std::vector<Corpus> upper_corpora() {
    struct Row {
        std::string name;
        void (*make)(Corpus&, bool);
    };
    static const std::array<Row, 4> kRows{
        {{"nvme", nvme}, {"iser", iser}, {"smb_direct", smb_direct}, {"rpcordma", rpcordma}}};
    std::vector<Corpus> all;
    for (const Row& row : kRows) {
        Corpus corpus{.name = row.name, .link_code = 1, .frames = {}};
        for (const bool v6 : {false, true})
            row.make(corpus, v6);
        all.push_back(std::move(corpus));
    }
    return all;
}

} // namespace veriroce::corpus
