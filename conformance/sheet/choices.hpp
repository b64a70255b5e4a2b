// What the standard leaves to a device: for each choice, what a packet of the tester is answered.
//
// Source: the rules of level INFO, which the cases `choice-*` name.
#pragma once

#include <string_view>

#include "conformance/sheet/data_sheet.hpp"
#include "conformance/sheet/seen.hpp"

namespace veriroce::sheet {

// `of`: the case, without the values of its run.
void add_choices(DataSheet& sheet, std::string_view of, const Packets& packets);

} // namespace veriroce::sheet
