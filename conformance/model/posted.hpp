// The QPs of a device and what was posted to them, as the calls of the DUT contract say: states,
// first PSNs, work requests in posting order, the PSNs that each request takes, and which of them
// have completed.
//
// A QP that went through RESET has a new life: everything begins again. PSNs are counted from the
// first one of a life, so that they do not wrap.
//
// Source: the DUT contract (conformance/dut/qp_methods.hpp); rules REQ-01, STA-10, N-20, N-36.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

struct SendWork {
    dut::SendRequest request;
    wire::Instant posted;
    std::int64_t first = 0;    // PSN
    std::int64_t packets = 0;  // PSNs that it takes; 0 for what concerns no peer
    std::uint64_t bytes = 0;   // of all pieces
    bool signaled = true;      // its success makes a completion
    bool silence_open = false; // whether it does is not known
    bool done = false;         // it has completed, or a later one has
    bool polled = false;       // by a completion of its own
    std::uint64_t turn = 0;    // of that completion among all
    bool in_error = false;     // it was posted when an earlier one had failed
    wire::WcStatus status = wire::WcStatus::Success;

    // A READ or an atomic.
    [[nodiscard]] bool asks_for_data() const;
    // For data, or for an empty READ response (EXT-02): no ACK answers it (REQ-20).
    [[nodiscard]] bool asks_for_response() const;
    [[nodiscard]] std::int64_t last_psn() const { return first + packets - 1; }
};

struct ReceiveWork {
    dut::ReceiveRequest request;
    bool polled = false;
    std::uint64_t turn = 0; // of its completion among all
    wire::WcStatus status = wire::WcStatus::Success;
    std::uint32_t byte_len = 0; // that the completion told

    [[nodiscard]] std::uint64_t bytes() const;
};

struct Qp {
    dut::QpHandle handle;
    wire::Qpn qpn;
    dut::PdHandle pd;
    wire::QpType type = wire::QpType::Rc;
    dut::CqHandle send_cq;
    dut::CqHandle recv_cq;
    std::optional<dut::SrqHandle> srq;
    bool signal_all = false;
    dut::QpAttributes attributes; // as last set
    wire::QpState state = wire::QpState::Reset;
    std::uint64_t life = 1;  // unique among all lives of all QPs
    std::uint64_t lives = 1; // of this QP
    bool gone = false;
    std::deque<SendWork> sends; // of this life, in posting order
    std::deque<ReceiveWork> receives;
    std::size_t sends_done = 0; // how many of the first ones have completed
    std::size_t receives_done = 0;
    std::uint32_t sends_failed = 0; // completions with an error, of this life
    std::uint32_t receives_failed = 0;
    bool gave_up = false;                  // one of the sends completed with RETRY_EXC_ERR
    std::size_t receives_taken = 0;        // how many the device has surely taken
    std::optional<wire::QpState> reported; // by the last answer to qp_query

    [[nodiscard]] wire::Mtu mtu() const { return attributes.path_mtu.value_or(wire::Mtu::B1024); }
    // The PSN of a request of the device, or of its peer, counted from the first one: of all counts
    // with this PSN the one that is nearest to `near`.
    [[nodiscard]] std::int64_t own_psn(wire::Psn psn, std::int64_t near) const {
        return near + wire::distance(attributes.sq_psn.value_or(wire::Psn{}) + near, psn);
    }
    [[nodiscard]] std::int64_t peer_psn(wire::Psn psn, std::int64_t near) const {
        return near + wire::distance(attributes.rq_psn.value_or(wire::Psn{}) + near, psn);
    }
};

// A completion that was polled, and the work request that it names.
struct Polled {
    dut::Completion completion;
    Qp* qp = nullptr;               // null: no QP has this handle
    SendWork* send = nullptr;       // at most one of the two
    ReceiveWork* receive = nullptr; // null: no open work request of the queue has this id
};

class Posted {
  public:
    // Posts count from when they are asked for: a device may begin before it has answered.
    void asked(const Call& call);
    // The completions that the call polled, in their order.
    std::vector<Polled> answered(const Call& call);

    [[nodiscard]] std::deque<Qp>& qps() { return qps_; }
    [[nodiscard]] Qp* find(dut::QpHandle handle);
    // The QP that takes packets to this QPN, and the one whose peer has it.
    [[nodiscard]] Qp* of_qpn(wire::Qpn qpn);
    [[nodiscard]] Qp* of_peer(wire::Qpn qpn);
    [[nodiscard]] std::deque<ReceiveWork>& shared(dut::SrqHandle srq) { return shared_[srq]; }
    // How many receives a shared queue has surely taken.
    [[nodiscard]] std::size_t shared_taken(dut::SrqHandle srq) { return shared_taken_[srq]; }
    [[nodiscard]] std::deque<ReceiveWork>& receives_of(Qp& qp) {
        return qp.srq ? shared_[*qp.srq] : qp.receives;
    }

  private:
    void post(Qp& qp, const dut::SendRequest& request, wire::Instant now, bool silence_open);
    void modified(Qp& qp, const dut::QpAttributes& change);
    // Moves the QP's places of the first work that is open on.
    void pass_done(Qp& qp);
    Polled match(const dut::Completion& completion);

    std::deque<Qp> qps_;
    std::map<dut::SrqHandle, std::deque<ReceiveWork>> shared_;
    std::map<dut::SrqHandle, std::size_t> shared_taken_;
    std::uint64_t lives_ = 0;
    std::uint64_t turns_ = 0; // completions so far
};

// How many PSNs a request takes.
std::int64_t psns_of(const dut::SendRequest& request, std::uint64_t bytes, wire::Mtu mtu);

} // namespace veriroce::model
