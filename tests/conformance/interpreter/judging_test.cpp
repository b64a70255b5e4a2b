// Packets that no line of a script names are judged too, and the DUT is not blamed for what fault
// rules did.
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "conformance/interpreter/judging.hpp"
#include "tests/conformance/interpreter/lines.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

VirtualTestbedOptions device_with(std::string_view mutant) {
    const auto found = mutants::find(mutant);
    REQUIRE(found.has_value());
    return engine_of(*found);
}

bool has(const std::vector<std::string>& rules, std::string_view rule) {
    return std::ranges::find(rules, rule) != rules.end();
}

// Spoils the ICRC of the packet with this number, and of those after it for so many.
template <std::uint64_t First, std::uint64_t Count>
class Spoils final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        if (++sent_ >= First && sent_ < First + Count) frame.back() ^= std::byte{1};
    }

  private:
    std::uint64_t sent_ = 0;
};

template <std::uint64_t First, std::uint64_t Count>
CaseResult spoiled(const std::string& dialogue, bool exact = false) {
    VirtualTestbedOptions device = engine_behind<Spoils<First, Count>>();
    if (!exact) device.lab.path_delay = std::chrono::microseconds(100);
    return play_script("rule   RSP-01\ntitle  \"made up\"\nrole   both\n\n" + dialogue,
                       std::move(device));
}

// ACKs that no line needs: the first three may be lost.
const std::string four_sends = "dut    recv id=1..4\n"
                               "repeat 4\n"
                               "  > SEND_ONLY  ackreq\n"
                               "end\n"
                               "< ACK  psn=3\n"
                               "dut    done recv id=1..4\n";
const std::string one_send = "dut    recv id=1\n"
                             "> SEND_ONLY  psn=0 ackreq\n"
                             "< ACK        psn=0 msn=1\n"
                             "dut    done recv id=1\n";

} // namespace

TEST_CASE("judging: what a stranger sends is not held against the DUT", "[interpreter][BTH-16]") {
    const CaseResult result = play_script("rule   RSP-01\ntitle  \"made up\"\nrole   both\n\n"
                                          "> SEND_ONLY  psn=0 resv7=21 ip.src=tester+1\n" +
                                              one_send,
                                          right_engine());
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
}

TEST_CASE("judging: on a link one wrong ICRC warns, two fail the case", "[interpreter][CRC-01]") {
    const CaseResult one = spoiled<2, 1>(four_sends);
    INFO(text_of(one));
    CHECK(one.verdict == Verdict::Warn);
    CHECK(has(one.rules, "CRC-01"));
    CHECK(one.damaged_packets == 1);
    CHECK(one.actual() == "< ACK psn=1 msn=2 icrc=bad");
    CHECK(one.reason().starts_with("every line passed, but the packets violate CRC-01: the ICRC of "
                                   "one packet is 0x"));
    CHECK(one.reason().ends_with(" (a wire damages packets, but very rarely)"));

    const CaseResult two = spoiled<1, 2>(four_sends);
    INFO(text_of(two));
    CHECK(two.verdict == Verdict::Fail);
    CHECK(two.reason().find("violate CRC-01: 2 packets have a wrong ICRC, the first 0x") !=
          std::string::npos);
    CHECK(std::ranges::count_if(two.violations, is_icrc_rule, &Violation::rule) == 1);

    CHECK(spoiled<9, 1>(four_sends).verdict == Verdict::Pass);
    CHECK(spoiled<2, 1>(four_sends, true).verdict == Verdict::Fail); // nothing else does it there
}

TEST_CASE("judging: a packet with a wrong ICRC was lost, and is told", "[interpreter][CRC-01]") {
    const CaseResult result = spoiled<1, 1>(one_send);
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.line() == 7);
    CHECK(result.actual() == "< ACK psn=0 msn=1 icrc=bad");
    CHECK(result.reason().starts_with("icrc: expected good, got bad (waited "));
    CHECK(result.reason().find("; and the packets violate CRC-01: ") != std::string::npos);
}

TEST_CASE("judging: silence that a wrong ICRC breaks is kept, but for CRC-01",
          "[interpreter][CRC-01]") {
    const std::string silent = "dut    recv id=1\n"
                               "> SEND_ONLY  psn=0 ackreq\n"
                               "quiet\n"
                               "dut    done recv id=1\n";
    const CaseResult one = spoiled<1, 1>(silent);
    INFO(text_of(one));
    CHECK(one.verdict == Verdict::Warn);
    CHECK(has(one.rules, "CRC-01"));
    CHECK(spoiled<2, 1>(silent).verdict == Verdict::Fail); // an ACK came
}

TEST_CASE("judging: what the tester could not play for a wrong ICRC is the device's failure",
          "[interpreter][CRC-01]") {
    const CaseResult result = spoiled<1, 100>("dut    mr d len=64 fill=zero\n"
                                              "tester mr t len=64 access=remote_read\n"
                                              "tester answers\n"
                                              "fault  drop when from=tester first=1\n"
                                              "dut    post RDMA_READ id=1 local=d remote=t\n"
                                              "wait   1s\n"
                                              "dut    done send id=1\n");
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(has(result.rules, "CRC-01"));
    CHECK(result.reason().find("never fired") != std::string::npos);
}

TEST_CASE("judging: what fault rules damage is nobody's wrong ICRC", "[interpreter][CRC-01]") {
    const CaseResult result = play_script("rule   RSP-01\ntitle  \"made up\"\nrole   both\n\n"
                                          "fault  corrupt field=psn when from=dut first=1\n"
                                          "dut    recv id=1\n"
                                          "> SEND_ONLY  psn=0 ackreq\n"
                                          "quiet\n"
                                          "dut    done recv id=1\n");
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    CHECK(result.damaged_packets == 0);
}

TEST_CASE("judging: a packet with a wrong UDP checksum and a wrong ICRC asks for nothing",
          "[interpreter][CRC-07][ENC-06]") {
    const CaseResult result = play_script(R"(rule   RDR-03
title  "The first READ is damaged on the way, and names the next PSN"
role   responder
tags   unscripted
tester qp psn=0

dut    mr a len=8KiB access=remote_read
> RDMA_READ_REQUEST   psn=0 va=a rkey=a dmalen=3*mtu udp.checksum=good flip=psn:0
> RDMA_READ_REQUEST   psn=0 va=a rkey=a dmalen=3*mtu udp.checksum=good
< RDMA_READ_RESPONSE  psn=0 len=3*mtu
)");
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
}

TEST_CASE("judging: what the model says of a right device that goes on", "[interpreter]") {
    const auto verdict_of = [](std::string_view qp, std::string_view dialogue) {
        const CaseResult result =
            play_script(fmt::format("rule   RSP-01\ntitle  \"made up\"\nrole   both\n"
                                    "tags   unscripted\n{}\n{}",
                                    qp, dialogue));
        UNSCOPED_INFO(text_of(result));
        return result.verdict;
    };
    // From SQE, and with another datagram of the length of the one that failed.
    CHECK(verdict_of("qp     type=UC\n", R"(dut    mr a len=256 fill=random
dut    post SEND id=1 local=a[0 +8] lkey=abs:0x5A5A00
dut    done send id=1 status=FAILED
dut    modify state=RTS
dut    post SEND id=2 local=a[0 +8]
dut    done send id=2
)") == Verdict::Pass);
    CHECK(verdict_of("qp     type=UD qkey=0x1234\n", R"(dut    mr a len=256 fill=random
dut    post SEND id=1 local=a[0 +8] lkey=abs:0x5A5A00
dut    done send id=1 status=FAILED
dut    modify state=RTS
dut    post SEND id=2 local=a[64 +8]
dut    post SEND id=3 local=a[128 +40]
dut    done send id=2..3
)") == Verdict::Pass);
    // A packet of an unfinished message comes again with other data.
    CHECK(verdict_of("", R"(dut    mr a len=16KiB access=remote_write fill=zero
tester mr t len=16KiB fill=random
> RDMA_WRITE_FIRST   psn=0 va=a rkey=a dmalen=3*mtu data=t[0 +mtu]
> RDMA_WRITE_MIDDLE  psn=1 data=t[mtu +mtu]
> RDMA_WRITE_FIRST   psn=0 va=a rkey=a dmalen=3*mtu data=t[9 +mtu]
> RDMA_WRITE_MIDDLE  psn=1 data=t[mtu+9 +mtu]
> RDMA_WRITE_LAST    psn=2 data=t[2*mtu +mtu] ackreq
< ACK                psn=2 msn=1
)") == Verdict::Pass);
}

TEST_CASE("judging: a line may ask for a wrong ICRC", "[interpreter][CRC-01]") {
    const CaseResult result = spoiled<1, 1>("dut    recv id=1\n"
                                            "> SEND_ONLY  psn=0 ackreq\n"
                                            "< ACK        psn=0 icrc=bad\n"
                                            "dut    done recv id=1\n");
    INFO(text_of(result));
    CHECK(result.line() == 0);
    CHECK(result.verdict == Verdict::Warn);
}

TEST_CASE("judging: a rule that no line names fails the case", "[interpreter][RDR-03]") {
    int failed = 0;
    for (const CaseResult& result :
         play_suite(over_both({"rdr/response-opcodes"}), device_with("read_not_in_its_msn"))) {
        INFO(result.id);
        if (result.verdict == Verdict::Pass) continue;
        ++failed;
        CHECK(result.verdict == Verdict::Fail);
        CHECK(has(result.rules, "RDR-03"));
        CHECK(result.reason().find("every line passed, but the packets violate RDR-03: ") == 0);
        CHECK(result.line() == 0);
        REQUIRE_FALSE(result.violations.empty());
        const Violation& violation = result.violations.front();
        CHECK(violation.certain);
        CHECK(violation.level == rules::Level::Must);
        REQUIRE_FALSE(violation.packets.empty());
        const RecordedPacket& proof = result.packets.at(violation.packets.front());
        CHECK(proof.from == Side::Dut);
        CHECK(result.actual() == proof.script);
        CHECK(violation.measured.starts_with("MSN is "));
        CHECK(violation.allowed.starts_with("MSN must be "));
        CHECK(result.findings.front().packet == violation.packets.front());
    }
    CHECK(failed >= 12);
}

// The judge knows no states, and the device answers the second copy.
TEST_CASE("judging: nothing is owed for a request that came before RTR",
          "[interpreter][STA-02][ACK-01]") {
    passes(with("> SEND_ONLY  psn=0 ackreq\n"
                "wait   1500ms\n"
                "dut    modify state=RTR\n"
                "dut    recv id=1\n"
                "> SEND_ONLY  psn=0 ackreq\n"
                "< ACK        psn=0\n"
                "dut    done recv id=1\n",
                "qp     state=INIT\n"));
}

// The PSN of the one that is dropped is another request's.
TEST_CASE("judging: a request that came before RTR is not judged in a slow lab",
          "[interpreter][STA-02][OPC-03]") {
    VirtualTestbedOptions device = right_engine();
    device.lab = real_lab;
    const std::string script = with("dut    mr a len=8KiB\n"
                                    "> SEND_ONLY   psn=0 len=64 ackreq\n"
                                    "wait   20ms\n"
                                    "dut    modify state=RTR\n"
                                    "dut    recv id=1 local=a\n"
                                    "> SEND_FIRST  psn=0 len=mtu\n"
                                    "> SEND_LAST   psn=1 len=64 ackreq\n"
                                    "< ACK         psn=1 msn=1\n"
                                    "dut    done recv id=1\n",
                                    "qp     state=INIT\n");
    const CaseResult result = play_script(script, std::move(device));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
}

TEST_CASE("judging: the right engine is blamed for nothing, whatever the cases do to it",
          "[interpreter]") {
    for (const CaseResult& result : play_suite(swept(over_both(), 2), right_engine())) {
        INFO(result.id);
        CHECK(result.verdict == Verdict::Pass);
        CHECK(std::ranges::none_of(result.violations, &Violation::certain));
    }
}

TEST_CASE("judging: a SHOULD warns, and no judgement makes a failed case better", "[interpreter]") {
    const auto heeded = [](Verdict before, rules::Level level, bool certain) {
        CaseResult result;
        result.level = rules::Level::Should; // of the case: what it is about is not what was broken
        result.verdict = before;
        result.packets.resize(1);
        result.violations.push_back(
            {.rule = "X-01", .level = level, .certain = certain, .packets = {0}, .measured = "so"});
        blame_violations(result);
        return result.verdict;
    };
    using enum Verdict;
    CHECK(heeded(Pass, rules::Level::Must, true) == Fail);
    CHECK(heeded(Pass, rules::Level::Should, true) == Warn);
    CHECK(heeded(Pass, rules::Level::Info, true) == Pass);
    CHECK(heeded(Pass, rules::Level::Must, false) == Pass);
    CHECK(heeded(Warn, rules::Level::Must, true) == Fail);
    CHECK(heeded(Fail, rules::Level::Should, true) == Fail);
    CHECK(heeded(Error, rules::Level::Must, true) == Error);
    CHECK(heeded(Skip, rules::Level::Should, true) == Skip);
}

TEST_CASE("judging: what packets prove fails a case that was not played to its end",
          "[interpreter]") {
    using enum rules::Level;
    const auto heeded = [](Verdict before, FindingKind kind, rules::Level level,
                           rules::FindingClass of_class) {
        CaseResult result;
        result.verdict = before;
        result.findings.push_back({.kind = kind});
        result.packets.resize(1);
        result.violations.push_back({.rule = "X-01",
                                     .level = level,
                                     .certain = true,
                                     .packets = {0},
                                     .measured = "so",
                                     .of_class = of_class});
        blame_violations(result);
        return result.verdict;
    };
    constexpr auto proof = rules::FindingClass::Contradiction;
    constexpr auto absence = rules::FindingClass::Absence;
    CHECK(heeded(Verdict::Skip, FindingKind::Unsupported, Must, proof) == Verdict::Fail);
    CHECK(heeded(Verdict::Skip, FindingKind::Unsupported, Must, absence) == Verdict::Skip);
    CHECK(heeded(Verdict::Skip, FindingKind::Unsupported, Should, proof) == Verdict::Skip);
    CHECK(heeded(Verdict::Error, FindingKind::Unplayable, Must, proof) == Verdict::Fail);
    CHECK(heeded(Verdict::Error, FindingKind::Unplayable, Must, absence) == Verdict::Error);
    CHECK(heeded(Verdict::Error, FindingKind::Unplayable, Should, proof) == Verdict::Error);
    CHECK(heeded(Verdict::Error, FindingKind::Internal, Must, proof) == Verdict::Error);
}

} // namespace veriroce::test
