#include "transport/engine/refusal.hpp"

#include "dissector/wire/opcode.hpp"

namespace veriroce::engine {

namespace {

std::string_view words_of(RefusalOutcome outcome) {
    switch (outcome) {
    case RefusalOutcome::Dropped: return "dropped";
    case RefusalOutcome::SequenceNak: return "NAK PSN sequence error";
    case RefusalOutcome::InvalidRequestNak: return "NAK invalid request";
    case RefusalOutcome::RemoteAccessNak: return "NAK remote access error";
    case RefusalOutcome::RemoteOperationalNak: return "NAK remote operational error";
    case RefusalOutcome::RnrNak: return "RNR NAK";
    case RefusalOutcome::QpEnded: return "QP ended without an answer";
    case RefusalOutcome::ImpliedNak: return "taken as an implied NAK";
    case RefusalOutcome::RequestFailed: return "work request failed";
    }
    return "";
}

std::string packet_of(const std::optional<wire::Bth>& bth) {
    if (!bth) return "packet without a whole BTH";
    constexpr std::string_view digits = "0123456789abcdef";
    std::string qpn = "0x";
    for (int shift = 20; shift >= 0; shift -= 4)
        qpn += digits[bth->dest_qp.value >> shift & 0xF];
    return std::string(wire::opcode_info(bth->opcode).name) + " for QP " + qpn + ", PSN " +
           std::to_string(bth->psn.value());
}

} // namespace

std::string_view name_of(const RefusedBy& by) {
    return std::visit([](auto check) { return name_of(check); }, by);
}

std::string_view rules_of(const RefusedBy& by) {
    return std::visit([](auto check) { return rules_of(check); }, by);
}

std::string text_of(const Refusal& refusal) {
    std::string text = packet_of(refusal.bth) + ": " + std::string(words_of(refusal.outcome)) +
                       " by " + std::string(name_of(refusal.by));
    const std::string_view rules = rules_of(refusal.by);
    if (!rules.empty()) text += " (" + std::string(rules) + ")";
    return text;
}

} // namespace veriroce::engine
