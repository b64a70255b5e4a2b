// A packet as a tree of layers and fields, and findings as text.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// The layers whose fields a tree shows; of the others it has only the heading.
using DetailedLayers = std::bitset<decode::kLayerKinds>;
inline constexpr DetailedLayers kNoLayers;
// Adds those of a protocol ("ip") or header ("infiniband.bth"); false if there are none.
bool add_layers(DetailedLayers& layers, std::string_view name);

// Every layer with its bytes; every field with its offset (hex, as in the dump) and bits.
void append_tree(std::string& out, const decode::Dissection& dissection,
                 DetailedLayers detailed = ~kNoLayers);

// "error CRC-01: the ICRC is wrong (found 0x..., expected 0x...), bytes 62..65", without a newline.
void append_finding(std::string& out, const decode::Finding& finding);

} // namespace veriroce::print
