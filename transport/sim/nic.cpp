#include "transport/sim/nic.hpp"

#include <algorithm>

namespace veriroce::sim {

namespace {

constexpr std::size_t kMaxPayload = 4096 + 4; // the largest MTU, and space for what a filter adds

engine::OwnedDatagram owned(const wire::Datagram& datagram) {
    return {.envelope = datagram.envelope, .bytes = {datagram.bytes.begin(), datagram.bytes.end()}};
}

bool group_address(const wire::MacAddress& address) {
    return (address.bytes.front() & std::byte{1}) != std::byte{0};
}

} // namespace

Nic::Nic(PortOptions options, engine::Engine& engine, engine::SurfaceFilter* filter)
    : options_(std::move(options)), engine_(engine), filter_(filter),
      frame_(wire::kMaxFrameOverhead + kMaxPayload), next_ip_id_(options_.first_ip_id) {}

void Nic::neighbour(const wire::IpAddress& address, const wire::MacAddress& mac) {
    const auto known = std::ranges::find(neighbours_, address, &Neighbour::address);
    if (known != neighbours_.end()) {
        known->mac = mac;
    } else if (neighbours_.size() < kMaxNeighbours) {
        neighbours_.push_back({address, mac});
    } else {
        ++counters_.overflow;
    }
}

bool Nic::owns(const wire::IpAddress& address) const {
    return std::ranges::find(options_.addresses, address) != options_.addresses.end();
}

void Nic::receive(wire::Bytes frame, wire::Instant now) {
    const auto ethernet = wire::Ethernet::decode(frame);
    const bool ours = ethernet && ethernet->destination == options_.mac;
    // A real port also receives broadcasts and pause frames, so defects can be planted in their
    // handling.
    if (filter_ != nullptr && ethernet && (ours || group_address(ethernet->destination))) {
        if (auto admitted = filter_->admit(frame, now)) {
            take(*std::move(admitted), now);
            return;
        }
    }
    if (!ours) {
        ++counters_.other_mac;
        return;
    }
    const auto datagram = wire::unseal(frame);
    if (!datagram) { // CRC-07: dropped silently
        ++counters_.refused[static_cast<std::size_t>(datagram.error())];
        return;
    }
    if (!owns(datagram->envelope.destination)) {
        ++counters_.other_address;
        return;
    }
    neighbour(datagram->envelope.source, ethernet->source);
    if (filter_ != nullptr) {
        take(owned(*datagram), now);
    } else {
        ++counters_.received;
        engine_.handle(*datagram, now);
    }
}

void Nic::take(engine::OwnedDatagram datagram, wire::Instant now) {
    ++counters_.received;
    in_.clear();
    out_.clear();
    filter_->inbound(std::move(datagram), now, in_, out_);
    for (auto& answer : out_)
        hold(outbound_, std::move(answer), now);
    for (auto& passed : in_) {
        if (passed.delay > wire::Duration{0}) {
            hold(inbound_, std::move(passed), now);
        } else {
            engine_.handle({.envelope = passed.envelope, .bytes = passed.bytes}, now);
        }
    }
}

void Nic::hold(std::deque<Held>& queue, engine::OwnedDatagram datagram, wire::Instant now) {
    if (queue.size() == kMaxHeld) {
        ++counters_.overflow;
        return;
    }
    const wire::Instant due = now + datagram.delay;
    const auto at = std::ranges::upper_bound(queue, due, {}, &Held::due);
    queue.insert(at, {.due = due, .datagram = std::move(datagram)});
}

void Nic::advance(wire::Instant now) {
    engine_.handle_timeout(now);
    while (!inbound_.empty() && inbound_.front().due <= now) {
        const engine::OwnedDatagram datagram = std::move(inbound_.front().datagram);
        inbound_.pop_front();
        engine_.handle({.envelope = datagram.envelope, .bytes = datagram.bytes}, now);
    }
}

std::optional<wire::Bytes> Nic::poll_frame(wire::Instant now) {
    while (true) {
        if (!outbound_.empty() && outbound_.front().due <= now) {
            const engine::OwnedDatagram datagram = std::move(outbound_.front().datagram);
            outbound_.pop_front();
            if (auto frame = seal(datagram.envelope, datagram.bytes, {})) return frame;
            continue;
        }
        const auto packet = engine_.poll_transmit(now);
        if (!packet) return std::nullopt;
        if (filter_ != nullptr) {
            filter_out(*packet, now);
            continue;
        }
        wire::Bytes payload = packet->payload;
        if (packet->pad != 0) { // BTH-09: zeros after the end of the message
            padded_.assign(payload.begin(), payload.end());
            padded_.resize(payload.size() + packet->pad);
            payload = padded_;
        }
        if (auto frame = seal(packet->envelope, packet->headers, payload)) return frame;
    }
}

void Nic::filter_out(const engine::Transmit& packet, wire::Instant now) {
    engine::OwnedDatagram datagram{.envelope = packet.envelope};
    datagram.bytes.reserve(packet.headers.size() + packet.payload.size() + packet.pad);
    datagram.bytes.assign(packet.headers.begin(), packet.headers.end());
    datagram.bytes.insert(datagram.bytes.end(), packet.payload.begin(), packet.payload.end());
    datagram.bytes.resize(datagram.bytes.size() + packet.pad);
    out_.clear();
    filter_->outbound(std::move(datagram), now, out_);
    for (auto& passed : out_)
        hold(outbound_, std::move(passed), now);
}

std::optional<wire::Bytes> Nic::seal(const wire::Envelope& envelope, wire::Bytes headers,
                                     wire::Bytes payload) {
    const auto next = std::ranges::find(neighbours_, envelope.destination, &Neighbour::address);
    if (next == neighbours_.end()) {
        ++counters_.unresolved;
        return std::nullopt;
    }
    const std::size_t need = wire::kMaxFrameOverhead + headers.size() + payload.size();
    if (frame_.size() < need) frame_.resize(need); // a filter made the payload longer than the MTU
    const bool v4 = envelope.destination.v4();
    const std::size_t size =
        wire::write_frame({.source = options_.mac, .destination = next->mac}, envelope,
                          v4 ? next_ip_id_ : std::uint16_t{0}, headers, payload, frame_);
    if (v4 && ++next_ip_id_ == 0) next_ip_id_ = 1;
    if (filter_ != nullptr) filter_->sealed(wire::MutableBytes(frame_).first(size));
    ++counters_.sent;
    return wire::Bytes(frame_).first(size);
}

std::optional<wire::Instant> Nic::next_deadline() const {
    std::optional<wire::Instant> next = engine_.next_timeout();
    const auto consider = [&next](const std::deque<Held>& queue) {
        if (!queue.empty() && (!next || queue.front().due < *next)) next = queue.front().due;
    };
    consider(inbound_);
    consider(outbound_);
    return next;
}

} // namespace veriroce::sim
