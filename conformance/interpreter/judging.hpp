// The judge over the packets of a case: a rule that no line of the script names is kept all the
// same. Source: "What needs no line" in conformance/script/README.md.
#pragma once

#include <string_view>
#include <vector>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/qp_book.hpp"

namespace veriroce::interpreter {

// The facts about a QP of the case that the judge needs.
struct JudgedQp {
    QpIdentity identity;
    std::uint8_t dut_timeout = 0; // its local ACK timeout code
    wire::IpAddress tester_address;
    bool early_resends = false; // TMO-08: it may send again before its timer says
};

// The rules that the DUT violates in the recorded packets: those that passed the tester's port; in
// virtual time, the DUT's. The tester's
// packets are not judged: they may be wrong on purpose. `end`: until when the tester listened.
std::vector<Violation> judge_packets(const std::vector<RecordedPacket>& packets,
                                     const std::vector<JudgedQp>& qps,
                                     const Environment& environment, wire::Instant end);

// A packet of the DUT that came with a wrong ICRC, by its place in CaseResult::packets.
struct DamagedPacket {
    std::size_t packet = 0;
    bool cnp = false;
    std::uint32_t found = 0;
    std::uint32_t right = 0;
};

// CRC-01 and CRC-10 on a link whose packets are recorded at the tester's port. A wire damages
// packets very rarely: one is possible, several in one run are the device's doing.
std::vector<Violation> judge_damage(const std::vector<DamagedPacket>& packets);

// Whether who breaks the rule has sent a wrong ICRC.
bool is_icrc_rule(std::string_view rule);

// A certain violation of a MUST fails a case whose lines all passed; one of a SHOULD warns. A
// wrong ICRC is told whatever else was found, because the tester drops the packet: a single one
// warns where the case was content, several fail it, and fail it too where the tester could not
// play on without the packets.
void blame_violations(CaseResult& result);

// Adds the violations of a MUST that no lost packet explains to the findings of a case that has
// failed for another reason: that one may be the wire's doing.
void tell_contradictions(CaseResult& result);

// A wrong ICRC in several plays of a case is the device's doing: the case fails.
void make_damage_certain(CaseResult& result);

} // namespace veriroce::interpreter
