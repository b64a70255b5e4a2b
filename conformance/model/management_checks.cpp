#include "conformance/model/management_checks.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::model {
namespace {

namespace cm = wire::cm;

constexpr std::size_t kLeastBytes = cm::kRemoteIdAt + 4;

// A message that answers another one, and where it repeats the number that the other side gave.
struct Answer {
    std::uint16_t attribute;
    std::string_view name;
    std::string_view field;
    std::size_t at;
};
constexpr std::array kAnswers{
    Answer{cm::kMra, "MRA", "remotecommid", cm::kRemoteIdAt},
    Answer{cm::kRej, "REJ", "remotecommid", cm::kRemoteIdAt},
    Answer{cm::kRep, "REP", "remotecommid", cm::kRemoteIdAt},
    Answer{cm::kDrep, "DREP", "remotecommid", cm::kRemoteIdAt},
    Answer{cm::kSidrRep, "SIDR_REP", "requestid", cm::kLocalIdAt},
    Answer{cm::kApr, "APR", "remotecommid", cm::kRemoteIdAt},
};

// Nothing if the packet is no message of connection management. A device may answer one that is too
// short or too long (CM-11).
std::optional<wire::Bytes> message_of(const Packet& packet) {
    const bool datagram = packet.packet && packet.packet->headers.has(wire::Header::Deth) &&
                          packet.packet->bth.dest_qp == wire::kGsiQpn;
    if (!datagram || packet.packet->body.size() < kLeastBytes) return std::nullopt;
    if (wire::load_u8(packet.packet->body, cm::kClassAt) != wire::kCmClass) return std::nullopt;
    return packet.packet->body;
}

} // namespace

// Whatever is wrong with it, a device may answer it.
void ManagementChecks::take(const Packet& packet) {
    const auto message = message_of(packet);
    if (!message) return;
    asked_.push_back({.transaction = wire::load_u64(*message, cm::kTransactionAt),
                      .communication = wire::load_u32(*message, cm::kLocalIdAt)});
}

void ManagementChecks::check(const Packet& packet) {
    const auto message = message_of(packet);
    if (!message) return;
    const auto* answer =
        std::ranges::find(kAnswers, cm::attribute_of(*message), &Answer::attribute);
    if (answer == kAnswers.end()) return;
    const Asked named{.transaction = wire::load_u64(*message, cm::kTransactionAt),
                      .communication = wire::load_u32(*message, answer->at)};
    const auto same_transaction = [&](const Asked& one) {
        return one.transaction == named.transaction;
    };
    // It may be late, and answer what another case asked.
    const auto kind =
        setting_.exact ? rules::FindingClass::Contradiction : rules::FindingClass::Surplus;
    PacketLog log(log_, packet.number, wire::kGsiQpn);
    if (std::ranges::none_of(asked_, same_transaction)) {
        log.add("N-30", rules::Level::Must, "transactionid",
                fmt::format("a {} must have the transaction ID of what it answers", answer->name),
                fmt::format("transactionid is 0x{:016X}", named.transaction), kind);
    } else if (std::ranges::find(asked_, named) == asked_.end()) {
        log.add("N-30", rules::Level::Must, answer->field,
                fmt::format("a {} must repeat the number of what it answers", answer->name),
                fmt::format("{} is {}", answer->field, named.communication), kind);
    }
    if (answer->attribute != cm::kRep) return;
    const auto first = std::ranges::find(replies_, named, &Reply::to);
    if (first == replies_.end()) {
        replies_.push_back({.to = named, .message = *message});
        return;
    }
    const auto [was, is] = std::ranges::mismatch(first->message, *message);
    if (was == first->message.end() || is == message->end()) return;
    log.add("CM-05", rules::Level::Must, "cm.private",
            fmt::format("byte {} of a REP that comes again must be {:02x}",
                        was - first->message.begin(), std::to_integer<unsigned>(*was)),
            fmt::format("it is {:02x}", std::to_integer<unsigned>(*is)), kind);
}

} // namespace veriroce::model
