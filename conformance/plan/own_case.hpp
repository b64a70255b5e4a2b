// The cases that are part of the program: those of the suite and those of the data sheet.
#pragma once

#include <span>
#include <string_view>

#include "conformance/cases/embedded.hpp"

namespace veriroce::plan {

// All of them: the suite's, then the sheet's. They live as long as the program.
std::span<const cases::EmbeddedFile> own_cases();

// The one with this id ("rsp/gap-nak", "sheet/retry-count"); null if there is none.
const cases::EmbeddedFile* own_case(std::string_view id);

} // namespace veriroce::plan
