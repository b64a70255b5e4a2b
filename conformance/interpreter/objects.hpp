// The objects that a case made on both sides and names: QPs, protection domains, queues, regions,
// windows, and the counters of its loops.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/cm_book.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/qp_book.hpp"
#include "conformance/script/ast.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::interpreter {

// A region of either side.
struct Memory {
    std::string name;
    std::string purpose; // of a region without a name: "the buffer of recv id=3"
    Side side = Side::Dut;
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

// `dut mw`: a window, and the region that it was last bound to.
struct Window {
    std::string name;
    std::string on; // the region
    std::uint8_t type = 1;
    dut::MwHandle mw;
    wire::Rkey rkey;
    std::uint64_t address = 0; // of its first byte, for users of its key
};

// Both ends of one QP of the case.
struct CaseQp {
    QpBook book;
    script::QpSetup setup; // of the DUT's; `dut modify` adds to it
    const script::QpSetup* tester_setup = nullptr;
    engine::QpType type = engine::QpType::Rc;
    wire::IpAddress tester_address;                   // `to=`
    std::optional<wire::IpAddress> alternate_address; // `alt=`
    dut::PdHandle pd;
    dut::QpHandle dut_qp;
    dut::CqHandle cq; // of its sends, and of its receives unless it has two queues
    dut::CqHandle recv_cq;
    std::string srq;                                // empty: it has receives of its own
    engine::QpState state = engine::QpState::Reset; // to which this case brought the DUT's
    engine::QpId engine_qp;
    std::optional<dut::ConnectionHandle> connection; // that the DUT's program accepted for it
    bool gsi = false;       // QP 1, of which the contract knows nothing and has no objects
    bool answering = false; // `tester answers`
    std::uint8_t timeout = 0;
    std::vector<std::size_t> entries; // of this QP, both directions, by their place in the record
    std::vector<std::size_t> heard;   // those from the DUT
    std::size_t next = 0;             // the first of `heard` that no line has claimed
    std::size_t reset_at = 0; // the record's size when the case last brought the DUT's to RESET
    std::deque<dut::Completion> completions;
    std::deque<std::uint64_t> receives; // ids of posted receives that have not completed
    // STA-03, STA-07: ids that the DUT refused to take, because of the QP's state.
    std::set<std::pair<engine::Queue, std::uint64_t>> refused;
    // `judged`: completions and events that no line names need none.
    bool judged = false;
    std::deque<dut::Completion> tester_completions; // as the device's agent would report them
    // The PSN after all requests before the current run of `>` lines.
    std::int64_t run_start = 0;
    bool in_run = false;
    // RNR-03: an RNR NAK that the tester has yet to obey, and how often in a row the DUT refused
    // this request, which needs no receive.
    std::optional<std::size_t> refusal;
    std::int64_t refused_psn = 0;
    std::uint32_t refusals = 0;
    std::optional<std::int64_t> rnr_timer; // the code of the DUT's latest RNR NAK
    bool gave_up = false;                  // the DUT, by the status of a completion (TMO-03)
    // REQ-02: the requests that the tester answered by itself so that the next one may come, and
    // whether a request that a line waited for came after that.
    struct Window {
        std::size_t answered = 0;
        bool helped = false;
    };
    Window window;
};

// A QP before a `reconnect`: the judge reads each life of a QP by itself.
struct PastQp {
    std::string name;
    QpIdentity identity;
    std::uint8_t timeout = 0;
    wire::IpAddress tester_address;
    std::size_t end = 0; // of the record
};

// A piece of a region.
struct Piece {
    Memory* memory = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

struct Objects {
    std::map<std::string, CaseQp> qps; // by their names in the script
    CmBook cm;                         // of what passed between the QPs 1
    struct Listener {                  // on the DUT's host
        std::uint64_t service = 0;
        std::deque<dut::CmEvent> events; // that no line has claimed
    };
    std::optional<Listener> listener;
    std::vector<PastQp> past;
    wire::Qpn unused_qpn;                      // the DUT used it before and no longer has it
    std::map<std::int64_t, dut::PdHandle> pds; // by the script's numbers; 1 is the usual one
    std::map<std::string, dut::CqHandle> cqs;
    std::map<std::string, std::uint32_t> cq_depths; // real ones, of those with a name
    std::map<std::string, dut::SrqHandle> srqs;
    std::map<std::string, std::deque<std::uint64_t>> srq_receives;
    std::map<std::string, std::uint32_t> srq_limits; // not armed yet
    std::deque<Memory> regions;                      // in the order in which they were made
    std::deque<Window> windows;
    std::map<wire::DeviceCounter, std::uint64_t>
        counters_before;           // the DUT's, before the first line
    std::deque<dut::Event> events; // of the DUT, that no line has claimed
    // Of `repeat NAME in`, innermost last.
    std::vector<std::pair<std::string, std::int64_t>> loop_counters;
    std::int64_t loop_turns = 0; // of all loops so far
    std::uint64_t made_regions = 0;
    std::uint8_t least_timeout = 0; // codes of `timeout(n)` below it are worth as much (TMO-05)

    // The case's own QP, for lines that concern none.
    [[nodiscard]] CaseQp& own_qp() { return qps.begin()->second; }
    [[nodiscard]] const CaseQp& own_qp() const { return qps.begin()->second; }
    // The QP that a packet belongs to: the destination is the tester's QPN in packets of the DUT,
    // and the DUT's QPN in packets of the tester. Null if it belongs to none.
    [[nodiscard]] CaseQp* qp_of_packet(Side from, wire::Qpn destination);
    [[nodiscard]] const CaseQp* qp_of_packet(Side from, wire::Qpn destination) const;
    [[nodiscard]] CaseQp* qp_of_dut(dut::QpHandle handle);
    [[nodiscard]] const CaseQp* qp_of_dut(dut::QpHandle handle) const;
    [[nodiscard]] CaseQp* qp_of_engine(engine::QpId id);
    [[nodiscard]] Memory* region(std::string_view name);
    [[nodiscard]] Window* window(std::string_view name);
    // The receives that the QP uses: its own, or those of its shared queue.
    [[nodiscard]] std::deque<std::uint64_t>& receives_of(CaseQp& qp);
    // A key for the next region's pattern, so that no two regions hold the same bytes.
    [[nodiscard]] std::uint64_t next_pattern_key() { return ++made_regions << 32; }
};

// The QP that a line is about; an ERROR if no QP has that name.
Met<CaseQp*> qp_of(Objects& objects, const script::QpRef& ref);

} // namespace veriroce::interpreter
