// `<` lines: the packets that they wait for, and when those came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
class Record;
struct Awaited;
struct CaseQp;
struct MatchContext;
struct OpenLines;
struct Question;

// `<`
struct AwaitedPacket {
    const script::ExpectPacket* line = nullptr;
    script::ExpectPacket next;           // the line for the next packet
    std::optional<std::uint64_t> length; // of a whole message
    std::int64_t packets = 0;            // that have come
    std::vector<std::byte> data;         // in them
    // A packet of the right kind that was passed over (its place in the record), and how it
    // differs.
    std::optional<std::size_t> near;
    std::vector<Difference> lacks;
    std::string detail;
    std::optional<std::size_t> passed; // the last one that was passed over
    bool window_opened = false;        // the tester answered what held the packet back (REQ-02)
};

Task<Met<>> play(Interpreter& interpreter, const script::ExpectPacket& line, Span span);

// The state of this QP that packets are compared with.
MatchContext context_of(Interpreter& interpreter, const CaseQp& qp);

// What waiting.hpp asks of each kind of line.
Met<AwaitedPacket> awaited_by(Interpreter& interpreter, const script::ExpectPacket& line,
                              const CaseQp& qp, Span span);
// Nothing: packets come by themselves.
Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedPacket& what,
                    Question question);
// Gives each unclaimed packet of the line's QP to the first open line that it satisfies. A packet
// that satisfies none must be lawful without a line.
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line, const AwaitedPacket& what);
// Whether the QP's next packet satisfies the line.
Met<bool> is_there(Interpreter& interpreter, const Awaited& line, const AwaitedPacket& what);
Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedPacket& what);
// The PSN of the DUT's request that the line waits for now; nothing if it names none.
std::optional<std::int64_t> request_wanted(Interpreter& interpreter, const AwaitedPacket& packet,
                                           const CaseQp& qp);
// `data=` of a line, or of `no`, against these bytes: what differs, or nothing if the line's
// comparison holds.
Task<Met<std::vector<Difference>>> data_differences(Interpreter& interpreter,
                                                    const script::FieldMatch& match,
                                                    const CaseQp& qp,
                                                    const std::vector<std::byte>& found, Span span);
// `data=` of a line whose packets have all come.
Task<Met<>> compare_data(Interpreter& interpreter, const Awaited& line);
// The latest frame of the DUT that no QP takes, by its place in the record, if it came since then.
std::optional<std::size_t> astray_since(Interpreter& interpreter, const Interval& since);

// TMO-08: whether the DUT may send again before its ACK timer says: it is known to do so, or the
// case is about something else.
bool early_resends_pass(Interpreter& interpreter);
// TMO-03: whether the DUT says that its retries are used up, and has sent one request that often.
bool retries_used_up(const Record& record, const CaseQp& qp);
// `tags unscripted`: nothing of the DUT needs a line, and lines pass over what they do not name.
bool is_unscripted(const Interpreter& interpreter);
// A packet that no line claims is passed over if it is lawful without a line. While the tester's
// engine answers on the QP, the engine alone decides.
bool passes_without_line(Interpreter& interpreter, const CaseQp& qp, std::size_t index);
// The same where a line expects silence: a CNP (CNP-05), a packet with a wrong ICRC, and the copy
// of an ACK that left before our last packet arrived (ACK-04).
bool passes_in_silence(Interpreter& interpreter, const CaseQp& qp, std::size_t index);
Finding unexpected_packet(const CaseQp& qp, const Record& record, std::size_t index, Span span);

} // namespace veriroce::interpreter
