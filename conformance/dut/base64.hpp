// Base64 of RFC 4648 section 4: padded, without line ends; nothing else is accepted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/wire/bytes.hpp"

namespace veriroce::dut {

std::string to_base64(wire::Bytes bytes);
// Nothing if the text is not base64: a foreign character, wrong padding, unused bits that are set.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

} // namespace veriroce::dut
