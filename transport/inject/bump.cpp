#include "transport/inject/bump.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace veriroce::inject {

Bump::Bump(std::uint64_t seed, std::vector<fault::Rule> rules, wire::Duration settle)
    : injector_(seed, settle) {
    for (fault::Rule& rule : rules)
        injector_.add(std::move(rule));
}

Handled Bump::handle(End from, wire::Bytes bytes, wire::Instant now, std::vector<Leaving>& out) {
    Traffic& traffic = from == End::A ? a_ : b_;
    ++traffic.frames;
    traffic.bytes += bytes.size();
    const auto frame = wire::decode_frame(bytes);
    if (!frame) {
        out.push_back({other(from), bytes});
        return {};
    }
    ++traffic.roce;
    if (!began_) began_ = now;
    Handled handled{.roce = true, .place = connections_.place(*frame, from, now)};
    const Place& place = handled.place;
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
                                  .now = now,
                                  .frame = bytes});
    recovery_.arrived(place, *frame, decision_, injector_.rules(), from, now);
    handled.rules = decision_.rules;
    handled.pass = decision_.pass;
    handled.message = decision_.message;
    handled.packet = decision_.packet;
    if (decision_.untouched) {
        recovery_.left(place, *frame, now);
        out.push_back({other(from), bytes});
        return handled;
    }
    for (fault::Emission& emission : decision_.emissions)
        emit(std::move(emission), now, out);
    return handled;
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
    const wire::Bytes leaving = leaving_.back();
    out.push_back({other(from), leaving});
    const auto frame = wire::decode_frame(leaving);
    if (!frame || !wire::unseal(*frame)) return;
    if (const auto place = connections_.look(*frame)) recovery_.left(*place, *frame, now);
}

std::optional<wire::Instant> Bump::next_deadline() const {
    const auto held = injector_.next_release();
    const auto delayed = delayed_.next();
    if (!held) return delayed;
    if (!delayed) return held;
    return std::min(*held, *delayed);
}

void Bump::advance(wire::Instant now, std::vector<Leaving>& out) {
    while (auto frame = delayed_.pop(now))
        leave(frame->from, std::move(frame->bytes), now, out);
    for (fault::Emission& emission : injector_.release(now))
        emit(std::move(emission), now, out);
}

} // namespace veriroce::inject
