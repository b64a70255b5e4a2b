// A responder that lacks a resource now and then, several times in a row. Inside the room only.
#pragma once

#include "conformance/mutants/blind.hpp"

namespace veriroce::mutants {

struct Refusing {
    Arrivals arrivals;
    std::uint32_t wanted = 0;        // requests since the last one that was refused
    std::uint32_t times = 0;         // that it was refused
    std::optional<wire::Psn> awaits; // the request that was refused
    NewestPsn answered;
    wire::Msn msn;
    bool dead = false; // a fatal NAK was sent
};

// RNR-01, RNR-03: "a WQE or other resource" is not ready. One of `Every` wanted requests gets an
// RNR NAK `Times` times. Only where the MSN is certain: all messages before were acknowledged.
template <bool (*Wanted)(const wire::OpcodeInfo&), std::uint32_t Every, std::uint32_t Times>
class LacksResources final : public QpFilter<Refusing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Refusing& memory = qp.memory;
        if (memory.dead || packet.info().response()) return;
        if (memory.awaits && wire::distance(*memory.awaits, packet.bth.psn) > 0) {
            passage.dropped = true; // RNR-04
            return;
        }
        if (!acceptable(qp, passage)) return;
        if (memory.awaits) {
            const std::int32_t ahead = wire::distance(*memory.awaits, packet.bth.psn);
            if (ahead < 0) return;
            if (memory.times < Times) {
                refuse(qp, passage);
            } else {
                memory.awaits.reset();
                memory.arrivals.note(packet, qp.first_request(), qp.mtu());
            }
            return;
        }
        Arrivals after = memory.arrivals;
        const bool expected =
            after.note(packet, qp.first_request(), qp.mtu()) == Arrivals::Place::Expected;
        const bool certain =
            after.first == (memory.answered.psn ? *memory.answered.psn + 1 : qp.first_request());
        if (expected && certain && Wanted(packet.info()) && ++memory.wanted >= Every) {
            memory.wanted = 0;
            memory.times = 0;
            memory.awaits = packet.bth.psn;
            refuse(qp, passage);
            return;
        }
        memory.arrivals = after;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Refusing& memory = qp.memory;
        if (!packet.info().response()) return;
        if (is_nak(packet)) {
            memory.dead |= !is_sequence_nak(packet) && !is_rnr_nak(packet);
            memory.arrivals.expect(packet.bth.psn);
            return;
        }
        memory.answered.note(packet.bth.psn);
        // A copy that came before is answered: there is nothing to refuse any more.
        if (memory.awaits && wire::distance(*memory.awaits, packet.bth.psn) >= 0)
            memory.awaits.reset();
        if (has_aeth(packet)) memory.msn = packet.aeth.msn;
    }

  private:
    // Only what a right device would take in (BTH-01, BTH-07, ENC-14).
    static bool acceptable(const Qp& qp, const Passage& passage) {
        const wire::Packet& packet = passage.packet;
        const bool receives = qp.report.state == engine::QpState::Rtr ||
                              qp.report.state == engine::QpState::Rts ||
                              qp.report.state == engine::QpState::Sqd;
        return receives && is_reliable(qp.report) && packet.info().request() &&
               packet.info().service == wire::Service::Rc && of_this_connection(qp.report, passage);
    }
    static void refuse(Qp& qp, Passage& passage) {
        Refusing& memory = qp.memory;
        ++memory.times;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(
            qp.peer(), qp.report.attributes.pkey.value_or(passage.packet.bth.pkey),
            passage.packet.bth.psn,
            wire::Syndrome::rnr(qp.report.attributes.min_rnr_timer.value_or(0)), memory.msn));
    }
};

} // namespace veriroce::mutants
