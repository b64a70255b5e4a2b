// Inside this room: how a stream of bytes becomes lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace veriroce::net {

// Cuts a stream of bytes into lines of bounded length.
class LineCutter {
  public:
    void append(std::string_view bytes) { buffer_ += bytes; }
    // The next whole line without its '\n'; nothing if none is whole.
    std::optional<std::string> take();
    [[nodiscard]] bool has_line() const { return line_end() != std::string::npos; }
    [[nodiscard]] bool empty() const { return buffer_.empty(); }
    // The line that is being received, or has been, is longer than `limit`.
    [[nodiscard]] bool longer_than(std::size_t limit) const;

  private:
    [[nodiscard]] std::size_t line_end() const { return buffer_.find('\n', searched_); }

    std::string buffer_;
    std::size_t searched_ = 0; // bytes that are known to hold no '\n'
};

} // namespace veriroce::net
