// The QPs of the device, as the calls of a story made them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "conformance/model/story.hpp"
#include "dissector/wire/verbs.hpp"

namespace veriroce::model {

// One life of a QP: from RTR to the next RESET.
struct Connection {
    dut::QpHandle handle;
    wire::Qpn qpn;
    wire::QpType type = wire::QpType::Rc;
    bool shared_receives = false;              // its receives come from an SRQ
    std::optional<std::uint32_t> inline_bytes; // of its creation
    dut::QpAttributes attributes;              // the latest value of each that was set
    std::vector<dut::AddressVector> vectors;   // each may have addressed the device's packets
    std::optional<wire::Instant> readdressed;  // when the device was told the latest of them
    bool migrates = false;                     // it has a second path
    wire::Instant began{};                     // when the device was told to enter RTR

    [[nodiscard]] wire::Mtu mtu() const { return attributes.path_mtu.value_or(wire::Mtu::B1024); }
    // 0 until the change to RTR sets it.
    [[nodiscard]] wire::Qpn peer() const { return attributes.dest_qp_num.value_or(wire::Qpn{}); }
    // How many PSNs a request of the device, or of its peer, is after the first one.
    [[nodiscard]] std::int64_t own_psn(wire::Psn psn) const {
        return wire::distance(attributes.sq_psn.value_or(wire::Psn{}), psn);
    }
    [[nodiscard]] std::int64_t peer_psn(wire::Psn psn) const {
        return wire::distance(attributes.rq_psn.value_or(wire::Psn{}), psn);
    }
};

class Connections {
  public:
    explicit Connections(const Setting& setting) : setting_(setting) {}

    // The device may carry out the call from now on. A call that it refused changes nothing.
    void take(const Call& call);

    // These return the latest life of one of the device's QPs, found by its handle, by its own QPN
    // or by its peer's QPN; null if no QP matches. The pointer stays valid as long as this object
    // lives.
    [[nodiscard]] Connection* of_handle(dut::QpHandle handle);
    [[nodiscard]] Connection* of_dut(wire::Qpn qpn);
    [[nodiscard]] Connection* of_peer(wire::Qpn qpn);
    [[nodiscard]] const std::deque<Connection>& all() const { return all_; }
    // The life of the same QP before this one; null if there was none.
    [[nodiscard]] const Connection* former(const Connection& connection) const;
    // Whether the device's QP of this QPN has not reached RTR, or is in RESET or INIT again.
    [[nodiscard]] bool prepares(wire::Qpn qpn) const;

  private:
    void modify(const dut::QpModify& modify, wire::Instant asked);

    const Setting& setting_;
    std::map<dut::QpHandle, Connection> preparing_; // RESET and INIT
    std::deque<Connection> all_;
};

} // namespace veriroce::model
