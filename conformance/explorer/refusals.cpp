// Requests that a responder must refuse, and what comes after them.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conformance/explorer/requests.hpp"

namespace veriroce::explorer {
namespace {

constexpr std::int64_t kMostPacketsOfIllegal = 6; // in one line
// How far keys are beside those that exist.
constexpr std::array<std::uint32_t, 6> kBeside{1, 1, 2, 128, 0x10000, 0x1000000};

// A request that a responder must refuse; `certain`: with a NAK, and the QP is
// in ERR after it.
struct Illegal {
    std::vector<std::string> packets; // without their QP
    bool certain = true;
};

std::string remote_of(std::string_view region, std::uint32_t domain, std::uint64_t offset) {
    return fmt::format("va={0}{1}+{2} rkey={0}{1}", region, domain, offset);
}

// The same of an atomic.
Illegal bad_atomic(Sketch& sketch, const Qp& qp) {
    const std::uint32_t domain = qp.domain;
    const std::string operation =
        sketch.percent(50) ? fmt::format("FETCH_ADD psn={} add=1 ", qp.psn)
                           : fmt::format("COMPARE_SWAP psn={} compare=0 swap=1 ", qp.psn);
    if (!qp.may_atomic) return {{operation + remote_of("f", domain, 0)}};
    switch (sketch.random().below(6)) {
    case 0: return {{operation + remote_of("f", domain, kFixedBytes)}};
    case 1: return {{operation + remote_of("n", domain, 8)}};
    case 2: return {{operation + remote_of("k", domain, 0)}};
    case 3:
        return {{fmt::format("{}va=f{} rkey=f{}+{}", operation, domain, domain,
                             sketch.random().pick(kBeside))}};
    case 4: {
        const std::uint64_t word = 8 * sketch.random().below(8);
        const std::uint64_t beside = 1 + sketch.random().below(7);
        return {{operation + remote_of("f", domain, word + beside)}, false};
    }
    default: break;
    }
    return {{operation + remote_of(sketch.domains() < 2 ? "s" : "f",
                                   sketch.domains() < 2 ? domain : 3 - domain, 0)}};
}

// KEY-01 to KEY-05, KEY-07, KEY-08: the key or the range is wrong.
Illegal bad_access(Sketch& sketch, Qp& qp) {
    sim::Random& random = sketch.random();
    const std::int64_t psn = qp.psn;
    const std::uint32_t domain = qp.domain;
    const std::uint64_t bytes = 1 + random.below(sketch.mtu());
    const std::uint64_t beyond = kFixedBytes - random.below(bytes);
    const std::string write = fmt::format("RDMA_WRITE_ONLY psn={} len={} ", psn, bytes);
    const std::string read = fmt::format("RDMA_READ_REQUEST psn={} dmalen={} ", psn, bytes);
    if (!qp.may_write && sketch.percent(50)) return {{write + remote_of("f", domain, 0)}};
    if (!qp.may_read && sketch.percent(50)) return {{read + remote_of("f", domain, 0)}};
    if (sketch.reach().atomics && sketch.percent(25)) return bad_atomic(sketch, qp);
    if (sketch.features().extensions && qp.may_write && sketch.percent(20)) { // EXT-03
        return {{fmt::format("FLUSH psn={} {} dmalen={} plt=1 sel=0", psn,
                             remote_of("f", domain, beyond), bytes)}};
    }
    const std::string request = sketch.features().reads && sketch.percent(40) ? read : write;
    switch (random.below(12)) {
    case 8: // the upper half of an address counts as well
        return {{fmt::format("{}va=f{}+0x100000000 rkey=f{}", request, domain, domain)}};
    case 9:
    case 10: { // the first packets are within, the last one is not
        const std::uint64_t within = sketch.mtu() + random.below(3 * sketch.mtu());
        if (within > kFixedBytes) break;
        const std::uint64_t last = within + 1 + random.below(sketch.mtu());
        const bool writes = sketch.percent(60);
        return {{fmt::format("RDMA_{} psn={} va=f{}+{} rkey=f{} {}={}",
                             writes ? "WRITE" : "READ_REQUEST", psn, domain, kFixedBytes - within,
                             domain, writes ? "len" : "dmalen", last)},
                false};
    }
    case 11: // an immediate needs the right as well
        if (!sketch.features().immediate) break;
        (void)with_receive(sketch, qp, 0);
        return {{fmt::format("RDMA_WRITE_ONLY_WITH_IMM psn={} len={} {} imm=0x1", psn, bytes,
                             remote_of("n", domain, 0))},
                false};
    case 0:
        return {
            {fmt::format("{}va=f{} rkey=f{}+{}", request, domain, domain, random.pick(kBeside))}};
    case 6: // KEY-07
        if (!sketch.take_spare(domain)) break;
        qp.pending.push_back(fmt::format("dut    dereg g{}", domain));
        return {{request + remote_of("g", domain, 0)}};
    case 1: return {{fmt::format("{}va=f{} rkey=abs:0x5A5A5A5A", request, domain)}};
    case 2: return {{request + remote_of("f", domain, beyond)}};
    case 3: return {{fmt::format("{}va=f{}-1 rkey=f{}", request, domain, domain)}};
    case 4: return {{write + remote_of("n", domain, 0)}};
    case 5: return {{request + remote_of("k", domain, 0)}};
    default: break;
    }
    if (sketch.domains() < 2) return {{request + remote_of("s", domain, 0)}};
    return {{request + remote_of("f", 3 - domain, 0)}};
}

// OPC-01 to OPC-05, OPC-10: the order of opcodes.
Illegal bad_order(Sketch& sketch, const Qp& qp) {
    constexpr std::array<std::string_view, 4> orphans{"SEND_MIDDLE", "SEND_LAST",
                                                      "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST"};
    constexpr std::array<std::string_view, 4> intruders{"RDMA_WRITE_FIRST", "RDMA_WRITE_ONLY",
                                                        "SEND_MIDDLE", "SEND_LAST"};
    constexpr std::array<std::string_view, 2> with_immediate{"SEND_LAST", "RDMA_WRITE_LAST"};
    if (sketch.features().immediate && sketch.percent(15))
        return {{fmt::format("{}_WITH_IMM psn={} imm=7", sketch.random().pick(with_immediate),
                             qp.psn)}};
    if (sketch.reach().windows && sketch.percent(15))
        return {{fmt::format("SEND_LAST_WITH_INV psn={} ikey=abs:0x5A5A00", qp.psn)}};
    if (sketch.percent(50))
        return {{fmt::format("{} psn={}", sketch.random().pick(orphans), qp.psn)}};
    const std::string target = remote_of("f", qp.domain, 0);
    const std::string begin =
        fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", qp.psn, target, 3 * sketch.mtu());
    if (sketch.reach().atomics && sketch.percent(25)) // answered requests are no part of it either
        return {{begin, fmt::format("FETCH_ADD psn={} {} add=1", qp.psn + 1, target)}, false};
    if (sketch.reach().reading && sketch.percent(25))
        return {{begin, fmt::format("RDMA_READ_REQUEST psn={} {} dmalen=8", qp.psn + 1, target)},
                false};
    if (sketch.reach().flush && sketch.percent(20))
        return {{begin, fmt::format("FLUSH psn={} {} dmalen=8 plt=1 sel=0", qp.psn + 1, target)},
                false};
    if (sketch.reach().atomic_write && sketch.percent(20))
        return {{begin, fmt::format("ATOMIC_WRITE psn={} {} len=8", qp.psn + 1, target)}, false};
    const std::string_view intruder = sketch.random().pick(intruders);
    const bool remote = intruder == "RDMA_WRITE_FIRST" || intruder == "RDMA_WRITE_ONLY";
    return {{begin, fmt::format("{} psn={}{}", intruder, qp.psn + 1, remote ? " " + target : "")}};
}

// LEN-01 to LEN-06, ATM-02, BTH-11: lengths, alignment, padding.
Illegal bad_length(Sketch& sketch, const Qp& qp) {
    const std::uint32_t mtu = sketch.mtu();
    const std::string target = remote_of("f", qp.domain, 0);
    const std::int64_t psn = qp.psn;
    switch (sketch.random().below(10)) {
    case 0:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={} len={}", psn, target, 2 * mtu,
                             sketch.percent(30) ? 0 : mtu - 1 - sketch.random().below(8))}};
    case 6: // the two lengths differ by what 16 bits do not tell
        return {
            {fmt::format("RDMA_WRITE_ONLY psn={} {} dmalen={} len=64", psn, target, 65'536 + 64)},
            false};
    case 7: // a whole last packet, and more is announced
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, 3 * mtu),
                 fmt::format("RDMA_WRITE_LAST psn={} len={}", psn + 1, mtu)},
                false};
    case 8:
        return {{fmt::format("RDMA_WRITE_ONLY psn={0} {1} dmalen={2} len={2}", psn, target,
                             mtu + 4 * (1 + sketch.random().below(mtu / 4)))},
                false};
    case 1:
        return {{fmt::format("RDMA_WRITE_ONLY psn={} {} dmalen=64 len={}", psn, target,
                             60 + sketch.random().below(4))},
                false};
    case 2:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, mtu + 8),
                 fmt::format("RDMA_WRITE_LAST psn={} len=12", psn + 1)},
                false};
    case 3:
        return {{fmt::format("RDMA_WRITE_FIRST psn={} {} dmalen={}", psn, target, mtu + 8),
                 fmt::format("RDMA_WRITE_LAST psn={} len=0", psn + 1)},
                false};
    case 4:
        if (mtu < 1024) break; // its PSNs would be half of all
        return {{fmt::format("RDMA_READ_REQUEST psn={} {} dmalen=0x80000001", psn, target)}, false};
    case 5:
        if (sketch.reach().atomic_write && qp.may_write && sketch.percent(50))
            return {{fmt::format("ATOMIC_WRITE psn={} {} len=8", psn,
                                 remote_of("f", qp.domain, 1 + sketch.random().below(7)))},
                    false};
        if (sketch.reach().atomics)
            return {{fmt::format("FETCH_ADD psn={} {} add=1", psn, remote_of("f", qp.domain, 4))},
                    false};
        break;
    default: break;
    }
    return {{fmt::format("SEND_ONLY psn={} opcode=0x{:X}", psn, 0x18 + sketch.random().below(4))},
            false};
}

// LEN-06, KEY-12: it does not fit into its receive, or the receive names no memory.
Illegal bad_receive(Sketch& sketch, Qp& qp) {
    const std::uint64_t id = sketch.next_id();
    const std::uint64_t room = sketch.random().below(2 * sketch.mtu());
    if (sketch.features().pieces && sketch.percent(25)) { // a part of it is not to be written
        const std::uint64_t sink = sketch.sink(qp.domain, 8);
        const std::uint64_t source = sketch.source(qp.domain, 64);
        qp.pending.push_back(fmt::format("dut    recv {0}id={1} local=k{2}[{3} +8],s{2}[{4} +64]",
                                         of(qp), id, qp.domain, sink, source));
        return {{fmt::format("SEND psn={} len={}", qp.psn, 9 + sketch.random().below(64))}, false};
    }
    std::string where = "len=0";
    if (room > 0)
        where = fmt::format("local=k{}[{} +{}]", qp.domain, sketch.sink(qp.domain, room), room);
    std::string line = fmt::format("dut    recv {}id={} {}", of(qp), id, where);
    const bool no_memory = room > 0 && sketch.percent(25);
    if (no_memory) line = with_option(std::move(line), "lkey=abs:0x5A5A00");
    qp.pending.push_back(std::move(line));
    const std::uint64_t bytes = no_memory ? room : room + 1 + sketch.random().below(sketch.mtu());
    return {{fmt::format("SEND psn={} len={}", qp.psn, bytes)}, false};
}

// LEN-04: the same of a WRITE with immediate data, which would take a receive.
void add_immediate(Sketch& sketch, Qp& qp, Illegal& found) {
    constexpr std::array<std::string_view, 2> ends{"RDMA_WRITE_ONLY", "RDMA_WRITE_LAST"};
    std::string& last = found.packets.back();
    for (const std::string_view end : ends) {
        if (!last.starts_with(end)) continue;
        last.insert(end.size(), "_WITH_IMM");
        last += " imm=7";
        qp.pending.push_back(fmt::format("dut    recv {}id={} len=0", of(qp), sketch.next_id()));
        return;
    }
}

} // namespace

void ask_illegally(Sketch& sketch, Qp& qp) {
    Illegal found;
    switch (sketch.random().below(4)) {
    case 0: found = bad_access(sketch, qp); break;
    case 1: found = bad_order(sketch, qp); break;
    case 2:
        if (!qp.shared && qp.receives.empty()) {
            found = bad_receive(sketch, qp);
            break;
        }
        [[fallthrough]];
    default:
        found = bad_length(sketch, qp);
        if (!qp.shared && sketch.features().immediate && sketch.percent(30))
            add_immediate(sketch, qp, found);
        break;
    }
    for (const std::string& packet : found.packets)
        qp.pending.push_back(sends(qp) + packet);
    qp.pending.back() += " ackreq";
    // The refused message may have taken a receive (N-14).
    if (qp.shared && sketch.shared_receives() > 0) --sketch.shared_receives();
    const std::size_t before = qp.pending.size();
    if (found.certain) expect(sketch, qp, 50, fmt::format("dut    state {}ERR", of(qp)));
    qp.close();
    qp.in_error = qp.pending.size() > before;
    // N-07: silence, whatever follows.
    const std::int64_t after = found.packets.size() == 1 ? kMostPacketsOfIllegal : 2;
    if (sketch.percent(50)) {
        qp.pending.push_back(fmt::format("{}SEND_ONLY psn={} ackreq", sends(qp), qp.psn + after));
    }
}

void speak_to_the_dead(Sketch& sketch, Qp& qp) {
    if (qp.in_error && sketch.features().aftermath && sketch.percent(20))
        return work_in_error(sketch, qp);
    if (!sketch.percent(20)) return;
    if (sketch.features().duplicates && !qp.sent.empty() && sketch.percent(30)) {
        const Sent& one = qp.sent[sketch.random().below(qp.sent.size())];
        return qp.pending.push_back(one.packets.front());
    }
    constexpr std::int64_t apart = 8; // no PSN stands for two requests
    const std::int64_t psn = qp.psn += apart;
    const std::string_view mark = sketch.features().marks && sketch.percent(40) ? " ip.ecn=3" : "";
    if (sketch.percent(50)) {
        return qp.pending.push_back(
            fmt::format("{}SEND_ONLY psn={} ackreq{}", sends(qp), psn, mark));
    }
    qp.pending.push_back(fmt::format("{}RDMA_READ_REQUEST psn={} va=f{} rkey=f{} dmalen=64",
                                     sends(qp), psn, qp.domain, qp.domain));
}

} // namespace veriroce::explorer
