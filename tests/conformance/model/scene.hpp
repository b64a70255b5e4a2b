// A story made by hand: one QP of the device (RC, or as said; QPN 0x11, first PSNs 100 and 200, MTU
// 256) and its peer at the tester (QPN 0x800), with the packets that a test puts in.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "conformance/model/packets.hpp"
#include "tests/conformance/model/story_frame.hpp"

namespace veriroce::model::test {

inline constexpr dut::QpHandle kQp{1};
inline constexpr wire::Qpn kDutQpn{0x11};
inline constexpr wire::Qpn kTesterQpn{0x800};
inline constexpr std::uint32_t kOwnStart = 100;  // of the device's requests
inline constexpr std::uint32_t kPeerStart = 200; // of the tester's
inline constexpr dut::MrHandle kRegion{7};
inline constexpr wire::Rkey kRegionKey{0x7000};
inline constexpr wire::Qkey kQkey{0x1234};          // of a UD QP
inline constexpr std::uint64_t kRegionBytes = 1024; // filled with a pattern of the key 5

using EditPacket = std::function<void(wire::Packet&)>;
using EditEnvelope = std::function<void(wire::Envelope&)>;

struct Edits {
    EditPacket packet = [](wire::Packet&) {};
    EditEnvelope envelope = [](wire::Envelope&) {};
    EditFrame frame = [](std::vector<std::byte>&) {}; // before the ICRC
    wire::LinkAddress link{};                         // zeros: the right ones
};

struct Scene {
    Story story;
    std::deque<std::vector<std::byte>> frames;
    wire::QpType type;

    explicit Scene(wire::QpType of = wire::QpType::Rc);

    // A call that was answered at once.
    void call(dut::Request request, dut::Answer answer = dut::Result{dut::Done{}});
    void post(dut::SendRequest request);
    void post_receives(std::size_t count);
    void query(std::uint8_t hop_limit);

    // A packet of the device, PSNs counted from the first one of its requests, or of the tester's
    // if it is a response.
    void heard(std::string_view opcode, std::int64_t psn, wire::Bytes payload = {},
               const Edits& edits = {});
    // A packet of the tester.
    void sent(std::string_view opcode, std::int64_t psn, wire::Bytes payload = {},
              const Edits& edits = {});
    // An ACKNOWLEDGE of the device.
    void acknowledged(std::int64_t psn, std::uint32_t msn,
                      wire::Syndrome syndrome = wire::Syndrome::ack(wire::kNoCredits));

    // "BTH-01 tver; ENC-12 ip.dscp": rules and fields of what is found; empty if nothing is.
    [[nodiscard]] std::string found() const;
    // Likewise, of a device whose QP is in RTS until the end, a second later.
    [[nodiscard]] std::string found_alive();

  private:
    void add(Side from, std::string_view opcode, std::int64_t psn, wire::Bytes payload,
             const Edits& edits);
};

// Bytes of the region as it was filled.
std::vector<std::byte> filled(std::uint64_t offset, std::size_t length);
// The peer of a datagram, at the tester.
dut::UdDestination peer();
// A request with one piece of the region.
dut::SendRequest request(wire::WrOpcode opcode, std::uint64_t offset, std::uint32_t length);

} // namespace veriroce::model::test
