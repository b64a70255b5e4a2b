#include "tests/conformance/mutants/device.hpp"

namespace veriroce::mutants::test {

std::vector<std::byte> bytes_of(const wire::Packet& packet) {
    std::vector<std::byte> bytes(wire::kMaxTransportHeaderBytes);
    bytes.resize(wire::encode_headers(packet, bytes));
    bytes.insert(bytes.end(), packet.body.begin(), packet.body.end());
    return bytes;
}

std::vector<std::byte> frame_of(const wire::Envelope& envelope, wire::Bytes transport) {
    std::vector<std::byte> frame(wire::kMaxFrameOverhead + transport.size());
    frame.resize(wire::write_frame({}, envelope, 1, transport, {}, frame));
    return frame;
}

std::vector<std::byte> numbered(std::size_t bytes) {
    std::vector<std::byte> memory(bytes);
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i / 256 + 1);
    return memory;
}

Device::Device(const Mutant& mutant)
    : filter_(mutant.make_filter != nullptr ? mutant.make_filter() : nullptr),
      engine_({.behaviour = mutant.behaviour}, mutant.checks) {
    if (!filter_) filter_ = std::make_unique<engine::SurfaceFilter>();
}

Device::~Device() = default;

void Device::take_frame(wire::Bytes frame) {
    auto admitted = filter_->admit(frame, now_);
    if (!admitted) {
        if (const auto taken = wire::unseal(frame)) {
            admitted = {.envelope = taken->envelope,
                        .bytes = {taken->bytes.begin(), taken->bytes.end()}};
        }
    }
    if (admitted) enter(std::move(*admitted));
}

void Device::enter(engine::OwnedDatagram datagram) {
    std::vector<engine::OwnedDatagram> in;
    std::vector<engine::OwnedDatagram> answers;
    filter_->inbound(std::move(datagram), now_, in, answers);
    for (const auto& answered : answers)
        note(answered);
    for (const auto& entering : in)
        engine_.handle({.envelope = entering.envelope, .bytes = entering.bytes}, now_);
}

void Device::speak() {
    while (const auto transmit = engine_.poll_transmit(now_)) {
        engine::OwnedDatagram datagram{.envelope = transmit->envelope};
        auto& bytes = datagram.bytes;
        bytes.insert(bytes.end(), transmit->headers.begin(), transmit->headers.end());
        bytes.insert(bytes.end(), transmit->payload.begin(), transmit->payload.end());
        bytes.insert(bytes.end(), transmit->pad, std::byte{0});
        std::vector<engine::OwnedDatagram> out;
        filter_->outbound(std::move(datagram), now_, out);
        for (const auto& leaving : out)
            note(leaving);
    }
}

} // namespace veriroce::mutants::test
