#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::command_line {
namespace {

// Global, because a signal handler has no other access.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void request_stop(int /*signal*/) {
    stop_requested.store(true, std::memory_order_relaxed);
}

} // namespace

std::vector<int> ending_signals() {
    std::vector<int> signals{SIGINT, SIGTERM};
    struct sigaction hangup{};
    ::sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) signals.push_back(SIGHUP);
    return signals;
}

StopOnSignal::StopOnSignal() : signals_(ending_signals()), before_(signals_.size()) {
    stop_requested = false;
    struct sigaction action{};
    action.sa_handler = request_stop;
    ::sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART; // or output that a pipe does not take at once would be lost
    for (std::size_t i = 0; i < signals_.size(); ++i)
        ::sigaction(signals_[i], &action, &before_[i]);
}

StopOnSignal::~StopOnSignal() {
    for (std::size_t i = 0; i < signals_.size(); ++i)
        ::sigaction(signals_[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopOnSignal::flag() {
    return stop_requested;
}

} // namespace veriroce::command_line
