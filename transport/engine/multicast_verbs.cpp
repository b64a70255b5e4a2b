// The surface of multicast groups, over Device; and their datagrams in.
#include "transport/engine/state.hpp"
#include "transport/engine/unreliable.hpp"

namespace veriroce::engine {

std::expected<void, VerbError> Engine::attach_mcast(QpId qp, const wire::IpAddress& group) {
    const Qp* const target = state_->find(qp);
    if (target == nullptr) return std::unexpected(VerbError::NotFound);
    const bool may = target->connection.type == QpType::Ud && !target->description.gsi;
    if (!may || !is_multicast(group)) return std::unexpected(VerbError::InvalidArgument);
    return state_->groups.attach(group, qp);
}

std::expected<void, VerbError> Engine::detach_mcast(QpId qp, const wire::IpAddress& group) {
    if (state_->find(qp) == nullptr) return std::unexpected(VerbError::NotFound);
    return state_->groups.detach(group, qp);
}

namespace {

// The datagram as this QP sees it. It is no cause for a CNP, which goes from one QP to another.
void handle_copy(Device& device, Qp& qp, const wire::Envelope& envelope, const wire::Packet& packet,
                 wire::Instant now) {
    const PacketView view{envelope,
                          packet,
                          packet.info(),
                          qp.connection,
                          device.config.behaviour,
                          device.config.pkeys,
                          now};
    if (const auto refused_by = device.checks.refused_by(view)) {
        if (*refused_by == PacketCheck::Pkey) ++device.counters.bad_pkey;
        ++device.counters.dropped;
        return;
    }
    handle_datagram(device, qp, view);
}

} // namespace

void handle_multicast(Device& device, const wire::Envelope& envelope, const wire::Packet& packet,
                      wire::Instant now) {
    bool heard = false;
    if (packet.info().service == wire::Service::Ud) { // BTH-04
        device.groups.for_each_of(envelope.destination, [&](QpId qp) {
            heard = true;
            handle_copy(device, *device.find(qp), envelope, packet, now); // who is attached lives
        });
    }
    if (!heard) ++device.counters.dropped;
}

} // namespace veriroce::engine
