// A profile: what somebody knows of one device, beyond what its agent says. Capabilities and
// traits, the names of its counters, how slow it is, and in what it is known to deviate.
//
// A known deviation does not fail a run: its FAIL or WARN becomes XFAIL. Where it does not show,
// the run becomes XPASS, which fails: the entry is out of date.
//
// Units: dates are ISO 8601 days; firmware versions compare number by number (6.1.12 > 6.1.9).
// Errors: every diagnostic names file, line and column; unknown words come with the nearest valid
// one. Source: conformance/profiles/README.md.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/environment.hpp"

namespace veriroce::plan {

struct FirmwareRange { // both ends belong to it; an empty end is open
    std::string first;
    std::string last;

    [[nodiscard]] bool contains(std::string_view version) const;
    bool operator==(const FirmwareRange&) const = default;
};

// One thing that the device is known to do wrong.
struct Deviation {
    std::string rule;    // either a rule: every case that cites it, or that breaks it
    std::string case_id; // or a case: "bth/pad-count", or one run of it: "bth/pad-count[n=1]"
    std::string reason;
    std::string link; // of the bug report; may be empty
    std::optional<FirmwareRange> firmware;
    std::string until;      // the last day on which it counts: "2027-03-31"; for ever if empty
    bool sometimes = false; // may also not show
    std::uint32_t line = 0; // in the profile
};

struct Profile {
    std::string name;
    std::vector<std::string> capabilities; // that it has, whatever its agent says
    std::vector<std::string> lacks;        // that it has not
    std::vector<std::string> traits;
    std::map<wire::DeviceCounter, std::string> counters; // the device's names
    double time_scale = 1.0;
    std::vector<Deviation> deviations;

    // The device as it stands in an environment, with what the profile knows of it.
    [[nodiscard]] interpreter::Environment applied(interpreter::Environment environment) const;
};

inline constexpr std::size_t kMaxProfileBytes = 256U << 10;

// The profile in this text. The error is one or more lines for stderr.
std::expected<Profile, std::string> parse_profile(std::string_view path, std::string_view text);

// What of a profile holds for one run: this firmware, this day.
class KnownDeviations {
  public:
    KnownDeviations() = default;
    // `today` is a day as above.
    KnownDeviations(const Profile& profile, std::string_view firmware, std::string_view today);

    // FAIL and WARN become XFAIL, PASS becomes XPASS, where an entry says so.
    void judge(interpreter::CaseResult& result) const;
    // Entries that are over, and what else a reader of the report should know.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  private:
    std::vector<Deviation> deviations_;
    std::vector<std::string> notes_;
};

} // namespace veriroce::plan
