// Tracking and judging with every ICRC checked, beside a bare loop over the same file by libpcap,
// in turns. The files are those of make_captures.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pcap/pcap.h>

#include "conformance/judge/judge.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "tests/bench/captures.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace veriroce;
using bench_test::CaptureOptions;

struct Options {
    int runs = 3;
    std::uint64_t packets = 0; // 0: as many as stand below
    std::string folder;        // where the files are made, and stay; empty: in one that goes away
};

struct Input {
    std::string name;
    CaptureOptions capture;
};

// Seconds of this process, user and system.
double used() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::uint64_t read_bare(const std::string& path) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    pcap_t* const file = pcap_open_offline_with_tstamp_precision(
        path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error.data());
    if (file == nullptr) throw std::runtime_error(error.data());
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    std::uint64_t packets = 0;
    while (pcap_next_ex(file, &header, &bytes) == 1)
        ++packets;
    pcap_close(file);
    return packets;
}

// As `veriroce judge` does it.
judge::Summary read_judging(const std::string& path) {
    auto reader = capture::Reader::open(path);
    if (!reader) throw std::runtime_error(capture::text_of(reader.error(), path));
    judge::Judge judge(judge::Assumptions{.complete = true});
    capture::DecodedFrames frames(std::move(*reader), {.decode = {}, .threads = 1});
    for (auto some = frames.next(); !some.empty(); some = frames.next())
        judge.observe(some);
    for (const auto& [file, error] : frames.errors())
        throw std::runtime_error(capture::text_of(error, path));
    judge.finish();
    return judge.summary();
}

struct Spread {
    double least = 0;
    double median = 0;
    double most = 0;

    explicit Spread(std::vector<double> values) {
        std::ranges::sort(values);
        least = values.front();
        median = values[values.size() / 2];
        most = values.back();
    }
    [[nodiscard]] std::string text() const {
        return fmt::format("{:.3f} ({:.3f}..{:.3f})", median, least, most);
    }
};

struct Times {
    std::vector<double> bare;  // microseconds a packet
    std::vector<double> judge; // likewise
    std::vector<double> ratio; // bare / judge, of one run
};

Times measure(const std::string& path, std::uint64_t packets, int runs) {
    Times times;
    read_bare(path); // into the page cache
    for (int run = 0; run < runs; ++run) {
        const double begin = used();
        if (read_bare(path) != packets) throw std::runtime_error(path + ": libpcap lost packets");
        const double between = used();
        const judge::Summary found = read_judging(path);
        const double end = used();
        if (found.packets != packets || found.damaged + found.certain + found.possible != 0) {
            throw std::runtime_error(path + ": the judge found something in it");
        }
        const double each = 1e6 / static_cast<double>(packets);
        times.bare.push_back((between - begin) * each);
        times.judge.push_back((end - between) * each);
        times.ratio.push_back((between - begin) / std::max(end - between, 1e-9));
    }
    return times;
}

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--runs") {
            options.runs = std::atoi(argv[i + 1]);
        } else if (name == "--packets") {
            options.packets = static_cast<std::uint64_t>(std::max(0LL, std::atoll(argv[i + 1])));
        } else if (name == "--in") {
            options.folder = argv[i + 1];
        } else {
            return std::nullopt;
        }
    }
    if (argc % 2 == 0 || options.runs < 1) return std::nullopt;
    return options;
}

// A folder that goes away with it, unless it was named.
class Folder {
  public:
    explicit Folder(const std::string& named) : path_(named) {
        if (named.empty()) path_ = own_.emplace().path();
    }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / (name + ".pcap")).string();
    }

  private:
    std::optional<house::TemporaryFolder> own_;
    std::filesystem::path path_;
};

void run(const Options& options) {
    const Folder folder(options.folder);
    double load = 0;
    static_cast<void>(::getloadavg(&load, 1));
    fmt::print("microseconds of user and system time a packet, medians (least..most) of {} paired "
               "runs; load {:.1f}\n",
               options.runs, load);
    fmt::print("  {:<16} {:<22} {:<22} {}\n", "", "bare pcap_next_ex", "judge, ICRCs checked",
               "bare / judge");
    std::vector<double> judged;
    for (const std::uint32_t payload : {1024U, 16U}) {
        for (const std::uint32_t connections : {16U, 65'536U}) {
            CaptureOptions capture{.packets = payload == 16 ? 2'000'000U : 1'000'000U,
                                   .connections = connections,
                                   .payload_bytes = payload};
            if (options.packets != 0) capture.packets = options.packets;
            const std::string name =
                fmt::format("write-{}-{}", payload == 16 ? "16" : "1k", connections);
            const std::string path = folder.file(name);
            bench_test::make_capture(path, capture);
            const Times times = measure(path, capture.packets, options.runs);
            judged.push_back(Spread(times.judge).median);
            fmt::print("  {:<16} {:<22} {:<22} {}\n", name, Spread(times.bare).text(),
                       Spread(times.judge).text(), Spread(times.ratio).text());
        }
        const std::size_t last = judged.size() - 1;
        fmt::print("  65,536 connections cost {:.2f} times what 16 do\n",
                   judged[last] / std::max(judged[last - 1], 1e-9));
    }
    fmt::print("every ICRC that came was right\n");
}

} // namespace

int main(int argc, char** argv) {
    const auto options = parse(argc, argv);
    if (!options) {
        fmt::print(stderr, "usage: bench_judge [--runs N] [--packets N] [--in DIR]\n");
        return 2;
    }
    try {
        run(*options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_judge: {}\n", error.what());
        return 3;
    }
    return 0;
}
