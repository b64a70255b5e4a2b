// Defects with packets that a careless parser takes for requests.
#include <map>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_cnp_rob {
namespace {

struct NewestRequest {
    std::optional<wire::Psn> psn;
};

// CNP-12. A CNP's PSN is 0; taken as far ahead, it is a gap wherever ePSN stands.
class CnpIsARequest final : public QpFilter<NewestRequest> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().request()) qp.memory.psn = packet.bth.psn;
        if (packet.bth.opcode != wire::kCnpOpcode) return;
        set_opcode(packet, wire::Operation::Send, wire::Position::Only);
        packet.bth.psn = qp.memory.psn.value_or(qp.first_request()) + kFarAhead;
    }
};

// CNP-03
class CnpForEct final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.dest_qp) peers_[report.qpn] = *report.attributes.dest_qp;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool capable =
            datagram.envelope.ecn != 0 && datagram.envelope.ecn != wire::kCongestionExperienced;
        if (packet && packet->info().request() && capable) {
            const auto cnp = notification(peers_[packet->bth.dest_qp], packet->bth.pkey);
            answers.push_back({.envelope = back(datagram.envelope), .bytes = bytes_of(cnp)});
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Qpn> peers_; // by our QPN
};

// ROB-02: payload bytes less pad bytes, in 32 bits. The packet goes in as an empty SEND, whose
// immediate value tells the completion how much less.
constexpr std::uint32_t kMarked = 0x5AD0F000;
constexpr std::uint32_t kMarkBits = 0xFFFFFFFC; // a pad count has two bits

void mark_underflow(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.operation != wire::Operation::Send || info.position != wire::Position::Only ||
        info.invalidates() || !packet.pad_exceeds_body()) {
        return;
    }
    const auto less = static_cast<std::uint32_t>(packet.bth.pad - packet.body.size());
    set_opcode(packet, wire::Operation::Send, wire::Position::Only, true);
    packet.imm.value = kMarked | less;
    packet.bth.pad = 0;
    packet.body = {};
}

class PadUnderflows final : public EditsInbound<mark_underflow> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.imm && (*seen.imm & kMarkBits) == kMarked) {
            seen.byte_len = 0U - (*seen.imm & ~kMarkBits);
            seen.imm.reset();
        }
        return seen;
    }
};

class StaysPaused final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        constexpr std::size_t ether_type_at = 12;
        constexpr std::uint16_t mac_control = 0x8808;
        paused_ = paused_ || wire::load_u16(frame, ether_type_at) == mac_control;
        return paused_ ? std::optional(engine::OwnedDatagram{}) : std::nullopt;
    }

  private:
    bool paused_ = false;
};

constexpr std::array kMutants{
    Mutant{.name = "cnp_taken_for_a_request",
           .rule = "CNP-12",
           .passive = true,
           .description =
               "A CNP goes through the sequence check of its QP and gets a sequence NAK.",
           .cases = "cnp/among-requests cnp/not-answered",
           .make_filter = make<CnpIsARequest>},
    Mutant{.name = "cnp_for_every_capable_packet",
           .rule = "CNP-03",
           .description = "Requests marked ECT draw a CNP, as if they were marked CE.",
           .cases = "cnp/without-mark",
           .make_filter = make<CnpForEct>},
    Mutant{.name = "pad_count_underflows_the_length",
           .rule = "ROB-02",
           .passive = false,
           .description = "A SEND ONLY without payload and with PadCnt 3 completes a receive with "
                          "byte length 0xFFFFFFFD.",
           .cases = "bth/pad-too-large",
           .make_filter = make<PadUnderflows>},
    Mutant{.name = "stays_paused",
           .rule = "ROB-01",
           .description = "After a MAC PAUSE frame, the device accepts no packets any more.",
           .cases = "rob/other-frames rob/paused",
           .make_filter = make<StaysPaused>},
};

} // namespace
} // namespace veriroce::mutants::of_cnp_rob

namespace veriroce::mutants {

std::span<const Mutant> cnp_rob() {
    return of_cnp_rob::kMutants;
}

} // namespace veriroce::mutants
