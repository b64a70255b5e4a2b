// The UDP link over loopback beside a bare program that moves datagrams of the same size in the
// same batches, in turns; both without and with segmentation offload.
//
//   bench_udp_link [--runs N] [--seconds S] [--cores SENDER,RECEIVER] [--mtu MTU] [--spin 1]
//
// The receivers sleep until a datagram comes. With --spin 1 they ask again and again: then no
// wake-up counts, which the sender pays for where it is the slower side.
//
// Exit codes: 0; 1 a datagram came that was not as it was sent, or none came; 2 usage; 3 this
// machine cannot play it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"
#include "tests/bench/bare_udp.hpp"
#include "tests/bench/link_udp.hpp"
#include "tests/bench/traffic.hpp"
#include "transport/bench/measure.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::bench_test;

struct Options {
    int runs = 3;
    double seconds = 1;
    Cores cores;
    bool spin = false;
    std::size_t mtu = 0; // 0: both
};

// What one core can make or check at most: the ICRC and nothing else.
double icrcs_per_second(std::size_t payload) {
    const std::vector<std::byte> bytes(payload);
    std::array<std::byte, 20 + 8 + wire::Bth::kSize> headers{std::byte{0x45}};
    constexpr std::uint32_t rounds = 200'000;
    std::uint32_t sum = 0;
    const double time = bench::seconds_of([&] {
        for (std::uint32_t i = 0; i < rounds; ++i) {
            headers.back() = static_cast<std::byte>(i ^ sum); // each waits for the one before
            sum ^= wire::icrc(headers, bytes);
        }
    });
    return rounds / time;
}

// One way of moving datagrams, measured several times.
struct Way {
    const char* name;
    std::vector<Rates> runs;

    [[nodiscard]] bench::Spread of(double (*figure)(const Rates&)) const {
        std::vector<double> samples;
        for (const auto& run : runs)
            samples.push_back(figure(run));
        return bench::spread_of(std::move(samples));
    }
    [[nodiscard]] bool as_sent() const {
        return std::ranges::all_of(
            runs, [](const Rates& run) { return run.wrong == 0 && run.received > 0; });
    }
};

bench::Spread ratio(const Way& thing, const Way& limit) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < thing.runs.size(); ++i)
        samples.push_back(thing.runs[i].received / limit.runs[i].received);
    return bench::spread_of(std::move(samples));
}

void print_way(const Way& way, std::size_t payload) {
    const auto rate = way.of([](const Rates& run) { return run.received; });
    const auto loss = way.of([](const Rates& run) { return run.loss(); });
    const auto per_call = way.of([](const Rates& run) { return run.per_call; });
    fmt::print("  {:<18} {:>9.0f} ({:.0f}..{:.0f}) {:>7.3f} {:>6.1f}% {:>8.1f}\n", way.name,
               rate.median / 1e3, rate.least / 1e3, rate.most / 1e3,
               rate.median * static_cast<double>(payload) / 1e9, 100 * loss.median,
               per_call.median);
}

void print_ratio(const char* text, const bench::Spread& figure) {
    fmt::print("  {:<52} {:.2f} ({:.2f}..{:.2f})\n", text, figure.median, figure.least,
               figure.most);
}

// Whether all that came was as it was sent.
bool one_mtu(std::size_t mtu, const Options& options) {
    const std::size_t datagram = wire::Bth::kSize + mtu + wire::kIcrcBytes;
    const std::size_t joined = std::min<std::size_t>(64, 65'507 / datagram);
    const Batch plain{.datagram_bytes = datagram, .spin = options.spin};
    const Batch offload{.datagram_bytes = datagram,
                        .datagrams = joined,
                        .messages = 256 / joined,
                        .received_messages = 4,
                        .spin = options.spin};
    std::array<Way, 4> ways{Way{"bare", {}}, Way{"link", {}}, Way{"bare, offload", {}},
                            Way{"link, offload", {}}};
    const std::chrono::duration<double> time(options.seconds);
    for (int run = 0; run < options.runs; ++run) {
        ways[0].runs.push_back(measure(bare_udp(plain), options.cores, time));
        ways[1].runs.push_back(measure(link_udp(plain, false), options.cores, time));
        ways[2].runs.push_back(measure(bare_udp(offload), options.cores, time));
        ways[3].runs.push_back(measure(link_udp(offload, true), options.cores, time));
    }

    fmt::print("MTU {}: datagrams of {} bytes, {} of a system call; with offload {} times {}\n",
               mtu, datagram, plain.messages, offload.messages, offload.datagrams);
    fmt::print("  {:<18} {:>9} {:<12} {:>7} {:>7} {:>8}\n", "", "thousand/s", "(spread)", "GB/s",
               "lost", "per call");
    for (const auto& way : ways)
        print_way(way, mtu);
    print_ratio("link / bare", ratio(ways[1], ways[0]));
    print_ratio("link with offload / link", ratio(ways[3], ways[1]));
    print_ratio("link with offload / bare with offload", ratio(ways[3], ways[2]));
    print_ratio("bare with offload / link: what is there to be had", ratio(ways[2], ways[1]));
    // Each side is the bare one's and an ICRC more: what the link could reach at most.
    const double icrcs = icrcs_per_second(mtu);
    const double bare = ways[2].of([](const Rates& run) { return run.received; }).median;
    const double link = ways[3].of([](const Rates& run) { return run.received; }).median;
    const double limit = 1 / (1 / bare + 1 / icrcs);
    fmt::print(
        "  one core makes or checks {:.0f} thousand ICRCs a second: bare with offload and an "
        "ICRC\n  to each datagram would be {:.0f} thousand/s, of which the link reaches {:.2f}\n\n",
        icrcs / 1e3, limit / 1e3, link / limit);
    return ways[1].as_sent() && ways[3].as_sent();
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* const value = argv[i + 1];
        if (name == "--runs") {
            options.runs = std::atoi(value);
        } else if (name == "--seconds") {
            options.seconds = std::atof(value);
        } else if (name == "--mtu") {
            options.mtu = static_cast<std::size_t>(std::max(0, std::atoi(value)));
        } else if (name == "--spin") {
            options.spin = std::string_view(value) == "1";
        } else if (name == "--cores") {
            if (std::sscanf(value, "%d,%d", &options.cores.sender, &options.cores.receiver) != 2)
                return std::nullopt;
        } else {
            return std::nullopt;
        }
    }
    if (options.mtu > 9000 || argc % 2 == 0 || options.runs < 1 || !(options.seconds > 0))
        return std::nullopt;
    return options;
}

} // namespace

int main(int argc, char** argv) {
    const auto options = parse(argc, argv);
    if (!options) {
        fmt::print(
            stderr,
            "usage: bench_udp_link [--runs N] [--seconds S] [--cores A,B] [--mtu M] [--spin 1]\n");
        return 2;
    }
    try {
        double load = 0;
        static_cast<void>(::getloadavg(&load, 1));
        fmt::print("UDP over loopback, sender on core {}, receiver on core {}; {} paired runs of "
                   "{} s, receivers {}: medians of what was received (least..most); load {:.1f}\n",
                   options->cores.sender, options->cores.receiver, options->runs, options->seconds,
                   options->spin ? "spin" : "sleep", load);
        bool as_sent = true;
        std::vector<std::size_t> mtus{1024, 4096};
        if (options->mtu != 0) mtus = {options->mtu};
        for (const std::size_t mtu : mtus)
            as_sent = one_mtu(mtu, *options) && as_sent;
        fmt::print("{}\n", as_sent
                               ? "every ICRC that came was right"
                               : "NOT ALL CAME AS IT WAS SENT: these figures count for nothing");
        return as_sent ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_udp_link: {}\n", error.what());
        return 3;
    }
}
