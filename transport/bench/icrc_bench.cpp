// The speed of ICRCs of whole packets, next to ISA-L's CRC-32 over the same bytes.
#include <array>
#include <vector>

#include <fmt/format.h>
#include <isa-l/crc.h>

#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"
#include "transport/bench/bench.hpp"
#include "transport/bench/measure.hpp"

namespace veriroce::bench {
namespace {

constexpr std::size_t kOuterBytes = 20 + 8; // IPv4 and UDP
constexpr std::size_t kBthBytes = 12;

void one_size(std::size_t payload, const Options& options, std::FILE* out) {
    std::vector<std::byte> packet(kOuterBytes + kBthBytes + payload);
    for (std::size_t i = 0; i < packet.size(); ++i)
        packet[i] = static_cast<std::byte>(i * 7);
    packet[0] = std::byte{0x45};
    constexpr std::size_t kTurns = 100;
    const std::size_t rounds =
        std::size_t{options.megabytes} * 1'000'000 / kTurns / packet.size() + 1; // per turn
    const wire::Bytes headers = wire::Bytes(packet).first(kOuterBytes + kBthBytes);
    const wire::Bytes rest = wire::Bytes(packet).subspan(kOuterBytes + kBthBytes);
    std::uint32_t sum = 0; // results must be used, or the compiler removes the computation
    const auto figure = paired(
        options.runs, kTurns,
        [&] {
            for (std::size_t i = 0; i < rounds; ++i) {
                packet[kOuterBytes + kBthBytes - 1] = static_cast<std::byte>(i);
                sum ^= wire::icrc(headers, rest);
            }
        },
        [&] {
            for (std::size_t i = 0; i < rounds; ++i) {
                packet[kOuterBytes + kBthBytes - 1] = static_cast<std::byte>(i);
                sum ^= crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(packet.data()),
                                       packet.size());
            }
        });
    if (!figure) return;
    const auto packets = static_cast<double>(kTurns * rounds);
    const double bytes = packets * static_cast<double>(packet.size());
    fmt::print(out, "{:>7} {:>10.2f} {:>12.1f} {:>12.2f} {:>8.2f} {:>6.2f}..{:.2f}{}\n", payload,
               bytes / figure->thing.median / 1e9, figure->thing.median / packets * 1e9,
               bytes / figure->limit.median / 1e9, figure->ratio.median, figure->ratio.least,
               figure->ratio.most, sum == 1 ? " " : "");
}

} // namespace

int bench_icrc(const Options& options, std::FILE* out, std::FILE* err) {
    const command_line::StopOnSignal stop;
    fmt::print(out,
               "ICRC of one packet (IPv4, UDP, BTH, payload) next to ISA-L's CRC-32 of as many "
               "bytes, {} paired runs\n"
               "payload       GB/s    ns/packet   limit GB/s    ratio   spread\n",
               options.runs);
    for (const std::size_t payload : {0U, 64U, 256U, 1024U, 4096U}) {
        if (!command_line::StopOnSignal::requested()) one_size(payload, options, out);
    }
    return ended(out, err);
}

} // namespace veriroce::bench
