// The states of the device's QPs: which changes it may accept, and which state it must report after
// what has happened.
//
// A device may report a failure late, so a QP that has failed is held to ERR only in a question
// that is asked later than the device may take for an answer. Source: rules STA-08, STA-09, STA-12.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/model/deviation.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class QpStates {
  public:
    QpStates(const Setting& setting, std::vector<Deviation>& found)
        : setting_(setting), found_(found) {}

    // Before `posted` learns of the answer.
    void answered(const Call& call, Posted& posted);
    // A completion with an error.
    void failed(const Polled& polled, wire::Instant now);
    // A fatal NAK of the device.
    void refused(const Qp& qp, const Packet& packet);

  private:
    struct Failure {
        std::uint64_t life = 0;
        wire::Instant at;
        std::string_view rule;
        std::string_view why;
    };
    void modified(const Qp& qp, wire::QpState to);
    void reported(const Qp& qp, wire::QpState state, wire::Instant asked);
    void told_attributes(const Qp& qp, const dut::QpAttributes& told);
    void tell(std::string_view rule, std::string allowed, std::string measured);

    const Setting& setting_;
    std::vector<Deviation>& found_;
    std::map<dut::QpHandle, Failure> failures_; // the first of the latest life
};

} // namespace veriroce::model
