#include "conformance/dut/late_device.hpp"

#include <algorithm>
#include <utility>

#include "dissector/wire/crc32c.hpp"

namespace veriroce::dut {

namespace {

// More than this is read as it is.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

// The bytes that a look at a region asks for; nothing if they are not all inside.
template <typename Look>
std::optional<wire::Bytes> part_of(const std::vector<std::byte>& bytes, const Look& look) {
    if (look.offset > bytes.size() || look.length > bytes.size() - look.offset) return std::nullopt;
    return wire::Bytes(bytes).subspan(look.offset, look.length);
}

} // namespace

Answer LateDevice::execute(const Request& request, wire::Instant now) {
    if (filter_ == nullptr) return device_.execute(request, now);
    if (const auto* poll = std::get_if<Poll>(&request)) return carry_out(*poll, now);
    if (const auto* events = std::get_if<Events>(&request)) return carry_out(*events, now);
    if (const auto* read = std::get_if<MrRead>(&request)) return carry_out(*read, now);
    if (const auto* digest = std::get_if<MrDigest>(&request)) return carry_out(*digest, now);
    const auto* send = std::get_if<PostSend>(&request);
    const auto* receive = std::get_if<PostRecv>(&request);
    if ((send != nullptr && refuses_posts(send->qp, now)) ||
        (receive != nullptr && refuses_posts(receive->qp, now))) {
        auto failure = refused(method_of(request), "EINVAL", "the QP is in ERR");
        failure.posted = 0;
        return std::unexpected(std::move(failure));
    }
    Answer answer = device_.execute(request, now);
    if (answer) note(request, *answer, now);
    return answer;
}

std::optional<wire::Instant> LateDevice::next_deadline() const {
    std::optional<wire::Instant> next;
    const auto look_at = [&](const auto& held) {
        for (const auto& one : held) {
            if (one.due > passed_ && (!next || one.due < *next)) next = one.due;
        }
    };
    for (const auto& [cq, held] : held_)
        look_at(held);
    look_at(held_events_);
    return next;
}

bool LateDevice::refuses_posts(QpHandle qp, wire::Instant now) {
    if (!filter_->refuses_posts_in_error()) return false;
    const Answer answer = device_.execute(QpQuery{.qp = qp}, now);
    const auto* queried = answer ? std::get_if<QpQueried>(&*answer) : nullptr;
    return queried != nullptr && queried->attributes.state == engine::QpState::Err;
}

Answer LateDevice::carry_out(const Poll& request, wire::Instant now) {
    const wire::Duration delay = filter_->completion_delay();
    if (delay == wire::Duration{0}) {
        Answer answer = device_.execute(request, now);
        const auto* polled = answer ? std::get_if<Polled>(&*answer) : nullptr;
        if (polled != nullptr && !polled->completions.empty()) see_everything();
        return answer;
    }
    std::deque<Held>& held = held_[request.cq];
    bool overrun = false;
    for (bool more = true; more;) {
        Answer answer = device_.execute(Poll{.cq = request.cq}, now);
        const auto* polled = answer ? std::get_if<Polled>(&*answer) : nullptr;
        if (polled == nullptr) return answer;
        for (const Completion& one : polled->completions)
            held.push_back({.due = now + delay, .completion = one});
        overrun = polled->overrun;
        more = !polled->completions.empty();
    }
    Polled seen{.overrun = overrun};
    while (!held.empty() && held.front().due <= now && seen.completions.size() < request.max) {
        seen.completions.push_back(held.front().completion);
        seen.completions.back().at = now;
        held.pop_front();
    }
    if (!seen.completions.empty()) see_everything();
    return seen;
}

Answer LateDevice::carry_out(const Events& request, wire::Instant now) {
    const wire::Duration delay = filter_->event_delay();
    Answer answer = device_.execute(request, now);
    auto* list = answer ? std::get_if<EventList>(&*answer) : nullptr;
    if (list == nullptr || delay == wire::Duration{0}) return answer;
    for (const Event& one : std::exchange(list->events, {}))
        held_events_.push_back({.due = now + delay, .event = one});
    while (!held_events_.empty() && held_events_.front().due <= now) {
        list->events.push_back(held_events_.front().event);
        held_events_.pop_front();
    }
    return answer;
}

void LateDevice::see_everything() {
    for (auto& [mr, region] : regions_) {
        region.seen.clear();
        region.differs_since.reset();
    }
}

const std::vector<std::byte>* LateDevice::old_bytes(MrHandle mr, wire::Instant now) {
    const auto found = regions_.find(mr);
    const wire::Duration delay = filter_->memory_delay();
    if (delay == wire::Duration{0} || found == regions_.end()) return nullptr;
    Region& region = found->second;
    if (region.length > kMostBytes) return nullptr;
    const Answer answer =
        device_.execute(MrRead{.mr = mr, .offset = 0, .length = region.length}, now);
    const auto* data = answer ? std::get_if<MrData>(&*answer) : nullptr;
    if (data == nullptr) return nullptr;
    const bool same = region.seen.empty() || region.seen == data->data;
    if (!same && !region.differs_since) region.differs_since = now;
    if (!same && now < *region.differs_since + delay) return &region.seen;
    region.seen = data->data;
    region.differs_since.reset();
    return nullptr;
}

Answer LateDevice::carry_out(const MrRead& request, wire::Instant now) {
    const auto* old = old_bytes(request.mr, now);
    const auto part = old != nullptr ? part_of(*old, request) : std::nullopt;
    if (!part) return device_.execute(request, now);
    return MrData{.data = {part->begin(), part->end()}};
}

Answer LateDevice::carry_out(const MrDigest& request, wire::Instant now) {
    const auto* old = old_bytes(request.mr, now);
    const auto part = old != nullptr ? part_of(*old, request) : std::nullopt;
    Answer answer = device_.execute(request, now);
    auto* digested = answer ? std::get_if<MrDigested>(&*answer) : nullptr;
    if (digested != nullptr && part) digested->crc32c = wire::crc32c(*part);
    return answer;
}

void LateDevice::note(const Request& request, const Result& result, wire::Instant now) {
    const auto copy_of_what_is_there = [&](MrHandle mr, std::uint64_t offset,
                                           std::uint64_t length) {
        const auto found = regions_.find(mr);
        if (found == regions_.end() || found->second.seen.empty()) return;
        const Answer answer =
            device_.execute(MrRead{.mr = mr, .offset = offset, .length = length}, now);
        const auto* data = answer ? std::get_if<MrData>(&*answer) : nullptr;
        if (data == nullptr) return;
        std::ranges::copy(data->data,
                          found->second.seen.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    if (const auto* made = std::get_if<MrRegistered>(&result)) {
        const std::uint64_t length = std::get<MrRegister>(request).length;
        regions_[made->mr] = {.length = length};
        static_cast<void>(old_bytes(made->mr, now)); // what the host knows from the beginning
    } else if (const auto* write = std::get_if<MrWrite>(&request)) {
        copy_of_what_is_there(write->mr, write->offset, write->data.size());
    } else if (const auto* fill = std::get_if<MrFill>(&request)) {
        copy_of_what_is_there(fill->mr, fill->offset, fill->length);
    } else if (const auto* gone = std::get_if<MrDeregister>(&request)) {
        regions_.erase(gone->mr);
    } else if (const auto* cq = std::get_if<CqDestroy>(&request)) {
        held_.erase(cq->cq);
    } else if (const auto* qp = std::get_if<QpDestroy>(&request)) {
        for (auto& [queue, held] : held_)
            std::erase_if(held, [&](const Held& one) { return one.completion.qp == qp->qp; });
        std::erase_if(held_events_, [&](const HeldEvent& one) { return one.event.qp == qp->qp; });
    } else if (std::holds_alternative<Reset>(request)) {
        regions_.clear();
        held_.clear();
        held_events_.clear();
    }
}

} // namespace veriroce::dut
