// What a device tells its owner of finished work: each completion names an open work request, in
// the order of its queue, once, with the fields that the verbs define for its status, and never
// before its cause; and none is missing at the end.
//
// A completion queue that may have lost completions is left out. Source: rules N-20, N-21, REQ-03,
// REQ-20, REQ-34, STA-07, N-15.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/model/answered.hpp"
#include "conformance/model/deviation.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::model {

// What the message says that a receive takes, where it is certain.
struct Message {
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> imm;
    std::optional<wire::Rkey> invalidated;
    std::optional<wire::Qpn> source; // of a datagram
    wire::Operation operation = wire::Operation::Send;
    std::size_t packet = 0; // its last one, in CaseResult::packets
};

// The newest answers that the tester sent to the requests of a QP.
struct Evidence {
    std::int64_t acknowledged = -1; // the newest PSN for which any response was sent
    std::uint32_t msn = 0;          // the largest
    // The newest PSN that a response named although no sound request with it had come: it may have
    // been lost or damaged on its way.
    std::int64_t answered_unseen = -1;
    struct Nak {
        std::int64_t psn = 0;
        wire::Syndrome syndrome;
        // It names a request that was sent, and nothing before that lacks its answer.
        bool clear = false;
        wire::Instant at;
        wire::Duration quiet{0};  // how long before it the newest request was sent
        std::uint64_t number = 0; // among the responses
        std::size_t packet = 0;   // in CaseResult::packets
    };
    Answered answered;
    std::uint64_t responses = 0; // of any kind
    std::vector<Nak> naks;       // RNR NAKs and fatal NAKs
    bool odd = false;            // one that no responder sends
    bool uncertain = false;      // the model does not know what reached the requester
};

class Completions {
  public:
    Completions(const Setting& setting, Posted& posted, std::vector<Deviation>& found)
        : setting_(setting), posted_(posted), found_(found) {}

    // Before `posted` learns of them.
    void asked(const Call& call);
    void answered(const Call& call);
    // Each completion, in the order in which they were polled, and the queue that it came from.
    void polled(const Polled& polled, dut::CqHandle from);
    // The message that a successful receive took, if that is certain.
    void received(const Polled& polled, const Message& message);
    // A receive completed with success, and no message came that it can hold.
    void unexplained(const Polled& polled);
    // A send request of UC or UD completed with an error: nobody answers, so no peer caused it.
    void failed_alone(const Polled& polled);
    // A send request completed with success before anything could have completed it.
    void sent(const Polled& polled, const Evidence& evidence, bool response_arrived);
    // A send request completed with an error.
    void failed(const Polled& polled, const Evidence& evidence, bool sound_pieces);
    // A request that is answered, of a QP that works.
    void missing_success(const Qp& qp, const Evidence& evidence);
    // The request that a fatal NAK of the tester names.
    void missing_failure(const Qp& qp, const Evidence& evidence);
    // At the end of the story: what is missing. `ended`: since when the QP is surely in ERR.
    void missing_flush(const Qp& qp, wire::Instant ended);
    // A receive whose message was in the device's hands at this time: it acknowledged it, or it
    // came and the device could not but take it.
    void missing_receive(const Qp& qp, const Message& message, wire::Instant acknowledged);

    // Whether completions of the queue may have been lost.
    [[nodiscard]] bool lossy(dut::CqHandle cq) const;

  private:
    void expect_more(dut::CqHandle cq, std::uint64_t count);
    // Whether the queue was polled until it was empty, long enough after that.
    [[nodiscard]] bool emptied_after(dut::CqHandle cq, wire::Instant time) const;
    void tell(std::string rule, const Polled& polled, std::string measured, std::string allowed,
              rules::Level level = rules::Level::Must);
    void in_order(const Polled& polled);
    void opcode(const Polled& polled);
    void length(const Polled& polled);
    // What a requester tells when nobody has answered, or nobody refused.
    void given_up(const Polled& polled, const Evidence& evidence);
    // Nothing but flushes follows the first error of a queue.
    void after_failure(const Polled& polled);
    // The status is not that of the NAK that refused the request.
    void refused(const Polled& polled, const Evidence::Nak& nak);
    void wrong_status(const Polled& polled, std::string rule, std::string allowed);
    // Of what an answer of the tester brings about.
    [[nodiscard]] rules::Level level_of_answers() const;

    const Setting& setting_;
    Posted& posted_;
    std::vector<Deviation>& found_;
    std::map<dut::CqHandle, std::uint64_t> depth_;
    std::map<dut::CqHandle, std::uint64_t> open_; // work requests that may complete there
    std::set<dut::CqHandle> overrun_;
    std::map<dut::CqHandle, wire::Instant> emptied_; // when it was last polled until empty
};

} // namespace veriroce::model
