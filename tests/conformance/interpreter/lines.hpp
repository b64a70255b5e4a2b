// Dialogues that stand in a test, with a header around them, against the built-in engine.
#pragma once

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {

inline std::string with(std::string_view dialogue, std::string_view more_header = {}) {
    return "rule   RSP-01\ntitle  \"made up\"\nrole   both\n" + std::string(more_header) + "\n" +
           std::string(dialogue);
}

inline CaseResult passes(const std::string& script) {
    CaseResult result = play_script(script);
    INFO(script << "\n" << text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    CHECK(result.violations.empty());
    return result;
}

inline CaseResult fails(const std::string& script, std::string_view reason,
                        Verdict verdict = Verdict::Fail) {
    CaseResult result = play_script(script);
    INFO(script << "\n" << text_of(result));
    CHECK(result.verdict == verdict);
    CHECK(result.reason().find(reason) != std::string::npos);
    return result;
}

} // namespace veriroce::test
