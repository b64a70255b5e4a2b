// CRC-32 of Ethernet and the ICRC, and CRC-32C, by ISA-L; and a copy that takes the CRC on its way,
// which ISA-L does not have.
//
// Source: IEEE 802.3; V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel 2009.
#pragma once

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

// The CRC of bytes that follow those whose CRC is `seed`; of the first ones, 0.
std::uint32_t crc32(std::uint32_t seed, Bytes bytes);

// The same, while the bytes are copied to `to`, which has room for them and does not overlap them.
// Each byte is read once: the copy has this CRC even if somebody writes to the bytes meanwhile.
std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to);

// The same without the instructions that not every processor has.
std::uint32_t copy_crc32_portably(std::uint32_t seed, Bytes bytes, MutableBytes to);

// CRC-32C, which iWARP puts behind its framed PDUs. Source: RFC 5044 section 4.4.
std::uint32_t crc32c(Bytes bytes);

} // namespace veriroce::wire
