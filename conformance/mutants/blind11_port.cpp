// Written blind, eleventh sample: the port, CNPs, and messages at QP 1.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind11_port {
namespace {

using engine::OwnedDatagram;
using engine::QpState;
using engine::SurfaceFilter;

// --- frames

// The tag is compared with more than its twelve bits.
std::optional<OwnedDatagram> drops_drop_eligible(wire::Bytes frame) {
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || !parsed->vlan || !parsed->vlan->drop_eligible) return std::nullopt;
    return OwnedDatagram{};
}

// A sum of zero is sent as ones, and here compared with zero.
std::optional<OwnedDatagram> drops_checksum_of_ones(wire::Bytes frame) {
    constexpr std::uint16_t ones = 0xFFFF;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || parsed->udp.checksum != ones) return std::nullopt;
    return OwnedDatagram{};
}

// The sum runs over words of 64 bytes, and misses the last one where that is full: the ICRC has the
// next word for itself.
class IcrcAloneInWordSpoiled final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t word = 64;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || parsed->covered().size() % word != 0) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

// --- CNPs

// BECN makes a CNP, whatever the opcode is.
bool is_ack_with_becn(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_ack(*packet) && packet->bth.becn;
}

struct Ended {
    bool ended = false; // by a NAK of its own
};

// A filter that answers marked packets which the engine drops by CNPs.
class AnswersMarks : public QpFilter<Ended> {
  protected:
    virtual bool answers(const Qp& qp, bool from_peer) = 0;

    void arrives(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        const auto& path = qp.report.attributes.address;
        const bool marked = passage.envelope.ecn == wire::kCongestionExperienced;
        const bool rc = packet.info().service == wire::Service::Rc;
        if (!path || !marked || !rc) return;
        if (!answers(qp, passage.envelope.source == path->destination)) return;
        passage.answers.push_back(notification(qp.peer(), packet.bth.pkey));
    }
    void leaves(Qp& qp, Passage& passage) final { qp.memory.ended |= is_fatal_nak(passage.packet); }
    static bool ended(const Qp& qp) { return qp.memory.ended || qp.report.state == QpState::Err; }
};

// The mark is looked at before the address is compared.
class MarkedStrangerBringsCnp final : public AnswersMarks {
  protected:
    bool answers(const Qp& qp, bool from_peer) override {
        return !from_peer && !ended(qp) &&
               (qp.report.state == QpState::Rtr || qp.report.state == QpState::Rts);
    }
};

// And before the state.
class EndedQpSendsCnps final : public AnswersMarks {
  protected:
    bool answers(const Qp& qp, bool from_peer) override { return from_peer && ended(qp); }
};

// --- QP 1

bool from_management(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.deth.source_qp == wire::kGsiQpn;
}

void answers_of_management_untagged(const wire::Packet& packet, OwnedDatagram& datagram) {
    auto& vlan = datagram.envelope.vlan;
    if (from_management(packet) && vlan && vlan->id != 0) vlan.reset();
}

// What is local to the sender of a DREQ is told as local to us.
void drep_repeats_ids(const wire::Packet& packet, OwnedDatagram& datagram) {
    constexpr std::size_t id_bytes = 4;
    if (!from_management(packet) || packet.body.size() != wire::kMadBytes) return;
    const auto message = std::span(datagram.bytes).subspan(packet.header_bytes());
    if (wire::cm::attribute_of(message) != wire::cm::kDrep) return;
    std::ranges::rotate(message.subspan(wire::cm::kLocalIdAt, 2 * id_bytes),
                        message.begin() + wire::cm::kLocalIdAt + id_bytes);
}

constexpr std::array kMutants{
    Mutant{.name = "drop_eligible_tag_taken_for_another",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "A frame whose VLAN tag has its drop eligible bit set is dropped, "
                          "though the VLAN is the right one.",
           .cases = "n/drop-eligible-tag",
           .make_filter = make<Admits<drops_drop_eligible>>},
    Mutant{.name = "udp_checksum_of_ones_dropped",
           .rule = "ENC-04",
           .description = "A packet whose right UDP checksum is 0xFFFF is dropped.",
           .make_filter = make<Admits<drops_checksum_of_ones>>},
    Mutant{.name = "icrc_alone_in_last_word_wrong",
           .rule = "CRC-01",
           .description = "The ICRC is wrong of packets that are a multiple of 64 bytes long from "
                          "the IP header to the last pad byte.",
           .make_filter = make<IcrcAloneInWordSpoiled>},
    Mutant{.name = "acks_with_becn_taken_for_cnps",
           .rule = "BTH-17",
           .description = "An ACK with BECN is taken for a CNP, and acknowledges nothing.",
           .make_filter = make<DropsInbound<is_ack_with_becn>>},
    Mutant{.name = "marked_stranger_brings_cnp",
           .rule = "ENC-14",
           .description = "A marked packet from an address that is not the peer's brings a CNP to "
                          "that address.",
           .cases = "enc/marked-stranger",
           .make_filter = make<MarkedStrangerBringsCnp>},
    Mutant{.name = "ended_qp_sends_cnps",
           .rule = "STA-07",
           .description = "A marked packet to a QP in ERR brings a CNP.",
           .cases = "sta/marks-in-error",
           .make_filter = make<EndedQpSendsCnps>},
    Mutant{.name = "management_answers_without_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "The answers of QP 1 to datagrams of a VLAN have no tag.",
           .cases = "n/management-in-a-vlan",
           .make_filter = make<EditsSentDatagram<answers_of_management_untagged>>},
    Mutant{.name = "drep_ids_not_exchanged",
           .rule = "CM-09",
           .description = "A DREP has the two communication ids of its DREQ in their old places.",
           .make_filter = make<EditsSentDatagram<drep_repeats_ids>>},
};

} // namespace
} // namespace veriroce::mutants::of_blind11_port

namespace veriroce::mutants {

std::span<const Mutant> blind11_port() {
    return of_blind11_port::kMutants;
}

} // namespace veriroce::mutants
