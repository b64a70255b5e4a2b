// Shows the progress of reading a long file: one line on a terminal, overwritten. Internal to this
// room.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace veriroce::dissect {

class Progress {
  public:
    // Shows nothing unless `err` is a terminal and `out`, where packets go, is not. Updates the
    // line at most once per `between`.
    Progress(std::FILE* err, std::FILE* out,
             std::chrono::milliseconds between = std::chrono::milliseconds(500));

    // Call after each packet; checks the clock only occasionally.
    template <typename Packets>
    void step(std::uint64_t packets, const Packets& from) {
        if (shown_ && packets % kEvery == 0) show(packets, from.part_done());
    }
    // Erases the line.
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
