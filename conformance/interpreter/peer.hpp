// What a dialogue keeps of its case: regions, windows, packets, and both ends of its QPs. Only the
// dialogue and its parts know it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/qp_book.hpp"
#include "conformance/script/ast.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::interpreter {

// A region of either side.
struct Memory {
    std::string name;
    script::Side side = script::Side::Dut;
    dut::MrHandle mr;               // of the DUT
    std::vector<std::byte> bytes;   // of the tester: the region; of the DUT: as last written
    std::vector<std::byte> written; // of the tester: as last written by a line
    std::uint64_t address = 0;
    wire::Rkey rkey;
    wire::Lkey lkey;
    engine::Access access;
    std::uint64_t pattern_key = 0;
    dut::PdHandle pd;  // of the DUT
    bool gone = false; // deregistered
};

// `dut mw`: a window, and what it was bound to last.
struct Window {
    std::string name;
    std::string on; // the region
    std::uint8_t type = 1;
    dut::MwHandle mw;
    wire::Rkey rkey;
    std::uint64_t address = 0; // of its first byte, for who uses its key
};

// A packet of the case: whatever was sent or heard, in the order of time.
struct Entry {
    Side from = Side::Tester;
    std::vector<std::byte> bytes;
    wire::Frame frame;
    std::optional<wire::Packet> packet; // nothing if it was too short for its headers
    std::int64_t psn = 0;               // in script notation
    Interval at;
    std::uint64_t number = 0; // of SendFrame
    std::vector<std::string> remarks;
    bool on_wire = true;    // it passed the tester's port
    bool tolerated = false; // of the DUT: it was passed over, as it needs no line
};

// One QP of the case, both ends of it.
struct Peer {
    QpBook book;
    script::QpSetup setup; // of the DUT's; `dut modify` adds to it
    const script::QpSetup* tester_setup = nullptr;
    engine::QpType type = engine::QpType::Rc;
    wire::IpAddress tester_address; // `to=`
    dut::PdHandle pd;
    dut::QpHandle dut_qp;
    dut::CqHandle cq;
    std::string srq;                                // empty: it has receives of its own
    engine::QpState state = engine::QpState::Reset; // where this case brought the DUT's
    engine::QpId engine_qp;
    bool answering = false; // `tester answers`
    std::uint8_t timeout = 0;
    std::uint64_t message_bytes = 0;  // of the message that our last FIRST opened
    std::vector<std::size_t> entries; // of this QP, both directions, into the history
    std::vector<std::size_t> heard;   // those from the DUT
    std::size_t next = 0;             // the first of `heard` that no line has claimed
    std::deque<dut::Completion> completions;
    std::deque<std::uint64_t> receives; // ids of posted receives that have not completed
    std::deque<dut::Completion> tester_completions; // as the device's agent would tell them
    // The PSN that followed all requests before the present run of `>` lines.
    std::int64_t run_start = 0;
    bool in_run = false;
};

} // namespace veriroce::interpreter
