#include "tests/bench/traffic.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

namespace veriroce::bench_test {

namespace {

// A thread on one core that repeats `some` until it is told to stop, or fails.
class Side {
  public:
    Side(int core, const std::function<void(Progress&)>& some, std::atomic<bool>& stop)
        : thread_([this, core, &some, &stop] {
              try {
                  stay_on(core);
                  while (!stop.load(std::memory_order_relaxed))
                      some(progress);
              } catch (...) {
                  failed_ = std::current_exception();
              }
          }) {}

    void join() { thread_.join(); }
    void rethrow() const {
        if (failed_) std::rethrow_exception(failed_);
    }

    Progress progress;

  private:
    std::exception_ptr failed_;
    std::thread thread_;
};

struct Reading {
    std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now();
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t calls = 0;

    Reading(const Progress& sender, const Progress& receiver)
        : sent(sender.datagrams), received(receiver.datagrams), calls(receiver.calls) {}
};

} // namespace

void stay_on(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(static_cast<std::size_t>(core), &cores);
    needed(::sched_setaffinity(0, sizeof cores, &cores),
           "cannot run on core " + std::to_string(core));
}

int needed(int result, const std::string& what) {
    if (result < 0) throw Failure(what + ": " + ::strerrordesc_np(errno));
    return result;
}

Rates measure(const Traffic& traffic, Cores cores, std::chrono::duration<double> time) {
    std::atomic<bool> stop = false;
    Side receiver(cores.receiver, traffic.receive_some, stop);
    Side sender(cores.sender, traffic.send_some, stop);
    std::this_thread::sleep_for(time / 10);
    const Reading begin(sender.progress, receiver.progress);
    std::this_thread::sleep_for(time);
    const Reading end(sender.progress, receiver.progress);
    stop = true;
    sender.join();
    receiver.join();
    sender.rethrow();
    receiver.rethrow();

    const double seconds = std::chrono::duration<double>(end.when - begin.when).count();
    const auto received = static_cast<double>(end.received - begin.received);
    const auto calls = static_cast<double>(end.calls - begin.calls);
    return {.received = received / seconds,
            .sent = static_cast<double>(end.sent - begin.sent) / seconds,
            .per_call = calls > 0 ? received / calls : 0,
            .wrong = receiver.progress.wrong};
}

} // namespace veriroce::bench_test
