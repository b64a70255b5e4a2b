#include "conformance/model/packets.hpp"

#include <algorithm>
#include <chrono>

#include "conformance/model/congestion_checks.hpp"
#include "conformance/model/connection.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/header_checks.hpp"
#include "conformance/model/management_checks.hpp"
#include "conformance/model/posted_bytes.hpp"
#include "conformance/model/requester.hpp"
#include "conformance/model/requester_duties.hpp"
#include "conformance/model/responder.hpp"

namespace veriroce::model {
namespace {

// How long after a call a packet may leave that was on its way out, in virtual time.
constexpr wire::Duration kOnItsWayOut = std::chrono::milliseconds(1);

// One walk over the story.
class Walk {
  public:
    explicit Walk(const Story& story)
        : story_(story), connections_(story.setting), headers_(story, log_),
          management_(story.setting, log_), congestion_(story, log_),
          requester_(story.setting, log_), duties_(story, log_), responder_(story.setting, log_) {}

    std::vector<Deviation> run() {
        for (const Step& step : story_.steps) {
            duties_.look(instant_of(step));
            switch (step.kind) {
            case Step::Kind::Packet: take(story_.packets[step.index]); break;
            case Step::Kind::Asked: take(story_.calls[step.index]); break;
            case Step::Kind::Answered:
                duties_.answered(story_.calls[step.index]);
                congestion_.answered(story_.calls[step.index]);
                break;
            }
        }
        duties_.finish();
        congestion_.finish();
        return log_.take();
    }

  private:
    [[nodiscard]] wire::Instant instant_of(const Step& step) const {
        switch (step.kind) {
        case Step::Kind::Packet: return story_.packets[step.index].at.latest;
        case Step::Kind::Asked: return story_.calls[step.index].asked;
        case Step::Kind::Answered: return story_.calls[step.index].answered;
        }
        return {};
    }

    void take(const Call& call) {
        connections_.take(call);
        bytes_.take(call);
        duties_.asked(call);
        congestion_.asked(call);
        requester_.take(call, connections_, bytes_);
        responder_.take(call);
        const auto ready = std::ranges::stable_partition(early_, [&](const Packet* packet) {
            return connections_.prepares(packet->packet->bth.dest_qp);
        });
        for (const Packet* packet : ready)
            take_by_qp(*packet);
        early_.erase(ready.begin(), ready.end());
    }

    void take(const Packet& packet) {
        if (packet.from == Side::Tester) return take_of_tester(packet);
        if (!packet.sound()) return headers_.check_unsound(packet);
        congestion_.note(packet);
        const Connection* connection = sender_of(*packet.packet);
        if (connection != nullptr && is_left_over(packet, *connection)) return;
        // No QP has the peer of a former life any more.
        if (connection != nullptr && latest_of(*connection) != connection) connection = nullptr;
        headers_.check(packet, connection);
        management_.check(packet);
        congestion_.check(packet, connection);
        if (connection == nullptr || packet.packet->info().reserved()) return;
        if (packet.packet->info().request()) {
            requester_.check(packet, *connection, bytes_);
            duties_.sent(packet);
        }
        if (packet.packet->info().response()) responder_.check(packet, *connection);
    }

    // A datagram names the QP that sent it; its peer may be anybody.
    [[nodiscard]] const Connection* sender_of(const wire::Packet& packet) {
        if (!packet.headers.has(wire::Header::Deth))
            return connections_.of_peer(packet.bth.dest_qp);
        const Connection* sender = connections_.of_dut(packet.deth.source_qp);
        return sender != nullptr && sender->type == wire::QpType::Ud ? sender : nullptr;
    }

    void take_of_tester(const Packet& packet) {
        bytes_.take(packet);
        headers_.take_of_tester(packet);
        management_.take(packet);
        responder_.take_frame(packet);
        duties_.take(packet);
        if (!packet.packet) return;
        // STA-02: such a device serves it in RTR.
        const bool kept = story_.setting.trait("buffers_before_rtr") &&
                          connections_.prepares(packet.packet->bth.dest_qp);
        if (kept) return early_.push_back(&packet);
        take_by_qp(packet);
    }

    void take_by_qp(const Packet& packet) {
        const Connection* connection = connections_.of_dut(packet.packet->bth.dest_qp);
        if (connection == nullptr) return;
        headers_.take(packet, *connection);
        responder_.take(packet, *connection);
        congestion_.take(packet, *connection);
    }

    [[nodiscard]] const Connection* latest_of(const Connection& connection) {
        return connections_.of_handle(connection.handle);
    }

    // Whether the QP sent it in its life before: RESET does not call back what is on its way out.
    [[nodiscard]] bool is_left_over(const Packet& packet, const Connection& connection) {
        const Setting& setting = story_.setting;
        const wire::Duration longest = setting.exact ? kOnItsWayOut : setting.answer_time;
        const Connection* latest = latest_of(connection);
        if (latest != &connection) return packet.at.earliest - latest->began <= longest;
        if (packet.at.earliest - connection.began > longest) return false;
        const Connection* former = connections_.former(connection);
        if (former == nullptr) return false;
        const wire::Psn psn = packet.packet->bth.psn;
        if (packet.packet->info().request())
            return !requester_.knows(connection, psn) && requester_.knows(*former, psn);
        return !responder_.knows(connection, psn) && responder_.knows(*former, psn);
    }

    const Story& story_;
    DeviationLog log_;
    Connections connections_;
    PostedBytes bytes_;
    HeaderChecks headers_;
    ManagementChecks management_;
    CongestionChecks congestion_;
    RequesterChecks requester_;
    RequesterDuties duties_;
    ResponderChecks responder_;
    std::vector<const Packet*> early_; // of the tester, to QPs that have not reached RTR
};

} // namespace

std::vector<Deviation> check_packets(const Story& story) {
    return Walk(story).run();
}

} // namespace veriroce::model
