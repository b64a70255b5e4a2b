// Packets for people to read: the line, the tree, the hex dump, the findings.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// One line with tshark's columns: number, seconds since the first frame, source, destination,
// protocol, length, and what the packet says. Ends with a newline.
void append_line(std::string& out, const decode::Dissection& dissection);

// Every layer with its bytes, every field with its offset (hex, as in the dump) and its bits.
void append_tree(std::string& out, const decode::Dissection& dissection);

// At most sixteen bytes a line: offset, hex, characters, and the layer that they belong to, as
// filters name it. Each layer begins a line; bytes that no layer has are without a name. An empty
// line follows. `colours`: neighbouring layers differ on a terminal.
void append_hex_dump(std::string& out, const decode::Dissection& dissection, bool colours = false);

// "error CRC-01: the ICRC is wrong (found 0x..., expected 0x...), bytes 62..65", without newline.
void append_finding(std::string& out, const decode::Finding& finding);

} // namespace veriroce::print
