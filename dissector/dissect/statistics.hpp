// The counters of `--stats` and their summary on one screen. Internal to this room.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dissector/decode/dissection.hpp"
#include "dissector/dissect/flow_counts.hpp"
#include "dissector/dissect/not_followed.hpp"

namespace veriroce::dissect {

class Statistics {
  public:
    void add(const decode::Dissection& dissection);
    void append(std::string& out);

  private:
    void add_answer(const decode::Dissection& dissection);
    void append_answers(std::string& out) const;
    void append_findings(std::string& out) const;
    void append_carriers(std::string& out) const;
    void append_opcodes(std::string& out) const;
    void append_flows(std::string& out);

    std::uint64_t frames_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t roce_ = 0;  // RoCEv2
    std::uint64_t other_ = 0; // RoCE v1 and InfiniBand
    std::uint64_t payload_ = 0;
    std::uint64_t cut_ = 0;
    std::uint64_t malformed_ = 0;
    std::uint64_t with_findings_ = 0;
    std::array<std::uint64_t, 3> icrc_{}; // by IcrcStatus
    std::array<std::uint64_t, 256> opcodes_{};
    std::array<std::uint64_t, 4> answers_{}; // acknowledgements without data, by AckKind
    std::array<std::uint64_t, decode::kFindingKinds> findings_{};
    std::uint64_t fragments_ = 0; // IP fragments
    std::uint64_t pauses_ = 0;    // PAUSE frames
    std::uint64_t priority_pauses_ = 0;
    FlowCounts flows_;
    NotFollowedCounts not_followed_;
    std::optional<std::int64_t> first_ns_;
    std::optional<std::int64_t> last_ns_;
};

} // namespace veriroce::dissect
