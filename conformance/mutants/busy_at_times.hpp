// A responder that lacks a resource at times. Inside the room only.
#pragma once

#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants {

struct Busy {
    std::uint32_t plain = 0;         // requests since the last RNR NAK
    std::optional<wire::Psn> awaits; // the request that was refused
    NewestPsn newest;                // answered
    wire::Msn msn;
    bool dead = false; // a fatal NAK was sent
};

// RNR-03: memory that is not there at the moment, say. One of `Every` plain WRITEs, READs and
// atomics is refused.
template <std::uint32_t Every>
class BusyAtTimes final : public QpFilter<Busy> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Busy& busy = qp.memory;
        if (!packet.info().request() || busy.dead) return;
        if (busy.awaits) {
            const std::int32_t ahead = wire::distance(*busy.awaits, packet.bth.psn);
            passage.dropped = ahead > 0; // RNR-04
            if (ahead == 0) busy.awaits.reset();
            return;
        }
        const wire::Pkey pkey = qp.report.attributes.pkey.value_or(packet.bth.pkey);
        const bool dropped = ((pkey.value ^ packet.bth.pkey.value) & 0x7FFF) != 0; // BTH-07
        if (dropped || !plain(packet.info())) return;
        const bool expected =
            packet.bth.psn == (busy.newest.psn ? *busy.newest.psn + 1 : qp.first_request());
        if (++busy.plain < Every || !expected) return;
        busy.plain = 0;
        busy.awaits = packet.bth.psn;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(
            qp.peer(), pkey, packet.bth.psn,
            wire::Syndrome::rnr(qp.report.attributes.min_rnr_timer.value_or(0)), busy.msn));
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Busy& busy = qp.memory;
        if (!packet.info().response()) return;
        if (is_nak(packet)) {
            busy.dead |= !is_sequence_nak(packet) && !is_rnr_nak(packet);
            return;
        }
        busy.newest.note(packet.bth.psn);
        if (has_aeth(packet)) busy.msn = packet.aeth.msn;
    }

  private:
    static bool plain(const wire::OpcodeInfo& info) {
        return info.service == wire::Service::Rc && info.starts_message() &&
               info.operation != wire::Operation::Send && !info.consumes_receive() &&
               !info.reserved();
    }
};

} // namespace veriroce::mutants
