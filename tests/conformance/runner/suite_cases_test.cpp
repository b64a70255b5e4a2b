// The program's own cases: the right engine passes them all, each finds a planted defect, and no
// lawful oddity fails one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "conformance/cases/embedded.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "tests/conformance/runner/playing.hpp"

namespace veriroce::runner::test {
namespace {

// A case and a planted defect that it must find. A new case needs a row here.
struct Finding {
    std::string_view case_id;
    std::string_view mutant;
};
constexpr Finding findings[] = {
    {"bth/transport-version", "tver_not_checked"},
    {"bth/unknown-qp", "unknown_qp_gets_a_nak"},
    {"crc/bad-icrc-request", "any_icrc_accepted"},
    {"crc/bad-icrc-request", "byte_swapped_icrc_accepted"},
    {"crc/bad-icrc-response", "byte_swapped_icrc_accepted"},
    {"key/unknown-rkey", "unknown_key_is_invalid_request"},
    {"len/zero-length-read", "zero_read_moves_no_psn"},
    {"rdr/response-opcodes", "full_last_followed_by_empty_last"},
    {"req/lost-read-response", "read_gap_overlooked"},
    {"req/sequence-nak", "nak_resends_from_the_next"},
    {"rsp/duplicate-send", "duplicate_send_executed_again"},
    {"rsp/duplicate-send", "duplicate_never_acknowledged"},
    {"rsp/gap-nak", "nak_names_the_arrived_psn"},
    {"rsp/gap-nak", "nak_for_every_packet_ahead"},
    {"rsp/psn-wrap", "read_psns_not_wrapped"},
    {"rsp/psn-wrap-nak", "psn_compared_without_wrap"},
    {"tmo/retry-exceeded", "one_transmission_too_few"},
    {"tmo/retry-exceeded", "one_transmission_too_many"},
    {"tmo/retry-exceeded", "gives_up_with_wrong_status"},
};

// Whether any run of the case fails, by itself: without the sanity exchange behind it.
bool finds(const Finding& finding, std::string& told) {
    const auto mutant = mutants::find(finding.mutant);
    REQUIRE(mutant.has_value());
    const Plan plan = plan_of(over_both({std::string(finding.case_id)}));
    VirtualBench bench(engine_of(*mutant));
    bool failed = false;
    for (const PlannedRun& run : plan.runs) {
        const CaseResult result =
            bench.play(plan.cases[run.case_index], run.run, bench.setting(run.ip_version));
        told += text_of(result) + "\n";
        failed = failed || result.verdict == Verdict::Fail;
    }
    return failed;
}

std::string id_of(const cases::EmbeddedFile& file) {
    return std::string(file.path.substr(0, file.path.rfind('.')));
}

std::vector<wire::Psn> psns_of(const CaseResult& result) {
    std::vector<wire::Psn> psns;
    for (const RecordedPacket& packet : result.packets) {
        auto frame = wire::decode_frame(packet.frame);
        REQUIRE(frame.has_value());
        wire::map_transport(*frame);
        const auto decoded = wire::decode_packet(frame->transport);
        REQUIRE(decoded.has_value());
        psns.push_back(decoded->bth.psn);
    }
    return psns;
}

} // namespace

TEST_CASE("suite: the built-in engine passes every case over IPv4 and IPv6", "[suite]") {
    const auto results = play_suite(over_both(), right_engine());
    REQUIRE(results.size() >= 2 * cases::embedded_files().size());
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        CHECK(result.reason.empty());
        CHECK_FALSE(result.packets.empty());
        CHECK(result.tolerated_retransmissions == 0);
    }
}

TEST_CASE("suite: every case fails on a planted defect", "[suite][mutants]") {
    for (const Finding& finding : findings) {
        std::string told;
        const bool found = finds(finding, told);
        INFO("case " << finding.case_id << ", mutant " << finding.mutant << "\n" << told);
        CHECK(found);
    }
}

TEST_CASE("suite: no case lacks a defect that it must find", "[suite][mutants]") {
    std::set<std::string, std::less<>> known;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        const std::string id = id_of(file);
        known.insert(id);
        INFO("a row of `findings` is missing for " << id);
        CHECK(std::ranges::any_of(findings, [&](const auto& row) { return row.case_id == id; }));
    }
    for (const Finding& finding : findings) {
        INFO("case " << finding.case_id << ", mutant " << finding.mutant);
        CHECK(known.contains(finding.case_id));
        CHECK(mutants::find(finding.mutant).has_value());
    }
}

TEST_CASE("suite: no case fails on a lawful oddity", "[suite][mutants]") {
    REQUIRE_FALSE(mutants::lawful().empty());
    for (const mutants::Mutant& oddity : mutants::lawful()) {
        for (const CaseResult& result : play_suite(over_both(), engine_of(oddity))) {
            INFO("device " << oddity.name << ": " << oddity.description << "\n" << text_of(result));
            CHECK(result.verdict != Verdict::Fail);
            CHECK(result.verdict != Verdict::Error);
        }
    }
}

TEST_CASE("suite: a seed gives the same packets and times again", "[suite]") {
    const auto first = play_suite(over_both(), right_engine(7), 7);
    const auto second = play_suite(over_both(), right_engine(7), 7);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        INFO(first[i].id);
        CHECK(first[i].id == second[i].id);
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        for (std::size_t j = 0; j < first[i].packets.size(); ++j) {
            const RecordedPacket& one = first[i].packets[j];
            const RecordedPacket& other = second[i].packets[j];
            INFO(j << ": " << one.script);
            CHECK(one.from == other.from);
            CHECK(one.frame == other.frame);
            CHECK(one.script == other.script);
            CHECK(one.at.earliest == other.at.earliest);
            CHECK(one.at.latest == other.at.latest);
        }
    }
}

TEST_CASE("suite: another seed gives other PSNs and the same dialogue", "[suite]") {
    const auto first = play_suite(over_both({"rsp/gap-nak"}), right_engine(1), 1);
    const auto second = play_suite(over_both({"rsp/gap-nak"}), right_engine(2), 2);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        CHECK(psns_of(first[i]) != psns_of(second[i]));
        for (std::size_t j = 0; j < first[i].packets.size(); ++j)
            CHECK(first[i].packets[j].script == second[i].packets[j].script);
    }
}

TEST_CASE("suite: results name case, rules, file and the command that runs them again", "[suite]") {
    const Selection selection = over_both({"tmo/retry-exceeded"});
    const Plan plan = plan_of(selection);
    VirtualBench bench(right_engine(5));
    SuiteRun run(bench, plan, selection, {.seed = 5, .command = " --over ip=4,6"});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->id == "tmo/retry-exceeded[ip=4,n=0]");
    CHECK(result->rules == std::vector<std::string>{"TMO-03"});
    CHECK(result->file == "tmo/retry-exceeded.roce");
    CHECK(result->command == "veriroce test tmo/retry-exceeded --over ip=4,6 --seed 5");
    CHECK(run.done() == 1);
}

TEST_CASE("suite: fail-fast ends behind the first FAIL", "[suite]") {
    const Selection selection = over_both({"bth/transport-version"});
    const Plan plan = plan_of(selection);
    VirtualBench bench(engine_of(mutants::find("tver_not_checked")->get()));
    SuiteRun run(bench, plan, selection, {.fail_fast = true});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->verdict == Verdict::Fail);
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 1);
}

} // namespace veriroce::runner::test
