#include "conformance/testbed/virtual_testbed.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include <fmt/format.h>

#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/testbed/device_facts.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/wire/line.hpp"
#include "transport/sim/network.hpp"

namespace veriroce::testbed {

using interpreter::Action;
using interpreter::CallDut;
using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::FindingKind;
using interpreter::Interpreter;
using interpreter::Network;
using interpreter::SendFrame;
using interpreter::Verdict;

namespace {

// A case that has not ended by then never will: its DUT and its script wait for each other.
constexpr wire::Instant kEndOfTime{std::chrono::hours(24)};
constexpr std::uint64_t kMaxSteps = 10'000'000;

const wire::MacAddress kTesterMac = *wire::MacAddress::parse("02:00:00:00:00:02");
const wire::MacAddress kDutMac = *wire::MacAddress::parse("02:00:00:00:00:01");
const wire::IpAddress kTesterV4 = *wire::IpAddress::parse("192.0.2.2"); // RFC 5737
const wire::IpAddress kDutV4 = *wire::IpAddress::parse("192.0.2.1");
const wire::IpAddress kTesterV6 = *wire::IpAddress::parse("2001:db8::2"); // RFC 3849
const wire::IpAddress kDutV6 = *wire::IpAddress::parse("2001:db8::1");

constexpr std::size_t kTesterPort = 0;
constexpr std::size_t kDutPort = 1;

// TMO-07: devices take their time, and virtual time costs nothing.
constexpr wire::Duration kVirtualSettle = std::chrono::milliseconds(50);

constexpr std::uint32_t kSpareAddresses = 8;

// The device stands in one VLAN beside its untagged network: in that of the case at hand.
constexpr wire::VlanId kSomeVlan{.id = 0xABC};
constexpr std::uint32_t kGidsOfANetwork = 2; // IPv4, IPv6

// The device's host has an address that is not a GID: so far above the GID.
constexpr std::uint32_t kHostAddressAhead = 128;

wire::IpAddress ahead_of(wire::IpAddress address, std::uint32_t ahead) {
    wire::store_be<4>(address.bytes, 12, address.low32() + ahead);
    return address;
}

// Ours beside the first one: the numbers that follow it.
std::vector<wire::IpAddress> spare_of(const wire::IpAddress& first) {
    std::vector<wire::IpAddress> spare;
    for (std::uint32_t i = 1; i <= kSpareAddresses; ++i)
        spare.push_back(ahead_of(first, i));
    return spare;
}

// One case in virtual time.
class Play {
  public:
    Play(Interpreter& interpreter, dut::VirtualDut& device, const VirtualTestbedOptions& options,
         std::uint64_t wire_seed)
        : interpreter_(interpreter), device_(device), lab_(options.lab),
          link_(2, lab_.path_delay.value_or(sim::kLinkDelay)), random_(options.seed),
          line_rate_(options.line_rate) {
        if (options.noise.any()) noise_.emplace(options.noise, wire_seed);
    }

    // False if the case never ends, or a signal ends it.
    bool run() {
        interpreter_.start(now_);
        for (std::uint64_t step = 0; step < kMaxSteps; ++step) {
            if (command_line::StopOnSignal::requested()) return false;
            settle();
            if (interpreter_.finished()) return true;
            const auto next = next_instant();
            if (!next || *next > kEndOfTime) return false;
            now_ = std::max(now_, *next);
            deliver();
            settle();
            interpreter_.advance(now_);
        }
        return false;
    }

  private:
    // Carries out what both sides want at this instant, until neither wants more.
    void settle() {
        bool busy = true;
        while (busy) {
            busy = false;
            while (auto action = interpreter_.events().poll_action()) {
                carry_out(std::move(*action));
                busy = true;
            }
            while (auto call = arrived(calls_)) {
                tickets_[device_.submit(std::move(call->request), now_)] = call->ticket;
                busy = true;
            }
            busy = transmit() || busy;
            while (auto reply = device_.poll(now_)) {
                send_off(replies_, std::move(*reply));
            }
            while (auto reply = arrived(replies_)) {
                const auto ticket = tickets_.extract(reply->call);
                if (!ticket.empty()) {
                    interpreter_.advance(now_);
                    interpreter_.events().reply(ticket.mapped(), std::move(reply->answer));
                }
                busy = true;
            }
        }
    }

    // What the device sends now: one frame after the other.
    bool transmit() {
        bool sent = false;
        while (line_free_ <= now_) {
            const auto frame = device_.transmit(now_);
            if (!frame) break;
            put_on_wire(kDutPort, *frame, now_, in_order(last_heard_));
            line_free_ = now_ + wire::time_on_line(frame->size(), line_rate_);
            sent = true;
        }
        return sent;
    }

    void carry_out(Action action) {
        if (const auto* send = std::get_if<SendFrame>(&action)) {
            const wire::Instant left = now_ + lab_.lateness;
            put_on_wire(kTesterPort, send->frame, left, in_order(last_sent_));
            interpreter_.sent(send->number, {left, left});
            return;
        }
        send_off(calls_, std::get<CallDut>(std::move(action)));
    }

    void put_on_wire(std::size_t port, wire::Bytes frame, wire::Instant left,
                     wire::Duration jitter) {
        if (!noise_) return link_.send(port, frame, left, jitter);
        for (const NoisyWire::Arriving& one : noise_->pass(frame))
            link_.send(port, one.frame, left, jitter + one.delay);
    }

    void deliver() {
        while (const auto arrival = link_.deliver(now_)) {
            if (arrival->port == kDutPort) {
                device_.receive(arrival->frame, now_);
            } else {
                interpreter_.events().packet(arrival->frame, {now_ - lab_.stamp_width, now_});
            }
        }
    }

    [[nodiscard]] std::optional<wire::Instant> next_instant() const {
        std::optional<wire::Instant> earliest;
        if (line_free_ > now_) earliest = line_free_;
        // What is due at the device and not done by now waits for the line.
        std::optional<wire::Instant> device = device_.next_deadline();
        if (device && *device <= now_ && line_free_ > now_) device.reset();
        for (const auto& one :
             {link_.next_event(), device, interpreter_.deadline(), due(calls_), due(replies_)}) {
            if (one && (!earliest || *one < *earliest)) earliest = one;
        }
        return earliest;
    }

    wire::Duration jitter() {
        std::uniform_int_distribution<wire::Duration::rep> up_to(0, lab_.jitter.count());
        return wire::Duration(up_to(random_));
    }
    // By how much a frame is late that goes this way now: it does not overtake `last`.
    wire::Duration in_order(wire::Instant& last) {
        last = std::max(last, now_ + jitter());
        return last - now_;
    }

    // What is under way between us and the device's agent.
    template <typename T>
    struct UnderWay {
        wire::Instant due{};
        T what;
    };
    template <typename T>
    void send_off(std::deque<UnderWay<T>>& queue, T what) {
        wire::Instant due = now_ + lab_.call_delay + jitter();
        if (!queue.empty()) due = std::max(due, queue.back().due);
        queue.push_back({due, std::move(what)});
    }
    template <typename T>
    [[nodiscard]] std::optional<T> arrived(std::deque<UnderWay<T>>& queue) const {
        if (queue.empty() || queue.front().due > now_) return std::nullopt;
        T what = std::move(queue.front().what);
        queue.pop_front();
        return what;
    }
    template <typename T>
    static std::optional<wire::Instant> due(const std::deque<UnderWay<T>>& queue) {
        if (queue.empty()) return std::nullopt;
        return queue.front().due;
    }

    Interpreter& interpreter_;
    dut::VirtualDut& device_;
    InexactLab lab_;
    sim::Network link_;
    std::optional<NoisyWire> noise_;
    std::mt19937_64 random_;
    std::uint64_t line_rate_;
    wire::Instant now_{};
    wire::Instant line_free_{}; // when the device's port has sent its latest frame
    wire::Instant last_sent_{}; // when the last frame would be there but for the way's own time
    wire::Instant last_heard_{};
    std::deque<UnderWay<CallDut>> calls_;
    std::deque<UnderWay<dut::Reply>> replies_;
    std::map<dut::CallId, std::uint64_t> tickets_;
};

} // namespace

VirtualTestbed::VirtualTestbed(VirtualTestbedOptions options) : options_(std::move(options)) {
    const auto device = make_device(kSomeVlan);
    device->submit(dut::Hello{}, wire::Instant{});
    if (const auto reply = device->poll(wire::Instant{}); reply && reply->answer) {
        welcome_ = std::get<dut::Welcome>(*reply->answer);
    }
}

std::unique_ptr<dut::VirtualDut> VirtualTestbed::make_device(wire::VlanId vlan) const {
    dut::VirtualDutOptions options;
    options.description.mac = kDutMac;
    options.description.addresses = {kDutV4, kDutV6};
    options.description.vlans = {vlan};
    options.description.traits = options_.traits;
    options.description.least_cqe = options_.least_cqe;
    options.engine = options_.engine;
    // Rates above that of the port would limit nothing.
    engine::Dcqcn& dcqcn = options.engine.behaviour.congestion.reaction.dcqcn;
    dcqcn.line_rate = std::min(dcqcn.line_rate, options_.line_rate);
    dcqcn.min_rate = std::min(dcqcn.min_rate, options_.line_rate / 2);
    options.checks = options_.checks;
    if (options_.filter) options.filter = options_.filter();
    options.lacks = options_.lacks;
    options.told = options_.told;
    options.neighbour = kTesterMac;
    return std::make_unique<dut::VirtualDut>(std::move(options));
}

Environment VirtualTestbed::environment(const Network& network) const {
    const bool v4 = network.ip_version == 4;
    Environment environment;
    environment.dut = welcome_;
    environment.gid_index = (network.vlan_id() == 0 ? 0 : kGidsOfANetwork) + (v4 ? 0 : 1);
    environment.vlan = network.vlan;
    environment.dut_address = v4 ? kDutV4 : kDutV6;
    environment.dut_mac = kDutMac;
    environment.dut_others = {ahead_of(environment.dut_address, kHostAddressAhead)};
    const wire::IpAddress tester = v4 ? kTesterV4 : kTesterV6;
    environment.tester = {
        .mac = kTesterMac, .address = tester, .spare = spare_of(tester), .named = {}};
    const InexactLab& lab = options_.lab;
    const wire::Duration held_back = options_.noise.any() ? kMostNoiseDelay : wire::Duration(0);
    environment.take_round_trips(
        2 * (lab.path_delay.value_or(sim::kLinkDelay) + lab.jitter + held_back));
    environment.settle = std::max(environment.settle, kVirtualSettle);
    if (!lab.path_delay && !options_.noise.any()) {
        environment.path_delay = sim::kLinkDelay;
        environment.line_rate = options_.line_rate;
    }
    environment.stamp_width = lab.stamp_width;
    environment.dut_port = welcome_.ports.front().port;
    const wire::Mtu active = welcome_.ports.front().mtu_active;
    environment.path_mtu = std::min(environment.path_mtu, active);
    environment.largest_mtu = interpreter::largest_mtu(environment.tester.mtu, active);
    environment.usual_dscp = options_.dscp;
    environment.usual_flow = kVirtualFlow;
    environment.seed = options_.seed;
    environment.ack_timer_floor = options_.ack_timer_floor;
    return environment;
}

std::optional<std::string> VirtualTestbed::lacks(const Network& network) {
    if (network.ip_version != 4 && network.ip_version != 6) return "no such IP version";
    const auto& gids = welcome_.ports.front().gids;
    const bool vlan = network.vlan_id() != 0;
    const bool found = std::ranges::any_of(gids, [&](const dut::Gid& gid) {
        return gid.address.v4() == (network.ip_version == 4) && gid.vlan.has_value() == vlan;
    });
    if (found) return std::nullopt;
    return fmt::format("the device has no GID for IPv{}{}", network.ip_version,
                       vlan ? " in a VLAN" : "");
}

bool VirtualTestbed::link_capable(std::string_view word) const {
    return word == "raw" || word == "hwtime";
}

CaseResult VirtualTestbed::play(const script::Case& script, const script::Run& run,
                                const Environment& environment) {
    const auto device = make_device(environment.vlan.value_or(kSomeVlan));
    Interpreter interpreter(script, run, environment);
    const bool ended = Play(interpreter, *device, options_, environment.wire_seed).run();
    CaseResult result = interpreter.finish();
    if (!ended) {
        result.become(Verdict::Error, FindingKind::Internal,
                      "the case did not end: script and device wait for each other");
    }
    return result;
}

RunInfo VirtualTestbed::info() const {
    RunInfo info = begun_info(options_.seed, welcome_);
    info.mutant = options_.mutant;
    info.dut = options_.device;
    info.link = "virtual, 1 us";
    const WireNoise& noise = options_.noise;
    const auto add = [&](std::string_view what, double share) {
        if (share > 0) info.link += fmt::format(", {} {:g} %", what, 100 * share);
    };
    add("loss", noise.loss);
    add("duplicates", noise.duplicate);
    add("reordering", noise.reorder);
    add("corruption", noise.corrupt);
    return info;
}

} // namespace veriroce::testbed
