// Keeps violations, within bounds. Internal to this room.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "conformance/judge/judge.hpp"

namespace veriroce::judge {

class ViolationLog {
  public:
    explicit ViolationLog(const Limits& limits) : limits_(limits) {}
    void add(Violation violation);
    [[nodiscard]] std::span<const Violation> violations() const { return violations_; }
    void count_into(Summary& summary) const;

  private:
    [[nodiscard]] bool keeps_one_more(const Violation& violation);

    Limits limits_;
    std::vector<Violation> violations_;
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
