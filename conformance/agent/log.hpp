// The agent's log: lines on stderr. A line is written at once or not at all: an agent must
// not stop because its stderr is a pipe without a reader.
//
// Source: pipe(7): a pipe that poll() calls writable takes PIPE_BUF bytes without blocking.
#pragma once

#include <cstdint>
#include <string_view>

namespace veriroce::agent {

class Log {
  public:
    // The caller owns the descriptor, and ignores SIGPIPE.
    explicit Log(int descriptor) : descriptor_(descriptor) {}

    // One line, with the program's name; cut at 4000 bytes. While the descriptor does not take
    // lines they are lost, and the next line that it takes says how many.
    void say(std::string_view text);

  private:
    bool write_line(std::string_view text) const;

    int descriptor_;
    std::uint64_t lost_ = 0;
};

} // namespace veriroce::agent
