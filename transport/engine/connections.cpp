#include "transport/engine/connections.hpp"

#include <algorithm>
#include <utility>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::engine {
namespace {

namespace cm = wire::cm;
namespace req = cm::req;
namespace rep = cm::rep;

constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kCmClassVersion = 2;
constexpr std::uint8_t kMethodSend = 3;

constexpr std::uint64_t kOwnGuid = 0x0200'00FF'FE00'0002;

constexpr std::size_t kGidBytes = 16;
constexpr std::byte kMessageBits{0xC0};
constexpr std::byte kOfReply{0x40}; // 0 is the REQ
constexpr std::byte kSharedReceives{0x10};
constexpr std::uint8_t kServiceNotSupported = 1;
constexpr std::uint8_t kThreeBits = 7;

// N-31, CM-11: length, versions, class and method.
bool well_formed(wire::Bytes datagram) {
    return datagram.size() == wire::kMadBytes &&
           wire::load_u8(datagram, cm::kBaseVersionAt) == kBaseVersion &&
           wire::load_u8(datagram, cm::kClassAt) == wire::kCmClass &&
           wire::load_u8(datagram, cm::kClassVersionAt) == kCmClassVersion &&
           wire::load_u8(datagram, cm::kMethodAt) == kMethodSend;
}

// A message about the numbers of a connection: ours, and the peer's.
ManagementDatagram begin(std::uint16_t attribute, std::uint64_t transaction, std::uint32_t own,
                         std::uint32_t peer) {
    ManagementDatagram datagram{};
    const wire::MutableBytes bytes(datagram);
    bytes[cm::kBaseVersionAt] = std::byte{kBaseVersion};
    bytes[cm::kClassAt] = std::byte{wire::kCmClass};
    bytes[cm::kClassVersionAt] = std::byte{kCmClassVersion};
    bytes[cm::kMethodAt] = std::byte{kMethodSend};
    wire::store_be<8>(bytes, cm::kTransactionAt, transaction);
    wire::store_be<2>(bytes, cm::kAttributeAt, attribute);
    wire::store_be<4>(bytes, cm::kLocalIdAt, own);
    wire::store_be<4>(bytes, cm::kRemoteIdAt, peer);
    return datagram;
}

// What is local to the sender is remote to us.
ManagementDatagram begin_answer(wire::Bytes request, std::uint16_t attribute, std::uint32_t own) {
    return begin(attribute, wire::load_u64(request, cm::kTransactionAt), own,
                 wire::load_u32(request, cm::kLocalIdAt));
}

// Of the message that began as `begun` says, a REQ unless `of` names another one.
ManagementDatagram rejection(ManagementDatagram begun, RejectReason reason, std::byte of = {}) {
    begun[cm::kMessageAt] = of;
    wire::store_be<2>(wire::MutableBytes(begun), cm::kRejReasonAt,
                      static_cast<std::uint16_t>(reason));
    return begun;
}
ManagementDatagram rejection(wire::Bytes request, RejectReason reason) {
    return rejection(begin_answer(request, cm::kRej, 0), reason);
}

// What a REJ refuses, or an MRA is about.
std::byte named_in(wire::Bytes message) {
    return std::byte(wire::load_u8(message, cm::kMessageAt)) & kMessageBits;
}

ManagementDatagram no_datagram_service(wire::Bytes request) {
    ManagementDatagram answer =
        begin_answer(request, cm::kSidrRep, wire::load_u32(request, cm::kLocalIdAt));
    const wire::MutableBytes bytes(answer);
    wire::store_be<4>(bytes, cm::kRemoteIdAt, 0U);
    bytes[cm::kSidrStatusAt] = std::byte{kServiceNotSupported};
    std::ranges::copy(request.subspan(cm::kSidrRequestServiceAt, 8),
                      bytes.subspan(cm::kSidrReplyServiceAt).begin());
    return answer;
}

// A time of 5 bits: 4.096 us * 2^code.
wire::Duration time_of(std::uint8_t byte) {
    return wire::Duration(4096) * (std::int64_t{1} << (byte >> 3));
}

wire::IpAddress gid_at(wire::Bytes message, std::size_t at) {
    wire::IpAddress address;
    std::ranges::copy(message.subspan(at, kGidBytes), address.bytes.begin());
    return address;
}

// Without the numbers that we choose; the reason if no QP could use what the REQ asks for.
std::expected<ConnectionOffer, RejectReason> offer_of(wire::Bytes request,
                                                      const AddressVector& way_back) {
    if ((wire::load_u8(request, req::kTransportAt) >> 1 & 3U) != 0)
        return std::unexpected(RejectReason::InvalidTransport);
    const auto mtu = cm::mtu_of(wire::load_u8(request, req::kMtuAt) >> 4);
    if (!mtu) return std::unexpected(RejectReason::InvalidMtu);
    AddressVector path{.source = gid_at(request, req::kRemoteGidAt),
                       .destination = gid_at(request, req::kLocalGidAt),
                       .traffic_class = wire::load_u8(request, req::kTrafficClassAt),
                       .hop_limit = wire::load_u8(request, req::kHopLimitAt),
                       .flow_label = wire::load_u24(request, req::kFlowLabelAt) >> 4,
                       .vlan = way_back.vlan};
    // CM-13: the GIDs are the addresses; a host has no other way to the peer than the packet's.
    if (path.source != way_back.source || path.destination != way_back.destination)
        return std::unexpected(RejectReason::InvalidGid);
    return ConnectionOffer{
        .service = {wire::load_u64(request, req::kServiceAt)},
        .path = path,
        .peer = {wire::load_u24(request, req::kQpnAt)},
        .sq_psn = wire::Psn(wire::load_u24(request, req::kPsnAt)),
        .rq_psn = {},
        .mtu = *mtu,
        .pkey = {wire::load_u16(request, req::kPkeyAt)},
        .timeout = static_cast<std::uint8_t>(wire::load_u8(request, req::kAckTimeoutAt) >> 3),
        .retry_count =
            static_cast<std::uint8_t>(wire::load_u8(request, req::kLocalTimeoutAt) & kThreeBits),
        .rnr_retry = static_cast<std::uint8_t>(wire::load_u8(request, req::kMtuAt) & kThreeBits),
        .responder_resources = wire::load_u8(request, req::kInitiatorDepthAt),
        .initiator_depth = wire::load_u8(request, req::kResponderResourcesAt)};
}

} // namespace

bool Connections::is_offered(ServiceId service) const {
    return std::ranges::find(services_, service) != services_.end();
}

bool Connections::listen(ServiceId service) {
    if (is_offered(service)) return false;
    services_.push_back(service);
    return true;
}

void Connections::stop(ServiceId service) {
    std::erase(services_, service);
    std::erase_if(connections_,
                  [&](const Live& live) { return live.second.offer.service == service; });
    std::erase_if(events_, [&](const ConnectionNotice& one) { return one.service == service; });
    std::erase_if(messages_, [&](const Message& one) { return one.service == service; });
}

std::optional<Connections::Message> Connections::poll_message() {
    if (messages_.empty()) return std::nullopt;
    Message first = messages_.front();
    messages_.pop_front();
    return first;
}

std::optional<ConnectionNotice> Connections::poll_event(ServiceId service) {
    const auto found = std::ranges::find(events_, service, &ConnectionNotice::service);
    if (found == events_.end()) return std::nullopt;
    const ConnectionNotice event = *found;
    events_.erase(found);
    return event;
}

const ConnectionOffer* Connections::offer(ConnectionId id) const {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : &found->second.offer;
}

// --- messages ---------------------------------------------------------------------------------

void Connections::take(wire::Bytes datagram, const AddressVector& way_back, wire::Qpn from,
                       wire::Instant now) {
    if (!well_formed(datagram)) return;
    const Return back{way_back, from};
    switch (cm::attribute_of(datagram)) {
    case cm::kReq: return request(datagram, back, now);
    case cm::kDreq: return disconnect_request(datagram, back);
    case cm::kSidrReq: return answer(back, no_datagram_service(datagram));
    case cm::kMra:
    case cm::kRej:
    case cm::kRtu:
    case cm::kDrep: return of_connection(datagram, now);
    default: return; // this host asked for nothing
    }
}

void Connections::request(wire::Bytes message, const Return& back, wire::Instant now) {
    const ServiceId service{wire::load_u64(message, req::kServiceAt)};
    if (!is_offered(service)) // CM-06
        return answer(back, rejection(message, RejectReason::UnsupportedService));
    if (Live* known = begun_by(message)) { // CM-05
        Connection& connection = known->second;
        if (connection.state == State::Replied) send(connection, connection.latest);
        const bool refused = cm::attribute_of(connection.latest) == cm::kRej;
        if (connection.state == State::Ended && refused) send(connection, connection.latest);
        if (connection.state == State::Ended && !refused)
            answer(back, rejection(message, RejectReason::StaleConnection));
        return;
    }
    if (Live* stale = stale_for(message)) {
        answer(back, rejection(message, RejectReason::StaleConnection));
        return begin_disconnect(*stale, now);
    }
    auto offer = offer_of(message, back.path);
    if (!offer) return answer(back, rejection(message, offer.error()));
    if (!make_room()) return answer(back, rejection(message, RejectReason::NoResources));
    const ConnectionId id{next_id_++};
    offer->rq_psn = wire::Psn(static_cast<std::uint32_t>(
        wire::splitmix64_mix(id.value * wire::kSplitmix64Step) & wire::kMask24));
    const std::uint32_t repeats = wire::load_u8(message, req::kRepeatsAt) >> 4;
    const auto placed = connections_.emplace(
        id, Connection{.offer = *offer,
                       .way_back = back.path,
                       .management_qpn = back.qpn,
                       .transaction = wire::load_u64(message, cm::kTransactionAt),
                       .peer_guid = wire::load_u64(message, req::kGuidAt),
                       .peer_id = wire::load_u32(message, cm::kLocalIdAt),
                       .patience = time_of(wire::load_u8(message, req::kLocalTimeoutAt)),
                       .most_repeats = repeats});
    tell(*placed.first, wire::ConnectionEvent::ConnectRequest);
}

void Connections::disconnect_request(wire::Bytes message, const Return& back) {
    Live* live = named_by(message);
    if (live == nullptr) // CM-09: no connection is known
        return answer(back,
                      begin_answer(message, cm::kDrep, wire::load_u32(message, cm::kRemoteIdAt)));
    Connection& connection = live->second;
    if (wire::Qpn{wire::load_u24(message, cm::kDreqQpnAt)} != connection.qpn) return;
    const ManagementDatagram confirmation = begin_answer(message, cm::kDrep, live->first.value);
    switch (connection.state) {
    case State::Requested: return;
    case State::Replied:
    case State::Established:
        end(*live, wire::ConnectionEvent::Disconnected);
        connection.state = State::Disconnected;
        connection.latest = confirmation;
        return;
    case State::Disconnected: return; // it waits for our program
    case State::Disconnecting: end(*live, wire::ConnectionEvent::Disconnected); break;
    case State::Ended: break;
    }
    send(connection, confirmation);
}

void Connections::of_connection(wire::Bytes message, wire::Instant now) {
    Live* live = named_by(message);
    if (live == nullptr) return end_of_request(message);
    Connection& connection = live->second;
    const std::uint16_t attribute = cm::attribute_of(message);
    if (attribute == cm::kDrep) {
        if (connection.state == State::Disconnecting)
            end(*live, wire::ConnectionEvent::Disconnected);
        return;
    }
    if (connection.state != State::Replied) return;
    if (attribute == cm::kRtu) return establish(*live);
    if (named_in(message) != kOfReply) return;
    if (attribute == cm::kRej) end(*live, wire::ConnectionEvent::Rejected);
    if (attribute == cm::kMra) { // CM-10
        connection.deadline =
            now + connection.patience + time_of(wire::load_u8(message, cm::kMraTimeoutAt));
    }
}

// A peer that gives up on its REQ knows no number of ours.
void Connections::end_of_request(wire::Bytes message) {
    const bool of_request = cm::attribute_of(message) == cm::kRej &&
                            wire::load_u32(message, cm::kRemoteIdAt) == 0 &&
                            named_in(message) == std::byte{0};
    if (!of_request) return;
    for (Live& live : connections_) {
        const bool same = live.second.peer_id == wire::load_u32(message, cm::kLocalIdAt) &&
                          live.second.transaction == wire::load_u64(message, cm::kTransactionAt);
        if (same && live.second.state == State::Requested)
            end(live, wire::ConnectionEvent::Rejected);
    }
}

bool Connections::make_room() {
    if (connections_.size() < kMostConnections) return true;
    for (const State idle : {State::Ended, State::Requested}) {
        const auto oldest = std::ranges::find_if(
            connections_, [&](const Live& live) { return live.second.state == idle; });
        if (oldest == connections_.end()) continue;
        connections_.erase(oldest);
        return true;
    }
    return false;
}

Connections::Live* Connections::begun_by(wire::Bytes request) {
    const auto found = std::ranges::find_if(connections_, [&](const Live& live) {
        return live.second.peer_id == wire::load_u32(request, cm::kLocalIdAt) &&
               live.second.peer_guid == wire::load_u64(request, req::kGuidAt) &&
               live.second.transaction == wire::load_u64(request, cm::kTransactionAt);
    });
    return found == connections_.end() ? nullptr : &*found;
}

Connections::Live* Connections::stale_for(wire::Bytes request) {
    const auto found = std::ranges::find_if(connections_, [&](const Live& live) {
        const bool open =
            live.second.state == State::Replied || live.second.state == State::Established;
        return open && live.second.peer_guid == wire::load_u64(request, req::kGuidAt) &&
               live.second.offer.peer == wire::Qpn{wire::load_u24(request, req::kQpnAt)};
    });
    return found == connections_.end() ? nullptr : &*found;
}

Connections::Live* Connections::named_by(wire::Bytes message) {
    const auto found = connections_.find({wire::load_u32(message, cm::kRemoteIdAt)});
    const bool same = found != connections_.end() &&
                      found->second.peer_id == wire::load_u32(message, cm::kLocalIdAt);
    return same ? &*found : nullptr;
}

// --- what the program does --------------------------------------------------------------------

bool Connections::accept(ConnectionId id, const ConnectionAcceptance& acceptance,
                         wire::Instant now) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.state != State::Requested) return false;
    Connection& connection = found->second;
    const ConnectionOffer& offer = connection.offer;
    ManagementDatagram reply =
        begin(cm::kRep, connection.transaction, id.value, connection.peer_id);
    const wire::MutableBytes bytes(reply);
    wire::store_be<3>(bytes, rep::kQpnAt, acceptance.qpn.value);
    wire::store_be<3>(bytes, rep::kPsnAt, offer.rq_psn.value());
    bytes[rep::kResponderResourcesAt] = std::byte{acceptance.responder_resources};
    bytes[rep::kInitiatorDepthAt] =
        std::byte{std::min(acceptance.initiator_depth, offer.initiator_depth)};
    bytes[rep::kRnrRetryAt] = static_cast<std::byte>(offer.rnr_retry << 5);
    if (acceptance.shared_receives) bytes[rep::kRnrRetryAt] |= kSharedReceives;
    wire::store_be<8>(bytes, rep::kGuidAt, kOwnGuid);
    connection.qpn = acceptance.qpn;
    connection.state = State::Replied;
    send_until_answered(connection, reply, now);
    return true;
}

bool Connections::reject(ConnectionId id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.state != State::Requested) return false;
    Connection& connection = found->second;
    connection.state = State::Ended;
    connection.latest =
        rejection(begin(cm::kRej, connection.transaction, id.value, connection.peer_id),
                  RejectReason::Consumer);
    send(connection, connection.latest);
    return true;
}

bool Connections::disconnect(ConnectionId id, wire::Instant now) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return false;
    Connection& connection = found->second;
    switch (connection.state) {
    case State::Requested:
    case State::Disconnecting:
    case State::Ended: return false;
    case State::Disconnected: // the DREP that the peer waits for
        connection.state = State::Ended;
        send(connection, connection.latest);
        return true;
    case State::Replied:
    case State::Established: break;
    }
    begin_disconnect(*found, now);
    return true;
}

void Connections::begin_disconnect(Live& live, wire::Instant now) {
    constexpr std::uint64_t own_transactions = std::uint64_t{1} << 63;
    Connection& connection = live.second;
    ManagementDatagram request =
        begin(cm::kDreq, own_transactions | live.first.value, live.first.value, connection.peer_id);
    wire::store_be<3>(wire::MutableBytes(request), cm::kDreqQpnAt, connection.offer.peer.value);
    connection.state = State::Disconnecting;
    send_until_answered(connection, request, now);
}

// --- time -------------------------------------------------------------------------------------

void Connections::data_came(wire::Qpn qpn) {
    for (Live& live : connections_) {
        if (live.second.state == State::Replied && live.second.qpn == qpn) establish(live);
    }
}

void Connections::advance(wire::Instant now) {
    for (Live& live : connections_) {
        Connection& connection = live.second;
        if (!connection.deadline || *connection.deadline > now) continue;
        if (connection.repeats > 0) {
            --connection.repeats;
            connection.deadline = now + connection.patience;
            send(connection, connection.latest);
            continue;
        }
        if (connection.state == State::Disconnecting) {
            end(live, wire::ConnectionEvent::Disconnected);
            continue;
        }
        // N-34: the host tells the peer that it has given up.
        send(connection, rejection(begin(cm::kRej, connection.transaction, live.first.value,
                                         connection.peer_id),
                                   RejectReason::Timeout, kOfReply));
        end(live, wire::ConnectionEvent::Unreachable);
    }
}

std::optional<wire::Instant> Connections::next_deadline() const {
    std::optional<wire::Instant> next;
    for (const auto& [id, connection] : connections_) {
        if (connection.deadline && (!next || *connection.deadline < *next))
            next = connection.deadline;
    }
    return next;
}

void Connections::establish(Live& live) {
    live.second.state = State::Established;
    live.second.deadline.reset();
    tell(live, wire::ConnectionEvent::Established);
}

void Connections::end(Live& live, wire::ConnectionEvent type) {
    live.second.state = State::Ended;
    live.second.deadline.reset();
    tell(live, type);
}

void Connections::tell(const Live& live, wire::ConnectionEvent type) {
    if (events_.size() == kMostEvents) events_.pop_front();
    events_.push_back(
        {.type = type, .connection = live.first, .service = live.second.offer.service});
}

void Connections::answer(const Return& back, const ManagementDatagram& datagram) {
    messages_.push_back({.path = back.path, .to = back.qpn, .datagram = datagram});
}

void Connections::send(Connection& connection, const ManagementDatagram& datagram) {
    messages_.push_back({.path = connection.way_back,
                         .to = connection.management_qpn,
                         .datagram = datagram,
                         .service = connection.offer.service});
}

void Connections::send_until_answered(Connection& connection, const ManagementDatagram& datagram,
                                      wire::Instant now) {
    connection.latest = datagram;
    connection.repeats = connection.most_repeats;
    connection.deadline = now + connection.patience;
    send(connection, datagram);
}

} // namespace veriroce::engine
