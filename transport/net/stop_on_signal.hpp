// While it lives, SIGINT and SIGTERM end nothing at once: they are remembered, so that a loop can
// end in order and put back what it changed. One at a time.
#pragma once

#include <csignal>

namespace veriroce::net {

class StopOnSignal {
  public:
    StopOnSignal();
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    [[nodiscard]] static bool requested();

  private:
    struct sigaction before_int_{};
    struct sigaction before_term_{};
};

} // namespace veriroce::net
