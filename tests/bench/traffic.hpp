// One-way traffic between two threads, each on a core of its own: as many datagrams as go. What is
// counted is what was received.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace veriroce::bench_test {

// What a side has done so far; written by its thread, read by the one that measures.
struct Progress {
    std::atomic<std::uint64_t> datagrams{0};
    std::atomic<std::uint64_t> calls{0}; // that moved some
    std::atomic<std::uint64_t> wrong{0}; // received, but not as it was sent

    void add(std::uint64_t moved, std::uint64_t were_wrong = 0) {
        datagrams.fetch_add(moved, std::memory_order_relaxed);
        calls.fetch_add(1, std::memory_order_relaxed);
        wrong.fetch_add(were_wrong, std::memory_order_relaxed);
    }
};

// How traffic is made. Each function moves some datagrams and says so; it is called until the time
// is over. The receiving one returns within a tenth of a second when nothing comes.
struct Traffic {
    std::function<void(Progress&)> send_some;
    std::function<void(Progress&)> receive_some;
};

struct Cores {
    int sender = 0;
    int receiver = std::thread::hardware_concurrency() > 1 ? 1 : 0;
};

// The calling thread, from now on. Throws Failure.
void stay_on(int core);

struct Rates {
    double received = 0; // datagrams a second
    double sent = 0;
    double per_call = 0; // datagrams of one receiving system call
    std::uint64_t wrong = 0;

    [[nodiscard]] double loss() const { return sent > received ? 1 - received / sent : 0; }
};

// Plays it for a tenth of `time` and then measures for `time`. Throws what a thread threw.
Rates measure(const Traffic& traffic, Cores cores, std::chrono::duration<double> time);

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// Throws "WHAT: " and the kernel's words if `result` is negative.
int needed(int result, const std::string& what);

} // namespace veriroce::bench_test
