// What a capture holds of each connection, and the packets of one of them: what a script is made
// of.
//
//   Survey survey;                        // once through the capture
//   survey.feed(dissection); ...
//   const std::vector<Found> found = survey.connections();
//   Recorder recorder(found[0]);          // and once more
//   recorder.feed(dissection); ...
//   const Conversation conversation = recorder.take();
//
// An RC packet names only the QP that it goes to, so that the first pass finds out which two QPs
// belong together (flow::Tracker) before the second one takes their packets.
// PSNs are as they stand on the wire; sizes are bytes. Bounds: kMostPackets packets are kept, of
// each payload no more than kMostShown bytes.
// Source: rules CM-13, RSP-01, RSP-09.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dissector/flow/tracker.hpp"

namespace veriroce::script_import {

inline constexpr std::size_t kMostPackets = 100'000;
inline constexpr std::size_t kMostShown = 20;

struct FoundEnd {
    wire::IpAddress address;
    std::optional<wire::Qpn> qpn; // of the packets that go to it
    std::uint64_t requests = 0;   // packets that it sent
    std::optional<wire::Psn> first_psn;
    std::optional<wire::Mtu> mtu; // of its requests
};

struct Found {
    wire::Service service = wire::Service::Rc;
    std::array<FoundEnd, 2> ends;
    std::uint64_t first_number = 0; // frames of the capture, counted from 1
    std::uint64_t last_number = 0;

    // "10.77.0.1 QP 0x000038 - 10.77.0.2 QP 0x000039"
    [[nodiscard]] std::string text() const;
    // Which end sent the packet; nothing if it belongs to another connection.
    [[nodiscard]] std::optional<std::uint8_t> sender_of(const flow::Packet& packet) const;
};

class Survey {
  public:
    void feed(const flow::Packet& packet) { tracker_.feed(packet); }
    void feed(const decode::Dissection& dissection);
    // In the order of their first packets.
    [[nodiscard]] std::vector<Found> connections() const;

  private:
    flow::Tracker tracker_;
};

// One packet of the connection, without its payload.
struct Event {
    std::uint64_t number = 0;
    std::uint8_t from = 0; // end
    bool damaged = false;  // no receiver takes it
    wire::Packet packet;   // `body` is empty
    std::uint32_t payload_bytes = 0;
    std::vector<std::byte> payload; // whole if it is short, else empty
    std::optional<wire::Instant> time;

    [[nodiscard]] const wire::OpcodeInfo& info() const { return packet.info(); }
    [[nodiscard]] bool asks() const { return info().request(); }
    [[nodiscard]] wire::AckKind ack_kind() const { return packet.aeth.syndrome.kind(); }
    [[nodiscard]] bool acknowledge() const {
        return info().operation == wire::Operation::Acknowledge;
    }
};

struct Conversation {
    Found connection;
    std::vector<Event> events;
    std::uint64_t unused = 0;           // packets of the connection beyond kMostPackets
    std::array<std::uint8_t, 2> dscp{}; // of what each end sent first
    std::optional<std::uint16_t> vlan;
};

class Recorder {
  public:
    explicit Recorder(Found connection) { conversation_.connection = std::move(connection); }
    void feed(const flow::Packet& packet);
    void feed(const decode::Dissection& dissection);
    [[nodiscard]] Conversation take() { return std::move(conversation_); }

  private:
    // Who sent it; nothing if it is of another connection, or of another time.
    [[nodiscard]] std::optional<std::uint8_t> sender_of(const flow::Packet& packet) const;
    void note_outer(const decode::Dissection& dissection, std::uint8_t from);

    Conversation conversation_;
    std::array<bool, 2> seen_{};
};

} // namespace veriroce::script_import
