#include "dissector/wire/crc32c.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/conversation.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"

namespace veriroce::corpus {
namespace {

constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint8_t kAck = 0x10;
constexpr std::uint8_t kPushAck = 0x18;

// One TCP connection, as Ethernet frames.
class Stream {
  public:
    Stream(Corpus& corpus, bool v6, std::uint16_t port) : corpus_(corpus), v6_(v6), port_(port) {}

    void open() {
        segment(From::Client, kSyn, {}, "SYN");
        segment(From::Server, kSyn | kAck, {}, "SYN ACK");
        segment(From::Client, kAck, {}, "ACK");
    }
    void send(From from, const Message& content, const std::string& what) {
        segment(from, kPushAck, content, what);
    }

  private:
    void segment(From from, std::uint8_t flags, const Message& content, const std::string& what) {
        const bool client = from == From::Client;
        std::uint32_t& mine = next_[client ? 0 : 1];
        Message tcp;
        tcp.be(client ? port_ : kServer, 2).be(client ? kServer : port_, 2).be(mine, 4);
        tcp.be((flags & kAck) != 0 ? next_[client ? 1 : 0] : 0, 4).be(0x50, 1).be(flags, 1);
        tcp.be(60'000, 2).zeros(4).append(content);
        mine += static_cast<std::uint32_t>(content.bytes().size()) + ((flags & kSyn) != 0 ? 1 : 0);
        Message frame;
        frame.be(client ? 0x040404040404 : 0x020202020202, 6);
        frame.be(client ? 0x020202020202 : 0x040404040404, 6).be(v6_ ? 0x86DD : 0x0800, 2);
        frame.append(v6_ ? ipv6(client, tcp) : ipv4(client, tcp));
        corpus_.frames.push_back({0, "iwarp " + what + (v6_ ? " v6" : ""), frame.bytes()});
    }
    static Message ipv4(bool client, const Message& content) {
        Message header;
        header.be(0x4500, 2).be(20 + content.bytes().size(), 2).be(77, 2).be(0x4000, 2).be(64, 1);
        header.be(6, 1).zeros(2).be(client ? 0xC0000201 : 0xC0000202, 4);
        header.be(client ? 0xC0000202 : 0xC0000201, 4);
        std::vector<std::byte> bytes = header.bytes();
        wire::store_be<2>(bytes, 10, wire::ipv4_checksum(bytes));
        Message packet;
        for (const std::byte byte : bytes)
            packet.be(std::to_integer<unsigned>(byte), 1);
        return packet.append(content);
    }
    static Message ipv6(bool client, const Message& content) {
        const auto address = [](unsigned last) {
            return Message().be(0x20010DB800000000, 8).be(last, 8);
        };
        Message packet;
        packet.be(0x60000000, 4).be(content.bytes().size(), 2).be(6, 1).be(64, 1);
        packet.append(address(client ? 1 : 2)).append(address(client ? 2 : 1));
        return packet.append(content);
    }

    static constexpr std::uint16_t kServer = 3260;
    Corpus& corpus_;
    bool v6_;
    std::uint16_t port_;
    std::uint32_t next_[2] = {1000, 0xFFFFFF80}; // the server's wraps
};

Message start(char kind, std::uint8_t flags, const Message& private_data) {
    Message frame;
    for (const char c : std::string("MPA ID Re") + kind + " Frame")
        frame.be(static_cast<unsigned char>(c), 1);
    return frame.be(flags, 1).be(1, 1).be(private_data.bytes().size(), 2).append(private_data);
}

Message tagged(unsigned operation, const Message& payload) {
    Message pdu;
    pdu.be(0xC1, 1).be(0x40 | operation, 1).be(0x11223344, 4).be(0x7F0000001000, 8);
    return pdu.append(payload);
}
Message untagged(unsigned operation, std::uint32_t queue, const Message& payload,
                 std::uint32_t key = 0) {
    Message pdu;
    pdu.be(0x41, 1).be(0x40 | operation, 1).be(key, 4).be(queue, 4).be(3, 4).be(0, 4);
    return pdu.append(payload);
}

// With MPA's length, pad and CRC, which is 0 where none are in use.
Message framed(const Message& pdu, bool crc) {
    Message frame;
    frame.be(pdu.bytes().size(), 2).append(pdu);
    frame.up_to((frame.bytes().size() + 3) / 4 * 4);
    const std::uint32_t sum = crc ? wire::crc32c(frame.bytes()) : 0;
    return frame.le(sum, 4);
}

Message data(std::size_t bytes) {
    return Message().fill(bytes, 'd');
}

void messages(Stream& stream, bool crc) {
    const auto send = [&](From from, const Message& pdu, const std::string& what) {
        stream.send(from, framed(pdu, crc), what);
    };
    send(From::Client, tagged(0, data(40)), "write");
    send(From::Client, untagged(1, 1, Message().be(1, 4).be(2, 8).be(64, 4).be(3, 4).be(4, 8)),
         "read request");
    send(From::Server, tagged(2, data(64)), "read response");
    send(From::Client, untagged(3, 0, data(30)), "send");
    send(From::Client, untagged(4, 0, data(30), 0x99AABBCC), "send with invalidate");
    send(From::Client, untagged(5, 0, data(31)), "send with SE");
    send(From::Client, untagged(6, 0, data(32), 0x99AABBCC), "send with SE and invalidate");
    stream.send(From::Client,
                framed(tagged(0, data(40)), crc).append(framed(untagged(3, 0, data(29)), crc)),
                "two PDUs");
}

void terminates(Stream& stream) {
    const Message about = Message().be(54, 2).append(tagged(0, {}));
    stream.send(
        From::Server,
        framed(untagged(7, 2, Message().be(0x1101, 2).be(0xC0, 1).zeros(1).append(about)), true),
        "terminate about a tagged buffer");
    stream.send(From::Server, framed(untagged(7, 2, Message().be(0x1203, 2).zeros(2)), true),
                "terminate about an untagged buffer");
    const Message with_header =
        Message().be(0x1204, 2).be(0xC0, 1).zeros(1).be(18, 2).append(untagged(3, 0, {}));
    stream.send(From::Server, framed(untagged(7, 2, with_header), true),
                "terminate with an untagged header");
    stream.send(From::Server, framed(untagged(7, 2, Message().be(0x0205, 2).zeros(2)), true),
                "terminate of RDMAP");
    stream.send(From::Server, framed(untagged(7, 2, Message().be(0x2002, 2).zeros(2)), true),
                "terminate of MPA");
}

} // namespace

Corpus iwarp_corpus() {
    Corpus corpus{.name = "iwarp", .link_code = 1, .frames = {}};
    for (const bool v6 : {false, true}) {
        Stream stream(corpus, v6, 40'000);
        stream.open();
        stream.send(From::Client, start('q', 0x40, data(5)), "request");
        stream.send(From::Server, start('p', 0x40, {}), "reply");
        messages(stream, true);
        terminates(stream);
    }
    Stream plain(corpus, false, 40'001);
    plain.open();
    plain.send(From::Client, start('q', 0, {}), "request without CRC");
    plain.send(From::Server, start('p', 0, data(4)), "reply without CRC");
    messages(plain, false);
    return corpus;
}

} // namespace veriroce::corpus
