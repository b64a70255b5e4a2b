// Lawful oddities, written blind: responders and requesters of RC, UC, UD and QP 1.
#include <bit>
#include <tuple>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/management.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::mutants::of_lawful_blind10_mixed {
namespace {

using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using wire::Operation;
namespace right_duplicate = engine::duplicate_check;
namespace right_request = engine::request_check;
namespace right_response = engine::response_check;
namespace right_send = engine::send_check;

bool odd(wire::Psn psn) {
    return psn.value() % 2 == 1;
}
bool is_rc(const RequestView& view) {
    return view.connection.type == engine::QpType::Rc;
}
bool is_send_or_write(const RequestView& view) {
    return view.info.operation == Operation::Send || view.info.operation == Operation::RdmaWrite;
}

// --- packets that leave later

// Holds packets back in their order. `Rule` has `queue(packet, envelope)`: which packets keep their
// order with this one; `hold(packet)`: how much later than it could it leaves; `gap(packet)`: how
// long after the one before it at least, unless that is later than `most` from now.
struct QueueKey {
    wire::IpAddress destination;
    std::uint32_t qpn = 0;
    std::uint8_t kind = 0;

    friend bool operator<(const QueueKey& a, const QueueKey& b) {
        return std::tie(a.destination.bytes, a.qpn, a.kind) <
               std::tie(b.destination.bytes, b.qpn, b.kind);
    }
};

template <typename Rule>
class Holds final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        if (const auto packet = wire::decode_packet(datagram.bytes)) {
            const auto [last, first] =
                last_.try_emplace(Rule::queue(*packet, datagram.envelope), now);
            const wire::Instant ready = now + datagram.delay + Rule::hold(*packet);
            const wire::Instant paced =
                std::min(last->second + (first ? nanoseconds(0) : Rule::gap(*packet)),
                         now + microseconds(50));
            const wire::Instant at = std::max({ready, paced, last->second});
            datagram.delay = at - now;
            last->second = at;
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<QueueKey, wire::Instant> last_;
};

// All that is sent to one QP of the peer.
QueueKey to_peer(const wire::Packet& packet, const wire::Envelope& envelope) {
    return {.destination = envelope.destination, .qpn = packet.bth.dest_qp.value};
}

bool is_management(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.deth.source_qp == wire::kGsiQpn &&
           packet.body.size() == wire::kMadBytes && wire::load_u8(packet.body, 1) == wire::kCmClass;
}
std::uint16_t attribute_of(const wire::Packet& message) {
    return wire::cm::attribute_of(message.body);
}

// What QP 1 sends, to whomever, is one queue.
QueueKey of_gsi(const wire::Packet& packet, const wire::Envelope& envelope) {
    if (packet.info().service == wire::Service::Ud && packet.deth.source_qp == wire::kGsiQpn) {
        return {.kind = 1};
    }
    return to_peer(packet, envelope);
}

// --- responders

// RSP-11: "duplicate without AckReq may be ignored ... both accepted". The near ones, of which the
// device still knows that they are resends of a lost ACK, are answered.
RequestVerdict old_duplicates_unanswered(const RequestView& view) {
    constexpr std::int32_t near = 4;
    const RequestVerdict verdict = right_request::expected_psn(view);
    const bool old = wire::distance(view.packet.bth.psn, view.inbound.expected_psn) > near;
    const bool quiet = old && is_send_or_write(view) && !view.packet.bth.ack_request;
    return verdict == RequestVerdict::Duplicate && quiet ? RequestVerdict::Drop : verdict;
}

// KEY-10: "precedence ... INFO. Add pairs: alignment vs rkey, RNR vs rkey for WRITE_ONLY_IMM,
// length vs rkey - all either way"; ATM-03: "which NAK wins". Two units look at requests in turn:
// that of odd PSNs asks for the key first.
RequestVerdict alignment_at_even(const RequestView& view) {
    return odd(view.packet.bth.psn) ? RequestVerdict::Accept
                                    : right_request::atomic_alignment(view);
}
RequestVerdict length_at_even(const RequestView& view) {
    return odd(view.packet.bth.psn) ? RequestVerdict::Accept : right_request::message_length(view);
}
bool write_at_odd(const RequestView& view) {
    return odd(view.packet.bth.psn) && view.info.operation == Operation::RdmaWrite;
}
RequestVerdict receive_at_even(const RequestView& view) {
    return write_at_odd(view) ? RequestVerdict::Accept : right_request::receive_ready(view);
}
RequestVerdict late_length_and_alignment(const RequestView& view) {
    if (odd(view.packet.bth.psn)) {
        const RequestVerdict aligned = right_request::atomic_alignment(view);
        if (aligned != RequestVerdict::Accept) return aligned;
        const RequestVerdict fits = right_request::message_length(view);
        if (fits != RequestVerdict::Accept) return fits;
    }
    return right_request::flush_kind(view);
}
RequestVerdict late_receive(const RequestView& view) {
    if (write_at_odd(view)) {
        const RequestVerdict ready = right_request::receive_ready(view);
        if (ready != RequestVerdict::Accept) return ready;
    }
    return right_request::invalidate_key(view);
}

// RNR-03: "mlx5 ODP RNR-NAKs WRITE/READ/SEND on page fault"; "an occasional RNR is INFO and the
// tester must obey it". Trait odp. Once, and only what is right in all else.
RequestVerdict page_absent_at_first(const RequestView& view) {
    constexpr std::uint32_t every = 16;
    constexpr std::uint32_t which = 9;
    const RequestVerdict verdict = right_request::invalidate_key(view);
    const bool absent = view.packet.bth.psn.value() % every == which && is_rc(view) &&
                        view.info.starts_message() && view.inbound.nak != engine::NakState::Rnr;
    return verdict == RequestVerdict::Accept && absent ? RequestVerdict::Rnr : verdict;
}

// RNR-05: "resend before the responder's timer ends may be dropped silently ... or a new RNR NAK;
// both legal": the first in the first half of the time, even if there is a receive now, the second
// in the other half.
RequestVerdict deaf_in_first_half(const RequestView& view) {
    const wire::Duration half = wire::rnr_time(view.connection.min_rnr_timer) / 2;
    const bool early = view.inbound.nak == engine::NakState::Rnr && view.takes_receive() &&
                       view.now + half < view.inbound.rnr_until;
    return early ? RequestVerdict::Drop : right_request::receive_ready(view);
}

// KEY-05: "for multi-packet WRITE the NAK may come at FIRST or at the first packet out of range";
// KEY-06 INFO. A WRITE that begins at an odd PSN is looked at packet by packet.
RequestVerdict range_by_first_psn(const RequestView& view) {
    const bool part = write_at_odd(view) && view.info.position == wire::Position::First;
    if (!part || !view.target) return right_request::key_range(view);
    const std::uint64_t bytes =
        std::min<std::uint64_t>(view.target->length, view.packet.payload().size());
    const bool covered =
        view.memory.slot(view.target->rkey.value).covers(view.target->address, bytes);
    return covered ? RequestVerdict::Accept : RequestVerdict::NakRemoteAccess;
}
// LEN-04: "NAK may come anywhere from the packet that first proves the excess up to LAST/ONLY": at
// the first one with an even PSN. The device's behaviour keeps what is too much out of memory.
RequestVerdict excess_at_even(const RequestView& view) {
    const RequestVerdict verdict = right_request::message_length(view);
    const bool inside = view.info.operation == Operation::RdmaWrite && !view.info.ends_message();
    if (verdict != RequestVerdict::Accept || !inside || odd(view.packet.bth.psn)) return verdict;
    const bool starts = view.info.starts_message();
    const std::uint64_t before = starts ? 0 : view.inbound.received;
    const std::uint64_t announced = starts ? view.packet.reth.dma_length : view.inbound.announced;
    return before + view.packet.payload().size() < announced ? RequestVerdict::Accept
                                                             : RequestVerdict::NakInvalidRequest;
}

// BTH-12: "NAK 0x61 is a lawful answer, silent also": of a SEND a NAK, all else is dropped by the
// parser. ATM-07: "INFO (silent, NAK 0x61 or ignored)": each of them for one kind of request.
RequestVerdict excess_pad_by_kind(const RequestView& view) {
    if (view.packet.pad_exceeds_body() && view.info.operation != Operation::Send) {
        return RequestVerdict::Drop;
    }
    return right_request::pad_count(view);
}
RequestVerdict stray_payload_by_kind(const RequestView& view) {
    const RequestVerdict verdict = right_request::payload_length(view);
    if (verdict == RequestVerdict::Accept || view.info.carries_payload()) return verdict;
    if (view.info.operation == Operation::RdmaReadRequest) return RequestVerdict::Accept;
    return view.info.operation == Operation::FetchAdd ? RequestVerdict::Drop : verdict;
}

// RDR-07: "Other valid VA or R_Key of the same PD: qib/hfi1 re-validate and serve it": another
// address under the same key.
bool same_key_and_place(const RequestView& view) {
    if (view.info.operation != Operation::RdmaReadRequest) return true;
    if (view.saved == nullptr || view.saved->opcode != view.packet.bth.opcode) return false;
    const std::uint64_t offset =
        std::uint64_t{engine::forward(view.saved->psn, view.packet.bth.psn)} *
        wire::bytes_of(view.connection.mtu);
    return offset + view.packet.reth.dma_length <= view.saved->length &&
           view.packet.reth.rkey == view.saved->rkey;
}
// ATM-05: "duplicate with other operands / opcode: silent or saved answer; never executed"; "qib
// requires same opcode".
bool same_opcode(const RequestView& view) {
    if (!view.packet.headers.has(wire::Header::AtomicEth)) {
        return right_duplicate::same_atomic(view);
    }
    return view.saved != nullptr && view.saved->opcode == view.packet.bth.opcode &&
           view.saved->psn == view.packet.bth.psn;
}

// ACK-10: "never more credits than posted WQEs ... value otherwise INFO". Never none where there
// are some.
void tell_half_at_odd_msn(wire::Packet& packet) {
    if (!is_rc_response(packet) || !has_aeth(packet) || packet.aeth.msn.value % 2 == 0) return;
    if (packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const auto credits = wire::credits_of(packet.aeth.syndrome.code());
    if (!credits || *credits < 2) return;
    packet.aeth.syndrome = wire::Syndrome::ack(wire::credit_code_of(*credits / 2));
}

// OPC-09: "Op unknown to the device generation (16/17/1C/1D on old HW): as BTH-06", and there "NAK
// 0x61 preferred". The word that it lacks says so.
RequestVerdict knows_no_invalidate(const RequestView& view) {
    return view.info.invalidates() ? RequestVerdict::NakInvalidRequest
                                   : right_request::known_opcode(view);
}

// CM-10: "MRA extends timeout by service timeout code"; CM-06 wants a REJ with reason 8 and does
// not say how soon. This device's port tells that a REQ has come before its host has looked at it.
class MraBeforeRefusal final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto decoded = wire::decode_packet(datagram.bytes);
        const bool of_gsi = decoded && decoded->info().service == wire::Service::Ud &&
                            decoded->deth.source_qp == wire::kGsiQpn;
        if (!of_gsi) {
            out.push_back(std::move(datagram));
            return;
        }
        wire::Packet packet = *decoded;
        std::vector<std::byte> body(packet.body.begin(), packet.body.end());
        packet.body = body;
        wire::Duration hold{0};
        if (refuses_request(packet)) {
            const std::uint32_t own = wire::load_u32(body, wire::cm::kLocalIdAt);
            const std::uint32_t theirs = wire::load_u32(body, wire::cm::kRemoteIdAt);
            if (own == 0) wire::store_be<4>(body, wire::cm::kLocalIdAt, theirs | 1U);
            std::vector<std::byte> mra(wire::kMadBytes);
            std::copy_n(body.begin(), wire::cm::kRemoteIdAt + 4, mra.begin());
            wire::store_be<2>(mra, wire::cm::kAttributeAt, wire::cm::kMra);
            wire::store_be<1>(mra, wire::cm::kMraTimeoutAt, service_timeout << 3U);
            wire::Packet told = packet;
            told.body = mra;
            told.bth.psn += inserted_;
            out.push_back({.envelope = datagram.envelope,
                           .bytes = bytes_of(told),
                           .delay = std::max(datagram.delay, last_ - now)});
            ++inserted_;
            hold = microseconds(150);
        }
        packet.bth.psn += inserted_;
        datagram.bytes = bytes_of(packet);
        datagram.delay = std::max(datagram.delay + hold, last_ - now);
        last_ = now + datagram.delay;
        out.push_back(std::move(datagram));
    }

  private:
    static constexpr unsigned service_timeout = 10; // 4.2 ms

    static bool refuses_request(const wire::Packet& packet) {
        return is_management(packet) && attribute_of(packet) == wire::cm::kRej &&
               wire::load_u8(packet.body, wire::cm::kMessageAt) >> 6U == 0 &&
               wire::load_u32(packet.body, wire::cm::kRemoteIdAt) != 0;
    }

    std::int64_t inserted_ = 0; // PSNs of QP 1
    wire::Instant last_;
};

// CM-01, CM-06, CM-09 name the answers and no time for them.
struct ManagementAnswers {
    static QueueKey queue(const wire::Packet& packet, const wire::Envelope& envelope) {
        return of_gsi(packet, envelope);
    }
    static wire::Duration hold(const wire::Packet& packet) {
        if (!is_management(packet)) return {};
        switch (attribute_of(packet)) {
        case wire::cm::kRej: return microseconds(120);
        case wire::cm::kRep: return microseconds(260);
        case wire::cm::kDrep: return microseconds(480);
        case wire::cm::kSidrRep: return microseconds(240);
        default: return {};
        }
    }
    static wire::Duration gap(const wire::Packet& /*packet*/) { return {}; }
};

// ENC-04: "UDP checksum 0 accepted for IPv4; non-zero correct accepted"; ENC-05: "both; record what
// DUT emits". The port sums up what is short enough for its first buffer, and all of IPv6. ENC-10:
// IPv4 with options: "drop or accept".
class SumsShortFrames final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        wire::Outer outer{.frame = frame};
        const bool options = !wire::find_layers(outer) && !outer.v6 &&
                             (wire::load_u8(frame, outer.ip_at) & 0xFU) > 5;
        if (!options) return std::nullopt;
        return engine::OwnedDatagram{};
    }
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t buffer = 512;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || (!outer.v6 && frame.size() > buffer)) return;
        const std::size_t sum_at = outer.udp_at + 6;
        const std::size_t length = wire::load_u16(frame, outer.udp_at + 4);
        if (wire::load_u16(frame, sum_at) != 0 || outer.udp_at + length > frame.size()) return;
        const wire::Bytes addresses =
            outer.v6 ? frame.subspan(outer.ip_at + 8, 32) : frame.subspan(outer.ip_at + 12, 8);
        constexpr std::uint64_t udp = 17;
        std::uint64_t sum = udp + length + words(addresses);
        sum += words(frame.subspan(outer.udp_at, length));
        while (sum >> 16U != 0)
            sum = (sum & 0xFFFFU) + (sum >> 16U);
        const std::uint64_t complement = ~sum & 0xFFFFU;
        wire::store_be<2>(frame, sum_at, complement == 0 ? 0xFFFFU : complement);
    }

  private:
    static std::uint64_t words(wire::Bytes bytes) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            sum += std::to_integer<std::uint64_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
        return sum;
    }
};

// CA17-44: "coalescing allowed"; CNP-04: "interval is vendor configuration"; CNP-07 INFO. CNPs have
// no place among the packets of a QP.
struct CnpsLate {
    static QueueKey queue(const wire::Packet& packet, const wire::Envelope& envelope) {
        QueueKey key = to_peer(packet, envelope);
        if (is_cnp(packet)) key.kind = 1;
        return key;
    }
    static wire::Duration hold(const wire::Packet& packet) {
        return is_cnp(packet) ? microseconds(18) : microseconds(0);
    }
    static wire::Duration gap(const wire::Packet& /*packet*/) { return {}; }
};

// --- requesters

struct AskedRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    wire::Reth reth;
    std::vector<wire::Psn> cuts; // where its rest, asked for in two pieces, was cut

    [[nodiscard]] bool holds(wire::Psn psn) const { return engine::forward(first, psn) < packets; }
};
struct AskedReads {
    std::deque<AskedRead> reads; // that are not wholly answered
};

// A requester whose READs are known when their rest is asked for again.
class FollowsReads : public QpFilter<AskedReads> {
  protected:
    virtual void rest_leaves(Qp& /*qp*/, AskedRead& /*read*/, Passage& /*passage*/) {}
    virtual void response_arrives(AskedRead& /*read*/, wire::Packet& /*packet*/) {}

    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        if (!is_read_request(packet)) return;
        auto& reads = qp.memory.reads;
        const auto known = holding(reads, packet.bth.psn);
        if (known != reads.end()) {
            const std::uint64_t offset =
                std::uint64_t{engine::forward(known->first, packet.bth.psn)} *
                wire::bytes_of(qp.mtu());
            const bool rest = known->reth.rkey == packet.reth.rkey &&
                              known->reth.virtual_address + offset == packet.reth.virtual_address &&
                              known->reth.dma_length == packet.reth.dma_length + offset;
            if (rest) {
                if (offset > 0) rest_leaves(qp, *known, passage);
                return;
            }
            reads.erase(known);
        }
        constexpr std::size_t most = 32;
        if (reads.size() == most) reads.pop_front();
        reads.push_back({.first = packet.bth.psn,
                         .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                         .reth = packet.reth,
                         .cuts = {}});
    }
    void arrives(Qp& qp, Passage& passage) final {
        if (!is_read_response(passage.packet)) return;
        auto& reads = qp.memory.reads;
        const wire::Psn psn = passage.packet.bth.psn;
        const auto known = holding(reads, psn);
        if (known == reads.end()) return;
        response_arrives(*known, passage.packet);
    }

  private:
    static std::deque<AskedRead>::iterator holding(std::deque<AskedRead>& reads, wire::Psn psn) {
        // The newest first: PSNs come again.
        for (auto read = reads.end(); read != reads.begin();) {
            --read;
            if (read->holds(psn)) return read;
        }
        return reads.end();
    }
};

// REQ-32: "READ may be split on PSN borders"; REQ-10: a retried READ is an exact subset of the
// original. Only where the peer has begun to answer, so that both pieces are duplicates, and where
// REQ-27 leaves room for one more.
class RestInTwoPieces final : public FollowsReads {
  protected:
    void rest_leaves(Qp& qp, AskedRead& read, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const std::uint32_t left = read.packets - engine::forward(read.first, packet.bth.psn);
        const std::size_t room = qp.report.attributes.max_rd_atomic.value_or(1);
        if (left < 2 || room < 2) return;
        const std::uint32_t bytes = (left / 2) * wire::bytes_of(qp.mtu());
        wire::Packet rest = packet;
        rest.bth.psn += left / 2;
        rest.reth.virtual_address += bytes;
        rest.reth.dma_length -= bytes;
        packet.reth.dma_length = bytes;
        read.cuts.push_back(rest.bth.psn);
        passage.after.push_back(rest);
    }
    // To the engine it is one response.
    void response_arrives(AskedRead& read, wire::Packet& packet) override {
        const wire::Psn psn = packet.bth.psn;
        const bool begins = packet.info().starts_message();
        const bool ends = packet.info().ends_message();
        const bool joined = begins && cut_before(read, psn);
        const bool goes_on = ends && cut_before(read, psn + 1);
        if (!joined && !goes_on) return;
        set_place(packet, wire::position_of(begins && !joined, ends && !goes_on));
    }

  private:
    static bool cut_before(const AskedRead& read, wire::Psn psn) {
        return std::ranges::find(read.cuts, psn) != read.cuts.end();
    }
};
// Half of the READs that are allowed, so that there is room for the second piece of each.
bool half_of_the_reads(const SendView& view) {
    const std::uint32_t most = view.connection.max_rd_atomic;
    const std::uint32_t kept = most < 2 ? most : most / 2;
    return !engine::wants_response(view.request.opcode) ||
           view.outbound.outstanding_rd_atomic < kept;
}

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN": the
// beginning of four packets, which the device has on one line.
class RestFromLine final : public FollowsReads {
  protected:
    void rest_leaves(Qp& qp, AskedRead& read, Passage& passage) override {
        constexpr std::uint32_t line = 4;
        wire::Packet& packet = passage.packet;
        const std::uint32_t back = engine::forward(read.first, packet.bth.psn) % line;
        const std::uint32_t bytes = back * wire::bytes_of(qp.mtu());
        packet.bth.psn += -std::int64_t{back};
        packet.reth.virtual_address -= bytes;
        packet.reth.dma_length += bytes;
    }
};

// REQ-02 and N-36 bound what is on its way from above only. A QP's number says in which memory its
// window is kept.
bool window_by_qp(const SendView& view) {
    constexpr std::uint32_t small = 3;
    const bool slow =
        view.connection.type == engine::QpType::Rc && view.connection.qpn.value % 2 == 1;
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    const bool room = !slow || out == 0 || std::uint64_t{out} + view.packets <= small;
    return room && right_send::window(view);
}

// REQ-28 says when a request must wait for earlier READs and atomics, and nothing says when it must
// not. One request of four waits, and each atomic.
bool fenced_now_and_then(const SendView& view) {
    const bool waits = view.ssn.value() % 4 == 0 || engine::is_atomic(view.request.opcode);
    return waits ? view.outbound.outstanding_rd_atomic == 0 : right_send::fence(view);
}

// TMO-01: ">= T, <= 4T": the device has timers of the even codes, and 2.25 T lies between.
class EvenTimers final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t longest = 31;
        if (!attributes.timeout) return;
        asked_.insert_or_assign(qpn, *attributes.timeout);
        if (*attributes.timeout % 2 == 1 && *attributes.timeout < longest) ++*attributes.timeout;
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        const auto& shown = report.attributes.timeout;
        const bool rounded = asked != asked_.end() && shown && *shown == asked->second + 1;
        if (rounded) report.attributes.timeout = asked->second;
    }
    void qp_destroyed(wire::Qpn qpn) override { asked_.erase(qpn); }

  private:
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// REQ-27: "Value 3: must be rounded ... sending 2 is legal. Read back with query_qp"; RDR-08: "a
// device may remember more".
class DepthsOfTwo final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t most = 16;
        if (auto& asked = attributes.max_rd_atomic; asked && *asked <= most) {
            asked = std::bit_floor(*asked);
        }
        auto& served = attributes.max_dest_rd_atomic;
        if (served && *served > 0 && *served <= most) served = std::bit_ceil(*served);
    }
};

// REQ-21: "Expected set: LOC_LEN_ERR ... or drop + retry": dropped inside a READ, an error at its
// end. REQ-23: "Set {ignore, retry, error}", REQ-20: "legal: ignore, retry it": by the PSN.
ResponseVerdict length_by_place(const ResponseView& view) {
    const ResponseVerdict verdict = right_response::read_length(view);
    return verdict == ResponseVerdict::LengthError && !view.info.ends_message()
               ? ResponseVerdict::Drop
               : verdict;
}
ResponseVerdict position_by_psn(const ResponseView& view) {
    const ResponseVerdict verdict = right_response::read_position(view);
    const bool again = verdict == ResponseVerdict::Drop && view.request && odd(view.packet.bth.psn);
    return again ? ResponseVerdict::Retry : verdict;
}
ResponseVerdict fit_by_psn(const ResponseView& view) {
    const ResponseVerdict verdict = right_response::fits_request(view);
    const bool ack = view.info.operation == Operation::Acknowledge && view.request &&
                     engine::wants_response(view.request->opcode);
    return verdict == ResponseVerdict::Drop && ack && odd(view.packet.bth.psn)
               ? ResponseVerdict::Retry
               : verdict;
}

// REQ-05: "SQ logic can use the MSN to complete WQEs ... PEN completes by MSN and discards MSN >=
// SSN"; N-19: "MSN absurd -> ignored or error". An ACK of more messages than were begun is none.
ResponseVerdict no_msn_ahead(const ResponseView& view) {
    const bool ack = view.packet.headers.has(wire::Header::Aeth) &&
                     view.packet.aeth.syndrome.kind() == wire::AckKind::Ack;
    const wire::Psn told(view.packet.aeth.msn.value);
    const bool ahead = ack && wire::distance(view.outbound.credits.newest, told) > 0;
    return ahead ? ResponseVerdict::Drop : right_response::window(view);
}

// RNR-08: "waits at least the coded time ... lower bound only". The timer has every other code; 0
// is the longest of all.
void next_odd_code(wire::Packet& packet) {
    if (!is_rnr_nak(packet)) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code == 0 || code % 2 == 1) return;
    packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(code + 1));
}

// REQ-31: "AckReq may change"; TMO-06: "AckReq on some packet of the resend".
class ResendsAsk final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && is_rc_request(packet)) packet.bth.ack_request = true;
    }
};

// UD promises no order. Datagrams to different QPs wait in different queues, and long ones for
// their last bytes; those of QP 1 do not.
struct QueuesByDestination {
    static QueueKey queue(const wire::Packet& packet, const wire::Envelope& envelope) {
        return to_peer(packet, envelope);
    }
    static wire::Duration hold(const wire::Packet& packet) {
        constexpr std::size_t at_once = 256;
        const bool waits = packet.info().service == wire::Service::Ud &&
                           packet.deth.source_qp != wire::kGsiQpn && packet.body.size() > at_once;
        return waits ? microseconds(4) : microseconds(0);
    }
    static wire::Duration gap(const wire::Packet& /*packet*/) { return {}; }
};

// EXT-06 asks for nothing but order; no rule says how soon a packet follows the one before.
struct UcPaced {
    static QueueKey queue(const wire::Packet& packet, const wire::Envelope& envelope) {
        return to_peer(packet, envelope);
    }
    static wire::Duration hold(const wire::Packet& /*packet*/) { return {}; }
    static wire::Duration gap(const wire::Packet& packet) {
        if (packet.info().service != wire::Service::Uc) return {};
        return packet.info().starts_message() ? nanoseconds(1500) : nanoseconds(350);
    }
};

// CM-01 names the messages and no time but the timeouts; CM-04: data may come before the RTU.
struct ManagementRequests {
    static QueueKey queue(const wire::Packet& packet, const wire::Envelope& envelope) {
        return of_gsi(packet, envelope);
    }
    static wire::Duration hold(const wire::Packet& packet) {
        if (!is_management(packet)) return {};
        switch (attribute_of(packet)) {
        case wire::cm::kReq: return microseconds(90);
        case wire::cm::kRtu: return microseconds(350);
        case wire::cm::kDreq: return microseconds(220);
        default: return {};
        }
    }
    static wire::Duration gap(const wire::Packet& /*packet*/) { return {}; }
};

// No rule says what the flow label is; CRC-03 has it changed on the way. Where the address vector
// names none the device takes it from port and QP, the same for a QP's life.
void label_from_qp(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::uint32_t golden_ratio = 0x9E3779B1;
    wire::Envelope& envelope = datagram.envelope;
    if (envelope.destination.v4() || envelope.flow_label != 0 || is_cnp(packet)) return;
    const std::uint32_t mixed =
        (packet.bth.dest_qp.value ^ std::uint32_t{envelope.source_port} << 8U) * golden_ratio;
    envelope.flow_label = mixed >> 12U;
}

constexpr engine::Congestion kSlowNotification{
    .notification = {.scope = engine::CnpScope::Destination,
                     .interval = microseconds(120),
                     .dscp = 40,
                     .for_responses = false},
    .reaction = {}};

constexpr std::array kMutants{
    Mutant{.name = "lb10m_old_duplicates_unanswered",
           .rule = "RSP-11",
           .description = "Duplicates of SEND and WRITE without AckReq are answered up to four "
                          "PSNs back only, and ACKs are told for eight packets at once or late.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ExpectedPsn, old_duplicates_unanswered),
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth, .ack_delay = microseconds(14)}},
    Mutant{.name = "lb10m_fault_order_by_psn",
           .rule = "KEY-10",
           .description = "At odd PSNs the key is looked at before length, alignment and the "
                          "receive of a WRITE with immediate data, at even ones after them.",
           .checks = engine::kStandardChecks.with(RequestCheck::AtomicAlignment, alignment_at_even)
                         .with(RequestCheck::MessageLength, length_at_even)
                         .with(RequestCheck::ReceiveReady, receive_at_even)
                         .with(RequestCheck::FlushKind, late_length_and_alignment)
                         .with(RequestCheck::InvalidateKey, late_receive),
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError}},
    Mutant{.name = "lb10m_page_absent_at_first",
           .rule = "RNR-03",
           .description = "One message of sixteen PSNs, of whatever kind, finds its page absent "
                          "and draws one RNR NAK.",
           .traits = "odp",
           .checks =
               engine::kStandardChecks.with(RequestCheck::InvalidateKey, page_absent_at_first),
           .behaviour = {.first_msn = engine::FirstMsn::Old}},
    Mutant{.name = "lb10m_deaf_in_first_half_of_rnr_wait",
           .rule = "RNR-05",
           .description = "A request that comes back in the first half of its RNR wait is dropped "
                          "even if it has a receive now; in the second half it is judged anew.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReceiveReady, deaf_in_first_half),
           .behaviour = {.response_msn = engine::ResponseMsn::Current}},
    Mutant{.name = "lb10m_long_writes_by_parity",
           .rule = "LEN-04",
           .description = "A WRITE that begins at an odd PSN has its range looked at packet by "
                          "packet, and one that is too long is NAKed at the next even PSN or at "
                          "its end.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, range_by_first_psn)
                         .with(RequestCheck::MessageLength, excess_at_even),
           .behaviour = {.write_excess = engine::WriteExcess::AtLast,
                         .refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "lb10m_malformed_by_kind",
           .rule = "ATM-07",
           .description = "A payload is ignored in a READ request, silences a FETCH_ADD and is "
                          "NAKed in a CMP_SWAP; too much pad is NAKed in a SEND and silent "
                          "elsewhere.",
           .checks = engine::kStandardChecks.with(RequestCheck::PadCount, excess_pad_by_kind)
                         .with(RequestCheck::PayloadLength, stray_payload_by_kind),
           .behaviour = {.oversize_nak = engine::OversizeNak::RemoteAccess}},
    Mutant{.name = "lb10m_duplicates_by_key_and_opcode",
           .rule = "RDR-07",
           .description = "A duplicate READ may name another valid address of the same region, a "
                          "duplicate atomic other operands of the same opcode; three more are "
                          "remembered, and repeated READs go on in their middle.",
           .checks = engine::kStandardChecks.with(DuplicateCheck::WithinRead, same_key_and_place)
                         .with(DuplicateCheck::SameAtomic, same_opcode),
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .remembered_extra = 3}},
    Mutant{.name = "lb10m_half_the_credits_at_odd_msn",
           .rule = "ACK-10",
           .description = "Answers with an odd MSN tell half of the credits that there are, and "
                          "ACKs cover whatever came since the last poll.",
           .behaviour = {.ack_policy = engine::AckPolicy::Coalesced,
                         .credits = true,
                         .unsolicited_credits = true},
           .make_filter = make<EditsOutbound<tell_half_at_odd_msn>>},
    Mutant{.name = "lb10m_knows_no_invalidate",
           .rule = "OPC-09",
           .description = "A device of the time before SEND with invalidate NAKs it as an unknown "
                          "opcode.",
           .lacks = "send_inv",
           .checks = engine::kStandardChecks.with(RequestCheck::KnownOpcode, knows_no_invalidate),
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage,
                         .lost_key = engine::LostKey::NakRemoteOperational}},
    Mutant{.name = "lb10m_cm_mra_before_refusal",
           .rule = "CM-10",
           .description = "A REQ that nobody serves is answered by an MRA at once and by its REJ "
                          "150 us later.",
           .make_filter = make<MraBeforeRefusal>},
    Mutant{.name = "lb10m_cm_answers_take_their_time",
           .rule = "CM-01",
           .description = "Answers of connection management leave in their order 120 to 480 us "
                          "late, each kind with its own delay.",
           .make_filter = make<Holds<ManagementAnswers>>},
    Mutant{.name = "lb10m_sums_short_frames",
           .rule = "ENC-05",
           .description = "Frames up to 512 bytes, and all of IPv6, carry a UDP checksum, longer "
                          "ones none; frames with IPv4 options are dropped.",
           .make_filter = make<SumsShortFrames>},
    Mutant{.name = "lb10m_cnps_late_and_by_address",
           .rule = "CNP-04",
           .description = "One CNP in 120 us for each address, not for responses, with a DSCP of "
                          "its own, and 18 us after the mark was seen.",
           .behaviour = {.congestion = kSlowNotification},
           .make_filter = make<Holds<CnpsLate>>},
    // RNR-14, N-16: no rule says which receive of a shared queue a message takes. ACK-05 INFO: an
    // ACK says that data was accepted, not that the host has seen it; events have no time.
    Mutant{.name = "lb10m_newest_shared_receive_told_late",
           .rule = "N-16",
           .description = "RC, UC and UD take the newest receive of a shared queue, and the host "
                          "hears of it 170 us and of events 900 us later, long after the ACK of "
                          "every packet.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket,
                         .shared_receive = engine::SharedReceive::Newest},
           .make_filter = make<HostLate<170, 110, 900>>},
    Mutant{.name = "lb10m_read_rest_in_two_pieces",
           .rule = "REQ-32",
           .description = "The rest of a READ that was partly answered is asked for again by two "
                          "READ requests; to have room for both, half of max_rd_atomic is used.",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, half_of_the_reads),
           .make_filter = make<RestInTwoPieces>},
    Mutant{.name = "lb10m_read_rest_from_fourth_packet",
           .rule = "REQ-09",
           .description = "A READ that was partly answered is asked for again from the last "
                          "packet before the gap whose place in it is a multiple of four.",
           .behaviour = {.acknowledged_read = engine::AcknowledgedRead::Retried},
           .make_filter = make<RestFromLine>},
    Mutant{.name = "lb10m_window_of_three_on_odd_qps",
           .rule = "REQ-02",
           .description = "RC QPs with odd numbers have three packets on their way at most, a "
                          "longer READ alone; the others have forty.",
           .checks = engine::kStandardChecks.with(SendCheck::Window, window_by_qp),
           .behaviour = {.ack_request_every = 16, .max_unacked_packets = 40}},
    Mutant{.name = "lb10m_fenced_now_and_then",
           .rule = "REQ-28",
           .description = "Every fourth request, and each atomic, waits until all READs and "
                          "atomics before it are answered, though nobody asked for a fence.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fenced_now_and_then)},
    Mutant{.name = "lb10m_timers_of_even_codes",
           .rule = "TMO-01",
           .description = "Odd codes of the ACK timer act as the next even one, and after a loss "
                          "one packet is sent again, and the next when that is acknowledged.",
           .behaviour = {.ack_request_every = 6,
                         .timeout_sixteenths = 18,
                         .after_loss = engine::AfterLoss::OnePacket},
           .make_filter = make<EvenTimers>},
    Mutant{.name = "lb10m_depths_are_powers_of_two",
           .rule = "REQ-27",
           .description = "max_rd_atomic is rounded down and max_dest_rd_atomic up to a power of "
                          "two, as a query shows.",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead},
           .make_filter = make<DepthsOfTwo>},
    Mutant{.name = "lb10m_bad_read_responses_by_place",
           .rule = "REQ-21",
           .description = "A READ response of a wrong length is dropped inside the READ and an "
                          "error at its end; one out of its place, and an ACK in a READ's range, "
                          "makes the READ be asked for again at odd PSNs and is ignored at even "
                          "ones.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadLength, length_by_place)
                         .with(ResponseCheck::ReadPosition, position_by_psn)
                         .with(ResponseCheck::FitsRequest, fit_by_psn)},
    Mutant{.name = "lb10m_msn_ahead_is_no_answer",
           .rule = "REQ-05",
           .description = "Answers whose MSN counts more messages than were begun are dropped, and "
                          "every third packet asks for one.",
           .checks = engine::kStandardChecks.with(ResponseCheck::Window, no_msn_ahead),
           .behaviour = {.obey_credits = true, .ack_request_every = 3, .max_unacked_packets = 48}},
    Mutant{.name = "lb10m_rnr_timer_of_odd_codes",
           .rule = "RNR-08",
           .description = "Even RNR timer codes are waited for like the next one, and after it one "
                          "message goes alone.",
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage, .rnr_wait_sixteenths = 17},
           .make_filter = make<EditsInbound<next_odd_code>>},
    Mutant{.name = "lb10m_resends_all_ask",
           .rule = "REQ-31",
           .description = "Every packet that is sent again asks for an ACK, and a repeated NAK "
                          "starts over.",
           .behaviour = {.ack_request_every = 20, .repeated_nak = engine::RepeatedNak::Restarts},
           .make_filter = make<ResendsAsk>},
    Mutant{.name = "lb10m_ud_queues_by_destination",
           .rule = "EXT-05",
           .description = "Datagrams of more than 256 bytes leave 4 us later, and a UD QP's "
                          "datagrams keep their order only among those to one QP.",
           .make_filter = make<Holds<QueuesByDestination>>},
    Mutant{.name = "lb10m_uc_paced_and_told_late",
           .rule = "EXT-06",
           .description = "UC packets leave 0.35 us and messages 1.5 us after what came before, "
                          "and the host hears of completions 60 us late.",
           .make_filter = make_chain<Holds<UcPaced>, HostLate<60, 0, 0>>},
    Mutant{.name = "lb10m_cm_requests_take_their_time",
           .rule = "CM-04",
           .description = "REQ, RTU and DREQ leave 90 to 350 us late, so that data may come before "
                          "the RTU.",
           .make_filter = make<Holds<ManagementRequests>>},
    Mutant{.name = "lb10m_flow_label_from_qp",
           .rule = "CRC-03",
           .description = "IPv6 packets whose address vector names no flow label have one out of "
                          "port and QP, and the port is a hash of the QP's number alone.",
           .behaviour = {.source_port = engine::SourcePort::QpnHash},
           .make_filter = make<EditsSentDatagram<label_from_qp>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind10_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind10_mixed() {
    return of_lawful_blind10_mixed::kMutants;
}

} // namespace veriroce::mutants
