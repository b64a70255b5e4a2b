#include "dissector/flow/upper_connections.hpp"

#include <algorithm>
#include <bit>

namespace veriroce::flow {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::Toward;
using decode::Upper;
using decode::UpperFacts;

// Service IDs of RDMA IP CM: a zero, the TCP port space, the port (annex A11).
constexpr std::uint64_t kTcpPortSpace = 0x0106;

// The queue that NVMe's private data in a request selects (record format 0).
decode::NvmeQueue queue_of(const Dissection& d) {
    const auto* layer = d.layers.find(LayerKind::CmPrivate);
    if (layer == nullptr || layer->length < 4) return decode::NvmeQueue::Unknown;
    const wire::Bytes data = d.bytes_of(*layer);
    if (wire::load_u16(data, 0) != 0) return decode::NvmeQueue::Unknown;
    return decode::nvme_queue_of(std::byteswap(wire::load_u16(data, 2)));
}

} // namespace

UpperConnections::UpperConnections(DecodeAs decode_as) : ports_(std::move(decode_as.ports)) {
    for (const DecodeAs::Qp& qp : decode_as.qps) {
        UpperFacts facts;
        facts.protocol = qp.protocol;
        facts.nvme_queue = qp.nvme_queue;
        user_qps_.push_back({qp.qpn, facts});
    }
    watching_ = !user_qps_.empty();
}

std::uint64_t UpperConnections::EndKey::hash() const {
    return mixed(Path::hash_of(address) + mixed(qpn));
}

void UpperConnections::look(Dissection& d) {
    if (d.layers.has(LayerKind::Mad)) return management(d);
    if (d.layers.has(LayerKind::Tcp)) return mpa_.look(d);
    if (decode::begins_message(d)) message(d);
}

void UpperConnections::management(Dissection& d) {
    if (d.icrc.status == decode::IcrcStatus::Bad) return; // CRC-07: the receiver drops it
    const auto message = cm_message_of(d);
    if (!message) return;
    switch (message->kind) {
    case CmKind::Request: return request(d, *message);
    case CmKind::Reply: return reply(d, *message);
    case CmKind::Reject: return reject(d, *message);
    case CmKind::DisconnectRequest: return disconnect(d, *message);
    case CmKind::Other: return;
    }
}

Upper UpperConnections::protocol_of(std::uint64_t service_id) const {
    if (service_id >> 16 != kTcpPortSpace) return Upper::None;
    const auto port = static_cast<std::uint16_t>(service_id);
    const auto user = std::ranges::find(ports_, port, &DecodeAs::Port::port);
    return user != ports_.end() ? user->protocol : decode::upper_of_port(port);
}

void UpperConnections::request(Dissection& d, const CmMessage& message) {
    const auto source = d.source();
    const auto destination = d.destination();
    if (!source || !destination) return;
    const EndKey client{*source, message.qpn.value};
    UpperFacts facts;
    facts.protocol = protocol_of(message.service_id);
    const std::uint32_t local_id = message.local_id;
    const auto before = std::ranges::find_if(requests_, [&](const Request& one) {
        return one.local_id == local_id && one.source == *source;
    });
    if (facts.protocol == Upper::None) { // the QP and the ID are now used for something else
        if (before != requests_.end()) *before = {};
        return remove(client);
    }
    if (facts.protocol == Upper::Nvme) facts.nvme_queue = queue_of(d);
    UpperFacts to_server = facts;
    to_server.toward = Toward::Server;
    facts.toward = Toward::Client;
    // CM-02: the PSN at which the receiver of the request starts to send.
    facts.first_psn = message.first_psn;
    // A repeated request does not undo what the reply told.
    const bool repeated = before != requests_.end() && before->client == client;
    if (!repeated || !places_.find(client)) put(client, {}, facts);
    const Request entry{*source, *destination, local_id, client, to_server};
    if (before != requests_.end()) {
        *before = entry;
    } else {
        remember(entry);
    }
    decode::dissect_private_data(facts.protocol, d);
}

void UpperConnections::remember(const Request& request) {
    if (requests_.size() < kMaxRequests) return requests_.push_back(request);
    requests_[next_request_] = request;
    next_request_ = (next_request_ + 1) % kMaxRequests;
}

// Answered requests stay in the window, because the answer may be repeated.
UpperConnections::Request* UpperConnections::asked(const Dissection& d, std::uint32_t local_id) {
    const auto source = d.source();
    const auto destination = d.destination();
    const auto found = std::ranges::find_if(requests_, [&](const Request& one) {
        return one.local_id == local_id && one.source == destination && one.destination == source;
    });
    return found != requests_.end() ? &*found : nullptr;
}

void UpperConnections::reply(Dissection& d, const CmMessage& message) {
    const auto source = d.source();
    if (!source) return;
    const EndKey server{*source, message.qpn.value};
    const Request* request = asked(d, message.remote_id);
    if (request == nullptr) return remove(server);
    UpperFacts facts = request->server;
    facts.first_psn = message.first_psn;
    put(server, request->client, facts);
    if (const auto client = places_.find(request->client)) ends_[*client].partner = server;
    decode::dissect_private_data(facts.protocol, d);
}

void UpperConnections::reject(Dissection& d, const CmMessage& message) {
    const Request* request = asked(d, message.remote_id);
    if (request == nullptr) return;
    remove(request->client);
    decode::dissect_private_data(request->server.protocol, d);
}

void UpperConnections::disconnect(const Dissection& d, const CmMessage& message) {
    const auto destination = d.destination();
    if (!destination) return;
    const EndKey asked{*destination, message.remote_qpn.value};
    const auto place = places_.find(asked);
    if (!place) return;
    const EndKey partner = ends_[*place].partner;
    remove(asked);
    remove(partner);
}

UpperFacts* UpperConnections::facts_of(const Dissection& d) {
    const auto user = std::ranges::find(user_qps_, d.packet.bth.dest_qp, &UserQp::qpn);
    if (user != user_qps_.end()) return &user->facts;
    const auto destination = d.destination();
    if (!destination) return nullptr;
    const auto place = places_.find({*destination, d.packet.bth.dest_qp.value});
    return place ? &ends_[*place].facts : nullptr;
}

void UpperConnections::message(Dissection& d) {
    UpperFacts* facts = facts_of(d);
    if (facts == nullptr) return;
    decode::dissect_upper(*facts, d);
    if (d.icrc.status == decode::IcrcStatus::Bad) return;
    if (const auto queue = decode::connected_nvme_queue(d)) {
        facts->nvme_queue = decode::nvme_queue_of(*queue);
    }
}

void UpperConnections::put(const EndKey& key, const EndKey& partner, const UpperFacts& facts) {
    watching_ = true;
    const End end{key, partner, facts};
    if (const auto place = places_.find(key)) {
        ends_[*place] = end;
        return;
    }
    std::uint32_t place = 0;
    if (!free_.empty()) {
        place = free_.back();
        free_.pop_back();
        ends_[place] = end;
    } else if (ends_.size() < kMaxEnds) {
        place = static_cast<std::uint32_t>(ends_.size());
        ends_.push_back(end);
    } else {
        place = static_cast<std::uint32_t>(oldest_);
        oldest_ = (oldest_ + 1) % kMaxEnds;
        places_.remove(ends_[place].key);
        ends_[place] = end;
        ++forgotten_;
    }
    places_.put(key, place);
}

void UpperConnections::remove(const EndKey& key) {
    const auto place = places_.find(key);
    if (!place) return;
    places_.remove(key);
    free_.push_back(*place);
}

} // namespace veriroce::flow
