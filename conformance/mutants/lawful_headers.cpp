// Lawful oddities in the headers that no standard fixes: what NICs and their hosts fill in.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_headers {
namespace {

constexpr std::uint8_t kEct0 = 2; // ECN-capable transport, codepoint 0

// CA17-5, CA17-14: a device that manages congestion, and says so in each packet.
void as_ect(wire::Envelope& envelope) {
    envelope.ecn = kEct0;
}

// N-05, ENC-15: the frames of a port whose traffic is given a priority.
void priority_tagged(wire::Envelope& envelope) {
    constexpr std::uint8_t some_priority = 3;
    if (!envelope.vlan) envelope.vlan = wire::VlanId{.id = 0, .priority = some_priority};
}

void with_the_ports_dscp(wire::Envelope& envelope) {
    constexpr std::uint8_t some_class = 26;
    envelope.dscp = some_class;
}

// Where the IP and UDP headers of a sealed frame are.
struct Places {
    bool v4 = true;
    std::size_t ip = 0;
    std::size_t udp = 0;
};

std::optional<Places> places_of(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded) return std::nullopt;
    Places places{.v4 = decoded->ipv4.has_value()};
    places.ip = static_cast<std::size_t>(decoded->covered().data() - frame.data());
    constexpr std::size_t v4_bytes = 20;
    constexpr std::size_t v6_bytes = 40;
    places.udp = places.ip + (places.v4 ? v4_bytes : v6_bytes);
    return places;
}

// ENC-04, ENC-05: as a card does that finishes UDP checksums.
class SendsUdpChecksum final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto places = places_of(frame);
        if (!places) return;
        const wire::Bytes all = frame;
        const wire::Bytes addresses =
            places->v4 ? all.subspan(places->ip + 12, 8) : all.subspan(places->ip + 8, 32);
        wire::store_be<2>(frame, places->udp + 6,
                          wire::udp_checksum(addresses, all.subspan(places->udp)));
    }
};

// The identification of a packet that is never cut into pieces means nothing (RFC 6864).
class ScattersIpIds final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto places = places_of(frame);
        if (!places || !places->v4) return;
        constexpr std::uint16_t some_step = 0x9E37;
        id_ = static_cast<std::uint16_t>(id_ + some_step);
        const auto header = frame.subspan(places->ip, 20);
        wire::store_be<2>(header, 4, id_);
        wire::store_be<2>(header, 10, wire::ipv4_checksum(header));
        wire::seal(frame);
    }

  private:
    std::uint16_t id_ = 0;
};

void answers_from_another_port(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::uint16_t another = 0x0101;
    if (packet.info().response()) datagram.envelope.source_port ^= another;
}

// ENC-02: another path is tried after a loss.
class ResendsFromAnotherPort final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request() && packet->info().service == wire::Service::Rc) {
            NewestPsn& newest = newest_[{packet->bth.dest_qp, datagram.envelope.source_port}];
            const bool again = newest.note(packet->bth.psn);
            constexpr std::uint16_t another = 0x0102;
            constexpr std::uint32_t other_label = 0x00A5A;
            if (again) datagram.envelope.source_port ^= another;
            if (again && !datagram.envelope.source.v4())
                datagram.envelope.flow_label ^= other_label;
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) newest_.clear();
    }

  private:
    std::map<std::pair<wire::Qpn, std::uint16_t>, NewestPsn> newest_;
};

// Packets take several paths at once.
class SpraysPaths final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr unsigned paths = 8;
        next_ = (next_ + 3) % paths;
        datagram.envelope.source_port = static_cast<std::uint16_t>(0xC000U + next_);
        out.push_back(std::move(datagram));
    }

  private:
    unsigned next_ = 0;
};

// CNP-06: CNPs have a class, a life and a port of their own.
void cnps_of_their_own(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (packet.info().service != wire::Service::Cnp) return;
    constexpr std::uint8_t network_control = 48;
    constexpr std::uint8_t most_hops = 255;
    datagram.envelope.dscp = network_control;
    datagram.envelope.hop_limit = most_hops;
    datagram.envelope.source_port = wire::kRocePort;
    datagram.delay += std::chrono::microseconds(200);
}

constexpr std::array kOddities{
    Mutant{.name = "ect_in_every_packet",
           .rule = "CA17-5",
           .description = "Each packet leaves as ECT(0), ACKs and CNPs too.",
           .make_filter = make<EditsSentEnvelope<as_ect>>},
    Mutant{.name = "priority_tagged",
           .rule = "N-05",
           .description = "Frames outside VLANs leave with a priority tag: VLAN 0, priority 3.",
           .make_filter = make<EditsSentEnvelope<priority_tagged>>},
    Mutant{.name = "dscp_of_the_port",
           .rule = "ENC-12",
           .description = "All packets leave with DSCP 26, as configured for the port.",
           .traits = "dscp_overridden",
           .make_filter = make<EditsSentEnvelope<with_the_ports_dscp>>},
    Mutant{.name = "udp_checksum_sent",
           .rule = "ENC-05",
           .description = "Packets leave with a right UDP checksum, over IPv4 and IPv6.",
           .make_filter = make<SendsUdpChecksum>},
    Mutant{.name = "ip_ids_scattered",
           .rule = "CA17-7",
           .description = "IPv4 identifications do not count up.",
           .make_filter = make<ScattersIpIds>},
    Mutant{.name = "answers_from_another_port",
           .rule = "ENC-02",
           .description = "Answers leave from another UDP port than requests.",
           .make_filter = make<EditsSentDatagram<answers_from_another_port>>},
    Mutant{.name = "resends_from_another_port",
           .rule = "ENC-02",
           .description =
               "Requests that are sent again leave from another UDP port and flow label.",
           .make_filter = make<ResendsFromAnotherPort>},
    Mutant{.name = "packets_on_eight_paths",
           .rule = "ENC-02",
           .description = "Each packet leaves from the next of eight UDP ports.",
           .traits = "multipath",
           .make_filter = make<SpraysPaths>},
    Mutant{.name = "cnps_of_their_own_class",
           .rule = "CNP-06",
           .description =
               "CNPs leave 200 us later, with DSCP 48, hop limit 255 and UDP source port 4791.",
           .lacks = "congestion", // its DSCP cannot be set
           .make_filter = make<EditsSentDatagram<cnps_of_their_own>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_headers

namespace veriroce::mutants {

std::span<const Mutant> lawful_headers() {
    return of_lawful_headers::kOddities;
}

} // namespace veriroce::mutants
