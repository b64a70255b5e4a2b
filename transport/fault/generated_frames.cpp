#include "transport/fault/generated_frames.hpp"

#include <utility>

namespace veriroce::fault {
namespace {

// The fields that a valid packet would have at this point.
wire::Sender sender_of(const Forge& forge, const Model& model) {
    wire::Sender sender{.link = {model.frame.ethernet.source, model.frame.ethernet.destination},
                        .envelope = model.frame.envelope(),
                        .ip_id = model.frame.ipv4 ? model.frame.ipv4->id : std::uint16_t{0}};
    // An ACK without credits, unless the selected packet has another syndrome.
    sender.packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    if (const auto packet = wire::decode_packet(model.frame.transport)) {
        sender.packet.bth = packet->bth;
        if (packet->headers.has(wire::Header::Aeth)) sender.packet.aeth = packet->aeth;
    }
    sender.packet.bth.ack_request = sender.packet.bth.solicited = false;
    if (forge.to == ForgeTo::Sender) {
        std::swap(sender.link.source, sender.link.destination);
        std::swap(sender.envelope.source, sender.envelope.destination);
        sender.packet.bth.dest_qp = wire::Qpn{model.other_qpn.value_or(0)};
    }
    return sender;
}

} // namespace

std::optional<std::vector<std::byte>> forged(const Forge& forge, const Model& model) {
    const bool addressed = forge.to == ForgeTo::Receiver || model.other_qpn ||
                           forge.packet.written(wire::Field::DestQp) != nullptr;
    if (!addressed) return std::nullopt;
    const wire::Sender sender = sender_of(forge, model);
    wire::PacketSpec spec = forge.packet;
    for (auto& [field, value] : spec.fields) {
        auto* number = std::get_if<std::uint64_t>(&value);
        if (field != wire::Field::Psn || number == nullptr || forge.absolute_psn) continue;
        // Scripts count PSNs from the first one; this adds the difference, taken from the current
        // packet.
        *number =
            (sender.packet.bth.psn.value() + *number - static_cast<std::uint64_t>(model.psn)) &
            wire::kMask24;
    }
    auto frame = wire::encode(spec, sender);
    if (!frame) return std::nullopt;
    return *std::move(frame);
}

std::vector<std::byte> pause_frame(const Pause& pause, const wire::Frame& frame) {
    constexpr std::size_t kShortestFrame = 60;
    constexpr std::uint16_t kPriorityPause = 0x0101;
    std::vector<std::byte> bytes(kShortestFrame);
    const wire::MacAddress group{{std::byte{0x01}, std::byte{0x80}, std::byte{0xC2}, std::byte{0},
                                  std::byte{0}, std::byte{0x01}}};
    wire::Ethernet{.destination = group,
                   .source = frame.ethernet.destination,
                   .ether_type = static_cast<std::uint16_t>(wire::EtherType::MacControl)}
        .encode(bytes);
    const wire::MutableBytes body = wire::MutableBytes(bytes).subspan(wire::Ethernet::kSize);
    wire::store_be<2>(body, 0, kPriorityPause);
    wire::store_be<2>(body, 2,
                      1U << pause.priority); // selects which of the eight pause times is valid
    wire::store_be<2>(body, 4 + 2U * pause.priority, pause.quanta);
    return bytes;
}

} // namespace veriroce::fault
