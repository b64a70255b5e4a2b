// Turns Ctrl-C and SIGTERM into a flag while the object exists. Internal to this room.
#pragma once

#include <atomic>
#include <csignal>

namespace veriroce::dissect {

// At most one object may exist at a time.
class Interrupt {
  public:
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    [[nodiscard]] const std::atomic<bool>& flag() const;

  private:
    struct sigaction interrupt_before_{};
    struct sigaction terminate_before_{};
};

} // namespace veriroce::dissect
