// A device whose QPs keep the class of service of their first path. Inside the room only.
//
// Source: rule ENC-12.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "dissector/wire/packet.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

// In the packets that `keeps` names.
template <bool (*keeps)(const wire::OpcodeInfo&)>
class KeepsClass final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        constexpr unsigned ecn_bits = 2;
        if (!attributes.address || !attributes.dest_qp) return; // INIT to RTR has both
        dscp_[*attributes.dest_qp] =
            static_cast<std::uint8_t>(attributes.address->traffic_class >> ecn_bits);
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && keeps(packet->info())) {
            const auto known = dscp_.find(packet->bth.dest_qp);
            if (known != dscp_.end()) datagram.envelope.dscp = known->second;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, std::uint8_t> dscp_; // by the peer's QP
};

} // namespace veriroce::mutants
