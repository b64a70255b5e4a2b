// What each rule is given: the packet, what the tracker says of it, what the judge remembers of its
// stream, and where to report. Internal to this room.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "conformance/judge/arrivals.hpp"
#include "conformance/judge/judge.hpp"
#include "conformance/judge/lazy_storage.hpp"
#include "conformance/judge/phrase.hpp"

namespace veriroce::judge {

// A NAK.
struct Refusal {
    wire::Psn psn;
    std::uint64_t number = 0;
    flow::Moment time;
    std::uint8_t code = 0; // of RNR
    bool resent = false;   // the request was sent again since
    bool waits = true;     // of RNR: the requester must wait it out
};

// An answer, NAK or retransmission that a device still has to send, and since when.
struct Pending {
    wire::Psn psn;
    std::uint64_t number = 0;
    wire::Instant since;
};

// Requests that ask for an answer and have none.
struct Unanswered {
    Pending oldest; // waits since it was sent, or since the responder said something else
    Pending latest; // by its PSN
    std::uint64_t packets = 0;
};

// One that did not come in time.
struct Overdue {
    std::string_view rule;
    wire::Psn psn;
    std::uint64_t number = 0;
};

// What is remembered of a stream besides where the port of an end of it was recorded: only there it
// is known what came to it, and when.
struct AtPort {
    // What the responder still has to send, where its own port was recorded.
    std::optional<Pending> answer_due; // to a request that asks for an answer
    std::optional<Pending> nak_due;    // for the first PSN that is missing
    std::optional<Pending> repeat_due; // to a duplicate that came too often
    bool nak_due_wraps = false;        // between that and what came ahead of it the PSNs begin anew
    std::optional<Overdue> overdue_nak;
    std::optional<Overdue> overdue_answer;
    std::optional<Overdue> overdue_repeat;
    // What the requester was told, where its own port was recorded.
    std::optional<Refusal> resume;          // the sequence NAK that it has not acted upon yet
    std::optional<wire::Instant> told;      // a response came
    std::optional<wire::Psn> answered_late; // a READ or atomic, by what had been overtaken
    std::optional<Pending> unanswered;      // a READ or atomic that responses went past
    std::optional<Pending> timer;           // since when the latest request may wait for an answer
    bool sent_again = false;                // something was, since anything new was acknowledged
    bool hole = false;                      // some of its responses came
    // A duplicate that asks for an answer, how often it came since anything was answered.
    wire::Psn repeated_psn;
    std::uint32_t repeated_unanswered = 0;
    std::uint64_t nak_done = 0; // the latest PSN that needs no NAK any more, plus 1

    // What has come to the responder, where its own port was recorded.
    Arrivals arrivals;
    bool arrivals_begun = false;
    Arrivals::Effect arrived; // of the packet at hand
    // The latest packet that must have no effect on it, of either kind, and its latest word.
    std::uint64_t damaged_number = 0;
    std::uint64_t cnp_number = 0;
    std::uint64_t said_number = 0;
};

// What the judge remembers of a stream: the requests of one end, and the answers to them.
struct Notes {
    std::uint64_t connection = 0; // whose these are
    std::uint32_t generation = 0; // of the stream

    // Of all packets on this stream's path.
    std::optional<std::uint16_t> source_port;
    std::uint64_t source_port_number = 0;
    std::optional<wire::Pkey> pkey;
    std::uint64_t pkey_number = 0;

    // MSN minus the messages that ended, as the responder counts: what all responses so far allow.
    struct Offset {
        std::int64_t low = 0;
        std::int64_t high = 0;
        std::uint64_t low_number = 0; // the packets that set the bounds
        std::uint64_t high_number = 0;
    };
    std::optional<Offset> msn; // relative to msn_base
    std::uint32_t msn_base = 0;
    bool begun = false;       // a request was seen
    bool low_is_sure = false; // no packet that the capture lacks would lower `msn->low`

    // The first PSN that no response has acknowledged, and the response that said so.
    std::optional<wire::Psn> acknowledged;
    std::uint64_t acknowledged_number = 0;

    LazyOptional<Refusal> sequence_nak; // the latest
    LazyOptional<Refusal> rnr_nak;      // until the request is sent again
    LazyOptional<Refusal> fatal_nak;
    std::uint64_t last_rnr_number = 0;
    bool duplicate_below_nak = false; // one may have reached the responder since the sequence NAK
    bool fatal_reported = false;
    bool in_resend = false; // the latest request was sent again
    // A packet was seen that the history does not hold and that may have been answered: far ahead
    // of the others, or of a reserved opcode (BTH-06).
    bool unfollowed = false;
    std::uint32_t open_reads = 0; // READs and atomics without their answer

    struct Repeat { // the latest request that was sent again, or came twice
        wire::Psn psn;
        std::uint64_t number = 0;
    };
    std::optional<Repeat> repeat;
    std::optional<wire::Psn> lowest_repeat; // since the latest sequence NAK

    std::optional<wire::Psn> next_read_response;
    std::uint64_t last_read_response = 0; // its number

    std::unique_ptr<AtPort> at_port; // where the port of the end in question was recorded

    // What few streams have.
    struct Piece { // of a READ that was asked for again
        wire::Psn first;
        wire::Psn last;
    };
    Latest<Piece, 8> pieces;
    struct Content { // of a READ response
        wire::Psn psn;
        std::uint64_t number = 0;
        std::uint64_t digest = 0;
    };
    Latest<Content, 64> contents; // where the memory behind them is at rest
    struct AtomicResult {
        wire::Psn psn;
        std::uint64_t original = 0;
        std::uint64_t number = 0;
    };
    Latest<AtomicResult, 8> atomics;
    struct Defect { // a request that must be refused
        wire::Psn psn;
        std::string_view rule;
        std::uint64_t number = 0;
    };
    static constexpr std::size_t kMaxDefects = 4;
    std::vector<Defect> defects; // of which no answer told anything yet
    std::optional<Unanswered> unanswered;
    flow::Moment said; // when the end whose requests these are sent something, data apart
};

// The latest request to a device that may have written to its memory.
struct Writes {
    std::uint64_t number = 0;
    std::uint64_t connection = 0;
    std::optional<wire::Instant> time;
};

// A REQ, REP or DREQ, which its sender may repeat (CM-01).
struct Repeatable {
    wire::IpAddress sender;
    wire::IpAddress receiver;
    flow::CmMessage message;
    std::uint32_t times = 0;
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    flow::Moment last; // when it was sent last
};

// A device that answers CE marks, and the mark that it has not answered yet.
struct Notifier {
    wire::IpAddress address;
    wire::Duration interval{0};
    std::optional<wire::Instant> notified; // its latest CNP
    struct Mark {
        std::uint64_t number = 0;
        std::uint64_t connection = 0;
        wire::Instant time;
    };
    std::optional<Mark> mark;
};

class ViolationLog;

// What a rule measured, and what it allows: short phrases.
struct Values {
    std::string measured;
    std::string allowed;
};

struct Context {
    const Assumptions& assumptions;
    const flow::Tracker& tracker;
    const flow::Packet& packet;
    const flow::Classified& seen;
    const flow::Connection* connection = nullptr; // null: of none
    Notes* notes = nullptr;                       // of the stream that the packet belongs to
    Notes* path = nullptr;                        // of the sender's own stream
    ViolationLog& log;
    std::optional<Writes> writes; // to the memory of the packet's sender

    [[nodiscard]] const flow::Stream& stream() const {
        return connection->ends[seen.asking()].stream;
    }
    [[nodiscard]] bool recorded_at(const wire::IpAddress& address) const;
    [[nodiscard]] bool out_of_order(const wire::IpAddress& address) const;
    // Makes room for what is remembered at a port.
    void open_port() const {
        if (!notes->at_port) notes->at_port = std::make_unique<AtPort>();
    }
    [[nodiscard]] bool response() const { return seen.role == flow::Role::Responder; }
    // The packet's sender broke the rule. The level is the rule's own unless this part of the rule
    // is weaker.
    void report(std::string_view rule, Excuses excuses, Evidence evidence, Values values,
                std::optional<rules::Level> level = std::nullopt) const;
    // This end broke it.
    void report_of(const flow::End& device, std::string_view rule, Excuses excuses,
                   Evidence evidence, Values values) const;

  private:
    void add(const wire::IpAddress& device, std::string_view rule, Excuses excuses,
             Evidence evidence, Values values, std::optional<rules::Level> level) const;
};

// Excuses for what one packet shows by itself; for whatever compares two packets of a connection;
// where a packet that was not seen would explain it; where one that was overtaken would, too.
inline constexpr Excuses kDamage{Excuse::Damage};
inline constexpr Excuses kConnectionExcuses{Excuse::NewLife, Excuse::WrongPair};
inline constexpr Excuses kUnseen{Excuse::CaptureLoss, Excuse::NewLife, Excuse::WrongPair};
inline constexpr Excuses kUnseenOrClosed{Excuse::CaptureLoss, Excuse::NewLife, Excuse::WrongPair,
                                         Excuse::Closed};
inline constexpr Excuses kUnseenOrOvertaken{Excuse::CaptureLoss, Excuse::NetworkOrder,
                                            Excuse::NewLife, Excuse::WrongPair};

// Whether the packet is a NAK or an RNR NAK.
inline bool refuses(const flow::Packet& packet) {
    return packet.transport.headers.has(wire::Header::Aeth) &&
           packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
}

// Whether a request with this PSN was seen before.
inline bool again(flow::Class kind) {
    return kind == flow::Class::Retransmission || kind == flow::Class::Duplicate;
}

// The groups. Each takes every packet for which it is meant, and reports.
void judge_frame(const decode::Dissection& frame,
                 const Context& context);  // what stands before the BTH
void judge_packet(const Context& context); // one packet by itself
// CM. `messages` are the latest that may be repeated.
void judge_management(const Context& context, std::deque<Repeatable>& messages);
void judge_path(const Context& context);        // what all packets of a QP have in common
void judge_request(const Context& context);     // the requester
void judge_read_retry(const Context& context);  // a READ that is asked for again
void judge_waiting(const Context& context);     // RNR and timeouts: before the request is noted
void note_defects(const Context& context);      // requests that must be refused
void judge_acceptance(const Context& context);  // whether such a request was accepted
void judge_acknowledge(const Context& context); // ACKs and NAKs
void judge_msn(const Context& context);
void judge_read_response(const Context& context);
void judge_atomic_response(const Context& context);
void judge_arrivals(const Context& context);      // what a responder expects
void note_without_effect(const Context& context); // a CNP, or a packet with a wrong ICRC
void judge_congestion(const Context& context, Notifier& notifier); // whether CE draws a CNP
void judge_recovery(const Context& context);                       // the requester, after a loss
void note_told(const Context& context);                            // what a response tells it
// What a responder has not answered: noted for each packet, judged after each and at the end.
void note_pending(const Context& context);
// What is known of the QP that has to answer: nothing, that it is alive, or that this is the end.
enum class Sign : std::uint8_t { None, Alive, Last };
void judge_silence(const Context& context, wire::Instant now, Sign sign);
void judge_timer(const Context& context, wire::Instant now, Sign sign);
// Requests without an answer: noted for each packet. Judged at the end for each stream that has
// some, as if its responder sent the packet; `responder` is what is remembered of its own requests.
void note_unanswered(const Context& context);
void judge_unanswered(const Context& context, const Notes& responder, wire::Instant end);

} // namespace veriroce::judge
