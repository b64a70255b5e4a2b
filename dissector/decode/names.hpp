// Words for values that several readers print alike.
#pragma once

#include <cstdint>
#include <string_view>

namespace veriroce::decode {

// What a NAK code says, in Wireshark's words: "Remote Access Error"; "Reserved" for codes above 4.
constexpr std::string_view nak_text(std::uint64_t code) {
    switch (code) {
    case 0: return "PSN Sequence Error";
    case 1: return "Invalid Request";
    case 2: return "Remote Access Error";
    case 3: return "Remote Operational Error";
    case 4: return "Invalid RD Request";
    default: return "Reserved";
    }
}

} // namespace veriroce::decode
