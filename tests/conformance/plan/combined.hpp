// One device with several lawful oddities at once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {

// Filters one after another; the last one is next to the engine.
class FilterChain final : public engine::SurfaceFilter {
  public:
    using Datagrams = std::vector<engine::OwnedDatagram>;

    void add(std::unique_ptr<engine::SurfaceFilter> filter) {
        filters_.push_back(std::move(filter));
    }
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant now) override {
        for (const auto& filter : filters_) {
            if (auto admitted = filter->admit(frame, now)) return admitted;
        }
        return std::nullopt;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant now, Datagrams& in,
                 Datagrams& answers) override {
        Datagrams passing;
        passing.push_back(std::move(datagram));
        for (const auto& filter : filters_) {
            Datagrams passed;
            for (engine::OwnedDatagram& one : passing)
                filter->inbound(std::move(one), now, passed, answers);
            passing = std::move(passed);
        }
        std::ranges::move(passing, std::back_inserter(in));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant now, Datagrams& out) override {
        Datagrams passing;
        passing.push_back(std::move(datagram));
        for (const auto& filter : filters_ | std::views::reverse) {
            Datagrams passed;
            for (engine::OwnedDatagram& one : passing)
                filter->outbound(std::move(one), now, passed);
            passing = std::move(passed);
        }
        std::ranges::move(passing, std::back_inserter(out));
    }
    void sealed(wire::MutableBytes frame) override {
        for (const auto& filter : filters_ | std::views::reverse)
            filter->sealed(frame);
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        std::optional<engine::Completion> seen = completion;
        for (const auto& filter : filters_ | std::views::reverse) {
            if (seen) seen = filter->completion(*seen);
        }
        return seen;
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        for (const auto& filter : filters_)
            filter->modifying(qpn, attributes);
    }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        for (const auto& filter : filters_)
            filter->posting_send(qpn, request);
    }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        for (const auto& filter : filters_)
            filter->posting_receive(qpn, request);
    }
    void region_registered(const engine::RegisteredRegion& region) override {
        for (const auto& filter : filters_)
            filter->region_registered(region);
    }
    void region_deregistered(engine::MrId mr) override {
        for (const auto& filter : filters_)
            filter->region_deregistered(mr);
    }
    wire::Duration completion_delay() const override {
        return most([](const auto& filter) { return filter.completion_delay(); });
    }
    wire::Duration memory_delay() const override {
        return most([](const auto& filter) { return filter.memory_delay(); });
    }
    wire::Duration event_delay() const override {
        return most([](const auto& filter) { return filter.event_delay(); });
    }
    bool refuses_posts_in_error() const override {
        return std::ranges::any_of(
            filters_, [](const auto& filter) { return filter->refuses_posts_in_error(); });
    }
    void qp_changed(const engine::QpReport& qp) override {
        for (const auto& filter : filters_)
            filter->qp_changed(qp);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        for (const auto& filter : filters_)
            filter->qp_destroyed(qpn);
    }

  private:
    template <typename Of>
    wire::Duration most(Of of) const {
        wire::Duration longest{0};
        for (const auto& filter : filters_)
            longest = std::max(longest, of(*filter));
        return longest;
    }

    std::vector<std::unique_ptr<engine::SurfaceFilter>> filters_;
};

// What both change of the standard value; nothing if both change the same member. `Word` is as wide
// as no member that they could change in part.
template <typename Word, typename Value>
std::optional<Value> merged(const Value& standard, const Value& one, const Value& other) {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(Word) == 0);
    using Words = std::array<Word, sizeof(Value) / sizeof(Word)>;
    const auto before = std::bit_cast<Words>(standard);
    const auto first = std::bit_cast<Words>(one);
    auto both = std::bit_cast<Words>(other);
    for (std::size_t i = 0; i < both.size(); ++i) {
        if (first[i] == before[i]) continue;
        if (both[i] != before[i]) return std::nullopt;
        both[i] = first[i];
    }
    return std::bit_cast<Value>(both);
}

// A device with all of these oddities; nothing if two of them make the same choice.
inline std::optional<VirtualTestbedOptions>
combination_of(const std::vector<mutants::Mutant>& oddities) {
    static constexpr mutants::Mutant right{};
    VirtualTestbedOptions device = engine_of(right);
    for (const mutants::Mutant& oddity : oddities) {
        const auto behaviour =
            merged<unsigned char>(right.behaviour, device.engine.behaviour, oddity.behaviour);
        const auto checks = merged<std::uintptr_t>(right.checks, device.checks, oddity.checks);
        if (!behaviour || !checks) return std::nullopt;
        device.engine.behaviour = *behaviour;
        device.checks = *checks;
        std::ranges::copy(mutants::traits_of(oddity), std::back_inserter(device.traits));
        device.ack_timer_floor = std::max(device.ack_timer_floor, oddity.ack_timer_floor);
        device.lacks.add(engine_of(oddity).lacks);
    }
    device.filter = [oddities]() -> std::unique_ptr<engine::SurfaceFilter> {
        auto chain = std::make_unique<FilterChain>();
        for (const mutants::Mutant& oddity : oddities) {
            if (oddity.make_filter != nullptr) chain->add(oddity.make_filter());
        }
        return chain;
    };
    return device;
}

} // namespace veriroce::test
