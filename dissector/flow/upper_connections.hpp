// Knows which connections carry an upper-layer protocol, and decodes it.
//
//   UpperConnections upper(decode_as);
//   decode::dissect_frame(options, dissection);
//   upper.apply(dissection);
//
// The protocol follows from the service that a CM request asks for (its port, RDMA IP CM service)
// or from the user; nothing is guessed from bytes. Both ends of a connection are known, by address
// and QP. A disconnect request, or a new request for the QP, removes the entry. TCP segments of
// iWARP are decoded again if their connection's start-up frames tell more (mpa_connections.hpp).
//
// Memory is bounded (kMaxEnds, kMaxRequests): the oldest entry is evicted and counted in
// `forgotten`. Other traffic only costs a test whether the packet is a management datagram or TCP.
// Pass packets in capture order. A packet with a wrong ICRC changes no state.
#pragma once

#include <optional>
#include <vector>

#include "dissector/decode/upper.hpp"
#include "dissector/flow/cm.hpp"
#include "dissector/flow/mpa_connections.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::flow {

// The user's assignments. They override the well-known ports; `Upper::None` disables decoding.
struct DecodeAs {
    struct Port { // the port in a CM request's service ID
        std::uint16_t port = 0;
        decode::Upper protocol = decode::Upper::None;
    };
    struct Qp { // the destination QP of packets, at any address
        wire::Qpn qpn;
        decode::Upper protocol = decode::Upper::None;
        // Valid until a Connect command tells which queue it is.
        decode::NvmeQueue nvme_queue = decode::NvmeQueue::Unknown;
    };
    std::vector<Port> ports;
    std::vector<Qp> qps;
};

class UpperConnections {
  public:
    static constexpr std::size_t kMaxEnds = 65'536;
    static constexpr std::size_t kMaxRequests = 256; // unanswered

    UpperConnections() : UpperConnections(DecodeAs{}) {}
    explicit UpperConnections(DecodeAs decode_as);

    // Learns from the packet, and decodes its upper-layer protocol if that is known.
    void apply(decode::Dissection& dissection) {
        using enum decode::LayerKind;
        if (!watching_ && !dissection.layers.has_any<Mad, Tcp>()) return;
        look(dissection);
    }

    // Whether every transport packet is looked at, not only management datagrams and TCP.
    [[nodiscard]] bool watching() const { return watching_; }
    // Connection ends that were evicted.
    [[nodiscard]] std::uint64_t forgotten() const { return forgotten_ + mpa_.forgotten(); }
    [[nodiscard]] std::size_t ends() const { return places_.size(); }

  private:
    struct EndKey {
        wire::IpAddress address;
        std::uint32_t qpn = 0;
        friend bool operator==(const EndKey&, const EndKey&) = default;
        [[nodiscard]] std::uint64_t hash() const;
    };
    struct End {
        EndKey key;
        EndKey partner; // QP 0 until it is known
        decode::UpperFacts facts;
    };
    struct Request {
        wire::IpAddress source;
        wire::IpAddress destination;
        std::uint32_t local_id = 0;
        EndKey client;
        decode::UpperFacts server; // what is known about packets to the server
    };

    void look(decode::Dissection& dissection);
    void management(decode::Dissection& dissection);
    void request(decode::Dissection& dissection, const CmMessage& message);
    void reply(decode::Dissection& dissection, const CmMessage& message);
    void reject(decode::Dissection& dissection, const CmMessage& message);
    void disconnect(const decode::Dissection& dissection, const CmMessage& message);
    void message(decode::Dissection& dissection);
    [[nodiscard]] decode::Upper protocol_of(std::uint64_t service_id) const;
    decode::UpperFacts* facts_of(const decode::Dissection& dissection);
    void remember(const Request& request);
    Request* asked(const decode::Dissection& dissection, std::uint32_t local_id);
    void put(const EndKey& key, const EndKey& partner, const decode::UpperFacts& facts);
    void remove(const EndKey& key);

    std::vector<DecodeAs::Port> ports_;
    struct UserQp {
        wire::Qpn qpn;
        decode::UpperFacts facts;
    };
    std::vector<UserQp> user_qps_;
    Table<EndKey> places_; // indices into ends_
    std::vector<End> ends_;
    std::vector<std::uint32_t> free_;
    std::size_t oldest_ = 0; // the next to be replaced once all places are used
    std::vector<Request> requests_;
    std::size_t next_request_ = 0;
    std::uint64_t forgotten_ = 0;
    MpaConnections mpa_;
    bool watching_ = false;
};

} // namespace veriroce::flow
