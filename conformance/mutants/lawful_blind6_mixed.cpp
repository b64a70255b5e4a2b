// Lawful devices of all sides that behave otherwise than the plain engine, written blind.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/filter_chain.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/pacing.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_lawful_blind6_mixed {
namespace {

using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SendCheck;
using engine::SendView;
using wire::Operation;

constexpr wire::Duration us(int count) {
    return std::chrono::microseconds(count);
}

// --- responder: acknowledges

// ACK-02: "AckReq=0 -> no obligation; ACK allowed". The engine acknowledges each packet. Of the
// ACKs that no AckReq demands, the filter passes one in four. Where it is not certain which QP
// answers, it passes every ACK.
class ThinsUnaskedAcks final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Known& known = qps_[report.qpn];
        known.peer = report.attributes.dest_qp;
        if (report.state == engine::QpState::Reset) known = {};
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }

    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet) && packet->bth.ack_request) {
            const auto known = qps_.find(packet->bth.dest_qp);
            if (known != qps_.end()) note(known->second.asked, packet->bth.psn);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet) && superfluous(*packet)) return;
        out.push_back(std::move(datagram));
    }

  private:
    struct Known {
        std::optional<wire::Qpn> peer;
        std::optional<wire::Psn> asked; // the newest that asked for an ACK and has none yet
    };

    static void note(std::optional<wire::Psn>& asked, wire::Psn psn) {
        if (!asked || wire::distance(*asked, psn) > 0) asked = psn;
    }
    bool superfluous(const wire::Packet& packet) {
        const auto answers = [&](const auto& one) { return one.second.peer == packet.bth.dest_qp; };
        if (std::ranges::count_if(qps_, answers) != 1) return false;
        auto& asked = std::ranges::find_if(qps_, answers)->second.asked;
        if (!asked) return is_ack(packet) && packet.bth.psn.value() % 4 != 0;
        if (!is_nak(packet) && wire::distance(*asked, packet.bth.psn) >= 0) asked.reset();
        return false;
    }

    std::map<wire::Qpn, Known> qps_;
};

// ACK-12, TMO-07: how late an answer is is free below the local CA ACK delay. RDR-11: all answers
// of a QP keep their order behind the one that is late.
class StallsAtEachSixteenthMessage {
  public:
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        if (!has_aeth(packet)) return {.at = earliest, .next = earliest};
        std::optional<wire::Msn>& told = told_[packet.bth.dest_qp];
        const bool stalls = told != packet.aeth.msn && packet.aeth.msn.value % 16 == 0;
        told = packet.aeth.msn;
        const wire::Instant at = stalls ? earliest + us(40) : earliest;
        return {.at = at, .next = at};
    }

  private:
    std::map<wire::Qpn, std::optional<wire::Msn>> told_; // by the peer's QP
};

// RSP-16: "NAK latency, NAK batching" are measured, not prescribed.
struct DelaysSequenceNak {
    static bool delays(const wire::Packet& packet) { return is_rc_response(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        const wire::Instant at = is_sequence_nak(packet) ? earliest + us(30) : earliest;
        return {.at = at, .next = at};
    }
};

// ACK-10: "never more credits than posted WQEs [...]; value otherwise INFO".
void tell_half_of_many(wire::Packet& packet) {
    constexpr std::uint32_t few = 4;
    if (!is_rc_response(packet) || !has_aeth(packet)) return;
    if (packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const auto credits = wire::credits_of(packet.aeth.syndrome.code());
    if (!credits || *credits <= few) return;
    packet.aeth.syndrome = wire::Syndrome::ack(wire::credit_code_of(std::max(few, *credits / 2)));
}

// --- responder: duplicates and faults

// RSP-11: "duplicate without AckReq may be ignored [...] both accepted".
RequestVerdict odd_unasked_duplicate_ignored(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::expected_psn(view);
    const bool acked_only =
        view.info.operation == Operation::Send || view.info.operation == Operation::RdmaWrite;
    const bool ignored = verdict == RequestVerdict::Duplicate && acked_only &&
                         !view.packet.bth.ack_request && view.packet.bth.psn.value() % 2 == 1;
    return ignored ? RequestVerdict::Drop : verdict;
}

RequestVerdict key_fault(const RequestView& view) {
    namespace right = engine::request_check;
    for (const auto check : {right::key_known, right::key_variant, right::key_domain,
                             right::key_rights, right::key_range}) {
        if (const auto verdict = check(view); verdict != RequestVerdict::Accept) return verdict;
    }
    return RequestVerdict::Accept;
}

// KEY-10 (INFO): "alignment vs rkey [...], RNR vs rkey for WRITE_ONLY_IMM, length vs rkey - all
// either way". Two units check a request, and the address says which of them is the first.
template <RequestVerdict (*Right)(const RequestView&)>
RequestVerdict or_its_key(const RequestView& view) {
    const RequestVerdict verdict = Right(view);
    const bool refused =
        verdict == RequestVerdict::NakInvalidRequest || verdict == RequestVerdict::Rnr;
    if (!refused || !view.target || (view.target->address & 0x40) == 0) return verdict;
    const RequestVerdict of_key = key_fault(view);
    return of_key == RequestVerdict::Accept ? verdict : of_key;
}

// RDR-09: "MUST not corrupt", "code INFO". RNR-03: "RNR = WQE or other resource not ready", as an
// atomic that meets no free entry.
RequestVerdict excess_atomic_waits(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::reply_resources(view);
    const bool atomic =
        view.info.operation == Operation::CompareSwap || view.info.operation == Operation::FetchAdd;
    const bool waits =
        verdict != RequestVerdict::Accept && atomic && view.connection.max_dest_rd_atomic != 0;
    return waits ? RequestVerdict::Rnr : verdict;
}

// ATM-05: "duplicate with other operands / opcode | silent or saved answer; never executed": here
// other operands meet the saved answer, another opcode or place meets silence.
bool same_place(const RequestView& view) {
    if (engine::duplicate_check::same_atomic(view)) return true;
    if (view.saved == nullptr || !view.packet.headers.has(wire::Header::AtomicEth)) return false;
    const engine::SavedRequest& saved = *view.saved;
    const wire::AtomicEth& asked = view.packet.atomic;
    return saved.opcode == view.packet.bth.opcode && saved.psn == view.packet.bth.psn &&
           saved.rkey == asked.rkey && saved.address == asked.virtual_address;
}

// --- requester

struct AskedRead {
    wire::Psn first;
    wire::Reth reth;
    std::uint32_t packets = 1;
};

struct AskedReads {
    std::deque<AskedRead> reads;
};

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN". This
// device keeps its place in a READ in units of four packets.
class RestartsReadsByFour final : public QpFilter<AskedReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::int32_t unit = 4;
        constexpr std::size_t kept = 32;
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        std::deque<AskedRead>& reads = qp.memory.reads;
        const std::uint64_t mtu = wire::bytes_of(qp.mtu());
        for (const AskedRead& read : reads) {
            const std::int32_t offset = wire::distance(read.first, packet.bth.psn);
            if (offset < 0 || static_cast<std::uint32_t>(offset) >= read.packets) continue;
            const std::uint64_t bytes = static_cast<std::uint64_t>(offset) * mtu;
            const bool tail = packet.reth.rkey == read.reth.rkey &&
                              packet.reth.virtual_address == read.reth.virtual_address + bytes &&
                              packet.reth.dma_length + bytes == read.reth.dma_length;
            if (!tail) break;
            const std::int32_t back = offset % unit;
            const std::uint64_t more = static_cast<std::uint64_t>(back) * mtu;
            packet.bth.psn += -back;
            packet.reth.virtual_address -= more;
            packet.reth.dma_length += static_cast<std::uint32_t>(more);
            return;
        }
        std::erase_if(reads, [&](const AskedRead& read) {
            const std::int32_t offset = wire::distance(read.first, packet.bth.psn);
            return offset >= 0 && static_cast<std::uint32_t>(offset) < read.packets;
        });
        reads.push_back({.first = packet.bth.psn,
                         .reth = packet.reth,
                         .packets = wire::packets_of(packet.reth.dma_length, qp.mtu())});
        if (reads.size() > kept) reads.pop_front();
    }
};

// BTH-18: "AckReq set at least on the last packet of a message"; REQ-31: "AckReq may change" in
// what is sent again.
class AsksOnResends final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        const Operation operation = packet.info().operation;
        const bool data = operation == Operation::Send || operation == Operation::RdmaWrite;
        if (!is_rc_request(packet) || !data) return;
        if (again || packet.bth.psn.value() % 16 == 15) packet.bth.ack_request = true;
    }
};

// REQ-27: "outstanding READ+ATOMIC <= max_rd_atomic": a bound, and one unit works on atomics.
bool atomics_alone(const SendView& view) {
    return engine::send_check::rd_atomic(view) &&
           (!engine::is_atomic(view.request.opcode) || view.outbound.outstanding_rd_atomic == 0);
}

// REQ-02, N-36 limit what is on its way from above only. A burst ends at each 32nd PSN, and the
// next one begins when all of it is acknowledged. N-18: the packet before the wait asks for an ACK,
// for which the engine asks here with two packets.
bool blocks_of_32(const SendView& view) {
    constexpr std::uint32_t block = 32;
    const wire::Psn first = view.outbound.unacked_psn;
    const wire::Psn next = view.outbound.next_psn;
    const bool whole = view.packets == 1 || engine::wants_response(view.request.opcode);
    if (first == next && whole) return true;
    const wire::Psn last = next + (std::int64_t{view.packets} - 1);
    return engine::forward(first, last) < block && first.value() / block == last.value() / block;
}

// RNR-08: "waits at least the coded time", "Lower bound only (CX-4: coded 0.12 ms, resend 1.5 ms)".
void a_step_longer_for_odd_psns(wire::Packet& packet) {
    if (!is_rnr_nak(packet) || packet.bth.psn.value() % 2 == 0) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code == 0) return; // the longest there is, and what follows 31
    packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>((code + 1) % 32));
}

// RNR-13: "Allow packets already in the transmit pipeline when the RNR arrived"; REQ-33 (INFO):
// when a late ACK stops a resend; TMO-01 sets the bounds that the longer timer keeps.
class TakesResponsesLate final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_response(*packet)) datagram.delay += us(8);
        in.push_back(std::move(datagram));
    }
};

// --- port

// No rule names the value of the IPv4 identification of a packet that is never fragmented (CA17-7,
// CA17-8; REQ-31: "IP ID [...] may differ"). ENC-05: "zero UDP checksum [...] or valid one
// accepted; record what DUT emits". Short frames get a checksum, long ones a number.
class NumbersLongFrames final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t most_of_short = 128;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        if (!outer.v6) {
            const std::uint16_t id = frame.size() > most_of_short ? ++number_ : std::uint16_t{0};
            wire::store_be<2>(frame, outer.ip_at + 4, id);
            const wire::Bytes ip = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
            wire::store_be<2>(frame, outer.ip_at + 10, wire::ipv4_checksum(ip));
            wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                             wire::icrc(outer.covered()));
        }
        std::uint16_t checksum = 0;
        if (frame.size() <= most_of_short) {
            const wire::Bytes addresses =
                outer.v6 ? frame.subspan(outer.ip_at + 8, 32) : frame.subspan(outer.ip_at + 12, 8);
            checksum = wire::udp_checksum(
                addresses,
                frame.subspan(outer.udp_at, outer.icrc_at + wire::kIcrcBytes - outer.udp_at));
        }
        wire::store_be<2>(frame, outer.udp_at + 6, checksum);
    }

  private:
    std::uint16_t number_ = 0;
};

// No rule says what the flow label is where the address vector leaves it 0, and CRC-03 keeps it out
// of the ICRC; one value for each source port, and so for each QP (ENC-02).
void label_by_port(wire::Envelope& envelope) {
    if (envelope.source.v4() || envelope.flow_label != 0) return;
    constexpr std::uint32_t multiplier = 0x9E35;
    envelope.flow_label = (envelope.source_port * multiplier ^ envelope.source_port) & 0xFFFFF;
}

constexpr std::uint16_t kFirstOwnPort = 0xC000; // of those that the device chooses itself

// The trait `multipath`: "sends the packets of a QP from several UDP ports".
class PortOfMessage final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool own = datagram.envelope.source_port >= kFirstOwnPort;
        if (packet && own && is_rc_request(*packet)) {
            std::uint32_t& messages = messages_[packet->bth.dest_qp];
            if (packet->info().starts_message()) ++messages;
            const std::uint32_t port = datagram.envelope.source_port + messages % 4 * 0x111;
            datagram.envelope.source_port =
                static_cast<std::uint16_t>(kFirstOwnPort | (port & 0x3FFF));
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, std::uint32_t> messages_; // by the peer's QP
};

// CA17-44: "coalescing allowed"; CNP-04: the scope is to be found and "interval is vendor
// configuration, not standard"; ENC-15: the PCP is a priority of the link only.
void late_and_urgent_cnp(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (!is_cnp(packet)) return;
    datagram.delay += us(18);
    if (datagram.envelope.vlan) datagram.envelope.vlan->priority = 6;
}

// --- connection management

bool is_cm(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn &&
           packet.payload().size() == wire::kMadBytes &&
           wire::load_u8(packet.payload(), 1) == wire::kCmClass;
}

// CM-01: "timeouts and max_cm_retries honoured": an answer far below each timeout is in time. They
// keep their order.
struct AnswersCmLate {
    static bool delays(const wire::Packet& packet) { return is_cm(packet); }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        wire::Duration work{0};
        switch (wire::cm::attribute_of(packet.payload())) {
        case wire::cm::kRej: work = us(60); break;
        case wire::cm::kRep: work = us(120); break;
        case wire::cm::kDrep: work = us(200); break;
        default: break;
        }
        return {.at = earliest + work, .next = earliest + work};
    }
};

// As above, CM-01: the software looks at QP1 now and then.
class PollsQp1 final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        constexpr wire::Duration period = us(400);
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cm(*packet)) {
            const wire::Instant arrives = now + datagram.delay;
            datagram.delay += period - arrives.time_since_epoch() % period;
        }
        in.push_back(std::move(datagram));
    }
};

// CM-11: "wrong Q_Key, class, version, MAD length, base version | silent or REJ 31". A REQ of
// another class version, right in all else, gets REJ 31.
class RejectsClassVersion final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.qpn != wire::kGsiQpn) return;
        serves_ = report.state == engine::QpState::Rts;
        pkey_ = report.attributes.pkey.value_or(wire::kDefaultPkey);
    }
    void qp_destroyed(wire::Qpn qpn) override { serves_ = serves_ && qpn != wire::kGsiQpn; }

    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && serves_ && to_be_rejected(*packet)) {
            answers.push_back(rejection(*packet, datagram.envelope));
            return;
        }
        in.push_back(std::move(datagram));
    }

  private:
    static constexpr std::uint8_t kOurVersion = 2;

    [[nodiscard]] bool to_be_rejected(const wire::Packet& packet) const {
        const wire::Bth& bth = packet.bth;
        const bool member = ((bth.pkey.value ^ pkey_.value) & 0x7FFF) == 0 &&
                            ((bth.pkey.value | pkey_.value) & 0x8000) != 0;
        if (!is_cm(packet) || packet.info().operation != Operation::Send || bth.version != 0 ||
            !member || packet.deth.qkey != wire::kGsiQkey) {
            return false;
        }
        const wire::Bytes mad = packet.payload();
        return wire::load_u8(mad, 0) == 1 && wire::load_u8(mad, 2) != kOurVersion &&
               wire::load_u8(mad, wire::cm::kMethodAt) == 3 &&
               wire::cm::attribute_of(mad) == wire::cm::kReq;
    }

    engine::OwnedDatagram rejection(const wire::Packet& request, const wire::Envelope& from) {
        constexpr std::size_t info_length_at = 33; // 7 bits
        constexpr std::size_t reason_at = 34;
        constexpr std::size_t info_at = 36;
        constexpr std::uint64_t wrong_version = 31;
        const wire::Bytes asked = request.payload();
        std::array<std::byte, wire::kMadBytes> mad{};
        const wire::MutableBytes bytes(mad);
        wire::store_be<4>(bytes, 0, wire::load_u32(asked, 0));
        wire::store_be<1>(bytes, 2, kOurVersion);
        wire::store_be<8>(bytes, wire::cm::kTransactionAt,
                          wire::load_u64(asked, wire::cm::kTransactionAt));
        wire::store_be<2>(bytes, wire::cm::kAttributeAt, wire::cm::kRej);
        wire::store_be<4>(bytes, wire::cm::kRemoteIdAt,
                          wire::load_u32(asked, wire::cm::kLocalIdAt));
        wire::store_be<1>(bytes, info_length_at, 1U << 1U);
        wire::store_be<2>(bytes, reason_at, wrong_version);
        wire::store_be<1>(bytes, info_at, kOurVersion);

        wire::Packet answer;
        answer.bth = {.opcode =
                          wire::opcode_of(wire::Service::Ud, Operation::Send, wire::Position::Only)
                              .value_or(0),
                      .mig_req = true,
                      .pkey = pkey_,
                      .dest_qp = request.deth.source_qp,
                      .psn = psn_};
        psn_ += 1;
        answer.headers = answer.info().headers;
        answer.deth = {.qkey = wire::kGsiQkey, .source_qp = wire::kGsiQpn};
        answer.body = mad;
        wire::Envelope envelope = back(from);
        envelope.source_port = kFirstOwnPort + 1;
        envelope.dscp = 0;
        envelope.hop_limit = 64;
        envelope.flow_label = 0;
        return datagram_of(answer, envelope);
    }

    bool serves_ = false;
    wire::Pkey pkey_ = wire::kDefaultPkey;
    wire::Psn psn_;
};

// --- UC and UD

// EXT-06 and LEN-10 say what the packets of a UC message are, and nothing says how closely they
// follow each other. 40 Gb/s, and a pause after each message.
struct PacesUc {
    static constexpr bool kQueues = true;
    static bool delays(const wire::Packet& packet) {
        return packet.info().service == wire::Service::Uc && packet.info().request();
    }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        constexpr std::size_t bytes_per_ns = 5;
        wire::Duration gap(packet.body.size() / bytes_per_ns);
        if (packet.info().ends_message()) gap += us(2);
        return {.at = earliest, .next = earliest + gap};
    }
};

// The same of datagrams, to each destination by itself: datagrams have no order among destinations.
// The management datagrams of QP1 do not wait.
struct PacesUd {
    static constexpr bool kQueues = true;
    static bool delays(const wire::Packet& packet) {
        return packet.info().service == wire::Service::Ud && packet.bth.dest_qp != wire::kGsiQpn;
    }
    static Departure departure(const wire::Packet& packet, wire::Instant earliest) {
        return {.at = earliest, .next = earliest + us(1) + wire::Duration(packet.body.size())};
    }
};

// ENC-02: the UDP source port "may be any"; here it is the address handle's, not the QP's.
void port_of_destination(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    wire::Envelope& envelope = datagram.envelope;
    if (packet.info().service != wire::Service::Ud || envelope.source_port < kFirstOwnPort) return;
    constexpr std::uint32_t golden_ratio = 0x9E3779B1;
    const std::uint32_t flow = envelope.destination.low32() ^ packet.bth.dest_qp.value << 8U;
    envelope.source_port = static_cast<std::uint16_t>(kFirstOwnPort | (flow * golden_ratio >> 18U));
}

// --- host

// REQ-27: "Value 3 = SHOULD: [...] must be rounded [...]; sending 2 is legal. Read back with
// query_qp". RDR-09: how many more a responder takes is open ("recycle", "code INFO").
class RoundsDepths final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        constexpr std::uint8_t limit = 16;
        auto& out = attributes.max_rd_atomic;
        auto& in = attributes.max_dest_rd_atomic;
        if (out && *out <= limit) out = std::bit_floor(*out);
        if (in && *in != 0 && *in <= limit) in = std::bit_ceil(*in);
    }
};

// STA-07 and the table of completions fix id and status of a work request that fails; as in the
// verbs, nothing else of such a completion means anything. It has what the last good one had.
class StaleFailures final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion seen = one;
        if (one.status == engine::WcStatus::Success) {
            last_ = one;
        } else if (last_) {
            seen.opcode = last_->opcode;
            seen.byte_len = last_->byte_len;
        }
        return seen;
    }

  private:
    std::optional<engine::Completion> last_;
};

constexpr std::array kMutants{
    Mutant{.name = "unasked_acks_for_every_fourth_psn",
           .rule = "ACK-02",
           .description = "Acknowledges each packet that asks, and of the others those whose PSN "
                          "is a multiple of four.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryPacket},
           .make_filter = make<ThinsUnaskedAcks>},
    // N-01: "FIRST of a READ may carry old or new MSN".
    Mutant{.name = "answers_stall_at_each_sixteenth_message",
           .rule = "ACK-12",
           .description = "The first answer with an MSN that is a multiple of 16 leaves 40 us "
                          "late, with all answers behind it; the first READ response has the old "
                          "MSN.",
           .behaviour = {.first_msn = engine::FirstMsn::Old},
           .make_filter = make<SendsLater<StallsAtEachSixteenthMessage>>},
    // RSP-10: "(b) resend of the READ response/ATOMIC_ACK itself, which acknowledges the SEND".
    // G3: a responder "may resend later responses too".
    Mutant{.name = "odd_unasked_duplicates_unheard",
           .rule = "RSP-11",
           .description = "Ignores a duplicate SEND or WRITE with an odd PSN that asks for no ACK; "
                          "another one before a READ is answered by its response, and a duplicate "
                          "READ by all later ones as well.",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn,
                                                  odd_unasked_duplicate_ignored),
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .duplicate_resends_later = true},
           .make_filter = nullptr},
    // RSP-03: "Duplicate-in-between variant = INFO": QIB and HFI NAK again after a duplicate.
    Mutant{.name = "sequence_nak_late_and_rearmed",
           .rule = "RSP-16",
           .description = "A sequence NAK leaves 30 us late, with all answers behind it; after a "
                          "duplicate the next gap packet is NAKed again.",
           .behaviour = {.duplicate_rearms_nak = true},
           .make_filter = make<SendsLater<DelaysSequenceNak>>},
    Mutant{.name = "fault_of_two_told_by_the_address",
           .rule = "KEY-10",
           .description = "Of a request with a bad key and another fault (length, alignment, no "
                          "receive) the NAK tells of the key if bit 6 of its address is set.",
           .checks = engine::kStandardChecks
                         .with(RequestCheck::ReceiveReady,
                               or_its_key<engine::request_check::receive_ready>)
                         .with(RequestCheck::MessageLength,
                               or_its_key<engine::request_check::message_length>)
                         .with(RequestCheck::AtomicAlignment,
                               or_its_key<engine::request_check::atomic_alignment>)},
    // RNR-05: "may be dropped silently", "Or a new RNR NAK; both legal".
    Mutant{.name = "excess_atomic_draws_rnr_nak",
           .rule = "RDR-09",
           .description = "An atomic above max_dest_rd_atomic gets an RNR NAK and a READ a NAK; a "
                          "SEND that comes back before its RNR time is over gets no answer.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReplyResources, excess_atomic_waits),
           .behaviour = {.early_resend = engine::EarlyResend::Silent}},
    // ATM-06: "a deeper cache is legal". RDR-03: "MSN may also be higher".
    Mutant{.name = "saved_atomic_by_place_not_operands",
           .rule = "ATM-05",
           .description = "A duplicate atomic with other operands gets the saved answer, one with "
                          "another opcode none; five more requests are remembered than agreed, "
                          "and responses have the MSN of when they leave.",
           .checks = engine::kStandardChecks.with(DuplicateCheck::SameAtomic, same_place),
           .behaviour = {.response_msn = engine::ResponseMsn::Current, .remembered_extra = 5}},
    // ACK-11 (INFO): "repeats last ACK PSN with new credit"; ACK-02: an ACK without AckReq.
    Mutant{.name = "half_of_many_receives_told_as_credits",
           .rule = "ACK-10",
           .description = "Of more than four receives it tells half as credits; after none it "
                          "tells unasked of new ones, and it acknowledges the end of each message.",
           .behaviour = {.ack_policy = engine::AckPolicy::LastOfMessage,
                         .credits = true,
                         .unsolicited_credits = true},
           .make_filter = make<EditsOutbound<tell_half_of_many>>},

    Mutant{.name = "read_asked_again_in_units_of_four_packets",
           .rule = "REQ-09",
           .description = "A READ that was partly answered is asked for again from a multiple of "
                          "four packets behind its beginning, at or before the first that is "
                          "missing.",
           .make_filter = make<RestartsReadsByFour>},
    // REQ-15 (INFO): "qib restarts (and counts) per NAK".
    Mutant{.name = "asks_for_an_ack_with_each_resent_packet",
           .rule = "BTH-18",
           .description = "Each packet that is sent again asks for an ACK, and so does each 16th "
                          "PSN; the requester sends again after each sequence NAK, also after a "
                          "repeated one.",
           .behaviour = {.repeated_nak = engine::RepeatedNak::Restarts},
           .make_filter = make<AsksOnResends>},
    Mutant{.name = "atomics_wait_for_an_idle_unit",
           .rule = "REQ-27",
           .description = "An atomic goes when no READ or atomic is outstanding, and 24 packets at "
                          "most are on their way, of which every eighth asks for an ACK.",
           .checks = engine::kStandardChecks.with(SendCheck::RdAtomic, atomics_alone),
           .behaviour = {.ack_request_every = 8, .max_unacked_packets = 24}},
    // TMO-01: ">= T, and <= 4T. Later intervals may grow". REQ-11: what of the window is resent.
    Mutant{.name = "timer_of_three_periods_from_code_13",
           .rule = "TMO-01",
           .description = "The first timeout is 3.25 T and each further one twice as long, codes "
                          "below 13 act as 13, and after a loss one packet goes at a time.",
           .traits = "adaptive_retransmission",
           .ack_timer_floor = 13,
           .behaviour = {.timeout_sixteenths = 52,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .timeout_grows = true,
                         .timeout_floor = 13}},
    // RNR-13: "After the wait the requester may first send only the NAKed message (CX-4)".
    Mutant{.name = "rnr_wait_a_step_longer_for_odd_psns",
           .rule = "RNR-08",
           .description = "After an RNR NAK with an odd PSN it waits the next longer time of the "
                          "table, and first sends the NAKed message alone.",
           .behaviour = {.after_rnr = engine::AfterRnr::OneMessage},
           .make_filter = make<EditsInbound<a_step_longer_for_odd_psns>>},
    Mutant{.name = "responses_handled_8_us_late",
           .rule = "RNR-13",
           .description = "The requester handles each response 8 us after it came, and sends on "
                          "until then; its timeout is 2.5 T.",
           .behaviour = {.timeout_sixteenths = 40},
           .make_filter = make<TakesResponsesLate>},
    Mutant{.name = "bursts_end_at_each_32nd_psn",
           .rule = "REQ-02",
           .description = "Sends up to the next multiple of 32 PSNs, and goes on when all of that "
                          "is acknowledged; a longer READ goes alone.",
           .checks = engine::kStandardChecks.with(SendCheck::Window, blocks_of_32)},

    Mutant{.name = "ip_id_of_long_and_checksum_of_short_frames",
           .rule = "ENC-05",
           .description = "IPv4 frames of more than 128 bytes count up the identification and the "
                          "others have 0; frames up to 128 bytes have a right UDP checksum.",
           .make_filter = make<NumbersLongFrames>},
    Mutant{.name = "flow_label_out_of_the_source_port",
           .rule = "ENC-02",
           .description = "Where no flow label is set, the one of IPv6 packets is a hash of the "
                          "source port, which is a hash of the QPN.",
           .behaviour = {.source_port = engine::SourcePort::QpnHash},
           .make_filter = make<EditsSentEnvelope<label_by_port>>},
    Mutant{.name = "each_message_from_another_of_four_ports",
           .rule = "ENC-02",
           .description = "The requests of a QP leave from one of four UDP ports, another one for "
                          "each message; its responses leave from one.",
           .traits = "multipath",
           .make_filter = make<PortOfMessage>},
    // CNP-07: CE on a READ response or ACK: "record", INFO.
    Mutant{.name = "cnp_late_urgent_and_one_for_the_port",
           .rule = "CNP-04",
           .description = "At most one CNP in 120 us leaves the port, 18 us after the mark and, in "
                          "a VLAN, with priority 6; marks on responses are not told.",
           .behaviour = {.congestion = {.notification = {.scope = engine::CnpScope::Port,
                                                         .interval = us(120),
                                                         .for_responses = false}}},
           .make_filter = make<EditsSentDatagram<late_and_urgent_cnp>>},

    Mutant{.name = "cm_answers_after_their_work",
           .rule = "CM-01",
           .description = "A REJ leaves 60 us late, a REP 120 us and a DREP 200 us, and what "
                          "follows them at QP1 waits for them.",
           .make_filter = make<SendsLater<AnswersCmLate>>},
    Mutant{.name = "cm_looks_at_qp1_every_400_us",
           .rule = "CM-01",
           .description = "Messages of connection management are taken in at the next multiple of "
                          "400 us, all that have come by then at once.",
           .make_filter = make<PollsQp1>},
    Mutant{.name = "cm_other_class_version_draws_rej_31",
           .rule = "CM-11",
           .description = "A REQ of another class version is answered by a REJ with reason 31 that "
                          "names version 2.",
           .make_filter = make<RejectsClassVersion>},

    Mutant{.name = "uc_paced_with_a_pause_after_messages",
           .rule = "EXT-06",
           .description = "UC packets leave at 40 Gb/s, with 2 us more between two messages.",
           .make_filter = make<SendsLater<PacesUc>>},
    // EXT-06: a UC message with a fault is dropped without a NAK, wherever that is noticed. LEN-04:
    // "NAK may come anywhere from the packet that first proves the excess up to LAST/ONLY". KEY-14:
    // "Contents of the target buffer of a failed SEND/WRITE are undefined".
    Mutant{.name = "uc_and_rc_writes_checked_packet_by_packet",
           .rule = "KEY-06",
           .description = "The range of a WRITE is asked for at each packet and its length at the "
                          "last one, keys before lengths, and what fits is written.",
           .behaviour = {.fault_order = engine::FaultOrder::KeysFirst,
                         .write_range = engine::WriteRange::EachPacket,
                         .write_excess = engine::WriteExcess::AtLast,
                         .refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "ud_port_and_pace_of_the_address_handle",
           .rule = "ENC-02",
           .description = "The UDP port of a datagram is a hash of its destination, and datagrams "
                          "to one QP leave at 8 Gb/s and 1 us apart at least.",
           .traits = "multipath",
           .make_filter = make_chain<SendsLater<PacesUd>, EditsSentDatagram<port_of_destination>>},

    Mutant{.name = "depths_rounded_to_powers_of_two",
           .rule = "REQ-27",
           .description = "max_rd_atomic is rounded down to a power of two and max_dest_rd_atomic "
                          "up, and the query reports that.",
           .make_filter = make<RoundsDepths>},
    // STA-06: "Which WQEs count as started is the device's choice". N-14: "a recv WQE may be
    // completed in error (LOC_ACCESS/LOC_PROT) or flushed".
    Mutant{.name = "failed_completions_have_stale_fields",
           .rule = "STA-07",
           .description = "A completion in error has the opcode and length of the last good one; "
                          "SQD still carries out all that was posted, and the receive behind a "
                          "WRITE with a bad key fails with an access error.",
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError,
                         .drain = engine::Drain::Posted},
           .make_filter = make<StaleFailures>},
    // N-16 names what a shared queue does, and not which of its receives a message takes. ACK-05:
    // an ACK says nothing of visibility; nothing says how soon a completion or event comes.
    Mutant{.name = "host_late_with_newest_shared_receive",
           .rule = "N-16",
           .description = "The host sees completions 60 us, memory 35 us and events 900 us late "
                          "and may not post to a QP in ERR; messages take the newest receive of a "
                          "shared queue.",
           .behaviour = {.shared_receive = engine::SharedReceive::Newest},
           .make_filter = make<HostLate<60, 35, 900, true>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind6_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind6_mixed() {
    return of_lawful_blind6_mixed::kMutants;
}

} // namespace veriroce::mutants
