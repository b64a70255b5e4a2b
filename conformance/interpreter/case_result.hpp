// What one run of one case found, as plain values. Nothing here depends on the clock: two runs of
// one seed are equal.
// Source: conformance/README.md, "How a verdict is made".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/finding.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/wire/bytes.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::interpreter {

enum class Verdict : std::uint8_t {
    Pass,
    Fail,  // a MUST broken
    Warn,  // a SHOULD broken, or an answer that is lawful but unwise
    Info,  // measured
    Skip,  // the DUT or the link cannot do it; the reason names what is missing
    Xfail, // a known deviation
    Xpass, // a known deviation that did not show
    Error, // the harness could not do its part; says nothing about the DUT
};
std::string_view name_of(Verdict verdict); // "PASS", ...

using rules::Side;
using wire::Interval; // when a packet was on the wire at the tester

// A packet of the case, as it was on the wire.
struct RecordedPacket {
    Side from = Side::Tester;
    std::vector<std::byte> frame;
    Interval at;
    std::string script;               // in script notation: "< NAK psn=1 msn=1 code=PSN_SEQUENCE"
    std::vector<std::string> remarks; // "injected: drop", "the packet that line 14 did not expect"
    std::uint32_t line = 0; // of the script, which sent it, expected it or forbade it; 0 if none
    // Whether it passed the tester's port. A packet that a fault rule took away did not, nor did
    // one that it made from a packet of the DUT.
    bool on_wire = true;
};

// A QP pair of the case, in one of its lives: PSN 0 of the script is the first PSN of the side
// whose requests are numbered.
struct RecordedQp {
    std::string name; // in the script; empty for the case's own
    wire::Qpn tester;
    wire::Qpn dut;
    wire::Psn tester_psn; // the first of the tester's requests
    wire::Psn dut_psn;
};

// What the application on the DUT's host asked for, or learnt.
struct HostStep {
    std::size_t before = 0; // the packet of the record that came next
    wire::Instant at;       // at the tester
    std::string text; // as scripts write it: "post SEND id=1", "done send id=1 status=SUCCESS"
};

// A rule that the run violates according to the judge or the model, whatever the script says.
struct Violation {
    std::string rule;
    rules::Level level = rules::Level::Must;
    bool certain = false;             // false: an ordinary network could explain it
    std::vector<std::size_t> packets; // that prove it: indices in CaseResult::packets
    std::string measured;             // "MSN is 0"
    std::string allowed;              // "MSN must be 1"
    // Whether a lossy wire could explain a certain one.
    rules::FindingClass of_class = rules::FindingClass::Contradiction;
};

// Another play of the same case, with the same seed and new QPs. A wire may have disturbed either.
struct OtherPlay {
    Verdict verdict = Verdict::Error;
    std::vector<Finding> findings;
    std::vector<RecordedPacket> packets;
    std::string capture; // the file that gets its packets; empty if none does
};

// How often a fault rule of the case acted.
struct FaultCount {
    std::string rule;
    std::uint64_t fired = 0;
};

struct CaseResult {
    std::string id; // group/name[mtu=256]
    std::vector<std::string> rules;
    std::string title;
    rules::Level level = rules::Level::Must;
    Verdict verdict = Verdict::Error;
    std::vector<Finding> findings; // the gravest first; empty for PASS
    std::string file;              // of the script
    std::string command;           // that runs this case again
    std::string capture;           // the file that gets its packets; empty if none does
    std::map<std::string, std::vector<wire::Duration>> measures;
    std::vector<FaultCount> faults;
    std::vector<RecordedPacket> packets;
    std::vector<RecordedQp> qps; // lives that ended first
    std::vector<HostStep> host;  // in order
    std::vector<Violation> violations;
    std::vector<std::uint32_t> states; // model::visited_states, where the environment asks for them
    std::uint32_t tolerated_retransmissions = 0; // signs of a slow lab
    std::uint64_t damaged_packets = 0;           // of the DUT, which came with a wrong ICRC
    std::uint64_t lost_packets = 0;     // that the tester dropped: no FAIL without a replay
    std::vector<OtherPlay> other_plays; // in order; empty where one play was enough
    // In how many of all plays the finding was that decided the verdict; 0 where one was enough.
    std::uint32_t seen_in = 0;

    // All findings in one line; empty if there are none.
    [[nodiscard]] std::string reason() const { return summary(findings); }
    // The gravest finding that names a line or a packet; null if none does.
    [[nodiscard]] const Finding* blamed() const;
    // The values of that finding; empty or 0 if there is none.
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] std::string actual() const;
    [[nodiscard]] std::uint32_t line() const;
    // Replaces all findings by one that says nothing about the DUT.
    void become(Verdict becomes, FindingKind kind, std::string detail);
    // "seen in 2 of 3 plays"; empty where one play was enough.
    [[nodiscard]] std::string seen_text() const;
};

} // namespace veriroce::interpreter
