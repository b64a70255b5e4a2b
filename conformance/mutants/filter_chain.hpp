// A filter made of several. Inside the room, and for tests that combine devices.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

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
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        std::vector<engine::Completion> shown{one};
        for (const auto& filter : filters_ | std::views::reverse) {
            std::vector<engine::Completion> next;
            for (const engine::Completion& each : shown)
                filter->completions(each, next);
            shown = std::move(next);
        }
        std::ranges::move(shown, std::back_inserter(seen));
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        std::optional<engine::Event> seen = event;
        for (const auto& filter : filters_ | std::views::reverse) {
            if (seen) seen = filter->event(*seen);
        }
        return seen;
    }
    void queried(engine::QpReport& report) override {
        for (const auto& filter : filters_ | std::views::reverse)
            filter->queried(report);
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

// For Mutant::make_filter.
template <typename... Filters>
std::unique_ptr<engine::SurfaceFilter> make_chain() {
    auto chain = std::make_unique<FilterChain>();
    (chain->add(std::make_unique<Filters>()), ...);
    return chain;
}

} // namespace veriroce::mutants
