// Defects in how the base transport header is read and written.
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

namespace {

bool any_version(const engine::PacketView& /*view*/) {
    return true;
}

// BTH-02. QP 0, QP 1 and the multicast number have rules of their own (BTH-03, BTH-04).
class NaksUnknownQps final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& qp) override { qpns_.insert(qp.qpn); }
    void qp_destroyed(wire::Qpn qpn) override { qpns_.erase(qpn); }

    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !packet->info().request() || special(packet->bth.dest_qp) ||
            qpns_.contains(packet->bth.dest_qp)) {
            in.push_back(std::move(datagram));
            return;
        }
        const auto nak = acknowledge(packet->bth.dest_qp, packet->bth.pkey, packet->bth.psn,
                                     wire::Syndrome::nak(wire::NakCode::InvalidRequest), {});
        answers.push_back({.envelope = back(datagram.envelope), .bytes = bytes_of(nak)});
    }

  private:
    static bool special(wire::Qpn qpn) { return qpn.value <= 1 || qpn.value == wire::kMask24; }

    std::set<wire::Qpn> qpns_;
};

// BTH-05. By hand, because the other service's opcode may have headers that the RC one has not.
class IgnoresService final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        constexpr std::byte operation_bits{0x1F};
        if (!datagram.bytes.empty() && datagram.bytes[0] != std::byte{wire::kCnpOpcode}) {
            datagram.bytes[0] &= operation_bits;
        }
        in.push_back(std::move(datagram));
    }
};

void forget_pad(wire::Packet& packet) {
    if (is_read_response(packet)) packet.bth.pad = 0;
}

constexpr std::array mutants{
    Mutant{.name = "tver_not_checked",
           .rule = "BTH-01",
           .passive = false,
           .description = "A request with TVer 1 to 15 is executed and acknowledged as with 0.",
           .checks =
               engine::kStandardChecks.with(engine::PacketCheck::TransportVersion, any_version)},
    Mutant{.name = "unknown_qp_gets_a_nak",
           .rule = "BTH-02",
           .passive = false,
           .description = "A request to a QP number that is not in use draws NAK Invalid Request, "
                          "sent to the number that it named.",
           .make_filter = make<NaksUnknownQps>},
    Mutant{.name = "service_class_ignored",
           .rule = "BTH-05",
           .passive = false,
           .description = "Only the low five opcode bits are looked at: a UC SEND ONLY to an RC QP "
                          "is executed and acknowledged.",
           .make_filter = make<IgnoresService>},
    Mutant{.name = "pad_count_zero_in_responses",
           .rule = "BTH-09",
           .passive = true,
           .description = "READ responses that need padding carry the pad bytes and PadCnt 0.",
           .make_filter = make<EditsOutbound<forget_pad>>},
};

} // namespace

std::span<const Mutant> bth() {
    return mutants;
}

} // namespace veriroce::mutants
