// Whether a packet matches a line, in which fields it differs, and whether it needs a line at all.
// Pure functions of the line, the packet and the QP's earlier packets.
//
// Source: conformance/script/README.md; rules ACK-02, ACK-03, ACK-07, REQ-31, N-05, N-38.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/interpreter/entry.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/qp_book.hpp"
#include "conformance/script/evaluate.hpp"

namespace veriroce::interpreter {

// The state that a comparison depends on.
struct MatchContext {
    const QpBook& book;
    const Environment& environment;
    // The value of a name in an expression for this field.
    std::function<std::optional<std::int64_t>(std::string_view, std::optional<script::FieldName>)>
        value_of_name;
    // The packet of `= NAME`; null if there is none.
    std::function<const wire::Packet*(std::string_view)> packet_of_name;
    std::uint8_t timeout = 0; // the DUT's local ACK timeout
    // TMO-08: the DUT may send again sooner than that, because it is known to, or because the case
    // is not about its timer.
    bool early_resends = false;
    // When the tester's latest packet was on the wire, if the DUT's answer to it may still be
    // under way.
    std::optional<Interval> last_sent;
};

struct Match {
    bool satisfied = false;
    bool claims = true;      // a READ response that covers an ACK line stays for its own line
    bool right_kind = false; // the packet has the line's kind; its fields may differ
    std::vector<Difference> differences; // all of them
    std::string detail;                  // what the differences do not tell
};
Met<Match> match(const script::ExpectPacket& line, const Entry& entry, const MatchContext& context);

// Whether a line's comparison holds of a value that stands so to the line's. Values without an
// order are equivalent or unordered.
bool holds(script::Comparison comparison, std::partial_ordering order);

// "NAK", "RDMA_READ_REQUEST", "= first": what the line calls the packet.
std::string kind_text(const script::PacketKind& kind);
// The match of this field; null if the line does not name it.
const script::FieldMatch* match_of(const std::vector<script::FieldMatch>& matches,
                                   script::FieldName field);

// A field's value in script notation; nothing if the packet does not have the field.
std::optional<std::int64_t> field_of(const Entry& entry, const script::FieldName& field);
// What names and fields are worth in a line about this packet. It refers to the packet and the
// context.
script::Lookup lookup_of(const Entry& entry, const MatchContext& context,
                         std::optional<script::FieldName> field);

// Whether the DUT may send this packet without a line that expects it: a CNP, an ACK of what was
// sent, a repetition that its timer or the tester's duplicate explains. A packet with a wrong ICRC
// needs no line either: it was lost, and is blamed for its ICRC alone (CRC-01).
bool needs_no_line(const Entry& entry, const MatchContext& context);
// The same while the tester's engine answers on the QP: it alone knows which requests and NAKs are
// due, but no packet may be malformed, answer what was never sent, or count more than was sent.
bool needs_no_line_of_engine(const Entry& entry, const MatchContext& context);
// Whether it is such a repetition before the configured timeout.
bool is_early_resend(const Entry& entry, const MatchContext& context);
// Whether both are ACKs, and equal.
bool same_acknowledge(const wire::Packet& one, const wire::Packet& other);

} // namespace veriroce::interpreter
