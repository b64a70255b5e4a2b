// Paired timing: the measured code and its limit run in turns, several times.
//
// Units: seconds of wall time. With short turns in one process, both see the same machine, whose
// speed may change by half from one moment to the next. The remaining variation shows as spread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::bench {

// Median, smallest and largest of a few samples.
struct Spread {
    double least = 0;
    double median = 0;
    double most = 0;
};

inline Spread spread_of(std::vector<double> samples) {
    std::ranges::sort(samples);
    return {samples.front(), samples[samples.size() / 2], samples.back()};
}

template <typename Work>
double seconds_of(Work&& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Results for the measured code and its limit. `ratio` is limit time / measured time: 1 means as
// fast as the limit.
struct Paired {
    Spread thing;
    Spread limit;
    Spread ratio;
};

// A run is this many turns of both, alternating. Both are run once before that, so that memory is
// mapped and caches are warm. Nothing if a signal came: a part of the runs is no figure.
template <typename Thing, typename Limit>
std::optional<Paired> paired(std::size_t runs, std::size_t turns, Thing&& thing, Limit&& limit) {
    thing();
    limit();
    std::vector<double> things;
    std::vector<double> limits;
    std::vector<double> ratios;
    for (std::size_t run = 0; run < runs; ++run) {
        double of_thing = 0;
        double of_limit = 0;
        for (std::size_t turn = 0; turn < turns; ++turn) {
            if (command_line::StopOnSignal::requested()) return std::nullopt;
            of_thing += seconds_of(thing);
            of_limit += seconds_of(limit);
        }
        things.push_back(of_thing);
        limits.push_back(of_limit);
        ratios.push_back(of_limit / of_thing);
    }
    return Paired{spread_of(std::move(things)), spread_of(std::move(limits)), spread_of(ratios)};
}

} // namespace veriroce::bench
