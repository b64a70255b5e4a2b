// Each construct of the language once, met and not met, against the built-in engine.
#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/packet.hpp"
#include "dissector/wire/parsed_frame.hpp"
#include "tests/conformance/interpreter/lines.hpp"

namespace veriroce::test {
namespace {

std::vector<wire::Bytes> sent_by(const CaseResult& result, Side side) {
    std::vector<wire::Bytes> frames;
    for (const RecordedPacket& packet : result.packets) {
        if (packet.from == side) frames.emplace_back(packet.frame);
    }
    return frames;
}

} // namespace

// --- packets ------------------------------------------------------------------------------------

TEST_CASE("construct: data is compared as the line says, with bytes and with regions",
          "[constructs]") {
    const std::string read = "dut    mr a len=64 access=remote_read fill=zero\n"
                             "> RDMA_READ_REQUEST  psn=0 va=a rkey=a dmalen=8\n";
    const std::string response = "< RDMA_READ_RESPONSE_ONLY  psn=0 ";
    const std::string zeros = "hex\"0000000000000000\"\n";
    const std::string others = "hex\"0000000000000001\"\n";
    passes(with(read + response + "data=a[0 +8]\n"));
    passes(with(read + response + "data=" + zeros));
    passes(with(read + response + "data!=" + others));
    fails(with(read + response + "data=" + others), "data: expected 01 from byte 7 on, got 00");
    fails(with(read + response + "data!=" + zeros), "data: expected other bytes, got the same");
    fails(with(read + response + "data!=a[0 +8]\n"), "data: expected other bytes, got the same");
    // The same in a line that forbids a packet.
    const std::string unwanted = "no RDMA_READ_RESPONSE_ONLY  psn=0 ";
    passes(with(read + unwanted + "data=" + others + response + "\n"));
    passes(with(read + unwanted + "data!=" + zeros + response + "\n"));
    fails(with(read + unwanted + "data=" + zeros + response + "\n"), "RDMA_READ_RESPONSE_ONLY");
    fails(with(read + unwanted + "data!=" + others + response + "\n"), "RDMA_READ_RESPONSE_ONLY");
}

TEST_CASE("construct: an inverted bit leaves a whole packet that differs in it", "[constructs]") {
    passes(with("dut    recv id=1\n"
                "> SEND_ONLY psn=0 ackreq invert=ip.src:31\n"
                "> SEND_ONLY psn=0 ackreq invert=destqp:20\n"
                "dropped\n"));
    passes(with("dut    recv id=1\n"
                "> SEND_ONLY psn=0 ackreq invert=resv7:3 invert=resv6:0\n"
                "< ACK psn=0\n"
                "dut    done recv id=1\n"));
    passes(with("dut    recv id=1\n"
                "fault  rewrite invert=pkey:3 invert=@0:0 when from=tester psn=0 pass=1 fires=1\n"
                "tester answers\n"
                "tester post SEND id=1\n"
                "tester done send id=1\n"
                "dut    done recv id=1\n",
                "tester qp timeout=10 retry_cnt=7\n"));
}

TEST_CASE("construct: a shared queue's limit is armed again", "[constructs]") {
    const std::string header = "needs srq events\nqp srq=s\n";
    const std::string first = "dut    srq s depth=8 limit=2\n"
                              "dut    recv id=1..4 srq=s\n"
                              "> SEND_ONLY psn=0 ackreq\n< ACK psn=0\ndut done recv id=1\n"
                              "> SEND_ONLY psn=1 ackreq\n< ACK psn=1\ndut done recv id=2\n"
                              "> SEND_ONLY psn=2 ackreq\n< ACK psn=2\ndut done recv id=3\n"
                              "dut    event SRQ_LIMIT_REACHED\n";
    const std::string again = "> SEND_ONLY psn=3 ackreq\n< ACK psn=3\ndut done recv id=4\n"
                              "dut    event SRQ_LIMIT_REACHED\n";
    passes(with(first + "dut rearm s limit=1\n" + again, header));
    fails(with(first + "dut rearm s limit=0\n" + again, header), "SRQ_LIMIT_REACHED");
    passes(with("dut srq s depth=8\ndut refuses rearm s limit=9\n", header));
}

TEST_CASE("construct: congestion management is set as a line says", "[constructs]") {
    const std::string mark = "> SEND_ONLY psn=0 ip.ecn=3 ackreq\n";
    const std::string receive = "dut recv id=1\n";
    const std::string rest = "< ACK psn=0\ndut done recv id=1\n";
    const auto set = [&](const std::string& words) { return receive + "dut congestion " + words; };
    passes(with(set("np=on interval=2us*5 dscp=20\n") + mark + "< CNP ip.dscp=20\n" + rest));
    fails(with(set("dscp=20\n") + mark + "< CNP ip.dscp=48\n" + rest), "ip.dscp");
    passes(with(set("np=off\n") + mark + "no CNP\n" + rest));
    fails(with(set("np=off\n") + mark + "< CNP\n" + rest), "CNP");
}

// --- the tester's side ------------------------------------------------------------------------

TEST_CASE("construct: tester post and done, the DUT's region is written", "[constructs]") {
    passes(with("dut    mr a len=4KiB access=remote_write fill=zero\n"
                "tester mr t len=4KiB fill=offsets\n"
                "tester answers\n"
                "tester post RDMA_WRITE id=1 local=t remote=a\n"
                "tester done send id=1\n"
                "expect a == t\n"));
    fails(with("dut    mr a len=4KiB access=remote_read\n"
               "tester answers\n"
               "tester post RDMA_WRITE id=1 remote=a\n"
               "tester done send id=1\n"),
          "status: expected SUCCESS, got REM_ACCESS_ERR: at the tester");
}

TEST_CASE("construct: tester recv takes what the DUT sends", "[constructs]") {
    passes(with("tester mr t len=256\n"
                "dut    mr a len=256 fill=random\n"
                "tester answers\n"
                "tester recv id=5 local=t\n"
                "dut    post SEND_WITH_IMM id=1 imm=7 local=a\n"
                "tester done recv id=5 len=256 imm=7\n"
                "dut    done send id=1\n"
                "expect t == a\n"));
    fails(with("tester answers\n"
               "tester recv id=5\n"
               "dut    post SEND_WITH_IMM id=1 imm=7\n"
               "tester done recv id=5 imm=8\n"),
          "imm: expected 0x8, got 0x7: at the tester");
}

TEST_CASE("construct: tester write, modify and state", "[constructs]") {
    passes(with("tester mr t len=64 fill=zero access=remote_read\n"
                "dut    mr d len=64\n"
                "tester answers\n"
                "tester write t [8 +8] = ones\n"
                "dut    post RDMA_READ id=1 local=d remote=t\n"
                "dut    done send id=1\n"
                "expect d[8 +8] == ones\n"
                "expect d[0 +8] == zero\n"
                "tester state RTS\n"
                "tester modify state=ERR\n"
                "tester state ERR\n"));
    fails(with("tester answers\ntester state ERR within 1ms\n"),
          "state of the tester's QP: expected ERR, got RTS (waited 1 ms)");
}

TEST_CASE("construct: our side's rights and queues are its own", "[constructs]") {
    const std::string read = "tester mr t len=64 access=remote_read,remote_write\n"
                             "dut    mr d len=64\n"
                             "tester answers\n"
                             "dut    post RDMA_READ id=1 local=d remote=t\n";
    passes(with(read + "dut    done send id=1\n"));
    passes(with(read + "dut    done send id=1 status=REM_INV_REQ_ERR\ndut    state ERR\n",
                "tester qp access=local_write\n"));
    passes(with("tester mr t len=64 access=remote_read\ndut    mr d len=64\n"
                "tester answers\n"
                "tester modify access=local_write\n"
                "dut    post RDMA_READ id=1 local=d remote=t\n"
                "dut    done send id=1 status=REM_INV_REQ_ERR\ndut    state ERR\n"));
    // No READ at all is what this side answers.
    passes(with(read + "dut    done send id=1 status=REM_INV_REQ_ERR\ndut    state ERR\n",
                "tester qp max_dest_rd_atomic=0\n"));
    fails(with("tester answers\ntester recv id=1..3\n", "tester qp recv_wr=2\n"),
          "the tester's engine refused it", Verdict::Error);
    fails(with("tester answers\ntester post SEND id=1..3\n", "tester qp send_wr=2\n"),
          "the tester's engine refused it", Verdict::Error);
}

TEST_CASE("construct: our side asks for no more READs at once than it may", "[constructs]") {
    const std::string reads = "dut    mr a len=4KiB access=remote_read fill=offsets\n"
                              "tester mr t len=4KiB\n"
                              "tester answers\n"
                              "tester post RDMA_READ id=1..3 local=t[0 +64] remote=a[0 +64]\n"
                              "tester done send id=1..3\n";
    const auto first_two = [&](std::string_view header) {
        const CaseResult result = passes(with(reads, header));
        REQUIRE(result.packets.size() >= 2);
        return std::pair{result.packets[0].from, result.packets[1].from};
    };
    CHECK(first_two("tester qp max_rd_atomic=1\n") == std::pair{Side::Tester, Side::Dut});
    CHECK(first_two("") == std::pair{Side::Tester, Side::Tester});
}

TEST_CASE("construct: the tester's engine gives up by its own timer", "[constructs]") {
    passes(with("tester answers\n"
                "dut    modify state=ERR\n"
                "tester post SEND id=1\n"
                "tester done send id=1 status=RETRY_EXC_ERR within 5s\n",
                "tester qp retry_cnt=2 timeout=10\n"));
}

// --- objects of the DUT -----------------------------------------------------------------------

TEST_CASE("construct: dereg, and the key is good for nothing any more", "[constructs]") {
    passes(with("dut    mr a len=4KiB access=remote_write\n"
                "> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 ackreq\n"
                "< ACK              psn=0\n"
                "dut    dereg a\n"
                "> RDMA_WRITE_ONLY  psn=1 va=a rkey=a len=64 ackreq\n"
                "< NAK              psn=1 code=REMOTE_ACCESS\n"
                "dut    state ERR\n"));
    fails(with("dut    mr a len=4KiB\n"
               "any\n"
               "  < CNP\n"
               "or\n"
               "  dut    dereg a\n"
               "end\n"
               "expect a == zero\n"),
          "the region is deregistered", Verdict::Error);
}

TEST_CASE("construct: loops turn no more often than a run can bear", "[constructs]") {
    fails(with("repeat i in 1..1000000000000\n"
               "  wait   0ms\n"
               "end\n"),
          "the loops of a run turn at most 10000 times", Verdict::Error);
    fails(with("repeat 200\n"
               "  repeat 200\n"
               "    wait   0ms\n"
               "  end\n"
               "end\n"),
          "the loops of a run turn at most 10000 times", Verdict::Error);
    passes(with("repeat 10000\n"
                "  wait   0ms\n"
                "end\n"));
}

TEST_CASE("construct: a shared receive queue serves its QPs and says when it is low",
          "[constructs]") {
    const std::string header = "qp     srq=s\nqp     b srq=s\n";
    passes(with("dut    srq s depth=8 limit=2\n"
                "dut    recv id=1..3 srq=s\n"
                "> SEND_ONLY    psn=0 ackreq\n"
                "< ACK          psn=0\n"
                "dut    done recv id=1\n"
                "b > SEND_ONLY  psn=0 ackreq\n"
                "b < ACK        psn=0\n"
                "dut    done b recv id=2\n"
                "dut    event SRQ_LIMIT_REACHED\n"
                "> SEND_ONLY    psn=1 ackreq\n"
                "< ACK          psn=1\n"
                "dut    done recv id=3\n"
                "> SEND_ONLY    psn=2 ackreq\n"
                "< RNR_NAK      psn=2\n",
                header));
    fails(with("dut    srq s depth=8\n"
               "dut    recv id=1..2 srq=s\n"
               "b > SEND_ONLY  psn=0 ackreq\n"
               "b < ACK        psn=0\n"
               "dut    done recv id=1\n",
               header),
          "expected recv completion id=1, got nothing (waited ");
    passes(with("dut srq s depth=8\n> SEND_ONLY tver=1\ndropped\n", "qp srq=s\n"));
}

TEST_CASE("construct: a region of another protection domain", "[constructs]") {
    passes(with("dut    mr a len=64 access=remote_write pd=2\n"
                "b > RDMA_WRITE_ONLY  psn=0 va=a rkey=a ackreq\n"
                "b < ACK              psn=0\n"
                "> RDMA_WRITE_ONLY    psn=0 va=a rkey=a ackreq\n"
                "< NAK                psn=0 code=REMOTE_ACCESS\n",
                "qp     b pd=2\n"));
}

TEST_CASE("construct: an armed queue gives one notification", "[constructs]") {
    const std::string header = "qp     cq=c\n";
    passes(with("dut    cq c depth=16\n"
                "dut    recv id=1..2\n"
                "dut    quiet c\n"
                "dut    arm c\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "< ACK        psn=0\n"
                "dut    notified c\n"
                "dut    quiet c for 5ms\n"
                "dut    arm c solicited\n"
                "> SEND_ONLY  psn=1 ackreq\n"
                "< ACK        psn=1\n"
                "dut    quiet c\n"
                "dut    done recv id=1..2\n",
                header));
    fails(with("dut cq c depth=16\ndut arm c\ndut notified c within 2ms\n", header),
          "expected notification of c, got nothing (waited 2 ms)");
    fails(with("dut    cq c depth=16\n"
               "dut    recv id=1\n"
               "dut    arm c\n"
               "> SEND_ONLY  psn=0 ackreq\n"
               "< ACK        psn=0\n"
               "dut    quiet c\n",
               header),
          "unexpected notification of c: line ");
}

TEST_CASE("construct: memory windows of both types are bound and closed", "[constructs]") {
    for (const std::string type : {"1", "2"}) {
        passes(with("dut    mr a len=4KiB access=remote_write,remote_read,mw_bind fill=zero\n"
                    "dut    mw w on=a type=" +
                    type +
                    "\n"
                    "dut    post BIND_MW id=1 mw=w local=a[64 +128] access=remote_write\n"
                    "dut    done send id=1 opcode=BIND_MW\n"
                    "> RDMA_WRITE_ONLY  psn=0 va=w rkey=w len=128 ackreq\n"
                    "< ACK              psn=0\n"
                    "expect a[0 +64] == zero\n"
                    "> RDMA_WRITE_ONLY  psn=1 va=a rkey=w len=64 ackreq\n"
                    "< NAK              psn=1 code=REMOTE_ACCESS\n"
                    "dut    dereg w\n"
                    "dut    dereg a\n"));
    }
}

TEST_CASE("construct: LOCAL_INV ends a window of type 2", "[constructs]") {
    passes(with("dut    mr a len=4KiB access=remote_write,mw_bind\n"
                "dut    mw w on=a type=2\n"
                "dut    post BIND_MW id=1 mw=w\n"
                "dut    post LOCAL_INV id=2 ikey=w\n"
                "dut    done send id=1..2\n"
                "> RDMA_WRITE_ONLY  psn=0 va=a rkey=w ackreq\n"
                "< NAK              psn=0 code=REMOTE_ACCESS\n"));
}

TEST_CASE("construct: a counter grew by so much", "[constructs]") {
    const std::string dialogue = "dut    recv id=1\n"
                                 "> SEND_ONLY  psn=0 ackreq\n"
                                 "< ACK        psn=0\n"
                                 "dut    done recv id=1\n"
                                 "> SEND_ONLY  psn=0 ackreq\n"
                                 "< ACK        psn=0\n";
    passes(with(dialogue + "dut    counter duplicate_request += 1\n"));
    fails(with(dialogue + "dut    counter duplicate_request += 2\n"),
          "counter duplicate_request: expected += 2, got += 1");
    fails(with("dut    counter icrc_error += 0\n"), "the device has no counter 'icrc_error'",
          Verdict::Skip);
    // It goes on growing: others use the device. Here copies that come later.
    fails(with("fault  duplicate n=1 after=60ms when from=tester pass=2\n" + dialogue +
               "dut    counter duplicate_request += 0\n"),
          "the counter 'duplicate_request' grows while the tester is silent: others use the device",
          Verdict::Skip);
    fails(with("fault  duplicate n=1 after=5ms when from=tester pass=2\n" + dialogue +
               "dut    counter duplicate_request += 0\n"),
          "counter duplicate_request: expected += 0, got += 1");
}

TEST_CASE("construct: refused verbs of every kind", "[constructs]") {
    passes(with("dut    refuses modify state=RTR\n"
                "dut    refuses cq c depth=0\n"
                "dut    mr a len=4KiB access=mw_bind\n"
                "dut    mw w on=a type=2\n"
                "dut    post BIND_MW id=1 mw=w\n"
                "dut    done send id=1\n"
                "dut    refuses dereg a\n"
                "dut    refuses post SEND id=9 len=2048 inline\n"));
    fails(with("dut    refuses mr a len=64\n"), "verb: expected refused, got accepted");
    fails(with("dut    mr a len=64\ndut dereg a\ndut refuses dereg a\n"), "is not a region",
          Verdict::Error);
}

TEST_CASE("construct: one of several statuses", "[constructs]") {
    const std::string dialogue = "dut    recv id=1 len=8\n"
                                 "> SEND_ONLY  psn=0 len=64 ackreq\n"
                                 "< NAK        psn=0 code=INVALID_REQUEST\n";
    passes(with(dialogue + "dut    done recv id=1 status=LOC_QP_OP_ERR,LOC_LEN_ERR\n"));
    passes(with(dialogue + "dut    done recv id=1 status=FAILED\n"));
    fails(with(dialogue + "dut    done recv id=1 status=SUCCESS,LOC_PROT_ERR\n"),
          "status: expected SUCCESS or LOC_PROT_ERR, got ");
}

TEST_CASE("construct: a completion may open an alternative", "[constructs]") {
    const std::string dialogue = "dut    post SEND id=1\n"
                                 "< SEND_ONLY    psn=0\n"
                                 "> {}            psn=0\n"
                                 "any\n"
                                 "  < SEND_ONLY  psn=0 within 5s\n"
                                 "  > ACK        psn=0\n"
                                 "  dut    done send id=1\n"
                                 "or\n"
                                 "  dut    done send id=1 status=FAILED within 5s\n"
                                 "end\n";
    const auto after = [&](const std::string& answer) {
        return with(std::string(dialogue).replace(dialogue.find("{}"), 2, answer),
                    "qp     timeout=14 retry_cnt=7\n");
    };
    passes(after("NAK code=REMOTE_ACCESS")); // completes in error at once
    passes(after("ACK icrc=bad"));           // comes again when the timer runs out, later than
    fails(after("ACK"),                      // the settle time; completes well
          "expected one of the alternatives, got done send id=1 status=SUCCESS");
}

// --- QPs --------------------------------------------------------------------------------------

TEST_CASE("construct: an array of QPs", "[constructs]") {
    passes(with("repeat i in 0..7\n"
                "  dut    recv q[i] id=1\n"
                "  q[i] > SEND_ONLY  psn=0 ackreq\n"
                "  q[i] < ACK        psn=0\n"
                "  dut    done q[i] recv id=1\n"
                "end\n",
                "qp     q[8]\n"));
    fails(with("q[9] > SEND_ONLY\n", "qp q[8]\n"), "no QP is called 'q[9]'", Verdict::Error);
}

TEST_CASE("construct: another address of the tester", "[constructs]") {
    const CaseResult result = passes(with("dut    recv b id=1\n"
                                          "b > SEND_ONLY  psn=0 ackreq\n"
                                          "b < ACK        psn=0 ip.dst=other\n"
                                          "dut    done b recv id=1\n"
                                          "dut    recv id=2\n"
                                          "> SEND_ONLY    psn=0 ackreq ip.src=other\n"
                                          "dropped\n",
                                          "tester address other\nqp     b to=other\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() >= 2);
    CHECK(wire::decode_frame(frames[0])->envelope().source.text() == "192.0.2.3");
}

TEST_CASE("construct: another address of the DUT's host", "[constructs]") {
    const CaseResult result = passes(with("dut    recv id=1\n"
                                          "> SEND_ONLY    psn=0 ackreq ip.dst=host eth.dst=host\n"
                                          "dropped\n",
                                          "dut    address host\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(!frames.empty());
    CHECK(wire::decode_frame(frames[0])->envelope().destination.text() == "192.0.2.129");
    const std::string two = with("> SEND_ONLY\n", "dut    address host\ndut    address more\n");
    const CaseResult skipped = play_script(two);
    CHECK(skipped.verdict == Verdict::Skip);
    CHECK(skipped.reason() == "needs 2 addresses of the DUT's host that are not GIDs, knows 1: "
                              "--dut-other-address");
}

TEST_CASE("construct: UC drops a message with a gap, and answers nothing", "[constructs]") {
    passes(with("dut    recv id=1..2 len=4KiB\n"
                "> SEND_FIRST   psn=0\n"
                "> SEND_LAST    psn=2\n"
                "quiet\n"
                "> SEND         psn=3 len=3000\n"
                "dut    done recv id=1 len=3000\n"
                "> SEND_ONLY    psn=9\n"
                "dut    done recv id=2 len=64\n"
                "dut    post SEND id=7 len=3000\n"
                "< SEND         psn=0 len=3000\n"
                "dut    done send id=7\n",
                "qp     type=UC\n"));
    passes(with("dut recv id=1\n> SEND_ONLY tver=1\ndropped\n", "qp type=UC\n"));
}

TEST_CASE("construct: UD datagrams both ways", "[constructs]") {
    passes(with("dut    recv id=1..2 len=400\n"
                "> SEND_ONLY  len=100 qkey=0x1234\n"
                "dut    done recv id=1 len=140\n"
                "> SEND_ONLY  qkey=0x9999\n"
                "quiet\n"
                "dut    post SEND id=7 len=50\n"
                "< SEND_ONLY  len=50 qkey=0x1234 srcqp=dut\n"
                "dut    done send id=7\n"
                "> SEND_ONLY  tver=1\n"
                "dropped\n",
                "qp     type=UD qkey=0x1234\n"));
}

TEST_CASE("construct: the first datagram of a QP leaves although nobody was heard before",
          "[constructs]") {
    passes(with("dut    post SEND id=7 len=50\n"
                "< SEND_ONLY  len=50 qkey=0x1234\n"
                "dut    done send id=7\n",
                "qp     type=UD qkey=0x1234\n"));
}

TEST_CASE("construct: attributes reach the packets of both sides", "[constructs]") {
    const CaseResult result =
        passes(with("dut    post SEND id=1\n"
                    "< SEND_ONLY  psn=0 ip.dscp=26 ip.ecn=2 ip.ttl=7 udp.sport=0xC123\n"
                    "> ACK        psn=0\n"
                    "dut    done send id=1\n",
                    "qp     dscp=26 ecn=2 ttl=7 sport=0xC123\n"
                    "tester qp dscp=9 ttl=33 sport=5000\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 1);
    const wire::Envelope envelope = wire::decode_frame(frames[0])->envelope();
    CHECK(envelope.dscp == 9);
    CHECK(envelope.hop_limit == 33);
    CHECK(envelope.source_port == 5000);
}

TEST_CASE("construct: reconnect begins anew, and the judge with it", "[constructs]") {
    passes(with("dut    recv id=1..2\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "< ACK        psn=0 msn=1\n"
                "dut    done recv id=1\n"
                "dut    reconnect psn=7 tester.psn=0xFFFFFF\n"
                "dut    recv id=3..4\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "< ACK        psn=abs:0xFFFFFF msn=1 exact\n"
                "> SEND_ONLY  psn=1 ackreq\n"
                "< ACK        psn=1 msn=2\n"
                "dut    done recv id=3..4\n"
                "dut    post SEND id=5\n"
                "< SEND_ONLY  psn=abs:7\n"
                "> ACK        psn=0\n"
                "dut    done send id=5\n"));
    fails(with("dut    recv id=1\n"
               "> SEND_ONLY  psn=1 ackreq\n"
               "wait   1ms\n"
               "dut    reconnect\n"),
          "unexpected NAK: no line expects it");
}

TEST_CASE("construct: a reconnect takes attributes, and another QP of the tester", "[constructs]") {
    const CaseResult result =
        passes(with("dut    mr a len=64\n"
                    "tester mr t len=64 access=remote_read\n"
                    "dut    post RDMA_READ id=1 local=a[0 +8] remote=t[0 +8]\n"
                    "< RDMA_READ_REQUEST  ip.dscp=3\n"
                    "dut    reconnect max_rd_atomic=1 dscp=9 new_peer\n"
                    "dut    post RDMA_READ id=4..6 local=a[0 +8] remote=t[0 +8]\n"
                    "< RDMA_READ_REQUEST  psn=0 ip.dscp=9 destqp=tester\n"
                    "no RDMA_READ_REQUEST\n"
                    "> RDMA_READ_RESPONSE  psn=0 data=t[0 +8]\n"
                    "dut    done send id=4\n"
                    "< RDMA_READ_REQUEST  psn=1\n",
                    "qp     max_rd_atomic=2 dscp=3\n"));
    std::set<wire::Qpn> peers;
    for (const interpreter::RecordedPacket& packet : result.packets) {
        const auto frame = wire::parse_frame(packet.frame);
        REQUIRE((frame && frame->packet));
        if (packet.from == interpreter::Side::Dut) peers.insert(frame->packet->bth.dest_qp);
    }
    CHECK(peers.size() == 2);
}

TEST_CASE("construct: modify brings what a state needs", "[constructs]") {
    passes(with("dut    recv id=1\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "quiet\n"
                "dut    modify state=RTR\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "< ACK        psn=0\n"
                "dut    done recv id=1\n"
                "dut    modify state=RTS timeout=10 retry_cnt=1\n"
                "dut    post SEND id=2\n"
                "repeat 2\n"
                "  < SEND_ONLY  psn=0\n"
                "end\n"
                "dut    done send id=2 status=RETRY_EXC_ERR\n",
                "qp     state=INIT\n"));
    passes(with("dut modify state=SQD\ndut event SQ_DRAINED within 1s\ndut modify state=RTS\n",
                "qp en_sqd_async_notify=1\n"));
}

TEST_CASE("construct: a request of the QP's earlier life holds nothing back", "[constructs]") {
    const CaseResult result = play_script(with("dut post SEND id=1\n"
                                               "< SEND_ONLY psn=0\n"
                                               "dut reconnect\n"
                                               "< SEND_ONLY psn=0 within 20ms\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason() == "expected SEND_ONLY, got nothing (waited 20 ms)");
}

// --- judged -----------------------------------------------------------------------------------

TEST_CASE("construct: judged takes what the rules allow, and nothing else", "[constructs]") {
    const std::string script = with("dut    recv id=1..2\n"
                                    "> SEND_MIDDLE  psn=0\n"
                                    "> SEND_ONLY    psn=1 ackreq\n"
                                    "judged\n");
    passes(script);
    const CaseResult result =
        play_script(script, engine_of(*mutants::find("orphan_last_taken_for_only")));
    CHECK(result.verdict == Verdict::Pass); // no LAST here
    const CaseResult gap = play_script(with("dut recv id=1..9\n> SEND_ONLY psn=0 ackreq\n"
                                            "> SEND_ONLY psn=2 ackreq\n> SEND_ONLY psn=3 ackreq\n"
                                            "judged\n"),
                                       engine_of(*mutants::find("nak_for_every_packet_ahead")));
    INFO(text_of(gap));
    CHECK(gap.verdict == Verdict::Fail);
    CHECK(gap.reason().find("RSP-03") != std::string::npos);
}

TEST_CASE("construct: an unscripted case passes over what no line names", "[constructs]") {
    const std::string body = "dut    recv id=1..2\n"
                             "> SEND_ONLY  psn=0 ackreq\n"
                             "> SEND_ONLY  psn=2 ackreq\n"
                             "> SEND_ONLY  psn=1 ackreq\n"
                             "< ACK        psn=1\n"
                             "dut    done recv id=2\n";
    CHECK(play_script(with(body)).verdict == Verdict::Fail);
    passes(with(body, "tags   unscripted\n"));
    // Completions and events that no line names, and packets after the last line.
    passes(with("dut recv id=1..9\n> SEND_ONLY psn=0 ackreq\n> SEND_MIDDLE psn=1\n",
                "tags   unscripted\n"));
}

TEST_CASE("construct: in an unscripted case lines wait, and the judge reads everything",
          "[constructs]") {
    const CaseResult missing =
        play_script(with("> SEND_ONLY psn=0 ackreq\n< ACK psn=0\n", "tags   unscripted\n"));
    CHECK(missing.verdict == Verdict::Fail); // an RNR NAK comes
    const std::string again = with("dut recv id=1..9\n> SEND_ONLY psn=0 ackreq\n"
                                   "> SEND_ONLY psn=2 ackreq\n> SEND_ONLY psn=3 ackreq\n",
                                   "tags   unscripted\n");
    passes(again);
    CHECK(play_script(again, engine_of(*mutants::find("nak_for_every_packet_ahead"))).verdict ==
          Verdict::Fail);
}

// --- other frames -----------------------------------------------------------------------------

TEST_CASE("construct: RAW is the frame as it is written", "[constructs]") {
    const CaseResult result = passes(with("dut    recv id=1\n"
                                          "> RAW  hex\"FFFFFFFFFFFF 020000000002 8808 0102\"\n"
                                          "dropped\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 2);
    REQUIRE(frames[0].size() == 16);
    CHECK(wire::load_u32(frames[0], 12) == 0x88080102);
}

TEST_CASE("construct: zeros in place of a MAC of a RAW frame stand for the two hosts'",
          "[constructs]") {
    const CaseResult result = passes(with("dut    recv id=1\n"
                                          "> RAW  hex\"000000000000 000000000000 8808\"\n"
                                          "> RAW  hex\"0000000000\"\n"
                                          "dropped\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 3);
    // The exchange of `dropped` has the same two addresses.
    CHECK(std::ranges::equal(frames[0].first(12), frames[2].first(12)));
    CHECK(wire::load_u16(frames[0], 12) == 0x8808);
    CHECK(frames[1].size() == 5);
}

TEST_CASE("construct: FRAGMENT cuts the IP packet of an earlier line", "[constructs]") {
    const CaseResult result = passes(with("dut    recv id=1..2\n"
                                          "> SEND_ONLY  psn=0 len=40 ackreq as whole\n"
                                          "< ACK        psn=0\n"
                                          "dut    done recv id=1\n"
                                          "> FRAGMENT   of whole at=0 len=32\n"
                                          "> FRAGMENT   of whole at=32 len=32\n"
                                          "quiet\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 3);
    const auto first = *wire::Ipv4::decode(frames[1].subspan(14));
    const auto last = *wire::Ipv4::decode(frames[2].subspan(14));
    const auto whole = *wire::Ipv4::decode(frames[0].subspan(14));
    CHECK(first.more_fragments);
    CHECK(first.fragment_offset == 0);
    CHECK(first.total_length == 52);
    CHECK(first.id == whole.id);
    CHECK(last.fragment_offset == 4);
    CHECK_FALSE(last.more_fragments); // UDP 8, BTH 12, 40, ICRC 4
    CHECK(wire::ipv4_checksum(frames[1].subspan(14, 20)) == first.checksum);
    CHECK(std::ranges::equal(frames[2].subspan(34), frames[0].subspan(34 + 32)));
    fails(with("dut recv id=1\n> SEND_ONLY psn=0 as whole\n> FRAGMENT of whole at=4 len=8\n"),
          "multiple of 8", Verdict::Error);
}

TEST_CASE("construct: PFC is a frame of priority flow control", "[constructs]") {
    const CaseResult result = passes(with("> PFC  class=3 quanta=0x1234\nquiet\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 1);
    REQUIRE(frames[0].size() == 60);
    CHECK(wire::load_u32(frames[0], 0) == 0x0180C200);
    CHECK(wire::load_u16(frames[0], 4) == 0x0001);
    CHECK(wire::load_u16(frames[0], 12) == 0x8808);
    CHECK(wire::load_u16(frames[0], 14) == 0x0101);
    CHECK(wire::load_u16(frames[0], 16) == 1 << 3);
    CHECK(wire::load_u16(frames[0], 22) == 0);
    CHECK(wire::load_u16(frames[0], 24) == 0x1234);
}

TEST_CASE("construct: encap=rocev1 puts a GRH in place of IP and UDP", "[constructs]") {
    const CaseResult result = passes(with("dut    recv id=1\n"
                                          "> SEND_ONLY  psn=0 len=8 ackreq encap=rocev1\n"
                                          "dropped\n"));
    const auto frames = sent_by(result, Side::Tester);
    REQUIRE(frames.size() == 2);
    const wire::Bytes frame = frames[0];
    REQUIRE(frame.size() == 14 + 40 + 12 + 8 + 4);
    CHECK(wire::load_u16(frame, 12) == 0x8915);
    const wire::Ipv6 grh = wire::Ipv6::read(frame.subspan(14));
    CHECK(grh.next_header == 0x1B);
    CHECK(grh.payload_length == 12 + 8 + 4);
    CHECK(grh.source.text() == "192.0.2.2");
    CHECK(wire::load_u8(frame, 54) == 0x04);
    std::vector<std::byte> masked(frame.begin() + 14, frame.end() - 4);
    for (const std::size_t at : {1U, 2U, 3U, 7U, 44U})
        masked[at] = std::byte{0xFF};
    masked[0] = std::byte{0x6F};
    CHECK(wire::load_icrc(frame.last(4)) == wire::icrc_unmasked(masked));
}

} // namespace veriroce::test
