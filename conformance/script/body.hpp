// Parses `qp` lines and the dialogue for one run: with every `for` name bound to one value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "conformance/script/binding.hpp"
#include "conformance/script/header.hpp"

namespace veriroce::script {

inline constexpr std::size_t kMaxDepth = 8; // of blocks in blocks

// Diagnostics go to the report; without any, the run is complete.
Run parse_run(const Header& header, std::span<const Line> lines, std::span<const BoundName> names,
              std::int64_t mtu, Report& report);

} // namespace veriroce::script
