// The header fields that are fixed by the standard or by the connection, in every packet of the
// device: Ethernet, IP, UDP, BTH, pad bytes; and CNPs. No packet of the tester changes them, so
// they hold in every case.
//
// Fields that a switch may change (DSCP, ECN, hop limit, FECN, BECN, resv6) are held to their full
// level only where nothing is between the two ends.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/model/connection.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

// CNP-02: 16 zero bytes behind the BTH.
bool has_cnp_payload(const wire::Packet& packet);

class HeaderChecks {
  public:
    HeaderChecks(const Story& story, DeviationLog& log);

    // A packet of the device whose headers and ICRC are whole. `connection` is null for datagrams
    // and where the device has no such QP.
    void check(const Packet& packet, const Connection* connection);
    // A packet of the tester: a CNP may answer a datagram.
    void take_of_tester(const Packet& packet);
    // A packet of the tester to this QP.
    void take(const Packet& packet, const Connection& connection);
    // One that every receiver drops.
    void check_unsound(const Packet& packet);

  private:
    // What is one value for all packets of a QP, whatever it is.
    struct Seen {
        std::optional<dut::AddressVector> vector; // for which the next three hold
        std::optional<std::uint8_t> hop_limit;
        std::optional<std::uint8_t> ect;
        std::optional<std::uint16_t> request_port;
        std::array<std::optional<bool>, 2> mig_req; // of requests, of responses
        std::int64_t next_request = 0;              // PSN of the first one that was not sent before
    };

    // What the QP's packets were addressed with before its latest address vector.
    struct Former {
        std::optional<dut::AddressVector> vector;
        dut::AddressVector latest;
        std::int64_t newest = -1;      // the newest PSN that the tester asked for
        std::int64_t newest_then = -1; // at that time
    };

    // The hop limit that the device reports while the QP has this address vector.
    struct Reported {
        dut::AddressVector with;
        std::uint8_t hop_limit = 0;
    };

    Former& former_of(const Connection& connection);
    // Of an answer that may have been made with the address vector before; else nothing.
    const dut::AddressVector* former_vector_of(const Packet& packet, const Connection& connection);
    void ethernet(PacketLog& log, const Packet& packet) const;
    void ip(PacketLog& log, const Packet& packet) const;
    void source(PacketLog& log, const Packet& packet, const Connection& connection) const;
    void datagram_path(PacketLog& log, const Packet& packet, const Connection& connection);
    void path(PacketLog& log, const Packet& packet, const Connection& connection);
    void hop_limit(PacketLog& log, const Packet& packet, const Connection& connection, Seen& seen);
    void source_port(PacketLog& log, const Packet& packet, const Connection& connection,
                     Seen& seen);
    void bth(PacketLog& log, const Packet& packet) const;
    void bth_of(PacketLog& log, const Packet& packet, const Connection& connection);
    void destination_qp(PacketLog& log, const Packet& packet) const;
    void cnp(PacketLog& log, const Packet& packet) const;
    // The level of a field that a switch may change.
    [[nodiscard]] rules::Level on_the_way(rules::Level level) const;
    [[nodiscard]] std::optional<std::uint8_t> reported_hop_limit(const Connection& of) const;

    const Story& story_;
    DeviationLog& log_;
    std::map<dut::QpHandle, Reported> hop_limits_; // the latest
    bool hop_limit_as_set_ = false;                // what was set is what the device reports
    std::map<const Connection*, Seen> seen_;
    std::map<const Connection*, Former> former_;
    // The first one from each QP to each address.
    std::vector<std::pair<const Connection*, wire::Envelope>> datagrams_;
    std::set<wire::Qpn> datagram_sources_; // of the tester
};

} // namespace veriroce::model
