#include "conformance/judge/phrase.hpp"

#include "dissector/wire/duration_text.hpp"

namespace veriroce::judge {

Part::Part(wire::Psn psn) : text_("PSN " + std::to_string(psn.value())) {}

Part::Part(wire::Duration time) : text_(wire::short_time(time)) {}

Part::Part(Hex number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::uint64_t rest = number.value;
    do {
        text_.insert(text_.begin(), kDigits[rest & 0xF]);
        rest >>= 4;
    } while (rest != 0);
    text_.insert(0, "0x");
}

std::string phrase(std::initializer_list<Part> parts) {
    std::string text;
    for (const Part& part : parts)
        text += part.text();
    return text;
}

} // namespace veriroce::judge
