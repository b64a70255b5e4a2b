// Profiles: what their files may say, and what known deviations do to verdicts.
#include <catch2/catch.hpp>

#include "conformance/plan/profile.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "tests/text.hpp"

namespace veriroce::test {
namespace {

Profile parsed(std::string_view text) {
    const auto profile = parse_profile("p.yaml", text);
    if (!profile) FAIL(profile.error());
    return *profile;
}

std::string error_of(std::string_view text) {
    const auto profile = parse_profile("p.yaml", text);
    REQUIRE_FALSE(profile.has_value());
    return profile.error();
}

CaseResult with(Verdict verdict, std::string id = "rsp/gap-nak[n=1]") {
    CaseResult result;
    result.id = std::move(id);
    result.rules = {"RSP-02", "RSP-03"};
    result.verdict = verdict;
    if (verdict != Verdict::Pass) {
        result.findings = {{.kind = FindingKind::Missing, .detail = "no NAK came"}};
    }
    return result;
}

CaseResult judged(const Profile& profile, CaseResult result, std::string_view firmware = "2.1.7",
                  std::string_view today = "2026-06-01") {
    KnownDeviations(profile, firmware, today).judge(result);
    return result;
}

Profile with_entry(std::string_view lines) {
    return parsed("profile: d\ndeviations:\n  - reason: known\n    " + std::string(lines) + "\n");
}

} // namespace

TEST_CASE("profile: every key is read", "[plan]") {
    const Profile profile = parsed(
        house::read_text(std::string(VERIROCE_SOURCE_DIR) + "/conformance/profiles/template.yaml"));
    CHECK(profile.name == "An example device");
    CHECK(profile.capabilities == std::vector<std::string>{"imm", "send_inv"});
    CHECK(profile.lacks == std::vector<std::string>{"sqd"});
    CHECK(profile.traits == std::vector<std::string>{"buffers_before_rtr"});
    CHECK(profile.counters.at(wire::DeviceCounter::IcrcError) == "rx_icrc_encapsulated");
    CHECK(profile.time_scale == 1.0);
    REQUIRE(profile.deviations.size() == 2);
    const Deviation& first = profile.deviations.front();
    CHECK(first.case_id == "bth/pad-count[n=1]");
    CHECK(first.reason == "Ignores the pad count of the last packet");
    CHECK(first.link == "https://bugs.example.com/1234");
    REQUIRE(first.firmware.has_value());
    CHECK(first.firmware->first == "2.0");
    CHECK(first.firmware->last == "2.1");
    CHECK(first.until == "2027-03-31");
    CHECK_FALSE(first.sometimes);
    CHECK(first.line == 27);
    CHECK(profile.deviations.back().rule == "CNP-02");
    CHECK(profile.deviations.back().sometimes);
}

TEST_CASE("profile: every file that is shipped can be read", "[plan]") {
    std::size_t files = 0;
    for (const auto& file :
         house::files_under(std::string(VERIROCE_SOURCE_DIR) + "/conformance/profiles")) {
        if (file.extension() != ".yaml") continue;
        ++files;
        const auto profile = parse_profile(file.string(), house::read_text(file));
        INFO((profile ? std::string() : profile.error()));
        CHECK(profile.has_value());
    }
    CHECK(files >= 2);
}

TEST_CASE("profile: what is wrong is told with its place and the nearest word", "[plan]") {
    struct Row {
        std::string_view text;
        std::string_view error;
    };
    const Row rows[] = {
        {"", "p.yaml: a profile is a map; see the template\n"},
        {"profil: x\n", "p.yaml:1:1: unknown key 'profil'; did you mean 'profile'?\n"},
        {"time_scale: 2\n", "p.yaml:1:1: 'profile' is missing: the device's name\n"},
        {"profile: d\nprofile: e\n", "p.yaml:2:1: a second 'profile'\n"},
        {"profile: d\ntraits: [out_of_ordr]\n",
         "p.yaml:2:10: unknown trait 'out_of_ordr'; did you mean 'out_of_order'?\n"},
        {"profile: d\nlacks: [srk]\n",
         "p.yaml:2:9: unknown capability 'srk'; did you mean 'srq'?\n"},
        {"profile: d\ncapabilities: [raw]\n", "p.yaml:2:16: unknown capability 'raw'\n"},
        {"profile: d\ncounters: {cnp_snt: x}\n",
         "p.yaml:2:12: unknown counter 'cnp_snt'; did you mean 'cnp_sent'?\n"},
        {"profile: d\ntime_scale: fast\n",
         "p.yaml:2:13: 'time_scale' is a number from 0.1 to 100000\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n",
         "p.yaml:3:5: a deviation needs a 'reason': why is it known, and why let pass?\n"},
        {"profile: d\ndeviations:\n  - reason: r\n",
         "p.yaml:3:5: a deviation names either a 'rule' or a 'case'\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-2\n    reason: r\n",
         "p.yaml:3:11: unknown rule 'RSP-2'; did you mean 'RSP-02'?\n"},
        {"profile: d\ndeviations:\n  - case: rsp/gap-nack[n=1]\n    reason: r\n",
         "p.yaml:3:11: unknown case 'rsp/gap-nack'; did you mean 'rsp/gap-nak'?\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reasn: r\n",
         "p.yaml:4:5: unknown key 'reasn'; did you mean 'reason'?\n"},
        {"profile: d\ncapabilities: imm\n", "p.yaml:2:15: a list of capabilities is wanted\n"},
        {"profile: d\ncapabilities: [imm, srq]\nlacks: [srq]\n",
         "p.yaml:3:8: 'srq' is also in 'capabilities'\n"},
        {"profile: d\ndeviations:\n  - case: rsp/gap-nak[n=1\n    reason: r\n",
         "p.yaml:3:11: one run of a case is GROUP/NAME[VALUES], as a report has it\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n  - rule: RSP-02\n    reason: "
         "s\n",
         "p.yaml:5:5: the same deviation stands on line 3\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    firmware: 2..1\n",
         "p.yaml:5:15: 'firmware' ends before it begins\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    until: 2027-02-30\n",
         "p.yaml:5:12: 'until' is a day: 2027-03-31\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    until: soon\n",
         "p.yaml:5:12: 'until' is a day: 2027-03-31\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    firmware: old..new\n",
         "p.yaml:5:15: 'firmware' is a version or a range: 6.1, 6.1..6.6, ..6.6\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    sometimes: maybe\n",
         "p.yaml:5:16: 'sometimes' is true or false\n"},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        CHECK(error_of(row.text) == row.error);
    }
    CHECK(error_of("profile: [\n").starts_with("p.yaml:"));
    CHECK(error_of(std::string(100, '[')) == "p.yaml:1: nested too deeply\n");
    CHECK(error_of(std::string(kMaxProfileBytes + 1, ' ')) == "p.yaml: longer than 262144 bytes\n");
}

TEST_CASE("profile: a known deviation is XFAIL, its absence XPASS", "[plan]") {
    for (const std::string_view entry :
         {"rule: RSP-03", "case: rsp/gap-nak", "case: 'rsp/gap-nak[n=1]'"}) {
        INFO(entry);
        const Profile profile = with_entry(entry);
        const CaseResult failed = judged(profile, with(Verdict::Fail));
        CHECK(failed.verdict == Verdict::Xfail);
        CHECK(failed.reason() == "known deviation: known; here: no NAK came");
        CHECK(judged(profile, with(Verdict::Warn)).verdict == Verdict::Xfail);
        const CaseResult passed = judged(profile, with(Verdict::Pass));
        CHECK(passed.verdict == Verdict::Xpass);
        CHECK(passed.reason() == "the known deviation did not show: known (line 3 of the profile)");
        for (const Verdict kept : {Verdict::Skip, Verdict::Info, Verdict::Error})
            CHECK(judged(profile, with(kept)).verdict == kept);
    }
}

TEST_CASE("profile: other cases, other runs and other rules keep their verdict", "[plan]") {
    CHECK(judged(with_entry("case: 'rsp/gap-nak[n=2]'"), with(Verdict::Fail)).verdict ==
          Verdict::Fail);
    CHECK(judged(with_entry("case: rsp/psn-wrap"), with(Verdict::Pass)).verdict == Verdict::Pass);
    CHECK(judged(with_entry("rule: RSP-04"), with(Verdict::Fail)).verdict == Verdict::Fail);
}

TEST_CASE("profile: a rule that the judge saw broken is known as well", "[plan]") {
    CaseResult result = with(Verdict::Fail);
    result.violations = {
        {.rule = "ACK-07", .certain = true, .packets = {}, .measured = {}, .allowed = {}}};
    CHECK(judged(with_entry("rule: ACK-07"), result).verdict == Verdict::Xfail);
    result.violations.front().certain = false;
    CHECK(judged(with_entry("rule: ACK-07"), result).verdict == Verdict::Fail);
    CHECK(judged(with_entry("rule: ACK-07"), with(Verdict::Pass)).verdict == Verdict::Pass);
}

TEST_CASE("profile: what shows only sometimes may pass", "[plan]") {
    const Profile profile = with_entry("rule: RSP-03\n    sometimes: true");
    CHECK(judged(profile, with(Verdict::Pass)).verdict == Verdict::Pass);
    CHECK(judged(profile, with(Verdict::Fail)).verdict == Verdict::Xfail);
}

TEST_CASE("profile: an entry ends with its day and its firmware", "[plan]") {
    const Profile dated = with_entry("rule: RSP-03\n    until: 2026-06-01");
    CHECK(judged(dated, with(Verdict::Fail)).verdict == Verdict::Xfail);
    CHECK(judged(dated, with(Verdict::Fail), "2.1", "2026-06-02").verdict == Verdict::Fail);
    CHECK(KnownDeviations(dated, "2.1", "2026-06-02").notes() ==
          std::vector<std::string>{
              "the known deviation of RSP-03 ended on 2026-06-01 and counts no more"});
    const Profile ranged = with_entry("rule: RSP-03\n    firmware: 2.9..2.10");
    CHECK(judged(ranged, with(Verdict::Fail), "2.10.3").verdict == Verdict::Xfail);
    CHECK(judged(ranged, with(Verdict::Fail), "fw-2.9.0").verdict == Verdict::Xfail);
    CHECK(judged(ranged, with(Verdict::Fail), "2.11").verdict == Verdict::Fail);
    CHECK(judged(ranged, with(Verdict::Fail), "2.8.99").verdict == Verdict::Fail);
    CHECK(KnownDeviations(ranged, "2.8", "2026-06-02").notes() ==
          std::vector<std::string>{"the known deviation of RSP-03 is not of firmware 2.8"});
}

TEST_CASE("profile: capabilities, traits, counters and time reach the run", "[plan]") {
    Selection selection = over_both({"rsp/gap-nak"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(right_engine());
    RunOptions options;
    options.profile = parsed("profile: d\ntraits: [out_of_order]\nlacks: [ud]\n"
                             "counters: {bad_pkey: pkey_errs}\ntime_scale: 2.5\n");
    PlanRun run(testbed, plan, selection, options);
    const auto result = run.next();
    CHECK(result->verdict == Verdict::Skip);
    CHECK(result->reason() == "unless out_of_order");
    const Environment environment = options.profile->applied(testbed.environment({}));
    CHECK_FALSE(environment.capable("ud"));
    CHECK(environment.counter_name(wire::DeviceCounter::BadPkey) == "pkey_errs");
    CHECK(environment.counter_name(wire::DeviceCounter::BadQkey) == "bad_qkey");
}

TEST_CASE("profile: a mutant whose defect is known does not fail the suite", "[plan]") {
    const auto mutant = mutants::find("nak_names_the_arrived_psn");
    REQUIRE(mutant.has_value());
    const Selection selection = over_both({"rsp/gap-nak"});
    const Plan plan = plan_of(selection);
    for (const bool defective : {true, false}) {
        VirtualTestbed testbed(defective ? engine_of(*mutant) : right_engine());
        RunOptions options;
        options.profile = with_entry("case: rsp/gap-nak");
        PlanRun run(testbed, plan, selection, options);
        RunResults results;
        while (auto result = run.next())
            results.cases.push_back(*result);
        CHECK(results.count(defective ? Verdict::Xfail : Verdict::Xpass) == 2);
        CHECK(results.exit_code(false) == (defective ? 0 : 1));
    }
}

} // namespace veriroce::test
