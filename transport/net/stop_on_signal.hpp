// While it exists, SIGINT and SIGTERM do not end the process: they are remembered, so that a loop
// can stop in order and undo its changes. At most one object may exist at a time.
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
