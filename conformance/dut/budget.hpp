// The limits shared by all connections of a device, and how much of them is used.
#pragma once

#include <cstdint>

#include "conformance/dut/contract.hpp"
#include "conformance/dut/executor.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::dut {

class Budget {
  public:
    explicit Budget(const AgentLimits& limits) : limits_(limits) {}

    // `bytes` is what the system gives for a region (RegionMemory::footprint). False, without any
    // effect, if that would exceed the limit.
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

    // PDs, CQs, SRQs and memory windows.
    [[nodiscard]] bool take_object() {
        if (objects_ >= limits_.objects.value_or(0)) return false;
        ++objects_;
        return true;
    }
    void give_objects(std::uint64_t count) { objects_ -= count; }

    // Whether this user may change congestion management, which all share: no other one has.
    [[nodiscard]] bool take_congestion(const Executor& user) {
        if (congestion_user_ != nullptr && congestion_user_ != &user) return false;
        congestion_user_ = &user;
        return true;
    }
    void give_congestion(const Executor& user) {
        if (congestion_user_ == &user) congestion_user_ = nullptr;
    }

    [[nodiscard]] const AgentLimits& limits() const { return limits_; }
    // Whether all that was taken was given back.
    [[nodiscard]] bool unused() const {
        return registered_bytes_ == 0 && qps_ == 0 && objects_ == 0 && congestion_user_ == nullptr;
    }

  private:
    AgentLimits limits_;
    std::uint64_t registered_bytes_ = 0;
    std::uint32_t qps_ = 0;
    std::uint64_t objects_ = 0;
    const Executor* congestion_user_ = nullptr;
};

// What `congestion_set` asks for and no device does; nothing if it may be tried.
inline std::optional<Failure> refused_congestion(Budget& budget, const CongestionSet& request,
                                                 const Executor& user) {
    if (request.settings.cnp_dscp.value_or(0) > wire::kMaxDscp)
        return refused(CongestionSet::method, "EINVAL", "a DSCP has 6 bits");
    if (request.settings == CongestionSettings{}) return std::nullopt;
    if (budget.take_congestion(user)) return std::nullopt;
    return refused(CongestionSet::method, "EBUSY", "another connection has changed it");
}

// Executes the request, and counts the object that it creates or destroys. Where the limit leaves
// no room for another one it is not executed: ENOMEM.
template <typename Execute>
Answer count_object(Budget& budget, const Request& request, Execute execute) {
    const bool creates =
        std::holds_alternative<PdCreate>(request) || std::holds_alternative<CqCreate>(request) ||
        std::holds_alternative<SrqCreate>(request) || std::holds_alternative<MwAlloc>(request);
    const bool destroys =
        std::holds_alternative<PdDestroy>(request) || std::holds_alternative<CqDestroy>(request) ||
        std::holds_alternative<SrqDestroy>(request) || std::holds_alternative<MwDealloc>(request);
    if (creates && !budget.take_object()) {
        return std::unexpected(refused(method_of(request), "ENOMEM",
                                       "more objects than this agent allows its callers"));
    }
    Answer answer = execute();
    if (answer ? destroys : creates) budget.give_objects(1);
    return answer;
}

} // namespace veriroce::dut
