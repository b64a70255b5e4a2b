#include "conformance/mutants/qp_filter.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace veriroce::mutants {
namespace {

bool connected(engine::QpState state) {
    return state != engine::QpState::Reset && state != engine::QpState::Init;
}

void put(const engine::OwnedDatagram& datagram, const Passage& passage,
         std::vector<engine::OwnedDatagram>& to) {
    const auto add = [&](const wire::Packet& packet) {
        to.push_back(
            {.envelope = datagram.envelope, .bytes = bytes_of(packet), .delay = datagram.delay});
    };
    for (const wire::Packet& packet : passage.before)
        add(packet);
    if (!passage.dropped) add(passage.packet);
    for (const wire::Packet& packet : passage.after)
        add(packet);
}

} // namespace

wire::Envelope KnownQp::answering(const wire::Envelope& request) const {
    wire::Envelope answer = back(request);
    const auto& path = report.attributes.address;
    if (!path) return answer;
    answer.dscp = static_cast<std::uint8_t>(path->traffic_class >> 2);
    answer.ecn = static_cast<std::uint8_t>(path->traffic_class & 3);
    answer.hop_limit = path->hop_limit;
    answer.flow_label = path->flow_label;
    if (path->source_port) answer.source_port = *path->source_port;
    return answer;
}

void QpSurface::qp_changed(const engine::QpReport& report) {
    std::unique_ptr<KnownQp>& qp = qps_[report.qpn];
    if (!qp) qp = new_qp();
    if (report.state == engine::QpState::Reset) qp->forget();
    // A later report tells the PSN that the responder has come to.
    const auto began_with =
        connected(qp->report.state) ? qp->report.attributes.rq_psn : std::optional<wire::Psn>();
    qp->report = report;
    if (began_with && connected(report.state)) qp->report.attributes.rq_psn = began_with;
}

void QpSurface::qp_destroyed(wire::Qpn qpn) {
    qps_.erase(qpn);
}

void QpSurface::inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                        std::vector<engine::OwnedDatagram>& in,
                        std::vector<engine::OwnedDatagram>& answers) {
    const auto packet = wire::decode_packet(datagram.bytes);
    const auto found = packet ? qps_.find(packet->bth.dest_qp) : qps_.end();
    if (found == qps_.end()) {
        in.push_back(std::move(datagram));
        return;
    }
    KnownQp& qp = *found->second;
    Passage passage{.packet = *packet, .envelope = datagram.envelope};
    hand_arriving(qp, passage);
    put(datagram, passage, in);
    std::ranges::move(passage.sent, std::back_inserter(answers));
    for (const wire::Packet& answer : passage.answers)
        answers.push_back({.envelope = qp.answering(datagram.envelope), .bytes = bytes_of(answer)});
}

void QpSurface::outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                         std::vector<engine::OwnedDatagram>& out) {
    const auto packet = wire::decode_packet(datagram.bytes);
    KnownQp* const qp = packet ? sender(*packet, datagram.envelope) : nullptr;
    if (qp == nullptr) {
        out.push_back(std::move(datagram));
        return;
    }
    Passage passage{.packet = *packet, .envelope = datagram.envelope};
    hand_leaving(*qp, passage);
    put(datagram, passage, out);
}

// A packet says whose it is, not who sends it: the QP that has this peer.
KnownQp* QpSurface::sender(const wire::Packet& packet, const wire::Envelope& envelope) {
    const auto sends = [&](const auto& known) {
        const engine::QpAttributes& attributes = known.second->report.attributes;
        const auto& first = attributes.address;
        const auto& second = attributes.alternate; // a QP may have gone over to it
        const bool leads = (first && first->destination == envelope.destination) ||
                           (second && second->address.destination == envelope.destination);
        return leads && known.second->peer() == packet.bth.dest_qp;
    };
    const auto found = std::ranges::find_if(qps_, sends);
    return found == qps_.end() ? nullptr : found->second.get();
}

} // namespace veriroce::mutants
