// A regular expression of `matches`: PCRE2's, letters of either case alike as in Wireshark, over
// bytes. Internal to this room.
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
    // The error is PCRE2's sentence.
    static std::expected<Pattern, std::string> compile(std::string_view expression);

    // Bounded in time and memory: an expression that backtracks too long is held not to match, and
    // counted.
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
    // PCRE2's types stand in its header, which has no place in one of ours.
    std::unique_ptr<void, Delete> code_;
    std::unique_ptr<void, DeleteRoom> room_;
    std::unique_ptr<void, DeleteLimits> limits_;
    mutable std::uint64_t given_up_ = 0;
};

} // namespace veriroce::filter
