// Cases about connection management, and devices that have none.
#include "dissector/wire/packet.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::test {
namespace {

// Nobody is at QP 1: what comes there is dropped.
class WithoutQp1 final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || packet->bth.dest_qp != wire::Qpn{1}) in.push_back(std::move(datagram));
    }
};

} // namespace

TEST_CASE("management: a device that answers nothing at QP 1 skips the cases about it", "[plan]") {
    const auto results =
        play_suite(over_both({"cm/unknown-service", "cm/queue-key"}), engine_behind<WithoutQp1>());
    REQUIRE(results.size() == 14);
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Skip);
        CHECK(result.reason().find("the device answers no REQ at QP 1") != std::string::npos);
    }
}

TEST_CASE("management: each kind of field is sent and compared", "[plan]") {
    constexpr std::string_view head = "rule CM-06\ntitle \"t\"\nrole responder\n\n";
    const auto played = [&](std::string_view lines) {
        return play_script(std::string(head) + std::string(lines));
    };
    const CaseResult right =
        played("> CM_REQ cm.prim_localgid=tester cm.private=hex\"0102\" cm.localcommid=9 as asked\n"
               "< CM_REJ cm.remotecommid=1..9 cm.reason>=8 cm.ari=hex\"0000\" srcqp=abs:1\n"
               "gsi > SEND_ONLY len=24\nno CM_REJ\nquiet gsi\njudged gsi 1ms\n");
    INFO(text_of(right));
    CHECK(right.verdict == Verdict::Pass);
    const CaseResult wrong = played("> CM_REQ cm.localcommid=9\n"
                                    "< CM_REJ cm.remotecommid=8 cm.ari=hex\"01\"\n");
    CHECK(wrong.verdict == Verdict::Fail);
    REQUIRE(wrong.findings.size() == 1);
    const auto& differences = wrong.findings.front().differences;
    REQUIRE(differences.size() == 2);
    CHECK(differences[0] == Difference{"cm.remotecommid", "0x8", "0x9"});
    CHECK(differences[1] == Difference{"cm.ari", "01", "00"});
    CHECK(played("> CM_DREQ\n< CM_REJ\n").findings.front().differences.front() ==
          Difference{"packet", "CM_REJ", "CM_DREP"});
}

TEST_CASE("management: a connection is what its REQ asks for", "[plan][CM-02][CM-03]") {
    constexpr std::string_view head =
        "rule CM-02\ntitle \"t\"\nrole responder\nqp state=RESET\n\ndut cm listen\n";
    const auto played = [&](std::string_view lines, std::string_view defect = "") {
        VirtualTestbedOptions device;
        if (!defect.empty()) device = engine_of(mutants::find(defect).value());
        return play_script(std::string(head) + std::string(lines), std::move(device));
    };
    const auto differences = [&](std::string_view lines, std::string_view defect) {
        const CaseResult result = played(lines, defect);
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Fail);
        REQUIRE_FALSE(result.findings.empty());
        return result.findings.front().differences;
    };
    const CaseResult right = played("> CM_REQ\ndut cm accept responder_resources=1 "
                                    "initiator_depth=1\n"
                                    "< CM_REP cm.respres=1 cm.initdepth=1\n> CM_RTU\n"
                                    "dut cm event ESTABLISHED within 1ms\n"
                                    "dut cm disconnect\n< CM_DREQ\n> CM_DREP\n"
                                    "dut cm event DISCONNECTED\ndut state ERR\n");
    INFO(text_of(right));
    CHECK(right.verdict == Verdict::Pass);

    const std::string_view accepted = "> CM_REQ cm.startpsn=5\ndut cm accept\n< CM_REP\n";
    CHECK(played(accepted).verdict == Verdict::Pass);
    CHECK(differences(accepted, "start_psn_of_the_request_read_too_high") ==
          std::vector{Difference{"sq_psn", "5", "6"}});
    const auto named = differences(accepted, "reply_names_another_qp");
    REQUIRE(named.size() == 1);
    CHECK(named.front().field == "cm.localqpn");
    const auto mtu = differences("> CM_REQ cm.pppmtu=1\ndut cm accept\n< CM_REP\n",
                                 "path_mtu_of_the_request_ignored");
    CHECK(mtu == std::vector{Difference{"path_mtu", "256", "1024"}});
}

TEST_CASE("management: what a program does not do, and what does not come", "[plan][CM-05]") {
    const auto played = [&](std::string_view lines) {
        return play_script("rule CM-02\ntitle \"t\"\nrole responder\nqp state=RESET\n\n" +
                           std::string(lines));
    };
    struct Row {
        std::string_view lines;
        Verdict verdict;
        std::string_view reason;
    };
    for (const Row& row :
         {Row{"dut cm accept\n", Verdict::Error, "no 'dut cm listen' line"},
          Row{"dut cm listen\ndut cm disconnect\n", Verdict::Error, "has no connection"},
          Row{"dut cm listen\ndut cm accept\n", Verdict::Fail, "CONNECT_REQUEST"},
          Row{"dut cm listen\n> CM_REQ\nwait 5ms\n", Verdict::Fail, "CONNECT_REQUEST"},
          Row{"dut cm listen\n> CM_REQ\ndut cm accept\n< CM_REP\n"
              "dut cm event ESTABLISHED within 1ms\n",
              Verdict::Fail, "ESTABLISHED"}}) {
        const CaseResult result = played(row.lines);
        INFO(text_of(result));
        CHECK(result.verdict == row.verdict);
        CHECK(result.reason().find(row.reason) != std::string::npos);
    }
}

TEST_CASE("management: a device without listeners skips the cases that need one", "[plan]") {
    VirtualTestbedOptions device;
    device.lacks.words.insert("cm");
    const auto results = play_suite(over_both({"cm/accept"}), std::move(device));
    REQUIRE(results.size() == 4);
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Skip);
        CHECK(result.reason().find("needs cm") != std::string::npos);
    }
}

} // namespace veriroce::test
