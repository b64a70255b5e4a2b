// A device under a microscope: one engine with one QP behind a mutant's surface, driven packet by
// packet. What it does is written down as text, one line for each packet and completion.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/conformance/mutants/device.hpp"

namespace veriroce::mutants::test {

struct Settings {
    std::uint32_t first_request = 100; // PSNs
    std::uint32_t first_sent = 500;
    std::uint8_t retry_count = 2;
    std::uint32_t receives = 4; // posted, 512 bytes each
};

class Bench final : public Device {
  public:
    static constexpr std::uint64_t region_bytes = 4096;
    static constexpr std::uint64_t base = 0x10000; // address of the regions

    explicit Bench(const Mutant& device, const Settings& settings = {});

    // A packet from the peer with this body; payload, pad and addresses are right.
    wire::Packet packet(wire::Operation operation, wire::Position position, std::uint32_t psn,
                        std::size_t bytes = 4);
    wire::Packet send_only(std::uint32_t psn) {
        return packet(wire::Operation::Send, wire::Position::Only, psn);
    }
    wire::Packet read(std::uint32_t psn, std::uint32_t bytes, std::uint64_t offset = 0);
    wire::Packet write(std::uint32_t psn, std::uint64_t offset = 0, std::uint32_t bytes = 4);
    wire::Packet answer(std::uint32_t psn, wire::Syndrome syndrome);

    // Arrives at the engine's surface.
    void arrive(const wire::Packet& packet);
    // Several at one instant, before the device says anything.
    void arrive_together(const std::vector<wire::Packet>& packets);
    // Arrives as a frame at the link's edge.
    void arrive_frame(wire::Bytes frame);
    std::vector<std::byte> frame(const wire::Packet& packet);

    void post(engine::WrOpcode opcode, std::uint32_t bytes);
    // Lets time pass to the next timer and writes down how long that was, or "idle" where no timer
    // runs.
    void wait();
    void completions();

    [[nodiscard]] wire::Rkey key() const { return own_.rkey; }
    [[nodiscard]] wire::Rkey foreign_key() const { return foreign_.rkey; } // of another PD

  private:
    void create_qp(const Settings& settings);
    void connect(engine::QpId qp, const Settings& settings);
    void post_receives(std::uint32_t count);
    void note(const engine::OwnedDatagram& datagram) override;
    // Whether its frame leaves with the right ICRC.
    [[nodiscard]] bool leaves_whole(const engine::OwnedDatagram& datagram);

    std::vector<std::byte> memory_;
    std::vector<std::byte> foreign_memory_;
    std::array<std::byte, 1024> body_{};
    engine::PdId pd_;
    engine::CqId cq_;
    engine::QpId qp_;
    wire::Qpn qpn_;
    engine::Engine::Region own_;
    engine::Engine::Region foreign_;
};

// One behaviour of a device: what the right one does, and what this one does.
struct Play {
    std::string_view name; // of the mutant
    void (*act)(Bench&);
    std::string_view right;
    std::string_view wrong;
    Settings settings{};
};

inline constexpr std::string_view acked = "ACKNOWLEDGE 100 1f msn 1\n";
// A READ of three packets, and again of its last two.
void read_and_its_end(Bench& bench);

std::vector<Play> framing_plays();
std::vector<Play> responder_plays();
std::vector<Play> read_plays();
std::vector<Play> requester_plays();
std::vector<Play> lawful_plays();

} // namespace veriroce::mutants::test
