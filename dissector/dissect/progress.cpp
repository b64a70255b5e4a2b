#include "dissector/dissect/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace veriroce::dissect {
namespace {

// A memory stream has no descriptor and is therefore not a terminal.
bool terminal(std::FILE* file) {
    return ::isatty(::fileno(file)) == 1;
}

} // namespace

Progress::Progress(std::FILE* err, std::FILE* out, std::chrono::milliseconds between)
    : err_(err), between_(between), shown_(terminal(err) && !terminal(out)) {}

void Progress::show(std::uint64_t packets, std::optional<double> part) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < between_) return;
    last_ = now;
    written_ = true;
    const std::string done = part ? fmt::format(" ({:.0f}%)", *part * 100) : "";
    fmt::print(err_, "\r{} packets{} ", packets, done);
    std::fflush(err_);
}

void Progress::clear() {
    if (!written_) return;
    written_ = false;
    fmt::print(err_, "\r{:40}\r", "");
    std::fflush(err_);
}

} // namespace veriroce::dissect
