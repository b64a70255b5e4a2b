#include "dissector/flow/tracker.hpp"

#include <algorithm>
#include <cassert>

namespace veriroce::flow {
namespace {

constexpr std::size_t kFirstAskedRoom = 64; // powers of two
constexpr std::size_t kMaxAskedRoom = 1U << 16;
constexpr std::size_t kAskedByConnection = 8;

Path path_of(const Packet& packet) {
    return {packet.source, packet.destination, packet.transport.bth.dest_qp.value};
}

// At the sender's port, each packet is seen exactly once per transmission. Elsewhere, the first
// copy seen may be the second one sent, and a second copy may come from the network. Only a READ
// within another READ's PSNs is certainly a retry (REQ-09).
std::optional<bool> sent_again(const Packet& packet, const StreamResult& result) {
    const bool seen_before =
        result.kind == Class::Retransmission || result.kind == Class::Duplicate;
    if (result.inside_read && seen_before) return true;
    if (packet.tap != Tap::Sender) return std::nullopt;
    if (result.previous || seen_before) return true;
    if (result.kind == Class::New || result.kind == Class::BeyondGap) return false;
    return std::nullopt; // it fills a gap: the capture has lost packets
}

} // namespace

std::string_view name_of(Class kind) {
    switch (kind) {
    case Class::New: return "new";
    case Class::BeyondGap: return "beyond-gap";
    case Class::Retransmission: return "retransmission";
    case Class::Duplicate: return "duplicate";
    case Class::Reordered: return "reordered";
    case Class::Unsolicited: return "unsolicited";
    case Class::Forgotten: return "forgotten";
    case Class::Damaged: return "damaged";
    case Class::Unpaired: return "unpaired";
    case Class::Outside: return "outside";
    }
    return {};
}

std::string_view name_of(Cause cause) {
    switch (cause) {
    case Cause::None: return "";
    case Cause::SequenceNak: return "sequence-nak";
    case Cause::RnrNak: return "rnr-nak";
    case Cause::Implied: return "implied-nak";
    case Cause::Timeout: return "timeout";
    }
    return {};
}

Tracker::Tracker(Limits limits)
    : limits_(limits), budget_{.extents_left = limits.extents, .memory = arena_->for_a_while()} {
    assert(limits.connections > 1);
}

std::vector<std::uint32_t> Tracker::connections() const {
    std::vector<std::uint32_t> used;
    for (std::uint32_t index = oldest_; index != kNone; index = links_[index].newer)
        used.push_back(index);
    return used;
}

Classified Tracker::feed(const Packet& packet) {
    ++packets_;
    finished_.clear();
    answered_ = {};
    Classified seen;
    const wire::Service service = packet.info().service;
    const bool connected = service == wire::Service::Rc || service == wire::Service::Uc;
    if (!connected || packet.info().reserved()) {
        if (packet.integrity != Integrity::Bad) connection_message(packet);
        const bool cnp = packet.info().operation == wire::Operation::Cnp;
        if (cnp || packet.info().reserved()) of_known_path(packet, seen);
        return seen;
    }
    const bool dropped = packet.integrity == Integrity::Bad || packet.transport.bth.version != 0 ||
                         of_another_service(packet);
    if (dropped) {
        // CRC-07, BTH-01, BTH-05: receivers drop it silently. Even its QP number may be wrong, so
        // it creates no connection.
        seen.kind = Class::Damaged;
        of_known_path(packet, seen);
        if (seen.connection && packet.info().request()) {
            connections_[*seen.connection].ends[seen.from].stream.damaged(packet);
        }
        return seen;
    }
    const std::uint32_t value = path(packet);
    const std::uint32_t index = value >> 1;
    seen.connection = index;
    seen.from = static_cast<std::uint8_t>(1 - (value & 1));
    touch(index, packet.number);
    connections_[index].service = service;
    return packet.info().response() && service == wire::Service::Rc ? response(packet, index, seen)
                                                                    : request(packet, index, seen);
}

void Tracker::fetch_path(const Packet& packet) const {
    paths_.fetch(path_of(packet).hash());
}

std::optional<Tracker::Ahead> Tracker::fetch_connection(const Packet& packet) const {
    const auto known = paths_.find(path_of(packet));
    if (!known) return std::nullopt;
    const bool receiver_asks = packet.info().response();
    const Ahead ahead{.connection = *known >> 1,
                      .asking =
                          static_cast<std::uint8_t>(receiver_asks ? *known & 1 : 1 - (*known & 1))};
    const Connection& connection = connections_[ahead.connection];
    wire::fetch(&connection, &connection.ends);
    connection.ends[ahead.asking].stream.fetch();
    wire::fetch(links_[ahead.connection]);
    return ahead;
}

void Tracker::fetch_asked(const Packet& packet, const Connection& connection) const {
    const std::vector<Asked>& asked = hosts_[connection.hosts].asked;
    if (!asked.empty()) wire::fetch(asked[packet.psn().value() & (asked.size() - 1)]);
}

void Tracker::fetch_history(const Packet& packet, const Ahead& ahead) const {
    const Connection& connection = connections_[ahead.connection];
    connection.ends[ahead.asking].stream.fetch_end();
    if (connection.pairing == Pairing::None) fetch_asked(packet, connection);
}

bool Tracker::of_another_service(const Packet& packet) const {
    if (!services_known_) return false;
    const auto known = paths_.find(path_of(packet));
    if (!known) return false;
    const Connection& connection = connections_[*known >> 1];
    return connection.service_known && connection.service != packet.info().service;
}

// Packets that create no connection but may belong to one.
void Tracker::of_known_path(const Packet& packet, Classified& seen) const {
    const auto known = paths_.find(path_of(packet));
    if (!known) return;
    seen.connection = *known >> 1;
    seen.from = static_cast<std::uint8_t>(1 - (*known & 1));
}

Classified Tracker::request(const Packet& packet, std::uint32_t index, Classified seen) {
    Connection& connection = connections_[index];
    seen.role = Role::Requester;
    const bool restartable = connection.pairing != Pairing::Known;
    const StreamResult result =
        connection.ends[seen.from].stream.request(packet, budget_, restartable);
    seen.kind = result.kind;
    seen.cause = result.cause;
    seen.message = result.message;
    seen.skipped = result.skipped;
    seen.skipped_at_most = result.skipped_at_most;
    seen.damaged_skipped = result.damaged_skipped;
    seen.before_first = result.before_first;
    seen.changed = result.changed;
    seen.previous = result.previous;
    seen.overtaken = result.overtaken;
    seen.previous_number = result.previous_number;
    seen.sent_again = sent_again(packet, result);
    if (connection.pairing == Pairing::None) remember_request(packet, index);
    return seen;
}

Classified Tracker::response(const Packet& packet, std::uint32_t index, Classified seen) {
    seen.role = Role::Responder;
    const bool unknown = connections_[index].pairing == Pairing::None;
    if ((unknown && !pair(packet, index, seen)) || (!unknown && rivalled(packet, index))) {
        ++connections_[index].unpaired_responses;
        ++hosts_[connections_[index].hosts].unpaired_responses;
        seen.kind = Class::Unpaired;
        return seen;
    }
    const auto value = paths_.find(path_of(packet));
    seen.connection = *value >> 1;
    seen.from = static_cast<std::uint8_t>(1 - (*value & 1));
    Connection& connection = connections_[*value >> 1];
    const StreamResult result =
        connection.ends[seen.asking()].stream.response(packet, finished_, answered_);
    if (result.kind == Class::New) ++connection.matches;
    seen.kind = result.kind;
    seen.message = result.message;
    return seen;
}

// The connection that the packet is sent to; the low bit is the end that receives it.
std::uint32_t Tracker::path(const Packet& packet) {
    if (const auto known = paths_.find(path_of(packet))) return *known;
    if (const auto asker = asker_of(packet)) {
        give_partner(*asker, packet.transport.bth.dest_qp);
        return *asker << 1;
    }
    const std::uint32_t index =
        fresh(packet.number, hosts_between(packet.source, packet.destination));
    Connection& connection = connections_[index];
    connection.ends[0].address = packet.source;
    connection.ends[1].address = packet.destination;
    connection.ends[1].qpn = packet.transport.bth.dest_qp;
    put_path(index, 1);
    return index << 1 | 1;
}

void Tracker::put_path(std::uint32_t index, std::uint8_t to) {
    const Connection& connection = connections_[index];
    const End& receiver = connection.ends[to];
    paths_.put({connection.ends[1 - to].address, receiver.address, receiver.qpn->value},
               index << 1 | to);
}

// The two addresses in one order, whoever sends.
Path Tracker::hosts_key(const wire::IpAddress& one, const wire::IpAddress& other) {
    return one.bytes <= other.bytes ? Path{one, other} : Path{other, one};
}

// The caller makes a connection between them: fresh() counts it.
std::uint32_t Tracker::hosts_between(const wire::IpAddress& one, const wire::IpAddress& other) {
    const Path key = hosts_key(one, other);
    if (const auto known = hosts_by_addresses_.find(key)) return *known;
    auto index = static_cast<std::uint32_t>(hosts_.size());
    if (free_hosts_.empty()) {
        hosts_.emplace_back();
    } else {
        index = free_hosts_.back();
        free_hosts_.pop_back();
    }
    hosts_[index].key = key;
    hosts_by_addresses_.put(key, index);
    return index;
}

// A connection between them is gone.
void Tracker::leave(std::uint32_t hosts) {
    if (--hosts_[hosts].connections > 0) return;
    hosts_by_addresses_.remove(hosts_[hosts].key);
    hosts_[hosts] = Hosts();
    free_hosts_.push_back(hosts);
}

// `hosts` is counted first, so that making room does not take it away.
std::uint32_t Tracker::fresh(std::uint64_t number, std::uint32_t hosts) {
    ++hosts_[hosts].connections;
    if (free_.empty() && connections_.size() >= limits_.connections) evict_oldest();
    std::uint32_t index = 0;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
        connections_[index] = Connection();
    } else {
        index = static_cast<std::uint32_t>(connections_.size());
        connections_.emplace_back();
        links_.emplace_back();
    }
    connections_[index].hosts = hosts;
    connections_[index].id = ++last_id_;
    connections_[index].first_number = connections_[index].last_number = number;
    link_newest(index);
    return index;
}

void Tracker::evict_oldest() {
    drop(oldest_);
    ++evicted_;
}

void Tracker::drop(std::uint32_t index) {
    Connection& connection = connections_[index];
    for (std::uint8_t to = 0; to < 2; ++to) {
        const End& receiver = connection.ends[to];
        if (!receiver.qpn) continue;
        const Path key{connection.ends[1 - to].address, receiver.address, receiver.qpn->value};
        if (const auto value = paths_.find(key); value && *value >> 1 == index) paths_.remove(key);
    }
    for (End& end : connection.ends)
        end.stream.release(budget_);
    connection.id = 0;
    leave(connection.hosts);
    unlink(index);
    free_.push_back(index);
}

void Tracker::touch(std::uint32_t index, std::uint64_t number) {
    connections_[index].last_number = number;
    if (newest_ == index) return;
    unlink(index);
    link_newest(index);
}

void Tracker::unlink(std::uint32_t index) {
    const Link link = links_[index];
    (link.older == kNone ? oldest_ : links_[link.older].newer) = link.newer;
    (link.newer == kNone ? newest_ : links_[link.newer].older) = link.older;
}

void Tracker::link_newest(std::uint32_t index) {
    links_[index] = {.older = newest_, .newer = kNone};
    (newest_ == kNone ? oldest_ : links_[newest_].newer) = index;
    newest_ = index;
}

// Whether the one of the two addresses that comes first asks: sends the request, or gets the
// response.
bool Tracker::from_low(const Packet& packet) {
    const bool forward = packet.source.bytes <= packet.destination.bytes;
    return forward != packet.info().response();
}

void Tracker::widen_asked(Hosts& hosts) {
    std::vector<Asked> smaller(std::max(hosts.asked.size() * 2, kFirstAskedRoom));
    smaller.swap(hosts.asked);
    for (const Asked& slot : smaller) {
        if (slot.id != 0) hosts.asked[slot.psn.value() & (hosts.asked.size() - 1)] = slot;
    }
}

void Tracker::remember_request(const Packet& packet, std::uint32_t index) {
    if (packet.info().service != wire::Service::Rc) return;
    Hosts& hosts = hosts_[connections_[index].hosts];
    while (hosts.asked.size() < kMaxAskedRoom &&
           hosts.asked.size() < std::max(hosts.connections * kAskedByConnection, kFirstAskedRoom))
        widen_asked(hosts);
    const std::uint64_t id = connections_[index].id;
    const Asked* const known = asked_by(packet, hosts);
    if (known != nullptr && known->id == id) return;
    hosts.asked[packet.psn().value() & (hosts.asked.size() - 1)] = {.psn = packet.psn(),
                                                                    .connection = index,
                                                                    .id = id,
                                                                    .from_low = from_low(packet),
                                                                    .ambiguous = known != nullptr};
}

const Tracker::Asked* Tracker::asked_by(const Packet& packet, const Hosts& hosts) const {
    if (hosts.asked.empty()) return nullptr;
    const Asked& slot = hosts.asked[packet.psn().value() & (hosts.asked.size() - 1)];
    if (slot.id == 0 || !(slot.psn == packet.psn()) || slot.from_low != from_low(packet)) {
        return nullptr;
    }
    const Connection& asker = connections_[slot.connection];
    return asker.id == slot.id && asker.pairing == Pairing::None ? &slot : nullptr;
}

// The unpaired QP that requested this response's PSN, if there is exactly one.
std::optional<std::uint32_t> Tracker::asker_of(const Packet& packet) const {
    if (packet.info().service != wire::Service::Rc || !packet.info().response()) return {};
    const auto known = hosts_by_addresses_.find(hosts_key(packet.source, packet.destination));
    if (!known) return {};
    const Asked* const asked = asked_by(packet, hosts_[*known]);
    if (asked == nullptr || asked->ambiguous) return {};
    return asked->connection;
}

void Tracker::give_partner(std::uint32_t index, wire::Qpn qpn) {
    connections_[index].ends[0].qpn = qpn;
    connections_[index].pairing = Pairing::Inferred;
    Hosts& hosts = hosts_[connections_[index].hosts];
    if (hosts.connections == 1) hosts.asked = {}; // nobody else can be meant
    put_path(index, 0);
}

// A response to a QP that was addressed before: pairs the two.
bool Tracker::pair(const Packet& packet, std::uint32_t index, Classified& seen) {
    const auto asker = asker_of(packet);
    if (!asker || *asker == index) return false;
    seen.absorbed = index;
    merge(*asker, index);
    return true;
}

// Whether a different unpaired QP has just requested this PSN: the addressed QP may have been
// reconnected to it.
bool Tracker::rivalled(const Packet& packet, std::uint32_t index) const {
    if (connections_[index].pairing == Pairing::Known) return false;
    const Asked* const asked = asked_by(packet, hosts_[connections_[index].hosts]);
    return asked != nullptr && asked->connection != index;
}

// Each knows only its receiver (end 1). `from` becomes the reverse direction of `into`.
void Tracker::merge(std::uint32_t into, std::uint32_t from) {
    Connection& target = connections_[into];
    Connection& source = connections_[from];
    const wire::Qpn qpn = *source.ends[1].qpn;
    target.ends[1].stream = std::move(source.ends[0].stream);
    source.ends[0].stream = Stream();
    target.unpaired_responses += source.unpaired_responses;
    target.first_number = std::min(target.first_number, source.first_number);
    const std::uint64_t number = source.last_number;
    drop(from);
    give_partner(into, qpn);
    touch(into, number);
}

void Tracker::introduce(const Introduction& first, const Introduction& second) {
    introduce(first, second, packets_);
}

std::uint32_t Tracker::introduce(const Introduction& first, const Introduction& second,
                                 std::uint64_t number) {
    const std::array<Introduction, 2> introduced{first, second};
    const std::uint32_t hosts = hosts_between(first.address, second.address);
    ++hosts_[hosts].connections; // so that they stay when the older connections go
    for (std::size_t to = 0; to < 2; ++to) {
        const auto known = paths_.find(
            {introduced[1 - to].address, introduced[to].address, introduced[to].qpn.value});
        if (known) drop(*known >> 1);
    }
    const std::uint32_t index = fresh(number, hosts);
    leave(hosts);
    Connection& connection = connections_[index];
    connection.pairing = Pairing::Known;
    connection.service_known = first.service.has_value();
    services_known_ = services_known_ || connection.service_known;
    connection.service = first.service.value_or(wire::Service::Rc);
    for (std::size_t i = 0; i < 2; ++i) {
        End& end = connection.ends[i];
        end.address = introduced[i].address;
        end.qpn = introduced[i].qpn;
        end.attributes = introduced[i].attributes;
        if (end.attributes.first_psn) end.stream.begin_at(*end.attributes.first_psn);
        if (end.attributes.mtu) end.stream.set_mtu(*end.attributes.mtu);
    }
    put_path(index, 0);
    put_path(index, 1);
    return index;
}

void Tracker::remember(const ConnectRequest& request) {
    if (connect_requests_.size() == kMostConnectRequests) {
        connect_requests_.erase(connect_requests_.begin());
        connect_request_overwritten_ = true;
    }
    connect_requests_.push_back(request);
    most_connect_requests_ = std::max(most_connect_requests_, connect_requests_.size());
}

void Tracker::connection_message(const Packet& packet) {
    const auto message = cm_message_of(packet);
    if (!message) return;
    if (message->kind == CmKind::Request) {
        remember({packet.source, packet.destination, *message});
        return;
    }
    if (message->kind != CmKind::Reply) return;
    for (std::size_t i = 0; i < connect_requests_.size(); ++i) {
        const ConnectRequest& request = connect_requests_[i];
        const CmMessage& asked = request.message;
        if (asked.local_id != message->remote_id) continue;
        if (!(request.source == packet.destination && request.destination == packet.source)) {
            continue;
        }
        // CM-02: a message's first PSN is the one at which its receiver starts to send. CM-03: each
        // end respects what the other one offers.
        Introduction active{request.source, asked.qpn, {}};
        active.attributes = {.mtu = asked.mtu,
                             .first_psn = message->first_psn,
                             .max_rd_atomic =
                                 std::min(asked.initiator_depth, message->responder_resources),
                             .timeout = {},
                             .pkey = asked.pkey};
        Introduction passive{request.destination, message->qpn, {}};
        passive.attributes = {.mtu = asked.mtu,
                              .first_psn = asked.first_psn,
                              .max_rd_atomic = asked.responder_resources,
                              .timeout = {},
                              .pkey = asked.pkey};
        connections_[introduce(active, passive, packet.number)].service_id = asked.service_id;
        // A repeated reply changes nothing.
        connect_requests_.erase(connect_requests_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
    }
}

} // namespace veriroce::flow
