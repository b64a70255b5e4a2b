// Which connections are known to carry what: by CM, by what the user says, and until when.
#include <catch2/catch.hpp>

#include "dissector/decode/decoder.hpp"
#include "dissector/flow/upper_connections.hpp"
#include "tests/dissector/corpus/conversation.hpp"

using namespace veriroce;
using namespace veriroce::flow;
using corpus::Conversation;
using corpus::Corpus;
using corpus::From;
using corpus::Message;
using decode::LayerKind;
using decode::Upper;

namespace {

constexpr std::uint8_t kSendOnly = 0x04;

// What a capture's frames are taken apart into, one after the other.
class Watcher {
  public:
    explicit Watcher(DecodeAs told = {}) : connections_(std::move(told)) {}
    // Whether the last frame's message was taken apart.
    bool see(const Corpus& corpus) {
        for (; seen_ < corpus.frames.size(); ++seen_)
            see(corpus.frames[seen_].bytes);
        return d_.upper;
    }
    void see(wire::Bytes bytes) {
        decode::FrameFacts facts;
        facts.bytes = bytes;
        facts.original_length = static_cast<std::uint32_t>(bytes.size());
        decode::dissect_frame(facts, {}, d_);
        connections_.apply(d_);
    }
    [[nodiscard]] const decode::Dissection& last() const { return d_; }
    [[nodiscard]] const UpperConnections& connections() const { return connections_; }

  private:
    UpperConnections connections_;
    decode::Dissection d_;
    std::size_t seen_ = 0;
};

Message command() {
    return Message().le(0x02, 1).le(0x40, 1).up_to(64);
}
Message asks(std::uint16_t queue) {
    return Message().le(0, 2).le(queue, 2).up_to(32);
}

DecodeAs port(std::uint16_t number, Upper protocol) {
    DecodeAs told;
    told.ports.push_back({number, protocol});
    return told;
}

} // namespace

TEST_CASE("upper connections: both ends of a connection to a known port are known", "[flow]") {
    for (const bool v6 : {false, true}) {
        Corpus corpus;
        Conversation peers(corpus, v6, 0);
        Watcher watcher;
        peers.send(From::Client, kSendOnly, command(), "before");
        CHECK_FALSE(watcher.see(corpus));
        peers.connect(4420, asks(1), {});
        watcher.see(corpus);
        CHECK(watcher.connections().ends() == 2);
        peers.send(From::Client, kSendOnly, command(), "command");
        CHECK(watcher.see(corpus));
        CHECK(watcher.last().layers.has(LayerKind::NvmeIoCommand)); // the queue of the request
        peers.send(From::Server, kSendOnly, Message().zeros(16), "completion");
        CHECK(watcher.see(corpus));
        CHECK(watcher.last().layers.has(LayerKind::NvmeCompletion));
        peers.send(From::Client, 0x0A, Message().zeros(64), "RDMA WRITE");
        CHECK_FALSE(watcher.see(corpus));
        peers.send(From::Client, 0x02, Message().zeros(64), "SEND Last");
        CHECK_FALSE(watcher.see(corpus));
    }
}

TEST_CASE("upper connections: private data of NVMe are taken apart in all three messages",
          "[flow]") {
    Corpus corpus;
    Conversation(corpus, false, 0).connect(4420, asks(7), Message().le(0, 2).le(32, 2));
    Conversation(corpus, false, 1).reject(4420, asks(8), Message().le(0, 2).le(6, 2));
    const std::array<std::optional<LayerKind>, 5> expected{
        LayerKind::NvmeCmReq, LayerKind::NvmeCmRep, std::nullopt, LayerKind::NvmeCmReq,
        LayerKind::NvmeCmRej};
    Watcher watcher;
    REQUIRE(corpus.frames.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        watcher.see(corpus.frames[i].bytes);
        INFO(corpus.frames[i].carrier);
        CHECK(watcher.last().upper == expected[i].has_value());
        if (expected[i]) CHECK(watcher.last().layers.has(*expected[i]));
        CHECK(watcher.last().layers.has(LayerKind::CmPrivate));
        CHECK(watcher.last().findings.empty());
    }
    CHECK(watcher.connections().ends() == 2); // nothing of what was refused
}

TEST_CASE("upper connections: a port that is not known carries nothing, unless the user says so",
          "[flow]") {
    const auto taken_apart = [](std::uint16_t service, DecodeAs told) {
        Corpus corpus;
        Conversation peers(corpus, false, 0);
        peers.connect(service, {}, {});
        peers.send(From::Client, kSendOnly, command(), "command");
        Watcher watcher(std::move(told));
        return watcher.see(corpus);
    };
    CHECK(taken_apart(4420, {}));
    CHECK_FALSE(taken_apart(7174, {}));
    CHECK(taken_apart(7174, port(7174, Upper::Nvme)));
    CHECK_FALSE(taken_apart(4420, port(4420, Upper::None)));
    CHECK(taken_apart(4420, port(7174, Upper::Nvme)));
}

TEST_CASE("upper connections: a QP that the user names needs no CM", "[flow]") {
    Corpus corpus;
    Conversation peers(corpus, false, 0);
    DecodeAs told;
    told.qps.push_back({{corpus::server_qp(0)}, Upper::Nvme});
    Watcher watcher(told);
    peers.send(From::Client, kSendOnly, command(), "command");
    CHECK(watcher.see(corpus));
    CHECK(watcher.last().layers.has(LayerKind::NvmeAnyCommand)); // the queue is unknown
    peers.send(From::Server, kSendOnly, Message().zeros(16), "to the other QP");
    CHECK_FALSE(watcher.see(corpus));
    Message connect;
    connect.le(0x7F, 1).le(0x40, 1).le(5, 2).le(1, 1).up_to(42).le(4, 2).up_to(64);
    peers.send(From::Client, kSendOnly, connect, "connect");
    peers.send(From::Client, kSendOnly, command(), "command");
    CHECK(watcher.see(corpus));
    CHECK(watcher.last().layers.has(LayerKind::NvmeIoCommand)); // Connect named it
}

TEST_CASE("upper connections: a disconnect request ends what was known of both ends", "[flow]") {
    Corpus corpus;
    Conversation peers(corpus, false, 0);
    peers.connect(4420, asks(1), {});
    peers.disconnect();
    peers.send(From::Client, kSendOnly, command(), "after");
    Watcher watcher;
    CHECK_FALSE(watcher.see(corpus));
    peers.send(From::Server, kSendOnly, Message().zeros(16), "after");
    CHECK_FALSE(watcher.see(corpus));
    peers.connect(4420, asks(1), {});
    peers.send(From::Client, kSendOnly, command(), "again");
    CHECK(watcher.see(corpus));
    CHECK(watcher.connections().ends() == 2);
}

TEST_CASE("upper connections: QPs that serve something else are forgotten", "[flow]") {
    Corpus corpus;
    Conversation peers(corpus, false, 0);
    peers.connect(4420, asks(1), {});
    Conversation again(corpus, false, 0); // the same QPs
    again.connect(7174, {}, {});
    again.send(From::Client, kSendOnly, command(), "of another service");
    Watcher watcher;
    CHECK_FALSE(watcher.see(corpus));
    again.send(From::Server, kSendOnly, Message().zeros(16), "of another service");
    CHECK_FALSE(watcher.see(corpus));
}

TEST_CASE("upper connections: a request that comes again changes nothing", "[flow]") {
    Corpus corpus;
    Conversation peers(corpus, false, 0);
    peers.connect(4420, asks(1), {});
    Watcher watcher;
    watcher.see(corpus);
    watcher.see(corpus.frames[0].bytes); // REQ
    watcher.see(corpus.frames[1].bytes); // REP
    CHECK(watcher.connections().ends() == 2);
    peers.disconnect();
    watcher.see(corpus);
    peers.send(From::Server, kSendOnly, Message().zeros(16), "after");
    CHECK_FALSE(watcher.see(corpus)); // the ends still knew of each other
}

TEST_CASE("upper connections: a packet with a wrong ICRC tells nothing", "[flow]") {
    Corpus corpus;
    Conversation peers(corpus, false, 0);
    peers.connect(4420, asks(1), {});
    for (auto& frame : corpus.frames)
        frame.bytes.back() ^= std::byte{1};
    peers.send(From::Client, kSendOnly, command(), "command");
    Watcher watcher;
    CHECK_FALSE(watcher.see(corpus));
    CHECK(watcher.connections().ends() == 0);
}

TEST_CASE("upper connections: an answer is known as long as its request is remembered", "[flow]") {
    for (const std::size_t others :
         {UpperConnections::kMaxRequests - 1, UpperConnections::kMaxRequests}) {
        Corpus corpus;
        Conversation(corpus, false, 0).connect(3260, {}, {});
        Watcher watcher;
        watcher.see(corpus.frames[0].bytes); // REQ
        Corpus more;
        for (unsigned i = 1; i <= others; ++i)
            Conversation(more, false, i).reject(3260, {}, {});
        for (std::size_t i = 0; i < more.frames.size(); i += 2)
            watcher.see(more.frames[i].bytes); // its REQ alone
        watcher.see(corpus.frames[1].bytes);   // REP
        CHECK(watcher.connections().ends() ==
              others + 1 + (others < UpperConnections::kMaxRequests ? 1U : 0U));
    }
}

TEST_CASE("upper connections: the oldest ends give way, and are counted", "[flow]") {
    constexpr std::size_t kRequests = UpperConnections::kMaxEnds + 3;
    Corpus corpus;
    Conversation(corpus, false, 0).connect(3260, {}, {});
    std::vector<std::byte> request = corpus.frames[0].bytes;
    const std::size_t message = 14 + 20 + 8 + 12 + 8 + 24; // after BTH, DETH and the MAD header
    UpperConnections connections;
    decode::Dissection d;
    for (std::size_t i = 0; i < kRequests; ++i) {
        wire::store_be<4>(request, message, i);
        wire::store_be<3>(request, message + 32, 0x1000 + i);
        decode::FrameFacts facts;
        facts.bytes = request;
        facts.original_length = static_cast<std::uint32_t>(request.size());
        decode::dissect_frame(facts, {.verify_icrc = false, .also_roce_ports = {}}, d);
        connections.apply(d);
    }
    CHECK(connections.ends() == UpperConnections::kMaxEnds);
    CHECK(connections.forgotten() == 3);
}
