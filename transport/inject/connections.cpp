#include "transport/inject/connections.hpp"

#include <algorithm>

#include "dissector/flow/packet.hpp"

namespace veriroce::inject {
namespace {

flow::Path path_of(const wire::Envelope& envelope, std::uint32_t qpn) {
    return {.source = envelope.source, .destination = envelope.destination, .qpn = qpn};
}

Place place_of(const wire::Bth& bth) {
    const wire::OpcodeInfo& info = wire::opcode_info(bth.opcode);
    return {.service = info.service,
            .opcode = bth.opcode,
            .qpn = bth.dest_qp.value,
            .psn24 = bth.psn.value(),
            .psn = bth.psn.value(),
            .response = info.response()};
}

} // namespace

std::int64_t Connections::Stream::advance(wire::Psn psn, wire::Psn first) {
    if (!begun) {
        begun = true;
        last = first;
    }
    const std::int64_t now = relative(psn);
    if (now <= last_relative) return now;
    last_relative = now;
    last = psn;
    return now;
}

std::uint64_t Connections::number_of(const flow::Connection& connection, End from,
                                     std::uint8_t sender) {
    const auto found = numbers_.find(connection.id);
    std::uint64_t number = found == numbers_.end() ? 0 : found->second;
    if (number == 0) {
        if (known_.size() == kMaxConnections) {
            ++unnumbered_;
            return 0;
        }
        known_.emplace_back();
        streams_.emplace_back();
        number = known_.size();
        numbers_.emplace(connection.id, number);
    }
    Known& known = known_[number - 1];
    known.service_id = connection.service_id;
    for (std::uint8_t i = 0; i < 2; ++i) {
        const flow::End& end = connection.ends[i];
        const End port = i == sender ? from : other(from);
        Side& side = known.sides[index_of(port)];
        side.address = end.address;
        if (end.qpn) side.qpn = end.qpn;
    }
    return number;
}

void Connections::put_route(const flow::Path& path, Route route) {
    if (const auto at = paths_.find(path)) {
        routes_[*at] = route;
        return;
    }
    if (routes_.size() >= 4 * kMaxConnections) return;
    paths_.put(path, static_cast<std::uint32_t>(routes_.size()));
    routes_.push_back(route);
}

Place Connections::place(const wire::Frame& frame, End from, wire::Instant now) {
    const auto bth = wire::Bth::decode(frame.transport);
    if (!bth) return {};
    Place place = place_of(*bth);
    place.requester = place.response ? other(from) : from;
    const wire::Envelope envelope = frame.envelope();
    const flow::Path path = path_of(envelope, place.qpn);
    const auto datagram = wire::unseal(frame);
    const auto packet = datagram ? flow::packet_of(*datagram, ++packets_, now) : std::nullopt;
    if (packet) {
        auto sent = *packet;
        sent.tap = flow::Tap::Sender;
        const flow::Classified seen = tracker_.feed(sent);
        const bool member =
            seen.connection && seen.role != flow::Role::None && seen.kind != flow::Class::Unpaired;
        if (member) {
            const flow::Connection& connection = tracker_.connection(*seen.connection);
            place.connection = number_of(connection, from, seen.from);
            if (place.connection != 0) {
                put_route(path, {place.connection, from});
                const flow::End& asking = connection.ends[seen.asking()];
                Stream& stream = streams_[place.connection - 1][index_of(place.requester)];
                if (!place.response) {
                    place.psn =
                        stream.advance(bth->psn, asking.attributes.first_psn.value_or(bth->psn));
                } else if (stream.begun) {
                    place.psn = stream.relative(bth->psn);
                }
                place.again = !place.response && (seen.kind == flow::Class::Retransmission ||
                                                  seen.sent_again.value_or(false));
                return place;
            }
        }
    }
    if (auto known = look(frame)) return *known; // damaged, or a CNP, of a connection
    // The table keeps the first PSN of each path, as far as it is allowed to grow.
    const auto first = first_psns_.find(path);
    if (!first && first_psns_.size() < kMaxConnections) first_psns_.put(path, place.psn24);
    place.psn = distance(wire::Psn(first.value_or(place.psn24)), bth->psn);
    return place;
}

std::optional<Place> Connections::look(const wire::Frame& frame) const {
    const auto bth = wire::Bth::decode(frame.transport);
    if (!bth) return std::nullopt;
    Place place = place_of(*bth);
    const auto at = paths_.find(path_of(frame.envelope(), place.qpn));
    if (!at) return std::nullopt;
    const Route& route = routes_[*at];
    place.connection = route.connection;
    place.requester = place.response ? other(route.from) : route.from;
    const Stream& stream = streams_[place.connection - 1][index_of(place.requester)];
    if (stream.begun) place.psn = stream.relative(bth->psn);
    return place;
}

} // namespace veriroce::inject
