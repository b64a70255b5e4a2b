// A device and its host: one engine behind a defect's surface, with the verbs that its host uses.
// It has one QP, or several of which one has its turn. Packets arrive as frames. What the device
// does is written down as text, one line for each packet, completion and event.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/mutants/device.hpp"

namespace veriroce::mutants::test {

struct Scene {
    engine::QpType type = engine::QpType::Rc;
    wire::Mtu mtu = wire::Mtu::B256;
    bool v6 = false;
    std::uint32_t first_request = 100; // PSNs
    std::uint32_t first_sent = 500;
    std::uint8_t retry_count = 2;
    std::uint8_t rnr_retry = 7;
    std::uint32_t receives = 4; // posted, 512 bytes each, with ids from 0 on
    bool shared = false;        // from a queue that QPs share
    std::uint32_t limit = 0;    // of that queue
    bool apart = false;         // that queue has a protection domain of its own
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::optional<std::uint16_t> vlan;
    bool sends = true; // false: the QP stays in RTR
    bool gsi = false;  // UD: the QP is QP 1
};

class Stage final : public Device {
  public:
    static constexpr std::uint64_t region_bytes = 81920;
    static constexpr std::uint64_t base = 0x10000; // address of the region
    static constexpr wire::Qkey qkey{0x11111111};

    explicit Stage(const Mutant& device, const Scene& scene = {});

    // --- the peer: packets whose addresses and pad are right and whose bytes are the PSN's lowest
    wire::Packet packet(wire::Operation operation, wire::Position position, std::uint32_t psn,
                        std::size_t bytes = 4, bool immediate = false);
    wire::Packet send(std::uint32_t psn) {
        return packet(wire::Operation::Send, wire::Position::Only, psn);
    }
    // `length` is what the RETH announces.
    wire::Packet write(wire::Position position, std::uint32_t psn, std::size_t bytes,
                       std::uint32_t length, bool immediate = false);
    wire::Packet read(std::uint32_t psn, std::uint32_t bytes);
    wire::Packet add(std::uint32_t psn, std::uint64_t number, std::uint64_t offset = 0);
    wire::Packet answer(std::uint32_t psn,
                        wire::Syndrome syndrome = wire::Syndrome::ack(wire::kNoCredits));
    wire::Packet atomic_answer(std::uint32_t psn, std::uint64_t original);

    void arrive(const wire::Packet& packet) { arrive(packet, to_device()); }
    void arrive(const wire::Packet& packet, const wire::Envelope& envelope);
    // Several at one instant, before the device says anything.
    void arrive_together(const std::vector<wire::Packet>& packets);
    // With these bits of its ICRC inverted.
    void arrive_spoiled(const wire::Packet& packet, std::uint32_t bits,
                        const wire::Envelope& envelope);
    [[nodiscard]] wire::Envelope to_device() const;

    // --- the host
    // From now on packets and verbs are those of the QP of this number, 0 being the first; it is
    // created and connected if there is none. Its peer's number is 0x200 and this one's.
    void turn_to(std::size_t number);
    // Of QPs that are connected from now on.
    void next_class(std::uint8_t traffic_class) { scene_.traffic_class = traffic_class; }
    void next_retry_count(std::uint8_t retry_count) { scene_.retry_count = retry_count; }
    // Another region on the same memory.
    wire::Rkey register_at(std::uint64_t address, std::uint64_t offset, std::uint32_t bytes,
                           const engine::Access& access);
    engine::SendRequest request(std::uint64_t id, engine::WrOpcode opcode, std::uint32_t bytes);
    void post(const engine::SendRequest& request);
    void receive(std::uint64_t id, std::span<const engine::Sge> sges);
    void modify(const engine::QpAttributes& attributes);
    void destroy(); // the QP, which has no turn any more
    void arm_limit(std::uint32_t limit);
    void share_receive(std::uint64_t id); // in the queue's own protection domain
    // Through RESET to RTS again, with these PSNs and this path MTU.
    void connect_again(std::uint32_t first_request, std::uint32_t first_sent,
                       std::optional<wire::Mtu> mtu = {});
    // A second path: the addresses of `alternate_to_device` count after a migration.
    void load_alternate();
    [[nodiscard]] wire::Envelope alternate_to_device() const;
    // The same on the whole memory, in a protection domain that no QP has.
    wire::Rkey register_apart(const engine::Access& access);
    wire::Rkey bind(const engine::Access& access);
    // A window of type 2, and a request to bind it to 256 bytes of the region.
    engine::Engine::Window window();
    engine::SendRequest bind_request(std::uint64_t id, engine::MwId mw, wire::Rkey key,
                                     std::uint64_t offset) const;
    engine::Sge piece(std::uint64_t offset, std::uint32_t bytes) const {
        return {.address = base + offset, .length = bytes, .lkey = own_.lkey};
    }

    // Lets time pass, but no timer run.
    void pass(wire::Duration time) { now_ += time; }
    // Lets time pass to the next timer. Writes "idle" where no timer runs.
    void wait();
    void completions(bool lengths_of_reads = false);
    void events();
    void notification();
    // "at 300: 7": a byte of the region.
    void memory(std::uint64_t offset);
    [[nodiscard]] wire::MutableBytes bytes() { return memory_; }

    [[nodiscard]] wire::Rkey key() const { return own_.rkey; }

  private:
    struct Pair {
        engine::QpId qp;
        wire::Qpn qpn;
        wire::Qpn peer;
    };
    void create(const Scene& scene);
    void create_qp();
    void connect(std::uint32_t first_request, std::uint32_t first_sent);
    [[nodiscard]] Pair& here() { return pairs_.at(turn_); }
    [[nodiscard]] engine::QpId qp() const { return pairs_.at(turn_).qp; }
    [[nodiscard]] wire::Qpn qpn() const { return pairs_.at(turn_).qpn; }
    void note(const engine::OwnedDatagram& datagram) override;

    Scene scene_;
    std::vector<std::byte> memory_;
    std::deque<std::vector<std::byte>> bodies_;
    std::deque<std::vector<engine::Sge>> lists_;
    engine::PdId pd_;
    engine::PdId shared_pd_;
    engine::CqId cq_;
    engine::SrqId srq_;
    std::vector<Pair> pairs_;
    std::size_t turn_ = 0;
    engine::Engine::Region own_;
    engine::Engine::Region shared_own_; // in the shared queue's domain
    std::optional<std::uint16_t> port_; // from which the first packet left
};

} // namespace veriroce::mutants::test
