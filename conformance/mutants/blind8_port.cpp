// Written blind, eighth sample: headers, ICRC, CNPs and marks, datagrams and QP 1.
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind8_port {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::SurfaceFilter;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

bool is_marked(const wire::Envelope& envelope) {
    return envelope.ecn == wire::kCongestionExperienced;
}

// --- checks

bool later_packets_from_anywhere(const PacketView& view) {
    const bool later = view.info.request() && !view.info.starts_message();
    return later || engine::packet_check::source_address(view);
}

bool any_pkey_of_management(const PacketView& view) {
    return view.packet.bth.dest_qp == wire::kGsiQpn || engine::packet_check::pkey(view);
}

// --- headers

// Responses leave with a member of the envelope of the newest request.
template <auto Member>
class EchoesEnvelope final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = datagram.envelope;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (newest_ && packet && packet->info().response()) {
            datagram.envelope.*Member = (*newest_).*Member;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<wire::Envelope> newest_;
};

// The hop limit is compared as a number with a sign.
bool has_high_hop_limit(const OwnedDatagram& datagram) {
    constexpr std::uint8_t largest = 0x7F;
    return datagram.envelope.hop_limit > largest;
}

// --- ICRC

std::optional<OwnedDatagram> trusts_marked(wire::Bytes frame) {
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || !is_marked(parsed->envelope())) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

class PaddedImmediateSpoiled final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed) return;
        const auto packet = wire::decode_packet(parsed->transport);
        if (!packet || !packet->info().immediate() || packet->bth.pad == 0) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

// --- CNPs and marks

void cnp_with_common_hop_limit(const wire::Packet& packet, OwnedDatagram& datagram) {
    constexpr std::uint8_t common = 64;
    if (is_cnp(packet)) datagram.envelope.hop_limit = common;
}

void cnp_of_headers_alone(wire::Packet& packet) {
    if (is_cnp(packet)) packet.body = {};
}

struct MarkedAhead : Arrivals {
    bool marked = false; // the newest request came ahead, and was marked
};

class MarkedGapNotNaked final : public PlacesRequests<MarkedAhead> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        qp.memory.marked = place == Place::Ahead && is_marked(passage.envelope);
    }
    void answered(Qp& qp, Passage& passage) override {
        passage.dropped = qp.memory.marked && is_sequence_nak(passage.packet);
    }
};

class CnpEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            memory.waits = packet.bth.psn;
        } else if (is_cnp(packet) && memory.waits) {
            send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        } else if (packet.info().response() && !is_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn);
        }
    }
};

// --- datagrams

class DatagramLengthCountsPad final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool ud = packet && packet->info().service == wire::Service::Ud;
        if (ud) pads_[packet->deth.source_qp] = packet->bth.pad;
        in.push_back(std::move(datagram));
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const auto pad = seen.source_qp ? pads_.find(*seen.source_qp) : pads_.end();
        if (pad != pads_.end()) seen.byte_len += pad->second;
        return seen;
    }

  private:
    std::map<wire::Qpn, std::uint32_t> pads_; // of the newest datagram, by who sent it
};

class FirstSourceQpStays final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.source_qp) {
            seen.source_qp = first_.try_emplace(seen.qp, *seen.source_qp).first->second;
        }
        return seen;
    }

  private:
    std::map<engine::QpId, wire::Qpn> first_;
};

constexpr std::array kMutants{
    Mutant{.name = "source_of_later_packets_not_checked",
           .rule = "ENC-14",
           .description = "The MIDDLE and LAST of a message are taken from any source address.",
           .cases = "enc/source-address-of-later-packets",
           .checks = kStandardChecks.with(PacketCheck::SourceAddress, later_packets_from_anywhere)},
    Mutant{.name = "pkey_of_management_not_checked",
           .rule = "N-30",
           .description = "QP 1 takes datagrams of any P_Key.",
           .cases = "cm/partition-key",
           .checks = kStandardChecks.with(PacketCheck::Pkey, any_pkey_of_management)},
    Mutant{.name = "answers_echo_class",
           .rule = "ENC-12",
           .level = "SHOULD",
           .description = "Responses leave with the DSCP with which the newest request arrived.",
           .cases = "enc/traffic-class-of-each-answer",
           .make_filter = make<EchoesEnvelope<&wire::Envelope::dscp>>},
    Mutant{.name = "answers_echo_source_port",
           .rule = "ENC-02",
           .level = "SHOULD",
           .description = "Responses leave from the UDP source port of the newest request.",
           .make_filter = make<EchoesEnvelope<&wire::Envelope::source_port>>},
    Mutant{.name = "high_hop_limit_dropped",
           .rule = "ENC-11",
           .description = "Packets that arrive with a hop limit above 127 are dropped.",
           .cases = "enc/not-copied enc/every-hop-limit",
           .make_filter = make<DropsInbound<has_high_hop_limit>>},
    Mutant{.name = "icrc_of_marked_not_checked",
           .rule = "CRC-07",
           .description = "The ICRC of packets that are marked \"congestion experienced\" is not "
                          "compared.",
           .cases = "cnp/for-a-dropped-packet",
           .make_filter = make<Admits<trusts_marked>>},
    Mutant{.name = "icrc_of_padded_immediate_wrong",
           .rule = "CRC-01",
           .description = "Packets with immediate data and pad bytes leave with a wrong ICRC.",
           .cases = "req/each-packet-late req/each-packet-lost",
           .make_filter = make<PaddedImmediateSpoiled>},
    Mutant{.name = "cnp_with_hop_limit_64",
           .rule = "CA17-9",
           .level = "SHOULD",
           .description = "CNPs leave with hop limit 64, whatever the address vector says.",
           .cases = "cnp/hop-limit",
           .make_filter = make<EditsSentDatagram<cnp_with_common_hop_limit>>},
    Mutant{.name = "cnp_of_headers_alone",
           .rule = "CNP-02",
           .description = "CNPs lack the 16 zero bytes behind the BTH.",
           .cases = "cnp/before-rts cnp/for-each-answer",
           .make_filter = make<EditsOutbound<cnp_of_headers_alone>>},
    Mutant{.name = "marked_gap_not_naked",
           .rule = "RSP-02",
           .description = "A packet ahead of the expected PSN that is marked \"congestion "
                          "experienced\" draws no sequence NAK.",
           .cases = "cnp/marked-gap",
           .make_filter = make<MarkedGapNotNaked>},
    Mutant{.name = "cnp_ends_rnr_wait",
           .rule = "RNR-08",
           .description = "A CNP that comes during an RNR wait ends the wait.",
           .cases = "rnr/everything-in-the-wait",
           .make_filter = make<CnpEndsRnrWait>},
    Mutant{.name = "datagram_length_counts_pad",
           .rule = "EXT-05",
           .description = "byte_len of a datagram counts its pad bytes.",
           .cases = "ext/datagram-keys ext/datagram-exact-fit",
           .make_filter = make<DatagramLengthCountsPad>},
    Mutant{.name = "first_source_qp_stays",
           .rule = "EXT-05",
           .description = "All datagrams that a QP receives complete with the source QP of the "
                          "first one.",
           .cases = "ext/datagrams-of-several-senders",
           .make_filter = make<FirstSourceQpStays>},
};

} // namespace
} // namespace veriroce::mutants::of_blind8_port

namespace veriroce::mutants {

std::span<const Mutant> blind8_port() {
    return of_blind8_port::kMutants;
}

} // namespace veriroce::mutants
