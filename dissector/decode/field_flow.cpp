// Rows of the field table: what other packets tell about a packet.
//
// A flag is present only if it is true, and a count only if it is not 0, so that a display filter
// selects by the name alone, as with Wireshark's tcp.analysis fields.
#include <array>

#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/flow_facts.hpp"

namespace veriroce::decode::rows {
namespace {

using Computed = std::optional<Value>;

template <auto Member>
Computed present(const Dissection& d, const LayerSpan& /*layer*/) {
    const auto& value = d.flow->*Member;
    using Type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, std::string_view>) {
        if (value.empty()) return std::nullopt;
        return text(value);
    } else if constexpr (requires { value.has_value(); }) {
        if (!value) return std::nullopt;
        return number(static_cast<std::uint64_t>(*value));
    } else {
        if (value == Type{}) return std::nullopt;
        return number(static_cast<std::uint64_t>(value));
    }
}

// A packet with a wrong ICRC tells nothing of its connection, so every value depends on ICRCs.
template <auto Member>
constexpr FieldRow row(std::string_view name, std::string_view title,
                       Format format = Format::Decimal) {
    return after_icrc(computed(name, title, LayerKind::Flow, format, present<Member>));
}

using F = FlowFacts;

constexpr std::array kFlowRows{
    row<&F::connection>("roce.flow.connection", "Connection"),
    row<&F::pairing>("roce.flow.pairing", "QPs Paired by", Format::Text),
    with_digits(row<&F::source_qp>("roce.flow.source_qp", "Source Queue Pair", Format::Hex), 6),
    row<&F::role>("roce.flow.role", "Sender's Role", Format::Text),
    row<&F::kind>("roce.flow.class", "Class", Format::Text),
    row<&F::message>("roce.flow.message", "Message of the Requester"),

    row<&F::retransmission>("roce.flow.retransmission", "Retransmission", Format::Boolean),
    row<&F::duplicate>("roce.flow.duplicate", "Duplicate", Format::Boolean),
    row<&F::reordered>("roce.flow.reordered", "Reordered", Format::Boolean),
    row<&F::behind>("roce.flow.behind", "Before the First PSN Seen", Format::Boolean),
    row<&F::again_of>("roce.flow.retransmission_of", "PSN Last Seen in Packet"),
    row<&F::again_after_ns>("roce.flow.retransmission_delay", "Time since That Packet",
                            Format::Seconds),
    row<&F::cause>("roce.flow.cause", "Retransmitted after", Format::Text),
    row<&F::changed>("roce.flow.changed", "Contents Differ from Those Sent before",
                     Format::Boolean),
    row<&F::gap>("roce.flow.gap", "PSNs before It That No Intact Packet Carried"),
    row<&F::jump>("roce.flow.jump", "PSNs Skipped, Too Many to Be Lost"),

    row<&F::response_to>("roce.flow.response_to", "Response to Packet"),
    row<&F::latency_ns>("roce.flow.latency", "Time since the Request", Format::Seconds),
    row<&F::acks_first>("roce.flow.acks_first", "First Packet That It Acknowledges"),
    row<&F::acks_last>("roce.flow.acks_last", "Last Packet That It Acknowledges"),
    row<&F::acks_unseen>("roce.flow.acks_unseen", "Acknowledged PSNs That Were Not Captured"),
    row<&F::nothing_new>("roce.flow.nothing_new", "Acknowledges Nothing New", Format::Boolean),
    row<&F::perhaps_late>("roce.flow.late", "Response Late or Repeated", Format::Boolean),
    row<&F::response_gap>("roce.flow.response_gap", "Response PSNs Missing before It"),
    row<&F::unanswered>("roce.flow.unanswered", "READ or Atomic Passed Over, in Packet"),
    row<&F::completes>("roce.flow.completes", "Messages Completed"),
    row<&F::completed_bytes>("roce.flow.completed_bytes", "Bytes of Completed Messages"),
    row<&F::completion_ns>("roce.flow.completion_time", "Time since the Message's First Packet",
                           Format::Seconds),
};

} // namespace

std::span<const FieldRow> followed() {
    return kFlowRows;
}

} // namespace veriroce::decode::rows
