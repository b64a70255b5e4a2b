// The device's CNPs against the settings of its congestion management, which it reports in hello
// and in its answers.
//
// Source: CNP-01, CNP-04, CNP-06, CNP-10, CA17-45.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/model/connection.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class CongestionChecks {
  public:
    CongestionChecks(const Story& story, DeviationLog& log)
        : story_(story), log_(log), settings_(story.setting.dut.congestion.value_or(Settings{})) {}

    void asked(const Call& call);
    void answered(const Call& call);
    // Any packet of the device whose headers and ICRC are whole: it may be a CNP for the mark.
    void note(const Packet& packet);
    // The same packet, if its QP is that of now, to the peer of this connection.
    void check(const Packet& packet, const Connection* connection);
    // A packet of the tester to this QP.
    void take(const Packet& packet, const Connection& connection);
    void finish();

  private:
    using Settings = dut::CongestionSettings;

    // A packet that came marked: the first one that no CNP has answered yet.
    struct Mark {
        const Packet* packet = nullptr;
        const Connection* of = nullptr;
        std::int64_t psn = 0;
        wire::Instant since;   // when the device could look at it
        bool accepted = false; // the device has acknowledged it
    };

    // The device's packets with data, one behind the other.
    struct Pace {
        const Packet* before = nullptr;
        wire::Instant busy_since;        // since then the line was never idle between them
        std::vector<wire::Instant> cnps; // when they reached the device
    };

    // The device's runs of data packets before and while CNPs come from other addresses than the
    // peer's.
    struct Strangers {
        struct Runs {
            std::size_t count = 0;
            wire::Duration shortest = wire::Duration::max();
        };
        std::size_t cnps = 0;
        wire::Instant many;   // when the 96th CNP came
        wire::Instant latest; // when the latest CNP came
        std::vector<const Packet*> run;
        Runs before;
        Runs during;
        std::size_t packet = 0; // the last one of a run
    };

    void check_interval(PacketLog& log, const Packet& packet, const Connection& connection);
    void check_mark(wire::Instant now);
    void check_dscp(PacketLog& log, const Packet& packet) const;
    [[nodiscard]] bool reacts(const Connection& connection) const;
    void take_cnp(const Packet& packet, const Connection& connection);
    void check_pace(const Packet& packet, const Connection& connection);
    void measure(const Packet& packet, const Connection& connection);
    void check_strangers();

    const Story& story_;
    DeviationLog& log_;
    Settings settings_;
    Settings former_;                                    // before the latest change
    std::optional<wire::Instant> changed_;               // when the device said so
    bool changing_ = false;                              // it has not said so yet
    std::map<const Connection*, wire::Interval> latest_; // CNP of the connection
    std::optional<wire::Instant> notified_;              // the latest CNP of all
    std::map<const Connection*, std::int64_t> newest_;   // PSN of the tester
    std::optional<Mark> mark_;
    std::map<const Connection*, Pace> paces_; // of QPs that CNPs slow down
    std::map<const Connection*, Strangers> strangers_;
};

} // namespace veriroce::model
