// Written blind: IP, BTH, ICRC and CNPs.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind_port {
namespace {

using engine::OwnedDatagram;
using wire::Operation;
using wire::Position;

// --- IP

void acks_without_class(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (packet.info().operation == Operation::Acknowledge) datagram.envelope.dscp = 0;
}

void longest_way_of_v6(wire::Envelope& envelope) {
    constexpr std::uint8_t longest = 255;
    if (!envelope.destination.v4()) envelope.hop_limit = longest;
}

bool short_way_of_v6(const OwnedDatagram& datagram) {
    return !datagram.envelope.destination.v4() && datagram.envelope.hop_limit == 1;
}

std::optional<OwnedDatagram> refuses_trailer(wire::Bytes frame) {
    constexpr std::size_t least_frame = 60;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed || frame.size() <= least_frame) return std::nullopt;
    const bool trailer = frame.size() > parsed->outer.icrc_at + wire::kIcrcBytes;
    return trailer ? std::optional(OwnedDatagram{}) : std::nullopt;
}

// --- ICRC

std::optional<OwnedDatagram> trusts_headers(wire::Bytes frame) {
    const auto datagram = wire::unseal(frame);
    if (datagram || datagram.error() != wire::FrameError::BadIcrc) return std::nullopt;
    const auto parsed = wire::decode_frame(frame);
    if (!parsed) return std::nullopt;
    const auto packet = wire::decode_packet(parsed->transport);
    if (!packet || !packet->body.empty()) return std::nullopt;
    return OwnedDatagram{.envelope = parsed->envelope(),
                         .bytes = {parsed->transport.begin(), parsed->transport.end()}};
}

// --- BTH

bool read_of_the_migrating(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_read_request(*packet) && !packet->bth.mig_req;
}

struct Header {
    std::uint8_t reserved7 = 0;
    bool fecn = false;
};

class EchoesReserved final : public QpFilter<Header> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) {
            qp.memory.reserved7 = passage.packet.bth.reserved7;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().response()) {
            passage.packet.bth.reserved7 = qp.memory.reserved7;
        }
    }
};

class EchoesFecn final : public QpFilter<Header> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.fecn = passage.packet.bth.fecn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().response()) passage.packet.bth.becn |= qp.memory.fecn;
    }
};

// --- CNP

struct Marked {
    wire::Psn psn;
    std::array<std::byte, 16> body{};
};

class CnpTellsPsn final : public QpFilter<Marked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override { qp.memory.psn = passage.packet.bth.psn; }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& body = qp.memory.body;
        if (packet.bth.opcode != wire::kCnpOpcode || packet.body.size() != body.size()) return;
        wire::store_be<4>(body, 0, qp.memory.psn.value());
        packet.body = body;
    }
};

// Changes the mark of some packets on their way in.
template <std::uint8_t (*Seen)(const wire::Packet&, std::uint8_t)>
class SeesMarks final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (const auto packet = wire::decode_packet(datagram.bytes)) {
            datagram.envelope.ecn = Seen(*packet, datagram.envelope.ecn);
        }
        in.push_back(std::move(datagram));
    }
};

std::uint8_t not_on_only(const wire::Packet& packet, std::uint8_t ecn) {
    return packet.info().request() && packet.info().position == Position::Only ? std::uint8_t{0}
                                                                               : ecn;
}

std::uint8_t ect_one_too(const wire::Packet& /*packet*/, std::uint8_t ecn) {
    return ecn == 1 ? wire::kCongestionExperienced : ecn;
}

struct Acknowledged {
    std::optional<wire::Packet> newest;
};

class AcksCnp final : public QpFilter<Acknowledged> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.bth.opcode != wire::kCnpOpcode || !qp.memory.newest) return;
        passage.answers.push_back(*qp.memory.newest);
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_ack(passage.packet)) qp.memory.newest = passage.packet;
    }
};

constexpr std::array kFirst{
    Mutant{.name = "acks_have_no_class",
           .rule = "ENC-12",
           .level = "SHOULD",
           .description = "ACKs and NAKs leave with DSCP 0, whatever the QP's traffic class is.",
           .cases = "enc/traffic-class-of-each-answer",
           .make_filter = make<EditsSentDatagram<acks_without_class>>},
    Mutant{.name = "v6_hop_limit_one_dropped",
           .rule = "ENC-11",
           .description = "Over IPv6 a packet that arrives with hop limit 1 is dropped.",
           .make_filter = make<DropsInbound<short_way_of_v6>>},
    Mutant{.name = "icrc_of_headers_not_checked",
           .rule = "CRC-07",
           .description = "Of packets without payload the ICRC is not checked.",
           .make_filter = make<Admits<trusts_headers>>},
    Mutant{.name = "read_without_migreq_dropped",
           .rule = "BTH-15",
           .description = "A READ request whose MigReq is 0 is dropped.",
           .make_filter = make<DropsInbound<read_of_the_migrating>>},
    Mutant{.name = "reserved_bits_echoed",
           .rule = "BTH-16",
           .description = "Responses have the request's reserved bits before the PSN.",
           .make_filter = make<EchoesReserved>},
    Mutant{.name = "cnp_tells_the_psn",
           .rule = "CNP-02",
           .description = "The reserved bytes of a CNP begin with the PSN of the marked packet.",
           .make_filter = make<CnpTellsPsn>},
    Mutant{.name = "no_cnp_for_only_packets",
           .rule = "CNP-01",
           .description = "A marked request of one packet brings no CNP.",
           .make_filter = make<SeesMarks<not_on_only>>},
    Mutant{.name = "cnp_for_ect_one",
           .rule = "CNP-03",
           .level = "SHOULD",
           .description = "A packet with ECT(1) brings a CNP.",
           .make_filter = make<SeesMarks<ect_one_too>>},
};

constexpr std::array kSecond{
    Mutant{.name = "v6_hop_limit_255",
           .rule = "CA17-17",
           .description = "Over IPv6 each packet leaves with hop limit 255.",
           .make_filter = make<EditsSentEnvelope<longest_way_of_v6>>},
    Mutant{.name = "frame_with_trailer_dropped",
           .rule = "ENC-07",
           .level = "SHOULD",
           .description = "A frame of more than 60 bytes with bytes after its datagram is dropped.",
           .make_filter = make<Admits<refuses_trailer>>},
    Mutant{.name = "fecn_echoed_as_becn",
           .rule = "BTH-17",
           .description = "The response to a request with FECN has BECN.",
           .make_filter = make<EchoesFecn>},
    Mutant{.name = "cnp_is_acked",
           .rule = "CNP-12",
           .description = "A CNP brings the newest ACK once more.",
           .make_filter = make<AcksCnp>},
};

} // namespace
} // namespace veriroce::mutants::of_blind_port

namespace veriroce::mutants {

std::span<const Mutant> blind_port() {
    return of_blind_port::kFirst;
}

std::span<const Mutant> blind2_port() {
    return of_blind_port::kSecond;
}

} // namespace veriroce::mutants
