// The story of a case for the model: its packets and its calls of the DUT contract, in order of
// time. And what the model finds in it, in the form of the judge's violations.
#pragma once

#include "conformance/interpreter/call_log.hpp"
#include "conformance/interpreter/case_result.hpp"
#include "conformance/model/deviation.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::interpreter {

class Record;
struct Environment;

// The packets refer to the record. `end`: until when the tester listened.
model::Story story_of(const Environment& environment, const Record& record, CallLog log,
                      wire::Instant end);

// A story that is not over, and what the model finds in it of memory, completions and events.
struct HostLook {
    model::Story story;
    std::vector<model::Deviation> found;
    std::size_t packets = 0; // of the record

    // Whether the story would be the same now.
    [[nodiscard]] bool still_holds(const Record& record, const CallLog& log,
                                   wire::Instant now) const;
};

// A contradiction is certain. What is absent or too many is certain only where no network is
// between the two ends.
Violation violation_of(const model::Deviation& deviation, const model::Setting& setting);

} // namespace veriroce::interpreter
