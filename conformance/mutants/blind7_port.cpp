// Written blind, seventh sample: headers, ICRC, CNPs, UC, datagrams and QP 1.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind7_port {
namespace {

using engine::OwnedDatagram;
using engine::SurfaceFilter;
using wire::Operation;

// --- headers and ICRC

class ReadResponsesMayBeFragmented final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv4) return;
        const auto packet = wire::decode_packet(parsed->transport);
        if (!packet || !is_read_response(*packet)) return;
        wire::Ipv4 header = *parsed->ipv4;
        const auto place = frame.subspan(parsed->outer.ip_at, wire::Ipv4::kSize);
        header.dont_fragment = false;
        header.encode(place);
        header.checksum = wire::ipv4_checksum(place);
        header.encode(place);
        wire::seal(frame);
    }
};

class LargeSpoiled final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t large = 2200;
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || parsed->transport.size() <= large) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

void naks_with_default_pkey(wire::Packet& packet) {
    if (is_nak(packet)) packet.bth.pkey = wire::kDefaultPkey;
}

// A QP says whose it is by the peer's number.
class OtherPortAfterSqd final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::uint16_t next = 1;
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && drained_.contains(packet->bth.dest_qp)) {
            datagram.envelope.source_port ^= next;
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (!report.attributes.dest_qp) return;
        if (report.state == engine::QpState::Sqd) drained_.insert(*report.attributes.dest_qp);
        if (report.state == engine::QpState::Rtr) drained_.erase(*report.attributes.dest_qp);
    }

  private:
    std::set<wire::Qpn> drained_; // the peers
};

void cnp_without_tag(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (packet.info().operation == Operation::Cnp) datagram.envelope.vlan.reset();
}

// --- UC and datagrams

void datagrams_never_solicited(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Ud) packet.bth.solicited = false;
}

struct UcMessage {
    bool open = false;
    bool lost = false; // the message that arrives
};

class UcMessageAfterBrokenLost final : public QpFilter<UcMessage> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        UcMessage& memory = qp.memory;
        if (info.service != wire::Service::Uc || !info.request()) return;
        if (info.starts_message()) memory.lost = memory.open;
        memory.open = !info.ends_message();
        passage.dropped = memory.lost;
    }
};

// --- QP 1

constexpr std::size_t kHeaderBytes = wire::Bth::kSize + wire::Deth::kSize;
constexpr std::size_t kRejectedAt = 32; // in the upper two bits: 0 REQ, 1 REP, 2 another message

// The datagram in a packet to QP 1; empty if there is no whole one.
wire::MutableBytes message_in(OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet || packet->info().service != wire::Service::Ud ||
        packet->bth.dest_qp != wire::kGsiQpn ||
        datagram.bytes.size() < kHeaderBytes + wire::kMadBytes) {
        return {};
    }
    return wire::MutableBytes(datagram.bytes).subspan(kHeaderBytes, wire::kMadBytes);
}

class RejNamesAnotherMessage final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto message = message_in(datagram);
        if (!message.empty() && wire::cm::attribute_of(message) == wire::cm::kRej) {
            message[kRejectedAt] = std::byte{0x80};
        }
        out.push_back(std::move(datagram));
    }
};

class DreqAnsweredOnce final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto message = message_in(datagram);
        const bool dreq = !message.empty() && wire::cm::attribute_of(message) == wire::cm::kDreq;
        if (dreq && !answered_.insert(wire::load_u64(message, wire::cm::kTransactionAt)).second)
            return;
        in.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint64_t> answered_; // transactions
};

constexpr std::array kMutants{
    Mutant{.name = "read_responses_may_be_fragmented",
           .rule = "CA17-7",
           .description = "READ responses leave without DF.",
           .make_filter = make<ReadResponsesMayBeFragmented>},
    Mutant{.name = "icrc_of_large_packets_wrong",
           .rule = "CRC-01",
           .description = "Packets of more than 2200 bytes leave with a wrong ICRC.",
           .make_filter = make<LargeSpoiled>},
    Mutant{.name = "naks_with_default_pkey",
           .rule = "BTH-08",
           .level = "SHOULD",
           .description = "NAKs and RNR NAKs have P_Key 0xFFFF.",
           .make_filter = make<EditsOutbound<naks_with_default_pkey>>},
    Mutant{.name = "source_port_changes_with_sqd",
           .rule = "ENC-02",
           .level = "SHOULD",
           .description = "A QP that was in SQD sends from another UDP port.",
           .make_filter = make<OtherPortAfterSqd>},
    Mutant{.name = "cnp_without_vlan",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "CNPs have no VLAN tag.",
           .cases = "cnp/in-a-vlan",
           .make_filter = make<EditsSentDatagram<cnp_without_tag>>},
    Mutant{.name = "datagrams_never_solicited",
           .rule = "BTH-13",
           .description = "A datagram with SE wakes no host that waits for solicited completions.",
           .make_filter = make<EditsInbound<datagrams_never_solicited>>},
    Mutant{.name = "uc_message_after_broken_one_lost",
           .rule = "EXT-06",
           .description = "A UC message behind one without its LAST is not delivered.",
           .make_filter = make<UcMessageAfterBrokenLost>},
    Mutant{.name = "rej_names_another_message",
           .rule = "CM-06",
           .description = "The REJ of a REQ says that it rejects another message.",
           .make_filter = make<RejNamesAnotherMessage>},
    Mutant{.name = "repeated_dreq_not_answered",
           .rule = "N-32",
           .level = "SHOULD",
           .description = "A DREQ that comes again gets no DREP.",
           .cases = "cm/repeated-dreq",
           .make_filter = make<DreqAnsweredOnce>},
};

} // namespace
} // namespace veriroce::mutants::of_blind7_port

namespace veriroce::mutants {

std::span<const Mutant> blind7_port() {
    return of_blind7_port::kMutants;
}

} // namespace veriroce::mutants
