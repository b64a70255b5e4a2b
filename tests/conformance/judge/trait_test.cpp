// A device that places what comes out of order, as some do by configuration: with the trait it is
// not blamed for what it does not ask for, without it it is.
#include <catch2/catch.hpp>

#include <algorithm>

#include "dissector/wire/packet.hpp"
#include "tests/conformance/judge/simulated.hpp"

namespace veriroce::judge::test {
namespace {

// Requests that come ahead of the expected one wait for it inside the device.
class PlacesOutOfOrder final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Qp& qp = qps_[report.qpn.value];
        if (!qp.next) qp.next = report.attributes.rq_psn;
        if (report.attributes.path_mtu) qp.mtu = *report.attributes.path_mtu;
    }

    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto found = packet ? qps_.find(packet->bth.dest_qp.value) : qps_.end();
        if (found == qps_.end() || !packet->info().request() || !found->second.next) {
            in.push_back(std::move(datagram));
            return;
        }
        Qp& qp = found->second;
        if (wire::distance(*qp.next, packet->bth.psn) > 0) {
            qp.waiting.insert_or_assign(packet->bth.psn.value(), std::move(datagram));
            return;
        }
        pass(qp, *packet);
        in.push_back(std::move(datagram));
        for (auto next = qp.waiting.find(qp.next->value()); next != qp.waiting.end();
             next = qp.waiting.find(qp.next->value())) {
            pass(qp, wire::decode_packet(next->second.bytes).value());
            in.push_back(std::move(next->second));
            qp.waiting.erase(next);
        }
    }

  private:
    struct Qp {
        std::optional<wire::Psn> next;
        wire::Mtu mtu = wire::Mtu::B1024;
        std::map<std::uint32_t, engine::OwnedDatagram> waiting; // by PSN
    };

    static void pass(Qp& qp, const wire::Packet& packet) {
        if (*qp.next != packet.bth.psn) return; // a duplicate
        const bool read = packet.info().operation == wire::Operation::RdmaReadRequest;
        *qp.next += read ? wire::packets_of(packet.reth.dma_length, qp.mtu) : 1;
    }

    std::map<std::uint32_t, Qp> qps_;
};

std::unique_ptr<engine::SurfaceFilter> make_out_of_order() {
    return std::make_unique<PlacesOutOfOrder>();
}

} // namespace

TEST_CASE("trait: a device that places out of order", "[judge][sim][RSP-02]") {
    std::ptrdiff_t blamed_without = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const sim::Defect device{.make_filter = make_out_of_order, .watched_only = true};
        const Recording recording(sim::scenario_of(seed), device);
        for (const auto& [port, frames] : recording.ports) {
            Assumptions assumptions = assumptions_at(recording, port, Told::Everything);
            assumptions.not_judged = all_but(port);
            const Judge strict = judged_at(recording, port, assumptions);
            blamed_without += std::ranges::count_if(strict.violations(), [](const auto& found) {
                return found.certainty == Certainty::Certain && found.rule == "RSP-02";
            });
            assumptions.out_of_order = assumptions.recorded_at;
            const Judge lenient = judged_at(recording, port, assumptions);
            for (const Violation& violation : lenient.violations()) {
                INFO("seed " << seed << ", port " << port << ": " << violation.rule << ": "
                             << text_of(violation) << ", packet " << violation.packets.numbers[0]);
                CHECK(violation.certainty != Certainty::Certain);
            }
        }
    }
    CHECK(blamed_without > 10);
}

} // namespace veriroce::judge::test
