// Measures the packets of a case of the data sheet. What a case proves of the device is in the
// packets that it recorded, so a device that does something else than the case's lines say is
// measured as well.
#pragma once

#include <span>

#include "conformance/cases/embedded.hpp"
#include "conformance/interpreter/case_result.hpp"
#include "conformance/sheet/data_sheet.hpp"

namespace veriroce::sheet {

// The cases of the sheet as they were when the program was built: every *.roce of the folder cases.
// Their paths begin with "sheet/".
std::span<const cases::EmbeddedFile> case_files();

// Adds what this run shows; nothing for a case that is not of the sheet, or was not played.
void measure(DataSheet& sheet, const interpreter::CaseResult& result);

} // namespace veriroce::sheet
