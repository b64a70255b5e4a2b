// Base64 as RFC 4648 section 4 has it: padded, no line ends, nothing else accepted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/wire/bytes.hpp"

namespace veriroce::dut {

std::string to_base64(wire::Bytes bytes);
// Nothing if the text is not base64: a foreign character, wrong padding, bits set that no byte has.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

} // namespace veriroce::dut
