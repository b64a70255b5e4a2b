// Internal: splits a byte stream into lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace veriroce::net {

// Splits a byte stream into lines of bounded length.
class LineSplitter {
  public:
    void append(std::string_view bytes) { buffer_ += bytes; }
    // The next complete line without its '\n', if there is one.
    std::optional<std::string> take();
    [[nodiscard]] bool has_line() const { return line_end() != std::string::npos; }
    [[nodiscard]] bool empty() const { return buffer_.empty(); }
    // Whether the first line, complete or not, is longer than `limit`.
    [[nodiscard]] bool longer_than(std::size_t limit) const;

  private:
    [[nodiscard]] std::size_t line_end() const { return buffer_.find('\n', searched_); }

    std::string buffer_;
    std::size_t searched_ = 0; // bytes known to contain no '\n'
};

} // namespace veriroce::net
