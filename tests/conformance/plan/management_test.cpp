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

} // namespace veriroce::test
