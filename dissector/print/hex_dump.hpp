// A packet as a hex dump.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// At most sixteen bytes per line: offset, hex, characters, and the name of the layer as used in
// filters. Each layer starts a new line; bytes outside all layers have no name. An empty line
// follows. `colours` distinguishes neighbouring layers on a terminal.
void append_hex_dump(std::string& out, const decode::Dissection& dissection, bool colours = false);

} // namespace veriroce::print
