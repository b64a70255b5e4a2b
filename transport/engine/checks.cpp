#include "transport/engine/checks.hpp"

namespace veriroce::engine {

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
