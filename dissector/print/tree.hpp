// A packet as a tree of layers and fields, and findings as text.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// Every layer with its bytes; every field with its offset (hex, as in the dump) and bits.
void append_tree(std::string& out, const decode::Dissection& dissection);

// "error CRC-01: the ICRC is wrong (found 0x..., expected 0x...), bytes 62..65", without a newline.
void append_finding(std::string& out, const decode::Finding& finding);

} // namespace veriroce::print
