// The bump in the wire beside the kernel's bridge, over veth pairs in network namespaces of its
// own: frames a second that one sender gets through, and how long a single frame takes, in turns.
// Needs root.
//
//   bench_inject [--runs N] [--seconds S]
//
// Before each measurement, frames go through one by one and every ICRC is checked.
// Exit codes: 0; 1 a frame was lost or wrong; 3 this machine cannot play it.
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/frame.hpp"
#include "transport/inject/in_line.hpp"
#include "transport/inject/packet_port.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using inject::DataPath;
using inject::PacketPort;

constexpr std::size_t kLatencies = 500; // in each turn

int namespace_fd() {
    return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// host_a --- bump_a (here) bump_b --- host_b
struct Network {
    int left = -1;
    int right = -1;
    int here = -1;

    bool make() {
        if (::unshare(CLONE_NEWNET) != 0) return false;
        left = namespace_fd();
        if (::unshare(CLONE_NEWNET) != 0) return false;
        right = namespace_fd();
        if (::unshare(CLONE_NEWNET) != 0) return false;
        here = namespace_fd();
        const auto pair = [](const std::string& bump, const std::string& host, int fd) {
            return run(fmt::format(
                "ip link add {0} numrxqueues 1 numtxqueues 1 type veth peer name {1} numrxqueues 1 "
                "numtxqueues 1 && ip link set {1} netns /proc/{2}/fd/{3} && "
                "ip link set {0} addrgenmode none up",
                bump, host, ::getpid(), fd));
        };
        const auto end = [this](int fd, const std::string& host) {
            ::setns(fd, CLONE_NEWNET);
            const bool made = run(fmt::format(
                "ip link set {0} addrgenmode none up && ethtool -K {0} tx off gro on", host));
            ::setns(here, CLONE_NEWNET);
            return made;
        };
        return pair("bump_a", "host_a", left) && pair("bump_b", "host_b", right) &&
               end(left, "host_a") && end(right, "host_b");
    }
    std::optional<PacketPort> port(int fd, const char* name) const {
        ::setns(fd, CLONE_NEWNET);
        auto port = PacketPort::open(name, static_cast<int>(::if_nametoindex(name)));
        ::setns(here, CLONE_NEWNET);
        if (!port) return std::nullopt;
        return std::move(*port);
    }
    // Frames that host_b has received.
    [[nodiscard]] std::uint64_t received() const {
        ::setns(right, CLONE_NEWNET);
        std::ifstream file("/proc/thread-self/net/dev");
        std::uint64_t frames = 0;
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string name;
            std::uint64_t bytes = 0;
            words >> name;
            if (name == "host_b:") words >> bytes >> frames;
        }
        ::setns(here, CLONE_NEWNET);
        return frames;
    }
};

std::vector<std::byte> frame(std::size_t payload_bytes, std::uint32_t psn, std::uint16_t port) {
    std::array<std::byte, wire::Bth::kSize> header{};
    wire::Bth{.opcode = 0x04, .dest_qp = {0x11}, .psn = wire::Psn(psn)}.encode(header);
    const std::vector<std::byte> payload(payload_bytes, std::byte{0x5A});
    const wire::LinkAddress link{*wire::MacAddress::parse("02:00:00:00:00:01"),
                                 *wire::MacAddress::parse("02:00:00:00:00:02")};
    const wire::Envelope envelope{.source = *wire::IpAddress::parse("10.0.0.1"),
                                  .destination = *wire::IpAddress::parse("10.0.0.2"),
                                  .destination_port = port};
    std::vector<std::byte> bytes(payload_bytes + wire::kMaxFrameOverhead);
    bytes.resize(wire::write_frame(link, envelope, 0, header, payload, bytes));
    return bytes;
}

struct Way {
    const char* name;
    std::optional<DataPath> path;         // empty: the kernel's bridge
    std::uint16_t port = wire::kRocePort; // another: not RoCE, which XDP forwards itself
    std::vector<double> rates;
    std::vector<double> latencies; // microseconds, one way, one frame at a time
    bool in_kernel = false;        // the rule is the kernel's
    std::size_t rules = 1;
};

// Rules that concern the traffic and never select it.
std::vector<fault::Rule> rules_of(const Way& way) {
    fault::Rule rule{.action = fault::Drop{}, .selector = {}};
    rule.selector.qp = std::uint32_t{0x11};
    rule.selector.between = fault::Range{-2, -1};
    std::vector<fault::Rule> rules(way.rules, rule);
    for (std::size_t i = 1; i < rules.size(); ++i)
        rules[i].selector.qp = static_cast<std::uint32_t>(0x1000 + i);
    if (way.rules > 1) rules[0].selector.qp = std::uint32_t{0x1000};
    return rules;
}

class Bump {
  public:
    Bump(inject::InLine line, std::vector<fault::Rule> rules)
        : line_(std::move(line)), bump_(1, std::move(rules)) {
        thread_ = std::thread([this] {
            while (!stop_) {
                if (!line_.step(bump_, net::monotonic_now() + std::chrono::milliseconds(5),
                                nullptr)) {
                    return;
                }
            }
        });
    }
    ~Bump() {
        stop_ = true;
        thread_.join();
    }

  private:
    inject::InLine line_;
    inject::Bump bump_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// Whether they arrive, with right ICRCs.
bool check(const Network& network, PacketPort& sender) {
    auto receiver = network.port(network.right, "host_b");
    if (!receiver) return false;
    std::size_t good = 0;
    for (std::uint32_t i = 0; i < 64; ++i) {
        const auto bytes = frame(1024, i, wire::kRocePort);
        sender.queue(bytes, {});
        sender.flush();
        const auto until = net::monotonic_now() + std::chrono::seconds(2);
        if (net::wait_for(receiver->fd(), POLLIN, until) != net::Waited::Ready) return false;
        const auto arrivals = receiver->receive();
        if (!arrivals) return false;
        for (const auto& arrival : *arrivals)
            good += wire::unseal(arrival.frame).has_value() ? 1U : 0U;
    }
    return good == 64;
}

// Frames a second.
double measure(const Network& network, PacketPort& sender, const Way& way, std::size_t payload,
               double seconds) {
    std::vector<std::vector<std::byte>> frames;
    for (std::uint32_t i = 0; i < 1'024; ++i)
        frames.push_back(frame(payload, i, way.port));
    const auto before = network.received();
    const auto began = net::monotonic_now();
    const auto end =
        began + std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(seconds));
    for (std::size_t i = 0; net::monotonic_now() < end;) {
        for (std::size_t k = 0; k < PacketPort::kBatch; ++k)
            sender.queue(frames[i++ % frames.size()], {});
        sender.flush();
    }
    const auto arrived = network.received() - before;
    return static_cast<double>(arrived) /
           std::chrono::duration<double>(net::monotonic_now() - began).count();
}

// From the call that sends a frame to the one that has received it, one frame at a time.
void measure_latency(const Network& network, PacketPort& sender, Way& way, std::size_t payload,
                     std::size_t count) {
    auto receiver = network.port(network.right, "host_b");
    if (!receiver) return;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto bytes = frame(payload, i, way.port);
        const auto began = net::monotonic_now();
        sender.queue(bytes, {});
        sender.flush();
        if (net::wait_for(receiver->fd(), POLLIN, began + std::chrono::seconds(1)) !=
            net::Waited::Ready) {
            continue;
        }
        const auto took = net::monotonic_now() - began;
        if (!receiver->receive()) return;
        way.latencies.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
}

double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values[std::min(values.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    int runs = 3;
    double seconds = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--runs") runs = std::max(1, std::atoi(argv[i + 1]));
        if (name == "--seconds") seconds = std::atof(argv[i + 1]);
    }
    Network network;
    if (!network.make()) {
        fmt::print(stderr, "bench_inject: needs root, iproute2, ethtool and veth\n");
        return 3;
    }
    auto sender = network.port(network.left, "host_a");
    if (!sender) return 3;
    for (const std::size_t payload : {std::size_t{64}, std::size_t{1'024}}) {
        std::vector<Way> ways{
            {"kernel bridge", std::nullopt, wire::kRocePort, {}},
            {"AF_PACKET", DataPath::Packet, wire::kRocePort, {}},
            {"XDP generic, AF_XDP", DataPath::Generic, wire::kRocePort, {}},
            {"XDP native, AF_XDP", DataPath::Native, wire::kRocePort, {}},
            {"XDP native, in the kernel", DataPath::Native, 9, {}},
            {"XDP native, kernel's rule", DataPath::Native, wire::kRocePort, {}, {}, true},
            {"XDP native, 60 of other QPs", DataPath::Native, wire::kRocePort, {}, {}, true, 60}};
        for (int i = 0; i < runs; ++i) {
            for (Way& way : ways) {
                std::optional<Bump> bump;
                if (way.path) {
                    const auto rules = rules_of(way);
                    inject::LineOptions options{.path = *way.path};
                    if (way.in_kernel) options.in_kernel = inject::kernel_rules(rules, 1);
                    auto line = inject::InLine::open("bump_a", "bump_b", options);
                    if (!line) {
                        fmt::print("{}: {}\n", way.name, line.error().text);
                        continue;
                    }
                    bump.emplace(std::move(*line), rules);
                } else if (!run("ip link add bridge0 type bridge && ip link set bridge0 up && "
                                "ip link set bump_a master bridge0 && "
                                "ip link set bump_b master bridge0")) {
                    return 3;
                }
                if (!check(network, *sender)) {
                    fmt::print("{}: a frame was lost, or came with a wrong ICRC\n", way.name);
                    return 1;
                }
                measure_latency(network, *sender, way, payload, kLatencies);
                way.rates.push_back(measure(network, *sender, way, payload, seconds));
                if (!way.path) run("ip link del bridge0");
            }
        }
        fmt::print(
            "payload {} bytes           thousand/s (spread)  / bridge   us one way: half, 90 %, "
            "99 %, most\n",
            payload);
        for (const Way& way : ways) {
            if (way.rates.empty()) continue;
            const auto [least, most] = std::ranges::minmax(way.rates);
            fmt::print("  {:<28} {:>8.0f} ({:.0f}..{:.0f})  {:.2f}", way.name,
                       median(way.rates) / 1e3, least / 1e3, most / 1e3,
                       median(way.rates) / median(ways.front().rates));
            if (!way.latencies.empty()) {
                fmt::print("   {:.0f}  {:.0f}  {:.0f}  {:.0f}", quantile(way.latencies, 0.5),
                           quantile(way.latencies, 0.9), quantile(way.latencies, 0.99),
                           quantile(way.latencies, 1));
            }
            fmt::print("\n");
        }
    }
    fmt::print("every ICRC that came was right\n");
    return 0;
}
