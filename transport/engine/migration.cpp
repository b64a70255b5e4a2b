#include "transport/engine/migration.hpp"

#include <utility>

#include "transport/engine/path.hpp"

namespace veriroce::engine {

bool migration_allowed(const Connection& connection, const QpAttributes& attributes) {
    const bool quiet = connection.migration == MigState::Migrated;
    if (attributes.mig_req && (!quiet || attributes.path_mig_state)) return false;
    if (!attributes.path_mig_state) return true;
    switch (*attributes.path_mig_state) {
    case MigState::Rearm:
        return connection.migration != MigState::Armed &&
               (connection.alternate || attributes.alternate);
    case MigState::Migrated: return connection.migration != MigState::Rearm;
    case MigState::Armed: return false;
    }
    return false;
}

void apply_migration(Device& device, Qp& qp, const QpAttributes& attributes) {
    if (attributes.alternate) qp.connection.alternate = *attributes.alternate;
    if (attributes.path_mig_state == MigState::Rearm) {
        qp.connection.migration = MigState::Rearm;
        qp.connection.mig_req = false;
    }
    const bool armed = qp.connection.migration == MigState::Armed;
    if (attributes.path_mig_state == MigState::Migrated && armed) migrate(device, qp);
}

void migrate(Device& device, Qp& qp) {
    Connection& connection = qp.connection;
    if (!connection.alternate) return;
    connection.address = connection.alternate->address;
    connection.pkey = connection.alternate->pkey;
    connection.timeout = connection.alternate->timeout;
    connection.alternate.reset();
    connection.migration = MigState::Migrated;
    connection.mig_req = true;
    settle_path(device, qp);
    device.raise(EventType::PathMig, qp);
}

void note_refused(Device& device, Qp& qp, const PacketView& view, PacketCheck by) {
    const bool of_path = group_of(by) == CheckGroup::Path;
    if (!of_path || !view.by_alternate() || !receives(qp.connection.state)) return;
    if (std::exchange(qp.migration_refused, true)) return;
    device.raise(EventType::PathMigErr, qp);
}

void note_mig_req(Device& device, Qp& qp, const PacketView& view) {
    if (!receives(qp.connection.state)) return;
    const bool migrated = view.packet.bth.mig_req;
    if (qp.connection.migration == MigState::Armed && migrated) migrate(device, qp);
    if (qp.connection.migration == MigState::Rearm && !migrated) {
        qp.connection.migration = MigState::Armed;
        qp.migration_refused = false;
    }
}

} // namespace veriroce::engine
