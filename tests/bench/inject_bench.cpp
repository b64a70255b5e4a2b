// The bump in the wire beside the kernel's bridge and beside bare forwarders, over veth pairs in
// network namespaces of its own. Two senders: one in user space, which also measures how long a
// single frame takes, and the kernel itself (XDP live frames), which keeps a core busy with
// forwarding alone. The ways are measured in turns. Needs root.
//
//   bench_inject [--runs N] [--seconds S] [--sender user|kernel|both]
//
// Before each measurement, frames go through one by one and every ICRC is checked.
// Exit codes: 0; 1 a frame was lost or wrong; 3 this machine cannot play it.
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/udp.hpp"
#include "tests/bench/inject/forwarders.hpp"
#include "tests/bench/inject/three_hosts.hpp"
#include "tests/bench/traffic.hpp"
#include "transport/inject/packet_port.hpp"
#include "transport/net/clock.hpp"

#ifdef VERIROCE_HAVE_XDP
#include "tests/bench/inject/live_frames.hpp"
#endif

namespace {

using namespace veriroce;
using namespace veriroce::bench_test;
using inject::DataPath;
using inject::PacketPort;

constexpr std::size_t kLatencies = 500; // in each turn
const Cores kCores;                     // the forwarder is the receiver

struct Way {
    const char* name;
    std::function<std::unique_ptr<Forwarder>()> make;
    std::uint16_t port = wire::kRocePort; // another: not RoCE, which XDP forwards itself
    std::vector<double> rates;            // frames a second
    std::vector<double> latencies;        // microseconds, one way, one frame at a time
};

// Rules of other QPs than the traffic's, or one of its QP that never selects it.
std::vector<fault::Rule> rules_of_others(std::size_t count) {
    std::vector<fault::Rule> rules(count, {.action = fault::Drop{}, .selector = {}});
    for (std::size_t i = 0; i < count; ++i)
        rules[i].selector.qp = static_cast<std::uint32_t>(0x1000 + i);
    return rules;
}
std::vector<fault::Rule> rule_that_waits() {
    fault::Rule rule{.action = fault::Drop{}, .selector = {}};
    rule.selector.qp = std::uint32_t{0x11};
    rule.selector.between = fault::Range{-2, -1};
    return {rule};
}

std::function<std::unique_ptr<Forwarder>()>
bump_by(DataPath path, std::vector<fault::Rule> rules = {}, bool in_kernel = false) {
    if (rules.empty()) rules = rule_that_waits();
    return [=] { return bump(path, rules, in_kernel); };
}

struct LostFrame : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A forwarder on a core of its own.
class Forwarding {
  public:
    explicit Forwarding(const Way& way)
        : forwarder_(way.make()), thread_([this] {
              try {
                  stay_on(kCores.receiver);
                  while (!stop_)
                      forwarder_->step();
              } catch (const std::exception& error) {
                  fmt::print(stderr, "bench_inject: {}\n", error.what());
              }
          }) {}
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;
    ~Forwarding() {
        stop_ = true;
        thread_.join();
    }

  private:
    std::unique_ptr<Forwarder> forwarder_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

PacketPort port_here(const char* name) {
    auto port = PacketPort::open(name, static_cast<int>(::if_nametoindex(name)));
    if (!port) throw Failure(port.error().text);
    return std::move(*port);
}

// Whether they arrive, with right ICRCs.
bool check(const ThreeHosts& hosts, PacketPort& sender) {
    PacketPort receiver = hosts.at_b([] { return port_here("host_b"); });
    std::size_t good = 0;
    for (std::uint32_t i = 0; i < 64; ++i) {
        const auto bytes = send_frame(1024, i, wire::kRocePort); // kept until flush()
        sender.queue(bytes, {});
        sender.flush();
        const auto until = net::monotonic_now() + std::chrono::seconds(2);
        if (net::wait_for(receiver.fd(), POLLIN, until) != net::Waited::Ready) return false;
        const auto arrivals = receiver.receive();
        if (!arrivals) return false;
        for (const auto& arrival : *arrivals)
            good += wire::unseal(arrival.frame).has_value() ? 1U : 0U;
    }
    return good == 64;
}

// Frames a second that arrive while `send` is called again and again.
double measure(double seconds, const std::function<void()>& send,
               const std::function<std::uint64_t()>& arrived) {
    const auto before = arrived();
    const auto began = net::monotonic_now();
    const auto end =
        began + std::chrono::duration_cast<wire::Duration>(std::chrono::duration<double>(seconds));
    while (net::monotonic_now() < end)
        send();
    return static_cast<double>(arrived() - before) /
           std::chrono::duration<double>(net::monotonic_now() - began).count();
}

double measure_from_user(const ThreeHosts& hosts, PacketPort& sender, const Way& way,
                         std::size_t payload, double seconds) {
    std::vector<std::vector<std::byte>> frames;
    for (std::uint32_t i = 0; i < 1'024; ++i)
        frames.push_back(send_frame(payload, i, way.port));
    std::size_t next = 0;
    const auto send = [&] {
        for (std::size_t k = 0; k < PacketPort::kBatch; ++k)
            sender.queue(frames[next++ % frames.size()], {});
        sender.flush();
    };
    return measure(seconds, send, [&] { return hosts.received(); });
}

// From the call that sends a frame to the one that has received it, one frame at a time.
void measure_latency(const ThreeHosts& hosts, PacketPort& sender, Way& way, std::size_t payload,
                     std::size_t count) {
    PacketPort receiver = hosts.at_b([] { return port_here("host_b"); });
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto bytes = send_frame(payload, i, way.port);
        const auto began = net::monotonic_now();
        sender.queue(bytes, {});
        sender.flush();
        if (net::wait_for(receiver.fd(), POLLIN, began + std::chrono::seconds(1)) !=
            net::Waited::Ready) {
            continue;
        }
        const auto took = net::monotonic_now() - began;
        if (!receiver.receive()) return;
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

// A table. The first way is the one that the others are held against.
void print(const char* sender, std::size_t payload, const std::vector<Way>& ways) {
    fmt::print("{}, payload {} bytes\n  {:<28} thousand/s (spread)       / {}{}\n", sender, payload,
               "", ways.front().name,
               ways.front().latencies.empty() ? "" : "   us one way: half, 90 %, 99 %, most");
    for (const Way& way : ways) {
        if (way.rates.empty()) continue;
        const auto [least, most] = std::ranges::minmax(way.rates);
        fmt::print("  {:<28} {:>8.0f} {:<17} {:.2f}", way.name, median(way.rates) / 1e3,
                   fmt::format("({:.0f}..{:.0f})", least / 1e3, most / 1e3),
                   median(way.rates) / median(ways.front().rates));
        if (!way.latencies.empty()) {
            fmt::print("   {:.0f}  {:.0f}  {:.0f}  {:.0f}", quantile(way.latencies, 0.5),
                       quantile(way.latencies, 0.9), quantile(way.latencies, 0.99),
                       quantile(way.latencies, 1));
        }
        fmt::print("\n");
    }
}

struct Options {
    int runs = 3;
    double seconds = 1;
    std::string sender = "both";
};

Options read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--runs") options.runs = std::max(1, std::atoi(argv[i + 1]));
        if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
        if (name == "--sender") options.sender = argv[i + 1];
    }
    return options;
}

// Plays `turn` for each way, `runs` times. It says which ways this machine cannot play, and leaves
// them out; without the first one it throws, because the others are held against it.
void in_turns(const ThreeHosts& hosts, PacketPort& sender, int runs, std::vector<Way>& ways,
              const std::function<void(Way&)>& turn) {
    for (int i = 0; i < runs; ++i) {
        for (Way& way : ways) {
            std::optional<Forwarding> forwarding;
            try {
                forwarding.emplace(way);
            } catch (const Failure& failure) {
                if (&way == &ways.front()) throw;
                fmt::print("{}: {}\n", way.name, failure.what());
                continue;
            }
            if (!check(hosts, sender)) {
                throw LostFrame(
                    fmt::format("{}: a frame was lost, or came with a wrong ICRC", way.name));
            }
            turn(way);
        }
    }
}

void from_user(const ThreeHosts& hosts, PacketPort& sender, const Options& options,
               std::size_t payload) {
    std::vector<Way> ways{
        {"kernel bridge", kernel_bridge},
        {"AF_PACKET", bump_by(DataPath::Packet)},
        {"XDP generic, AF_XDP", bump_by(DataPath::Generic)},
        {"XDP native, AF_XDP", bump_by(DataPath::Native)},
        {"XDP native, in the kernel", bump_by(DataPath::Native), 9},
        {"XDP native, kernel's rule", bump_by(DataPath::Native, {}, true)},
        {"XDP native, 100 of other QPs", bump_by(DataPath::Native, rules_of_others(100), true)}};
    in_turns(hosts, sender, options.runs, ways, [&](Way& way) {
        measure_latency(hosts, sender, way, payload, kLatencies);
        way.rates.push_back(measure_from_user(hosts, sender, way, payload, options.seconds));
    });
    print("one sender in user space", payload, ways);
}

#ifdef VERIROCE_HAVE_XDP
void from_kernel(const ThreeHosts& hosts, PacketPort& sender, const Options& options,
                 std::size_t payload) {
    constexpr std::uint32_t kAtOnce = 65'536; // a call takes 20 ms, whatever it sends
    std::vector<Way> ways{
        {"bare XDP redirect", bare_redirect},
        {"kernel bridge", kernel_bridge},
        {"100 rules, in the kernel", bump_by(DataPath::Native, rules_of_others(100), true)},
        {"a rule looks at each", bump_by(DataPath::Native, {}, true)},
        {"bare AF_XDP", bare_af_xdp},
        {"all through AF_XDP", bump_by(DataPath::Native)},
        {"all through AF_PACKET", bump_by(DataPath::Packet)}};
    in_turns(hosts, sender, options.runs, ways, [&](Way& way) {
        LiveFrames frames(hosts, payload);
        way.rates.push_back(measure(
            options.seconds, [&] { frames.send(kAtOnce); }, [&] { return frames.arrived(); }));
    });
    print("XDP live frames", payload, ways);
}
#endif

int run(const Options& options) {
    const ThreeHosts hosts;
    PacketPort sender = hosts.at_a([] { return port_here("host_a"); });
    stay_on(kCores.sender);
    for (const std::size_t payload : {std::size_t{64}, std::size_t{1'024}}) {
        if (options.sender != "kernel") from_user(hosts, sender, options, payload);
#ifdef VERIROCE_HAVE_XDP
        if (options.sender != "user") from_kernel(hosts, sender, options, payload);
#endif
    }
    fmt::print("every ICRC that came was right\n");
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(read_options(argc, argv));
    } catch (const LostFrame& lost) {
        fmt::print(stderr, "bench_inject: {}\n", lost.what());
        return 1;
    } catch (const Failure& failure) {
        fmt::print(stderr, "bench_inject: {}\n", failure.what());
        return 3;
    }
}
