// Devices whose expected PSN advances differently from the right engine's: the engine counts as it
// does, and the filter translates the PSNs at its surface. Inside the room only.
#pragma once

#include <concepts>

#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants {

// What a response tells about the request behind it.
struct Told {
    bool behind = false; // its PSN is not ahead of what was answered before
    bool fresh = false;  // its MSN says that a request more was executed
};

struct PsnShift {
    std::int32_t by = 0;             // the engine's PSN less the wire's
    std::optional<wire::Psn> newest; // answered, as the engine counts
    wire::Msn msn;
};

// `Moved` says of a response whether from now on the engine expects one PSN more than the device
// that is played. A defect that remembers more has a `Memory` of its own.
template <bool (*Moved)(const wire::Packet&, Told), std::derived_from<PsnShift> Memory = PsnShift>
class ShiftsPsns : public QpFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) passage.packet.bth.psn += qp.memory.by;
    }

    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        PsnShift& memory = qp.memory;
        const wire::Psn newest = memory.newest.value_or(qp.first_request() - 1);
        Told told{.behind = wire::distance(newest, packet.bth.psn) <= 0};
        if (!told.behind) memory.newest = packet.bth.psn;
        if (has_aeth(packet)) {
            told.fresh =
                wire::distance(wire::Psn(memory.msn.value), wire::Psn(packet.aeth.msn.value)) > 0;
            if (told.fresh) memory.msn = packet.aeth.msn;
        }
        const bool moved = Moved(packet, told);
        packet.bth.psn += -memory.by;
        if (moved) ++memory.by;
    }
};

} // namespace veriroce::mutants
