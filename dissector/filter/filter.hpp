// Wireshark's display filters over a dissected frame: "infiniband.aeth and ip.src == 10.0.0.0/8".
//
//   auto filter = Filter::compile(expression);
//   if (!filter) return say(text_of(filter.error(), expression));
//   if (filter->matches(dissection)) ...
//
// The language is Wireshark 4.0's, with the names and formats of decode's field table (and our own
// names, which begin with `roce.`). README.md describes it and lists what is missing. An expression
// is compiled once; matches() does not allocate.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "dissector/decode/dissection.hpp"

namespace veriroce::filter {

// An error in an expression and its position in bytes.
struct Error {
    std::size_t at = 0;
    std::size_t length = 0; // 0: at the end of the expression
    std::string message;
};

// Three lines without a final newline: "column 1: ...", the expression, a marker under the word.
std::string text_of(const Error& error, std::string_view expression);

class Program;

class Filter {
  public:
    // An empty expression matches everything.
    static std::expected<Filter, Error> compile(std::string_view expression);

    Filter(Filter&&) noexcept;
    Filter& operator=(Filter&&) noexcept;
    ~Filter();

    [[nodiscard]] bool matches(const decode::Dissection& dissection) const;
    // Whether the result depends on the ICRC being verified.
    [[nodiscard]] bool needs_icrc() const;
    // Whether the result depends on connections being followed.
    [[nodiscard]] bool needs_flow() const;
    // Whether the expression uses the field of this name.
    [[nodiscard]] bool names(std::string_view field) const;
    // How often a regular expression exceeded its limits and was treated as no match.
    [[nodiscard]] std::uint64_t patterns_given_up() const;

  private:
    explicit Filter(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

} // namespace veriroce::filter
