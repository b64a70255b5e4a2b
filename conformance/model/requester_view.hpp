// What the tester's responses to one RC QP may do to the device's memory: the targets of the READs
// and atomics that the device posted. PSNs are counted from the first one that the device sends.
//
// Source: rules REQ-09, REQ-21, REQ-22, REQ-34, N-22, N-36.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/model/completions.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/registered.hpp"
#include "conformance/model/responder_view.hpp"

namespace veriroce::model {

class RequesterView {
  public:
    RequesterView(Registered& memory, Counters& counters, std::uint64_t origin)
        : memory_(memory), counters_(counters), origin_(origin) {}

    // A request of the device.
    void sent(const Qp& qp, const Packet& packet);
    // A response of the tester that reaches the QP. `clear`: the QP has no choice but to take it.
    // `timer`: its ACK timer, if that can expire.
    void response(Qp& qp, const Packet& packet, bool clear, std::optional<wire::Duration> timer);
    // The model does not know whether the QP took a response.
    void loosen() { evidence_.uncertain = true; }
    // Whether all of the response came that the request waits for, in packets of the right lengths
    // (REQ-21); true of a request that waits for none.
    [[nodiscard]] bool response_arrived(const SendWork& work) const;
    [[nodiscard]] const Evidence& evidence() const { return evidence_; }
    // The work request, or a later one, completed with success.
    void completed(const SendWork& work);

  private:
    struct Arrived { // bytes for one PSN
        std::vector<std::byte> data;
        Write write;
        std::vector<Place> places;
        bool alone = true;  // no other bytes came for it
        bool sized = false; // as many bytes came as the request asks for
    };

    void note_response(const Qp& qp, const Packet& packet, std::int64_t psn, bool clear);

    Registered& memory_;
    Counters& counters_;
    std::uint64_t origin_ = 0;
    std::map<std::int64_t, Arrived> arrived_; // by PSN
    std::set<std::int64_t> read_responses_;   // PSNs of those that came
    Evidence evidence_;
    std::int64_t next_sent_ = 0; // the PSN after all that the device sent
    wire::Instant last_sent_;
    wire::Instant answered_unseen_at_; // Evidence::answered_unseen
};

} // namespace veriroce::model
