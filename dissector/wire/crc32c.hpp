// CRC-32C (Castagnoli, reflected, initial value and final XOR all ones): of iWARP's framed PDUs,
// and of regions, to compare them without sending them. In software, without ISA-L, because the
// agent links only libc and libibverbs.
//
// Source: RFC 3720, B.4 for the polynomial and the check values; RFC 5044 section 4.4.
#pragma once

#include <cstdint>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

// `previous` is the CRC of the bytes before, to continue it.
std::uint32_t crc32c(Bytes bytes, std::uint32_t previous = 0);

} // namespace veriroce::wire
