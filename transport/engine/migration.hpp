// Automatic path migration of RC and UC, the minimum that the rules demand: a QP that is ARMED goes
// over to its alternate path when its peer does, when the verb says so, or when its retries on the
// first path are used up; REARM becomes ARMED when the peer's packets say that it is rearmed too.
//
// A QP does not migrate if the requesting packet does not fit the alternate path: PATH_MIG_ERR.
//
// MIGRATED sends MigReq 1 (or what the verb `mig_req` says), REARM and ARMED send 0.
//
// Source: rules N-24, BTH-15, ENC-14, TMO-03; Linux' rdmavt and hfi1 for what the verb refuses.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// Whether the verb may change the path's state like this: REARM from MIGRATED with an alternate
// path loaded, MIGRATED from ARMED. ARMED is not the host's to set.
bool migration_allowed(const Connection& connection, const QpAttributes& attributes);
// Carries out a change that was allowed.
void apply_migration(Device& device, Qp& qp, const QpAttributes& attributes);

// To the alternate path, which is then the only one.
void migrate(Device& device, Qp& qp);

// A packet check refused a packet. If it was to take an ARMED QP to its alternate path and is not
// at home there, PATH_MIG_ERR is raised, once until the QP is rearmed: nobody needs one for each
// packet.
void note_refused(Device& device, Qp& qp, const PacketView& view, PacketCheck by);

// A packet passed the packet checks: acts on its MigReq.
void note_mig_req(Device& device, Qp& qp, const PacketView& view);

} // namespace veriroce::engine
