#include "conformance/plan/wire_probe.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <map>
#include <string_view>

#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Verdict;
using testbed::Testbed;

namespace {

// Requests that need nothing but a QP; of a device that does not answer these, small SENDs.
constexpr std::array<std::string_view, 2> kScripts{R"(rule   LEN-08
title  "Whether the wire loses packets"
role   responder

repeat i in 0..99
  > RDMA_WRITE_ONLY  psn=2*i len=0 dmalen=0 ackreq
  > RDMA_WRITE_ONLY  psn=2*i+1 len=0 dmalen=0 ackreq
  < ACK  psn=2*i+1
end
)",
                                                   R"(rule   RSP-01
title  "Whether the wire loses packets"
role   responder

dut    recv id=1..100 len=4
repeat i in 0..49
  > SEND_ONLY  psn=2*i len=4 ackreq
  > SEND_ONLY  psn=2*i+1 len=4 ackreq
  < ACK  psn=2*i+1
end
dut    done recv id=1..100
)"};
constexpr std::uint64_t kPackets = 4000; // before a device is blamed
constexpr std::ptrdiff_t kBurst = 2;     // packets before the first answer
constexpr wire::Duration kPatience = std::chrono::milliseconds(100);
constexpr std::size_t kMostExchanges = 60; // each ends with the first loss
constexpr std::size_t kMostUseless = 10;   // that end before it

// Answers that came more than once. A right device answers no packet of a probe twice.
std::uint64_t copies_in(const CaseResult& exchange) {
    std::map<std::string_view, std::uint64_t> answers; // in script notation
    for (const interpreter::RecordedPacket& packet : exchange.packets) {
        if (packet.from == interpreter::Side::Dut) ++answers[packet.script];
    }
    std::uint64_t copies = 0;
    for (const auto& [answer, times] : answers)
        copies += times - 1;
    return copies;
}

bool over(const Testbed& testbed) {
    return testbed.broken() || command_line::StopOnSignal::requested();
}

// Whether enough is known. What ends at once is more likely the device's doing than the wire's.
bool probe_with(const script::Script& script, Testbed& testbed, WireRecord& wire,
                const WireProbe::NextEnvironment& next_environment) {
    std::size_t useless = 0; // in a row
    for (std::size_t i = 0; i < kMostExchanges && wire.probed() < kPackets; ++i) {
        if (over(testbed)) return true;
        Environment environment = next_environment();
        environment.plan = {};
        environment.judged = false;
        environment.patience = std::min(environment.patience, kPatience);
        const CaseResult played = testbed.play(script.test_case, script.runs.front(), environment);
        const bool passed = played.verdict == Verdict::Pass;
        const auto sent = std::ranges::count(played.packets, interpreter::Side::Tester,
                                             &interpreter::RecordedPacket::from);
        if (!passed && sent <= kBurst) {
            if (++useless == kMostUseless) return false;
            continue;
        }
        useless = 0;
        if (passed) {
            wire.add_copies(played.packets.size(), copies_in(played));
        } else {
            wire.add_probe(played.packets.size(), disturbance_of(played));
        }
    }
    return true;
}

} // namespace

WireProbe::WireProbe() {
    for (const std::string_view text : kScripts) {
        auto script = script::compile("probe.roce", text);
        assert(script.has_value());
        scripts_.push_back(std::move(*script));
    }
}

void WireProbe::probe(Testbed& testbed, WireRecord& wire,
                      const NextEnvironment& next_environment) const {
    for (const script::Script& script : scripts_) {
        if (probe_with(script, testbed, wire, next_environment)) return;
    }
    // A device that is wrong in all of them says nothing about the wire: two plays of three decide.
    wire.add_probe(kPackets);
}

} // namespace veriroce::plan
