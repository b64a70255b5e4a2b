#include "conformance/commands/test_console.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "reports/console.hpp"

namespace veriroce::commands {
namespace {

// 0, or why it could not be written.
int put(std::FILE* file, std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return written && std::fflush(file) == 0 ? 0 : errno;
}

} // namespace

void Console::say(std::string_view text) {
    take_progress_away();
    const int error = put(out_, text);
    if (error_ == 0 && error != EPIPE) error_ = error;
}

void Console::complain(std::string_view text) {
    take_progress_away();
    put(err_, fmt::format("veriroce: {}\n", text));
}

bool Console::wants_progress() const {
    return shows_progress_ && Clock::now() >= next_;
}

void Console::show_progress(std::string_view line) {
    next_ = Clock::now() + std::chrono::milliseconds(100);
    put(err_, line);
    shown_ = true;
}

void Console::take_progress_away() {
    if (!shown_) return;
    shown_ = false;
    put(err_, reports::kConsoleNoProgress);
}

} // namespace veriroce::commands
