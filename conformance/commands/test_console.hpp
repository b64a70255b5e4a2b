// What `veriroce test` says while it runs: lines on standard output, and on a terminal one line
// that tells which case is played.
//
// Nobody may be reading any more, or the disk may be full: what cannot be written is lost, and the
// run goes on to its report.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace veriroce::commands {

class Console {
  public:
    Console(std::FILE* out, std::FILE* err, bool shows_progress)
        : out_(out), err_(err), shows_progress_(shows_progress) {}

    // On standard output, at once.
    void say(std::string_view text);
    // On stderr, at once.
    void complain(std::string_view text);
    // On a terminal's stderr, at most every tenth of a second, so that short cases are not slowed
    // down; taken away again before anything else is said.
    [[nodiscard]] bool wants_progress() const;
    void show_progress(std::string_view line);

    // Why something could not be written; 0 if all was, or if only nobody reads it any more.
    [[nodiscard]] int error() const { return error_; }

  private:
    using Clock = std::chrono::steady_clock;
    void take_progress_away();

    std::FILE* out_;
    std::FILE* err_;
    bool shows_progress_;
    bool shown_ = false;
    Clock::time_point next_;
    int error_ = 0;
};

} // namespace veriroce::commands
