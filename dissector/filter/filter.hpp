// Wireshark's display filters over a dissected frame: "infiniband.aeth and ip.src == 10.0.0.0/8".
//
//   auto filter = Filter::compile(expression);
//   if (!filter) return say(text_of(filter.error(), expression));
//   if (filter->matches(dissection)) ...
//
// The language is that of Wireshark 4.0, with the names and formats of decode's field table (and so
// with ours under `roce.`): README.md has the list, and what is not there. An expression is
// compiled once; matches() allocates nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "dissector/decode/dissection.hpp"

namespace veriroce::filter {

// What is wrong with an expression, and with which of its bytes.
struct Error {
    std::size_t at = 0;
    std::size_t length = 0; // 0: the end of the expression
    std::string message;
};

// Three lines, without a newline behind the last: "column 1: ...", the expression, the marked word.
std::string text_of(const Error& error, std::string_view expression);

class Program;

class Filter {
  public:
    // An expression of nothing matches everything.
    static std::expected<Filter, Error> compile(std::string_view expression);

    Filter(Filter&&) noexcept;
    Filter& operator=(Filter&&) noexcept;
    ~Filter();

    [[nodiscard]] bool matches(const decode::Dissection& dissection) const;
    // Whether its answer depends on the ICRC being verified.
    [[nodiscard]] bool needs_icrc() const;
    // Whether it asks for the field of this name.
    [[nodiscard]] bool names(std::string_view field) const;
    // How often a regular expression took too long and was held not to match.
    [[nodiscard]] std::uint64_t patterns_given_up() const;

  private:
    explicit Filter(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

} // namespace veriroce::filter
