// A packet of the case, as the tester keeps it: parsed once, its ICRC summed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::interpreter {

struct Entry {
    Side from = Side::Tester;
    std::vector<std::byte> bytes;
    wire::Frame frame;                  // views of `bytes`
    std::optional<wire::Packet> packet; // nothing if the bytes are too few for its headers
    // Why a receiver drops the frame. The tester's own frames may be wrong on purpose.
    std::optional<wire::FrameError> refusal;
    Interval at;
    std::int64_t psn = 0; // in script notation, of a packet of a QP of the case
    // When the DUT last sent the same opcode with the same PSN before this.
    std::optional<Interval> sent_before;
    struct Answered {
        Interval at;
        bool for_good = false; // an RNR NAK asks for it again
    };
    std::optional<Answered> answered; // when the tester first answered that
    bool unprovoked = false;          // sent again, and the tester sent nothing meanwhile
    bool continues_pieces = false;    // a READ asked for again in pieces: not the first of them
    std::uint64_t number = 0;         // of SendFrame
    std::uint32_t line = 0; // of the script, which sent it, expected it or forbade it; 0 if none
    std::vector<std::string> remarks;
    bool on_wire = true;    // it passed the tester's port
    bool tolerated = false; // no line claims it, and none needs to

    // CRC-07: every receiver drops it, so it was lost for all lines that do not ask for an ICRC.
    [[nodiscard]] bool lost() const { return refusal == wire::FrameError::BadIcrc; }
    [[nodiscard]] wire::Datagram datagram() const { return {frame.envelope(), frame.transport}; }
};

} // namespace veriroce::interpreter
