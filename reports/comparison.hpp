// What changed between two runs of the suite: two firmwares of one device, say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/saved_run.hpp"

namespace veriroce::reports {

enum class TableFormat : std::uint8_t { Text, Markdown };

struct Change {
    std::string id;
    std::optional<interpreter::Verdict> before; // nothing: it was not played
    std::optional<interpreter::Verdict> after;
    std::string summary; // of the run that did not pass; of `after` if both did not
};

// Times of which each sample of one run is above each of the other. Runs with fewer than three
// samples prove no change.
struct MeasureChange {
    std::string id;
    std::string measure;
    wire::Duration before_median{};
    wire::Duration after_median{};
};

struct Comparison {
    std::vector<Change> worse;    // PASS or XFAIL became wrong, PASS became XFAIL, WARN became FAIL
    std::vector<Change> better;   // the other way round
    std::vector<Change> unjudged; // was judged, and now is SKIP, ERROR or not played
    std::vector<Change> fresh;    // is judged, and was not
    std::vector<MeasureChange> measures;
    std::size_t unchanged = 0;
};

Comparison compare(const SavedRun& before, const SavedRun& after);

std::string comparison_text(const Comparison& comparison, const SavedRun& before,
                            const SavedRun& after, TableFormat format);

// Cases by devices: the gravest verdict of a case's runs in each. Without `all` only cases that did
// not pass everywhere.
std::string matrix_text(const std::vector<SavedRun>& runs, bool all, TableFormat format);

} // namespace veriroce::reports
