// make_captures DIR [PACKETS]: the four files of the dissector's and the judge's figures, or the
// same with this many packets each.
#include <array>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "tests/bench/captures.hpp"

namespace {

using veriroce::bench_test::CaptureOptions;

struct NamedCapture {
    const char* name;
    CaptureOptions options;
};

constexpr std::array captures{
    NamedCapture{"write-1k-16", {.packets = 1'000'000, .connections = 16, .payload_bytes = 1024}},
    NamedCapture{"write-1k-65536",
                 {.packets = 1'000'000, .connections = 65'536, .payload_bytes = 1024}},
    NamedCapture{"write-16-16", {.packets = 2'000'000, .connections = 16, .payload_bytes = 16}},
    NamedCapture{"write-16-65536",
                 {.packets = 2'000'000, .connections = 65'536, .payload_bytes = 16}},
};

} // namespace

int main(int argc, char** argv) {
    const long long packets = argc == 3 ? std::atoll(argv[2]) : 0;
    if (argc < 2 || argc > 3 || (argc == 3 && packets < 1)) {
        fmt::print(stderr, "usage: make_captures DIR [PACKETS]\n");
        return 2;
    }
    try {
        for (NamedCapture capture : captures) {
            if (packets > 0) capture.options.packets = static_cast<std::uint64_t>(packets);
            const std::string path = fmt::format("{}/{}.pcap", argv[1], capture.name);
            const auto size = veriroce::bench_test::make_capture(path, capture.options);
            fmt::print("{}: {} packets, {} bytes\n", path, size.packets, size.bytes);
        }
    } catch (const std::exception& error) {
        fmt::print(stderr, "make_captures: {}\n", error.what());
        return 3;
    }
    return 0;
}
