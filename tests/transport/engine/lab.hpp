// One engine and a peer that the test plays by hand: packets go in, what comes out is decoded.
//
// The QP is 0x11, the peer's 0x22; the engine expects requests from PSN 1000 and sends from 2000.
// Times count from the lab's start. Memory is one region of 64 KiB at 0x10000, filled with a
// pattern that does not repeat. A failing assertion prints what the engines of its labs refused.
#pragma once

#include <catch2/catch.hpp>

#include <vector>

#include "tests/on_failure.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::engine::test {

using namespace std::chrono_literals;

inline constexpr std::uint64_t region_address = 0x10000;
inline constexpr std::size_t region_bytes = 64UL * 1024;
inline constexpr wire::Psn rq_psn{1000};
inline constexpr wire::Psn sq_psn{2000};
inline constexpr wire::Qpn our_qpn{0x11};
inline constexpr wire::Qpn peer_qpn{0x22};
inline const wire::IpAddress our_address = wire::IpAddress::from_v4(0x0A4D0001);
inline const wire::IpAddress peer_address = wire::IpAddress::from_v4(0x0A4D0002);

inline constexpr std::uint8_t acked = 0x1F; // the syndrome of an ACK without credits

inline constexpr Access every_right{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};

struct LabOptions {
    Config config;
    QpType type = QpType::Rc;
    bool gsi = false;
    wire::Qkey qkey{0x11112222}; // UD
    Checks checks = kStandardChecks;
    wire::Mtu mtu = wire::Mtu::B1024;
    Access qp_access = every_right;
    Access region_access = every_right;
    QpCapacity capacity;
    std::uint32_t cq_depth = 256;
    std::uint8_t timeout = 14;
    std::uint8_t retry_count = 3;
    std::uint8_t rnr_retry = 3;
    std::uint8_t min_rnr_timer = 12; // 0.64 ms
    std::uint8_t max_rd_atomic = 4;
    std::uint8_t max_dest_rd_atomic = 4;
    bool flow_control = false;
    wire::Psn rq = rq_psn;
    wire::Psn sq = sq_psn;
    QpState state = QpState::Rts;
};

// A packet that the engine sent.
struct Sent {
    wire::Envelope envelope;
    std::vector<std::byte> bytes;
    wire::Packet packet; // points into bytes

    [[nodiscard]] std::string_view name() const { return packet.info().name; }
    [[nodiscard]] std::uint32_t psn() const { return packet.bth.psn.value(); }
    [[nodiscard]] std::uint32_t msn() const { return packet.aeth.msn.value; }
    [[nodiscard]] std::uint8_t syndrome() const { return packet.aeth.syndrome.value; }
};

class Lab {
  public:
    explicit Lab(const LabOptions& wanted = {});

    // One more QP to the same peer, in the lab's state. Its packets are told apart by dest_qp.
    QpId another(const QpDescription& description);
    // Takes a QP from RESET to the lab's state.
    void connect(QpId which);

    // What the peer sends: a packet with this opcode name and PSN, honest in everything else.
    [[nodiscard]] wire::Packet packet(std::string_view opcode, wire::Psn psn) const;
    [[nodiscard]] wire::Packet ack(wire::Psn psn, std::uint32_t msn,
                                   std::uint8_t syndrome = 0x1F) const;
    void receive(const wire::Packet& packet, wire::Bytes payload = {});
    void receive(const wire::Packet& packet, wire::Bytes payload, const wire::Envelope& envelope);
    // All that the engine sends now.
    std::vector<Sent> drain();
    // A datagram to the peer's QP (UD).
    [[nodiscard]] UdDestination destination() const;
    // Exactly one packet comes out.
    Sent one();
    // Lets the time go on to the next deadline, which must exist.
    void next_deadline();
    void pass(wire::Duration time);

    // A second QP like the first, whose peer is at this address (its QPN is the same); in the lab's
    // state RTS.
    QpId connect_another(const wire::IpAddress& peer);

    void post(const SendRequest& request);
    void post_receive(std::uint64_t id, std::uint32_t length, std::uint64_t offset = 0x8000);
    std::vector<Completion> sends();
    std::vector<Completion> receives();
    std::vector<Event> events();
    [[nodiscard]] QpState state() const;

    [[nodiscard]] Sge sge(std::uint64_t offset, std::uint32_t length) const;
    [[nodiscard]] wire::MutableBytes memory(std::uint64_t offset, std::size_t length);
    [[nodiscard]] std::uint64_t number(std::uint64_t offset) const;

    Engine engine;
    wire::Instant now;
    PdId pd;
    CqId send_cq;
    CqId receive_cq;
    QpId qp;
    Engine::Region region;
    LabOptions options;

  private:
    [[nodiscard]] QpDescription description() const;
    void bring_up_unreliable(QpId which, QpState state, const wire::IpAddress& peer);
    void bring_up(QpId which, QpState state, const wire::IpAddress& peer);

    std::vector<std::byte> memory_;
    house::OnFailure refusals_{[this] {
        std::string text;
        while (const auto refusal = engine.poll_refusal())
            text += "refused: " + text_of(*refusal) + "\n";
        return text;
    }};
};

// The attributes with which a QP of RC makes this transition.
QpAttributes attributes_to(QpState from, QpState to, const LabOptions& options = {},
                           const wire::IpAddress& peer = peer_address);

// `size` bytes that depend on `seed` and do not repeat with any packet size.
std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed = 1);

} // namespace veriroce::engine::test
