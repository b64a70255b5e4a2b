// What a run of many cases found, as plain values: the one source of every report. Renderers
// (reports/) are pure functions of it.
//
// Figures that depend on the clock stand in `Timing` alone, so that two runs of one seed are equal
// without it. Source: conformance/README.md, "How a verdict is made".
#pragma once

#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/sheet/data_sheet.hpp"
#include "conformance/testbed/run_info.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::plan {

struct CaseTiming {
    std::string id;
    wire::Duration wall{0};
};

struct Timing {
    std::string started; // RFC 3339
    wire::Duration wall{0};
    wire::Duration round_trip_p99{0};
    wire::Duration sleep_p99{0}; // of the tester's sleeps of 1 ms
    wire::Duration settle{0};
    std::vector<CaseTiming> cases;
};

// Whether it is an ERROR because a finding did not show in enough plays of the case.
[[nodiscard]] bool is_not_repeatable(const interpreter::CaseResult& result);

struct RunResults {
    testbed::RunInfo run;
    std::vector<interpreter::CaseResult> cases;
    Timing timing;
    sheet::DataSheet sheet; // of --data-sheet; else empty

    [[nodiscard]] std::size_t count(interpreter::Verdict verdict) const;
    // Those of the ERRORs whose finding did not show in enough plays.
    [[nodiscard]] std::size_t not_repeatable() const;
    // Runs that reached a verdict on the DUT.
    [[nodiscard]] std::size_t judged() const;
    // kExitSuccess, kExitFound or kExitUnable (command_line/exit_code.hpp). Of a complete run, this
    // share (0 to 1) may be ERRORs without a change of kExitSuccess.
    [[nodiscard]] int exit_code(bool strict, double allowed_errors = 0) const;
};

} // namespace veriroce::plan
