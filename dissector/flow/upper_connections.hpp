// Which connections carry a protocol above the transport that can be taken apart, and doing so.
//
//   UpperConnections upper(told);
//   decode::dissect_frame(options, dissection);
//   upper.apply(dissection);
//
// Known is what the service that a CM request asks for is (its port, RDMA IP CM service), and what
// the user says; nothing is guessed from bytes. Both ends of a connection are known, by address and
// QP. A disconnect request and another request about a QP end what was known. TCP segments of iWARP
// are taken apart again where their connection's start-up frames tell more (mpa_connections.hpp).
//
// Memory is bounded (kMaxEnds, kMaxRequests): the oldest gives way, and `forgotten` counts. What
// carries no such protocol costs a look at whether the packet is a management datagram, or TCP.
// Packets are to be given in the order of the capture. A packet with a wrong ICRC changes nothing
// that is known.
#pragma once

#include <optional>
#include <vector>

#include "dissector/decode/upper.hpp"
#include "dissector/flow/mpa_connections.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::flow {

// What the user says: it goes before what is well known, and `Upper::None` takes nothing apart.
struct DecodeAs {
    struct Port { // of the service that a CM request asks for
        std::uint16_t port = 0;
        decode::Upper protocol = decode::Upper::None;
    };
    struct Qp { // of the end that packets go to, whatever its address
        wire::Qpn qpn;
        decode::Upper protocol = decode::Upper::None;
        // Until a Connect command says which.
        decode::NvmeQueue nvme_queue = decode::NvmeQueue::Unknown;
    };
    std::vector<Port> ports;
    std::vector<Qp> qps;
};

class UpperConnections {
  public:
    static constexpr std::size_t kMaxEnds = 65'536;
    static constexpr std::size_t kMaxRequests = 256; // without an answer

    UpperConnections() : UpperConnections(DecodeAs{}) {}
    explicit UpperConnections(DecodeAs told);

    // Learns from the packet, and takes apart what it carries above the transport if that is known.
    void apply(decode::Dissection& dissection) {
        using enum decode::LayerKind;
        if (!watching_ && !dissection.layers.has_any<Mad, Tcp>()) return;
        look(dissection);
    }

    // Ends of connections that gave way to newer ones.
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
        decode::UpperFacts server; // what is known of the packets to the server
    };

    void look(decode::Dissection& dissection);
    void management(decode::Dissection& dissection);
    void request(decode::Dissection& dissection, wire::Bytes message);
    void reply(decode::Dissection& dissection, wire::Bytes message);
    void reject(decode::Dissection& dissection, wire::Bytes message);
    void disconnect(const decode::Dissection& dissection, wire::Bytes message);
    void message(decode::Dissection& dissection);
    [[nodiscard]] decode::Upper protocol_of(std::uint64_t service_id) const;
    decode::UpperFacts* facts_of(const decode::Dissection& dissection);
    void remember(const Request& request);
    Request* asked(const decode::Dissection& dissection, std::uint32_t local_id);
    void put(const EndKey& key, const EndKey& partner, const decode::UpperFacts& facts);
    void remove(const EndKey& key);

    std::vector<DecodeAs::Port> ports_;
    struct Told {
        wire::Qpn qpn;
        decode::UpperFacts facts;
    };
    std::vector<Told> told_;
    Table<EndKey> places_; // in ends_
    std::vector<End> ends_;
    std::vector<std::uint32_t> free_;
    std::size_t oldest_ = 0; // where the next end goes once all places are taken
    std::vector<Request> requests_;
    std::size_t next_request_ = 0;
    std::uint64_t forgotten_ = 0;
    MpaConnections mpa_;
    bool watching_ = false;
};

} // namespace veriroce::flow
