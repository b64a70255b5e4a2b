// Lawful oddities of the port: addresses, keys and congestion.
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_port {
namespace {

using namespace std::chrono_literals;

void from_the_roce_port(wire::Envelope& envelope) {
    envelope.source_port = wire::kRocePort;
}

void own_flow_label(wire::Envelope& envelope) {
    constexpr std::uint32_t some_label = 0x5EED5;
    if (!envelope.source.v4() && envelope.flow_label == 0) envelope.flow_label = some_label;
}

void mig_req_cleared(wire::Packet& packet) {
    packet.bth.mig_req = false;
}

constexpr std::array<std::byte, 16> kCnpBody{};

wire::Packet notification(wire::Qpn to, wire::Pkey pkey) {
    wire::Packet packet;
    packet.bth = {.opcode = wire::kCnpOpcode, .pkey = pkey, .becn = true, .dest_qp = to};
    packet.headers = packet.info().headers;
    packet.body = kCnpBody;
    return packet;
}

// CNP-05: some devices slow their peer down when packets are lost, or before.
template <bool Always>
class NotifiesOfLoss final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (Always ? packet.info().response() : is_sequence_nak(packet)) {
            passage.after.push_back(notification(packet.bth.dest_qp, packet.bth.pkey));
        }
    }
};

constexpr std::array kOddities{
    Mutant{.name = "source_port_of_the_qpns",
           .rule = "ENC-02",
           .description = "The UDP source port is made of the two QP numbers.",
           .behaviour = {.source_port = engine::SourcePort::QpnHash}},
    Mutant{.name = "low_source_port",
           .rule = "ENC-02",
           .description = "Packets leave from UDP port 4791.",
           .make_filter = make<EditsSentEnvelope<from_the_roce_port>>},
    Mutant{.name = "flow_label_of_its_own",
           .rule = "CRC-03",
           .description = "IPv6 packets without a flow label leave with one.",
           .make_filter = make<EditsSentEnvelope<own_flow_label>>},
    Mutant{.name = "pkeys_compared_whole",
           .rule = "BTH-07",
           .description = "A P_Key matches only if its membership bit is equal as well.",
           .behaviour = {.pkey_match = engine::PkeyMatch::Exact}},
    Mutant{.name = "oversize_datagram_fails",
           .rule = "EXT-05",
           .description = "A datagram above the MTU is not sent and completes with an error.",
           .behaviour = {.ud_oversize = engine::UdOversize::LengthError}},
    Mutant{.name = "not_migrated",
           .rule = "BTH-15",
           .description = "Packets leave with MigReq 0.",
           .make_filter = make<EditsOutbound<mig_req_cleared>>},
    Mutant{.name = "marks_cause_no_cnp",
           .rule = "CNP-01",
           .description = "The notification point is switched off.",
           .behaviour = {.congestion = {.notification = {.enabled = false}}}},
    Mutant{.name = "one_cnp_for_a_port",
           .rule = "CNP-04",
           .description = "CNPs keep their interval over all QPs of the port.",
           .behaviour = {.congestion = {.notification = {.scope = engine::CnpScope::Port,
                                                         .interval = 1ms}}}},
    Mutant{.name = "requests_alone_cause_cnps",
           .rule = "CNP-07",
           .description = "A mark on a response causes no CNP.",
           .behaviour = {.congestion = {.notification = {.for_responses = false}}}},
    Mutant{.name = "cnps_lower_the_rate",
           .rule = "CNP-09",
           .description = "The device obeys CNPs and sends requests and READ responses as ECT.",
           .behaviour = {.congestion = {.reaction = {.enabled = true}}}},
    Mutant{.name = "cnp_with_each_nak",
           .rule = "CNP-05",
           .description = "A CNP leaves beside each sequence NAK.",
           .lacks = "congestion", // no interval can be set
           .make_filter = make<NotifiesOfLoss<false>>},
    Mutant{.name = "cnp_with_each_answer",
           .rule = "CNP-05",
           .description = "A CNP leaves beside each ACK, NAK and READ response.",
           .lacks = "congestion", // no interval can be set
           .make_filter = make<NotifiesOfLoss<true>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_port

namespace veriroce::mutants {

std::span<const Mutant> lawful_port() {
    return of_lawful_port::kOddities;
}

} // namespace veriroce::mutants
