// Written blind, sixth sample: headers, ICRC, CNPs, UC and datagrams.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::mutants::of_blind6_port {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::SurfaceFilter;
using wire::Operation;

// --- headers and ICRC

void dscp_without_lowest_bit(wire::Envelope& envelope) {
    constexpr unsigned sent = 0x3E;
    envelope.dscp = static_cast<std::uint8_t>(envelope.dscp & sent);
}

bool version_of_requests(const PacketView& view) {
    return view.info.response() || engine::packet_check::transport_version(view);
}

std::optional<OwnedDatagram> compares_icrc_of_small(wire::Bytes frame) {
    constexpr std::size_t small = 2048;
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || parsed->transport.size() <= small) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

// What a QP sends again; a packet says whose it is by the peer's number.
template <void (*Edit)(OwnedDatagram&)>
class EditsResent final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool request =
            packet && packet->info().request() && packet->info().service == wire::Service::Rc;
        if (request && newest_[packet->bth.dest_qp].note(packet->bth.psn)) Edit(datagram);
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Rtr && report.attributes.dest_qp) {
            newest_.erase(*report.attributes.dest_qp);
        }
    }

  private:
    std::map<wire::Qpn, NewestPsn> newest_;
};

void without_tag(OwnedDatagram& datagram) {
    datagram.envelope.vlan.reset();
}
void with_default_pkey(OwnedDatagram& datagram) {
    auto packet = wire::decode_packet(datagram.bytes);
    if (!packet) return;
    packet->bth.pkey = wire::kDefaultPkey;
    datagram.bytes = bytes_of(*packet);
}

// --- CNPs

class OneCnpPerConnection final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool cnp = packet && packet->info().operation == Operation::Cnp;
        if (cnp && !told_.insert(packet->bth.dest_qp).second) return;
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Rtr && report.attributes.dest_qp) {
            told_.erase(*report.attributes.dest_qp);
        }
    }

  private:
    std::set<wire::Qpn> told_; // the peers
};

class CnpOverVersionSixSpoiled final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv6) return;
        const auto packet = wire::decode_packet(parsed->transport);
        if (!packet || packet->info().operation != Operation::Cnp) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

class FecnTakenForMark final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->bth.fecn) datagram.envelope.ecn = wire::kCongestionExperienced;
        in.push_back(std::move(datagram));
    }
};

// --- UC and datagrams

struct UcStream {
    bool lost = false; // the message that crosses the wrap
};

class UcMessageOverWrapLost final : public QpFilter<UcStream> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc || !packet.info().request()) return;
        if (packet.info().starts_message()) qp.memory.lost = false;
        const bool inside = !packet.info().starts_message();
        qp.memory.lost |= inside && packet.bth.psn == wire::Psn{};
        passage.dropped = qp.memory.lost;
    }
};

// The GRH of a datagram that came over IPv6 names its two addresses in the other order.
class GrhAddressesSwapped final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (!request.sges.empty()) posted_[request.id] = request.sges.front();
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Receive || !completion.grh) return completion;
        const auto posted = posted_.find(completion.id);
        if (posted == posted_.end() || posted->second.length < kGrh) return completion;
        const auto grh = regions().anywhere(posted->second.address, kGrh);
        if (grh.empty() || (grh.front() >> kVersionAt) != kVersionSix) return completion;
        const auto addresses = grh.last(2 * kAddress);
        std::ranges::swap_ranges(addresses.first(kAddress), addresses.last(kAddress));
        return completion;
    }

  private:
    static constexpr std::size_t kGrh = 40;
    static constexpr std::size_t kAddress = 16;
    static constexpr int kVersionAt = 4;
    static constexpr std::byte kVersionSix{6};
    std::map<std::uint64_t, engine::Sge> posted_; // by id: the first piece
};

constexpr std::array kMutants{
    Mutant{.name = "lowest_bit_of_dscp_not_sent",
           .rule = "ENC-12",
           .description = "Packets leave with the upper five bits of their DSCP.",
           .make_filter = make<EditsSentEnvelope<dscp_without_lowest_bit>>},
    Mutant{.name = "version_of_responses_not_checked",
           .rule = "BTH-01",
           .description = "Responses of any transport version are taken.",
           .cases = "bth/version-of-answers bth/version-of-responses",
           .checks = kStandardChecks.with(PacketCheck::TransportVersion, version_of_requests)},
    Mutant{.name = "icrc_of_large_packets_not_checked",
           .rule = "CRC-07",
           .description = "The ICRC of packets of more than 2048 bytes is not compared.",
           .cases = "crc/large-packets",
           .make_filter = make<Admits<compares_icrc_of_small>>},
    Mutant{.name = "resent_without_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "What is sent again has no VLAN tag.",
           .make_filter = make<EditsResent<without_tag>>},
    Mutant{.name = "resent_with_default_pkey",
           .rule = "BTH-08",
           .level = "SHOULD",
           .description = "What is sent again has P_Key 0xFFFF.",
           .make_filter = make<EditsResent<with_default_pkey>>},
    Mutant{.name = "one_cnp_per_connection",
           .rule = "CNP-01",
           .description = "A connection brings one CNP, and no second one.",
           .make_filter = make<OneCnpPerConnection>},
    Mutant{.name = "icrc_of_cnp_wrong_over_v6",
           .rule = "CRC-10",
           .description = "CNPs over IPv6 leave with a wrong ICRC.",
           .make_filter = make<CnpOverVersionSixSpoiled>},
    Mutant{.name = "fecn_brings_cnp",
           .rule = "BTH-17",
           .description = "A packet with FECN brings a CNP.",
           .cases = "cnp/fecn-is-no-mark",
           .make_filter = make<FecnTakenForMark>},
    Mutant{.name = "uc_message_across_wrap_lost",
           .rule = "RSP-09",
           .description = "A UC message that goes on at PSN 0 is not delivered.",
           .make_filter = make<UcMessageOverWrapLost>},
    Mutant{.name = "v6_addresses_of_grh_exchanged",
           .rule = "EXT-05",
           .description =
               "The GRH in front of a datagram that came over IPv6 has the two addresses "
               "in the other order.",
           .make_filter = make<GrhAddressesSwapped>},
};

} // namespace
} // namespace veriroce::mutants::of_blind6_port

namespace veriroce::mutants {

std::span<const Mutant> blind6_port() {
    return of_blind6_port::kMutants;
}

} // namespace veriroce::mutants
