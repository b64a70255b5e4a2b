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

// Sixteen bytes a line: offset, hex, characters. An empty line follows.
void append_hex_dump(std::string& out, wire::Bytes bytes);

// "error CRC-01: the ICRC is wrong (found 0x..., expected 0x...), bytes 62..65", without newline.
void append_finding(std::string& out, const decode::Finding& finding);

} // namespace veriroce::print
