// Internal: what the cases of congestion show: when, how often and for whom a device sends CNPs,
// and what CNPs do to it. Each function is one of the functions of measure.cpp.
#pragma once

#include "conformance/sheet/data_sheet.hpp"
#include "conformance/sheet/seen.hpp"

namespace veriroce::sheet {

void cnp(DataSheet& sheet, const CaseResult& result, const Packets& packets);
void cnp_addresses(DataSheet& sheet, const CaseResult& result, const Packets& packets);
void cnp_causes(DataSheet& sheet, const CaseResult& result, const Packets& packets);
void cnp_reaction(DataSheet& sheet, const CaseResult& result, const Packets& packets);

} // namespace veriroce::sheet
