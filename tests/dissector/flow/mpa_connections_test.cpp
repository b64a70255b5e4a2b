// iWARP connections whose start-up was seen: PDUs without a CRC, in several segments, cut.
#include <catch2/catch.hpp>

#include "dissector/decode/decoder.hpp"
#include "dissector/flow/upper_connections.hpp"
#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/conversation.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"

using namespace veriroce;
using namespace veriroce::flow;
using corpus::Message;
using decode::LayerKind;
using decode::Protocol;
using enum decode::LayerKind;

namespace {

Message start(std::string_view key, std::uint8_t flags) {
    Message frame;
    for (const char c : key)
        frame.be(static_cast<unsigned char>(c), 1);
    return frame.be(flags, 1).be(1, 1).be(0, 2);
}

// The client's end of a connection of the made corpus, from its first frame on.
class Client {
  public:
    // `flags`: of both start-up frames.
    explicit Client(std::uint8_t flags) : Client(flags, flags) {}
    Client(std::uint8_t request, std::uint8_t reply) {
        see(start("MPA ID Req Frame", request));
        answer(start("MPA ID Rep Frame", reply));
    }

    // What the client sends next is shown as these layers. `captured`: as many bytes of it.
    std::vector<LayerKind> see(const Message& content, std::optional<std::size_t> captured = {}) {
        const auto layers = segment(next_, content, captured, false);
        next_ += static_cast<std::uint32_t>(content.bytes().size());
        return layers;
    }
    // The same again from `back` bytes before.
    std::vector<LayerKind> again(std::uint32_t back, const Message& content) {
        return segment(next_ - back, content, {}, false);
    }
    void answer(const Message& content) {
        segment(server_next_, content, {}, true);
        server_next_ += static_cast<std::uint32_t>(content.bytes().size());
    }
    void lose(std::uint32_t bytes) { next_ += bytes; }
    [[nodiscard]] const decode::Dissection& last() const { return d_; }

  private:
    std::vector<LayerKind> segment(std::uint32_t sequence, const Message& content,
                                   std::optional<std::size_t> captured, bool reverse) {
        Message packet;
        packet.be(0x4500, 2).be(40 + content.bytes().size(), 2).be(0x00004000, 4).be(0x4006, 2);
        packet.zeros(2).be(reverse ? 0xC0000202 : 0xC0000201, 4);
        packet.be(reverse ? 0xC0000201 : 0xC0000202, 4);
        packet.be(reverse ? 5000 : 40'000, 2).be(reverse ? 40'000 : 5000, 2).be(sequence, 4);
        packet.zeros(4).be(0x5018, 2).zeros(6).append(content);
        bytes_ = packet.bytes();
        decode::FrameFacts facts;
        facts.original_length = static_cast<std::uint32_t>(bytes_.size());
        if (captured) bytes_.resize(40 + *captured);
        facts.bytes = bytes_;
        facts.link_code = 101;
        decode::dissect_frame(facts, {}, d_);
        connections_.apply(d_);
        std::vector<LayerKind> above;
        std::uint32_t at = 40;
        for (const decode::LayerSpan& layer : d_.layers.from(Tcp)) {
            if (layer.kind == Tcp) continue;
            CHECK(layer.offset == at); // each follows the one before
            at = layer.offset + layer.length;
            above.push_back(layer.kind);
        }
        CHECK(at == bytes_.size());
        return above;
    }

    UpperConnections connections_;
    decode::Dissection d_;
    std::vector<std::byte> bytes_;
    std::uint32_t next_ = 0xFFFFFFE0; // wraps after the start-up
    std::uint32_t server_next_ = 7000;
};

// A SEND of this many bytes, without a CRC.
Message pdu(std::size_t bytes) {
    Message frame;
    frame.be(18 + bytes, 2).be(0x4143, 2).zeros(16).fill(bytes, 'd');
    return frame.up_to((frame.bytes().size() + 3) / 4 * 4).fill(4, 0);
}
// One of the corpus, which has a CRC, and a pad.
Message send_with_crc() {
    const auto made = corpus::iwarp_corpus();
    const auto send = std::ranges::find(made.frames, "iwarp send", &corpus::CorpusFrame::carrier);
    REQUIRE(send != made.frames.end());
    Message content;
    for (std::size_t i = 14 + 40; i < send->bytes.size(); ++i)
        content.be(std::to_integer<unsigned>(send->bytes[i]), 1);
    return content;
}
Message part_of(const Message& whole, std::size_t from, std::size_t to) {
    Message part;
    for (std::size_t i = from; i < to; ++i)
        part.be(std::to_integer<unsigned>(whole.bytes()[i]), 1);
    return part;
}

const std::vector<LayerKind> kPdu{Mpa, DdpUntagged, Payload, MpaCrcUnused};

std::vector<LayerKind> operator+(std::vector<LayerKind> first,
                                 const std::vector<LayerKind>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

constexpr std::uint8_t kCrc = 0x40;
constexpr std::uint8_t kMarkers = 0x80;

} // namespace

TEST_CASE("mpa connections: PDUs without a CRC where both ends wanted none", "[flow]") {
    Client none(0);
    CHECK(none.see(pdu(32)) == kPdu);
    CHECK(none.last().protocol == Protocol::Iwarp);
    CHECK(none.see(Message(pdu(32)).append(pdu(64))) == kPdu + kPdu);
    CHECK(none.again(static_cast<std::uint32_t>(pdu(64).bytes().size()), pdu(64)) == kPdu);
    for (const auto& [request, reply] : {std::pair{kCrc, std::uint8_t{0}}, {0, kCrc}}) {
        Client one(request, reply); // RFC 5044: if one end wants them, both send them
        CHECK(one.see(pdu(32)) == std::vector{MpaMore});
    }
    // After a gap it is iWARP, but the place of its PDUs is unknown.
    Client other(0);
    other.lose(1000);
    CHECK(other.see(pdu(32)) == std::vector{MpaMore});
}

TEST_CASE("mpa connections: a PDU in several segments", "[flow]") {
    Client client(0);
    const Message whole = pdu(1000);
    const std::size_t end = whole.bytes().size();
    CHECK(client.see(part_of(whole, 0, 300)) == std::vector{Mpa, DdpUntagged, Payload});
    CHECK_FALSE(client.last().cut);
    CHECK_FALSE(client.last().malformed);
    CHECK(client.see(part_of(whole, 300, 700)) == std::vector{MpaContinued});
    CHECK(client.see(part_of(whole, 700, end).append(pdu(32))) == std::vector{MpaContinued} + kPdu);
    CHECK(client.see(pdu(8)) == kPdu);
    // A header in two segments.
    CHECK(client.see(part_of(whole, 0, 10)) == std::vector{Mpa, DdpUntagged});
    CHECK(client.see(part_of(whole, 10, end)) == std::vector{MpaContinued});
    CHECK(client.see(pdu(8)) == kPdu);
    // Its length in two segments is not followed, nor what comes then.
    CHECK(client.see(part_of(whole, 0, 1)) == std::vector{Mpa});
    CHECK(client.see(part_of(whole, 1, end)) == std::vector{MpaMore});
    CHECK(client.last().protocol == Protocol::Iwarp);
}

TEST_CASE("mpa connections: a PDU that the capture cut, and the place behind it", "[flow]") {
    Client client(kCrc);
    CHECK(client.see(pdu(1000), 60) == std::vector{Mpa, DdpUntagged, Payload});
    CHECK(client.last().cut);
    CHECK(client.last().protocol == Protocol::Iwarp);
    CHECK(client.see(pdu(1000), 60) == std::vector{Mpa, DdpUntagged, Payload});
    CHECK(client.see(pdu(1000), 1) == std::vector{Mpa}); // which does not tell where the next is
    CHECK(client.see(pdu(1000), 60) == std::vector{MpaMore});
    CHECK(client.last().cut);
}

TEST_CASE("mpa connections: what is sent again does not lose the place", "[flow]") {
    Client client(kCrc);
    const Message first = send_with_crc();
    const std::vector<LayerKind> whole{Mpa, DdpUntagged, Payload, Pad, MpaCrc};
    CHECK(client.see(first) == whole);
    CHECK(client.see(first) == whole);
    const auto bytes = static_cast<std::uint32_t>(first.bytes().size());
    CHECK(client.again(2 * bytes, first) == whole);
    CHECK(client.see(pdu(1000), 60) == std::vector{Mpa, DdpUntagged, Payload});
    client.again(1024 + 2 * bytes + 20, start("MPA ID Req Frame", kCrc));
    CHECK(client.see(pdu(1000), 60) == std::vector{Mpa, DdpUntagged, Payload});
}

TEST_CASE("mpa connections: a lost segment loses the place, a right CRC finds it", "[flow]") {
    Client client(kCrc);
    client.lose(100);
    CHECK(client.see(pdu(32)) == std::vector{MpaMore});
    const std::vector<LayerKind> whole{Mpa, DdpUntagged, Payload, Pad, MpaCrc};
    CHECK(client.see(send_with_crc()) == whole);
    CHECK(client.see(pdu(1000), 60) == std::vector{Mpa, DdpUntagged, Payload});
}

TEST_CASE("mpa connections: markers are not followed, and that is said", "[flow]") {
    Client client(0, kMarkers); // the server wants them, so the client sends them
    CHECK(client.see(pdu(32)) == std::vector{MpaMore});
    CHECK(client.last().protocol == Protocol::Iwarp);
    Client towards(kMarkers, 0); // the client wants them, so it sends none
    CHECK(towards.see(pdu(32)) == kPdu);
}
