// A filter that keeps something in mind for each QP. Inside the room only.
#pragma once

#include <map>
#include <memory>
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

// A QP as a filter knows it.
class KnownQp {
  public:
    engine::QpReport report;

    KnownQp() = default;
    virtual ~KnownQp() = default;

    [[nodiscard]] wire::Mtu mtu() const {
        return report.attributes.path_mtu.value_or(wire::Mtu::B1024);
    }
    // The PSN that the responder began with.
    [[nodiscard]] wire::Psn first_request() const {
        return report.attributes.rq_psn.value_or(wire::Psn{});
    }
    [[nodiscard]] wire::Qpn peer() const { return report.attributes.dest_qp.value_or(wire::Qpn{}); }
    // The envelope of what answers a datagram with this one: the path is the QP's own.
    [[nodiscard]] wire::Envelope answering(const wire::Envelope& request) const;

    virtual void forget() = 0; // STA-10: the QP goes to RESET

  protected:
    KnownQp(const KnownQp&) = default;
    KnownQp& operator=(const KnownQp&) = default;
};

// Hands the packets of each QP to the filter. Packets of QPs that the host has not told of, and
// what is no packet, pass unchanged.
class QpSurface : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) final;
    void qp_destroyed(wire::Qpn qpn) final;
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) final;
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) final;

  private:
    [[nodiscard]] virtual std::unique_ptr<KnownQp> new_qp() const = 0;
    virtual void hand_arriving(KnownQp& qp, Passage& passage) = 0;
    virtual void hand_leaving(KnownQp& qp, Passage& passage) = 0;

    [[nodiscard]] KnownQp* sender(const wire::Packet& packet, const wire::Envelope& envelope);

    std::map<wire::Qpn, std::unique_ptr<KnownQp>> qps_;
};

// `Memory` is what the filter remembers of a QP; RESET makes it forget. What does not depend on it
// is in QpSurface, which is compiled once and not for each of the many filters.
template <typename Memory>
class QpFilter : public QpSurface {
  protected:
    struct Qp final : KnownQp {
        Memory memory{};
        void forget() override { memory = {}; }
    };

    virtual void arrives(Qp& /*qp*/, Passage& /*passage*/) {}
    virtual void leaves(Qp& /*qp*/, Passage& /*passage*/) {}

  private:
    [[nodiscard]] std::unique_ptr<KnownQp> new_qp() const final {
        return std::unique_ptr<KnownQp>(new Qp);
    }
    void hand_arriving(KnownQp& qp, Passage& passage) final {
        arrives(static_cast<Qp&>(qp), passage);
    }
    void hand_leaving(KnownQp& qp, Passage& passage) final {
        leaves(static_cast<Qp&>(qp), passage);
    }
};

} // namespace veriroce::mutants
