// What changed between two runs of the suite: two firmwares of one device, say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/saved_run.hpp"

namespace veriroce::reports {

enum class TableFormat : std::uint8_t { Text, Markdown, Html };

struct Change {
    std::string id;
    std::optional<interpreter::Verdict> before; // nothing: it was not played
    std::optional<interpreter::Verdict> after;
    std::string summary; // of the run that did not pass; of `after` if both did not
};

// Samples in short, in the unit of the measure.
struct Spread {
    std::size_t samples = 0;
    std::int64_t least = 0;
    std::int64_t median = 0;
    std::int64_t most = 0;
};

// A measure of a case, or a quantity of the data sheet, of which the samples of one run are all
// above those of the other. Of eight samples or more the lowest and the highest tenth are left out;
// fewer than three prove no change.
struct MeasureChange {
    std::string id;      // of the case; empty for the data sheet
    std::string measure; // "wait"; "ACK timer, code 14"
    sheet::Unit unit = sheet::Unit::Nanoseconds;
    Spread before;
    Spread after;
};

// What the two devices are: firmware, capabilities, limits, behaviours of the data sheet.
struct FactChange {
    std::string name; // "capability atomic"
    std::string before;
    std::string after;
};

// A rule that only one of the runs broke, whatever the verdicts made of it.
struct RuleChange {
    std::string rule;
    std::vector<std::string> ids; // of the runs that break it
};

struct Comparison {
    std::vector<Change> worse;    // PASS or XFAIL became wrong, PASS became XFAIL, WARN became FAIL
    std::vector<Change> better;   // the other way round
    std::vector<Change> unjudged; // was judged, and now is SKIP, ERROR or not played
    std::vector<Change> fresh;    // is judged, and was not
    std::vector<MeasureChange> measures;
    std::vector<FactChange> facts;
    std::vector<RuleChange> broken; // rules that `after` breaks, and `before` kept
    std::vector<RuleChange> kept;   // the other way round
    std::size_t unchanged = 0;
};

Comparison compare(const SavedRun& before, const SavedRun& after);

// "3 worse, 1 better, 2 no longer judged, 2 judged now, 1 unchanged"
std::string comparison_summary(const Comparison& comparison);

// As text or Markdown (comparison_html.hpp has the page).
std::string comparison_text(const Comparison& comparison, const SavedRun& before,
                            const SavedRun& after, TableFormat format);

// Cases by devices: the gravest verdict of a case's runs in each.
struct Matrix {
    struct Row {
        std::string id;
        std::vector<std::optional<interpreter::Verdict>> verdicts; // one for each run
        [[nodiscard]] bool passes() const;                         // everywhere
    };
    std::vector<Row> rows; // by id
    std::size_t passing = 0;
};

Matrix matrix_of(const std::vector<SavedRun>& runs);

// Without `all` only cases that did not pass everywhere.
std::string matrix_text(const std::vector<SavedRun>& runs, bool all, TableFormat format);

// "12.5 us", "3 packets", "9.8 Gbit/s".
std::string amount_text(std::int64_t amount, sheet::Unit unit);
// "reports/a: mlx5_0 at 192.0.2.1, profile cx6"
std::string description(const SavedRun& run);

} // namespace veriroce::reports
