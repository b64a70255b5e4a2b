// A stream: the requests that one end of a connection sends, and the answers to them. It keeps the
// history that everything else is read from: which PSNs were seen, what stood at each, which
// messages they make up, what was acknowledged, and where gaps are.
//
// The history is a list of extents in the order of PSNs without holes: a request packet (a READ
// spans the PSNs of its responses, N-36), or a run of PSNs that was not seen. It is bounded; the
// oldest acknowledged extents go first.
//
// Source: rules RSP-01, RSP-08, RSP-09, REQ-01, REQ-08, ACK-03, RDR-02.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dissector/flow/packet.hpp"
#include "dissector/flow/ring.hpp"

namespace veriroce::flow {

// What a packet is in its stream.
enum class Class : std::uint8_t {
    New,            // a request that follows what was seen; a response that says something new
    BeyondGap,      // a new request, but PSNs before it were not seen
    Retransmission, // sent again, or sent at last after its first copy was lost
    Duplicate,      // a second copy for which its sender had no cause: the network made it;
                    // of responses: one that says again what was said
    Reordered,      // a request that fills a gap before anybody asked for it
    Unsolicited,    // a response to nothing that was seen
    Forgotten,      // older than the history, or far from it
    Damaged,        // no receiver takes it (wrong ICRC, unknown transport version): no effect
    Unpaired,       // a response whose connection is not known yet
    Outside,        // of no connection: UD, CNP, other services
};

// What made a sender send again, as far as packets show it.
enum class Cause : std::uint8_t { None, SequenceNak, RnrNak, Implied, Timeout };

// A time, or none, in eight bytes: of these there are millions.
class Moment {
  public:
    Moment() = default;
    Moment(std::optional<wire::Instant> time) : time_(time.value_or(kNone)) {}
    operator std::optional<wire::Instant>() const {
        if (time_ == kNone) return std::nullopt;
        return time_;
    }
    explicit operator bool() const { return time_ != kNone; }
    wire::Instant operator*() const { return time_; }

  private:
    static constexpr wire::Instant kNone = wire::Instant::min();
    wire::Instant time_ = kNone;
};

struct Extent {
    wire::Psn psn;
    std::uint32_t span = 1;   // PSNs
    std::uint32_t rkey = 0;   // of the RETH
    std::uint32_t length = 0; // likewise
    std::uint16_t payload_bytes = 0;
    std::uint16_t copies = 0; // times seen; 65,535: so often or more
    std::uint8_t opcode = 0;
    // Not seen; of what else is here only `psn`, `span` and the sums count.
    bool missing : 1 = false;
    bool span_known : 1 = true; // false: a READ of several packets before the path MTU is known
    bool ack_request : 1 = false;
    bool lost_by_capture : 1 = false; // missing, but acknowledged
    bool damaged : 1 = false;         // missing, but a copy with a wrong ICRC was seen
    std::uint64_t virtual_address = 0;
    std::uint64_t digest = 0;  // of headers and payload; 0: not known
    std::uint64_t message = 0; // its ordinal
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    Moment first_time;
    Moment last_time;
    // Sums from the stream's first packet through this extent.
    std::uint64_t ends = 0;   // messages that ended
    std::uint64_t unseen = 0; // PSNs at which a message may have ended unseen

    [[nodiscard]] const wire::OpcodeInfo& info() const { return wire::opcode_info(opcode); }
    [[nodiscard]] wire::Psn last_psn() const { return psn + (span - 1); }
    [[nodiscard]] bool read() const {
        return !missing && info().operation == wire::Operation::RdmaReadRequest;
    }
    [[nodiscard]] bool atomic() const {
        return !missing && info().headers.has(wire::Header::AtomicEth);
    }
    [[nodiscard]] bool asks_for_data() const { return read() || atomic(); }
};

struct Message {
    std::uint64_t ordinal = 0; // counted from 1 in its stream, in the order of their first packets
    wire::Psn first;
    wire::Psn last;
    std::uint8_t opcode = 0; // of the first packet that was seen
    bool begun = false;      // its first packet was seen
    bool ended = false;      // its last packet was seen
    bool answered = false;
    std::uint32_t retransmissions = 0;
    wire::Psn next_response;          // of a READ
    std::uint32_t lost_responses = 0; // PSNs that were skipped by the responses so far
    std::uint64_t bytes = 0;          // payload; of a READ what it asks for
    std::uint64_t start_number = 0;
    std::uint64_t answer_number = 0;
    Moment start;
    Moment answer;

    [[nodiscard]] const wire::OpcodeInfo& info() const { return wire::opcode_info(opcode); }
    // From the first packet to the answer that completes it: ACK, last READ response, atomic ACK.
    [[nodiscard]] std::optional<wire::Duration> latency() const {
        if (!start || !answer) return std::nullopt;
        return *answer - *start;
    }
};

// A lower and an upper bound of a count.
struct Bounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

struct Counters {
    std::uint64_t requests = 0; // packets, damaged ones not counted
    std::uint64_t responses = 0;
    std::uint64_t messages = 0; // answered
    std::uint64_t bytes = 0;    // of answered messages
    std::uint64_t retransmissions = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t repeated = 0; // packets whose PSN had been seen before, for whatever cause
    std::uint64_t reordered = 0;
    std::uint64_t gaps = 0;            // times that PSNs were skipped
    std::uint64_t lost_in_network = 0; // PSNs that were skipped and sent later
    std::uint64_t lost_by_capture = 0; // PSNs that were acknowledged and never seen
    std::uint64_t sequence_naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t fatal_naks = 0;
    std::uint64_t forgotten = 0; // packets older than the history
};

// How much history all streams together may hold.
struct Budget {
    std::size_t extents_left = 0;
};

struct StreamResult {
    Class kind = Class::Forgotten;
    Cause cause = Cause::None;
    std::uint64_t message = 0; // its ordinal; 0: none
    std::uint32_t skipped = 0; // PSNs that were not seen before this packet
    bool inside_read = false;  // a READ that begins within another one's PSNs
    bool changed = false;      // sent again, but not as it was: opcode, headers or payload differ
    std::optional<wire::Instant> previous; // when this PSN was sent before
};

inline constexpr std::size_t kMaxHistory = 4096; // extents of a stream
inline constexpr std::size_t kUsualHistory = 64; // kept although acknowledged
inline constexpr std::int32_t kMaxGap = 65'536;  // farther PSNs belong to another connection
inline constexpr std::uint32_t kWideGap = 1024;  // and beyond this they may

class Stream {
  public:
    // Before a request with this PSN nothing was sent.
    void begin_at(wire::Psn psn);
    void set_mtu(wire::Mtu mtu);

    // `restartable`: the QP may have begun a new life unseen, with other PSNs.
    StreamResult request(const Packet& packet, Budget& budget, bool restartable);
    // A response to this stream's requests; messages that it completes are appended.
    StreamResult response(const Packet& packet, std::vector<Message>& finished);
    // A packet whose ICRC is wrong stood, by what it says, at this PSN.
    void damaged(const Packet& packet);

    [[nodiscard]] bool started() const { return started_; }
    [[nodiscard]] wire::Psn begin() const { return begin_; }
    [[nodiscard]] bool begin_known() const { return begin_known_; }
    // The first PSN that was not sent, as far as was seen.
    [[nodiscard]] wire::Psn next() const { return next_; }
    // The first PSN that was not acknowledged.
    [[nodiscard]] wire::Psn unacknowledged() const { return unacknowledged_; }
    [[nodiscard]] std::optional<wire::Mtu> mtu() const { return mtu_; }
    [[nodiscard]] const Ring<Extent>& extents() const { return extents_; }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    // Where an unseen new life of the QP would explain what does not fit.
    [[nodiscard]] bool maybe_restarted() const {
        return stray_.has_value() || repeated_begin_ || unnatural_;
    }

    // Rises when the sums of messages begin anew: at a restart, or when the beginning moves.
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    [[nodiscard]] std::optional<std::size_t> index_of(wire::Psn psn) const;
    // The last of the first `end` extents that is one: a READ (&Extent::read), for example.
    template <typename Is>
    [[nodiscard]] std::optional<std::size_t> last_before(std::size_t end, Is is) const {
        for (std::size_t i = end; i-- > 0;) {
            if (std::invoke(is, extents_[i])) return i;
        }
        return std::nullopt;
    }
    [[nodiscard]] std::optional<std::size_t> message_index(std::uint64_t ordinal) const;
    [[nodiscard]] const Message& message(std::size_t index) const { return messages_[index]; }
    // How many messages ended before this PSN, counted from the stream's first packet. Nothing if
    // that is beyond the history.
    [[nodiscard]] std::optional<Bounds> ended_before(wire::Psn psn) const;

    // Two steps of fetching what the next packet will be held against.
    void fetch() const {
        wire::fetch(this, &counters_.retransmissions); // what few packets need stands behind
    }
    void fetch_end() const {
        extents_.fetch_ends();
        messages_.fetch_ends();
    }

    // Gives its memory back.
    void release(Budget& budget);

  private:
    struct Run { // of packets sent again, one after the other
        wire::Psn first;
        wire::Psn next;
        std::uint64_t first_number = 0;
        Cause cause = Cause::None;
    };
    struct Asked { // a NAK, or what amounts to one
        wire::Psn psn;
        Cause cause = Cause::None;
    };

    StreamResult append(const Packet& packet, Budget& budget);
    StreamResult fill(const Packet& packet, std::size_t index, Budget& budget);
    StreamResult again(const Packet& packet, std::size_t index);
    StreamResult far(const Packet& packet, Budget& budget, bool restartable);
    void restart(wire::Psn psn);
    Cause cause_of(const Packet& packet, const Extent& extent) const;
    void run_on(const Packet& packet, wire::Psn next, Cause cause);
    bool room(std::size_t wanted, Budget& budget);
    void forget_oldest();
    bool earlier(wire::Psn psn, Budget& budget);
    void add_back(Extent extent, Budget& budget);
    Extent extent_of(const Packet& packet) const;
    std::uint64_t join_message(const Packet& packet, Extent& extent, std::size_t index);
    std::uint64_t new_message(const Packet& packet, const Extent& extent);
    void extend_message(std::uint64_t ordinal, const Packet& packet, const Extent& extent);
    void merge_messages(std::uint64_t into, std::uint64_t from, std::size_t index);
    void add_up(std::size_t from);
    void learn_mtu_of(const Packet& packet);
    void guess_span_by_next(wire::Psn psn);
    void acknowledge_before(wire::Psn psn, const Packet& packet, std::vector<Message>& finished);
    bool read_response(const Packet& packet, std::size_t index, std::vector<Message>& finished);
    void finish(Message& message, const Packet& packet, std::vector<Message>& finished);

    // First what every packet needs: of streams there are many, far off in memory.
    bool started_ = false;
    bool begin_known_ = false;
    bool any_answer_ = false;
    bool repeated_begin_ = false;
    bool unnatural_ = false;          // a request went on as none of its connection would
    bool complete_from_begin_ = true; // nothing went from the history yet
    std::uint32_t generation_ = 0;
    wire::Psn begin_;
    wire::Psn next_;
    wire::Psn unacknowledged_;
    std::optional<wire::Mtu> mtu_;
    Ring<Extent> extents_;
    Ring<Message> messages_;
    std::uint64_t last_ordinal_ = 0;
    Moment last_time_;               // of any packet of the stream
    Asked asked_;                    // the latest, until an acknowledgement goes past it
    std::optional<wire::Psn> stray_; // what would follow a packet that lay far off
    Counters counters_;
    std::optional<Run> run_;
    Bounds forgotten_sums_; // `ends` and `unseen` of what went from the history
};

} // namespace veriroce::flow
