// A regular expression for `matches`: PCRE2, case-insensitive as in Wireshark, applied to bytes.
// Internal to this room.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "dissector/wire/bytes.hpp"

namespace veriroce::filter {

class Pattern {
  public:
    // The error is PCRE2's message.
    static std::expected<Pattern, std::string> compile(std::string_view expression);

    // Bounded in time and memory: an expression that exceeds the limits counts as no match, and
    // patterns_given_up() counts it.
    [[nodiscard]] bool matches(wire::Bytes bytes) const;
    [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

  private:
    Pattern() = default;
    struct Delete {
        void operator()(void* code) const;
    };
    struct DeleteRoom {
        void operator()(void* room) const;
    };
    struct DeleteLimits {
        void operator()(void* limits) const;
    };
    // A pcre2_code. It is a void* so that PCRE2's header stays out of ours.
    std::unique_ptr<void, Delete> code_;
    std::unique_ptr<void, DeleteRoom> room_;
    std::unique_ptr<void, DeleteLimits> limits_;
    mutable std::uint64_t given_up_ = 0;
};

} // namespace veriroce::filter
