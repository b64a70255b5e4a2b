// The device as a responder: what its answers may say, given the requests that can have reached it.
//
// Bounds, not predictions. Whatever the tester sends, legal or not, an answer covers no PSN that a
// responder cannot have reached, and its MSN counts no message that cannot have ended; and what an
// ACK covers was accepted, so its MSN counts at least that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/model/connection.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class ResponderChecks {
  public:
    ResponderChecks(const Setting& setting, DeviationLog& log) : setting_(setting), log_(log) {}

    // A call that the device carries out from now on.
    void take(const Call& call);
    // Any frame of the tester.
    void take_frame(const Packet& packet);
    // A packet of the tester to this QP.
    void take(const Packet& packet, const Connection& connection);
    // A sound packet of the device with a response.
    void check(const Packet& packet, const Connection& connection);
    // Whether the tester sent a request with this PSN, or with the one before it.
    [[nodiscard]] bool knows(const Connection& connection, wire::Psn psn) const;

  private:
    // What was sent at one PSN; several packets may differ.
    struct Sent {
        bool always_ends = true; // a message ends in each of the packets that were sent
        bool ever_ends = false;
        bool always_receives = true; // each of them takes a receive
        bool always_answered = true; // each of them is a READ or an atomic
        bool ever_answered = false;
        bool ever_invalidates = false;
        std::int64_t last = 0; // the PSN of the last response, of the longest READ
        bool one_length = true;
        std::optional<std::uint8_t> rnr_timer; // of the device when it was last sent
    };
    struct Read {
        std::int64_t first = 0;
        std::uint64_t length = 0;
        std::int64_t packets = 1;
    };
    // Messages that end at PSNs up to some PSN: at least, at most; and how many of them took a
    // receive.
    struct Ended {
        std::int64_t least = 0;
        std::int64_t most = 0;
        std::uint64_t receives = 0;
    };
    // Counts on from where it was asked last.
    class Counter {
      public:
        Ended up_to(const std::map<std::int64_t, Sent>& sent, std::int64_t psn);
        void changed(std::int64_t psn); // what was sent there
      private:
        std::int64_t counted_ = -1;
        Ended ended_;
    };
    struct State {
        std::map<std::int64_t, Sent> sent; // by the PSN of the request, from the first one on
        std::vector<Read> reads;
        std::set<std::int64_t> atomics;
        std::set<std::int64_t> empty_answers;            // FLUSH, ATOMIC WRITE
        std::set<std::int64_t> reached{0};               // PSNs that can have been the expected one
        std::multimap<std::int64_t, std::int64_t> ahead; // request, the PSN after it
        std::int64_t newest = -1;                        // that was sent
        std::int64_t lowest = 0;
        std::optional<std::int64_t> acknowledged;
        std::optional<std::uint32_t> msn;          // of the last ACK
        std::optional<std::int64_t> repeated_to;   // the newest PSN of what the tester sent again
        std::optional<std::int64_t> next_response; // of a READ of which the first ones were sent
        std::set<std::int64_t> ended;              // PSNs of the last answers to READs and atomics
        std::set<std::int64_t> unanswered;         // READs and atomics, by their first PSN
        Counter at_answer;                         // up to the PSN of an answer
        Counter at_reach;                          // up to what was reached

        [[nodiscard]] std::int64_t reach() const { return *reached.rbegin(); }
    };
    [[nodiscard]] bool is_part_of_read(const State& state, std::int64_t psn, bool certain) const;
    void reach(State& state, std::int64_t psn, std::int64_t after) const;
    // Whether it is a defined one.
    bool syndrome(PacketLog& log, const wire::Packet& answer, const Connection& connection) const;
    void rnr_timer(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                   const Connection& connection, const State& state) const;
    void position(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                  const State& state) const;
    void sequence_nak(PacketLog& log, std::int64_t psn, const State& state) const;
    void fatal_nak(PacketLog& log, std::int64_t psn, const State& state) const;
    void acknowledge(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                     const Connection& connection, State& state) const;
    void unanswered(PacketLog& log, std::int64_t psn, State& state) const;
    void read_response(PacketLog& log, const wire::Packet& answer, std::int64_t psn,
                       const Connection& connection, State& state) const;
    void msn(PacketLog& log, const wire::Packet& answer, std::int64_t psn, State& state) const;
    // How many receives were posted to the QP so far, in all of its lives.
    [[nodiscard]] std::uint64_t receives(const Connection& connection) const;

    const Setting& setting_;
    DeviationLog& log_;
    std::map<const Connection*, State> states_;
    std::map<dut::QpHandle, std::uint64_t> receives_; // posted
    // Something came that a device may take for a request, and that is no packet here: fragments,
    // RoCEv1.
    bool unread_ = false;
};

} // namespace veriroce::model
