// The content of a filled region, as a pure function of the byte's offset in the region and a key:
// the device fills with it and the tester compares with it, for any part of the region.
//
//   zero     every byte 00
//   ones     every byte FF
//   offsets  the 8-byte word at offset 8k holds 8k + key, most significant byte first. (A byte
//            counter would repeat at every path MTU and hide misplaced packets.)
//   random   the 8-byte word at offset 8k holds mix(k + key * 2^32), most significant byte first;
//            mix is the output of splitmix64 for that state, all sums modulo 2^64
//
// Source: conformance/agent/README.md, "Patterns".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/verbs.hpp"

namespace veriroce::dut {

using Pattern = wire::FillPattern;

// The byte at `offset` of a region filled with this pattern and key.
std::byte pattern_byte(Pattern pattern, std::uint64_t offset, std::uint64_t key);

// Fills `bytes`, whose first byte is at `offset` of the region.
void write_pattern(wire::MutableBytes bytes, Pattern pattern, std::uint64_t offset,
                   std::uint64_t key);

// The index in `bytes` of the first byte that differs from the pattern; nothing if none does.
std::optional<std::size_t> pattern_mismatch(wire::Bytes bytes, Pattern pattern,
                                            std::uint64_t offset, std::uint64_t key);

} // namespace veriroce::dut
