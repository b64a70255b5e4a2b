// The judge over the packets of a case: a rule that no line of the script names is kept all the
// same. Source: script.md "Strictness" as conformance/script/README.md tells it.
#pragma once

#include <vector>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/qp_book.hpp"

namespace veriroce::interpreter {

// A QP of the case as the judge has to know it.
struct JudgedQp {
    QpIdentity identity;
    std::uint8_t dut_timeout = 0; // its local ACK timeout code
    wire::IpAddress tester_address;
};

// The rules that the DUT broke, by the packets that passed the tester's port. What the tester sent
// is known to be wrong on purpose and not judged. `end`: until when the tester listened.
std::vector<Violation> judge_packets(const std::vector<RecordedPacket>& packets,
                                     const std::vector<JudgedQp>& qps,
                                     const Environment& environment, wire::Instant end);

// A case whose script was content fails all the same by a certain MUST, and warns by a SHOULD.
void blame_violations(CaseResult& result);

} // namespace veriroce::interpreter
