// The calls of the DUT contract that a case makes, with their answers, for the story of the case.
#pragma once

#include <cstddef>
#include <vector>

#include "conformance/model/story.hpp"

namespace veriroce::interpreter {

// Every call of the contract, with the place of the packet that was the next one then.
class CallLog {
  public:
    // Returns the call's place in the log.
    std::size_t asked(dut::Request request, wire::Instant at, std::size_t next_packet);
    void answered(std::size_t call, const dut::Answer& answer, wire::Instant at,
                  std::size_t next_packet);

    struct Logged {
        model::Call call;
        std::size_t next_when_asked = 0;
        std::size_t next_when_answered = 0;
    };
    [[nodiscard]] std::vector<Logged>& calls() { return calls_; }
    [[nodiscard]] const std::vector<Logged>& calls() const { return calls_; }

  private:
    std::vector<Logged> calls_;
};

} // namespace veriroce::interpreter
