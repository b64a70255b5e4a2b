// Why a queue fails: work requests fail, or are flushed, only when something has gone wrong, and
// the status of a receive that fails is one that its fault permits.
//
// Judged at the end, because a completion may be polled before the packet that tells its cause
// leaves. Source: rules STA-07, LEN-06, KEY-12, N-14.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "conformance/model/completions.hpp"
#include "conformance/model/deviation.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/responder_view.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class FailureCauses {
  public:
    FailureCauses(const Setting& setting, std::vector<Deviation>& found)
        : setting_(setting), found_(found) {}

    void asked(const Call& call);
    // A completion with an error.
    void failed(const Polled& polled);
    // At the end, of an RC QP. `lossy`: completions may have been lost.
    void judge(const Qp& qp, const ResponderView& responder, const Evidence& evidence, bool lossy);

  private:
    struct Seen {
        bool told = false; // to change its state, at any time after RTR
        bool sends_failed = false;
        bool other_than_flush = false;
        std::optional<dut::Completion> receive; // the first that failed
        std::size_t receive_number = 0;         // among those of the QP
    };
    void judge_receive(const Qp& qp, const Seen& seen, const ResponderView& responder);
    void tell(std::string_view rule, rules::Level level, const dut::Completion& completion,
              std::string_view allowed, const ResponderView& responder);

    const Setting& setting_;
    std::vector<Deviation>& found_;
    std::map<dut::QpHandle, Seen> seen_;
};

} // namespace veriroce::model
