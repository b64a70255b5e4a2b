// The tracker: which connection a packet belongs to, which end sent it, and what it means there.
//
//   Tracker tracker;
//   if (const auto packet = packet_of(dissection)) {
//       const Classified seen = tracker.feed(*packet);
//       ...
//   }
//
// An RC packet names its destination QP but not its source QP. The two QPs of a connection are
// found by their CM exchange, by `introduce` (from a label file or a test), or by inference: the
// first response to a PSN that exactly one unpaired QP has just requested pairs the two.
//
// Memory is bounded (Limits): the least recently used connections are evicted and counted. No
// allocation per packet once its connection is known. Deterministic. Source: rules CM-02, CM-13,
// RSP-01, RSP-09; N-30 for CM's messages.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string_view>

#include "dissector/flow/arena.hpp"
#include "dissector/flow/cm.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/flow/stream.hpp"

namespace veriroce::flow {

std::string_view name_of(Class kind);  // "new", "beyond-gap", ...
std::string_view name_of(Cause cause); // "", "sequence-nak", ...

// How the tracker knows which two QPs belong together.
enum class Pairing : std::uint8_t {
    None,     // only one of the two was seen
    Inferred, // by PSNs
    Known,    // from CM or introduce()
};

// The negotiated values that are known.
struct Attributes {
    std::optional<wire::Mtu> mtu;
    std::optional<wire::Psn> first_psn; // of this end's requests
    // READs and atomics that this end may have outstanding.
    std::optional<std::uint32_t> max_rd_atomic;
    std::optional<std::uint8_t> timeout; // its local ACK timeout code
    std::optional<wire::Pkey> pkey;      // by CM
    bool stays_open = false;             // the QP is known not to end before the capture does
};

// One end of a connection. Its QP number is the destination QP of the packets sent to it.
struct End {
    wire::IpAddress address;
    std::optional<wire::Qpn> qpn;
    Attributes attributes;
    Stream stream; // the requests that this end sends
};

struct Connection {
    std::uint64_t id = 0; // counted from 1, never reused
    Pairing pairing = Pairing::None;
    wire::Service service = wire::Service::Rc;
    bool service_known = false;
    bool closed = false;                     // by CM
    std::optional<std::uint64_t> service_id; // that its CM request asked for
    std::uint32_t matches = 0; // responses to PSNs that were requested and not answered yet
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    std::uint64_t unpaired_responses = 0;
    std::uint32_t hosts = 0; // internal: the tracker's index of the two addresses
    std::array<End, 2> ends;
};

enum class Role : std::uint8_t { None, Requester, Responder };

struct Classified {
    std::optional<std::uint32_t> connection; // index for Tracker::connection
    std::uint8_t from = 0;                   // the end that sent it
    Role role = Role::None;                  // the sender's role
    Class kind = Class::Outside;
    Cause cause = Cause::None;
    std::uint64_t message = 0;    // its ordinal in the requester's stream; 0: none
    std::uint32_t skipped = 0;    // PSNs missing before it
    bool skipped_at_most = false; // a READ of unknown length may have taken some of them
    bool damaged_skipped = false; // one of them came with a wrong ICRC
    bool before_first = false;    // behind the first PSN seen: sent before it, or late
    bool changed = false;         // a retransmitted request with different content (never a READ)
    std::optional<wire::Instant> previous;  // when this PSN was last sent
    std::optional<wire::Instant> overtaken; // it fills a gap: when the packet behind was first sent
    std::uint64_t previous_number = 0;      // the packet that last carried it; 0: not seen
    // The index of a connection that this packet showed to be the other direction of its own, and
    // that it has become. The index is free now.
    std::optional<std::uint32_t> absorbed;
    // Whether the sender retransmitted this request, if that is certain. `kind` in contrast is
    // inferred from times and causes.
    std::optional<bool> sent_again;

    // The end whose requests the packet belongs to: the requester.
    [[nodiscard]] std::uint8_t asking() const {
        return role == Role::Responder ? static_cast<std::uint8_t>(1 - from) : from;
    }
};

struct Limits {
    // A connection takes two places until its QPs are paired.
    std::uint32_t connections = 2 * 65'536;
    std::size_t extents = 2'000'000; // of all histories together, about 140 bytes each
};
inline constexpr std::size_t kMostConnectRequests = 256; // of CM, without an answer

// The most that a tracker has ever needed of what is limited.
struct Need {
    std::size_t connections = 0;
    std::size_t extents = 0;
    std::size_t connect_requests = 0;

    // Of several trackers that divide the packets: at least what one would need for all.
    void add(const Need& other) {
        connections += other.connections;
        extents += other.extents;
        connect_requests += other.connect_requests;
    }
    // If so, a tracker with these limits forgets nothing.
    [[nodiscard]] bool within(const Limits& limits) const {
        return connections <= limits.connections && extents <= limits.extents &&
               connect_requests <= kMostConnectRequests;
    }
};

// What is known about an end before its first packet.
struct Introduction {
    wire::IpAddress address;
    wire::Qpn qpn;
    Attributes attributes;
    // The type of the QPs, if it is known: they drop packets of other services (BTH-05).
    std::optional<wire::Service> service = {};
};

class Tracker {
  public:
    explicit Tracker(Limits limits = {});
    Tracker(Tracker&&) = default;
    Tracker& operator=(Tracker&&) = delete; // the arena goes after what lies in it
    Tracker(const Tracker&) = delete;
    Tracker& operator=(const Tracker&) = delete;
    ~Tracker() = default;

    Classified feed(const Packet& packet);
    // With thousands of connections, each one is a cache miss. Callers that have several packets
    // available take these three prefetch steps for all of them before feeding them. The steps
    // change no state.
    struct Ahead {
        std::uint32_t connection = 0;
        std::uint8_t asking = 0; // the end whose requests the packet belongs to
    };
    void fetch_path(const Packet& packet) const;
    // Empty if the connection is not known yet.
    std::optional<Ahead> fetch_connection(const Packet& packet) const;
    void fetch_history(const Packet& packet, const Ahead& ahead) const;
    // Declares that the two ends form a connection. An older connection of either QP is forgotten.
    void introduce(const Introduction& first, const Introduction& second);

    // The reference is valid as long as the connection exists.
    [[nodiscard]] const Connection& connection(std::uint32_t index) const {
        return connections_[index];
    }
    // The connections in use, in no particular order.
    [[nodiscard]] std::vector<std::uint32_t> connections() const;
    // Messages that the last packet completed.
    [[nodiscard]] const std::vector<Message>& finished() const { return finished_; }
    // The requests that the last packet is about; empty unless it was a response.
    [[nodiscard]] const Answered& answered() const { return answered_; }
    [[nodiscard]] std::uint64_t evicted() const { return evicted_; }
    [[nodiscard]] std::uint64_t packets() const { return packets_; }
    // Responses between the two addresses of this connection whose connection was not known.
    [[nodiscard]] std::uint64_t unpaired_beside(std::uint32_t index) const {
        return hosts_[connections_[index].hosts].unpaired_responses;
    }
    // Whether something was forgotten or not kept because of a limit of memory. If not, what is
    // said of a connection does not depend on packets between other addresses.
    [[nodiscard]] bool limited() const {
        return evicted_ > 0 || budget_.refused || connect_request_overwritten_;
    }
    [[nodiscard]] Need need() const {
        return {.connections = connections_.size(),
                .extents = limits_.extents - budget_.extents_least,
                .connect_requests = most_connect_requests_};
    }

  private:
    struct Asked { // a request from an unpaired QP
        wire::Psn psn;
        std::uint32_t connection = 0;
        std::uint64_t id = 0;
        bool from_low = false; // the address that comes first asks
        bool ambiguous = false;
    };
    // Two addresses with connections between them. What pairs their QPs depends on no others, so
    // that packets can be divided by addresses.
    struct Hosts {
        Path key; // without a QP number
        std::uint32_t connections = 0;
        std::uint64_t unpaired_responses = 0;
        std::vector<Asked> asked; // by the low bits of the PSN; empty until something was asked
    };

    std::uint32_t path(const Packet& packet);
    [[nodiscard]] bool of_another_service(const Packet& packet) const;
    void of_known_path(const Packet& packet, Classified& seen) const;
    std::uint32_t fresh(std::uint64_t number, std::uint32_t hosts);
    static Path hosts_key(const wire::IpAddress& one, const wire::IpAddress& other);
    std::uint32_t hosts_between(const wire::IpAddress& one, const wire::IpAddress& other);
    void leave(std::uint32_t hosts);
    void evict_oldest();
    void drop(std::uint32_t index);
    void touch(std::uint32_t index, std::uint64_t number);
    void unlink(std::uint32_t index);
    void link_newest(std::uint32_t index);
    Classified request(const Packet& packet, std::uint32_t index, Classified seen);
    Classified response(const Packet& packet, std::uint32_t index, Classified seen);
    static void widen_asked(Hosts& hosts);
    void remember_request(const Packet& packet, std::uint32_t index);
    std::optional<std::uint32_t> asker_of(const Packet& packet) const;
    void give_partner(std::uint32_t index, wire::Qpn qpn);
    bool pair(const Packet& packet, std::uint32_t index, Classified& seen);
    bool rivalled(const Packet& packet, std::uint32_t index) const;
    void merge(std::uint32_t into, std::uint32_t from);
    void fetch_asked(const Packet& packet, const Connection& connection) const;
    [[nodiscard]] static bool from_low(const Packet& packet);
    // The latest request with the PSN of this one, or that this response answers; null if there is
    // none from an unpaired QP.
    [[nodiscard]] const Asked* asked_by(const Packet& packet, const Hosts& hosts) const;
    void connection_message(const Packet& packet);
    void remember(const ConnectRequest& request);
    // The new connection's index.
    std::uint32_t introduce(const Introduction& first, const Introduction& second,
                            std::uint64_t number);
    void put_path(std::uint32_t index, std::uint8_t to);

    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    Limits limits_;
    std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();
    Budget budget_;
    std::pmr::deque<Connection> connections_{arena_->for_ever()};
    struct Link {
        std::uint32_t older = kNone;
        std::uint32_t newer = kNone;
    };
    std::vector<Link> links_; // a list from the least to the most recently used
    std::uint32_t oldest_ = kNone;
    std::uint32_t newest_ = kNone;
    std::vector<std::uint32_t> free_;
    bool services_known_ = false; // of some connection
    Table<Path> paths_;           // to the connection; the value's low bit is the receiving end
    std::deque<Hosts> hosts_;
    std::vector<std::uint32_t> free_hosts_;
    Table<Path> hosts_by_addresses_;
    std::vector<ConnectRequest> connect_requests_; // unanswered; the oldest first
    std::size_t most_connect_requests_ = 0;
    bool connect_request_overwritten_ = false;
    std::vector<Message> finished_;
    Answered answered_;
    std::uint64_t last_id_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t packets_ = 0;
};

} // namespace veriroce::flow
