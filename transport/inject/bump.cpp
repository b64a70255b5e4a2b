#include "transport/inject/bump.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "transport/fault/action.hpp"
#include "transport/fault/generated_frames.hpp"

namespace veriroce::inject {
namespace {

constexpr std::uint8_t kNotCapable = 0; // of ECN

void mark_ce(std::vector<std::byte>& bytes, const wire::Frame& frame) {
    fault::TargetFrame target{std::move(bytes), frame.layers};
    fault::change(target, fault::MarkCe{});
    bytes = std::move(target.frame);
}

} // namespace

Bump::Bump(std::uint64_t seed, std::vector<fault::Rule> rules, wire::Duration settle)
    : seed_(seed), injector_(seed, settle) {
    for (fault::Rule& rule : rules)
        injector_.add(std::move(rule));
}

Handled Bump::handle(End from, wire::Bytes bytes, wire::Instant now, std::vector<Leaving>& out) {
    Traffic& traffic = from == End::A ? a_ : b_;
    ++traffic.frames;
    traffic.bytes += bytes.size();
    const auto frame = wire::decode_frame(bytes);
    if (!frame) return handle_other(from, bytes, now, out);
    ++traffic.roce;
    if (!began_) began_ = now;
    Handled handled{.roce = true, .place = connections_.place(*frame, from, now)};
    const Place& place = handled.place;
    macs_[index_of(from)] = frame->ethernet.source;
    fabric_.arrived(place, *frame, from, now);
    // Two hosts may use the same QPN: the connection's number names its QPs.
    std::array<char, 20> digits{};
    const char* const end =
        place.connection == 0
            ? digits.data()
            : std::to_chars(digits.data(), digits.data() + digits.size(), place.connection).ptr;
    decision_ = injector_.handle({.from = from,
                                  .qp = {digits.data(), end},
                                  .qpn = place.qpn,
                                  .psn = place.psn,
                                  .connection = place.connection,
                                  .service_id = connections_.service_id(place),
                                  .now = now,
                                  .frame = bytes});
    recovery_.arrived(place, *frame, decision_, injector_.rules(), from, now);
    handled.rules = decision_.rules;
    handled.pass = decision_.pass;
    handled.message = decision_.message;
    handled.packet = decision_.packet;
    if (decision_.untouched) {
        recovery_.left(place, *frame, now);
        handled.marked = marks(from, *frame, now);
        if (handled.marked) {
            leaving_.emplace_back(bytes.begin(), bytes.end());
            mark_ce(leaving_.back(), *frame);
        }
        out.push_back({other(from), handled.marked ? wire::Bytes(leaving_.back()) : bytes});
        return handled;
    }
    for (fault::Emission& emission : decision_.emissions)
        emit(std::move(emission), now, out);
    return handled;
}

// PFC, on which rules may act, or something that no rule selects.
Handled Bump::handle_other(End from, wire::Bytes bytes, wire::Instant now,
                           std::vector<Leaving>& out) {
    decision_ = injector_.handle({.from = from, .now = now, .frame = bytes});
    if (decision_.untouched) {
        fabric_.arrived_other(from, bytes, now);
        out.push_back({other(from), bytes});
        return {};
    }
    for (fault::Emission& emission : decision_.emissions)
        emit(std::move(emission), now, out);
    return {.pfc = !decision_.rules.empty(), .rules = decision_.rules};
}

bool Bump::follows_pfc() const {
    const auto asks = [](const fault::Selector& one) { return one.pfc || one.paused; };
    return std::ranges::any_of(injector_.rules(), [&](const fault::Rule& rule) {
        const auto* hold = std::get_if<fault::Hold>(&rule.action);
        return asks(rule.selector) || (hold != nullptr && asks(hold->until));
    });
}

// Whether the virtual queue marks this packet, which leaves now.
bool Bump::marks(End from, const wire::Frame& frame, wire::Instant now) {
    auto& queue = red_[index_of(from)];
    if (!queue || !queue->marks(frame.bytes.size(), now)) return false;
    const std::uint8_t ecn = frame.envelope().ecn;
    if (ecn == wire::kCongestionExperienced) return false;
    fabric_.marked(from, ecn != kNotCapable);
    return ecn != kNotCapable;
}

std::optional<wire::Instant> Bump::next_pause() const {
    if (!storm_ || !began_) return std::nullopt;
    const wire::Instant first = *began_ + storm_->after;
    const wire::Instant next = std::max(first, paused_ + storm_->every);
    return next < first + storm_->lasts ? std::optional(next) : std::nullopt;
}

void Bump::storm(wire::Instant now, std::vector<Leaving>& out) {
    const auto next = next_pause();
    if (!next || *next > now) return;
    paused_ = now;
    wire::Frame model;
    model.ethernet.destination = macs_[index_of(other(storm_->to))];
    leaving_.push_back(fault::pause_frame(storm_->pause, model));
    out.push_back({storm_->to, leaving_.back()});
    injector_.note_pause(storm_->to, leaving_.back(), now);
    fabric_.paused(storm_->to, storm_->pause.priority, storm_->pause.quanta, now);
}

void Bump::emit(fault::Emission emission, wire::Instant now, std::vector<Leaving>& out) {
    if (emission.delay <= wire::Duration(0)) {
        return leave(emission.from, std::move(emission.frame), now, out);
    }
    if (!delayed_.push(now + emission.delay, emission.from, std::move(emission.frame))) {
        ++overflowed_;
    }
}

void Bump::leave(End from, std::vector<std::byte> bytes, wire::Instant now,
                 std::vector<Leaving>& out) {
    leaving_.push_back(std::move(bytes));
    if (const auto queued = wire::decode_frame(leaving_.back())) {
        if (marks(from, *queued, now)) mark_ce(leaving_.back(), *queued);
    } else {
        fabric_.arrived_other(from, leaving_.back(), now); // a PFC frame of a rule
    }
    const wire::Bytes leaving = leaving_.back();
    out.push_back({other(from), leaving});
    const auto frame = wire::decode_frame(leaving);
    if (!frame || !wire::unseal(*frame)) return;
    if (const auto place = connections_.look(*frame)) recovery_.left(*place, *frame, now);
}

std::optional<wire::Instant> Bump::next_deadline() const {
    const auto held = injector_.next_release();
    std::optional<wire::Instant> soonest = delayed_.next();
    for (const auto& one : {held, next_pause()}) {
        if (one && (!soonest || *one < *soonest)) soonest = one;
    }
    return soonest;
}

void Bump::advance(wire::Instant now, std::vector<Leaving>& out) {
    while (auto frame = delayed_.pop(now))
        leave(frame->from, std::move(frame->bytes), now, out);
    for (fault::Emission& emission : injector_.release(now))
        emit(std::move(emission), now, out);
    storm(now, out);
}

} // namespace veriroce::inject
