// Senders, specs and frames for the tests of PacketSpec.
#pragma once

#include <catch2/catch.hpp>

#include "dissector/wire/packet_spec.hpp"
#include "tests/dissector/wire/frame_edits.hpp"
#include "tests/dissector/wire/frames.hpp"

namespace veriroce::wire::frames {

// The peer that would have sent this frame.
inline Sender sender_of(const std::vector<std::byte>& bytes) {
    const auto frame = decode_frame(bytes);
    REQUIRE(frame);
    const auto packet = decode_packet(frame->transport);
    REQUIRE(packet);
    return Sender{.link = {frame->ethernet.source, frame->ethernet.destination},
                  .envelope = frame->envelope(),
                  .ip_id = frame->ipv4 ? frame->ipv4->id : std::uint16_t{0},
                  .packet = *packet,
                  .payload = {packet->payload().begin(), packet->payload().end()}};
}

inline PacketSpec spec_of(const std::vector<std::byte>& bytes) {
    return {.opcode = sender_of(bytes).packet.bth.opcode};
}

inline std::vector<std::byte> encoded(const PacketSpec& spec, const Sender& sender) {
    auto frame = encode(spec, sender);
    REQUIRE(frame);
    return *frame;
}

inline SpecFailure failure(const PacketSpec& spec, const Sender& sender) {
    const auto frame = encode(spec, sender);
    REQUIRE(!frame);
    return frame.error();
}

inline Frame mapped(const std::vector<std::byte>& bytes) {
    auto frame = decode_frame(bytes);
    REQUIRE(frame);
    map_transport(*frame);
    return *frame;
}
Frame mapped(std::vector<std::byte>&&) = delete; // the frame points into the bytes

// A packet together with the bytes that it points into.
struct Built {
    std::vector<std::byte> bytes;
    Frame frame;
    Packet packet;

    Built(const PacketSpec& spec, const Sender& sender)
        : bytes(encoded(spec, sender)), frame(mapped(bytes)),
          packet(*decode_packet(frame.transport)) {}
    Built(const Built&) = delete;
    Built& operator=(const Built&) = delete;

    std::optional<std::uint64_t> read(Field field) const {
        return read_field(bytes, frame.layers, field);
    }
};

// The places where two frames of one length differ.
inline std::vector<std::size_t> differences(const std::vector<std::byte>& a,
                                            const std::vector<std::byte>& b) {
    REQUIRE(a.size() == b.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) places.push_back(i);
    }
    return places;
}

using Places = std::vector<std::size_t>;

inline constexpr std::size_t kBth = 42; // over IPv4 without a tag

} // namespace veriroce::wire::frames
