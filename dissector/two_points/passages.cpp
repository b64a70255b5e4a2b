#include "dissector/two_points/passages.hpp"

#include <algorithm>
#include <utility>

#include "dissector/flow/digest.hpp"

namespace veriroce::two_points {
namespace {

constexpr std::uint8_t kCongestionExperienced = 3;
constexpr std::size_t kFirstRoom = 1 << 12;
// A flow that went on so long, or so many packets, without sending one again has no need to.
constexpr wire::Duration kSoonSentAgain = std::chrono::milliseconds(500);
constexpr std::uint64_t kMostInFlight = 4096;
// Of packets that the far point lacks, this many must have been sent again for each that was not.
constexpr std::uint64_t kSureOf = 16;

// Whether a requester must make a missing one be sent again: requests of RC, and the answers that
// bring data.
bool is_sent_again(std::uint8_t opcode) {
    const wire::OpcodeInfo& info = wire::opcode_info(opcode);
    if (info.service != wire::Service::Rc) return false;
    return info.request() || info.operation == wire::Operation::RdmaReadResponse ||
           info.operation == wire::Operation::AtomicAcknowledge;
}

// Of the packets with this PSN between two addresses: on most networks those of one flow.
std::uint64_t place_of(const Path& path, wire::Psn psn, bool request) {
    std::uint64_t place = PathHash{}(path);
    flow::mix_into(place, psn.value() | (request ? 1ULL << 32 : 0));
    return place;
}

} // namespace

std::string_view name_of(Fate fate) {
    switch (fate) {
    case Fate::Lost: return "lost";
    case Fate::Damaged: return "damaged";
    case Fate::NotCaptured: return "not captured";
    case Fate::Undecided: return "undecided";
    }
    return "";
}

double Flow::lost_part() const {
    const std::uint64_t gone = count(Fate::Lost) + count(Fate::Damaged);
    const std::uint64_t all = gone + arrived;
    return all == 0 ? 0 : static_cast<double>(gone) / static_cast<double>(all);
}

std::size_t Passages::KeyHash::operator()(const Key& key) const {
    std::uint64_t state = PathHash{}(key.path);
    flow::mix_into(state, key.to_qp.value);
    return static_cast<std::size_t>(state);
}

Passages::Passages(const Clocks& clocks)
    : clocks_(clocks), waiting_(kFirstRoom), by_identity_(2 * kFirstRoom),
      by_place_(2 * kFirstRoom) {}

std::uint32_t Passages::flow_of(const flow::Packet& packet) {
    const Key key{.path = {.from = packet.source, .to = packet.destination},
                  .to_qp = packet.transport.bth.dest_qp};
    const auto found = flow_numbers_.find(key);
    if (found != flow_numbers_.end()) return found->second;
    if (flows_.size() >= kMostFlows) return kNone;
    const auto number = static_cast<std::uint32_t>(flows_.size());
    flow_numbers_.emplace(key, number);
    flows_.push_back(
        {.path = key.path, .to_qp = key.to_qp, .nearer = clocks_.nearer(key.path), .delay_ns = {}});
    courses_.emplace_back();
    return number;
}

Passages::Waiting Passages::waiting_of(Point point, const flow::Packet& packet,
                                       std::uint32_t flow) {
    Waiting one;
    one.identity = flow::identity_of_headers(packet);
    one.place = place_of(flows_[flow].path, packet.psn(), packet.info().request());
    one.time = clocks_.on_first(point, packet.time.value_or(wire::Instant{}));
    one.number = packet.number;
    one.flow = flow;
    one.psn = packet.psn();
    one.opcode = packet.transport.bth.opcode;
    one.ecn = packet.ecn;
    one.point = point;
    return one;
}

void Passages::observe(Point point, const flow::Packet& packet) {
    ++seen_[point == Point::First ? 0 : 1];
    const std::uint32_t number = flow_of(packet);
    if (number == kNone) {
        ++other_packets_;
        return;
    }
    Waiting one = waiting_of(point, packet, number);
    expire(one.time);
    if (packet.integrity == flow::Integrity::Bad) {
        take_damaged(point, one);
        return;
    }
    note_answer(packet);
    Flow& flow = flows_[number];
    if (point == flow.nearer) {
        ++flow.packets;
        Course& course = courses_[number];
        one.order = ++course.order;
        course.last = one.time;
        note_sent_again(one);
    }
    if (Waiting* const earlier = other_of(one, false)) {
        meet(*earlier, one);
        one.met = true;
    } else if (point != flow.nearer && other_of(one, true) != nullptr) {
        ++flow.doubled;
        return;
    }
    append(one);
}

// Of packets with this identity at the other point, the one that is nearest in time.
Passages::Waiting* Passages::other_of(const Waiting& one, bool met) {
    Waiting* best = nullptr;
    std::uint64_t position = by_identity_[one.identity & (by_identity_.size() - 1)];
    while (position >= begin_) {
        Waiting& other = at(position);
        position = other.before_with_identity;
        if (other.identity != one.identity || other.point == one.point || other.met != met)
            continue;
        if (other.damaged) continue;
        if (best == nullptr ||
            std::chrono::abs(one.time - other.time) < std::chrono::abs(one.time - best->time)) {
            best = &other;
        }
    }
    return best;
}

// The latest first.
template <typename Visit>
void Passages::visit_place(std::uint64_t place, Visit visit) {
    std::uint64_t position = by_place_[place & (by_place_.size() - 1)];
    while (position >= begin_) {
        Waiting& other = at(position);
        position = other.before_with_place;
        if (other.place == place) visit(other);
    }
}

// Those of the same PSN and kind at the near point of the flow.
template <typename Visit>
void Passages::visit_like(const Waiting& one, Visit visit) {
    visit_place(one.place, [&](Waiting& other) {
        const bool same = other.flow == one.flow && other.psn == one.psn;
        if (same && other.point == flows_[one.flow].nearer) visit(other);
    });
}

// A sequence NAK names the packet that its sender missed, a READ request the response. After an RNR
// NAK packets are sent again that had come.
void Passages::note_answer(const flow::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const Path back{.from = packet.destination, .to = packet.source};
    const bool read = info.operation == wire::Operation::RdmaReadRequest;
    if (!read && info.operation != wire::Operation::Acknowledge) return;
    const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
    if (!read && syndrome.kind() == wire::AckKind::RnrNak) rnr_on_.insert(back);
    const bool sequence = !read && syndrome == wire::Syndrome::nak(wire::NakCode::PsnSequence);
    if (!read && !sequence) return;
    visit_place(place_of(back, packet.psn(), sequence), [&](Waiting& missed) {
        if (flows_[missed.flow].path == back) missed.named = true;
    });
}

void Passages::meet(Waiting& earlier, const Waiting& one) {
    Flow& flow = flows_[one.flow];
    Course& course = courses_[one.flow];
    earlier.met = true;
    const Waiting& near = one.point == flow.nearer ? one : earlier;
    const Waiting& far = one.point == flow.nearer ? earlier : one;
    ++flow.arrived;
    if (near.other != 0) {
        visit_like(near, [&](Waiting& later) { later.needless |= later.number > near.number; });
    }
    const wire::Duration delay = std::max(far.time - near.time, wire::Duration{0});
    flow.delay_ns.add(static_cast<std::uint64_t>(delay.count()));
    if (far.ecn == kCongestionExperienced && near.ecn != kCongestionExperienced) ++flow.marked;
    if (near.order < course.newest_passed) ++flow.overtaken;
    course.newest_passed = std::max(course.newest_passed, near.order);
}

// A packet that is sent again tells that the one before was missed.
void Passages::note_sent_again(Waiting& one) {
    visit_like(one, [&](Waiting& earlier) {
        if (earlier.other == 0) earlier.other = one.number;
        one.needless |= earlier.met;
    });
}

// The bits that are wrong may be those by which it would be known.
Passages::Waiting* Passages::sent_as(const Waiting& damaged) {
    Waiting* found = nullptr;
    visit_like(damaged, [&](Waiting& sent) {
        if (found == nullptr && !sent.met && !sent.damaged) found = &sent;
    });
    return found;
}

void Passages::take_damaged(Point point, const Waiting& one) {
    Flow& flow = flows_[one.flow];
    if (point == flow.nearer) {
        ++flow.damaged_before;
    } else if (Waiting* const sent = sent_as(one)) {
        sent->damaged = true;
        sent->other = one.number;
    } else {
        ++flow.damaged_far;
    }
}

void Passages::append(const Waiting& one) {
    if (end_ - begin_ == waiting_.size()) {
        if (waiting_.size() < kMostWaiting) {
            grow();
        } else {
            settle(at(begin_++));
        }
    }
    Waiting& place = at(end_);
    place = one;
    std::uint64_t& same_identity = by_identity_[one.identity & (by_identity_.size() - 1)];
    std::uint64_t& same_place = by_place_[one.place & (by_place_.size() - 1)];
    place.before_with_identity = std::exchange(same_identity, end_);
    place.before_with_place = std::exchange(same_place, end_);
    ++end_;
}

void Passages::grow() {
    std::vector<Waiting> all;
    all.reserve(waiting_.size());
    for (std::uint64_t position = begin_; position < end_; ++position)
        all.push_back(at(position));
    waiting_.assign(2 * waiting_.size(), {});
    by_identity_.assign(2 * waiting_.size(), 0);
    by_place_.assign(2 * waiting_.size(), 0);
    end_ = begin_;
    for (const Waiting& one : all)
        append(one);
}

void Passages::expire(wire::Instant now) {
    while (begin_ < end_ && now - at(begin_).time > kLongest)
        settle(at(begin_++));
}

void Passages::settle(const Waiting& one) {
    if (one.met) return;
    Flow& flow = flows_[one.flow];
    if (one.point != flow.nearer) {
        ++flow.only_far;
        return;
    }
    const Course& course = courses_[one.flow];
    const bool went_on =
        course.last - one.time > kSoonSentAgain || course.order - one.order > kMostInFlight;
    Fate fate = Fate::Undecided;
    if (one.damaged) {
        fate = Fate::Damaged;
    } else if (is_sent_again(one.opcode)) {
        const bool doubtful = !one.named && rnr_on_.contains(flow.path);
        if (one.other != 0 && !doubtful) fate = Fate::Lost;
        if (one.other == 0 && !one.needless) {
            if (went_on) fate = Fate::NotCaptured;
            ++not_missed_[flow.nearer == Point::First ? 0 : 1];
        }
    }
    ++flow.missing[static_cast<std::size_t>(fate)];
    if (missing_.size() >= kMostMissing) return;
    missing_.push_back({.flow = one.flow,
                        .fate = fate,
                        .opcode = one.opcode,
                        .psn = one.psn,
                        .time = one.time,
                        .number = one.number,
                        .other = one.other});
}

void Passages::finish() {
    while (begin_ < end_)
        settle(at(begin_++));
    // A capture that lacks packets lacks some that were sent again for another reason.
    std::array<std::uint64_t, 2> lost{};
    for (const Flow& flow : flows_)
        lost[flow.nearer == Point::First ? 0 : 1] += flow.count(Fate::Lost);
    const auto doubted = [&](const Flow& flow) {
        const std::size_t nearer = flow.nearer == Point::First ? 0 : 1;
        return lost[nearer] < kSureOf * not_missed_[nearer];
    };
    for (Missing& one : missing_) {
        if (one.fate == Fate::Lost && doubted(flows_[one.flow])) one.fate = Fate::Undecided;
    }
    for (Flow& flow : flows_) {
        if (!doubted(flow)) continue;
        auto& claimed = flow.missing[static_cast<std::size_t>(Fate::Lost)];
        flow.missing[static_cast<std::size_t>(Fate::Undecided)] += std::exchange(claimed, 0);
    }
}

} // namespace veriroce::two_points
