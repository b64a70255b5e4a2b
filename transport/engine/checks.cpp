#include "transport/engine/checks.hpp"

namespace veriroce::engine {

std::optional<PacketCheck> Checks::refused_by(const PacketView& view) const {
    for (std::size_t i = 0; i < packet.size(); ++i) {
        if (!packet[i](view)) return static_cast<PacketCheck>(i);
    }
    return std::nullopt;
}

std::optional<DatagramCheck> Checks::refused_by(const DatagramView& view) const {
    for (std::size_t i = 0; i < datagram.size(); ++i) {
        if (!datagram[i](view)) return static_cast<DatagramCheck>(i);
    }
    return std::nullopt;
}

namespace {

// KEY-10: the checks in the order in which they are called.
using RequestOrder = std::array<std::size_t, kRequestChecks>;

constexpr RequestOrder keys_last = [] {
    RequestOrder order{};
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    return order;
}();

// The checks of keys come before those of receives and lengths.
constexpr RequestOrder keys_first = [] {
    constexpr auto first_key = static_cast<std::size_t>(RequestCheck::KeyKnown);
    constexpr auto last_key = static_cast<std::size_t>(RequestCheck::KeyRange);
    constexpr auto moved_before = static_cast<std::size_t>(RequestCheck::ReceiveReady);
    RequestOrder order{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < moved_before; ++i)
        order[at++] = i;
    for (std::size_t i = first_key; i <= last_key; ++i)
        order[at++] = i;
    for (std::size_t i = moved_before; i < kRequestChecks; ++i) {
        if (i < first_key || i > last_key) order[at++] = i;
    }
    return order;
}();

} // namespace

RequestRuling Checks::judge(const RequestView& view) const {
    const bool first = view.behaviour.fault_order == FaultOrder::KeysFirst;
    for (const std::size_t i : first ? keys_first : keys_last) {
        const RequestVerdict verdict = request[i](view);
        if (verdict != RequestVerdict::Accept) {
            return {.verdict = verdict, .by = static_cast<RequestCheck>(i)};
        }
    }
    return {};
}

bool Checks::answers_duplicate(const RequestView& view) const {
    for (const DuplicateFunction check : duplicate) {
        if (!check(view)) return false;
    }
    // What was executed once is only answered again, whatever has become of its key (EXT-04).
    if (view.info.operation != wire::Operation::RdmaReadRequest) return true;
    for (auto i = static_cast<std::size_t>(RequestCheck::KeyKnown); i < request.size(); ++i) {
        if (request[i](view) != RequestVerdict::Accept) return false;
    }
    return true;
}

ResponseRuling Checks::judge(const ResponseView& view) const {
    for (std::size_t i = 0; i < response.size(); ++i) {
        const ResponseVerdict verdict = response[i](view);
        if (verdict != ResponseVerdict::Take) {
            return {.verdict = verdict, .by = static_cast<ResponseCheck>(i)};
        }
    }
    return {};
}

namespace {

constexpr std::array<std::string_view, kPacketChecks> packet_names{
    "transport-version", "service", "pkey", "source-address", "destination-address", "vlan"};
constexpr std::array<std::string_view, kRequestChecks> request_names{
    "state",          "one-nak",          "expected-psn",  "known-opcode",   "opcode-sequence",
    "rights",         "reply-resources",  "receive-ready", "pad-count",      "payload-length",
    "message-length", "atomic-alignment", "receive-room",  "receive-memory", "key-known",
    "key-variant",    "key-domain",       "key-rights",    "key-range",      "flush-kind",
    "invalidate-key"};
constexpr std::array<std::string_view, kDuplicateChecks> duplicate_names{
    "remembered", "within-read", "same-atomic"};
constexpr std::array<std::string_view, kDatagramChecks> datagram_names{
    "state", "known-opcode", "shape", "qkey", "receive-ready", "receive-room"};
constexpr std::array<std::string_view, kResponseChecks> response_names{
    "state",        "shape",      "known-syndrome", "window",     "implied-nak",
    "fits-request", "read-order", "read-position",  "read-length"};
constexpr std::array<std::string_view, kSendChecks> send_names{
    "window", "rd-atomic", "fence", "credits", "retry-left", "rnr-retry-left"};

} // namespace

std::string_view name_of(PacketCheck check) {
    return packet_names[static_cast<std::size_t>(check)];
}
std::string_view name_of(RequestCheck check) {
    return request_names[static_cast<std::size_t>(check)];
}
std::string_view name_of(DuplicateCheck check) {
    return duplicate_names[static_cast<std::size_t>(check)];
}
std::string_view name_of(DatagramCheck check) {
    return datagram_names[static_cast<std::size_t>(check)];
}
std::string_view name_of(ResponseCheck check) {
    return response_names[static_cast<std::size_t>(check)];
}
std::string_view name_of(SendCheck check) {
    return send_names[static_cast<std::size_t>(check)];
}

} // namespace veriroce::engine
