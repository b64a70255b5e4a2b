#include "tests/dissector/corpus/other_corpus.hpp"

#include <stdexcept>

#include "dissector/wire/packet_spec.hpp"
#include "tests/dissector/corpus/conversation.hpp"

namespace veriroce::corpus {
namespace {

constexpr std::uint8_t kUdSendOnly = 0x64;
constexpr std::uint8_t kSa = 0x03;
constexpr std::uint8_t kCm = 0x07;
constexpr std::uint64_t kUdpService = 0x0000000001111C06; // of the IP CM service

struct Mad {
    std::uint8_t management_class = kCm;
    std::uint8_t method = 0x03;
    std::uint16_t attribute = 0;
    Message data;
};

void add(Corpus& corpus, const std::string& name, const Mad& mad) {
    Message message;
    message.be(1, 1).be(mad.management_class, 1).be(2, 1).be(mad.method, 1).zeros(4);
    message.be(0x1122334455667788, 8).be(mad.attribute, 2).zeros(2).be(0, 4);
    message.append(mad.data).up_to(256);
    wire::Sender sender;
    sender.envelope.source = *wire::IpAddress::parse("192.0.2.1");
    sender.envelope.destination = *wire::IpAddress::parse("192.0.2.2");
    sender.envelope.source_port = 50'000;
    sender.ip_id = 77;
    sender.packet.bth.dest_qp = {1};
    sender.packet.deth.qkey = {0x80010000};
    sender.packet.deth.source_qp = {1};
    const auto frame = wire::encode({.opcode = kUdSendOnly, .payload = message.bytes()}, sender);
    if (!frame) throw std::runtime_error(std::string(text_of(frame.error().error)));
    corpus.frames.push_back({kUdSendOnly, name, *frame});
}

Message gid(unsigned last) {
    return Message().be(0xFE80000000000000, 8).be(last, 8);
}

// RMPP's header, then that of subnet administration.
struct Rmpp {
    std::uint8_t type = 0;
    std::uint8_t response_time = 0;
    std::uint8_t flags = 0;
    std::uint8_t status = 0;
    std::uint32_t first = 0;
    std::uint32_t second = 0;
};
Message sa(const Rmpp& rmpp, const Message& record) {
    Message message;
    message.be(1, 1).be(rmpp.type, 1).be(rmpp.response_time * 8U + rmpp.flags, 1);
    message.be(rmpp.status, 1).be(rmpp.first, 4).be(rmpp.second, 4);
    message.be(0x0102030405060708, 8).be(8, 2).zeros(2).be(0x300C, 8);
    return message.append(record);
}

Message path_record() {
    Message record;
    record.zeros(8).append(gid(1)).append(gid(2)).be(0x11, 2).be(0x22, 2);
    record.be(0x12345 << 8 | 0x40, 4).be(7, 1).be(0x85, 1).be(0xFFFF, 2).be(3, 2);
    return record.be(0x84, 1).be(0x85, 1).be(0x92, 1).be(1, 1).zeros(6);
}

void subnet_administration(Corpus& corpus) {
    const Message path = path_record();
    add(corpus, "sa get path", {kSa, 0x01, 0x35, sa({}, path)});
    add(corpus, "sa path", {kSa, 0x81, 0x35, sa({}, path)});
    add(corpus, "sa get table of nodes", {kSa, 0x12, 0x11, sa({}, Message().zeros(108))});
    add(corpus, "sa table in pieces",
        {kSa, 0x92, 0x35,
         sa({.type = 1, .response_time = 19, .flags = 3, .first = 1, .second = 640}, path)});
    add(corpus, "sa acknowledges a piece",
        {kSa, 0x12, 0x35, sa({.type = 2, .flags = 1, .first = 6, .second = 70}, {})});
    add(corpus, "sa join", {kSa, 0x02, 0x38, sa({}, Message().append(gid(3)).append(gid(1)))});
    add(corpus, "sa leave", {kSa, 0x15, 0x38, sa({}, Message().append(gid(3)).append(gid(1)))});
}

// The header that Linux's rdma_cm puts in front of private data.
Message ip_cm() {
    Message message;
    message.be(0, 1).be(0x40, 1).be(40'000, 2).zeros(12).be(0xC0000201, 4);
    return message.zeros(12).be(0xC0000202, 4);
}

void connection_management(Corpus& corpus) {
    Message ids;
    ids.be(0xC1000001, 4).be(0x5E000001, 4);
    const Message more = Message().fill(24, 'p');
    const auto cm = [&](const std::string& name, std::uint16_t attribute, const Message& data) {
        add(corpus, "cm " + name, {kCm, 0x03, attribute, data});
    };
    cm("REQ without GIDs", 0x10,
       Message().be(0xC1000001, 4).zeros(4).be(0x1000000000000007, 8).up_to(140).append(more));
    cm("MRA", 0x11, Message(ids).be(0x40, 1).be(0xA8, 1).append(more));
    cm("SIDR_REQ of an IP service", 0x17,
       Message()
           .be(0xAA01, 4)
           .be(0xFFFF, 2)
           .zeros(2)
           .be(kUdpService, 8)
           .append(ip_cm())
           .append(more));
    cm("SIDR_REQ of another", 0x17,
       Message().be(0xAA02, 4).be(0xFFFF, 2).zeros(2).be(0x1000000000000007, 8).append(more));
    Message answer;
    answer.be(0xAA01, 4).be(4, 1).be(72, 1).zeros(2).be(0x77, 3).zeros(1).be(kUdpService, 8);
    cm("SIDR_REP", 0x18, answer.be(0x1EE7, 4).fill(72, 'i').append(more));
    Message lap(ids);
    lap.zeros(4).be(0x77, 3).be(0x85, 1).zeros(4).be(5, 2).be(6, 2).append(gid(1)).append(gid(2));
    lap.be(0x12345 << 4, 3).be(0x20, 1).be(64, 1).be(6, 1).be(0x38, 1).be(0x90, 1);
    cm("LAP", 0x19, lap.append(more));
    cm("APR", 0x1A, Message(ids).be(2, 1).be(3, 1).zeros(2).fill(72, 'i').append(more));
}

} // namespace

Corpus management_corpus() {
    Corpus corpus{.name = "management", .link_code = 1, .frames = {}};
    subnet_administration(corpus);
    connection_management(corpus);
    add(corpus, "performance", {0x04, 0x01, 0x12, Message().zeros(40).be(1, 2)});
    add(corpus, "vendor", {0x0A, 0x01, 0xFF00, Message().fill(232, 1)});
    add(corpus, "application", {0x21, 0x02, 0x11, Message().fill(232, 2)});
    add(corpus, "vendor OUI", {0x32, 0x81, 0x11, Message().fill(232, 3)});
    return corpus;
}

Corpus flow_control_corpus() {
    Corpus corpus{.name = "flow control", .link_code = 1, .frames = {}};
    Message head;
    head.be(0x0180C2000001, 6).be(0x020202020202, 6).be(0x8808, 2);
    const auto frame = [&](const std::string& name, const Message& content) {
        corpus.frames.push_back({0, name, Message(head).append(content).bytes()});
    };
    frame("PAUSE", Message().be(1, 2).be(0x1234, 2));
    frame("PAUSE end", Message().be(1, 2).be(0, 2));
    Message pfc;
    pfc.be(0x0101, 2).be(0x0089, 2);
    for (unsigned priority = 0; priority < 8; ++priority)
        pfc.be(0x1000 + priority, 2);
    frame("PFC", pfc);
    return corpus;
}

std::vector<Corpus> other_corpora() {
    return {management_corpus(), flow_control_corpus(), iwarp_corpus()};
}

} // namespace veriroce::corpus
