#include "transport/net/stop_on_signal.hpp"

namespace veriroce::net {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int /*signal*/) {
    stop_requested = 1;
}

} // namespace

StopOnSignal::StopOnSignal() {
    stop_requested = 0;
    struct sigaction action{};
    action.sa_handler = request_stop;
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
}

StopOnSignal::~StopOnSignal() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
}

bool StopOnSignal::requested() {
    return stop_requested != 0;
}

} // namespace veriroce::net
