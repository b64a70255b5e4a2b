// CRC-32C (Castagnoli, reflected, initial value and final XOR all ones), by which regions are
// compared without being sent. In software: the agent links nothing but libc and libibverbs.
//
// Source: RFC 3720, B.4 for the polynomial and the check values.
#pragma once

#include <cstdint>

#include "dissector/wire/bytes.hpp"

namespace veriroce::dut {

// `previous` continues the CRC of the bytes before.
std::uint32_t crc32c(wire::Bytes bytes, std::uint32_t previous = 0);

} // namespace veriroce::dut
