// Internal to this room: follows one direction packet by packet and counts what it does. Holds only
// what the next packets are compared with; the counts are in Direction. Of fixed size.
//
// Source: rules REQ-08, REQ-09, REQ-11, RSP-02, RNR-08, TMO-01.
#pragma once

#include <array>

#include "dissector/analyze/facts.hpp"

namespace veriroce::analyze {

// A queue of the last few; older ones are counted.
template <typename T, std::size_t Room>
class LastFew {
  public:
    // Returns the one that had to go.
    std::optional<T> push(const T& value) {
        std::optional<T> gone;
        if (size_ == Room) gone = items_[next_];
        items_[next_] = value;
        next_ = (next_ + 1) % Room;
        if (size_ < Room) ++size_;
        return gone;
    }
    [[nodiscard]] T* begin() { return items_.data(); }
    [[nodiscard]] T* end() { return items_.data() + size_; }
    void clear() { size_ = next_ = 0; }
    [[nodiscard]] const T* begin() const { return items_.data(); }
    [[nodiscard]] const T* end() const { return items_.data() + size_; }

  private:
    std::array<T, Room> items_{};
    std::size_t size_ = 0;
    std::size_t next_ = 0;
};

// In which order a sender sent two packets: many give each packet the next IPv4 identification.
class SendOrder {
  public:
    // A new request right after the one before it.
    void note_next(std::uint16_t identification) {
        if (known_) ++(follows(last_, identification) ? ascending_ : other_);
        last_ = identification;
        known_ = true;
    }
    // A new request that does not show the order.
    void note(std::uint16_t identification) {
        last_ = identification;
        known_ = true;
    }
    // Whether `one` was sent before `other`. Empty if the identifications do not say.
    [[nodiscard]] std::optional<bool> before(std::uint16_t one, std::uint16_t other) const;

  private:
    static constexpr std::int32_t kFar = 8192;
    static bool follows(std::uint16_t before, std::uint16_t after) {
        const auto ahead = static_cast<std::int16_t>(after - before);
        return ahead > 0 && ahead < kFar;
    }

    bool known_ = false;
    std::uint16_t last_ = 0;
    std::uint32_t ascending_ = 0;
    std::uint32_t other_ = 0;
};

class DirectionWatch {
  public:
    // `stream` is the requester's after the packet. `owner` has the counts. `answers_known`: no
    // response came whose connection is not known, and that might be to this direction.
    void request(Conversation& owner, std::uint8_t requester, const flow::Packet& packet,
                 const flow::Classified& seen, const flow::Stream& stream, bool answers_known);
    void response(Conversation& owner, std::uint8_t requester, const flow::Packet& packet,
                  const flow::Classified& seen, const flow::Stream& stream);
    // A request with a wrong ICRC.
    void damaged(Direction& facts, const flow::Packet& packet);
    // The direction was found to be this end's.
    void belong_to(std::uint8_t requester) {
        if (open_) open_->requester = requester;
    }
    // After the last packet.
    void finish(Conversation& owner, std::uint8_t requester);

    static constexpr std::size_t kMostEpisodes = 64; // kept of a conversation

  private:
    // What a request is, as far as its copies go.
    enum class Sent : std::uint8_t {
        First, // new
        Late,  // new, but overtaken by later ones
        Again, // by its sender
        Copy,  // again, and nothing says why
        Old,   // before the history
    };
    struct Gap { // PSNs that were skipped
        wire::Psn first;
        std::uint32_t span = 0;
        std::uint32_t missing = 0;        // of these, that the capture lacks
        std::uint16_t identification = 0; // of the packet behind it
        std::uint64_t number = 0;
        flow::Moment time;
        bool before_first = false;  // what came before the first packet that was seen
        bool settled = false;       // of READ responses: asked for again, or came late
        std::uint64_t finished = 0; // messages that were completed before it
        [[nodiscard]] bool has(wire::Psn psn) const {
            const std::int32_t ahead = wire::distance(first, psn);
            return ahead >= 0 && ahead < static_cast<std::int32_t>(span);
        }
    };
    struct NotSeen { // a packet that is called lost
        wire::Psn psn;
        std::uint16_t identification = 0; // of the packet behind the gap
    };
    struct Bad { // a packet with a wrong ICRC
        wire::Psn psn;
        std::uint64_t number = 0;
    };

    void begin_packet(const flow::Stream& stream);
    void end_packet(Direction& facts, const flow::Packet& packet, const flow::Stream& stream,
                    Doing doing, bool response);
    [[nodiscard]] Sent sent_of(const flow::Packet& packet, const flow::Classified& seen) const;
    [[nodiscard]] Sent sent_of_first_copy(const flow::Packet& packet,
                                          const flow::Classified& seen) const;
    [[nodiscard]] bool starts_run(const flow::Packet& packet) const;
    [[nodiscard]] flow::Cause cause_of(const flow::Packet& packet, const flow::Classified& seen,
                                       bool answers_known) const;
    void first_request(Direction& facts, const flow::Packet& packet, const flow::Classified& seen,
                       const flow::Stream& stream);
    void late_request(Direction& facts, const flow::Packet& packet, const flow::Classified& seen);
    void request_again(Conversation& owner, std::uint8_t requester, const flow::Packet& packet,
                       const flow::Classified& seen, const flow::Stream& stream, flow::Cause cause);
    void join_episode(Conversation& owner, const Episode& fresh, const flow::Packet& packet,
                      flow::Cause cause, bool begins);
    void judge_lost(const flow::Packet& packet, const flow::Classified& seen);
    bool came_after_all(Conversation& owner, std::uint8_t requester, const flow::Packet& packet);
    void time_out(Direction& facts, const flow::Packet& packet);
    void read_again(Episode& episode, const flow::Packet& packet);
    void draw(Trace& trace, Sent sent, flow::Cause cause, const flow::Packet& packet) const;
    [[nodiscard]] Doing doing_of(Sent sent, const flow::Packet& packet, flow::Cause cause) const;
    // Since the last request or progress, with which a requester's timer begins (TMO-01).
    [[nodiscard]] std::optional<wire::Duration> waited(const flow::Packet& packet) const;
    [[nodiscard]] bool silent(const flow::Packet& packet) const;

    void negative(Conversation& owner, std::uint8_t requester, const flow::Packet& packet,
                  const flow::Stream& stream);
    void judge_missed(Episode& episode, const flow::Stream& stream) const;
    void read_response(Direction& facts, const flow::Packet& packet, const flow::Stream& stream);
    static void settle(Direction& facts, const Gap& gap);
    void note_progress(Conversation& owner, std::uint8_t requester, const flow::Packet& packet,
                       const flow::Stream& stream);
    void open(Conversation& owner, const Episode& episode);
    void close(Conversation& owner);

    bool known_ = false; // a packet was seen
    bool outstanding_ = false;
    bool reacted_ = false;         // since the latest NAK or timeout of the open episode
    bool responses_known_ = false; // a READ response was seen
    bool response_gaps_lost_ = false;
    bool reliable_ = true;
    std::uint32_t generation_ = 0;
    wire::Psn unacknowledged_;
    wire::Psn expected_response_;
    wire::Psn next_response_;              // after the highest seen
    std::optional<wire::Psn> asked_again_; // responses begin again here
    std::optional<wire::Psn> run_next_;    // after the last request that was sent again
    flow::Cause run_cause_ = flow::Cause::None;
    // The longest that the requester waited for progress and got it.
    wire::Duration patience_{0};
    flow::Moment last_time_;
    flow::Moment last_request_;
    flow::Moment last_progress_;
    std::optional<Episode> open_;
    wire::Psn open_end_; // of READ responses: what was seen when the episode began
    SendOrder order_;
    std::uint64_t skipped_ = 0; // PSNs
    std::uint64_t filled_ = 0;  // of these, seen later
    LastFew<Gap, 4> gaps_;
    LastFew<Gap, 8> response_gaps_;
    LastFew<wire::Psn, 8> early_; // responses that came while asked_again_ was awaited
    LastFew<wire::Psn, 4> late_;
    LastFew<Bad, 8> bad_;
    LastFew<NotSeen, 4> lost_;
};

} // namespace veriroce::analyze
