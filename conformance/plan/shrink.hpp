// Makes a failing script small: takes away every line and block without which it still fails alike,
// which is with the same kinds of findings at the same lines, in the same fields. Fault rules are
// lines like all others. Of a case that is played under a plan (Environment::plan) the plan is made
// small, and the script stays.
//
// The reduction is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", 2002): first large parts, then smaller ones, until no single line can
// go. It plays the script again and again, so it belongs to virtual time.
//
// Of a script that finds a defect one can make another that expects nonsense, and fails as well. So
// where the whole script passes on a right device, the small one has to pass there, too.
#pragma once

#include <expected>
#include <string>

#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

inline constexpr std::size_t kMaxShrinkPlays = 5'000;

struct Shrunk {
    std::string text; // of the small script, its `for` names with the values of this run; or plan
    interpreter::CaseResult result; // of it
    std::size_t plays = 0;
    bool minimal = true; // false: max_shrink_plays was reached, or a signal came
};

// `right` is a testbed with a right device, if there is one. The error is a sentence: the script
// does not fail by itself.
std::expected<Shrunk, std::string> shrink(testbed::Testbed& testbed, const script::Case& script,
                                          const script::Run& run,
                                          const interpreter::Environment& environment,
                                          testbed::Testbed* right = nullptr);

} // namespace veriroce::plan
