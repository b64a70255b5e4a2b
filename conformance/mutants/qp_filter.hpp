// A filter that keeps something in mind for each QP. Inside the room only.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

// A packet on its way through the surface, and what the filter sends beside it.
struct Passage {
    wire::Packet packet; // may be changed
    wire::Envelope envelope{};
    bool dropped = false;
    std::vector<wire::Packet> before; // more packets in the same direction
    std::vector<wire::Packet> after;
    std::vector<wire::Packet> answers;         // on the way in: straight back to the peer
    std::vector<engine::OwnedDatagram> sent{}; // the same, with an envelope of its own
};

// The memory of a filter that remembers nothing of a QP.
struct Nothing {};

// `Memory` is what the filter remembers of a QP; RESET makes it forget (STA-10). Packets of QPs
// that the host has not told of, and what is no packet, pass unchanged.
template <typename Memory>
class QpFilter : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) final {
        Qp& qp = qps_[report.qpn];
        if (report.state == engine::QpState::Reset) qp.memory = {};
        // A later report tells the PSN that the responder has come to.
        const auto began_with =
            connected(qp.report.state) ? qp.report.attributes.rq_psn : std::optional<wire::Psn>();
        qp.report = report;
        if (began_with && connected(report.state)) qp.report.attributes.rq_psn = began_with;
    }
    void qp_destroyed(wire::Qpn qpn) final { qps_.erase(qpn); }

    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) final {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? qps_.find(packet->bth.dest_qp) : qps_.end();
        if (qp == qps_.end()) {
            in.push_back(std::move(datagram));
            return;
        }
        Passage passage{.packet = *packet, .envelope = datagram.envelope};
        arrives(qp->second, passage);
        put(datagram, passage, in);
        std::ranges::move(passage.sent, std::back_inserter(answers));
        for (const wire::Packet& answer : passage.answers) {
            answers.push_back(
                {.envelope = qp->second.answering(datagram.envelope), .bytes = bytes_of(answer)});
        }
    }

    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) final {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? sender(*packet, datagram.envelope) : std::nullopt;
        if (!qp) {
            out.push_back(std::move(datagram));
            return;
        }
        Passage passage{.packet = *packet, .envelope = datagram.envelope};
        leaves(*qp, passage);
        put(datagram, passage, out);
    }

  protected:
    struct Qp {
        engine::QpReport report;
        Memory memory{};

        [[nodiscard]] wire::Mtu mtu() const {
            return report.attributes.path_mtu.value_or(wire::Mtu::B1024);
        }
        // The PSN that the responder began with.
        [[nodiscard]] wire::Psn first_request() const {
            return report.attributes.rq_psn.value_or(wire::Psn{});
        }
        [[nodiscard]] wire::Qpn peer() const {
            return report.attributes.dest_qp.value_or(wire::Qpn{});
        }
        // The envelope of what answers a datagram with this one: the path is the QP's own.
        [[nodiscard]] wire::Envelope answering(const wire::Envelope& request) const {
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
    };

    virtual void arrives(Qp& /*qp*/, Passage& /*passage*/) {}
    virtual void leaves(Qp& /*qp*/, Passage& /*passage*/) {}

  private:
    static bool connected(engine::QpState state) {
        return state != engine::QpState::Reset && state != engine::QpState::Init;
    }

    // A packet says whose it is, not who sends it: the QP that has this peer.
    std::optional<std::reference_wrapper<Qp>> sender(const wire::Packet& packet,
                                                     const wire::Envelope& envelope) {
        for (auto& [qpn, qp] : qps_) {
            const auto& address = qp.report.attributes.address;
            if (qp.peer() == packet.bth.dest_qp && address &&
                address->destination == envelope.destination) {
                return qp;
            }
        }
        return std::nullopt;
    }

    static void put(const engine::OwnedDatagram& datagram, const Passage& passage,
                    std::vector<engine::OwnedDatagram>& to) {
        const auto add = [&](const wire::Packet& packet) {
            to.push_back({.envelope = datagram.envelope,
                          .bytes = bytes_of(packet),
                          .delay = datagram.delay});
        };
        for (const wire::Packet& packet : passage.before)
            add(packet);
        if (!passage.dropped) add(passage.packet);
        for (const wire::Packet& packet : passage.after)
            add(packet);
    }

    std::map<wire::Qpn, Qp> qps_;
};

} // namespace veriroce::mutants
