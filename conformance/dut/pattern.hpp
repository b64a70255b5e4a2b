// What a region is filled with, as a pure function of the byte's offset in its region and of a key:
// the device fills by it and the tester compares by it, however the range is cut.
//
//   zero     every byte 00
//   ones     every byte FF
//   offsets  the 8-byte word at offset 8k holds 8k + key, most significant byte first. (A byte
//            counter would repeat at every path MTU and hide misplaced packets.)
//   random   the 8-byte word at offset 8k holds mix(k + key * 2^32), most significant byte first;
//            mix is the output function of splitmix64, all sums modulo 2^64
//
// Source: conformance/agent/README.md, "Patterns".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dissector/wire/bytes.hpp"

namespace veriroce::dut {

enum class Pattern : std::uint8_t { Zero, Ones, Offsets, Random };

std::string_view name_of(Pattern pattern); // "zero", "ones", "offsets", "random"
std::optional<Pattern> pattern_by_name(std::string_view name);

// The byte at `offset` of a region that was filled with this pattern and key.
std::byte pattern_byte(Pattern pattern, std::uint64_t offset, std::uint64_t key);

// Fills `bytes`, the first of which stands at `offset` of its region.
void write_pattern(wire::MutableBytes bytes, Pattern pattern, std::uint64_t offset,
                   std::uint64_t key);

// The index in `bytes` of the first byte that is not the pattern's; nothing if all are.
std::optional<std::size_t> pattern_mismatch(wire::Bytes bytes, Pattern pattern,
                                            std::uint64_t offset, std::uint64_t key);

} // namespace veriroce::dut
