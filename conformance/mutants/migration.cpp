// Defects of automatic path migration.
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants::of_migration {
namespace {

// The QP says that it is armed, and has its first path alone.
class SecondPathForgotten final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (!attributes.alternate) return;
        attributes.alternate.reset();
        attributes.path_mig_state.reset();
        attributes.mig_req = false;
    }
};

class MigratesUntold final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == engine::EventType::PathMig) return std::nullopt;
        return event;
    }
};

// REARM is taken for ARMED: the first packet of the peer need not say that the peer is ready.
class ArmedAtOnce final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.path_mig_state == engine::MigState::Rearm) rearmed_.insert(qpn);
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && rearmed_.erase(packet->bth.dest_qp) != 0) {
            packet->bth.mig_req = false;
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::set<wire::Qpn> rearmed_; // that have heard nothing since
};

constexpr std::string_view kEachMigration =
    "n/migrates-with-its-peer n/migrates-when-retries-are-used-up n/migrates-when-it-is-told";

constexpr std::array kMutants{
    Mutant{.name = "second_path_forgotten",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "A QP that was given a second path never goes over to it.",
           .cases = kEachMigration,
           .make_filter = make<SecondPathForgotten>},
    Mutant{.name = "migration_untold",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "A QP goes over to its second path without an event.",
           .cases = kEachMigration,
           .make_filter = make<MigratesUntold>},
    Mutant{.name = "rearm_taken_for_armed",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "A QP in REARM goes over to its second path before its peer is ready.",
           .cases = "n/rearmed-only",
           .make_filter = make<ArmedAtOnce>},
};

} // namespace
} // namespace veriroce::mutants::of_migration

namespace veriroce::mutants {

std::span<const Mutant> migration() {
    return of_migration::kMutants;
}

} // namespace veriroce::mutants
