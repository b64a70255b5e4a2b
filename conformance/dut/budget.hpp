// The limits shared by all connections of a device, and how much of them is used.
#pragma once

#include <cstdint>

#include "conformance/dut/contract.hpp"

namespace veriroce::dut {

class Budget {
  public:
    explicit Budget(const AgentLimits& limits) : limits_(limits) {}

    // False, without any effect, if that would exceed the limit.
    [[nodiscard]] bool take_memory(std::uint64_t bytes) {
        if (bytes > limits_.registered_bytes - registered_bytes_) return false;
        registered_bytes_ += bytes;
        return true;
    }
    void give_memory(std::uint64_t bytes) { registered_bytes_ -= bytes; }

    [[nodiscard]] bool take_qp() {
        if (qps_ == limits_.qps) return false;
        ++qps_;
        return true;
    }
    void give_qp() { --qps_; }

    [[nodiscard]] const AgentLimits& limits() const { return limits_; }

  private:
    AgentLimits limits_;
    std::uint64_t registered_bytes_ = 0;
    std::uint32_t qps_ = 0;
};

} // namespace veriroce::dut
