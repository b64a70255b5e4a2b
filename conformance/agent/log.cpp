#include "conformance/agent/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <climits>
#include <string>

namespace veriroce::agent {

namespace {

constexpr std::size_t kMostText = 4000;
constexpr std::string_view kName = "veriroce-agent: ";
static_assert(kName.size() + kMostText + 1 <= PIPE_BUF);

} // namespace

bool Log::write_line(std::string_view text) const {
    pollfd waiting{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, 0) != 1 || (waiting.revents & POLLOUT) == 0) return false;
    const std::string line = std::string(kName) + std::string(text.substr(0, kMostText)) + '\n';
    // What fails here has no better place to be told.
    static_cast<void>(!::write(descriptor_, line.data(), line.size()));
    return true;
}

void Log::say(std::string_view text) {
    if (lost_ > 0 && write_line(std::to_string(lost_) + " lines were lost: stderr was not read")) {
        lost_ = 0;
    }
    if (lost_ > 0 || !write_line(text)) ++lost_;
}

} // namespace veriroce::agent
