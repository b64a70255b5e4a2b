// A stream: the requests that one end of a connection sends, and the responses to them. It keeps
// the history that everything else is derived from: which PSNs were seen, which packet used each,
// which messages they form, what was acknowledged, and where the gaps are.
//
// The history is a list of extents in PSN order without holes. An extent is a request packet (a
// READ spans the PSNs of its responses, N-36) or a run of PSNs that were not seen. The history is
// bounded: the oldest acknowledged extents are evicted first.
//
// Source: rules RSP-01, RSP-08, RSP-09, REQ-01, REQ-08, ACK-03, RDR-02.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <vector>

#include "dissector/flow/packet.hpp"
#include "dissector/flow/ring.hpp"

namespace veriroce::flow {

// The classification of a packet within its stream.
enum class Class : std::uint8_t {
    New,            // a request that follows the history; a response with new information
    BeyondGap,      // a new request, but PSNs before it were not seen
    Retransmission, // sent again, or first seen after its first copy was lost
    Duplicate,   // a copy that the sender had no cause to send (the network made it), or a repeated
                 // response
    Reordered,   // a request that fills a gap before anything asked for it
    Unsolicited, // a response that answers no request seen
    Forgotten,   // before the history, or far away from it
    Damaged,     // every receiver drops it (wrong ICRC, unknown transport version)
    Unpaired,    // a response whose connection is not known yet
    Outside,     // part of no connection: UD, CNP, other services
};

// Why a sender retransmitted, as far as the packets show it.
enum class Cause : std::uint8_t { None, SequenceNak, RnrNak, Implied, Timeout };

// An optional time in eight bytes; there are millions of them.
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
    std::uint32_t length = 0; // of the RETH
    std::uint16_t payload_bytes = 0;
    std::uint16_t copies = 0; // times seen, saturating at 65,535
    std::uint8_t opcode = 0;
    // Not seen; then only `psn`, `span` and the sums are valid.
    bool missing : 1 = false;
    bool span_known : 1 = true; // false: a READ of several packets, path MTU still unknown
    bool ack_request : 1 = false;
    bool lost_by_capture : 1 = false; // missing, but acknowledged
    bool damaged : 1 = false;         // missing, but a copy with a wrong ICRC was seen
    std::uint64_t virtual_address = 0;
    std::uint64_t digest = 0;  // of headers and payload; 0: unknown
    std::uint64_t message = 0; // ordinal of its message
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    Moment first_time;
    Moment last_time;
    // Sums from the beginning of the stream up to and including this extent:
    std::uint64_t ends = 0;   // messages that ended
    std::uint64_t unseen = 0; // PSNs not seen at which a message may have ended

    [[nodiscard]] const wire::OpcodeInfo& info() const { return wire::opcode_info(opcode); }
    [[nodiscard]] wire::Psn last_psn() const { return psn + (span - 1); }
    [[nodiscard]] bool read() const {
        return !missing && info().operation == wire::Operation::RdmaReadRequest;
    }
    [[nodiscard]] bool atomic() const {
        return !missing && info().headers.has(wire::Header::AtomicEth);
    }
    [[nodiscard]] bool asks_for_data() const { return read() || atomic(); }
    [[nodiscard]] bool invalidates() const { return !missing && info().invalidates(); }
};

struct Message {
    std::uint64_t ordinal = 0; // counted from 1 within the stream, in the order of first packets
    wire::Psn first;
    wire::Psn last;
    std::uint8_t opcode = 0; // of the first packet seen
    bool begun = false;      // its first packet was seen
    bool ended = false;      // its last packet was seen
    bool answered = false;
    std::uint32_t retransmissions = 0;
    wire::Psn next_response;          // of a READ
    std::uint32_t lost_responses = 0; // PSNs that the responses have skipped so far
    // A READ that is sent again, from `retried_from` on, is answered again from there. Until the
    // responses go back to it, they may still be those of an earlier copy.
    wire::Psn last_response;
    wire::Psn retried_from;
    bool any_response = false;
    bool retried = false;        // and the responses did not go back yet
    bool response_holes = false; // since they did
    std::uint64_t bytes = 0;     // payload; for a READ the requested length
    std::uint64_t start_number = 0;
    std::uint64_t answer_number = 0;
    Moment start;
    Moment answer;

    [[nodiscard]] const wire::OpcodeInfo& info() const { return wire::opcode_info(opcode); }
    // From the first packet to the response that completes the message: ACK, last READ response or
    // atomic ACK.
    [[nodiscard]] std::optional<wire::Duration> latency() const {
        if (!start || !answer) return std::nullopt;
        return *answer - *start;
    }
};

// Lower and upper bound of a count.
struct Bounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

struct Counters {
    std::uint64_t requests = 0; // packets, without damaged ones
    std::uint64_t responses = 0;
    std::uint64_t messages = 0; // completed
    std::uint64_t bytes = 0;    // of completed messages
    std::uint64_t retransmissions = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t repeated = 0; // packets with a PSN that had been seen before, for any cause
    std::uint64_t reordered = 0;
    std::uint64_t gaps = 0;            // times that PSNs were skipped
    std::uint64_t lost_in_network = 0; // PSNs skipped first and seen later
    std::uint64_t lost_by_capture = 0; // PSNs acknowledged but never seen
    std::uint64_t sequence_naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t fatal_naks = 0;
    std::uint64_t forgotten = 0; // packets before the history
};

// How much history all streams together may still allocate.
struct Budget {
    std::size_t extents_left = 0;
    std::size_t extents_least = extents_left; // that were ever left
    bool refused = false;                     // a stream needed more than was left
    std::pmr::memory_resource* memory = std::pmr::get_default_resource(); // of the histories

    void take(std::size_t extents) {
        extents_left -= extents;
        if (extents_left < extents_least) extents_least = extents_left;
    }
};

struct StreamResult {
    Class kind = Class::Forgotten;
    Cause cause = Cause::None;
    std::uint64_t message = 0;             // ordinal of the packet's message; 0: none
    std::uint32_t skipped = 0;             // PSNs missing before this packet
    bool skipped_at_most = false;          // a READ of unknown length may have taken some of them
    bool before_first = false;             // behind the first PSN seen: sent before it, or late
    bool damaged_skipped = false;          // one of the skipped came with a wrong ICRC
    bool inside_read = false;              // a READ that begins within the PSNs of another READ
    bool changed = false;                  // sent again with a different opcode, headers or payload
    std::optional<wire::Instant> previous; // when this PSN was last sent
    // Of a packet that fills a gap: when the packet behind the gap was first sent.
    std::optional<wire::Instant> overtaken;
    std::uint64_t previous_number = 0; // the packet that last carried this PSN; 0: not seen
};

// What a READ response is among the responses to its READ.
enum class ReadAnswer : std::uint8_t {
    None,     // no READ response, or one to a READ that is forgotten
    Next,     // behind the ones before
    OfCopies, // the same; the READ was sent again meanwhile, so it answers that copy or an earlier
              // one
    Repeated,
    Late, // or repeated: a gap was left where it belongs
};

// The requests that a response is about, by packet number; 0: none that was seen. Of a request
// that was seen several times, the number is that of the latest copy.
struct Answered {
    std::uint64_t request = 0; // the one whose PSN the response carries
    bool sent_once = false;    // that request was seen once
    Moment asked;              // when it was sent
    // The smallest and largest number of the requests that it is the first to acknowledge, without
    // READs, atomics and others that are answered with data.
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint32_t unseen = 0;  // PSNs that it is the first to acknowledge and no packet carried
    std::uint32_t skipped = 0; // PSNs of the READ's responses missing before this one
    ReadAnswer read = ReadAnswer::None;
    bool damaged = false;         // its request came with a wrong ICRC
    std::uint64_t unanswered = 0; // a READ or atomic that it passes over
};

inline constexpr std::size_t kMaxHistory = 4096; // extents per stream
// Acknowledged extents kept in normal operation.
inline constexpr std::size_t kAcknowledgedHistory = 64;
inline constexpr std::int32_t kMaxGap = 65'536; // PSNs farther ahead belong to another connection
// PSNs farther ahead than this may belong to another connection.
inline constexpr std::uint32_t kWideGap = 1024;

class Stream {
  public:
    // Declares that nothing was sent before this PSN.
    void begin_at(wire::Psn psn);
    void set_mtu(wire::Mtu mtu);

    // `restartable`: the QP may have been reconnected, with different PSNs, without the capture
    // showing it.
    StreamResult request(const Packet& packet, Budget& budget, bool restartable);
    // A response to this stream's requests. Messages that it completes are appended to `finished`;
    // `answered` is a new one.
    StreamResult response(const Packet& packet, std::vector<Message>& finished, Answered& answered);
    // Notes a packet with a wrong ICRC at the PSN that it claims.
    void damaged(const Packet& packet);
    // Whether such a packet came behind all others.
    [[nodiscard]] bool damaged_ahead(wire::Psn psn) const;

    [[nodiscard]] bool started() const { return started_; }
    [[nodiscard]] wire::Psn begin() const { return begin_; }
    [[nodiscard]] bool begin_known() const { return begin_known_; }
    // The PSN after the last one seen.
    [[nodiscard]] wire::Psn next() const { return next_; }
    // The first PSN that has not been acknowledged.
    [[nodiscard]] wire::Psn unacknowledged() const { return unacknowledged_; }
    [[nodiscard]] std::optional<wire::Mtu> mtu() const { return mtu_; }
    [[nodiscard]] const Ring<Extent>& extents() const { return extents_; }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    // Whether an unseen reconnection of the QP would explain packets that do not fit.
    [[nodiscard]] bool maybe_restarted() const {
        return stray_.has_value() || repeated_begin_ || inconsistent_;
    }

    // Incremented when the message sums start again: at a restart, or when the beginning moves.
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    [[nodiscard]] std::optional<std::size_t> index_of(wire::Psn psn) const;
    // The last of the first `end` extents that satisfies `is`, for example a READ (&Extent::read).
    template <typename Is>
    [[nodiscard]] std::optional<std::size_t> last_before(std::size_t end, Is is) const {
        for (std::size_t i = end; i-- > 0;) {
            if (std::invoke(is, extents_[i])) return i;
        }
        return std::nullopt;
    }
    [[nodiscard]] std::optional<std::size_t> message_index(std::uint64_t ordinal) const;
    [[nodiscard]] const Message& message(std::size_t index) const { return messages_[index]; }
    // How many messages ended before this PSN, counted from the beginning of the stream. Empty if
    // the history does not reach that far.
    [[nodiscard]] std::optional<Bounds> ended_before(wire::Psn psn) const;

    // Prefetches, in two steps, what the next packet is compared with.
    void fetch() const {
        wire::fetch(this, &counters_.retransmissions); // rarely needed members come after these
    }
    void fetch_end() const {
        extents_.fetch_ends();
        messages_.fetch_ends();
    }

    // Releases its memory.
    void release(Budget& budget);

  private:
    struct Run { // of consecutive retransmissions
        wire::Psn first;
        wire::Psn next;
        std::uint64_t first_number = 0;
        Cause cause = Cause::None;
    };
    struct Asked { // a NAK, or a response that implies one
        wire::Psn psn;
        Cause cause = Cause::None;
    };

    StreamResult append(const Packet& packet, Budget& budget);
    void add_gap(wire::Psn end, Budget& budget);
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
    std::uint64_t join_message(const Packet& packet, Extent& extent, std::size_t index,
                               Budget& budget);
    std::uint64_t new_message(const Packet& packet, const Extent& extent, Budget& budget);
    void extend_message(std::uint64_t ordinal, const Packet& packet, const Extent& extent);
    void merge_messages(std::uint64_t into, std::uint64_t from, std::size_t index);
    void add_up(std::size_t from);
    void learn_mtu_of(const Packet& packet);
    void guess_span_by_next(wire::Psn psn);
    void acknowledge_before(wire::Psn psn, const Packet& packet, std::vector<Message>& finished,
                            Answered& answered);
    bool read_response(const Packet& packet, std::size_t index, std::vector<Message>& finished,
                       Answered& answered);
    static ReadAnswer read_answer(Message& message, wire::Psn psn, std::uint32_t& skipped);
    void finish(Message& message, const Packet& packet, std::vector<Message>& finished);

    // Members that every packet needs come first: there are many streams, each a cache miss.
    bool started_ = false;
    bool begin_known_ = false;
    bool any_answer_ = false;
    bool repeated_begin_ = false;
    bool inconsistent_ = false;       // a request did not continue as its connection should
    bool complete_from_begin_ = true; // nothing was evicted from the history yet
    std::uint32_t generation_ = 0;
    wire::Psn begin_;
    wire::Psn first_seen_; // unless `begin_known_`
    wire::Psn next_;
    wire::Psn unacknowledged_;
    std::optional<wire::Mtu> mtu_;
    Ring<Extent> extents_;
    Ring<Message> messages_;
    std::uint64_t last_ordinal_ = 0;
    Moment last_time_;               // of the stream's last packet
    Asked asked_;                    // the latest, until an acknowledgement passes it
    std::optional<wire::Psn> stray_; // the PSN that would continue an out-of-range packet
    Counters counters_;
    std::optional<Run> run_;
    Bounds forgotten_sums_; // `ends` and `unseen` of the evicted history
    // PSNs that came with a wrong ICRC, where the next gap will be.
    std::array<wire::Psn, 4> damaged_ahead_;
    std::uint8_t damaged_ahead_count_ = 0;
};

} // namespace veriroce::flow
