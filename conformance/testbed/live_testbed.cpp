#include "conformance/testbed/live_testbed.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "conformance/interpreter/link_effects.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/preflight/gather.hpp"
#include "conformance/preflight/pair.hpp"
#include "conformance/script/script.hpp"
#include "conformance/testbed/device_facts.hpp"
#include "conformance/testbed/interface_losses.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/pause_counters.hpp"

namespace veriroce::testbed {

using interpreter::Action;
using interpreter::CallDut;
using interpreter::CaseResult;
using interpreter::duration_text;
using interpreter::Environment;
using interpreter::FindingKind;
using interpreter::Interpreter;
using interpreter::kLowestTesterQpn;
using interpreter::Network;
using interpreter::SendFrame;
using interpreter::Verdict;
using preflight::link_local;

namespace {

constexpr wire::Duration kAgentPatience = std::chrono::seconds(5);
constexpr wire::Duration kResolvePatience = std::chrono::seconds(2);
// Some drivers read their counters only every two seconds.
constexpr wire::Duration kCounterPatience = std::chrono::milliseconds(2500);
constexpr wire::Duration kCounterPause = std::chrono::milliseconds(100);
constexpr wire::Duration kOneSecond = std::chrono::seconds(1);
constexpr wire::Duration kCalibrationAge = std::chrono::minutes(10);

// What round trips are measured with. An empty WRITE needs no key, no address (LEN-08) and no
// receive, so it can be sent often; a device that does not answer it gets small SENDs.
struct Calibration {
    std::string_view of;
    std::string_view script;
};
constexpr std::array kCalibrations{
    Calibration{.of = "an empty RDMA WRITE", .script = R"(rule   LEN-08
title  "Round trips of an empty RDMA WRITE"
role   responder
level  INFO

repeat 200
  > RDMA_WRITE_ONLY  len=0 dmalen=0 ackreq
  < ACK  measure rtt
end
)"},
    Calibration{.of = "a SEND of 4 bytes", .script = R"(rule   RSP-01
title  "Round trips of a SEND of 4 bytes"
role   responder
level  INFO

dut    recv id=1..100 len=4
repeat 100
  > SEND_ONLY  len=4 ackreq
  < ACK  measure rtt
end
)"}};
constexpr std::size_t kEnoughRoundTrips = 50;
constexpr std::size_t kFewRoundTrips = 8;
constexpr int kCalibrationTries = 8; // of one script, on a wire that loses packets
// Of a device whose answers cannot be measured.
constexpr wire::Duration kDefaultRoundTrip = std::chrono::milliseconds(2);
constexpr wire::Duration kDefaultStampWidth = std::chrono::milliseconds(1);

// In another VLAN the tester has no network of its own: of its addresses the one that shares most
// leading bits with the device's is the one that the device has a route to.
wire::IpAddress nearest_to(const wire::IpAddress& device,
                           const std::vector<wire::IpAddress>& pool) {
    const auto shared = [&](const wire::IpAddress& one) {
        int bits = 0;
        for (std::size_t i = 0; i < one.bytes.size(); ++i) {
            const auto differs = std::to_integer<std::uint8_t>(one.bytes[i] ^ device.bytes[i]);
            bits += std::countl_zero(differs);
            if (differs != 0) break;
        }
        return bits;
    };
    return *std::ranges::max_element(pool, {}, shared);
}

wire::Duration percentile_99(std::vector<wire::Duration> samples) {
    std::ranges::sort(samples);
    return samples.empty() ? wire::Duration(0) : samples[(samples.size() - 1) * 99 / 100];
}

} // namespace

std::expected<std::unique_ptr<LiveTestbed>, std::string>
LiveTestbed::open(const LiveTestbedOptions& options) {
    std::unique_ptr<LiveTestbed> testbed(new LiveTestbed);
    testbed->options_ = options;
    preflight::Facts facts{
        .tester = preflight::tester_facts(options.interface, options.tester_addresses)};
    auto opened = net::RawLink::open(
        {.interface = options.interface, .extra_addresses = options.tester_addresses});
    if (!opened) return std::unexpected(opened.error().text);
    testbed->link_ = std::move(*opened);

    const auto found = testbed->find_device(net::monotonic_now() + kAgentPatience);
    if (!found) return std::unexpected(found.error());
    testbed->options_.calibration = nullptr;
    facts.dut = preflight::dut_facts(options.agent.text(), *testbed->dut_, testbed->link_.get(),
                                     options.dut_addresses);
    testbed->checks_ = preflight::check(facts);
    return testbed;
}

std::expected<void, std::string> LiveTestbed::find_device(wire::Instant until) {
    auto dut = dut::RemoteDut::connect(options_.agent, options_.token, until);
    if (!dut) return std::unexpected(dut.error());
    if (auto chosen = (*dut)->choose(options_.dut_chosen); !chosen) return chosen;
    dut_ = std::move(*dut);
    tickets_.clear();
    // A device that comes back without its port or addresses leaves what was known of it.
    dut::Welcome welcome = std::exchange(welcome_, dut_->welcome());
    auto ends = std::exchange(ends_, {});
    lacking_.clear();
    if (auto chosen = choose_ends(); !chosen) {
        if (!ends.empty()) {
            welcome_ = std::move(welcome);
            ends_ = std::move(ends);
        }
        return chosen;
    }
    return calibrate();
}

std::expected<FoundAgain, std::string> LiveTestbed::find_again(wire::Duration patience) {
    const wire::Instant end = net::monotonic_now() + patience;
    const auto before = welcome_.instance;
    for (FoundAgain when = FoundAgain::AtOnce;; when = FoundAgain::Later) {
        const auto lost = std::exchange(broken_, std::nullopt);
        auto found = find_device(std::min(end, net::monotonic_now() + kAgentPatience));
        // An agent that was never gone was held up, and says nothing about the device.
        const bool held_up = found && before && welcome_.instance == before;
        if (found) return held_up ? FoundAgain::AtOnce : when;
        broken_ = lost ? lost : found.error();
        if (command_line::StopOnSignal::requested() || net::monotonic_now() + kOneSecond > end) {
            return std::unexpected(found.error());
        }
        // Packets that come meanwhile belong to no case. A link that is gone does not come back
        // here.
        const wire::Instant next = net::monotonic_now() + kOneSecond;
        while (net::monotonic_now() < next) {
            const auto received = link_->receive(next);
            if (!received) return std::unexpected(received.error().text);
        }
    }
}

// Silence must be whole: a device of which one address still answers may have lost only its agent.
SignOfLife LiveTestbed::sign_of_life() {
    for (const auto& [network, ends] : ends_) {
        const auto vlan = network.first == 0 ? std::optional<wire::VlanId>()
                                             : std::optional(wire::VlanId{.id = network.first});
        const auto answers =
            link_->answers(ends.dut, ends.tester, vlan, net::monotonic_now() + kResolvePatience);
        if (!answers) return SignOfLife::Unknown;
        if (*answers) return SignOfLife::Answers;
    }
    return ends_.empty() ? SignOfLife::Unknown : SignOfLife::Silent;
}

// --- who talks to whom ------------------------------------------------------------------------

std::expected<LiveTestbed::Ends, std::string> LiveTestbed::ends_of(const Network& network) const {
    if (welcome_.ports.empty()) {
        return std::unexpected(fmt::format("the agent at {} names no port of the device {}",
                                           options_.agent.text(), welcome_.device));
    }
    const bool v4 = network.ip_version == 4;
    const std::uint16_t vlan = network.vlan_id();
    Ends ends;
    const auto fits = [&](const wire::IpAddress& one) {
        return one.v4() == v4 && !link_local(one);
    };
    const auto& pool =
        link_->extra_addresses().empty() ? link_->own_addresses() : link_->extra_addresses();
    const std::string_view family = v4 ? "IPv4" : "IPv6";
    if (std::ranges::none_of(pool, fits)) {
        return std::unexpected(
            fmt::format("the tester has no {} address on {}", family, link_->interface()));
    }
    const auto& wanted = options_.dut_addresses;
    std::vector<dut::Gid> gids;
    std::ranges::copy_if(
        welcome_.ports.front().gids, std::back_inserter(gids), [&](const dut::Gid& one) {
            if (one.type != "rocev2" || !fits(one.address) || one.vlan.value_or(0) != vlan) {
                return false;
            }
            return std::ranges::none_of(wanted, fits) ||
                   std::ranges::find(wanted, one.address) != wanted.end();
        });
    if (gids.empty()) {
        return std::unexpected(fmt::format(
            "the device has no usable RoCEv2 GID with an {} address{}; see --dut-address", family,
            vlan == 0 ? "" : fmt::format(" in VLAN {}", vlan)));
    }
    std::vector<wire::IpAddress> testers;
    std::ranges::copy_if(pool, std::back_inserter(testers), fits);
    const preflight::Pair pair = preflight::best_pair(gids, testers, link_->subnets());
    ends.dut = pair.gid.address;
    ends.gid_index = pair.gid.index;
    ends.tester = vlan == 0 ? pair.tester : nearest_to(ends.dut, pool);
    const auto in_vlan = vlan == 0 ? std::optional<wire::VlanId>() : network.vlan;
    const auto mac =
        link_->resolve(ends.dut, ends.tester, in_vlan, net::monotonic_now() + kResolvePatience);
    if (!mac) return std::unexpected(mac.error().text);
    ends.dut_mac = *mac;
    return ends;
}

std::expected<void, std::string> LiveTestbed::choose_ends() {
    for (const int version : {4, 6})
        find_ends({.ip_version = version});
    if (!ends_.empty()) return {};
    const std::string& v4 = lacking_[{0, 4}];
    const std::string& v6 = lacking_[{0, 6}];
    return std::unexpected(v4 == v6 ? v4 : fmt::format("{}; {}", v4, v6));
}

void LiveTestbed::find_ends(const Network& network) {
    const Key key{network.vlan_id(), network.ip_version};
    if (ends_.contains(key) || lacking_.contains(key)) return;
    auto ends = ends_of(network);
    if (ends)
        ends_[key] = *ends;
    else
        lacking_[key] = ends.error();
}

Environment LiveTestbed::environment(const Network& network) const {
    const auto found = ends_.find({network.vlan_id(), network.ip_version});
    const Ends& ends = found == ends_.end() ? ends_.begin()->second : found->second;
    Environment environment;
    environment.dut = welcome_;
    environment.gid_index = ends.gid_index;
    environment.vlan = network.vlan;
    environment.dut_address = ends.dut;
    environment.dut_mac = ends.dut_mac;
    environment.tester = {
        .mac = link_->mac(), .address = ends.tester, .spare = {}, .named = {}, .mtu = link_->mtu()};
    std::ranges::copy_if(link_->extra_addresses(), std::back_inserter(environment.tester.spare),
                         [&](const wire::IpAddress& one) {
                             return one.v4() == ends.tester.v4() && one != ends.tester;
                         });
    const auto add_others = [&](const std::vector<wire::IpAddress>& others) {
        std::ranges::copy_if(others, std::back_inserter(environment.dut_others),
                             [&](const wire::IpAddress& one) {
                                 return one.v4() == ends.dut.v4() && !link_local(one);
                             });
    };
    add_others(options_.dut_other_addresses);
    if (const auto& others = welcome_.ports.front().other_addresses) add_others(*others);
    environment.dut_port = welcome_.ports.front().port;
    environment.largest_mtu =
        interpreter::largest_mtu(link_->mtu(), welcome_.ports.front().mtu_active);
    environment.path_mtu = environment.largest_mtu; // as devices are used (LEN-01)
    environment.usual_dscp = options_.dscp;
    environment.mig_req = true; // a device may take packets without it by a slow path (BTH-15)
    environment.seed = options_.seed;
    environment.take_round_trips(round_trip_p99_);
    environment.sleep_p99 = sleep_p99_;
    environment.stamp_width = stamp_width_;
    return environment;
}

std::optional<std::string> LiveTestbed::lacks(const Network& network) {
    find_ends(network);
    const auto found = lacking_.find({network.vlan_id(), network.ip_version});
    if (found == lacking_.end()) return std::nullopt;
    return found->second;
}

bool LiveTestbed::link_capable(std::string_view word) const {
    return word == "raw";
}

RunInfo LiveTestbed::info() const {
    RunInfo info = begun_info(options_.seed, welcome_);
    info.dut = fmt::format("{} {} {} (backend {}) at {}", welcome_.name, welcome_.device,
                           welcome_.firmware, welcome_.backend, options_.agent.text());
    if (welcome_.kernel) info.dut_host = "kernel " + *welcome_.kernel;
    if (welcome_.driver) {
        info.dut_host += (info.dut_host.empty() ? "" : ", ") + ("driver " + *welcome_.driver);
    }
    info.link = fmt::format("{} {} MTU {}", link_->interface(), link_->mac().text(), link_->mtu());
    info.notes = link_->notes();
    for (const auto& [network, ends] : ends_) {
        info.notes.push_back(fmt::format("IPv{}: tester {}, DUT {}", network.second,
                                         ends.tester.text(), ends.dut.text()));
    }
    for (const preflight::CheckResult& one : checks_) {
        if (one.grade != preflight::Grade::Ok) info.notes.push_back(preflight::note_of(one));
    }
    if (!calibration_note_.empty()) info.notes.push_back(calibration_note_);
    const Environment environment = this->environment({});
    info.notes.push_back(fmt::format(
        "99 % of round trips take at most {}, and 99 % of 1 ms sleeps at most {}; settle time {}, "
        "patience {}",
        duration_text(round_trip_p99_), duration_text(sleep_p99_),
        duration_text(environment.settle), duration_text(environment.patience)));
    return info;
}

// --- time -------------------------------------------------------------------------------------

// A device that does not answer now will not answer the next case either, and is blamed there: the
// older figures stay.
void LiveTestbed::keep_calibrated() {
    if (const auto change = link_->change();
        change && std::ranges::find(changes_, *change) == changes_.end()) {
        changes_.push_back(*change);
    }
    if (broken_ || net::monotonic_now() < calibrated_at_ + kCalibrationAge) return;
    (void)calibrate();
    calibrated_at_ = net::monotonic_now();
}

std::expected<void, std::string> LiveTestbed::calibrate() {
    std::vector<wire::Duration> sleeps;
    for (int i = 0; i < 200; ++i) {
        const wire::Instant before = net::monotonic_now();
        // Frames that come meanwhile end the sleep early; they belong to no case yet.
        while (net::monotonic_now() < before + std::chrono::milliseconds(1)) {
            const auto received = link_->receive(before + std::chrono::milliseconds(1));
            if (!received) return std::unexpected(received.error().text);
        }
        sleeps.push_back(net::monotonic_now() - before);
    }
    sleep_p99_ = percentile_99(std::move(sleeps));

    const auto measured = round_trips();
    if (!measured) return std::unexpected(measured.error());
    calibrated_at_ = net::monotonic_now();
    if (measured->empty()) {
        round_trip_p99_ = kDefaultRoundTrip;
        stamp_width_ = kDefaultStampWidth;
    } else {
        round_trip_p99_ = percentile_99(*measured);
        // A stamp is made when the kernel takes the frame from the device; until then it has been
        // under way for at most the fastest half of a round trip less.
        const wire::Duration fastest = *std::ranges::min_element(*measured);
        stamp_width_ = std::max(wire::Duration(0), (round_trip_p99_ - fastest) / 2);
    }
    link_->set_path_delay(stamp_width_);
    return {};
}

// Answers are asked for and nothing else: a device with defects is to be tested, too. Empty if the
// device speaks, but answers nothing that could be measured; an error if nothing comes from it, or
// nothing that could be measured any more.
std::expected<std::vector<wire::Duration>, std::string> LiveTestbed::round_trips() {
    const bool measured_before = round_trip_p99_ != wire::Duration(0) && calibration_note_.empty();
    Environment environment = this->environment({.ip_version = ends_.begin()->first.second});
    environment.patience = std::max(environment.patience, kAgentPatience);
    environment.first_tester_qpn = kLowestTesterQpn;
    environment.judged = false;
    std::string unmeasured;
    bool spoke = false;
    for (const Calibration& one : kCalibrations) {
        const auto script = script::compile("calibration.roce", one.script);
        if (!script) return std::unexpected("the calibration script does not compile");
        CaseResult result;
        std::vector<wire::Duration> measured;
        // A lost packet ends a play: the next one goes on.
        for (int tries = 0; tries < kCalibrationTries && !broken_; ++tries) {
            result = play(script->test_case, script->runs.front(), environment);
            ++environment.first_tester_qpn.value; // what comes late is not for the next
            environment.patience = kOneSecond;    // by now neighbours and caches are awake
            if (options_.calibration != nullptr) {
                options_.calibration->push_back(result);
                options_.calibration->back().id = fmt::format("calibration with {}", one.of);
            }
            std::ranges::copy(result.measures["rtt"], std::back_inserter(measured));
            spoke = spoke || std::ranges::any_of(result.packets, [](const auto& packet) {
                        return packet.from == interpreter::Side::Dut;
                    });
            if (measured.size() >= kEnoughRoundTrips) break;
            // More likely it is the device than the wire.
            if (measured.empty() || (tries > 0 && measured.size() < kFewRoundTrips)) break;
        }
        if (broken_) return std::unexpected(*broken_);
        if (measured.size() >= kEnoughRoundTrips) {
            calibration_note_.clear();
            if (!unmeasured.empty()) {
                calibration_note_ = fmt::format("round trips were measured with {}, because of {}",
                                                one.of, unmeasured);
            }
            return measured;
        }
        unmeasured += fmt::format("{}{} ({})", unmeasured.empty() ? "" : " and ", one.of,
                                  result.findings.empty() ? "too few answers" : result.reason());
    }
    const std::string dut = environment.dut_address.text();
    if (!spoke) {
        return std::unexpected(fmt::format(
            "no RoCEv2 packet comes from the device at {}, which answers ARP: most likely "
            "an RDMA device owns the tester's {} and takes its packets, see 'veriroce "
            "doctor -i {}'; the device answers neither {}",
            dut, link_->interface(), link_->interface(), unmeasured));
    }
    if (measured_before) {
        return std::unexpected(
            fmt::format("the device at {} answers no longer: {}", dut, unmeasured));
    }
    calibration_note_ = fmt::format("the device's round trips could not be measured with {}: they "
                                    "are taken to last {} at most, "
                                    "and times finer than {} are not judged",
                                    unmeasured, duration_text(kDefaultRoundTrip),
                                    duration_text(kDefaultStampWidth));
    return std::vector<wire::Duration>{};
}

// --- the play ---------------------------------------------------------------------------------

CaseResult LiveTestbed::play(const script::Case& script, const script::Run& run,
                             const Environment& environment) {
    const std::uint64_t drops_before = link_->drops();
    const auto losses_before = losses_of(link_->interface());
    merged_.reset();
    const bool pauses = interpreter::sends_pause(run);
    const auto pauses_before = pauses ? received_pause() : decltype(received_pause()){};
    Interpreter interpreter(script, run, environment);
    interpreter.start(net::monotonic_now());
    play_on(interpreter);
    CaseResult result = interpreter.finish();
    const auto harness_failed = [&](std::string reason) {
        result.become(Verdict::Error, FindingKind::Environment, std::move(reason));
    };
    if (broken_) {
        harness_failed(*broken_);
    } else if (merged_) {
        harness_failed(*merged_);
    } else if (const std::uint64_t lost = link_->drops() - drops_before; lost > 0) {
        harness_failed(fmt::format("the kernel dropped {} packets of this capture", lost));
        result.lost_packets = lost;
    } else if (pauses && result.verdict == Verdict::Pass) {
        if (auto reason = no_pause_since(pauses_before)) {
            result.become(Verdict::Skip, FindingKind::Unsupported, std::move(*reason));
        }
    } else if (losses_before) {
        const auto losses = losses_of(link_->interface());
        if (losses) hold_to_losses(result, *losses_before, *losses);
    }
    return result;
}

// The device's counters of received PAUSE frames; empty if it has none, or does not answer.
std::map<std::string, std::uint64_t> LiveTestbed::received_pause() {
    const wire::Instant start = net::monotonic_now();
    const dut::CallId call = dut_->submit(dut::Counters{}, start);
    while (net::monotonic_now() < start + kAgentPatience) {
        const auto reply = dut_->poll(net::monotonic_now());
        if (!reply) {
            net::wait_for(dut_->descriptor(), POLLIN, start + kAgentPatience);
            continue;
        }
        if (reply->call != call) continue; // of a case that has ended
        if (!reply->answer) break;
        auto counters = std::get<dut::CounterValues>(*reply->answer).values;
        std::erase_if(counters,
                      [](const auto& one) { return !net::counts_received_pause(one.first); });
        return counters;
    }
    return {};
}

std::optional<std::string>
LiveTestbed::no_pause_since(const std::map<std::string, std::uint64_t>& before) {
    if (before.empty()) {
        return "it sends PAUSE frames, and the device has no counter that says whether they arrive";
    }
    const wire::Instant end = net::monotonic_now() + kCounterPatience;
    do {
        if (received_pause() != before) return std::nullopt;
        net::wait_for(dut_->descriptor(), POLLIN, net::monotonic_now() + kCounterPause);
    } while (net::monotonic_now() < end);
    return fmt::format(
        "it sends PAUSE frames, but the device's counter {} did not move: a switch, or "
        "the tester's NIC, keeps them",
        before.begin()->first);
}

void LiveTestbed::play_on(Interpreter& interpreter) {
    // No wait of this loop is longer than a second.
    while (!broken_ && !interpreter.finished() && !command_line::StopOnSignal::requested()) {
        while (auto action = interpreter.events().poll_action()) {
            if (!carry_out(interpreter, std::move(*action))) return;
        }
        if (take_replies(interpreter)) continue;
        if (interpreter.finished() || !take_packets(interpreter)) return;
    }
}

bool LiveTestbed::carry_out(Interpreter& interpreter, Action action) {
    if (auto* call = std::get_if<CallDut>(&action)) {
        tickets_[dut_->submit(std::move(call->request), net::monotonic_now())] = call->ticket;
        return true;
    }
    const auto& send = std::get<SendFrame>(action);
    const auto sent = link_->send(send.frame);
    if (!sent) {
        broken_ = sent.error().text;
        return false;
    }
    numbers_[sent->number] = send.number;
    interpreter.sent(send.number, sent->when);
    return true;
}

// What came before the answer is there before it: the script goes on with the answer, at a time by
// which it may look for a packet in vain.
bool LiveTestbed::take_replies(Interpreter& interpreter) {
    bool any = false;
    while (auto reply = dut_->poll(net::monotonic_now())) {
        const auto now = take_packets_at_hand(interpreter);
        if (!now) return true;
        const auto ticket = tickets_.extract(reply->call);
        if (ticket.empty()) continue; // of a case that has ended
        any = true;
        if (!reply->answer &&
            reply->answer.error().code == static_cast<std::int32_t>(dut::FailureCode::Lost)) {
            broken_ = reply->answer.error().message;
        }
        interpreter.advance(*now);
        interpreter.events().reply(ticket.mapped(), std::move(reply->answer));
    }
    return any;
}

// Waits for what comes first, takes all packets that are there, and only then lets the time go on:
// a deadline may not overtake a packet that was in time.
bool LiveTestbed::take_packets(Interpreter& interpreter) {
    wire::Instant until = net::monotonic_now() + kOneSecond;
    for (const auto& one : {interpreter.deadline(), dut_->next_deadline()}) {
        if (one) until = std::min(until, *one);
    }
    const std::array also{dut_->descriptor()};
    const auto received = link_->receive(until, also);
    if (!received) {
        broken_ = received.error().text;
        return false;
    }
    if (*received) take_packet(interpreter, **received);
    const auto now = take_packets_at_hand(interpreter);
    if (!now) return false;
    interpreter.advance(*now);
    return true;
}

// All that came before a time, which is told; what comes in all the while would never end. Nothing
// if the link is gone.
std::optional<wire::Instant> LiveTestbed::take_packets_at_hand(Interpreter& interpreter) {
    const wire::Instant start = net::monotonic_now();
    while (true) {
        const auto received = link_->receive(wire::Instant::min());
        if (!received) {
            broken_ = received.error().text;
            return std::nullopt;
        }
        if (!*received) return start;
        take_packet(interpreter, **received);
        if ((*received)->when.earliest >= start) return start;
    }
}

void LiveTestbed::take_packet(Interpreter& interpreter, const net::Received& packet) {
    if (packet.outgoing) {
        const auto number = packet.sent_number ? numbers_.extract(*packet.sent_number)
                                               : decltype(numbers_)::node_type{};
        if (!number.empty()) {
            interpreter.sent(number.mapped(), packet.when);
        }
        return;
    }
    if (packet.merged) {
        merged_ = fmt::format("{} merged received packets into one (GRO or LRO), which therefore "
                              "cannot be judged; turn this off with 'ethtool -K {} gro off lro off "
                              "rx-gro-hw off'",
                              link_->interface(), link_->interface());
        return;
    }
    interpreter.events().packet(packet.frame, packet.when);
}

} // namespace veriroce::testbed
