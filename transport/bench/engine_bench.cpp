// The speed of two engines in one process on one core.
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include <fmt/format.h>
#include <isa-l/crc.h>

#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/bench/bench.hpp"
#include "transport/bench/connected_engines.hpp"
#include "transport/bench/measure.hpp"

namespace veriroce::bench {
namespace {

constexpr std::size_t kMessageBytes = 1U << 20U;
constexpr std::size_t kCoveredHeaders = 20 + 8 + 12; // IPv4, UDP and BTH, which the ICRC covers

void drain(End& end) {
    while (end.engine->poll_completion(end.cq)) {
    }
}

std::uint32_t crc(const std::byte* bytes, std::size_t size) {
    return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes), size);
}

// RDMA WRITE of 1 MiB messages. The limit: copy the same bytes into a packet after `headers` bytes,
// compute the packet's CRC, compute it again, and copy the bytes out.
void write_messages(const Options& options, std::size_t headers, std::FILE* out) {
    constexpr std::size_t kMtu = 4096;
    ConnectedEngines engines(1, kMessageBytes, wire::Mtu::B4096);
    constexpr std::size_t kMessages = 4; // per turn
    const std::size_t turns = std::max<std::size_t>(1, options.megabytes / kMessages);
    std::vector<std::byte> room(kPage + headers + kMtu);
    const wire::MutableBytes packet = from_mid_page(room, headers).first(headers + kMtu);
    std::byte* const payload = packet.data() + headers;
    std::uint32_t sum = 0;
    const engine::Sge sge{.length = kMessageBytes, .lkey = engines.a.region.lkey};
    const engine::SendRequest request{
        .opcode = engine::WrOpcode::RdmaWrite, .sges = {&sge, 1}, .rkey = engines.b.region.rkey};
    const auto figure = paired(
        options.runs, turns,
        [&] {
            for (std::size_t i = 0; i < kMessages; ++i) {
                engines.a.engine->post_send(engines.a.qps[0], {&request, 1}, engines.now);
                engines.carry();
                drain(engines.a);
            }
        },
        [&] {
            for (std::size_t i = 0; i < kMessages; ++i) {
                for (std::size_t at = 0; at < kMessageBytes; at += kMtu) {
                    std::memcpy(payload, engines.a.memory.data() + at, kMtu);
                    sum ^= crc(packet.data(), packet.size());
                    sum ^= crc(packet.data(), packet.size());
                    std::memcpy(engines.b.memory.data() + at, payload, kMtu);
                }
            }
        });
    if (!figure) return;
    const double bytes = static_cast<double>(turns * kMessages * kMessageBytes);
    fmt::print(
        out,
        "RDMA WRITE of 1 MiB, MTU 4096, ICRC computed and checked: {:.2f} GB/s; two copies and "
        "two CRCs of {}: {:.2f} GB/s; ratio {:.2f} ({:.2f}..{:.2f}){}\n",
        bytes / figure->thing.median / 1e9,
        headers == 0 ? "the payloads alone" : "the same packets",
        bytes / figure->limit.median / 1e9, figure->ratio.median, figure->ratio.least,
        figure->ratio.most, sum == 1 ? " " : "");
}

void write_packets(const Options& options, std::FILE* out) {
    write_messages(options, kCoveredHeaders, out);
}

void write_payloads(const Options& options, std::FILE* out) {
    write_messages(options, 0, out);
}

// SEND of 64 bytes, 64 messages per doorbell.
void send_messages(const Options& options, std::FILE* out) {
    constexpr std::size_t kBatch = 64;
    constexpr std::uint32_t kSize = 64;
    ConnectedEngines engines(1, 4096, wire::Mtu::B1024);
    const engine::Sge to{.length = kSize, .lkey = engines.b.region.lkey};
    const engine::Sge from{.length = kSize, .lkey = engines.a.region.lkey};
    const std::vector<engine::ReceiveRequest> receives(kBatch, {.sges = {&to, 1}});
    const std::vector<engine::SendRequest> sends(kBatch, {.sges = {&from, 1}});
    const std::size_t batches = std::size_t{options.megabytes} * 100;
    std::vector<double> times;
    for (std::uint32_t run = 0; run <= options.runs; ++run) {
        if (command_line::StopOnSignal::requested()) return;
        const double time = seconds_of([&] {
            for (std::size_t i = 0; i < batches; ++i) {
                engines.b.engine->post_receive(engines.b.qps[0], receives);
                engines.a.engine->post_send(engines.a.qps[0], sends, engines.now);
                engines.carry();
                drain(engines.a);
                drain(engines.b);
            }
        });
        if (run > 0) times.push_back(time); // the first run warms up
    }
    const Spread time = spread_of(std::move(times));
    const double count = static_cast<double>(batches * kBatch) / 1e6;
    fmt::print(out,
               "SEND of 64 bytes, ICRC computed and checked: {:.2f} million messages/s "
               "({:.2f}..{:.2f})\n",
               count / time.median, count / time.most, count / time.least);
}

// One SEND on each QP in turn: the cost of a packet, and how it grows with many QPs.
void many_qps(const Options& options, std::FILE* out) {
    constexpr std::size_t kFew = 16;
    constexpr std::uint32_t kDepth = 2;
    const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    ConnectedEngines small(kFew, 4096, wire::Mtu::B1024, kDepth);
    const std::size_t before = in_use();
    ConnectedEngines large(options.many_qps, 4096, wire::Mtu::B1024, kDepth);
    const double per_qp =
        static_cast<double>(in_use() - before) / (2.0 * static_cast<double>(options.many_qps));

    const std::size_t count = options.many_qps;
    const auto round = [&](ConnectedEngines& engines) {
        const engine::Sge to{.length = 64, .lkey = engines.b.region.lkey};
        const engine::Sge from{.length = 64, .lkey = engines.a.region.lkey};
        const engine::ReceiveRequest receive{.sges = {&to, 1}};
        const engine::SendRequest send{.sges = {&from, 1}};
        // Successive QPs are far apart, so that no prefetcher guesses the next one.
        const std::size_t qps = engines.a.qps.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = i * 40'503 % qps;
            engines.b.engine->post_receive(engines.b.qps[at], {&receive, 1});
            engines.a.engine->post_send(engines.a.qps[at], {&send, 1}, engines.now);
            engines.carry();
            drain(engines.a);
            drain(engines.b);
        }
    };
    const auto figure = paired(options.runs, 1, [&] { round(large); }, [&] { round(small); });
    if (!figure) return;
    const double messages = static_cast<double>(count);
    fmt::print(out,
               "SEND of 64 bytes, one at a time, on {} QPs in turn: {:.0f} ns; on {}: {:.0f} ns; "
               "{:.2f} times as much ({:.2f}..{:.2f}); {:.0f} bytes per QP with queues of {}\n",
               options.many_qps, figure->thing.median / messages * 1e9, kFew,
               figure->limit.median / messages * 1e9, 1 / figure->ratio.median,
               1 / figure->ratio.most, 1 / figure->ratio.least, per_qp, kDepth);
}

} // namespace

int bench_engine(const Options& options, std::FILE* out, std::FILE* err) {
    const command_line::StopOnSignal stop;
    try {
        fmt::print(out, "two engines in one process, one core, {} paired runs each\n",
                   options.runs);
        for (const auto& figure : {write_packets, write_payloads, send_messages, many_qps}) {
            if (!command_line::StopOnSignal::requested()) figure(options, out);
        }
    } catch (const std::exception& error) {
        fmt::print(err, "veriroce: {}\n", error.what());
        return command_line::kExitUnable;
    }
    return ended(out, err);
}

} // namespace veriroce::bench
