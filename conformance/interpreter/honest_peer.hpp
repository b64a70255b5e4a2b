// What a correct peer does by itself while a line waits, so that lawful devices meet the line: it
// obeys RNR NAKs of requests that need no receive, repeats duplicates that drew no answer, and
// acknowledges requests that hold back the next one.
//
// Source: rules RNR-03, RDR-04, ATM-04, RSP-10, REQ-02, REQ-27, REQ-29.
#pragma once

#include <cstddef>
#include <optional>

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

// RNR-03: whether this packet of the DUT, by its place in the record, is an RNR NAK of a request
// that it has not answered yet. A SEND that has its receive may lack another resource.
bool lacks_resource(Interpreter& interpreter, const CaseQp& qp, std::size_t index);
// Waits as long as the RNR NAK asks for, and sends the refused request and all later ones again.
// A DUT that refuses the same request for good fails RNR-03.
Task<Met<>> send_again_later(Interpreter& interpreter, CaseQp& qp, std::size_t refusal, Span span);
// The same for the first such RNR NAK that no line has seen, if there is one. Whether there was.
// Where the script may want a SEND to find no receive, only RNR NAKs of other requests count.
enum class Obeys : std::uint8_t { All, NeedingNoReceive };
Task<Met<bool>> obey_refusal(Interpreter& interpreter, CaseQp& qp, Span span,
                             Obeys obeys = Obeys::All);

// RDR-04, ATM-04: sends again the duplicates that the tester sent since the DUT's last packet, each
// at most three times in all. Whether there was one.
bool repeat_duplicates(Interpreter& interpreter, CaseQp& qp);

// REQ-02: when the requests of the DUT that have no answer yet are answered, so that it may send
// the request with this PSN, which a line waits for; nothing if no request holds it back.
std::optional<wire::Instant> window_opens_at(Interpreter& interpreter, const CaseQp& qp,
                                             std::int64_t psn);
// Answers them.
Task<Met<>> open_window(Interpreter& interpreter, CaseQp& qp, Span span);

} // namespace veriroce::interpreter
