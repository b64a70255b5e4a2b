// How far a long file was read: one line on a terminal that is overwritten. Internal to this room.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace veriroce::dissect {

class Progress {
  public:
    // Silent unless `err` is a terminal and `out`, where packets go, is none. The line is written
    // anew no sooner than after `between`.
    Progress(std::FILE* err, std::FILE* out,
             std::chrono::milliseconds between = std::chrono::milliseconds(500));

    // To be called after each packet; looks at the clock now and then.
    template <typename Packets>
    void step(std::uint64_t packets, const Packets& from) {
        if (shown_ && packets % kEvery == 0) show(packets, from.part_done());
    }
    // Takes the line away.
    void clear();

  private:
    static constexpr std::uint64_t kEvery = 4096;
    void show(std::uint64_t packets, std::optional<double> part);

    std::FILE* err_;
    std::chrono::milliseconds between_;
    bool shown_;
    bool written_ = false;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

} // namespace veriroce::dissect
