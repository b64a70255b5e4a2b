// The path between script and link: packets out and in, through the case's fault rules and into the
// record, and the frames that those rules delay.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/record.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Objects;
class TesterPeer;

// Takes the frame apart; a frame that is not RoCEv2 has neither layers nor a packet.
Entry parsed(Side from, std::vector<std::byte> bytes, Interval at);

class Wire {
  public:
    Wire(const Environment& environment, Events& events, Record& record, Objects& objects,
         TesterPeer& tester);

    void add(const fault::Rule& rule) { faults_.add(rule); }

    // Sends a frame of ours and returns its place in the record. `qp` is null for frames that
    // belong to no QP.
    std::size_t transmit(CaseQp* qp, std::vector<std::byte> frame);
    // Sends all packets that the tester's engine has ready.
    void transmit_of_engine();
    // Takes a frame from the link, whatever its destination.
    void hear(wire::Bytes frame, Interval at);
    // The IPv4 identification of our next packet. The tester counts it, because a constant 0 would
    // test less (CRC-06).
    std::uint16_t next_ip_id();

    // When a fault rule lets go of a frame that it holds.
    [[nodiscard]] std::optional<wire::Instant> next_release() const;
    void release();

    // How often each fault rule acted, for the results.
    [[nodiscard]] std::vector<FaultCount> fault_counts() const;
    // A rule that did not act as often as it must. If an unmet line cut the case short, a rule that
    // has acted at least once counts as done.
    [[nodiscard]] std::optional<std::string> idle_rule(bool cut_short) const;

  private:
    struct Delayed {
        Side from = Side::Tester;
        std::vector<std::byte> frame;
    };

    std::optional<std::vector<fault::Emission>> fault(const CaseQp& qp, Entry& entry);
    void put_off(std::vector<fault::Emission> emissions);
    void arrive(CaseQp& qp, std::size_t index);
    void hear_astray(std::size_t index);

    const Environment& environment_;
    Events& events_;
    Record& record_;
    Objects& objects_;
    TesterPeer& tester_;
    fault::Injector faults_;
    std::multimap<wire::Instant, Delayed> delayed_; // until when
    std::uint16_t ip_id_ = 0;
};

} // namespace veriroce::interpreter
