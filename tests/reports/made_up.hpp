// A run of three cases that never happened, with every field filled.
#pragma once

#include "conformance/plan/results.hpp"

namespace veriroce::reports::test {

inline wire::Instant at_us(std::int64_t us) {
    return wire::Instant(std::chrono::microseconds(us));
}

inline interpreter::CaseResult passed() {
    interpreter::CaseResult result;
    result.id = "key/unknown-rkey";
    result.rules = {"KEY-01"};
    result.title = "An unknown key";
    result.verdict = interpreter::Verdict::Pass;
    result.file = "key/unknown-rkey.roce";
    result.command = "veriroce test key/unknown-rkey --seed 1";
    result.measures["rtt"] = {std::chrono::microseconds(3), std::chrono::microseconds(1),
                              std::chrono::microseconds(2)};
    return result;
}

inline interpreter::CaseResult failed() {
    interpreter::CaseResult result;
    result.id = "bth/transport-version[v=1]";
    result.rules = {"BTH-01"};
    result.title = "Version 1 is \"dropped\"";
    result.verdict = interpreter::Verdict::Fail;
    result.findings = {{.kind = interpreter::FindingKind::Unexpected,
                        .line = 9,
                        .packet = 1,
                        .subject = "ACK",
                        .expected = "dropped",
                        .actual = "< ACK psn=0 msn=1",
                        .time = std::chrono::milliseconds(10)}};
    result.file = "bth/transport-version.roce";
    result.command = "veriroce test bth/transport-version --seed 1";
    result.faults = {{"drop when psn=0", 2}};
    result.tolerated_retransmissions = 1;
    result.violations = {{.rule = "ACK-04",
                          .level = rules::Level::Must,
                          .certain = true,
                          .packets = {1},
                          .measured = "PSN 7 was not sent",
                          .allowed = "only PSNs before 5 were sent"}};
    result.packets = {{.from = interpreter::Side::Tester,
                       .frame = std::vector<std::byte>(64, std::byte{0xAB}),
                       .at = {at_us(1'000'000), at_us(1'000'001)},
                       .script = "> SEND_ONLY psn=0",
                       .remarks = {}},
                      {.from = interpreter::Side::Dut,
                       .frame = std::vector<std::byte>(62, std::byte{0xCD}),
                       .at = {at_us(1'000'004), at_us(1'000'005)},
                       .script = "< ACK psn=0 msn=1",
                       .remarks = {"injected: delay"},
                       .line = 9}};
    result.qps = {{.name = "b",
                   .tester = wire::Qpn{17},
                   .dut = wire::Qpn{34},
                   .tester_psn = wire::Psn(0xFFFFFF),
                   .dut_psn = wire::Psn(5)}};
    result.host = {{.before = 1, .at = at_us(1'000'002), .text = "done recv id=1"}};
    return result;
}

// A line of which two fields differ, and a rule that the packet violates besides.
inline interpreter::CaseResult mismatched() {
    interpreter::CaseResult result = failed();
    result.findings = {
        {.kind = interpreter::FindingKind::Missing,
         .line = 7,
         .differences = {{.field = "msn", .expected = "2", .actual = "1"},
                         {.field = "partition_key", .expected = "0xFFFF", .actual = "0x7FFF"}},
         .packet = 1,
         .expected = "< ACK        psn=0 msn=2 exact",
         .actual = "< ACK psn=0 msn=1",
         .time = std::chrono::seconds(1)}};
    return result;
}

// What came in one play of three alone.
inline interpreter::CaseResult played_again() {
    interpreter::CaseResult result = failed();
    result.verdict = interpreter::Verdict::Error;
    result.seen_in = 1;
    result.findings.insert(result.findings.begin(),
                           {.kind = interpreter::FindingKind::NotRepeatable,
                            .detail = "not repeatable: seen in 1 of 3 plays"});
    const interpreter::OtherPlay fine{.verdict = interpreter::Verdict::Pass,
                                      .packets = result.packets};
    result.other_plays = {fine, fine};
    return result;
}

// Every line was met, but the packets violate a rule that the case does not name.
inline interpreter::CaseResult violating() {
    interpreter::CaseResult result = failed();
    result.rules = {"BTH-01", "ACK-04"};
    result.findings = {{.kind = interpreter::FindingKind::Violation,
                        .differences = {{.field = "ACK-04",
                                         .expected = "only PSNs before 5 were sent",
                                         .actual = "PSN 7 was not sent"}},
                        .packet = 1,
                        .rules = {"ACK-04"},
                        .actual = "< ACK psn=7 msn=1"}};
    return result;
}

inline interpreter::CaseResult skipped() {
    interpreter::CaseResult result;
    result.id = "rsp/gap-nak";
    result.rules = {"RSP-02", "RSP-03"};
    result.title = "A gap";
    result.become(interpreter::Verdict::Skip, interpreter::FindingKind::Unsupported,
                  "unless out_of_order");
    result.file = "rsp/gap-nak.roce";
    result.command = "veriroce test rsp/gap-nak --seed 1";
    return result;
}

inline sheet::DataSheet sheet_of(std::int64_t nak_latency_ns) {
    sheet::DataSheet sheet;
    for (std::int64_t i = 0; i < 20; ++i) {
        sheet.add("nak_latency", "NAK after a packet that is ahead", sheet::Unit::Nanoseconds, "",
                  nak_latency_ns + 10 * i);
    }
    for (std::int64_t code = 8; code < 12; ++code) {
        for (std::int64_t i = 0; i < 4; ++i) {
            sheet.add("ack_timer", "Wait for an ACK", sheet::Unit::Nanoseconds,
                      "code " + std::to_string(code), (4096LL << code) + i * 1000, 4096LL << code);
        }
    }
    sheet.add({.name = "loss_recovery",
               .title = "What it sends again after a NAK",
               .kind = "go-back-N",
               .evidence = "PSN 4 to 15"});
    return sheet;
}

inline plan::RunResults made_up() {
    plan::RunResults results;
    results.run.program = "veriroce 0.1.0";
    results.run.mutant = "wrong_msn";
    results.run.seed = 1;
    results.run.dut = "a device of paper";
    results.run.device = {.name = "paper",
                          .device = "paper0",
                          .firmware = "1.0",
                          .driver = "scissors",
                          .kernel = "stone",
                          .backend = "engine",
                          .capabilities = {"atomic", "raw"},
                          .traits = {"out_of_order"},
                          .limits = {{"sge", 2}}};
    results.run.link = "virtual, 1 us";
    results.run.notes = {"nothing was offloaded"};
    results.cases = {passed(), failed(), skipped()};
    results.timing.started = "2026-01-02T03:04:05Z";
    results.timing.wall = std::chrono::milliseconds(1500);
    results.timing.round_trip_p99 = std::chrono::microseconds(20);
    results.timing.settle = std::chrono::milliseconds(10);
    results.timing.cases = {{"key/unknown-rkey", std::chrono::milliseconds(5)}};
    return results;
}

} // namespace veriroce::reports::test
