// `qp vlan=`: the tester's frames have the tag, and what the DUT sends must have it (N-05).
#include <catch2/catch.hpp>

#include "dissector/wire/frame.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

std::string in_vlan(std::string_view vlan, std::string_view dialogue) {
    return "rule   N-05\ntitle  \"made up\"\nrole   both\nqp     vlan=" + std::string(vlan) +
           "\n\n" + std::string(dialogue);
}

constexpr std::string_view a_send = "dut    recv id=1\n"
                                    "> SEND_ONLY  psn=0 ackreq\n"
                                    "< ACK        psn=0 msn=1\n"
                                    "dut    done recv id=1\n";

// The tags of what a side sent; a frame without one counts as none.
std::vector<wire::VlanTag> tags_of(const CaseResult& result, Side side) {
    std::vector<wire::VlanTag> tags;
    for (const RecordedPacket& packet : result.packets) {
        const auto frame = wire::decode_frame(packet.frame);
        if (packet.from == side && frame && frame->vlan) tags.push_back(*frame->vlan);
    }
    return tags;
}

std::size_t packets_of(const CaseResult& result, Side side) {
    return static_cast<std::size_t>(
        std::ranges::count(result.packets, side, &RecordedPacket::from));
}

// A device that heeds no tag: it is asked in VLAN 77, and answers outside of it.
CaseResult of_careless_device(std::string_view script) {
    VirtualTestbedOptions options = right_engine();
    options.engine.behaviour.vlan_checked = false;
    const auto compiled = script::compile("made/up.roce", script);
    REQUIRE(compiled.has_value());
    VirtualTestbed testbed(std::move(options));
    Environment environment = testbed.environment({});
    environment.vlan = wire::VlanId{.id = 77};
    return testbed.play(compiled->test_case, compiled->runs.front(), environment);
}

} // namespace

TEST_CASE("vlan: both sides' packets have the tag, ours with the priority", "[interpreter][N-05]") {
    for (const bool priority : {false, true}) {
        const CaseResult result = play_script(in_vlan(priority ? "77.3" : "77", a_send));
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        const auto ours = tags_of(result, Side::Tester);
        const auto theirs = tags_of(result, Side::Dut);
        REQUIRE(ours.size() == packets_of(result, Side::Tester));
        REQUIRE(theirs.size() == packets_of(result, Side::Dut));
        REQUIRE_FALSE(theirs.empty());
        CHECK(std::ranges::all_of(ours, [&](const wire::VlanTag& tag) {
            return tag.id == 77 && tag.priority == (priority ? 3 : 0);
        }));
        CHECK(std::ranges::all_of(theirs, [](const wire::VlanTag& tag) { return tag.id == 77; }));
    }
}

TEST_CASE("vlan: our engine asks and answers in the VLAN", "[interpreter][N-05]") {
    const CaseResult result = play_script(in_vlan("77.5", "dut    mr a len=16KiB fill=zero\n"
                                                          "tester mr t len=16KiB fill=offsets "
                                                          "access=remote_read\n"
                                                          "tester answers\n"
                                                          "dut    post RDMA_READ id=1 local=a "
                                                          "remote=t\n"
                                                          "dut    done send id=1\n"
                                                          "tester post SEND id=2\n"
                                                          "dut    recv id=3\n"
                                                          "tester done send id=2\n"
                                                          "dut    done recv id=3\n"
                                                          "expect a == t\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    CHECK(tags_of(result, Side::Tester).size() == packets_of(result, Side::Tester));
    CHECK(tags_of(result, Side::Dut).size() == packets_of(result, Side::Dut));
}

TEST_CASE("vlan: a priority alone is no VLAN, and its answer needs no tag",
          "[interpreter][ENC-15]") {
    const CaseResult result = play_script(in_vlan("0.5", a_send));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    CHECK(tags_of(result, Side::Tester).size() == packets_of(result, Side::Tester));
    CHECK(tags_of(result, Side::Dut).empty());
}

TEST_CASE("vlan: a field overwrites the tag of one packet", "[interpreter][N-05]") {
    const CaseResult result = play_script(in_vlan("77", "dut    recv id=1\n"
                                                        "> SEND_ONLY  psn=0 vlan.id=78 ackreq\n"
                                                        "quiet\n"
                                                        "> SEND_ONLY  psn=0 vlan.pcp=6 ackreq\n"
                                                        "< ACK        psn=0 vlan.id=77\n"
                                                        "dut    done recv id=1\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    const auto ours = tags_of(result, Side::Tester);
    REQUIRE(ours.size() == 2);
    CHECK(ours[0].id == 78);
    CHECK(ours[1].id == 77);
    CHECK(ours[1].priority == 6);
}

TEST_CASE("vlan: what comes outside of it satisfies no line and is not tolerated",
          "[interpreter][N-05]") {
    const CaseResult claimed = of_careless_device(in_vlan("77", a_send));
    INFO(text_of(claimed));
    CHECK(claimed.verdict == Verdict::Warn); // N-05 is a SHOULD
    CHECK(claimed.reason().find("vlan: expected 77, got none") != std::string::npos);
    const CaseResult passed_over = of_careless_device(in_vlan("77", "dut    recv id=1\n"
                                                                    "> SEND_ONLY  psn=0 ackreq\n"
                                                                    "dut    done recv id=1\n"));
    INFO(text_of(passed_over));
    CHECK(passed_over.verdict == Verdict::Warn);
}

TEST_CASE("vlan: FRAGMENT and RoCEv1 keep the tag", "[interpreter][ENC-09]") {
    const CaseResult result = play_script(in_vlan("77.1", "dut    recv id=1..2\n"
                                                          "> SEND_ONLY  psn=0 ackreq  as whole\n"
                                                          "< ACK        psn=0\n"
                                                          "dut    done recv id=1\n"
                                                          "> FRAGMENT   of whole at=0 len=16\n"
                                                          "> SEND_ONLY  psn=1 encap=rocev1\n"
                                                          "quiet\n"));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    std::size_t tagged = 0;
    for (const RecordedPacket& packet : result.packets) {
        if (packet.from != Side::Tester) continue;
        REQUIRE(packet.frame.size() > 18);
        tagged += wire::load_u16(packet.frame, 12) == 0x8100 &&
                          wire::load_u16(packet.frame, 14) == (1U << 13 | 77U)
                      ? 1
                      : 0;
    }
    CHECK(tagged == 3);
}

} // namespace veriroce::test
