// Drafts of profiles, and notes about a device and its profile.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "conformance/plan/device_notes.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/plan/profile_draft.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "tests/text.hpp"

namespace veriroce::test {
namespace {

using Notes = std::vector<std::string>;

std::vector<CaseResult> play_with(const VirtualTestbedOptions& device, const Selection& selection,
                                  const std::optional<Profile>& profile) {
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(device);
    PlanRun run(testbed, plan, selection, {.profile = profile, .today = "2026-11-23"});
    std::vector<CaseResult> results;
    while (auto result = run.next())
        results.push_back(std::move(*result));
    return results;
}

std::size_t count(const std::vector<CaseResult>& results, Verdict verdict) {
    return static_cast<std::size_t>(std::ranges::count(results, verdict, &CaseResult::verdict));
}

Profile draft_profile(std::string_view text) {
    const auto profile = parse_profile("draft.yaml", text);
    if (!profile) FAIL(profile.error() << text);
    return *profile;
}

} // namespace

// What the draft excuses is what was found, no more: the same device has only XFAILs, and a right
// one has XPASSes.
TEMPLATE_TEST_CASE_SIG("profile draft: with it the same device has no FAIL and no WARN", "[plan]",
                       ((std::size_t part), part), 0, 1) {
    const auto names = {std::vector<std::string_view>{"gap_dropped_in_silence"},
                        std::vector<std::string_view>{"nak_state_never_cleared"}};
    for (const std::string_view name : *(names.begin() + part)) {
        const auto mutant = mutants::find(name);
        REQUIRE(mutant.has_value());
        const Selection selection{.names = kSanitized ? std::vector<std::string>{"rsp"}
                                                      : std::vector<std::string>{"bth", "rsp"},
                                  .ip_versions =
                                      kSanitized ? std::vector<int>{4} : std::vector<int>{4, 6}};
        const auto before = play_with(engine_of(*mutant), selection, {});
        REQUIRE(unexplained(before) > 0);
        const std::string draft = profile_draft({.device = "x: \"1\"", .firmware = "1.2"}, before);
        INFO(draft);
        const Profile profile = draft_profile(draft);
        CHECK(profile.name == "x: \"1\"");
        // The built-in engine has another firmware than 1.2.
        auto ours = profile;
        for (Deviation& one : ours.deviations)
            one.firmware.reset();
        const auto after = play_with(engine_of(*mutant), selection, ours);
        CHECK(count(after, Verdict::Fail) == 0);
        CHECK(count(after, Verdict::Warn) == 0);
        CHECK(count(after, Verdict::Xfail) == unexplained(before));
        CHECK(count(after, Verdict::Xpass) == 0);
        CHECK(count(play_with(right_engine(), selection, ours), Verdict::Xpass) ==
              unexplained(before));
    }
}

TEST_CASE("profile draft: a device without deviations needs no entry", "[plan]") {
    const dut::Welcome device{
        .device = "rxe0", .driver = "rdma_rxe", .capabilities = {"rc", "read"}};
    const std::string draft = profile_draft(device, {});
    const Profile profile = draft_profile(draft);
    CHECK(profile.deviations.empty());
    CHECK(profile.drivers == std::vector<std::string>{"rdma_rxe"});
    CHECK(draft.find("rc read") != std::string::npos);
}

TEST_CASE("profile draft: rounds share an entry, and equal runs the case", "[plan]") {
    const auto failing = [](std::string id, std::uint32_t line) {
        CaseResult result;
        result.id = std::move(id);
        result.verdict = Verdict::Fail;
        result.findings = {{.kind = FindingKind::Missing, .line = line, .subject = "NAK"}};
        return result;
    };
    CaseResult passed;
    passed.id = "rsp/wide-gaps[n=2]";
    passed.verdict = Verdict::Pass;
    const std::vector<CaseResult> results{
        failing("rsp/gap-nak[round=1]", 9), failing("rsp/gap-nak[round=2]", 9),
        failing("bth/pad-count[n=1]", 8),   failing("bth/pad-count[n=2]", 8),
        failing("rsp/wide-gaps[n=1]", 7),   passed};
    const Profile profile = draft_profile(profile_draft({.device = "d"}, results));
    std::vector<std::string> ids;
    for (const Deviation& one : profile.deviations)
        ids.push_back(one.case_id);
    CHECK(ids == std::vector<std::string>{"bth/pad-count", "rsp/gap-nak", "rsp/wide-gaps[n=1]"});
    CHECK(profile.deviations.front().lines == std::vector<std::uint32_t>{8});
}

TEST_CASE("device notes: a run without a profile names the one that fits", "[plan]") {
    const dut::Welcome device{.driver = "mlx5_core", .capabilities = {"query_qp"}};
    CHECK(device_notes(device, {}) ==
          Notes{"the profile for devices of the driver mlx5_core is not "
                "used: --profile conformance/profiles/mlx5.yaml"});
    const dut::Welcome unknown{.driver = "new_core", .capabilities = {"query_qp"}};
    CHECK(device_notes(unknown, {}).empty());
}

TEST_CASE("device notes: a profile that is unverified, or of other devices", "[plan]") {
    const Profile profile{.name = "p", .unverified = "never tested", .drivers = {"a", "b"}};
    const dut::Welcome device{.driver = "c", .capabilities = {"query_qp"}};
    CHECK(device_notes(device, profile) ==
          Notes{"the profile is unverified: never tested",
                "the profile is for the driver a or b, and the device has c"});
    const dut::Welcome right{.driver = "b", .capabilities = {"query_qp"}};
    CHECK(device_notes(right, profile) == Notes{"the profile is unverified: never tested"});
}

TEST_CASE("device notes: lines that are passed over", "[plan]") {
    const Notes notes = device_notes({}, {});
    REQUIRE(notes.size() == 1);
    CHECK(notes.front().find("'dut state'") != std::string::npos);
}

TEST_CASE("device notes: every profile of the folder is found by its drivers", "[plan]") {
    const std::filesystem::path folder =
        std::filesystem::path(VERIROCE_SOURCE_DIR) / "conformance/profiles";
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() != ".yaml" || name == "template.yaml") continue;
        ++files;
        INFO(name);
        const auto profile = parse_profile(name, house::read_text(entry.path().string()));
        if (!profile) FAIL(profile.error());
        CHECK_FALSE(profile->drivers.empty());
        for (const std::string& driver : profile->drivers)
            CHECK(profile_for_driver(driver) == name);
        // Entries of a device that nobody tested must not fail a run where they do not show.
        if (profile->unverified.empty()) continue;
        for (const Deviation& one : profile->deviations)
            CHECK(one.sometimes);
    }
    CHECK(files == 8);
}

} // namespace veriroce::test
