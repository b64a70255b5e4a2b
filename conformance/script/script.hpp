// The compiler of the test language: text in, a checked Case out, its runs, and its canonical
// layout. No I/O: the caller has read the file.
//
// Errors: every diagnostic names line and column, marks the word, and suggests the nearest valid
// one. What `load` accepts can be expanded, except where a value of this run makes a fault rule
// impossible.
// Source: README.md of this folder.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

struct Diagnostic {
    SourceSpan span;
    std::string message; // a sentence without line and column
    std::string source;  // the line as it stands in the file

    // "FILE:LINE:COLUMN: MESSAGE", the line, and a line of carets under the marked word.
    [[nodiscard]] std::string text(std::string_view path) const;
};

// A case has at most so many runs; more is an error of its `for` lines.
inline constexpr std::size_t max_runs = 4'096;
inline constexpr std::size_t max_text_bytes = 256U << 10;
// QPs of a case, the one that is always there among them.
inline constexpr std::uint32_t max_qps = 127;

// The case in this text. `path` gives it its id and appears in messages.
std::expected<Case, std::vector<Diagnostic>> load(std::string_view path, std::string_view text);

// Every combination of the case's `for` values, in the order in which they are written, the last
// name running fastest. `mtu` is the path MTU where the case does not set it.
std::expected<std::vector<Run>, std::vector<Diagnostic>> expand(const Case& checked,
                                                                std::int64_t mtu = 1024);

// Constructs of the language that the interpreter cannot carry out yet, each as a diagnostic at
// its place. A case with any must be refused, not run in part.
std::vector<Diagnostic> not_yet_runnable(const Case& checked);

// The canonical layout of a file, comments kept. What does not load is not laid out.
std::expected<std::string, std::vector<Diagnostic>> format(std::string_view path,
                                                           std::string_view text);

// A name and what it is worth in this run, written as in the case: `-D lost=7`, `-D qp.mtu=256`.
struct Parameter {
    std::string name;
    std::string value;
};

// The text with the values of `let` and `for` lines replaced by those of parameters of that name;
// of two parameters of one name the last counts. Compile it: a value may be wrong there.
struct WithParameters {
    std::string text;
    std::vector<std::string> used; // names that had a line
};
WithParameters with_parameters(std::string_view text, const std::vector<Parameter>& parameters);

// The names that a parameter can set.
std::vector<std::string> parameter_names(std::string_view text);

// NAME=VALUE; the error is a phrase.
std::expected<Parameter, std::string> parse_parameter(std::string_view text);

// A fault plan file (*.faults): lines of `fault` without that word. `from=` is a or b, and as in
// cases dut (a) or tester (b); qp= is a QPN.
std::expected<std::vector<fault::Rule>, std::vector<Diagnostic>> load_plan(std::string_view path,
                                                                           std::string_view text);

// The canonical layout of a plan, comments kept.
std::expected<std::string, std::vector<Diagnostic>> format_plan(std::string_view path,
                                                                std::string_view text);

} // namespace veriroce::script
