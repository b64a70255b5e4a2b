#include "tests/bench/inject/live_frames.hpp"

#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <algorithm>
#include <utility>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/outer.hpp"
#include "dissector/wire/udp.hpp"
#include "tests/bench/inject/live_programs.hpp"

namespace veriroce::bench_test {
namespace {

constexpr std::uint32_t kBatch = 64; // frames that the kernel keeps under way at a time
// In a frame of send_frame(): behind the headers, the last three bytes of the BTH.
constexpr std::size_t kPsnAt =
    wire::Ethernet::kSize + wire::Ipv4::kSize + wire::Udp::kSize + wire::Bth::kSize - 3;

void copy_to(std::span<std::uint8_t> to, std::span<const std::byte> from) {
    std::ranges::transform(from, to.begin(),
                           [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
}

} // namespace

struct LiveFrames::Parts {
    std::vector<std::byte> frame;
    LivePrograms sender;
    LivePrograms sink;
};

LiveFrames::LiveFrames(const ThreeHosts& hosts, std::size_t payload_bytes)
    : hosts_(hosts), parts_(std::make_unique<Parts>()) {
    Parts& parts = *parts_;
    parts.frame = send_frame(payload_bytes, 0, wire::kRocePort);
    const std::size_t icrc_at = parts.frame.size() - wire::kIcrcBytes;
    hosts.at_a([&] {
        live_bpf& programs = parts.sender.open();
        programs.rodata->send_to = ::if_nametoindex("host_a");
        programs.rodata->psn_at = kPsnAt;
        programs.rodata->icrc_at = static_cast<std::uint32_t>(icrc_at);
        for (std::uint32_t psn = 0; psn < LIVE_FRAMES; ++psn) {
            const auto bytes = send_frame(payload_bytes, psn, wire::kRocePort);
            live_difference& difference = programs.bss->differences[psn];
            copy_to(difference.psn, std::span(bytes).subspan(kPsnAt, 3));
            copy_to(difference.icrc, std::span(bytes).subspan(icrc_at));
        }
        parts.sender.load();
    });
    hosts.at_b([&] {
        live_bpf& programs = parts.sink.open();
        parts.sink.load();
        parts.sink.attach(programs.progs.arrive, "host_b");
    });
}

LiveFrames::~LiveFrames() = default;

void LiveFrames::send(std::uint32_t frames) {
    Parts& parts = *parts_;
    const int sent = hosts_.at_a([&] {
        bpf_test_run_opts options{};
        options.sz = sizeof options;
        options.data_in = parts.frame.data();
        options.data_size_in = static_cast<std::uint32_t>(parts.frame.size());
        options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
        options.repeat = static_cast<int>(frames);
        options.batch_size = kBatch;
        return bpf_prog_test_run_opts(bpf_program__fd(parts.sender->progs.send), &options);
    });
    needed(sent, "sending XDP live frames");
}

std::uint64_t LiveFrames::arrived() const {
    return __atomic_load_n(&parts_->sink->bss->arrived, __ATOMIC_RELAXED);
}

} // namespace veriroce::bench_test
