// The numbers by which the two sides of a case name their connection: those of the tester's latest
// REQ, and of what the DUT said about it. They are the defaults of the messages that follow.
//
// Source: rules CM-01, CM-09; the fields by the dissector's table (script/mad_fields.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::interpreter {

using rules::Side;

class CmBook {
  public:
    // A datagram to QP 1, of either side.
    void note(Side from, const wire::Packet& packet);

    struct Asked { // by a REQ
        std::uint64_t transaction = 0;
        std::uint32_t own = 0; // the tester's number of the connection
        friend bool operator==(const Asked&, const Asked&) = default;
    };
    struct Replied {            // by a REP
        std::uint32_t peer = 0; // the DUT's number
        wire::Qpn qpn;
        wire::Psn start_psn; // of the tester's requests
    };
    // Of the latest REQ that was not refused.
    [[nodiscard]] const std::optional<Asked>& asked() const { return connection_.asked; }
    [[nodiscard]] const std::optional<Replied>& replied() const { return connection_.replied; }
    // Of the DUT's latest DREQ.
    [[nodiscard]] std::optional<std::uint64_t> disconnects() const { return disconnects_; }

  private:
    struct Connection {
        std::optional<Asked> asked;
        std::optional<Replied> replied;
    };

    Connection connection_;
    Connection former_; // before the latest REQ
    std::optional<std::uint64_t> disconnects_;
};

} // namespace veriroce::interpreter
