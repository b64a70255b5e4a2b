// What the tests of the language share: loading with readable failures.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/script.hpp"
#include "tests/text.hpp"

namespace veriroce::script::tests {

inline std::string all_text(const std::vector<Diagnostic>& diagnostics) {
    std::string text;
    for (const Diagnostic& one : diagnostics)
        text += one.text("x.roce");
    return text;
}

inline Case checked(std::string_view text, std::string_view path = "group/x.roce") {
    auto compiled = compile(path, text);
    if (!compiled) FAIL(all_text(compiled.error()));
    return std::move(compiled->test_case);
}

inline std::vector<Run> runs_of(std::string_view text) {
    auto compiled = compile("group/x.roce", text);
    if (!compiled) FAIL(all_text(compiled.error()));
    return std::move(compiled->runs);
}

struct SuiteFile {
    std::string path; // below conformance/cases
    std::string text;
};
inline std::vector<SuiteFile> suite() {
    const auto root = std::filesystem::path(VERIROCE_SOURCE_DIR) / "conformance" / "cases";
    std::vector<SuiteFile> files;
    for (const auto& path : house::files_under(root)) {
        if (path.extension() != ".roce") continue;
        files.push_back({path.lexically_relative(root).generic_string(), house::read_text(path)});
    }
    return files;
}

// A case around a dialogue, and around header lines.
inline std::string with_header(std::string_view dialogue, std::string_view header = "") {
    return "rule   RSP-02\ntitle  \"A title\"\nrole   responder\n" + std::string(header) + "\n" +
           std::string(dialogue);
}

} // namespace veriroce::script::tests
