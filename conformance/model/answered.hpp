// Which requests of an RC QP are answered by what it had no reason to drop. PSNs are counted from
// the first one that the device sends.
//
// Source: rules REQ-03, REQ-05, REQ-08, REQ-09, REQ-18, REQ-20, REQ-26.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class Answered {
  public:
    // A request of the QP.
    void sent(const Qp& qp, const Packet& packet, std::int64_t psn);
    // A response to the QP that it cannot but look at. `timer`: its ACK timer, if that can expire.
    void take(const Qp& qp, const Packet& packet, std::int64_t psn,
              std::optional<wire::Duration> timer);

    [[nodiscard]] std::int64_t end() const { return end_; } // the PSN after all that are answered
    [[nodiscard]] wire::Instant at() const { return at_; }  // when the newest of the answers came
    [[nodiscard]] bool holds(const SendWork& work) const {
        return work.packets > 0 && work.last_psn() < end_;
    }

  private:
    void ask_again(const SendWork& work);
    [[nodiscard]] bool is_well_formed(const Qp& qp, const SendWork& work,
                                      const wire::Packet& answer, std::int64_t psn) const;

    std::int64_t end_ = 0;
    wire::Instant at_;
    wire::Instant last_sent_;
    std::int64_t on_wire_ = 0;          // the PSN after what it sent last; a NAK takes it back
    std::set<std::int64_t> asked_from_; // the PSNs of READ requests from there on
    std::size_t unanswered_ = 0;        // of the QP's sends: the first one
    std::uint32_t whole_answers_ = 0;   // messages that are answered
};

// How many bytes the response with this PSN brings to a READ or an atomic.
std::uint64_t bytes_expected(const SendWork& work, std::int64_t psn, wire::Mtu mtu);

} // namespace veriroce::model
