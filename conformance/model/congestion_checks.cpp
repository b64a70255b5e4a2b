#include "conformance/model/congestion_checks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/model/header_checks.hpp"
#include "dissector/wire/line.hpp"

namespace veriroce::model {
namespace {

using enum rules::Level;

// The tester's port adds jitter, so two CNPs can look closer together than they were. On a real
// link, intervals below this one are not checked, and longer ones against their half.
constexpr wire::Duration kLeastSeen = std::chrono::milliseconds(1);

// A CNP may leave this much later than its interval allows, and still answers the mark.
constexpr wire::Duration kCnpDelay = std::chrono::milliseconds(1);

// CA17-45 leaves open how much one CNP does. The first 96 of a connection show in any case.
constexpr std::size_t kManyCnps = 96;
// Packets that were under way to the port before the CNPs came have left by then.
constexpr wire::Duration kReaction = std::chrono::milliseconds(2);

// CNP-10: a run is four packets of one message, each behind the one before. Many CNPs make a run
// last far more than 32 times as long; what else delays packets does not meet each of three runs.
constexpr std::size_t kRun = 4;
constexpr std::size_t kLeastRuns = 3;
constexpr int kSlower = 32;
// This long after the latest CNP, the QP may recover.
constexpr wire::Duration kRecovery = std::chrono::microseconds(500);

// CNP-11, CNP-12: one that no receiver may ignore.
bool is_regular_cnp(const wire::Packet& packet) {
    return packet.info().operation == wire::Operation::Cnp && packet.bth.becn && !packet.bth.fecn &&
           !packet.bth.ack_request && !packet.bth.solicited && packet.bth.pad == 0 &&
           packet.bth.psn == wire::Psn(0) && has_cnp_payload(packet);
}

bool carries_request(const wire::OpcodeInfo& info) {
    return info.service == wire::Service::Rc && info.request() && info.carries_payload();
}

bool has_aeth(const wire::Packet& packet) {
    return packet.info().response() && packet.headers.has(wire::Header::Aeth);
}

} // namespace

void CongestionChecks::asked(const Call& call) {
    if (std::holds_alternative<dut::CongestionSet>(call.request)) changing_ = true;
    const auto ends = [&](dut::QpHandle qp) {
        if (mark_ && mark_->of->handle == qp) mark_.reset();
    };
    if (const auto* destroy = std::get_if<dut::QpDestroy>(&call.request)) ends(destroy->qp);
    const auto* modify = std::get_if<dut::QpModify>(&call.request);
    if (modify != nullptr && (modify->attributes.state == wire::QpState::Err ||
                              modify->attributes.state == wire::QpState::Reset))
        ends(modify->qp);
}

void CongestionChecks::answered(const Call& call) {
    const bool set = std::holds_alternative<dut::CongestionSet>(call.request);
    if (set) changing_ = false;
    if (!call.answer || !call.answer->has_value()) return;
    const auto* now = std::get_if<Settings>(&**call.answer);
    if (now == nullptr) return;
    former_ = std::exchange(settings_, *now);
    changed_ = call.answered;
    latest_.clear();
    mark_.reset();
}

// If the tester sends a PSN again, the device may not have accepted the first copy.
void CongestionChecks::take(const Packet& packet, const Connection& connection) {
    if (packet.sound() && is_regular_cnp(*packet.packet) && reacts(connection))
        take_cnp(packet, connection);
    if (!packet.sound() || !carries_request(packet.packet->info())) return;
    const std::int64_t psn = connection.peer_psn(packet.packet->bth.psn);
    const auto [newest, first] = newest_.try_emplace(&connection, psn);
    const bool again = !first && psn <= newest->second;
    newest->second = std::max(newest->second, psn);
    if (again && mark_ && mark_->of == &connection && psn <= mark_->psn) mark_.reset();
    if (again || (mark_ && mark_->accepted) || changing_ || !story_.setting.exact) return;
    if (!settings_.np.value_or(false) || !settings_.cnp_interval_us) return;
    if (packet.frame.envelope().ecn != wire::kCongestionExperienced) return;
    const auto interval = std::chrono::microseconds(*settings_.cnp_interval_us);
    if (notified_ && packet.at.earliest - *notified_ < interval + kCnpDelay) return;
    mark_ = Mark{.packet = &packet,
                 .of = &connection,
                 .psn = psn,
                 .since = std::max(packet.at.latest, connection.began)};
}

// CNP-01: any CNP after it will do, because devices merge those of several marks.
void CongestionChecks::check_mark(wire::Instant now) {
    if (!mark_ || !mark_->accepted || now - mark_->since < story_.setting.answer_time) return;
    PacketLog log(log_, mark_->packet->number, mark_->of->qpn);
    log.add("CNP-01", Must, "CNP", "a CNP must follow a marked packet that the device accepted",
            "no CNP follows", rules::FindingClass::Absence);
    mark_.reset();
}

void CongestionChecks::finish() {
    check_mark(story_.end);
    check_strangers();
}

void CongestionChecks::note(const Packet& packet) {
    if (packet.packet->info().operation != wire::Operation::Cnp)
        return check_mark(packet.at.latest);
    mark_.reset();
    notified_ = packet.at.latest;
}

void CongestionChecks::check(const Packet& packet, const Connection* connection) {
    if (mark_ && mark_->of == connection && has_aeth(*packet.packet)) {
        const wire::AckKind kind = packet.packet->aeth.syndrome.kind();
        if (kind == wire::AckKind::Nak) {
            mark_.reset(); // it may end the QP
        } else if (kind == wire::AckKind::Ack &&
                   connection->peer_psn(packet.packet->bth.psn) >= mark_->psn) {
            mark_->accepted = true;
        }
    }
    if (connection != nullptr && carries_request(packet.packet->info()) && reacts(*connection)) {
        check_pace(packet, *connection);
        measure(packet, *connection);
    }
    if (packet.packet->info().operation != wire::Operation::Cnp || changing_) return;
    PacketLog log(log_, packet.number, packet.packet->bth.dest_qp);
    check_dscp(log, packet);
    // Datagrams of one QP may go to several of the device.
    if (connection != nullptr && connection->type != wire::QpType::Ud)
        check_interval(log, packet, *connection);
}

// A change may count only for QPs that leave RESET after it.
bool CongestionChecks::reacts(const Connection& connection) const {
    return settings_.rp.value_or(false) && !changing_ &&
           (!changed_ || connection.began >= *changed_);
}

// With a second path either address may be the peer's.
void CongestionChecks::take_cnp(const Packet& packet, const Connection& connection) {
    const wire::IpAddress& source = packet.frame.envelope().source;
    const bool of_peer = connection.migrates || std::ranges::find(connection.vectors, source,
                                                                  &dut::AddressVector::address) !=
                                                    connection.vectors.end();
    if (of_peer) return paces_[&connection].cnps.push_back(packet.at.latest);
    Strangers& strangers = strangers_[&connection];
    strangers.latest = packet.at.latest;
    if (++strangers.cnps == kManyCnps) strangers.many = packet.at.latest;
    if (strangers.cnps <= kManyCnps) strangers.run.clear();
}

// How long the device takes for a run of packets, as long as its message lasts.
void CongestionChecks::measure(const Packet& packet, const Connection& connection) {
    Strangers& strangers = strangers_[&connection];
    std::vector<const Packet*>& run = strangers.run;
    const bool during = strangers.cnps >= kManyCnps;
    const bool begun = !during || packet.at.earliest - strangers.many >= kReaction;
    const bool over = during && packet.at.earliest - strangers.latest > kRecovery;
    if (!begun || over || (!during && strangers.cnps != 0)) return run.clear();
    const bool goes_on = !run.empty() && !packet.packet->info().starts_message() &&
                         wire::distance(run.back()->packet->bth.psn, packet.packet->bth.psn) == 1;
    if (!goes_on) run.clear();
    run.push_back(&packet);
    if (run.size() < kRun) return;
    Strangers::Runs& runs = during ? strangers.during : strangers.before;
    runs.shortest = std::min(runs.shortest, packet.at.earliest - run.front()->at.earliest);
    ++runs.count;
    strangers.packet = packet.number;
    run.clear();
}

// CNP-10. What the peer's own CNPs do is not known well enough. On a real link a short time proves
// nothing.
void CongestionChecks::check_strangers() {
    const auto least = story_.setting.exact ? wire::Duration(1) : kLeastSeen;
    for (const auto& [connection, strangers] : strangers_) {
        const Strangers::Runs& before = strangers.before;
        const Strangers::Runs& during = strangers.during;
        const auto pace = paces_.find(connection);
        const bool slowed = pace != paces_.end() && !pace->second.cnps.empty();
        if (slowed || before.count < kLeastRuns || during.count < kLeastRuns) continue;
        if (during.shortest < std::max(least, kSlower * before.shortest)) continue;
        PacketLog log(log_, strangers.packet, connection->qpn);
        log.add(
            "CNP-10", Must, "the time between packets",
            "CNPs from an address that is not the peer's must not slow a QP down",
            fmt::format("while {} and more of them come, {} packets take {} us or more, before "
                        "them {} us",
                        kManyCnps, kRun,
                        std::chrono::floor<std::chrono::microseconds>(during.shortest).count(),
                        std::chrono::floor<std::chrono::microseconds>(before.shortest).count()));
    }
}

// A QP that has slowed down leaves its line idle at times. On a real link the line's rate is not
// known, and what one CNP does after others is up to the device.
void CongestionChecks::check_pace(const Packet& packet, const Connection& connection) {
    const std::uint64_t line_rate = story_.setting.line_rate;
    if (line_rate == 0) return;
    Pace& pace = paces_[&connection];
    const Packet* before = std::exchange(pace.before, &packet);
    const wire::Duration busy =
        before == nullptr ? wire::Duration(0) : wire::time_on_line(before->bytes.size(), line_rate);
    if (before == nullptr || packet.at.earliest - before->at.earliest > busy)
        pace.busy_since = packet.at.earliest;
    if (pace.cnps.size() < kManyCnps || pace.busy_since >= pace.cnps.front()) return;
    const wire::Duration since = packet.at.earliest - pace.cnps[kManyCnps - 1];
    if (since < kReaction) return;
    PacketLog log(log_, packet.number, connection.qpn);
    log.add("CA17-45", Must, "the time between packets", "CNPs must make their QP send more slowly",
            fmt::format("{} us after {} CNPs it sends as before, at the rate of its line",
                        std::chrono::floor<std::chrono::microseconds>(since).count(), kManyCnps));
}

// At whatever scope the device keeps the interval, it holds for the CNPs of one connection.
void CongestionChecks::check_interval(PacketLog& log, const Packet& packet,
                                      const Connection& connection) {
    const auto [before, first] = latest_.try_emplace(&connection, packet.at);
    if (first || !settings_.cnp_interval_us) return;
    const auto least = std::chrono::microseconds(*settings_.cnp_interval_us);
    const wire::Duration gap = packet.at.latest - before->second.earliest;
    before->second = packet.at;
    const bool exact = story_.setting.exact;
    if (!exact && least < kLeastSeen) return;
    if (gap >= (exact ? wire::Duration(least) : wire::Duration(least) / 2)) return;
    log.add("CNP-04", Should, "the time between CNPs",
            fmt::format("CNPs must be at least {} us apart, as configured", least.count()),
            fmt::format("the CNP comes {} us after the one before",
                        std::chrono::floor<std::chrono::microseconds>(gap).count()));
}

void CongestionChecks::check_dscp(PacketLog& log, const Packet& packet) const {
    if (!settings_.cnp_dscp || story_.setting.trait("dscp_overridden")) return;
    const std::uint8_t measured = packet.frame.envelope().dscp;
    const bool on_its_way = changed_ && former_.cnp_dscp == measured &&
                            packet.at.earliest - *changed_ <= story_.setting.answer_time;
    if (on_its_way) return;
    // A switch may set another one.
    log.equals("CNP-06", story_.setting.exact ? Should : Info, "ip.dscp",
               unsigned{*settings_.cnp_dscp}, unsigned{measured});
}

} // namespace veriroce::model
