// What a person needs to know of a case that did not pass, as labelled rows: the console and
// junit.xml print the same ones. Every differing field has a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/case_result.hpp"

namespace veriroce::reports {

struct Row {
    // How a renderer that has colours, or wraps lines, may treat it.
    enum class Kind : std::uint8_t {
        Sentence,   // no label
        Text,       // may be wrapped
        Verbatim,   // a line of a script, a packet, a command: never wrapped
        Difference, // expected and actual
    };
    Kind kind = Kind::Sentence;
    std::string label;    // "line 13", "got", "msn", "rule"
    std::string text;     // of a Difference what was expected
    std::string actual{}; // of a Difference
};

// "key" of the case key/write-beyond-region; a script that is in no folder is of "cases".
std::string_view group_of(std::string_view id);

// The findings, the rules that they break, the file with the packets, and the command that runs the
// case again.
std::vector<Row> case_rows(const interpreter::CaseResult& result);

// "expected 2, got 1" for a Difference, else its text.
std::string text_of(const Row& row);

// What is to be said of the packet at this place of CaseResult::packets: the case's own remarks,
// then the findings and the certain violations that it shows.
std::vector<std::string> remarks_of(const interpreter::CaseResult& result, std::size_t packet);

} // namespace veriroce::reports
