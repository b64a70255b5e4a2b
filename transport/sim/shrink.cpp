#include "transport/sim/shrink.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "transport/fault/delta_debugging.hpp"

namespace veriroce::sim {

namespace {

// A work request of a scenario.
struct WorkAt {
    std::size_t direction = 0;
    std::uint32_t id = 0;

    friend auto operator<=>(const WorkAt&, const WorkAt&) = default;
};

std::vector<WorkAt> works_of(const Scenario& scenario) {
    std::vector<WorkAt> all;
    for (std::size_t i = 0; i < 2 * scenario.connections.size(); ++i) {
        for (const WorkPlan& work : scenario.connections[i / 2].directions[i % 2].works)
            all.push_back({.direction = i, .id = work.id});
    }
    return all;
}

Scenario with_works(Scenario scenario, const std::vector<WorkAt>& kept) {
    const std::set<WorkAt> wanted(kept.begin(), kept.end());
    for (std::size_t i = 0; i < 2 * scenario.connections.size(); ++i) {
        std::erase_if(scenario.connections[i / 2].directions[i % 2].works,
                      [&](const WorkPlan& work) { return !wanted.contains({i, work.id}); });
    }
    return scenario;
}

class Shrinker {
  public:
    Shrinker(const Scenario& scenario, const Outcome& outcome, const Defect& defect,
             std::uint32_t most_runs)
        : defect_(defect), most_runs_(most_runs), best_{.scenario = scenario,
                                                        .faults = outcome.injected,
                                                        .failure = outcome.failure.value()} {}

    Shrunk run() {
        bool smaller = true;
        while (smaller && best_.runs < most_runs_) {
            const std::size_t size = best_.faults.size() + best_.scenario.works();
            reduce(best_.faults, [this](const std::vector<Injected>& faults) {
                return fails(best_.scenario, faults);
            });
            reduce(works_of(best_.scenario), [this](const std::vector<WorkAt>& works) {
                return fails(with_works(best_.scenario, works), best_.faults);
            });
            smaller = best_.faults.size() + best_.scenario.works() < size;
        }
        plainer();
        return std::move(best_);
    }

  private:
    // Whether this variant still fails in the same way. If so, it becomes the best so far.
    bool fails(const Scenario& scenario, const std::vector<Injected>& faults) {
        if (best_.runs == most_runs_) return false;
        ++best_.runs;
        Outcome outcome = play(scenario, defect_, faults);
        if (!outcome.failure || outcome.failure->wrong != best_.failure.wrong) return false;
        best_.scenario = Scenario(scenario);
        best_.faults = std::move(outcome.injected); // without faults that hit no packet
        best_.failure = *outcome.failure;
        return true;
    }

    // Often nothing of a list is needed, so try that first.
    template <typename T, typename StillFails>
    void reduce(std::vector<T> items, StillFails still_fails) {
        if (!still_fails({})) fault::reduce_to_failure(std::move(items), still_fails);
    }

    void attempt(const Scenario& scenario) { fails(scenario, best_.faults); }

    // Replaces random choices by defaults.
    void plainer() {
        for (std::size_t i = 0; i < best_.scenario.endpoints.size(); ++i) {
            Scenario plain = best_.scenario;
            plain.endpoints[i] = {};
            attempt(plain);
        }
        Scenario plain = best_.scenario;
        plain.poll_every = 1;
        plain.own_queues = false;
        attempt(plain);
        for (const WorkAt& at : works_of(best_.scenario)) {
            plain = best_.scenario;
            auto& works = plain.connections[at.direction / 2].directions[at.direction % 2].works;
            const auto work = std::ranges::find(works, at.id, &WorkPlan::id);
            work->flags = {};
            work->chained = false;
            work->pieces = 1;
            attempt(plain);
        }
    }

    const Defect& defect_;
    std::uint32_t most_runs_;
    Shrunk best_;
};

std::string text_of(const WorkPlan& work, std::size_t direction) {
    std::string text = fmt::format("q{} from {}: request {}, {} of {} bytes", direction / 2,
                                   direction % 2 == 0 ? 'a' : 'b', work.id,
                                   engine::name_of(work.opcode), work.length);
    if (!takes_receive(work.opcode) || work.opcode == engine::WrOpcode::RdmaWriteWithImm) {
        text += work.shared ? " at the shared counter" : fmt::format(" at {}", work.target);
    }
    if (work.pieces != 1) text += fmt::format(" in {} pieces", work.pieces);
    if (work.flags.inline_data) text += ", inline";
    if (work.flags.fence) text += ", fenced";
    if (!work.flags.signaled) text += ", unsignaled";
    if (work.chained) text += ", chained";
    return text;
}

} // namespace

Shrunk shrink(const Scenario& scenario, const Outcome& outcome, const Defect& defect,
              std::uint32_t most_runs) {
    return Shrinker(scenario, outcome, defect, most_runs).run();
}

std::string text_of(const Shrunk& shrunk) {
    std::string text;
    for (std::size_t i = 0; i < shrunk.scenario.connections.size(); ++i) {
        const ConnectionPlan& connection = shrunk.scenario.connections[i];
        if (connection.directions[0].works.empty() && connection.directions[1].works.empty()) {
            continue;
        }
        text += fmt::format("q{}: endpoints {} (a) and {} (b), MTU {}, {}\n", i,
                            connection.endpoints[0], connection.endpoints[1],
                            wire::bytes_of(connection.mtu), connection.ipv6 ? "IPv6" : "IPv4");
        for (std::size_t side = 0; side < 2; ++side) {
            for (const WorkPlan& work : connection.directions[side].works)
                text += "  " + text_of(work, 2 * i + side) + "\n";
        }
    }
    for (const Injected& fault : shrunk.faults)
        text += "  fault " + text_of(fault) + "\n";
    if (shrunk.faults.empty()) text += "  no fault is needed\n";
    return text;
}

} // namespace veriroce::sim
