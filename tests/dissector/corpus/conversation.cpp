#include "tests/dissector/corpus/conversation.hpp"

#include <stdexcept>

namespace veriroce::corpus {
namespace {

constexpr std::uint8_t kUdSendOnly = 0x64;
constexpr std::uint64_t kTcpPortSpace = 0x0000000001060000;

const wire::IpAddress& address_of(From from, bool v6) {
    static const std::array<wire::IpAddress, 4> all{
        *wire::IpAddress::parse("192.0.2.1"), *wire::IpAddress::parse("192.0.2.2"),
        *wire::IpAddress::parse("2001:db8::1"), *wire::IpAddress::parse("2001:db8::2")};
    return all[(v6 ? 2U : 0U) + (from == From::Server ? 1U : 0U)];
}

Message gid_of(From from, bool v6) {
    Message gid;
    for (const std::byte byte : address_of(from, v6).bytes)
        gid.be(std::to_integer<unsigned>(byte), 1);
    return gid;
}

// As the IP CM service has it: IPv4 in the last four of sixteen bytes.
Message ip_of(From from, bool v6) {
    if (v6) return gid_of(from, v6);
    Message address;
    address.zeros(12);
    for (std::size_t i = 12; i < 16; ++i)
        address.be(std::to_integer<unsigned>(address_of(from, v6).bytes[i]), 1);
    return address;
}

std::uint32_t communication_id(From from, unsigned ordinal) {
    return (from == From::Client ? 0xC1000000 : 0x5E000000) + ordinal;
}

} // namespace

std::uint32_t client_qp(unsigned ordinal) {
    return 0x000101 + ordinal;
}
std::uint32_t server_qp(unsigned ordinal) {
    return 0x000202 + ordinal;
}
std::uint32_t first_psn(From from, unsigned ordinal) {
    return (from == From::Client ? 0x111000 : 0x222000) + ordinal * 256;
}

Conversation::Conversation(Corpus& corpus, bool v6, unsigned ordinal)
    : corpus_(corpus), v6_(v6), ordinal_(ordinal),
      next_psn_{first_psn(From::Client, ordinal), first_psn(From::Server, ordinal)} {}

std::string Conversation::name(const std::string& what) const {
    return corpus_.name + " " + what + (v6_ ? " v6" : "");
}

wire::Sender Conversation::sender(From from) const {
    const bool client = from == From::Client;
    wire::Sender sender;
    sender.envelope.source = address_of(from, v6_);
    sender.envelope.destination = address_of(client ? From::Server : From::Client, v6_);
    sender.envelope.source_port = static_cast<std::uint16_t>(50'000 + ordinal_);
    sender.link.source.bytes.fill(std::byte{client ? std::uint8_t{2} : std::uint8_t{4}});
    sender.link.destination.bytes.fill(std::byte{client ? std::uint8_t{4} : std::uint8_t{2}});
    sender.ip_id = 77;
    return sender;
}

void Conversation::send(From from, std::uint8_t opcode, const Message& message,
                        const std::string& what) {
    wire::Sender to = sender(from);
    const bool client = from == From::Client;
    to.packet.bth.dest_qp = {client ? server_qp(ordinal_) : client_qp(ordinal_)};
    to.packet.bth.psn = wire::Psn(next_psn_[client ? 0 : 1]++);
    to.packet.ieth.rkey = {0xC1C2C3C4};
    to.packet.reth = {0x1122334455667788, {0x99AABBCC}, 4096};
    const auto frame = wire::encode({.opcode = opcode, .payload = message.bytes()}, to);
    if (!frame) throw std::runtime_error(std::string(text_of(frame.error().error)));
    corpus_.frames.push_back({opcode, name(what), *frame});
}

void Conversation::management(From from, std::uint16_t attribute, const Message& data,
                              const std::string& what) {
    Message mad;
    mad.be(0x01070203, 4).zeros(4).be(0x7700000000000000 + ordinal_ + (v6_ ? 100 : 0), 8);
    mad.be(attribute, 2).zeros(2 + 4).append(data).up_to(256);
    wire::Sender to = sender(from);
    to.packet.bth.dest_qp = {1};
    to.packet.deth.qkey = {0x80010000};
    to.packet.deth.source_qp = {1};
    const auto frame = wire::encode({.opcode = kUdSendOnly, .payload = mad.bytes()}, to);
    if (!frame) throw std::runtime_error(std::string(text_of(frame.error().error)));
    corpus_.frames.push_back({kUdSendOnly, name(what), *frame});
}

Message Conversation::request(std::uint16_t port, const Message& private_data) const {
    Message data;
    data.be(communication_id(From::Client, ordinal_), 4).zeros(4);
    data.be(kTcpPortSpace + port, 8).be(0x0202020202020202, 8).zeros(4).zeros(4);
    data.be(client_qp(ordinal_), 3).be(16, 1);
    data.zeros(3).be(16, 1).zeros(3).be(20 << 3, 1);
    data.be(first_psn(From::Server, ordinal_), 3).be(20 << 3 | 7, 1);
    data.be(0xFFFF, 2).be(0x57, 1).be(0xF0, 1);
    data.be(0xFFFF, 2)
        .be(0xFFFF, 2)
        .append(gid_of(From::Client, v6_))
        .append(gid_of(From::Server, v6_));
    data.zeros(4).be(0, 1).be(64, 1).be(0, 1).be(0x90, 1).up_to(140);
    data.be(0x00, 1).be(v6_ ? 0x60 : 0x40, 1).be(40'000U + ordinal_, 2);
    data.append(ip_of(From::Client, v6_)).append(ip_of(From::Server, v6_));
    return data.append(private_data);
}

void Conversation::connect(std::uint16_t port, const Message& request_private,
                           const Message& reply_private) {
    management(From::Client, 0x10, request(port, request_private), "REQ");
    Message reply;
    reply.be(communication_id(From::Server, ordinal_), 4);
    reply.be(communication_id(From::Client, ordinal_), 4).zeros(4);
    reply.be(server_qp(ordinal_), 3).zeros(1 + 4);
    reply.be(first_psn(From::Client, ordinal_), 3).zeros(1);
    reply.be(16, 1).be(16, 1).be(0x7A, 1).be(0xE0, 1).be(0x0404040404040404, 8);
    management(From::Server, 0x13, reply.append(reply_private), "REP");
    Message ready;
    ready.be(communication_id(From::Client, ordinal_), 4);
    ready.be(communication_id(From::Server, ordinal_), 4);
    management(From::Client, 0x14, ready, "RTU");
}

void Conversation::reject(std::uint16_t port, const Message& request_private,
                          const Message& reject_private) {
    management(From::Client, 0x10, request(port, request_private), "REQ");
    Message reject;
    reject.be(communication_id(From::Server, ordinal_), 4);
    reject.be(communication_id(From::Client, ordinal_), 4).be(0, 2).be(28, 2).up_to(84);
    management(From::Server, 0x12, reject.append(reject_private), "REJ");
}

void Conversation::disconnect() {
    Message request;
    request.be(communication_id(From::Client, ordinal_), 4);
    request.be(communication_id(From::Server, ordinal_), 4).be(server_qp(ordinal_), 3).zeros(1);
    management(From::Client, 0x15, request, "DREQ");
    Message reply;
    reply.be(communication_id(From::Server, ordinal_), 4);
    reply.be(communication_id(From::Client, ordinal_), 4);
    management(From::Server, 0x16, reply, "DREP");
}

} // namespace veriroce::corpus
