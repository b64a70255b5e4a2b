// A profile: what somebody knows of one device, beyond what its agent says. Capabilities and
// traits, the names of its counters, how slow it is, and in what it is known to deviate.
//
// A known deviation does not fail a run: its FAIL or WARN becomes XFAIL. Where it does not show,
// the run becomes XPASS, which fails: the entry is out of date. An entry excuses one kind of
// finding, at the lines or fields that it names, so that it cannot hide another defect.
//
// Units: dates are ISO 8601 days; versions compare number by number (6.1.12 > 6.1.9).
// Errors: every diagnostic names file, line and column; unknown words come with the nearest valid
// one. Source: conformance/profiles/README.md.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/environment.hpp"

namespace veriroce::plan {

struct VersionRange { // both ends belong to it; an empty end is open
    std::string first;
    std::string last;

    [[nodiscard]] bool contains(std::string_view version) const;
    bool operator==(const VersionRange&) const = default;
};

// One thing that the device is known to do wrong.
struct Deviation {
    std::string rule;    // either a rule: every case that cites it, or that breaks it
    std::string case_id; // or a case: "bth/pad-count", or runs of it: "bth/pad-count[n=1]"
    // The findings that it excuses. Without a kind: every one (as old profiles have it).
    std::optional<interpreter::FindingKind> kind;
    std::vector<std::uint32_t> lines; // of the script; any if empty
    std::vector<std::string> fields;  // all that differ are among these; any if empty
    std::string reason;
    std::string link; // of the bug report; may be empty
    std::optional<VersionRange> firmware;
    std::optional<VersionRange> kernel; // of the device's host
    std::string until;      // the last day on which it counts: "2027-03-31"; for ever if empty
    bool sometimes = false; // may also not show
    std::uint32_t line = 0; // in the profile
};

struct Profile {
    std::string name;
    std::string unverified;                // why its statements may be wrong; empty: they are not
    std::vector<std::string> drivers;      // whose devices it describes; any if empty
    std::vector<std::string> capabilities; // that it has, whatever its agent says
    std::vector<std::string> lacks;        // that it has not
    std::vector<std::string> traits;
    std::map<wire::DeviceCounter, std::string> counters; // the device's names
    double time_scale = 1.0;
    std::uint8_t ack_timer_floor = 0; // smaller codes of `timeout` act as this one
    std::vector<Deviation> deviations;

    // The device as it stands in an environment, with what the profile knows of it.
    [[nodiscard]] interpreter::Environment applied(interpreter::Environment environment) const;
};

// Whether an entry may excuse findings of this kind. The others say nothing about the DUT, or come
// from the profile.
bool excusable(interpreter::FindingKind kind);

inline constexpr std::size_t kMaxProfileBytes = 256U << 10;

// The profile in this text. The error is one or more lines for stderr.
std::expected<Profile, std::string> parse_profile(std::string_view path, std::string_view text);

// The device and the day of a run, on which entries may depend.
struct ProfileScope {
    std::string firmware;
    std::optional<std::string> kernel; // of the device's host, if its agent says
    std::string today;                 // a day as above
};

// What of a profile holds for one run of the suite.
class KnownDeviations {
  public:
    // So often each run of an entry that shows `sometimes` must pass before the entry is out of
    // date.
    static constexpr std::uint32_t kPassesOfARow = 3;

    KnownDeviations() = default;
    KnownDeviations(const Profile& profile, const ProfileScope& scope);

    // Tells which runs will be judged: an entry that shows `sometimes` is out of date when all of
    // its runs have passed often enough. A run whose deviation this machine may hide (a case about
    // time) is not told.
    void will_play(std::string_view id, std::span<const std::string> rules);
    // FAIL and WARN become XFAIL, PASS becomes XPASS, where an entry says so.
    void judge(interpreter::CaseResult& result);
    // Entries that do not count, and what else a reader of the report should know.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    struct Entry {
        Deviation of;
        std::map<std::string, std::uint32_t> passes; // of each run of it, all rounds together
        bool shown = false;                          // or a run of it reached no verdict
    };
    static void excuse(interpreter::CaseResult& result, std::span<Entry* const> entries);
    static void miss(interpreter::CaseResult& result, std::span<Entry* const> entries);
    static bool row_passed(Entry& entry, const interpreter::CaseResult& result);

    std::vector<Entry> entries_;
    std::vector<std::string> notes_;
};

} // namespace veriroce::plan
