// Keeps violations, within bounds. Internal to this room.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "conformance/judge/judge.hpp"

namespace veriroce::judge {

class ViolationLog {
  public:
    explicit ViolationLog(const Limits& limits) : limits_(limits) {}
    // Found when packet `number` was judged, or where at_end() says.
    void add(Violation violation, std::uint64_t number);
    // Found at the end, in this round over all connections; `number`: the last packet of the one at
    // hand.
    void at_end(std::uint8_t round, std::uint64_t number) { end_ = FoundAt{round, number}; }
    [[nodiscard]] std::span<const Violation> violations() const { return violations_; }
    [[nodiscard]] std::span<const FoundAt> found_at() const { return found_at_; }
    void count_into(Summary& summary) const;

  private:
    [[nodiscard]] bool keeps_one_more(const Violation& violation);

    Limits limits_;
    std::vector<Violation> violations_;
    std::vector<FoundAt> found_at_; // each of these
    std::optional<FoundAt> end_;
    struct Seen {
        std::string_view rule;
        std::uint64_t connection = 0;
        Certainty certainty = Certainty::Certain;
        std::size_t count = 0;
    };
    std::vector<Seen> seen_;
    std::array<std::uint64_t, 3> counts_{};
};

} // namespace veriroce::judge
