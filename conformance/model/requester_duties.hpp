// What a requester must do, and must not do, in the course of time: how many READs and atomics are
// outstanding, what a fence holds back, what is sent again and how often, and what is never sent.
// The contents of each packet are checked in requester.hpp.
//
// The tester's answers count in the device's favour: an answer that may have reached the device
// permits what it permits, and only an answer that surely reached the device demands something.
//
// Source: rules REQ-27, REQ-28, BTH-18, N-18, TMO-01 to TMO-03, TMO-06.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/model/answered.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class RequesterDuties {
  public:
    RequesterDuties(const Story& story, DeviationLog& log) : story_(story), log_(log) {}

    void asked(const Call& call);
    void answered(const Call& call);
    // A sound request of the device.
    void sent(const Packet& packet);
    // Any packet of the tester.
    void take(const Packet& packet);
    // Before anything that happens then.
    void look(wire::Instant now);
    // At the end of the story: what the device did not do.
    void finish();

  private:
    // What the device did not do in time.
    struct Duty {
        std::string_view rule;
        rules::Level level = rules::Level::Must;
        std::string_view field;
        std::string allowed;
        std::string_view measured;
    };
    struct State {
        std::uint64_t life = 0;
        std::int64_t next_sent = 0;         // the PSN after all that was sent
        std::set<std::int64_t> open;        // READs and atomics without their answer, by first PSN
        std::set<std::int64_t> open_writes; // ATOMIC WRITEs without theirs
        // Those that it sent again, because it may have dropped the answer, and not answered since.
        std::set<std::int64_t> open_again;
        std::int64_t next_data = 0; // the PSN of the response to them that comes next
        // That PSN, if another answer came before: what comes may be dropped until it is asked for
        // again (REQ-08, REQ-20).
        std::optional<std::int64_t> missing;
        std::optional<std::int64_t> first_read; // the first that no ACK answers
        std::int64_t may_be_acknowledged = 0;   // the PSN after all that any answer names
        Answered answered;
        std::int64_t acknowledged = 0; // the PSN after all that is answered for certain
        wire::Instant acknowledged_at;
        wire::Instant sent_before_ack; // the newest request before that answer
        std::int64_t asked = 0;        // the PSN after the last that a packet asks an answer for
        // How often each PSN was sent since the tester last said something.
        std::map<std::int64_t, std::uint32_t> copies;
        bool resent = false;
        // The message that came again after a timeout, by its first PSN.
        std::optional<std::int64_t> begun_again;
        bool told = false; // the tester has said something
        wire::Instant last_sent;
        wire::Instant last_told; // by the tester
        wire::Instant last_post;
        std::optional<wire::Instant> wait; // an RNR NAK asks to wait until then
        wire::Instant rnr_end;             // until when an RNR NAK may hold it back
        // The PSN that the tester's sequence or RNR NAK asks for, until it is sent.
        struct Owed {
            std::int64_t psn = 0;
            wire::Instant since;
            bool rnr = false;
        };
        std::optional<Owed> owed;
        std::optional<Duty> late; // what it did not do in time, and may have done since
        // The PSN with which a sequence or RNR NAK makes the device go on: the next packet that is
        // sent again. Only where no other resend can be under way.
        struct Restart {
            std::int64_t psn = 0;
            wire::Instant since;
            std::string_view rule;
        };
        std::optional<Restart> restart;
        // Until then a resend that another answer overtook may still leave.
        std::optional<wire::Instant> restarts_until;
        std::int64_t follows = 0;    // the PSN after the packet that was sent last
        bool resending = false;      // that packet was sent again
        std::set<std::int64_t> naks; // the PSNs of all sequence NAKs
        bool odd = false;            // the tester sent what no responder sends
        bool failed = false;         // a completion tells so
        bool left = false;           // the QP left RTS, or is told to
        // The PSN after all that was posted when it was in SQD, until it is told to leave that.
        std::optional<std::int64_t> drained;
        std::uint32_t drains = 0; // changes to SQD

        [[nodiscard]] bool waits_for_data() const {
            return !open.empty() || !open_again.empty() || missing;
        }
    };

    State& state_of(const Qp& qp);
    [[nodiscard]] static const SendWork* work_at(const Qp& qp, std::int64_t psn);
    void check_open(PacketLog& log, const Qp& qp, State& state, const SendWork& work);
    void check_drained(const Packet& packet, const Qp& qp, const State& state, std::int64_t psn);
    void check_drained_event(const dut::Event& event);
    // Of any answer: whether it leaves out data that is to come before it. `data`: it brings some.
    static void note_data(State& state, std::int64_t psn, bool data);
    void check_fence(PacketLog& log, const State& state, const SendWork& work);
    // A packet that is sent again; whether it follows another such packet without a gap.
    struct Resend {
        const SendWork& work;
        std::int64_t psn = 0;
        bool goes_on = false;
    };
    void check_resend(PacketLog& log, const Qp& qp, State& state, const Resend& resend,
                      wire::Instant now);
    void check_restart(PacketLog& log, State& state, const Qp& qp, std::int64_t psn,
                       wire::Instant now) const;
    void check_left_out(PacketLog& log, const State& state, std::int64_t psn) const;
    void check_copies(PacketLog& log, const Qp& qp, const State& state, std::int64_t psn);
    void check_give_up(const Qp& qp, const State& state, const Polled& polled);
    [[nodiscard]] bool may_owe(const Qp& qp, const State& state) const;
    // The first of the following.
    [[nodiscard]] std::optional<Duty> overdue(const Qp& qp, const State& state,
                                              wire::Instant now) const;
    [[nodiscard]] std::optional<Duty> silent(const Qp& qp, const State& state,
                                             wire::Instant now) const;
    [[nodiscard]] std::optional<Duty> asks_nothing(const Qp& qp, const State& state,
                                                   wire::Instant now) const;
    [[nodiscard]] std::optional<Duty> not_sent(const Qp& qp, const State& state,
                                               wire::Instant now) const;
    [[nodiscard]] std::optional<Duty> not_sent_again(const Qp& qp, const State& state,
                                                     wire::Instant now) const;
    void check_unsent(const Qp& qp, const State& state);
    // The QP that sent the request; null if there is none.
    [[nodiscard]] Qp* sender_of(const wire::Packet& request);
    void note_restart(const Packet& packet, const Qp& qp, State& state, std::int64_t psn,
                      wire::AckKind kind) const;
    // `kind`: Ack, of any packet that is no NAK which asks for requests again.
    void note_nak(const Packet& packet, const Qp& qp, State& state, std::int64_t psn,
                  wire::AckKind kind);
    void tell(const Qp& qp, std::string rule, rules::Level level, std::string field,
              std::string allowed, std::string measured);

    const Story& story_;
    DeviationLog& log_;
    Posted posted_;
    std::map<dut::QpHandle, State> states_;
    wire::Instant looked_;                        // when duties were last looked at
    std::map<dut::QpHandle, std::size_t> newest_; // request of the QP, in CaseResult::packets
};

} // namespace veriroce::model
