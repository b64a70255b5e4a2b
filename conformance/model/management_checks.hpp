// Answers of connection management: each belongs to a message that came before it, and a REP that
// comes again is the same.
//
// Source: rules N-30, CM-01, CM-05, CM-06, CM-09.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/model/deviation_log.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class ManagementChecks {
  public:
    ManagementChecks(const Setting& setting, DeviationLog& log) : setting_(setting), log_(log) {}

    // A packet of the tester, to any QP.
    void take(const Packet& packet);
    // A datagram of the device's QP 1, whose headers and ICRC are whole.
    void check(const Packet& packet);

  private:
    struct Asked {
        std::uint64_t transaction = 0;
        std::uint32_t communication = 0; // the sender's number for it, of SIDR the request's
        friend bool operator==(const Asked&, const Asked&) = default;
    };
    struct Reply {
        Asked to;
        wire::Bytes message;
    };

    const Setting& setting_;
    DeviationLog& log_;
    std::vector<Asked> asked_;
    std::vector<Reply> replies_; // the first to each
};

} // namespace veriroce::model
