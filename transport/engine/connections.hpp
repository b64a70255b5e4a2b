// Connection management of a host: what it answers to the messages at QP 1, and the connections
// that its programs listen for. It knows no QP and no clock: datagrams go in, answers and events
// come out.
//
//   connections.listen(service);
//   connections.take(datagram, way_back, from, now);      REQ: ConnectRequest in poll_event()
//   connections.offer(id)                                 what the REQ asks for
//   connections.accept(id, {...}, now);                   REP; Established once an RTU has come
//   connections.advance(now); connections.poll_message(); connections.next_deadline()
//
// The host refuses a REQ for a service without a listener. It does not answer a message that is
// malformed, of another class or unknown. It sends an unanswered REP or DREQ again as often as the
// REQ allows, and then gives the connection up.
//
// Source: rules CM-01 to CM-11, CM-13, N-30 to N-34; InfiniBand volume 1 chapter 12.
#pragma once

#include <array>
#include <deque>
#include <expected>
#include <map>
#include <optional>
#include <vector>

#include "dissector/wire/connection_event.hpp"
#include "dissector/wire/management.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

using ManagementDatagram = std::array<std::byte, wire::kMadBytes>;
using ServiceId = wire::Identifier<struct ServiceIdTag, std::uint64_t>;
using ConnectionId = wire::Identifier<struct ConnectionTag, std::uint32_t>;

// What a REQ asks for, as its receiver's QP uses it.
struct ConnectionOffer {
    ServiceId service;
    AddressVector path;
    wire::Qpn peer;
    wire::Psn sq_psn; // the peer's choice
    wire::Psn rq_psn; // ours
    wire::Mtu mtu = wire::Mtu::B1024;
    wire::Pkey pkey;
    std::uint8_t timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    std::uint8_t responder_resources = 0; // the READs and atomics that the peer will have open
    std::uint8_t initiator_depth = 0;     // that the peer can answer
};

// What the REP agrees on. CM-03: an initiator depth beyond that of the offer is lowered to it.
struct ConnectionAcceptance {
    wire::Qpn qpn;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    bool shared_receives = false;
};

struct ConnectionNotice {
    wire::ConnectionEvent type = wire::ConnectionEvent::ConnectRequest;
    ConnectionId connection;
    ServiceId service;
};

enum class RejectReason : std::uint16_t {
    NoResources = 3,
    Timeout = 4,
    UnsupportedService = 8,
    InvalidTransport = 9,
    StaleConnection = 10,
    InvalidGid = 12,
    InvalidMtu = 26,
    Consumer = 28,
};

class Connections {
  public:
    struct Message {
        AddressVector path;
        wire::Qpn to;
        ManagementDatagram datagram{};
        std::optional<ServiceId> service = {}; // of a connection's messages
    };

    // False if a program listens for it already.
    bool listen(ServiceId service);
    // Its program is gone: its connections end, and no more messages about them leave.
    void stop(ServiceId service);

    void take(wire::Bytes datagram, const AddressVector& way_back, wire::Qpn from,
              wire::Instant now);
    [[nodiscard]] std::optional<Message> poll_message();
    [[nodiscard]] std::optional<ConnectionNotice> poll_event(ServiceId service);

    // Null if there is no such connection.
    [[nodiscard]] const ConnectionOffer* offer(ConnectionId id) const;
    // The answer to a request that waits for one, or the end of a connection: a DREQ, or the DREP
    // that the peer waits for. Each returns whether the connection is in a state for it.
    bool accept(ConnectionId id, const ConnectionAcceptance& acceptance, wire::Instant now);
    bool reject(ConnectionId id);
    bool disconnect(ConnectionId id, wire::Instant now);

    // CM-04: a packet of the peer has come to the QP, which says as much as an RTU.
    void data_came(wire::Qpn qpn);
    // A REP or a DREQ leaves again, or is given up.
    void advance(wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;

  private:
    enum class State : std::uint8_t {
        Requested, // the program has not answered yet
        Replied,   // until an RTU
        Established,
        Disconnecting, // our DREQ waits for its DREP
        Disconnected,  // the peer's DREQ waits for our program
        Ended,         // a DREQ that comes again gets its DREP again (CM-09)
    };
    struct Connection {
        State state = State::Requested;
        ConnectionOffer offer;
        AddressVector way_back;
        wire::Qpn management_qpn; // of the peer
        wire::Qpn qpn;            // ours
        std::uint64_t transaction = 0;
        std::uint64_t peer_guid = 0;
        std::uint32_t peer_id = 0;
        wire::Duration patience{0};
        std::uint32_t repeats = 0; // that are left
        std::uint32_t most_repeats = 0;
        ManagementDatagram latest{};
        std::optional<wire::Instant> deadline; // when `latest` leaves again
    };
    struct Return { // where the answer to a message goes
        const AddressVector& path;
        wire::Qpn qpn;
    };
    using Live = std::pair<const ConnectionId, Connection>;
    static constexpr std::size_t kMostConnections = 1024; // of which the oldest idle ones go first
    static constexpr std::size_t kMostEvents = 4096;      // beyond it the oldest is lost

    [[nodiscard]] bool is_offered(ServiceId service) const;
    void request(wire::Bytes message, const Return& back, wire::Instant now);
    void disconnect_request(wire::Bytes message, const Return& back);
    void of_connection(wire::Bytes message, wire::Instant now);
    void end_of_request(wire::Bytes message);
    void begin_disconnect(Live& live, wire::Instant now);
    // Makes room for one more; false if all connections are in use.
    bool make_room();
    // The connection that this REQ began; null if it is a new one.
    Live* begun_by(wire::Bytes request);
    // CM-08: a connection of the same QP of the peer, who has forgotten it.
    Live* stale_for(wire::Bytes request);
    // The connection that the message names by our number and the peer's; null if there is none.
    Live* named_by(wire::Bytes message);
    void establish(Live& live);
    void end(Live& live, wire::ConnectionEvent type);
    void tell(const Live& live, wire::ConnectionEvent type);
    void answer(const Return& back, const ManagementDatagram& datagram);
    void send(Connection& connection, const ManagementDatagram& datagram);
    void send_until_answered(Connection& connection, const ManagementDatagram& datagram,
                             wire::Instant now);

    std::vector<ServiceId> services_;
    std::map<ConnectionId, Connection> connections_;
    std::deque<Message> messages_;
    std::deque<ConnectionNotice> events_;
    std::uint32_t next_id_ = 1;
};

} // namespace veriroce::engine
