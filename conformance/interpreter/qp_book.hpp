// The history of one QP of a case: PSNs relative to the requesting side, messages, repetitions. It
// gives the defaults of the tester's packets and tells which packets of the DUT need no line.
//
// PSNs here are relative (script notation): 0 is the first PSN of the side whose requests they
// number, and they may be negative. Source: rules RSP-01, ACK-07, N-36.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "conformance/interpreter/case_result.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::interpreter {

struct QpIdentity {
    std::string name; // in the script; empty for the default QP
    wire::Qpn dut_qpn;
    wire::Qpn tester_qpn;
    wire::Psn dut_start;    // first PSN of the DUT's requests
    wire::Psn tester_start; // first PSN of the tester's requests
    wire::Mtu mtu = wire::Mtu::B1024;
    wire::Service service = wire::Service::Rc; // of the QP
};

class QpBook {
  public:
    explicit QpBook(QpIdentity identity) : identity_(std::move(identity)) {}

    [[nodiscard]] const QpIdentity& identity() const { return identity_; }

    // The PSN of a packet that this side sent, in script notation: requests count from their
    // sender's first PSN, responses from their receiver's. CNPs, other services than
    // the QP's, and datagrams are absolute.
    [[nodiscard]] std::int64_t relative_psn(Side from, const wire::Packet& packet) const;
    [[nodiscard]] wire::Psn absolute_psn(Side from, std::uint8_t opcode, std::int64_t psn) const;

    // Adds a packet; call it in the order in which packets were on the wire.
    void note(Side from, const wire::Packet& packet, Interval at);

    // Tester's requests: the PSN that follows all that were sent, and the PSN before the run of
    // requests that the DUT has not yet answered or dropped.
    [[nodiscard]] std::int64_t next_request() const { return next_request_; }
    void rewind_next_request(std::int64_t psn) { next_request_ = psn; }

    // How many messages of the tester have ended, counting repeated ones again. A lawful MSN of the
    // DUT is not larger (ACK-07).
    [[nodiscard]] std::uint32_t messages_sent() const { return messages_sent_; }

    // How many messages of the DUT end at a PSN up to `psn` (`inclusive`) or before it: the MSN of
    // an honest peer's acknowledge.
    [[nodiscard]] wire::Msn msn_up_to(std::int64_t psn, bool inclusive) const;
    // The latest PSN of the DUT's requests; -1 before the first one.
    [[nodiscard]] std::int64_t last_dut_request() const { return last_dut_request_; }

    struct Asked {
        bool ends_message = false;
        std::uint32_t times = 0;
        std::uint64_t dma_length = 0; // of a READ request
        Interval last;
    };
    // The DUT's latest request with this PSN; nothing if there is none.
    [[nodiscard]] std::optional<Asked> dut_request(std::int64_t psn) const;
    // How often the DUT sent a response with this PSN.
    [[nodiscard]] std::uint32_t dut_responses(std::int64_t psn) const;
    // The PSN of the DUT's latest RNR NAK.
    [[nodiscard]] std::optional<std::int64_t> rnr_naked() const { return rnr_naked_; }
    // Whether the tester sent a request at or before this PSN more than once.
    [[nodiscard]] bool repeated_up_to(std::int64_t psn) const;

  private:
    void note_request_of_tester(std::int64_t psn, const wire::Packet& packet);
    void note_request_of_dut(std::int64_t psn, const wire::Packet& packet, Interval at);

    QpIdentity identity_;
    std::int64_t next_request_ = 0;
    std::uint32_t messages_sent_ = 0;
    std::int64_t last_dut_request_ = -1;
    std::map<std::int64_t, Asked> dut_requests_;
    std::map<std::int64_t, std::uint32_t> dut_responses_;
    std::optional<std::int64_t> rnr_naked_;
    std::optional<std::int64_t> lowest_repeat_; // of the tester's requests
    std::map<std::int64_t, std::uint32_t> tester_requests_;
};

} // namespace veriroce::interpreter
