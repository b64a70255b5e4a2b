// Makes the short phrases of a violation from values. Only a rule that is broken calls it: nothing
// here may run for a packet without a violation. Internal to this room.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::judge {

struct Hex {
    std::uint64_t value = 0;
};

// One part of a phrase: a word, a number, "PSN 4711", "1.5 ms", "0x1f".
class Part {
  public:
    Part(std::string_view text) : text_(text) {}
    Part(const char* text) : text_(text) {}
    Part(const std::string& text) : text_(text) {}
    Part(std::integral auto number) : text_(std::to_string(number)) {}
    Part(wire::Psn psn);
    Part(wire::Duration time);
    Part(Hex number);
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
};

// phrase({"the NAK expects ", psn})
std::string phrase(std::initializer_list<Part> parts);

} // namespace veriroce::judge
