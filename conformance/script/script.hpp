// The compiler of the test language: it turns text into a checked Case, its runs, and its canonical
// layout. No I/O: the caller reads the file.
//
// Errors: every diagnostic names line and column, marks the word, and suggests the nearest valid
// one.
// Source: README.md of this folder.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/ast.hpp"
#include "transport/fault/expectation.hpp"

namespace veriroce::script {

struct Diagnostic {
    SourceSpan span;
    std::string message; // without line and column
    std::string source;  // the line of the file

    // "FILE:LINE:COLUMN: MESSAGE", the line, and a line of carets under the marked word.
    [[nodiscard]] std::string text(std::string_view path) const;
};

// The limit of runs per case; exceeding it is an error of the `for` lines.
inline constexpr std::size_t kMaxRuns = 4'096;
inline constexpr std::size_t kMaxTextBytes = 256U << 10;
// The limit of QPs per case, including the default one.
inline constexpr std::uint32_t kMaxQps = 1023;

// A script as it was compiled, once. One run per combination of the case's `for` values, in the
// order of the lines; the last name varies fastest.
struct Script {
    Case test_case;
    std::vector<Run> runs;
};

// The value of `mtu` in a case that does not set it.
inline constexpr std::int64_t kUsualMtu = 1024;

// `path` determines the case's id and appears in messages. `usual_mtu` is the path MTU of the runs
// that do not set one.
std::expected<Script, std::vector<Diagnostic>> compile(std::string_view path, std::string_view text,
                                                       std::int64_t usual_mtu = kUsualMtu);

// The canonical layout of a file, with its comments. Fails if `compile` fails.
std::expected<std::string, std::vector<Diagnostic>> format(std::string_view path,
                                                           std::string_view text);

// A name and its value, written as in the case: `-D lost=7`, `-D qp.mtu=256`.
struct Parameter {
    std::string name;
    std::string value;
};

// The text with the values of `let` and `for` lines replaced by the parameters of the same name.
// If a name is given twice, the last one counts. Compile the result: it finds wrong values.
struct WithParameters {
    std::string text;
    std::vector<std::string> used; // names for which there is a line
};
WithParameters with_parameters(std::string_view text, const std::vector<Parameter>& parameters);

// The names that a parameter can set.
std::vector<std::string> parameter_names(std::string_view text);

// NAME=VALUE; the error is a phrase.
std::expected<Parameter, std::string> parse_parameter(std::string_view text);

// A fault plan file (*.faults): lines of `fault` without that word. `from=` is a or b, and as in
// cases dut (a) or tester (b); qp= is a QPN. What only `veriroce inject` understands is an error.
std::expected<std::vector<fault::Rule>, std::vector<Diagnostic>> load_plan(std::string_view path,
                                                                           std::string_view text);

// A plan file of `veriroce inject`: the same lines, and `expect` lines.
struct InjectionPlan {
    std::vector<fault::Rule> rules;
    std::vector<fault::Expectation> expectations;
};
std::expected<InjectionPlan, std::vector<Diagnostic>> load_injection(std::string_view path,
                                                                     std::string_view text);

// The canonical layout of a plan, comments kept.
std::expected<std::string, std::vector<Diagnostic>> format_plan(std::string_view path,
                                                                std::string_view text);

} // namespace veriroce::script
