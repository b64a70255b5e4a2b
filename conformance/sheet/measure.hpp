// Measures the packets of a case of the data sheet. What a case proves of the device is in the
// packets that it recorded, so a device that does something else than the case's lines say is
// measured as well.
#pragma once

#include <span>
#include <string_view>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/sheet/data_sheet.hpp"

namespace veriroce::sheet {

// The cases of the sheet as they were when the program was built: every *.roce of the folder cases.
struct CaseFile {
    std::string_view path; // "sheet/nak-latency.roce"
    std::string_view text;
};
std::span<const CaseFile> case_files();

// Adds what this run shows; nothing for a case that is not of the sheet, or was not played.
void measure(DataSheet& sheet, const interpreter::CaseResult& result);

} // namespace veriroce::sheet
