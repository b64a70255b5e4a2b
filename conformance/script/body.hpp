// Parses `qp` lines and the dialogue for one run: with every `for` name bound to one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "conformance/script/header.hpp"
#include "conformance/script/names.hpp"

namespace veriroce::script {

// A `let` or `for` name in one run.
struct BoundName {
    std::string name;
    std::variant<Constant, std::string> value;
    bool is_for = false;
    bool attribute = false; // for qp.NAME
    SourceSpan span;
};

inline constexpr std::size_t max_depth = 8; // of blocks in blocks

// Diagnostics go to the report; the run is whole if there are none.
Run parse_run(const Header& header, std::span<const Line> lines, std::span<const BoundName> names,
              std::int64_t mtu, Report& report);

// "256", "1ms", "64KiB": a value as an id shows it.
std::string text_of(const Constant& constant);

} // namespace veriroce::script
