// Defects in how the base transport header is read and written.
#include <algorithm>
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants::of_bth {
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

bool marked(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet) return false;
    const wire::Bth& bth = packet->bth;
    return bth.mig_req || bth.fecn || bth.becn || bth.reserved6 != 0 || bth.reserved7 != 0;
}

bool padded_with_something(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet || packet->pad_exceeds_body()) return false;
    const auto pad = packet->body.last(packet->bth.pad);
    return std::ranges::any_of(pad, [](std::byte one) { return one != std::byte{0}; });
}

bool other_service(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().service != wire::Service::Rc &&
           packet->info().service != wire::Service::Cnp;
}

void to_the_first_qp(wire::Packet& packet) {
    constexpr wire::Qpn first{0x11};
    const std::uint32_t qpn = packet.bth.dest_qp.value;
    if (qpn <= 1 || qpn == wire::kMask24) packet.bth.dest_qp = first;
}

void to_another_qp(wire::Packet& packet) {
    packet.bth.dest_qp.value ^= 1;
}

void qkey_lost(wire::Packet& packet) {
    packet.deth.qkey = {};
}

void another_pkey(wire::Packet& packet) {
    packet.bth.pkey.value = 0x7FFF;
}

constexpr std::array kMutants{
    Mutant{.name = "tver_not_checked",
           .rule = "BTH-01",
           .passive = false,
           .description = "A request with TVer 1 to 15 is executed and acknowledged as with 0.",
           .cases = "bth/transport-version",
           .checks =
               engine::kStandardChecks.with(engine::PacketCheck::TransportVersion, any_version)},
    Mutant{.name = "unknown_qp_gets_a_nak",
           .rule = "BTH-02",
           .passive = false,
           .description = "A request to a QP number that is not in use gets NAK Invalid Request, "
                          "sent to that number.",
           .cases = "bth/qpn-bits bth/unknown-qp",
           .make_filter = make<NaksUnknownQps>},
    Mutant{.name = "service_class_ignored",
           .rule = "BTH-05",
           .passive = false,
           .description = "Only the low five opcode bits are looked at: a UC SEND ONLY to an RC QP "
                          "is executed and acknowledged.",
           .cases = "bth/opcodes-of-other-services-to-datagrams bth/service-class "
                    "ext/queue-key ext/unreliable-gap",
           .make_filter = make<IgnoresService>},
    Mutant{.name = "pad_count_zero_in_responses",
           .rule = "BTH-09",
           .passive = true,
           .description = "READ responses that need padding carry the pad bytes and PadCnt 0.",
           .cases = "bth/pad-count n/last-byte rdr/every-length",
           .make_filter = make<EditsOutbound<forget_pad>>},
    Mutant{.name = "marked_bth_dropped",
           .rule = "BTH-16",
           .description =
               "Packets with MigReq, FECN, BECN or a reserved bit of the BTH set are dropped.",
           .cases = "bth/ignored-bits bth/ignored-bits-in-answers "
                    "bth/reserved-bits-of-writes crc/masked-fields",
           .make_filter = make<DropsInbound<marked>>},
    Mutant{.name = "nonzero_pad_dropped",
           .rule = "N-06",
           .description = "Packets whose pad bytes are not zero are dropped.",
           .cases = "bth/pad-bytes bth/pad-in-first",
           .make_filter = make<DropsInbound<padded_with_something>>},
    Mutant{.name = "other_services_dropped",
           .rule = "EXT-06",
           .description = "Packets of UC and UD are dropped, also at QPs of these types.",
           .cases = "ext/queue-key ext/unreliable-first-lost ext/unreliable-gap "
                    "ext/unreliable-last-lost ext/unreliable-middle-lost "
                    "ext/unreliable-no-receive",
           .make_filter = make<DropsInbound<other_service>>},
    Mutant{.name = "reserved_qpns_accepted",
           .rule = "BTH-03",
           .description = "Packets to QP 0, QP 1 and QP 0xFFFFFF are executed by QP 0x11.",
           .cases = "bth/reserved-qpns",
           .make_filter = make<EditsInbound<to_the_first_qp>>},
    Mutant{.name = "answers_another_qp",
           .rule = "BTH-19",
           .description = "Packets leave for the QP number beside the peer's.",
           .cases = "bth/answer-header rnr/no-receive-needed",
           .make_filter = make<EditsOutbound<to_another_qp>>},
    Mutant{.name = "qkey_not_sent",
           .rule = "EXT-05",
           .description = "Datagrams leave with Q_Key 0.",
           .cases = "ext/datagram-immediate ext/datagram-sent",
           .make_filter = make<EditsOutbound<qkey_lost>>},
    Mutant{.name = "another_pkey_sent",
           .rule = "BTH-08",
           .description = "Packets leave with P_Key 0x7FFF.",
           .cases = "bth/partition-key-sent",
           .make_filter = make<EditsOutbound<another_pkey>>},
};

} // namespace
} // namespace veriroce::mutants::of_bth

namespace veriroce::mutants {

std::span<const Mutant> bth() {
    return of_bth::kMutants;
}

} // namespace veriroce::mutants
