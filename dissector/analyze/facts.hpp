// What an analysis says: plain values, counted by Analyzer and written by the renderers.
//
// A direction is the requests of one end and the responses to them. Times are those of the capture
// point; sizes are bytes. A packet is named by its number in the capture.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dissector/analyze/histogram.hpp"
#include "dissector/analyze/time_series.hpp"
#include "dissector/analyze/trace.hpp"
#include "dissector/flow/tracker.hpp"

namespace veriroce::analyze {

// What a message does, whatever its opcodes.
enum class MessageKind : std::uint8_t {
    Send,
    Write,
    Read,
    CompareSwap,
    FetchAdd,
    Flush,
    AtomicWrite,
    Other,
};
inline constexpr std::size_t kMessageKinds = 8;
MessageKind kind_of(wire::Operation operation);
std::string_view name_of(MessageKind kind); // "SEND", "READ", ...

struct MessageCounts {
    std::uint64_t messages = 0; // completed
    std::uint64_t bytes = 0;
    Histogram sizes;
    // From the first packet to the response that completes the message (ACK, last READ response,
    // atomic ACK), in nanoseconds. Only messages whose first packet was captured.
    Histogram latencies;
};

enum class EpisodeKind : std::uint8_t {
    SequenceNak, // the responder missed a packet and says so
    RnrNak,      // the responder had no receive
    ImpliedNak,  // the requester noticed by itself that a response was missing
    Timeout,     // the requester sent again after a silence
    FatalNak,    // the responder refused a request, which ends the connection
};
inline constexpr std::size_t kEpisodeKinds = 5;
std::string_view name_of(EpisodeKind kind); // "sequence-nak", ...

// Where the packet went that an episode is about. Only what the capture proves is said: a packet
// that the capture lacks is no evidence.
enum class Verdict : std::uint8_t {
    Unclear,
    Damaged,   // it came past with a wrong ICRC
    Lost,      // on its way to the capture point: only its retransmission came past
    Overtaken, // it came past, but after packets that were sent after it
    Behind,    // it came past in order: lost or overtaken behind the capture point
};
inline constexpr std::size_t kVerdicts = 5;
std::string_view name_of(Verdict verdict); // "unclear", "damaged", ...

// One trouble and its end.
struct Episode {
    EpisodeKind kind = EpisodeKind::Timeout;
    Verdict verdict = Verdict::Unclear;
    std::uint8_t requester = 0; // the end whose request it is about
    bool read = false;          // it is about a READ's responses
    bool inside = false;        // it asks for the rest of a READ: the requester has what is before
    bool recovered = false;
    std::uint8_t syndrome = 0; // of the NAK
    wire::Psn psn;             // the first that was missed
    std::uint32_t naks = 0;
    std::uint32_t timeouts = 0;
    std::uint32_t resent = 0; // packets sent again
    // Numbers of packets; 0: none. The first that showed the trouble (that came beyond the missed
    // one, or the one that was not answered); the NAK; the first that was sent again; the response
    // that ended it.
    std::uint64_t begin_number = 0;
    std::uint64_t nak_number = 0;
    std::uint64_t resent_number = 0;
    std::uint64_t end_number = 0;
    flow::Moment begin;
    flow::Moment nak;
    flow::Moment first_resent;
    flow::Moment end;

    // From the packet that showed the trouble to the NAK.
    [[nodiscard]] std::optional<wire::Duration> detection() const { return between(begin, nak); }
    // From the NAK to the first packet that was sent again; without a NAK from the beginning on,
    // which for a timeout is how long the requester waited.
    [[nodiscard]] std::optional<wire::Duration> reaction() const {
        return between(naks > 0 ? nak : begin, first_resent);
    }
    [[nodiscard]] std::optional<wire::Duration> duration() const { return between(begin, end); }

  private:
    static std::optional<wire::Duration> between(flow::Moment from, flow::Moment to) {
        if (!from || !to || *to < *from) return std::nullopt;
        return *to - *from;
    }
};

// What a direction did with its time. Each span between two of its packets is one of these.
enum class Doing : std::uint8_t {
    Idle,      // nothing was outstanding
    Sending,   // the requester sent, or paused with requests outstanding
    Waiting,   // for the responder and the network
    RnrWait,   // the responder had no receive
    Reacting,  // from a NAK to the first packet sent again
    Resending, // sending again
    Timeout,   // the requester waited for an answer in vain
};
inline constexpr std::size_t kDoings = 7;
std::string_view name_of(Doing doing); // "idle", ...

struct TimeSpent {
    wire::Duration sum{0};
    wire::Duration longest{0};
    std::uint64_t longest_number = 0; // the packet that ended the longest
    void add(wire::Duration time, std::uint64_t number) {
        sum += time;
        if (time <= longest) return;
        longest = time;
        longest_number = number;
    }
};

// Packets that were sent again, by cause (flow::Cause).
inline constexpr std::size_t kCauses = 5;

struct Direction {
    std::uint64_t request_packets = 0; // without those with a wrong ICRC
    std::uint64_t request_bytes = 0;   // payload
    std::uint64_t response_packets = 0;
    std::uint64_t response_bytes = 0; // payload of READ responses

    // Requests that were sent again, whether or not their first copy was captured.
    std::array<std::uint64_t, kCauses> resent{};
    std::uint64_t resent_bytes = 0;
    std::uint64_t reads_again = 0; // READ requests among them
    // Those whose PSN was captured before, whatever the cause: an independent count is possible.
    std::uint64_t repeated = 0;
    std::uint64_t copies = 0; // repeated without a visible cause: the network's or capture's
    // First seen after later PSNs, and nothing shows that they were sent again. Also READ
    // responses.
    std::uint64_t reordered = 0;
    std::uint64_t damaged = 0;   // with a wrong ICRC
    std::uint64_t forgotten = 0; // older than the history

    std::uint64_t acks = 0; // positive, READ responses not included
    std::uint64_t repeated_acks = 0;
    std::uint64_t acknowledged = 0; // PSNs
    std::uint64_t sequence_naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t fatal_naks = 0;

    // Episodes about a packet that did not arrive, by verdict. This is what the network did: the
    // responder (or for READ responses the requester) said that it missed something.
    std::array<std::uint64_t, kVerdicts> requests_missed{};
    std::array<std::uint64_t, kVerdicts> responses_missed{};
    // PSNs that the capture lacks.
    std::uint64_t requests_not_captured = 0;  // acknowledged: the responder had them
    std::uint64_t responses_not_captured = 0; // not asked for again
    std::uint64_t undecided = 0;              // of both: neither acknowledged nor asked for again
    std::uint64_t resent_after_ack = 0;       // requests that the capture shows acknowledged before

    std::uint64_t outstanding = 0; // PSNs at the end
    std::uint32_t most_outstanding = 0;
    std::uint64_t outstanding_sum = 0; // over new requests, for the mean
    std::uint64_t outstanding_samples = 0;

    std::uint64_t timeouts = 0;
    std::uint32_t timeouts_in_a_row = 0; // the most, of one PSN
    std::optional<wire::Duration> longest_timeout;
    std::optional<wire::Duration> timer; // the shortest time between two tries of one PSN

    std::array<std::uint64_t, kEpisodeKinds> episode_counts{};
    std::array<std::unique_ptr<MessageCounts>, kMessageKinds> messages;
    std::array<TimeSpent, kDoings> spent{};
    TimeSeries requested; // payload bytes of requests, and of READ responses
    flow::Moment first_time;
    flow::Moment last_time;
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    bool last_was_response = false;
    std::unique_ptr<Trace> trace; // if it was asked for (Options::traces)
    // The one that was open at the end.
    std::optional<Episode> open;

    [[nodiscard]] std::uint64_t packets() const { return request_packets + response_packets; }
    [[nodiscard]] std::uint64_t bytes() const { return request_bytes + response_bytes; }
    [[nodiscard]] std::uint64_t all_resent() const;
    [[nodiscard]] double resent_part() const; // of the request packets
    [[nodiscard]] std::uint64_t finished_messages() const;
    [[nodiscard]] std::uint64_t finished_bytes() const;
    // Bytes of completed messages a second, from the first packet to the last. Empty for a moment.
    [[nodiscard]] std::optional<double> goodput() const;
    [[nodiscard]] std::uint64_t missed(Verdict verdict) const {
        return requests_missed[static_cast<std::size_t>(verdict)] +
               responses_missed[static_cast<std::size_t>(verdict)];
    }
    // Packets that did not arrive, or not in order.
    [[nodiscard]] std::uint64_t all_missed() const;
    [[nodiscard]] std::uint64_t not_captured() const {
        return requests_not_captured + responses_not_captured;
    }
    // The time that trouble took.
    [[nodiscard]] wire::Duration time_lost() const;
};

// What CM says of a connection.
struct Setup {
    std::uint64_t request_number = 0;
    std::uint64_t reply_number = 0;
    std::uint64_t disconnect_number = 0; // 0: none was seen
    std::uint64_t service_id = 0;
    std::optional<wire::Duration> took; // from request to reply
    std::optional<std::uint8_t> ack_timeout;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t responder_resources = 0;
};

// A connection request that was refused.
struct Refusal {
    wire::IpAddress client;
    wire::IpAddress server;
    wire::Qpn client_qpn;
    std::uint64_t service_id = 0;
    std::uint16_t reason = 0;
    std::uint64_t request_number = 0;
    std::uint64_t reject_number = 0;
};

struct Endpoint {
    wire::IpAddress address;
    std::optional<wire::Qpn> qpn;
    std::uint64_t congestion_marks = 0; // packets that it sent and that came past marked CE
    std::uint64_t notifications = 0;    // CNPs that it sent
};

// The packets between two QPs: a connection.
struct Conversation {
    // From 1, in the order in which their QPs were paired; those of one direction come last.
    std::uint64_t id = 0;
    std::uint64_t made_by = 0;  // the packet with which it began
    std::uint64_t named_by = 0; // the packet that paired its QPs; 0: none
    flow::Pairing pairing = flow::Pairing::None;
    wire::Service service = wire::Service::Rc;
    std::optional<wire::Mtu> mtu;
    std::optional<Setup> setup;
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    flow::Moment first_time;
    flow::Moment last_time;
    std::uint64_t unpaired_responses = 0; // to an end of which no request was seen
    std::uint32_t restarts = 0;           // the QP was used again, with other PSNs
    bool evicted = false;                 // its history was given up to make room
    std::array<Endpoint, 2> ends;
    std::array<Direction, 2> directions; // requests of ends[i], and the responses to them
    std::vector<Episode> episodes;       // the first ones
    std::uint64_t more_episodes = 0;     // those that were not kept

    [[nodiscard]] std::uint64_t packets() const {
        return directions[0].packets() + directions[1].packets() + unpaired_responses;
    }
    [[nodiscard]] std::uint64_t bytes() const {
        return directions[0].bytes() + directions[1].bytes();
    }
};

// Of all frames.
struct Totals {
    std::uint64_t frames = 0;
    std::uint64_t packets = 0;         // RoCEv2
    std::uint64_t payload_bytes = 0;   // of these
    std::uint64_t damaged = 0;         // of these, with a wrong ICRC or contradictory lengths
    std::uint64_t datagrams = 0;       // of these, of services without connections
    std::uint64_t notifications = 0;   // CNPs
    std::uint64_t incomplete = 0;      // RoCEv2 packets without all headers
    std::uint64_t fragmented = 0;      // RoCEv2 packets of which this is the first IP fragment
    std::uint64_t later_fragments = 0; // IP fragments without headers: of them, or of others
    std::uint64_t other_transport = 0; // RoCE v1 and InfiniBand: not analysed
    std::uint64_t pauses = 0;          // PAUSE frames, and those of a priority (PFC)
    std::uint64_t priority_pauses = 0;
    std::uint64_t conversations_not_kept = 0;
    std::uint64_t evicted = 0; // conversations whose history was given up
    std::optional<wire::Instant> begin;
    std::optional<wire::Instant> end;
    std::vector<Refusal> refusals;

    void note_time(wire::Instant time) {
        if (!begin || time < *begin) begin = time;
        if (!end || time > *end) end = time;
    }
    // Of other frames. The refusals are put behind these.
    void add(const Totals& other);
};

// A message that was completed.
struct FinishedMessage {
    std::uint64_t conversation = 0;
    std::uint8_t requester = 0;
    flow::Message message;
};

} // namespace veriroce::analyze
