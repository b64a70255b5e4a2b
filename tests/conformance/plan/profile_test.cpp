// Profiles: what their files may say, and what known deviations do to verdicts.
#include <catch2/catch.hpp>

#include <sstream>

#include "conformance/plan/own_case.hpp"
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

// Whether this line of its case is one that can have the entry's kind of finding.
void check_can_fail(const Deviation& entry, std::uint32_t number) {
    const std::string name = entry.case_id.substr(0, entry.case_id.find('['));
    const auto* own = own_case(name);
    REQUIRE(own != nullptr);
    std::istringstream script{std::string(own->text)};
    std::string line;
    for (std::uint32_t i = 0; i < number; ++i)
        std::getline(script, line);
    line.erase(0, line.find_first_not_of(' ')); // of a loop
    INFO(name << " line " << number << ": " << line);
    REQUIRE(entry.kind.has_value());
    if (*entry.kind == FindingKind::Unexpected) {
        CHECK((line.starts_with("no ") || line.starts_with("quiet")));
    } else if (*entry.kind == FindingKind::Discouraged) {
        CHECK(line.starts_with("or warn "));
    } else {
        // `<` may have its QP before it, and a loop around it.
        const auto arrow = line.find("< ");
        const bool waits = arrow != std::string::npos && line.find('>') == std::string::npos;
        const bool looks = line.starts_with("dut ") || line.starts_with("expect ");
        CHECK((waits || looks || line.starts_with("any")));
    }
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
    KnownDeviations(profile,
                    {.firmware = std::string(firmware), .kernel = {}, .today = std::string(today)})
        .judge(result);
    return result;
}

Profile with_entry(std::string_view lines) {
    return parsed("profile: d\ndeviations:\n  - reason: known\n    " + std::string(lines) + "\n");
}

std::vector<std::string> notes_of(const Profile& profile, const ProfileScope& scope) {
    return KnownDeviations(profile, scope).notes();
}

} // namespace

TEST_CASE("profile: every key is read", "[plan]") {
    const Profile profile = parsed(
        house::read_text(std::string(VERIROCE_SOURCE_DIR) + "/conformance/profiles/template.yaml"));
    CHECK(profile.name == "An example device");
    CHECK(profile.unverified == "seen once, in another laboratory");
    CHECK(profile.drivers == std::vector<std::string>{"example_core"});
    CHECK(profile.capabilities == std::vector<std::string>{"imm", "send_inv"});
    CHECK(profile.lacks == std::vector<std::string>{"sqd"});
    CHECK(profile.traits == std::vector<std::string>{"buffers_before_rtr"});
    CHECK(profile.counters.at(wire::DeviceCounter::IcrcError) == "rx_icrc_encapsulated");
    CHECK(profile.time_scale == 1.0);
    CHECK(profile.ack_timer_floor == 10);
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
    CHECK(first.line == 38);
    CHECK(profile.deviations.back().rule == "CNP-02");
    CHECK(profile.deviations.back().sometimes);
}

TEST_CASE("profile: an ACK timer that differs is a trait or a floor", "[plan][TMO-05][TMO-08]") {
    CHECK(parsed("profile: d\nack_timer: adaptive\n").traits ==
          std::vector<std::string>{"adaptive_retransmission"});
    CHECK(parsed("profile: d\nack_timer: ignored\n").traits ==
          std::vector<std::string>{"ack_timer_ignored"});
    const Profile floor = parsed("profile: d\nack_timer: {floor: 16}\n");
    CHECK(floor.traits.empty());
    CHECK(floor.applied({}).ack_timer_floor == 16);
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

TEST_CASE("profile: a case of the data sheet is one of the program's own", "[plan]") {
    const std::string head = "profile: d\ndeviations:\n  - case: ";
    const std::string tail = "\n    reason: r\n    kind: missing\n    line: ";
    const auto profile = parse_profile("p.yaml", head + "sheet/retry-count[retry_cnt=7]" + tail +
                                                     "'dut post SEND id=1'\n");
    INFO((profile ? std::string() : profile.error()));
    REQUIRE(profile.has_value());
    CHECK(profile->deviations.front().lines.size() == 1);
    const auto wrong = parse_profile("p.yaml", head + "sheet/retry-cuont\n    reason: r\n");
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().ends_with("did you mean 'sheet/retry-count'?\n"));
}

TEST_CASE("profile: a line is found by its text, wherever it moves", "[plan]") {
    const std::string head = "profile: d\ndeviations:\n  - kind: unexpected\n    line: ";
    const auto lines = [&](const std::string& line) {
        // The case may come after the line.
        const auto profile =
            parse_profile("p.yaml", head + line + "\n    case: 'rsp/gap-nak'\n    reason: r\n");
        INFO((profile ? std::string() : profile.error()));
        REQUIRE(profile.has_value());
        return profile->deviations.front().lines;
    };
    const std::string script =
        house::read_text(VERIROCE_SOURCE_DIR "/conformance/cases/rsp/gap-nak.roce");
    std::vector<std::uint32_t> expected;
    std::istringstream stream(script);
    std::string text;
    for (std::uint32_t number = 1; std::getline(stream, text); ++number) {
        if (text.starts_with("no NAK")) expected.push_back(number);
    }
    REQUIRE_FALSE(expected.empty());
    CHECK(lines("no NAK") == expected);
    CHECK(lines("' no   NAK '") == expected);
    expected.insert(expected.begin(), 4);
    CHECK(lines("[4, no NAK]") == expected);
}

// A number would point at another line after the next change of its case, and then excuse what
// nobody meant.
TEST_CASE("profile: entries of the program's own cases name lines by text, and such as can fail",
          "[plan]") {
    for (const std::string file : {"linux-rxe.yaml", "template.yaml"}) {
        const std::string path = VERIROCE_SOURCE_DIR "/conformance/profiles/" + file;
        const std::string yaml = house::read_text(path);
        for (std::size_t at = yaml.find(" line: "); at != std::string::npos;
             at = yaml.find(" line: ", at + 1)) {
            INFO(yaml.substr(at, yaml.find('\n', at + 1) - at));
            CHECK((yaml[at + 7] == '"' || yaml[at + 7] == '\''));
        }
        const auto profile = parse_profile(path, yaml);
        REQUIRE(profile.has_value());
        for (const Deviation& entry : profile->deviations) {
            for (const std::uint32_t number : entry.lines)
                check_can_fail(entry, number);
        }
    }
}

TEST_CASE("profile: what is wrong is told with its place and the nearest word", "[plan]") {
    struct Row {
        std::string_view text;
        std::string_view error;
    };
    const Row rows[] = {
        {"",
         "p.yaml: expected a map with the key 'profile'; see conformance/profiles/template.yaml\n"},
        {"profil: x\n", "p.yaml:1:1: unknown key 'profil'; did you mean 'profile'?\n"},
        {"time_scale: 2\n", "p.yaml:1:1: the key 'profile' (the device's name) is missing\n"},
        {"profile: d\nprofile: e\n", "p.yaml:2:1: duplicate key 'profile'\n"},
        {"profile: d\ntraits: [out_of_ordr]\n",
         "p.yaml:2:10: unknown trait 'out_of_ordr'; did you mean 'out_of_order'?\n"},
        {"profile: d\nlacks: [srk]\n",
         "p.yaml:2:9: unknown capability 'srk'; did you mean 'srq'?\n"},
        {"profile: d\ncapabilities: [raw]\n", "p.yaml:2:16: unknown capability 'raw'\n"},
        {"profile: d\ncounters: {cnp_snt: x}\n",
         "p.yaml:2:12: unknown counter 'cnp_snt'; did you mean 'cnp_sent'?\n"},
        {"profile: d\nack_timer: {floor: 32}\n",
         "p.yaml:2:12: 'ack_timer' is adaptive, ignored, or {floor: N}, N a timeout code from 1 to "
         "31\n"},
        {"profile: d\nack_timer: fixed\n",
         "p.yaml:2:12: 'ack_timer' is adaptive, ignored, or {floor: N}, N a timeout code from 1 to "
         "31\n"},
        {"profile: d\ntime_scale: fast\n",
         "p.yaml:2:13: 'time_scale': expected a number from 0.1 to 100000\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n",
         "p.yaml:3:5: a deviation needs a 'reason': one sentence about what the device does "
         "wrong\n"},
        {"profile: d\ndeviations:\n  - reason: r\n",
         "p.yaml:3:5: a deviation names either a 'rule' or a 'case'\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-2\n    reason: r\n",
         "p.yaml:3:11: unknown rule 'RSP-2'; did you mean 'RSP-02'?\n"},
        {"profile: d\ndeviations:\n  - case: rsp/gap-nack[n=1]\n    reason: r\n",
         "p.yaml:3:11: unknown case 'rsp/gap-nack'; did you mean 'rsp/gap-nak'?\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reasn: r\n",
         "p.yaml:4:5: unknown key 'reasn'; did you mean 'reason'?\n"},
        {"profile: d\ncapabilities: imm\n", "p.yaml:2:15: expected a list of capabilities\n"},
        {"profile: d\ncapabilities: [imm, srq]\nlacks: [srq]\n",
         "p.yaml:3:8: 'srq' is also in 'capabilities'\n"},
        {"profile: d\ndeviations:\n  - case: rsp/gap-nak[n=1\n    reason: r\n",
         "p.yaml:3:11: expected a run's id as reports show it: GROUP/NAME[VALUES]\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n  - rule: RSP-02\n    reason: "
         "s\n",
         "p.yaml:5:5: duplicate of the deviation on line 3\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    firmware: 2..1\n",
         "p.yaml:5:15: 'firmware' ends before it begins\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    until: 2027-02-30\n",
         "p.yaml:5:12: 'until': expected a date such as 2027-03-31\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    until: soon\n",
         "p.yaml:5:12: 'until': expected a date such as 2027-03-31\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    firmware: old..new\n",
         "p.yaml:5:15: 'firmware' is a version or a range: 6.1, 6.1..6.6, ..6.6\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    kernel: ..new\n",
         "p.yaml:5:13: 'kernel' is a version or a range: 6.1, 6.1..6.6, ..6.6\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    kind: mising\n",
         "p.yaml:5:11: unknown kind of finding 'mising'; did you mean 'missing'?\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    kind: noisy\n",
         "p.yaml:5:11: unknown kind of finding 'noisy'\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    line: 3\n",
         "p.yaml:3:5: 'line' and 'field' need a 'kind' of finding\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    kind: late\n    line: "
         "last\n",
         "p.yaml:6:11: 'line' is the number of a line of the script, or with a 'case' of the "
         "program's own its text\n"},
        {"profile: d\ndeviations:\n  - case: rsp/gap-nak\n    reason: r\n    kind: late\n    line: "
         "no NACK\n",
         "p.yaml:6:11: rsp/gap-nak has no line 'no NACK'; did you mean 'no NAK'?\n"},
        {"profile: d\ndeviations:\n  - rule: RSP-02\n    reason: r\n    sometimes: maybe\n",
         "p.yaml:5:16: 'sometimes': expected true or false\n"},
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

TEST_CASE("profile: an entry excuses one kind of finding at its lines and fields", "[plan]") {
    CaseResult missing = with(Verdict::Fail);
    missing.findings = {{.kind = FindingKind::Missing, .line = 13, .subject = "SEND_ONLY"}};
    CaseResult twice = with(Verdict::Fail);
    twice.findings = {{.kind = FindingKind::Unexpected, .line = 14, .subject = "SEND_ONLY"}};
    CaseResult both = missing;
    both.findings.push_back(twice.findings.front());

    const Profile one = with_entry("case: rsp/gap-nak\n    kind: missing\n    line: 13");
    CHECK(judged(one, missing).verdict == Verdict::Xfail);
    const CaseResult other = judged(one, twice);
    CHECK(other.verdict == Verdict::Fail);
    CHECK(
        other.reason() ==
        "unexpected SEND_ONLY: line 14 allows none; and known deviation: known; but line 3 of the "
        "profile excuses only: missing, line 13");
    CHECK(judged(one, both).verdict == Verdict::Fail);
    CHECK(judged(one, with(Verdict::Pass)).verdict == Verdict::Xpass);
    CHECK(judged(with_entry("case: rsp/gap-nak\n    kind: missing\n    line: [12, 14]"), missing)
              .verdict == Verdict::Fail);

    const Profile two = parsed("profile: d\ndeviations:\n"
                               "  - {case: rsp/gap-nak, reason: a, kind: missing, line: 13}\n"
                               "  - {case: rsp/gap-nak, reason: b, kind: unexpected}\n");
    const CaseResult known = judged(two, both);
    CHECK(known.verdict == Verdict::Xfail);
    CHECK(known.findings.size() == 4);
    CHECK(known.findings[1].detail == "b");
}

TEST_CASE("profile: an entry with fields excuses no other field", "[plan]") {
    CaseResult result = with(Verdict::Fail);
    result.findings = {{.kind = FindingKind::Mismatch,
                        .line = 9,
                        .differences = {{.field = "msn", .expected = "2", .actual = "1"}},
                        .subject = "ACK"}};
    const auto profile = [](std::string_view fields) {
        return with_entry("case: rsp/gap-nak\n    kind: mismatch\n    field: " +
                          std::string(fields));
    };
    CHECK(judged(profile("msn"), result).verdict == Verdict::Xfail);
    CHECK(judged(profile("psn"), result).verdict == Verdict::Fail);
    result.findings.front().differences.push_back({.field = "psn", .expected = "2", .actual = "1"});
    CHECK(judged(profile("msn"), result).verdict == Verdict::Fail);
    CHECK(judged(profile("[msn, psn]"), result).verdict == Verdict::Xfail);
    result.findings.front().differences.clear();
    CHECK(judged(profile("msn"), result).verdict == Verdict::Fail);
}

TEST_CASE("profile: a rule's entry excuses no violation of another rule", "[plan]") {
    CaseResult result = with(Verdict::Fail);
    result.findings = {{.kind = FindingKind::Violation, .rules = {"ACK-07"}}};
    result.violations = {
        {.rule = "ACK-07", .certain = true, .packets = {}, .measured = {}, .allowed = {}}};
    CHECK(judged(with_entry("rule: ACK-07\n    kind: violation"), result).verdict ==
          Verdict::Xfail);
    CHECK(judged(with_entry("rule: RSP-02\n    kind: violation"), result).verdict == Verdict::Fail);
}

TEST_CASE("profile: an entry of the old form excuses all, and a note says so", "[plan]") {
    const std::string_view broad =
        "the profile's entries on lines 3 excuse every failure of their runs; 'kind', with 'line' "
        "or 'field', says which one";
    CHECK(notes_of(with_entry("rule: RSP-03"), {}) == std::vector<std::string>{std::string(broad)});
    CHECK(notes_of(with_entry("rule: RSP-03\n    kind: late"), {}).empty());
}

TEST_CASE("profile: an entry names runs by some of their values", "[plan]") {
    const Profile profile = with_entry("case: 'rsp/gap-nak[n=1]'");
    CHECK(judged(profile, with(Verdict::Fail, "rsp/gap-nak[ip=6,n=1]")).verdict == Verdict::Xfail);
    CHECK(judged(profile, with(Verdict::Fail, "rsp/gap-nak[ip=6,n=2]")).verdict == Verdict::Fail);
    CHECK(judged(with_entry("case: 'rsp/gap-nak[ip=6]'"),
                 with(Verdict::Fail, "rsp/gap-nak[ip=4,n=1]"))
              .verdict == Verdict::Fail);
}

TEST_CASE("profile: an entry is of the kernels that it names", "[plan]") {
    const Profile profile = with_entry("rule: RSP-03\n    kernel: 6.12..");
    const auto verdict = [&](std::optional<std::string> kernel) {
        CaseResult result = with(Verdict::Fail);
        KnownDeviations(profile, {.firmware = "0.0.0", .kernel = std::move(kernel), .today = {}})
            .judge(result);
        return result.verdict;
    };
    CHECK(verdict("6.12.117+deb13-amd64") == Verdict::Xfail);
    CHECK(verdict("7.3.4") == Verdict::Xfail);
    CHECK(verdict("6.1.0-56-amd64") == Verdict::Fail);
    CHECK(verdict(std::nullopt) == Verdict::Fail);
    CHECK(notes_of(profile, {.kernel = "6.1.0-56-amd64"}) ==
          std::vector<std::string>{
              "1 entries of the profile are for other kernels than 6.1.0-56-amd64"});
    CHECK(notes_of(profile, {}) ==
          std::vector<std::string>{"1 entries of the profile do not count: they are for some "
                                   "kernels, and the agent reports none"});
}

// Plays two runs of a row so often, with these verdicts each time; the last result.
TEST_CASE("profile: what shows only sometimes is out of date when all runs pass three times",
          "[plan]") {
    const Profile profile = with_entry("case: rsp/gap-nak\n    sometimes: true");
    const auto played = [&](std::vector<std::array<Verdict, 2>> rounds) {
        KnownDeviations known(profile, {});
        const auto id = [](std::size_t round, std::size_t n) {
            return "rsp/gap-nak[round=" + std::to_string(round + 1) + ",n=" + std::to_string(n) +
                   "]";
        };
        for (std::size_t round = 0; round < rounds.size(); ++round) {
            for (const std::size_t n : {0U, 1U})
                known.will_play(id(round, n), {});
        }
        std::vector<Verdict> verdicts;
        for (std::size_t round = 0; round < rounds.size(); ++round) {
            for (const std::size_t n : {0U, 1U}) {
                CaseResult result = with(rounds[round][n], id(round, n));
                known.judge(result);
                verdicts.push_back(result.verdict);
            }
        }
        return verdicts;
    };
    constexpr auto pass = Verdict::Pass;
    constexpr auto fail = Verdict::Fail;
    constexpr auto skip = Verdict::Skip;
    const std::array passed{pass, pass};
    CHECK(played({passed, passed, passed}) ==
          std::vector{pass, pass, pass, pass, pass, Verdict::Xpass});
    CHECK(played({passed, passed}) == std::vector(4, pass));
    CHECK(played({passed, passed, passed, passed}).back() == pass); // it is said once
    CHECK(played({{pass, skip}, {pass, skip}, {pass, skip}}) ==
          std::vector{pass, skip, pass, skip, Verdict::Xpass, skip});
    CHECK(played({passed, {pass, fail}, passed, passed}).back() == pass);
    CHECK(played({passed, {Verdict::Error, pass}, passed, passed}).back() == pass);
}

TEST_CASE("profile: three rounds without a deviation that shows sometimes fail the suite",
          "[plan]") {
    Selection selection = over_both({"bth/transport-version"});
    selection.repeat = 3;
    const Plan plan = plan_of(selection);
    for (const bool deviates : {false, true}) {
        VirtualTestbed testbed(deviates ? engine_of(*mutants::find("tver_not_checked"))
                                        : right_engine());
        RunOptions options;
        options.profile = with_entry("case: bth/transport-version\n    sometimes: true");
        PlanRun run(testbed, plan, selection, options);
        RunResults results;
        while (auto result = run.next())
            results.cases.push_back(*result);
        CHECK(results.cases.back().verdict == (deviates ? Verdict::Xfail : Verdict::Xpass));
        CHECK(results.count(Verdict::Xpass) == (deviates ? 0 : 1));
    }
}

TEST_CASE("profile: an entry for another failure does not excuse a death", "[plan]") {
    const Selection selection = over_both({"rsp/gap-nak"});
    const Plan plan = plan_of(selection);
    const auto verdict = [&](std::string_view entry) {
        VirtualTestbed testbed(engine_of(*mutants::find("nak_names_the_arrived_psn")));
        RunOptions options;
        if (!entry.empty()) options.profile = with_entry(entry);
        PlanRun run(testbed, plan, selection, options);
        CaseResult result = run.next().value();
        CHECK(result.verdict == (entry.empty() ? Verdict::Fail : Verdict::Xfail));
        const std::string kind(name_of(result.findings.back().kind));
        run.blame_for_death(result, "the device had to be reset");
        return std::pair{result.verdict, kind};
    };
    const std::string kind = verdict("").second;
    const std::string narrow = "case: rsp/gap-nak\n    kind: " + kind;
    CHECK(verdict(narrow).first == Verdict::Fail);
    CHECK(verdict("case: rsp/gap-nak").first == Verdict::Xfail);
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
    CHECK(notes_of(dated, {.firmware = "2.1", .kernel = {}, .today = "2026-06-02"}) ==
          std::vector<std::string>{
              "the known deviation of RSP-03 expired on 2026-06-01 and no longer counts"});
    const Profile ranged = with_entry("rule: RSP-03\n    firmware: 2.9..2.10");
    CHECK(judged(ranged, with(Verdict::Fail), "2.10.3").verdict == Verdict::Xfail);
    CHECK(judged(ranged, with(Verdict::Fail), "fw-2.9.0").verdict == Verdict::Xfail);
    CHECK(judged(ranged, with(Verdict::Fail), "2.11").verdict == Verdict::Fail);
    CHECK(judged(ranged, with(Verdict::Fail), "2.8.99").verdict == Verdict::Fail);
    CHECK(notes_of(ranged, {.firmware = "2.8", .kernel = {}, .today = "2026-06-02"}) ==
          std::vector<std::string>{"the known deviation of RSP-03 does not apply to firmware 2.8"});
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
    CHECK(result->reason() == "the device has the trait out_of_order");
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
