// Written blind, third sample: IP, UDP, BTH, ICRC, Q_Keys and CNPs.
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::mutants::of_blind3_port {
namespace {

using engine::DatagramCheck;
using engine::DatagramView;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::PacketCheck;
using engine::PacketView;
using engine::SurfaceFilter;

// --- checks

bool first_packets_have_pkeys(const PacketView& view) {
    return !view.info.starts_message() || engine::packet_check::pkey(view);
}

bool compares_low_half(const PacketView& view) {
    const wire::IpAddress& source = view.envelope.source;
    const wire::IpAddress& peer = view.path().destination;
    const bool alike =
        !source.v4() && !peer.v4() &&
        std::ranges::equal(wire::Bytes(source.bytes).last(8), wire::Bytes(peer.bytes).last(8));
    return alike || engine::packet_check::source_address(view);
}

bool qkey_without_high_bit(const DatagramView& view) {
    constexpr std::uint32_t compared = 0x7FFFFFFF;
    return ((view.packet.deth.qkey.value ^ view.connection.qkey.value) & compared) == 0;
}

// --- IP and UDP

void precedence_of_v6(wire::Envelope& envelope) {
    constexpr unsigned precedence = 0x38;
    if (!envelope.destination.v4()) {
        envelope.dscp = static_cast<std::uint8_t>(envelope.dscp & precedence);
    }
}

class PortFollowsPsn final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::uint32_t first = 0xC000;
        constexpr std::uint32_t ports = 0x3FFF;
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) {
            datagram.envelope.source_port =
                static_cast<std::uint16_t>(first | (packet->bth.psn.value() & ports));
        }
        out.push_back(std::move(datagram));
    }
};

class ReflectsEcn final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = datagram.envelope.ecn;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().response()) datagram.envelope.ecn = newest_;
        out.push_back(std::move(datagram));
    }

  private:
    std::uint8_t newest_ = 0;
};

class LargeMayBeFragmented final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::uint16_t large = 1500;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv4 || parsed->ipv4->total_length <= large) return;
        wire::Ipv4 header = *parsed->ipv4;
        const auto place = frame.subspan(parsed->outer.ip_at, wire::Ipv4::kSize);
        header.dont_fragment = false;
        header.encode(place);
        header.checksum = wire::ipv4_checksum(place);
        header.encode(place);
        wire::seal(frame);
    }
};

// --- ICRC

class ThreePadBytesSpoilIcrc final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        const auto bth = parsed ? wire::Bth::decode(parsed->transport) : std::nullopt;
        if (!bth || bth->pad != 3) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

std::optional<OwnedDatagram> compares_half_an_icrc(wire::Bytes frame) {
    constexpr std::uint32_t compared = 0xFFFF;
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || ((parsed->icrc ^ wire::icrc(parsed->covered())) & compared) != 0) {
        return std::nullopt;
    }
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

// --- CNP

struct Way {
    std::optional<wire::Envelope> newest; // of a packet that left
};

class CnpForSpoiled final : public QpFilter<Way> {
  public:
    std::optional<OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        spoiled_ = false;
        const auto datagram = wire::unseal(frame);
        if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || parsed->envelope().ecn != wire::kCongestionExperienced) return std::nullopt;
        const auto bth = wire::Bth::decode(parsed->transport);
        if (!bth || !known_.contains(bth->dest_qp)) return std::nullopt;
        spoiled_ = true;
        return OwnedDatagram{.envelope = parsed->envelope(),
                             .bytes = {parsed->transport.begin(), parsed->transport.end()}};
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& /*attributes*/) override {
        known_.insert(qpn);
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t class_of_cnps = 48;
        if (!spoiled_) return;
        passage.dropped = true;
        const wire::Packet cnp = notification(qp.peer(), passage.packet.bth.pkey);
        wire::Envelope way = qp.memory.newest.value_or(back(passage.envelope));
        way.dscp = class_of_cnps;
        passage.sent.push_back({.envelope = way, .bytes = bytes_of(cnp)});
    }
    void leaves(Qp& qp, Passage& passage) override { qp.memory.newest = passage.envelope; }

  private:
    std::set<wire::Qpn> known_; // that were set up
    bool spoiled_ = false;      // the frame that arrives has a wrong ICRC
};

constexpr std::array kMutants{
    Mutant{.name = "v6_class_cut_to_precedence",
           .rule = "CA17-13",
           .description = "Over IPv6 packets leave with the upper three bits of the DSCP alone.",
           .make_filter = make<EditsSentEnvelope<precedence_of_v6>>},
    Mutant{.name = "source_port_follows_psn",
           .rule = "ENC-02",
           .level = "SHOULD",
           .description = "The UDP source port of a request is made of its PSN.",
           .make_filter = make<PortFollowsPsn>},
    Mutant{.name = "large_packets_may_be_fragmented",
           .rule = "CA17-7",
           .description = "IPv4 packets of more than 1500 bytes leave without DF.",
           .make_filter = make<LargeMayBeFragmented>},
    Mutant{.name = "answers_reflect_ecn",
           .rule = "CA17-5",
           .description = "Responses leave with the ECN bits with which the newest request "
                          "arrived.",
           .make_filter = make<ReflectsEcn>},
    Mutant{.name = "v6_source_compared_in_low_half",
           .rule = "ENC-14",
           .description = "Of an IPv6 source address the upper half is not compared.",
           .checks = kStandardChecks.with(PacketCheck::SourceAddress, compares_low_half)},
    Mutant{.name = "pkey_of_later_packets_not_checked",
           .rule = "BTH-07",
           .description = "The P_Key of a MIDDLE or LAST may be any.",
           .cases = "bth/inside-a-send bth/inside-a-write",
           .checks = kStandardChecks.with(PacketCheck::Pkey, first_packets_have_pkeys)},
    Mutant{.name = "qkey_compared_without_high_bit",
           .rule = "EXT-05",
           .description = "Two Q_Keys that differ in their highest bit are taken for equal.",
           .cases = "ext/queue-key-bits",
           .checks = kStandardChecks.with(DatagramCheck::Qkey, qkey_without_high_bit)},
    Mutant{.name = "icrc_wrong_with_three_pad_bytes",
           .rule = "CRC-01",
           .description = "The ICRC of packets with PadCnt 3 is wrong.",
           .make_filter = make<ThreePadBytesSpoilIcrc>},
    Mutant{.name = "icrc_compared_in_low_half",
           .rule = "CRC-07",
           .description = "Of the ICRC the lower sixteen bits are compared.",
           .cases = "crc/each-bit",
           .make_filter = make<Admits<compares_half_an_icrc>>},
    Mutant{.name = "cnp_for_spoiled_packet",
           .rule = "CNP-08",
           .description = "A marked packet with a wrong ICRC brings a CNP.",
           .cases = "cnp/for-a-dropped-packet",
           .make_filter = make<CnpForSpoiled>},
};

} // namespace
} // namespace veriroce::mutants::of_blind3_port

namespace veriroce::mutants {

std::span<const Mutant> blind3_port() {
    return of_blind3_port::kMutants;
}

} // namespace veriroce::mutants
