// Lawful devices that were written blind: requesters and responders that take other freedoms than
// the built-in engine, some of them only at times.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/lacks_resources.hpp"
#include "conformance/mutants/pacing.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::mutants::of_lawful_blind8_mixed {
namespace {

using engine::Behaviour;
using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using wire::Operation;
using wire::Position;
namespace request = engine::request_check;
namespace response = engine::response_check;
namespace send = engine::send_check;

constexpr std::chrono::microseconds us(int count) {
    return std::chrono::microseconds(count);
}

// --- responders: faults

// LEN-04: "NAK may come anywhere from the packet that first proves the excess up to LAST/ONLY". A
// packet that fills the announced length and is not the last proves it; this byte counter notices
// it when it runs over, often one packet later. LEN-05: "{0x61, 0x62} both legal": a WRITE of more
// than 2^31 bytes fails in the address unit, a READ in the length unit.
RequestVerdict excess_when_it_runs_over(const RequestView& view) {
    constexpr std::uint32_t most = 0x80000000;
    const RequestVerdict verdict = request::message_length(view);
    if (view.info.operation != Operation::RdmaWrite) return verdict;
    const bool begins = view.info.starts_message();
    if (begins && view.packet.reth.dma_length > most) return RequestVerdict::NakRemoteAccess;
    if (verdict != RequestVerdict::Accept || view.info.ends_message()) return verdict;
    const std::uint64_t announced = begins ? view.packet.reth.dma_length : view.inbound.announced;
    const std::uint64_t so_far =
        (begins ? 0 : view.inbound.received) + view.packet.payload().size();
    return so_far > announced ? RequestVerdict::NakInvalidRequest : RequestVerdict::Accept;
}

// KEY-06 (INFO): "check at First by RETH range -> nothing written; CX-5 writes in-range packets
// first". KEY-05: "the NAK may come at FIRST or at the first packet out of range". A WRITE of up to
// four packets has its translation fetched at once, a longer one packet by packet.
RequestVerdict whole_range_of_short_writes(const RequestView& view) {
    const bool first = view.info.operation == Operation::RdmaWrite &&
                       view.info.position == Position::First && view.target;
    if (first) {
        const wire::Reth& reth = view.packet.reth;
        const bool is_short = reth.dma_length <= 4 * wire::bytes_of(view.connection.mtu);
        const engine::Region& region = view.memory.slot(reth.rkey.value);
        if (is_short && !region.covers(reth.virtual_address, reth.dma_length)) {
            return RequestVerdict::NakRemoteAccess;
        }
    }
    return request::key_range(view);
}

// RNR-05 (INFO): "resend before the responder's timer ends may be dropped silently"; "Or a new RNR
// NAK; both legal". Silent in the first half of the wait, a new RNR NAK in the second one.
RequestVerdict deaf_in_first_half_of_wait(const RequestView& view) {
    const RequestVerdict verdict = request::receive_ready(view);
    const wire::Duration wait = wire::rnr_time(view.connection.min_rnr_timer);
    const bool early =
        view.inbound.nak == engine::NakState::Rnr && view.now < view.inbound.rnr_until - wait / 2;
    return verdict == RequestVerdict::Rnr && early ? RequestVerdict::Drop : verdict;
}

RequestVerdict judge_key(const RequestView& view) {
    constexpr std::array checks{request::key_known, request::key_variant, request::key_domain,
                                request::key_rights, request::key_range};
    for (const auto check : checks) {
        const RequestVerdict verdict = check(view);
        if (verdict != RequestVerdict::Accept) return verdict;
    }
    return RequestVerdict::Accept;
}

// KEY-10 (INFO): "RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all either way". The key of a
// request of one packet is looked up while the receive is fetched, and fails first; at a LAST with
// immediate data the receive is missed first.
RequestVerdict key_before_receive_of_one_packet(const RequestView& view) {
    const RequestVerdict verdict = request::receive_ready(view);
    const bool one_write =
        view.info.operation == Operation::RdmaWrite && view.info.position == Position::Only;
    if (verdict != RequestVerdict::Rnr || !one_write) return verdict;
    const RequestVerdict of_key = judge_key(view);
    return of_key == RequestVerdict::Accept ? verdict : of_key;
}

// ATM-03 (INFO): "misaligned + bad rkey: which NAK wins". The key's for CMP_SWAP, the alignment's
// for FETCH_ADD.
RequestVerdict key_before_alignment_of_swaps(const RequestView& view) {
    const RequestVerdict verdict = request::atomic_alignment(view);
    if (verdict == RequestVerdict::Accept || view.info.operation != Operation::CompareSwap) {
        return verdict;
    }
    const RequestVerdict of_key = judge_key(view);
    return of_key == RequestVerdict::Accept ? verdict : of_key;
}

// BTH-06: "NAK 0x61 (QP ERR) preferred = SHOULD; silent drop legal". The codes behind the defined
// ones of the base standard fall out of the parser's table; 0x15 is in it, as invalid.
RequestVerdict high_opcodes_unparsed(const RequestView& view) {
    constexpr std::uint8_t behind = 0x18;
    const RequestVerdict verdict = request::known_opcode(view);
    const bool unparsed =
        verdict == RequestVerdict::NakInvalidRequest && view.packet.bth.opcode >= behind;
    return unparsed ? RequestVerdict::Drop : verdict;
}

// BTH-12: "NAK 0x61 is a lawful answer, silent also". Silent where there is no payload at all.
RequestVerdict pad_of_nothing_unheard(const RequestView& view) {
    if (view.packet.pad_exceeds_body() && view.packet.body.empty()) return RequestVerdict::Drop;
    return request::pad_count(view);
}

// ATM-07 (INFO): "silent, NAK 0x61 or ignored". Ignored in atomics, NAKed in READ requests.
RequestVerdict payload_of_atomics_ignored(const RequestView& view) {
    if (is_atomic_request(view.packet) && !view.packet.body.empty()) return RequestVerdict::Accept;
    return request::payload_length(view);
}

// --- responders: duplicates

// RDR-07: "Other valid VA or R_Key of the same PD: qib/hfi1 re-validate and serve it. MUST: never
// return data the R_Key does not authorise, never NAK". The cache holds the key and the length of
// a READ, not its address; the key's checks follow. Another key is a miss, and silent.
bool within_read_by_key(const RequestView& view) {
    if (engine::duplicate_check::within_read(view)) return true;
    if (view.saved == nullptr) return false;
    const engine::SavedRequest& saved = *view.saved;
    const wire::Reth& asked = view.packet.reth;
    const std::uint64_t offset = std::uint64_t{engine::forward(saved.psn, view.packet.bth.psn)} *
                                 wire::bytes_of(view.connection.mtu);
    return saved.opcode == view.packet.bth.opcode && asked.rkey == saved.rkey &&
           offset + asked.dma_length <= saved.length;
}

// --- responders: acknowledges

// ACK-02: "AckReq=0 -> no obligation; ACK allowed". Every fourth PSN is acknowledged, whether it
// asks or not.
void ask_at_every_fourth(wire::Packet& packet) {
    const Operation operation = packet.info().operation;
    const bool meant = is_rc_request(packet) &&
                       (operation == Operation::Send || operation == Operation::RdmaWrite);
    if (meant && packet.bth.psn.value() % 4 == 3) packet.bth.ack_request = true;
}

// ACK-10: "never more credits than posted WQEs; value otherwise INFO". Rounded down to a power of
// two, 64 at most; from 4 on these are the even codes.
void credits_in_powers_of_two(wire::Packet& packet) {
    if (!is_rc_response(packet) || !has_aeth(packet)) return;
    const wire::Syndrome syndrome = packet.aeth.syndrome;
    if (syndrome.kind() != wire::AckKind::Ack || syndrome.code() == wire::kNoCredits) return;
    constexpr std::uint8_t two = 2;
    constexpr std::uint8_t four = 4;
    constexpr std::uint8_t most = 12; // 64 credits
    std::uint8_t code = syndrome.code();
    if (code < four) {
        code = std::min(code, two);
    } else {
        code = std::min<std::uint8_t>(code - code % 2, most);
    }
    packet.aeth.syndrome = wire::Syndrome::ack(code);
}

struct Counted {
    std::uint32_t acks = 0;
};

// ACK-04: "Unsolicited/ghost ACK repeats a PSN". Every eighth ACK leaves twice.
class GhostAfterEighthAck final : public QpFilter<Counted> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_ack(passage.packet) || ++qp.memory.acks % 8 != 0) return;
        passage.after.push_back(passage.packet);
    }
};

// REQ-29: "SEND/WRITE_IMM allowed while SSN <= LSN, and one limited message at SSN = LSN+1". It is
// allowed and not demanded: this requester sends one only when it would hear nothing more.
bool no_limited_message(const SendView& view) {
    return !engine::takes_receive(view.request.opcode) || view.outbound.credits.allows(view.ssn) ||
           view.outbound.unacked_psn == view.outbound.next_psn;
}

// ACK-12 (INFO): latency is free; TMO-07: 12 us are below every CA ack delay that is told. The
// response after 100 us of quiet finds the pipeline asleep; the others wait for it, in order.
class WakesUp {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const auto [last, first] = last_.try_emplace(packet.bth.dest_qp, earliest);
        const bool asleep = first || earliest - last->second >= us(100);
        const wire::Instant at = asleep ? earliest + us(12) : earliest;
        last->second = at;
        return {.at = at, .next = at};
    }

  private:
    std::map<wire::Qpn, wire::Instant> last_;
};

// RSP-16 (INFO): "qib defers NAK until rx queue empty". A sequence NAK leaves 40 us late, and what
// the responder sends behind it not before it.
struct NaksAtLeisure {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const wire::Instant at = is_sequence_nak(packet) ? earliest + us(40) : earliest;
        return {.at = at, .next = at};
    }
};

// --- responders: resources

// RNR-03: "mlx5 ODP RNR-NAKs WRITE/READ/SEND on page fault"; the trait says so.
bool begins_write(const wire::OpcodeInfo& info) {
    return info.operation == Operation::RdmaWrite && info.starts_message();
}

// Values that are rounded up by the device, while the host is told what it asked for.
template <std::uint8_t (*Rounded)(std::uint8_t), auto Attribute>
class RoundsUp final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        auto& value = attributes.*Attribute;
        if (!value) return;
        asked_.insert_or_assign(qpn, *value);
        value = Rounded(*value);
    }
    void queried(engine::QpReport& report) override {
        auto& value = report.attributes.*Attribute;
        const auto asked = asked_.find(report.qpn);
        if (value && asked != asked_.end() && *value == Rounded(asked->second)) {
            value = asked->second;
        }
    }
    void qp_destroyed(wire::Qpn qpn) override { asked_.erase(qpn); }

  private:
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// RDR-08: "Device may remember more than max_dest_rd_atomic"; RDR-09: "NAK Invalid Request or
// recycle; code INFO". The queue of answers has 1, 2, 4, 8 or 16 places, and takes as many.
std::uint8_t next_power_of_two(std::uint8_t depth) {
    constexpr std::uint8_t most = 16;
    return depth == 0 || depth > most ? depth : std::bit_ceil(depth);
}

// REQ-27: "Value 3 = SHOULD: must be rounded (direction differs by driver); sending 2 is legal".
bool power_of_two_of_reads(const SendView& view) {
    return !engine::wants_response(view.request.opcode) ||
           view.outbound.outstanding_rd_atomic <
               std::bit_floor(static_cast<unsigned>(view.connection.max_rd_atomic));
}

// --- requesters: what is on its way

// REQ-27: "outstanding READ+ATOMIC <= max_rd_atomic", a bound and no target. Whatever changes the
// peer's memory and has a response of its own begins when no other response is due.
bool atomics_alone(const SendView& view) {
    const engine::WrOpcode opcode = view.request.opcode;
    const bool alone = engine::is_atomic(opcode) || opcode == engine::WrOpcode::AtomicWrite ||
                       opcode == engine::WrOpcode::Flush;
    return send::rd_atomic(view) && (!alone || view.outbound.outstanding_rd_atomic == 0);
}

// REQ-28: "waits for all earlier READ/ATOMIC"; nothing forbids to wait for SENDs and WRITEs, too.
bool fence_for_all(const SendView& view) {
    return send::fence(view) &&
           (!view.request.flags.fence || view.outbound.unacked_psn == view.outbound.next_psn);
}

// REQ-02: "never more than 2^23 PSNs outstanding", and less as the device likes. What is on its way
// lies between two multiples of 32; a READ across such a border goes alone.
bool within_32_psns(const SendView& view) {
    constexpr std::uint32_t block = 32;
    const wire::Psn oldest = view.outbound.unacked_psn;
    const bool idle = oldest == view.outbound.next_psn;
    if (idle && (view.packets == 1 || engine::wants_response(view.request.opcode))) return true;
    const wire::Psn newest = view.outbound.next_psn + (std::int64_t{view.packets} - 1);
    return send::window(view) && oldest.value() / block == newest.value() / block;
}

// REQ-02 leaves the window open; QPs with odd numbers live in a slow context of 16 packets.
bool small_window_of_odd_qps(const SendView& view) {
    constexpr std::uint32_t small = 16;
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    const bool odd = view.connection.qpn.value % 2 != 0;
    return send::window(view) && (!odd || out == 0 || std::uint64_t{out} + view.packets <= small);
}

// No rule says how soon a posted request is sent. Before every 16th message the queue's next line
// is fetched, when all before it is acknowledged.
bool queue_line_of_16(const SendView& view) {
    return send::credits(view) &&
           (view.ssn.value() % 16 != 0 || view.outbound.unacked_psn == view.outbound.next_psn);
}

// REQ-31: "AckReq may change" in what is sent again. TMO-06: "AckReq on some packet of the resend":
// here on all of them.
class ResentPacketsAsk final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && packet.info().service == wire::Service::Rc) packet.bth.ack_request = true;
    }
};

// No rule says how fast a QP sends: one request packet in 0.5 us, of at most 32 on their way. The
// ACK timer of 2 T leaves room for that delay (TMO-01: ">= T, <= 4T"), from its floor on.
struct PacedRequests {
    static bool delays(const wire::Packet& packet) { return is_rc_request(packet); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        return {.at = earliest, .next = earliest + std::chrono::nanoseconds(500)};
    }
};

// --- requesters: responses

// REQ-09: "READ response PSN gap -> ignore rest, re-request from first missing PSN"; when is not
// said. The rest is asked for when the READ's last response has come, or on timeout.
ResponseVerdict gap_judged_at_last(const ResponseView& view) {
    const ResponseVerdict verdict = response::read_order(view);
    const bool waits = verdict == ResponseVerdict::Retry && !view.info.ends_message();
    return waits ? ResponseVerdict::Drop : verdict;
}

// REQ-21: "LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry". Dropped inside of a READ,
// an error at its end.
ResponseVerdict length_judged_at_last(const ResponseView& view) {
    const ResponseVerdict verdict = response::read_length(view);
    const bool dropped = verdict == ResponseVerdict::LengthError && !view.info.ends_message();
    return dropped ? ResponseVerdict::Drop : verdict;
}

// REQ-20: an ACK for a READ's PSN "never completes that READ/ATOMIC; legal: ignore, retry it". One
// for its last PSN says that the response is lost, others nothing. REQ-25, REQ-24: "error
// completion or ignore": an error for an ATOMIC_ACK, READ responses are ignored.
ResponseVerdict ack_at_end_of_read_retries(const ResponseView& view) {
    const ResponseVerdict verdict = response::fits_request(view);
    if (verdict != ResponseVerdict::Drop || !view.request) return verdict;
    if (view.info.operation == Operation::AtomicAcknowledge) return ResponseVerdict::BadResponse;
    const bool at_end = is_ack(view.packet) && view.packet.bth.psn == view.request->last;
    return at_end ? ResponseVerdict::Retry : verdict;
}

// RNR-08: "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)". The timer knows the even codes,
// and takes the next longer one for an odd code.
void wait_by_even_codes(wire::Packet& packet) {
    if (!is_rnr_nak(packet)) return;
    constexpr std::uint8_t longest_odd = 31;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code % 2 == 0 || code == longest_odd) return;
    packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(code + 1));
}

// --- requesters: retransmission

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN".
// REQ-10: still "an exact subset". The device knows where it was in steps of four packets.
class ReadsResumeAtEveryFourth final : public QpFilter<ReadLog> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto known = qp.memory.holding(packet.bth.psn);
        if (!known || !known->answered) {
            qp.memory.note(packet, qp.mtu());
            return;
        }
        const wire::Packet& first = known->request;
        const std::int32_t done = wire::distance(first.bth.psn, packet.bth.psn);
        const std::uint64_t bytes = static_cast<std::uint64_t>(done) * wire::bytes_of(qp.mtu());
        const bool rest = packet.reth.rkey == first.reth.rkey &&
                          packet.reth.virtual_address == first.reth.virtual_address + bytes &&
                          packet.reth.dma_length + bytes == first.reth.dma_length;
        if (!rest) return;
        const std::int32_t again = done % 4;
        const std::uint32_t more = static_cast<std::uint32_t>(again) * wire::bytes_of(qp.mtu());
        packet.bth.psn += -again;
        packet.reth.virtual_address -= more;
        packet.reth.dma_length += more;
    }
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_response(passage.packet)) qp.memory.answer(passage.packet.bth.psn);
    }
};

// TMO-01: ">= T, <= 4T"; TMO-02 stays. The timer counts in powers of four: an odd code acts as the
// next one, so that 1.5 T becomes 3 T.
std::uint8_t next_even_code(std::uint8_t code) {
    constexpr std::uint8_t longest = 31;
    return code % 2 == 0 || code >= longest ? code : static_cast<std::uint8_t>(code + 1);
}

// REQ-31: in what is sent again "UDP sport may differ". After each loss the QP goes on from the
// next port, to be hashed to another path; the trait tells that a QP has several ports.
class AnotherPortAfterLoss final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            Flow& flow = flows_[packet->bth.dest_qp];
            const bool again = flow.sent.note(packet->bth.psn);
            if (again && !flow.lost) ++flow.losses;
            flow.lost = again;
            const std::uint32_t port = datagram.envelope.source_port;
            datagram.envelope.source_port =
                static_cast<std::uint16_t>((port & 0xC000) | ((port + flow.losses) & 0x3FFF));
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        NewestPsn sent;
        std::uint32_t losses = 0;
        bool lost = false;
    };
    std::map<wire::Qpn, Flow> flows_; // by the peer's QP
};

// --- paths

// ENC-02: source port "one value per QP, may be any; entropy between QPs". No statement of A17
// names the flow label: where the address vector has none, an IPv6 QP has one of its own.
class OwnPortsAndLabels final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.address) settle(qpn, *attributes.address);
        if (attributes.alternate) settle(qpn, attributes.alternate->address);
    }
    void queried(engine::QpReport& report) override {
        if (report.attributes.address) restore(report.qpn, *report.attributes.address);
        if (report.attributes.alternate) {
            restore(report.qpn, report.attributes.alternate->address);
        }
    }

  private:
    static std::uint16_t port_of(wire::Qpn qpn) {
        constexpr std::uint32_t odd = 0x2E35; // no two of 16384 QPs in a row have the same port
        return static_cast<std::uint16_t>(0x8000 | ((qpn.value * odd) & 0x3FFF));
    }
    static std::uint32_t label_of(wire::Qpn qpn) {
        constexpr std::uint32_t golden_ratio = 0x9E3779B1;
        return ((qpn.value * golden_ratio) >> 12) | 1;
    }
    static void settle(wire::Qpn qpn, engine::AddressVector& path) {
        if (!path.source_port) path.source_port = port_of(qpn);
        if (!path.destination.v4() && path.flow_label == 0) path.flow_label = label_of(qpn);
    }
    static void restore(wire::Qpn qpn, engine::AddressVector& path) {
        if (path.source_port == port_of(qpn)) path.source_port.reset();
        if (path.flow_label == label_of(qpn)) path.flow_label = 0;
    }
};

// BTH-15: "MUST accept; INFO value" of MigReq. Responses are made by a unit that knows no
// migration, requests by one that does; without APM the bit says nothing.
void responses_without_mig_req(wire::Packet& packet) {
    if (is_rc_response(packet)) packet.bth.mig_req = false;
}

// ENC-04, ENC-05: "UDP checksum 0 accepted", "non-zero correct accepted", "record what DUT emits".
// Short frames are summed up on their way out, long ones are not.
class ChecksumOfShortFrames final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t is_short = 128;
        wire::Outer outer{.frame = frame};
        if (frame.size() > is_short || wire::find_layers(outer)) return;
        const wire::Bytes all(frame);
        const wire::Bytes addresses =
            outer.v6 ? all.subspan(outer.ip_at + 8, 32) : all.subspan(outer.ip_at + 12, 8);
        const wire::Bytes datagram = all.subspan(outer.udp_at, outer.ip_end - outer.udp_at);
        wire::store_be<2>(frame, outer.udp_at + 6, wire::udp_checksum(addresses, datagram));
    }
};

// CA17-44: a marked packet "makes the receiver send a CNP (coalescing allowed)"; nothing says how
// soon. CNPs of a peer's QP stay in order.
struct LateCnps {
    static bool delays(const wire::Packet& packet) { return is_cnp(packet); }
    static Departure departure(const wire::Packet& /*packet*/, wire::Instant earliest) {
        const wire::Instant at = earliest + us(15);
        return {.at = at, .next = at};
    }
};

constexpr std::array kDevices{
    Mutant{.name = "write_excess_noticed_by_a_running_counter",
           .rule = "LEN-04",
           .description = "A WRITE that brings too much is NAKed by the packet that runs over its "
                          "length, not by one that fills it too early; one of more than 2^31 bytes "
                          "is a remote access error, such a READ an invalid request.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, excess_when_it_runs_over),
           .behaviour = Behaviour{.write_excess = engine::WriteExcess::AtLast}},
    Mutant{.name = "write_range_at_first_up_to_four_packets",
           .rule = "KEY-06",
           .description = "The range of a WRITE of up to four packets is judged at its first "
                          "packet; of a longer one each packet is judged alone, and what fits of "
                          "the refused one is written.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, whole_range_of_short_writes),
           .behaviour = Behaviour{.write_range = engine::WriteRange::EachPacket,
                                  .refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "deaf_in_first_half_of_rnr_wait",
           .rule = "RNR-05",
           .description = "A request that comes back in the first half of its RNR wait is dropped, "
                          "in the second half it gets a new RNR NAK; a READ too many gets one, "
                          "too.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveReady, deaf_in_first_half_of_wait),
           .behaviour = Behaviour{.excess_read = engine::ExcessRead::Rnr}},
    Mutant{.name = "keys_first_in_only_packets_and_swaps",
           .rule = "KEY-10",
           .description = "A bad key is told before a missing receive at WRITE_ONLY with immediate "
                          "data but not at WRITE_LAST, and before a bad alignment at CMP_SWAP but "
                          "not at FETCH_ADD.",
           .checks =
               kStandardChecks.with(RequestCheck::ReceiveReady, key_before_receive_of_one_packet)
                   .with(RequestCheck::AtomicAlignment, key_before_alignment_of_swaps),
           .behaviour = Behaviour{.refused_immediate = engine::RefusedImmediate::AccessError}},
    Mutant{.name = "parser_table_with_holes",
           .rule = "BTH-06",
           .description = "Reserved opcodes from 0x18 on are dropped and 0x15 is NAKed; pad "
                          "without any payload is dropped, other excess pad NAKed; payload of "
                          "atomics is ignored, that of READ requests NAKed.",
           .checks = kStandardChecks.with(RequestCheck::KnownOpcode, high_opcodes_unparsed)
                         .with(RequestCheck::PadCount, pad_of_nothing_unheard)
                         .with(RequestCheck::PayloadLength, payload_of_atomics_ignored)},
    Mutant{.name = "duplicate_reads_known_by_key_and_length",
           .rule = "RDR-07",
           .description = "A duplicate READ may name another place that its key opens, but no "
                          "other key; two more READs than agreed are remembered, and a repeated "
                          "tail goes on with MIDDLE or LAST.",
           .checks = kStandardChecks.with(engine::DuplicateCheck::WithinRead, within_read_by_key),
           .behaviour = Behaviour{.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                                  .remembered_extra = 2}},
    // ACK-03: "one ACK for many; PSN = last covered" (INFO). RSP-11: a duplicate without AckReq
    // "may be ignored". RSP-10: "resend of the READ response/ATOMIC_ACK itself". RDR-04, G3: "may
    // resend later responses too".
    Mutant{.name = "third_ack_and_reads_resent_for_duplicates",
           .rule = "ACK-03",
           .description = "One ACK for three packets that ask, or after 25 us; a duplicate SEND is "
                          "answered by the READ response behind it if it asks, and a duplicate "
                          "READ by all later responses, too.",
           .behaviour = Behaviour{.ack_policy = engine::AckPolicy::EveryNth,
                                  .duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                                  .duplicate_without_ack_request_is_acked = false,
                                  .ack_every = 3,
                                  .ack_delay = us(25),
                                  .duplicate_resends_later = true}},
    Mutant{.name = "ack_at_every_fourth_psn_coalesced",
           .rule = "ACK-02",
           .description = "SEND and WRITE packets whose PSN is 3 modulo 4 are acknowledged though "
                          "they do not ask; ACKs that wait become one; duplicates are answered "
                          "only if they ask or have such a PSN.",
           .behaviour = Behaviour{.ack_policy = engine::AckPolicy::Coalesced,
                                  .duplicate_without_ack_request_is_acked = false},
           .make_filter = make<EditsInbound<ask_at_every_fourth>>},
    Mutant{.name = "credits_in_powers_of_two_with_ghosts",
           .rule = "ACK-10",
           .description = "Credits are rounded down to a power of two and told unasked; every "
                          "eighth ACK leaves twice; as a requester the device keeps to credits, "
                          "without a limited message while anything is on its way.",
           .checks = kStandardChecks.with(SendCheck::Credits, no_limited_message),
           .behaviour =
               Behaviour{.credits = true, .obey_credits = true, .unsolicited_credits = true},
           .make_filter = make_chain<GhostAfterEighthAck, EditsOutbound<credits_in_powers_of_two>>},
    // N-01: "FIRST of a READ may carry old or new MSN". RDR-03: "MSN may also be higher".
    Mutant{.name = "responder_asleep_after_quiet",
           .rule = "ACK-12",
           .description = "A response after 100 us without one leaves 12 us late, and those "
                          "behind it after it; READ responses have the MSN of the time when they "
                          "are made, the first one of several less one.",
           .behaviour = Behaviour{.first_msn = engine::FirstMsn::Old,
                                  .response_msn = engine::ResponseMsn::Current},
           .make_filter = make<SendsLater<WakesUp>>},
    Mutant{.name = "sequence_naks_at_leisure",
           .rule = "RSP-16",
           .description = "A sequence NAK leaves 40 us late, with the other responses in order "
                          "behind it; the end of each message is acknowledged, asked or not.",
           .behaviour = Behaviour{.ack_policy = engine::AckPolicy::LastOfMessage},
           .make_filter = make<SendsLater<NaksAtLeisure>>},
    // RDR-13: "QP ERR without NAK" is legal.
    Mutant{.name = "page_fault_at_every_sixth_write",
           .rule = "RNR-03",
           .description = "The first packet of every sixth WRITE gets an RNR NAK, once; a READ "
                          "whose key goes away ends without a NAK.",
           .traits = "odp",
           .behaviour = Behaviour{.lost_key = engine::LostKey::Silent},
           .make_filter = make<LacksResources<begins_write, 6, 1>>},
    Mutant{.name = "read_depths_are_powers_of_two",
           .rule = "RDR-08",
           .description = "max_dest_rd_atomic is rounded up to a power of two and max_rd_atomic "
                          "down; the host is told what it asked for.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, power_of_two_of_reads),
           .make_filter =
               make<RoundsUp<next_power_of_two, &engine::QpAttributes::max_dest_rd_atomic>>},
    Mutant{.name = "atomics_alone_and_fences_for_all",
           .rule = "REQ-28",
           .description = "Atomics, FLUSH and ATOMIC WRITE begin when no other response is due; "
                          "a fence waits for SENDs and WRITEs before it as well.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, atomics_alone)
                         .with(SendCheck::Fence, fence_for_all)},
    // REQ-11 asks to resend from n; how much of it at once is the window's business (REQ-02).
    Mutant{.name = "window_ends_at_every_32nd_psn",
           .rule = "REQ-02",
           .description = "No two packets on both sides of a PSN that is a multiple of 32 are "
                          "outstanding together, and after a loss one packet at a time is.",
           .checks = kStandardChecks.with(SendCheck::Window, within_32_psns),
           .behaviour = Behaviour{.after_loss = engine::AfterLoss::OnePacket}},
    // BTH-18: AckReq "at least on the last packet of a message". REQ-15 (INFO): "qib restarts (and
    // counts) per NAK".
    Mutant{.name = "odd_qps_in_slow_contexts",
           .rule = "BTH-18",
           .description = "A QP with an odd number has at most 16 packets on their way, another "
                          "one as many as ever; every third packet asks for an ACK, and each "
                          "sequence NAK restarts.",
           .checks = kStandardChecks.with(SendCheck::Window, small_window_of_odd_qps),
           .behaviour =
               Behaviour{.ack_request_every = 3, .repeated_nak = engine::RepeatedNak::Restarts}},
    Mutant{.name = "queue_line_fetched_at_every_16th_message",
           .rule = "REQ-31",
           .description = "Every 16th message begins when all before it is acknowledged; every "
                          "packet that is sent again asks for an ACK, and a READ is repeated as a "
                          "whole.",
           .checks = kStandardChecks.with(SendCheck::Credits, queue_line_of_16),
           .behaviour =
               Behaviour{.read_restart = engine::ReadRestart::WholeRead, .timeout_sixteenths = 32},
           .make_filter = make<ResentPacketsAsk>},
    Mutant{.name = "requests_every_half_microsecond",
           .rule = "TMO-01",
           .description = "Request packets of a QP leave 0.5 us apart, 32 on their way at most; "
                          "the ACK timer runs for 2 T, and codes below 4 act as 4.",
           .ack_timer_floor = 4,
           .behaviour =
               Behaviour{.max_unacked_packets = 32, .timeout_sixteenths = 32, .timeout_floor = 4},
           .make_filter = make<SendsLater<PacedRequests>>},
    Mutant{.name = "reads_judged_at_their_last_response",
           .rule = "REQ-09",
           .description = "After a gap in READ responses the rest is asked for when the last one "
                          "comes; a response of a wrong length is dropped inside of a READ and an "
                          "error at its end.",
           .checks = kStandardChecks.with(ResponseCheck::ReadOrder, gap_judged_at_last)
                         .with(ResponseCheck::ReadLength, length_judged_at_last)},
    Mutant{.name = "ack_at_end_of_read_repeats_it",
           .rule = "REQ-20",
           .description = "An ACK for the last PSN of a READ or for an atomic makes the requester "
                          "send it again, one inside of a READ is ignored; an ATOMIC_ACK for "
                          "another request is an error, a READ response is not.",
           .checks = kStandardChecks.with(ResponseCheck::FitsRequest, ack_at_end_of_read_retries)},
    Mutant{.name = "rnr_timer_of_even_codes",
           .rule = "RNR-08",
           .description = "The RNR wait is that of the next even code, and a quarter more; then "
                          "one message is sent before the others follow.",
           .behaviour =
               Behaviour{.after_rnr = engine::AfterRnr::OneMessage, .rnr_wait_sixteenths = 20},
           .make_filter = make<EditsInbound<wait_by_even_codes>>},
    Mutant{.name = "reads_resume_at_every_fourth_packet",
           .rule = "REQ-09",
           .description = "A READ that was answered in part is asked for again from the last "
                          "multiple of four packets before the first missing one; long messages "
                          "ask for an ACK at every eighth packet.",
           .behaviour = Behaviour{.ack_request_every = 8},
           .make_filter = make<ReadsResumeAtEveryFourth>},
    // TMO-01: "Later intervals may grow (adaptive retransmission, hfi1 s_timeout_shift) = INFO".
    Mutant{.name = "ack_timer_of_even_codes_that_grows",
           .rule = "TMO-01",
           .description = "The ACK timer runs for 1.5 T if the code of T is even and 3 T if it is "
                          "odd, and twice as long at each further timeout.",
           .behaviour = Behaviour{.timeout_grows = true},
           .make_filter = make<RoundsUp<next_even_code, &engine::QpAttributes::timeout>>},
    Mutant{.name = "next_port_after_each_loss",
           .rule = "REQ-31",
           .description = "When packets are sent again the QP goes on from the next UDP source "
                          "port.",
           .traits = "multipath",
           .make_filter = make<AnotherPortAfterLoss>},
    Mutant{.name = "ports_below_c000_and_own_flow_labels",
           .rule = "ENC-02",
           .description = "The UDP source ports lie between 0x8000 and 0xBFFF, one for a QP, and "
                          "an IPv6 QP without a flow label gets one of its own.",
           .make_filter = make<OwnPortsAndLabels>},
    Mutant{.name = "responses_unmigrated_short_frames_summed",
           .rule = "BTH-15",
           .description = "Responses carry MigReq 0 and requests what is set; frames of up to 128 "
                          "bytes have a right UDP checksum and longer ones none.",
           .make_filter =
               make_chain<ChecksumOfShortFrames, EditsOutbound<responses_without_mig_req>>},
    // CNP-07: marks on responses: "record". CNP-04: "interval is vendor configuration". CNP-11:
    // "ignored or accepted". CA17-45: "amount is not specified".
    Mutant{.name = "late_cnps_one_for_an_address",
           .rule = "CA17-44",
           .description = "A CNP leaves 15 us late, one in 100 us for each address, none for "
                          "marked responses; a CNP slows the QP down at most once in 50 us, if it "
                          "is regular.",
           .behaviour =
               Behaviour{.congestion = {.notification = {.scope = engine::CnpScope::Destination,
                                                         .interval = us(100),
                                                         .for_responses = false},
                                        .reaction = {.enabled = true,
                                                     .odd_cnp = engine::OddCnp::Ignore,
                                                     .dcqcn = {.min_rate = 1'000'000'000,
                                                               .cut_interval = us(50),
                                                               .clamp_target = false}}}},
           .make_filter = make<SendsLater<LateCnps>>},
    // ACK-05: an ACK promises acceptance, no visibility. STA-06: "Which WQEs count as started is
    // the device's choice". RNR-14 and N-16 name no order of a shared queue's receives.
    Mutant{.name = "host_told_late_and_newest_receive_first",
           .rule = "STA-06",
           .description = "The host sees memory 10 us late, completions 35 us and events 120 us; "
                          "SQD carries out all that was posted; a shared queue gives its newest "
                          "receive.",
           .behaviour = Behaviour{.shared_receive = engine::SharedReceive::Newest,
                                  .drain = engine::Drain::Posted},
           .make_filter = make<HostLate<35, 10, 120>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_blind8_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind8_mixed() {
    return of_lawful_blind8_mixed::kDevices;
}

} // namespace veriroce::mutants
