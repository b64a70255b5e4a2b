// Asynchronous events: each has a cause, and comes once. One that is missing, doubled or exchanged
// is a SHOULD; one without a cause is a MUST.
//
// Source: rules KEY-13, N-13, N-16, N-24, N-25, STA-04.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "conformance/model/completions.hpp"
#include "conformance/model/deviation.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::model {

class AsyncEvents {
  public:
    AsyncEvents(const Story& story, Posted& posted, const Completions& completions,
                std::vector<Deviation>& found)
        : story_(story), posted_(posted), completions_(completions), found_(found) {}

    // Before `posted` learns of the answer.
    void asked(const Call& call);
    void answered(const Call& call);
    // A packet of the tester to the QP, and a response of the device.
    void reached(const Qp& qp, const Packet& packet);
    void responded(const Qp& qp, const Packet& packet);
    // At the end of the story: what is missing.
    void finish();

  private:
    using Type = wire::EventType;
    struct Seen {
        std::map<Type, std::uint32_t> events;
        bool reached = false;     // by a packet of the tester
        bool established = false; // in RTR it accepted one
        std::uint32_t drains = 0; // changes to SQD
        bool drain_event = false; // one of them asked for the event
        bool second_path = false;
        std::optional<wire::NakCode> refused; // by a fatal NAK of the device
        std::optional<wire::Instant> failed;  // since when it is in ERR
        std::size_t packet = 0;               // the NAK, in CaseResult::packets
        // By PSN of a request of the tester: whether it uses no receive, and whether it leaves a
        // SEND unfinished.
        std::map<std::uint32_t, bool> without_receive;
        std::set<std::uint32_t> inside_sends;
        bool needs_no_receive = false; // the refused one
    };
    void limit(const Call& call);
    void missing_limits();
    void event(const dut::Event& event);
    void event_of(const Qp& qp, Seen& seen, Type type);
    void missing(const Qp& qp, const Seen& seen);
    void tell(const Qp& qp, Type type, std::string_view rule, rules::Level level,
              std::string_view allowed, std::string_view measured);

    const Story& story_;
    Posted& posted_;
    const Completions& completions_;
    std::vector<Deviation>& found_;
    std::map<dut::QpHandle, Seen> seen_;
    struct Limit {
        std::uint32_t value = 0;
        bool armed = false; // there were surely receives enough
        // Receives that had completed when it was set, if no other may have been taken by then.
        std::optional<std::size_t> done_before;
        std::optional<wire::Instant> reached;
    };
    // Packets of the tester that may have taken a receive of a shared queue.
    std::map<dut::SrqHandle, std::uint64_t> takers_;
    std::set<dut::SrqHandle> limited_;       // shared queues that ever had a limit
    std::map<dut::SrqHandle, Limit> limits_; // that no event has told
    wire::Instant asked_at_;                 // when the device was last asked for events
};

} // namespace veriroce::model
