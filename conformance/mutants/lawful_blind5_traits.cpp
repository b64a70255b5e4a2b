// Lawful devices with a trait, a floor of the ACK timer, or something that they lack; each joined
// with other freedoms.
#include <chrono>
#include <deque>
#include <map>
#include <utility>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_lawful_blind5_traits {
namespace {

using engine::AckPolicy;
using engine::AfterLoss;
using engine::AfterRnr;
using engine::FirstMsn;
using engine::PartialReadReply;
using engine::QpState;
using engine::ReadRestart;
using engine::RepeatedNak;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using std::chrono::microseconds;
using std::chrono::milliseconds;
namespace right = engine::request_check;

bool of_rc(const wire::Packet& packet) {
    return is_rc_request(packet) || is_rc_response(packet);
}

bool listens(QpState state) {
    return state == QpState::Rtr || state == QpState::Rts || state == QpState::Sqd;
}

// ENC-14, N-05: whether a datagram came by the QP's own path.
bool by_path(const engine::QpReport& report, const wire::Envelope& envelope) {
    const auto& path = report.attributes.address;
    constexpr wire::VlanId none;
    return path && path->destination == envelope.source && path->source == envelope.destination &&
           path->vlan.value_or(none).id == envelope.vlan.value_or(none).id;
}

// BTH-01, BTH-07 and the above: what a right device looks at further.
bool heard(const engine::QpReport& report, const Passage& passage) {
    const wire::Packet& packet = passage.packet;
    return listens(report.state) && of_rc(packet) && of_this_connection(report, passage) &&
           by_path(report, passage.envelope);
}

// --- out of order

// G4: "out-of-order data placement ... no NAK on gap".
RequestVerdict no_nak_for_a_gap(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    return verdict == RequestVerdict::NakSequence ? RequestVerdict::Drop : verdict;
}

// The datagrams that wait for a gap to be filled, and those that have just gone on: their bytes
// must live until they have passed.
struct Shelf {
    std::deque<engine::OwnedDatagram> held;
    std::deque<engine::OwnedDatagram> released;

    static wire::Psn psn_of(const engine::OwnedDatagram& datagram) {
        const auto bth = wire::Bth::decode(datagram.bytes);
        return bth ? bth->psn : wire::Psn{};
    }
    [[nodiscard]] bool has(wire::Psn psn) const {
        return std::ranges::any_of(held, [psn](const auto& one) { return psn_of(one) == psn; });
    }
    // The packet with this PSN, if it waits.
    std::optional<wire::Packet> release(wire::Psn psn) {
        const auto found =
            std::ranges::find_if(held, [psn](const auto& one) { return psn_of(one) == psn; });
        if (found == held.end()) return std::nullopt;
        released.push_back(std::move(*found));
        held.erase(found);
        const auto packet = wire::decode_packet(released.back().bytes);
        if (!packet) return std::nullopt;
        return *packet;
    }
};

struct WaitingRequests {
    Arrivals arrivals;
    Shelf shelf;
};

// Requests that come too early, `Window` PSNs at most, wait for what is missing. One that comes a
// second time does not wait.
template <bool (*Keeps)(const wire::OpcodeInfo&), std::int32_t Window>
class HoldsRequests final : public QpFilter<WaitingRequests> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [arrivals, shelf] = qp.memory;
        if (!packet.info().request() || !heard(qp.report, passage)) return;
        shelf.released.clear();
        switch (arrivals.note(packet, qp.first_request(), qp.mtu())) {
        case Arrivals::Place::Behind: return;
        case Arrivals::Place::Expected: go_on(qp, passage); return;
        case Arrivals::Place::Ahead: break;
        }
        const wire::Psn next = arrivals.next.value_or(qp.first_request());
        const bool near = wire::distance(next, packet.bth.psn) <= Window;
        if (!near || !Keeps(packet.info()) || shelf.has(packet.bth.psn)) return;
        shelf.held.push_back(datagram_of(packet, passage.envelope));
        passage.dropped = true;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [arrivals, shelf] = qp.memory;
        if (!packet.info().response()) return;
        heed_nak(arrivals, packet);
        if (is_nak(packet)) shelf.held.clear(); // RNR-04: what comes later is dropped
        const wire::Psn next = arrivals.next.value_or(qp.first_request());
        if (is_ack(packet) && wire::distance(next, packet.bth.psn) >= 0) {
            arrivals.expect(packet.bth.psn + 1);
        }
    }

  private:
    static void go_on(Qp& qp, Passage& passage) {
        auto& [arrivals, shelf] = qp.memory;
        while (arrivals.next) {
            const auto packet = shelf.release(*arrivals.next);
            if (!packet) break;
            arrivals.note(*packet, qp.first_request(), qp.mtu());
            passage.after.push_back(*packet);
        }
        if (!arrivals.next) return;
        std::erase_if(shelf.held, [&](const engine::OwnedDatagram& one) {
            return wire::distance(*arrivals.next, Shelf::psn_of(one)) < 0;
        });
    }
};

bool every_request(const wire::OpcodeInfo& /*info*/) {
    return true;
}
bool writes(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::RdmaWrite;
}

struct OpenRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    wire::Psn next; // that is missing

    [[nodiscard]] bool holds(wire::Psn psn) const { return engine::forward(first, psn) < packets; }
};
struct WaitingResponses {
    std::deque<OpenRead> open;
    Shelf shelf; // of the oldest
};

// REQ-09: "device may keep later responses (selective)": those of the oldest READ wait for what is
// missing. One that comes a second time goes on to the engine, which asks again.
template <std::size_t Most>
class HoldsReadResponses final : public QpFilter<WaitingResponses> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        auto& open = qp.memory.open;
        const wire::Psn psn = packet.bth.psn;
        if (std::ranges::any_of(open, [psn](const OpenRead& read) { return read.holds(psn); })) {
            return; // asked again
        }
        if (open.size() == most_reads) { // none is so old any more
            open.pop_front();
            qp.memory.shelf.held.clear();
        }
        open.push_back({.first = psn,
                        .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                        .next = psn});
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [open, shelf] = qp.memory;
        if (!is_read_response(packet) || !heard(qp.report, passage)) return;
        shelf.released.clear();
        if (open.empty() || !open.front().holds(packet.bth.psn)) return;
        OpenRead& read = open.front();
        const std::uint32_t missing = engine::forward(read.first, read.next);
        const std::uint32_t place = engine::forward(read.first, packet.bth.psn);
        if (place > missing) {
            if (shelf.held.size() >= Most || shelf.has(packet.bth.psn)) return;
            shelf.held.push_back(datagram_of(packet, passage.envelope));
            passage.dropped = true;
            return;
        }
        if (place < missing) return;
        read.next += 1;
        while (read.holds(read.next)) {
            const auto next = shelf.release(read.next);
            if (!next) break;
            passage.after.push_back(*next);
            read.next += 1;
        }
        if (read.holds(read.next)) return;
        open.pop_front();
        shelf.held.clear();
    }

  private:
    static constexpr std::size_t most_reads = 256;
};

// --- several ports

// ENC-03 tells every receiver to ignore the port; the QP's own port, and three beside it.
constexpr unsigned kPorts = 4;

void to_port(engine::OwnedDatagram& datagram, unsigned which) {
    constexpr unsigned bit = 5;
    datagram.envelope.source_port ^= static_cast<std::uint16_t>((which % kPorts) << bit);
}

void port_by_psn(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (of_rc(packet)) to_port(datagram, packet.bth.psn.value());
}

void port_by_run_of_psns(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr unsigned run = 8;
    if (is_rc_request(packet)) to_port(datagram, packet.bth.psn.value() / run);
}

// A flow that has paused takes the next path; answers have a flow of their own.
template <int PauseUs>
class Flowlets final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && of_rc(*packet)) {
            Flow& flow = flows_[{packet->bth.dest_qp, packet->info().response()}];
            if (flow.last && now - *flow.last >= microseconds(PauseUs)) ++flow.port;
            flow.last = now;
            to_port(datagram, flow.port);
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        std::optional<wire::Instant> last;
        unsigned port = 0;
    };
    std::map<std::pair<wire::Qpn, bool>, Flow> flows_;
};

// --- another DSCP

constexpr std::uint8_t kAf11 = 10;
constexpr std::uint8_t kAf31 = 26;
constexpr std::uint8_t kEf = 46;

void dscp_of_requests(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_rc_request(packet)) datagram.envelope.dscp = kAf31;
}

void dscp_by_kind(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_cnp(packet)) return; // CNP-06: it has its own
    const bool answer = packet.info().operation == wire::Operation::Acknowledge ||
                        packet.info().operation == wire::Operation::AtomicAcknowledge;
    datagram.envelope.dscp = answer ? kEf : kAf31;
}

void dscp_of_long_messages(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    const bool alone = packet.info().position == wire::Position::Only;
    if (of_rc(packet) && !alone) datagram.envelope.dscp = kAf11;
}

// --- pages that are not there

struct Paging {
    Arrivals arrivals;
    std::optional<wire::Psn> awaits; // the request that was refused
    std::uint32_t times = 0;         // that it was refused
    NewestPsn answered;
    wire::Msn msn;
    bool dead = false; // a fatal NAK was sent
};

// A request that is the first to touch 64 KiB of a region is refused `Times` times, until they are
// there; the device keeps `Most` of them. Only where the MSN is certain: all messages before were
// acknowledged.
template <std::uint32_t Times, std::size_t Most>
class FaultsPages final : public DmaFilter<Paging> {
  protected:
    using typename QpFilter<Paging>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Paging& memory = qp.memory;
        if (memory.dead || !packet.info().request()) return;
        if (memory.awaits && wire::distance(*memory.awaits, packet.bth.psn) > 0) {
            passage.dropped = true; // RNR-04
            return;
        }
        if (!heard(qp.report, passage) || !is_reliable(qp.report)) return;
        if (memory.awaits) {
            if (wire::distance(*memory.awaits, packet.bth.psn) < 0) return;
            if (memory.times < Times) {
                refuse(qp, passage);
                return;
            }
            memory.awaits.reset();
            memory.arrivals.note(packet, qp.first_request(), qp.mtu());
            return;
        }
        Arrivals after = memory.arrivals;
        const bool expected =
            after.note(packet, qp.first_request(), qp.mtu()) == Arrivals::Place::Expected;
        const bool certain =
            after.first == (memory.answered.psn ? *memory.answered.psn + 1 : qp.first_request());
        if (expected && certain && packet.info().starts_message() && !there(packet)) {
            memory.times = 0;
            memory.awaits = packet.bth.psn;
            refuse(qp, passage);
            return;
        }
        memory.arrivals = after;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Paging& memory = qp.memory;
        if (!packet.info().response()) return;
        if (is_nak(packet)) {
            memory.dead |= is_fatal_nak(packet);
            memory.arrivals.expect(packet.bth.psn);
            return;
        }
        memory.answered.note(packet.bth.psn);
        if (has_aeth(packet)) memory.msn = packet.aeth.msn;
    }

  private:
    using Page = std::pair<wire::Rkey, std::uint64_t>;

    // Whether the page is there; if not, it is fetched. What names no region of the host's has no
    // page that could be missing.
    bool there(const wire::Packet& packet) {
        const bool reth = packet.headers.has(wire::Header::Reth);
        if (!reth && !packet.headers.has(wire::Header::AtomicEth)) return true;
        const wire::Rkey rkey = reth ? packet.reth.rkey : packet.atomic.rkey;
        const std::uint64_t address =
            reth ? packet.reth.virtual_address : packet.atomic.virtual_address;
        const std::uint64_t length = reth ? packet.reth.dma_length : sizeof(std::uint64_t);
        if (length == 0 || regions().at(rkey, address, length).empty()) return true;
        constexpr unsigned page_bits = 16;
        const Page page{rkey, address >> page_bits};
        if (std::ranges::find(pages_, page) != pages_.end()) return true;
        pages_.push_back(page);
        if (pages_.size() > Most) pages_.pop_front();
        return false;
    }
    static void refuse(Qp& qp, Passage& passage) {
        Paging& memory = qp.memory;
        ++memory.times;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(
            qp.peer(), qp.report.attributes.pkey.value_or(passage.packet.bth.pkey),
            passage.packet.bth.psn,
            wire::Syndrome::rnr(qp.report.attributes.min_rnr_timer.value_or(0)), memory.msn));
    }

    std::deque<Page> pages_;
};

bool begins(const wire::OpcodeInfo& info) {
    return info.starts_message();
}
bool reads_memory(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::RdmaReadRequest ||
           info.operation == wire::Operation::CompareSwap ||
           info.operation == wire::Operation::FetchAdd;
}

// --- before RTR

struct Early {
    std::deque<engine::OwnedDatagram> kept;
    std::deque<engine::OwnedDatagram> released;
};

// STA-01, STA-02: requests of a QP that does not listen yet are kept, `Most` of them, and carried
// out when it hears the next packet, if they are the first that it expects.
template <std::size_t Most, bool InReset>
class KeepsEarly final : public QpFilter<Early> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [kept, released] = qp.memory;
        released.clear();
        const QpState state = qp.report.state;
        if (state == QpState::Init || (InReset && state == QpState::Reset)) {
            if (is_rc_request(packet) && kept.size() < Most) {
                kept.push_back(datagram_of(packet, passage.envelope));
            }
            return; // the engine drops it
        }
        if (kept.empty() || !heard(qp.report, passage)) return;
        Arrivals arrivals;
        for (engine::OwnedDatagram& one : kept) {
            const auto early = wire::decode_packet(one.bytes);
            if (!early || !by_path(qp.report, one.envelope)) continue;
            const auto place = arrivals.note(*early, qp.first_request(), qp.mtu());
            if (place != Arrivals::Place::Expected) continue;
            passage.before.push_back(*early);
            released.push_back(std::move(one)); // its bytes stay where they are
        }
        kept.clear();
    }
};

// --- a full completion queue

// KEY-13: "some NICs ... (FullCqIdlesQp)". The QP hears and sends nothing any more; the host is not
// told, and reads of a QP the state that it has set last.
class FullCqStops final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool overflow =
            event.type == engine::EventType::CqErr || event.type == engine::EventType::QpFatal;
        if (overflow) return std::nullopt;
        return event;
    }
    void queried(engine::QpReport& report) override {
        const auto set = states_.find(report.qpn);
        if (report.state != QpState::Err || set == states_.end()) return;
        report.state = set->second;
        report.attributes.state = set->second;
    }
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
    }
    void qp_destroyed(wire::Qpn qpn) override { states_.erase(qpn); }

  private:
    std::map<wire::Qpn, QpState> states_; // as the host set them
};

// --- what a device does not have

// Makes a modify_qp one that the engine refuses, with nothing changed: no such code exists.
void spoil(engine::QpAttributes& attributes) {
    constexpr std::uint8_t no_code = 32;
    attributes.timeout = no_code;
}

template <bool (*Refuses)(const engine::QpAttributes&)>
class RefusesModify final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (Refuses(attributes)) spoil(attributes);
    }
};

bool drains(const engine::QpAttributes& attributes) {
    return attributes.state == QpState::Sqd;
}
bool of_256_bytes(const engine::QpAttributes& attributes) {
    return attributes.path_mtu == wire::Mtu::B256;
}

class ConnectsOnce final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const bool used = std::ranges::find(connected_, qpn) != connected_.end();
        if (attributes.state == QpState::Init && used) spoil(attributes);
    }
    void qp_changed(const engine::QpReport& report) override {
        const bool has_peer = report.attributes.dest_qp.value_or(wire::Qpn{}).value != 0;
        if (report.state == QpState::Rtr && has_peer) connected_.push_back(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { std::erase(connected_, qpn); }

  private:
    std::vector<wire::Qpn> connected_; // those that were
};

// OPC-09: "atomics absent: NAK 0x61 MUST".
RequestVerdict no_atomics(const RequestView& view) {
    const bool atomic = view.packet.headers.has(wire::Header::AtomicEth);
    return atomic ? RequestVerdict::NakInvalidRequest : right::rights(view);
}

// OPC-09, BTH-06: "Op unknown to the device generation (16/17/1C/1D on old HW)" is NAKed.
RequestVerdict no_invalidate(const RequestView& view) {
    return view.info.invalidates() ? RequestVerdict::NakInvalidRequest : right::known_opcode(view);
}

constexpr std::array kMutants{
    // TMO-08 "adaptive retransmission on/off both characterised"; TMO-01 "<= 4T"; REQ-09 "Legal
    // restart PSN is anything from the READ's first PSN to the first missing PSN".
    Mutant{.name = "first_probe_after_300_us_and_reads_from_their_start",
           .rule = "TMO-08",
           .description = "Resends first after 300 us and then twice as late each time up to 2 T; "
                          "a READ is asked for again as a whole.",
           .traits = "adaptive_retransmission",
           .behaviour = {.read_restart = ReadRestart::WholeRead,
                         .timeout_sixteenths = 32,
                         .adaptive_timeout = microseconds(300)}},
    // TMO-08; REQ-11 "selective repeat allowed by trait"; REQ-02 sets an upper limit only.
    Mutant{.name = "probe_of_one_packet_after_2_ms",
           .rule = "TMO-08",
           .description = "After 2 ms, 4 ms and so on up to T the oldest packet alone is sent "
                          "again as a probe, and the next one when it is acknowledged; 256 packets "
                          "at most are on their way.",
           .traits = "adaptive_retransmission selective_repeat",
           .behaviour = {.max_unacked_packets = 256,
                         .after_loss = AfterLoss::OnePacket,
                         .adaptive_timeout = milliseconds(2)}},
    // TMO-01 ">= T"; "Later intervals may grow (adaptive retransmission, hfi1 s_timeout_shift)";
    // RNR-13 "may first send only the NAKed message"; BTH-18 "at least on the last packet".
    Mutant{.name = "first_timeout_at_t_then_doubling",
           .rule = "TMO-01",
           .description = "The first timeout is T to the nanosecond and each further one twice as "
                          "long; after an RNR wait the NAKed message goes alone, and every 8th "
                          "packet asks for an ACK.",
           .traits = "adaptive_retransmission",
           .behaviour = {.ack_request_every = 8,
                         .timeout_sixteenths = 16,
                         .after_rnr = AfterRnr::OneMessage,
                         .timeout_grows = true}},
    // TMO-08; TMO-01 as above; REQ-15 INFO: "qib restarts (and counts) per NAK".
    Mutant{.name = "probes_from_20_ms_grow_beyond_t",
           .rule = "TMO-08",
           .description = "Where T is longer than 20 ms, resends after 20 ms, 40 ms and so on up "
                          "to T, and then after 2 T, 4 T and so on; every sequence NAK starts the "
                          "resending again.",
           .traits = "adaptive_retransmission",
           .behaviour = {.repeated_nak = RepeatedNak::Restarts,
                         .timeout_grows = true,
                         .adaptive_timeout = milliseconds(20)}},
    // Trait: "its ACK timer has its own time, whatever is configured"; TMO-02 is kept. ACK-03
    // "one ACK for many"; ACK-05 and nothing else says when a completion must be seen.
    Mutant{.name = "own_timer_of_100_ms_and_late_acks",
           .rule = "TMO-01",
           .description = "The ACK timer takes 100 ms with every code; ACKs wait 30 us for "
                          "more to acknowledge, and completions 40 us.",
           .traits = "ack_timer_ignored",
           .behaviour = {.ack_policy = AckPolicy::Delayed,
                         .ack_delay = microseconds(30),
                         .fixed_timeout = milliseconds(100)},
           .make_filter = make<HostLate<40, 40, 0>>},
    // As above; "Later intervals may grow"; REQ-09 as in the first device.
    Mutant{.name = "own_timer_from_2_ms_that_doubles",
           .rule = "TMO-01",
           .description = "The ACK timer starts at 2 ms with every code and doubles at each "
                          "timeout; a READ is asked for again as a whole.",
           .traits = "ack_timer_ignored adaptive_retransmission",
           .behaviour = {.read_restart = ReadRestart::WholeRead,
                         .timeout_grows = true,
                         .fixed_timeout = milliseconds(2)}},
    // TMO-08; ACK-03, ACK-12 "ACK per N packets" INFO.
    Mutant{.name = "own_timer_of_25_ms_with_probes_from_400_us",
           .rule = "TMO-08",
           .description = "Probes after 400 us, twice as late each time, until the device's own "
                          "timer of 25 ms takes over; one ACK for four packets or after 20 us.",
           .traits = "ack_timer_ignored adaptive_retransmission",
           .behaviour = {.ack_policy = AckPolicy::EveryNth,
                         .ack_every = 4,
                         .ack_delay = microseconds(20),
                         .adaptive_timeout = microseconds(400),
                         .fixed_timeout = milliseconds(25)}},
    // TMO-01 "report factor (CX-6: 2x, floor 16)"; RNR-08 "Lower bound only"; STA-06 "only if the
    // driver supports SQD".
    Mutant{.name = "ack_timer_from_code_12_and_no_sqd",
           .rule = "TMO-05",
           .description = "Smaller codes of the ACK timer act as code 12; RNR waits are a quarter "
                          "longer than asked for, and SQD is refused.",
           .ack_timer_floor = 12,
           .lacks = "sqd",
           .behaviour = {.timeout_sixteenths = 20, .timeout_floor = 12, .rnr_wait_sixteenths = 20},
           .make_filter = make<RefusesModify<drains>>},
    // The same floor in TMO-01; REQ-11 by trait; `mtu256` is a capability of its own.
    Mutant{.name = "ack_timer_from_code_14_twice_t_one_packet",
           .rule = "TMO-01",
           .description = "The ACK timer takes 2 T and at least that of code 14; after a loss one "
                          "packet goes at a time, and a path MTU of 256 is refused.",
           .traits = "selective_repeat",
           .ack_timer_floor = 14,
           .lacks = "mtu256",
           .behaviour = {.timeout_sixteenths = 32,
                         .after_loss = AfterLoss::OnePacket,
                         .timeout_floor = 14},
           .make_filter = make<RefusesModify<of_256_bytes>>},
    // G4 "out-of-order data placement ... no NAK on gap"; ACK-03; RDR-08 "a deeper cache is legal".
    Mutant{.name = "requests_wait_until_the_gap_is_filled",
           .rule = "RSP-02",
           .description = "Requests up to 48 PSNs ahead wait without a NAK and are carried out in "
                          "order when the missing one comes; one ACK covers all of them, and two "
                          "more READs and atomics than agreed are remembered.",
           .traits = "out_of_order",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn, no_nak_for_a_gap),
           .behaviour = {.ack_policy = AckPolicy::Coalesced, .remembered_extra = 2},
           .make_filter = make<HoldsRequests<every_request, 48>>},
    // As above. ENC-02 is about the order on the way, which such a device does not need.
    Mutant{.name = "writes_wait_for_a_gap_on_four_ports",
           .rule = "RSP-02",
           .description = "WRITE packets up to 128 PSNs ahead wait without a NAK and other "
                          "requests ahead are dropped without one; what it sends itself goes from "
                          "four UDP ports by PSN.",
           .traits = "out_of_order multipath",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn, no_nak_for_a_gap),
           .make_filter = make_chain<EditsSentDatagram<port_by_psn>, HoldsRequests<writes, 128>>},
    // REQ-09 "device may keep later responses (selective)"; G4; TMO-08.
    Mutant{.name = "read_responses_wait_for_a_gap",
           .rule = "REQ-09",
           .description = "READ responses behind a gap are kept and used when the missing one "
                          "comes, which is asked for after 1 ms; requests ahead wait, too, "
                          "16 PSNs at most.",
           .traits = "out_of_order selective_repeat adaptive_retransmission",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn, no_nak_for_a_gap),
           .behaviour = {.adaptive_timeout = milliseconds(1)},
           .make_filter = make_chain<HoldsReadResponses<64>, HoldsRequests<every_request, 16>>},
    // REQ-11 "selective repeat allowed by trait"; REQ-02; BTH-18; OPC-09 "atomics absent".
    Mutant{.name = "window_of_16_one_packet_after_loss_no_atomics",
           .rule = "REQ-11",
           .description = "16 packets at most are on their way and every 4th asks for an ACK; "
                          "after a loss one packet goes at a time; atomics are NAKed as invalid.",
           .traits = "selective_repeat",
           .lacks = "atomics",
           .checks = engine::kStandardChecks.with(RequestCheck::Rights, no_atomics),
           .behaviour = {.ack_request_every = 4,
                         .max_unacked_packets = 16,
                         .after_loss = AfterLoss::OnePacket}},
    // ENC-03 "receiver ignores UDP source port value"; trait: "from several UDP ports". ACK-02
    // "AckReq=0 -> no obligation; ACK allowed".
    Mutant{.name = "next_port_after_a_pause_of_20_us",
           .rule = "ENC-02",
           .description = "A flow that has paused for 20 us goes on from the next of four UDP "
                          "ports, requests and answers each for themselves; every packet is "
                          "acknowledged, whether it asks or not.",
           .traits = "multipath",
           .behaviour = {.ack_policy = AckPolicy::EveryPacket},
           .make_filter = make<Flowlets<20>>},
    // ENC-12 "unless the device overrides it"; "ACK/READ responses use the responder QP's own AV".
    Mutant{.name = "requests_on_four_ports_with_their_own_dscp",
           .rule = "ENC-12",
           .description = "Requests leave with DSCP 26 and from the next of four UDP ports after "
                          "each 8 PSNs; answers go as the address vector says.",
           .traits = "multipath dscp_overridden",
           .make_filter = make_chain<EditsSentDatagram<dscp_of_requests>,
                                     EditsSentDatagram<port_by_run_of_psns>>},
    // ENC-12 as above; ACK-03; nothing says how soon the host sees a completion.
    Mutant{.name = "dscp_46_for_acknowledges_and_26_for_the_rest",
           .rule = "ENC-12",
           .description = "Acknowledges of all kinds leave with DSCP 46 and everything else but "
                          "CNPs with 26; one ACK goes for three packets or after 15 us, and the "
                          "host sees completions 25 us late.",
           .traits = "dscp_overridden",
           .behaviour = {.ack_policy = AckPolicy::EveryNth,
                         .ack_every = 3,
                         .ack_delay = microseconds(15)},
           .make_filter = make_chain<HostLate<25, 10, 0>, EditsSentDatagram<dscp_by_kind>>},
    // ENC-12; TMO-08; `reset_reuse` is a capability of its own.
    Mutant{.name = "dscp_10_for_long_messages_and_qps_of_one_use",
           .rule = "ENC-12",
           .description = "Packets of messages and READ responses of more than one packet leave "
                          "with DSCP 10; the first resend comes after 6 ms, and a QP that was "
                          "reset cannot be set up again.",
           .traits = "dscp_overridden adaptive_retransmission",
           .lacks = "reset_reuse",
           .behaviour = {.adaptive_timeout = milliseconds(6)},
           .make_filter = make_chain<ConnectsOnce, EditsSentDatagram<dscp_of_long_messages>>},
    // RNR-03 "mlx5 ODP RNR-NAKs WRITE/READ/SEND on page fault"; RDR-03 "MSN may also be higher".
    Mutant{.name = "page_fault_at_the_first_touch",
           .rule = "RNR-03",
           .description = "The first READ, WRITE or atomic that touches 64 KiB of a region draws "
                          "an RNR NAK; 32 such pages stay at hand. Responses carry the MSN of the "
                          "moment.",
           .traits = "odp",
           .behaviour = {.response_msn = engine::ResponseMsn::Current},
           .make_filter = make<FaultsPages<1, 32>>},
    // RNR-03 as above; trait: "any request may draw an RNR NAK"; RNR-07 "Attribute is a minimum";
    // RNR-05 "may be dropped silently".
    Mutant{.name = "every_9th_message_faults_twice",
           .rule = "RNR-03",
           .description = "The first packet of each 9th message draws two RNR NAKs before it is "
                          "taken; what comes back earlier than it asked for is dropped.",
           .traits = "odp",
           .behaviour = {.early_resend = engine::EarlyResend::Silent},
           .make_filter = make<LacksResources<begins, 9, 2>>},
    // RNR-03 "PEN RNR-NAKs an ATOMIC when out of atomic resources"; RDR-06 "accept both"; N-01
    // "FIRST of a READ may carry old or new MSN".
    Mutant{.name = "every_4th_read_or_atomic_faults_once",
           .rule = "RNR-03",
           .description = "Each 4th READ or atomic draws one RNR NAK; the first response of a "
                          "READ does not count it, and the repeated tail of a READ goes on with "
                          "MIDDLE or LAST.",
           .traits = "odp",
           .behaviour = {.partial_read_reply = PartialReadReply::MiddleOrLast,
                         .first_msn = FirstMsn::Old},
           .make_filter = make<LacksResources<reads_memory, 4, 1>>},
    // STA-02 "trait: mlx5 buffers"; ACK-03; OPC-09 "Op unknown to the device generation".
    Mutant{.name = "keeps_eight_requests_from_init",
           .rule = "STA-02",
           .description = "Eight requests that come in INIT are kept and carried out in RTR when "
                          "the next packet comes; ACKs wait 50 us for more, and SEND with "
                          "invalidate is NAKed as unknown.",
           .traits = "buffers_before_rtr",
           .lacks = "send_inv",
           .checks = engine::kStandardChecks.with(RequestCheck::KnownOpcode, no_invalidate),
           .behaviour = {.ack_policy = AckPolicy::Delayed, .ack_delay = microseconds(50)},
           .make_filter = make<KeepsEarly<8, false>>},
    // STA-01 "mlx4/mlx5 buffer a message that arrives in RESET/INIT and answer it after RTR".
    Mutant{.name = "keeps_two_requests_from_reset_with_its_own_timer",
           .rule = "STA-01",
           .description = "Two requests that come in RESET or INIT are kept and carried out in RTR "
                          "when the next packet comes; the ACK timer takes 60 ms with every code, "
                          "and events come 200 us late.",
           .traits = "buffers_before_rtr ack_timer_ignored",
           .behaviour = {.fixed_timeout = milliseconds(60)},
           .make_filter = make_chain<KeepsEarly<2, true>, HostLate<0, 0, 200>>},
    // KEY-13 "FullCqIdlesQp"; `query_qp`: "it reports the state of a QP". ENC-02 by trait.
    Mutant{.name = "full_cq_stops_the_qp_on_changing_ports",
           .rule = "KEY-13",
           .description = "A QP whose completion queue is full stops without an event, and the "
                          "driver reports the state that the host set last; a flow that has paused "
                          "for 100 us goes on from the next of four UDP ports.",
           .traits = "full_cq_idles multipath",
           .lacks = "query_qp",
           .make_filter = make_chain<FullCqStops, Flowlets<100>>},
    // The same; TMO-08; RSP-11 "duplicate without AckReq may be ignored".
    Mutant{.name = "full_cq_stops_the_qp_that_probes_from_800_us",
           .rule = "KEY-13",
           .description = "A QP whose completion queue is full stops without an event, and the "
                          "driver reports the state that the host set last; the first resend comes "
                          "after 800 us, and duplicates that do not ask are not acknowledged.",
           .traits = "full_cq_idles adaptive_retransmission",
           .lacks = "query_qp",
           .behaviour = {.duplicate_without_ack_request_is_acked = false,
                         .adaptive_timeout = microseconds(800)},
           .make_filter = make<FullCqStops>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind5_traits

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind5_traits() {
    return of_lawful_blind5_traits::kMutants;
}

} // namespace veriroce::mutants
