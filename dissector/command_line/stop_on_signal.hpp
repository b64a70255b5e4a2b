// How a signal ends a command in order: output complete, files under their final names, changes to
// the system undone.
#pragma once

#include <atomic>
#include <csignal>
#include <vector>

namespace veriroce::command_line {

// The signals that end a command: SIGINT, SIGTERM and SIGHUP. Without SIGHUP if the caller ignores
// it, as nohup does.
std::vector<int> ending_signals();

// While it exists, these signals do not end the process. They set a flag, so that a loop can stop
// in order. They interrupt poll(), but not a read() or write() under way. At most one object may
// exist at a time.
class StopOnSignal {
  public:
    StopOnSignal();
    ~StopOnSignal();
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    [[nodiscard]] static bool requested() { return flag().load(std::memory_order_relaxed); }
    // For rooms that know no signals: set once a signal came.
    [[nodiscard]] static const std::atomic<bool>& flag();

  private:
    std::vector<int> signals_;
    std::vector<struct sigaction> before_; // what each of them did
};

} // namespace veriroce::command_line
