#include "dissector/dissect/interrupt.hpp"

namespace veriroce::dissect {
namespace {

// Global, because a signal handler has no other access.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int /*number*/) {
    interrupted = true;
}

} // namespace

Interrupt::Interrupt() {
    interrupted = false;
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
}

Interrupt::~Interrupt() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
}

const std::atomic<bool>& Interrupt::flag() const {
    return interrupted;
}

} // namespace veriroce::dissect
