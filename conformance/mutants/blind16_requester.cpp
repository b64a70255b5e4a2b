// Defects of the requester, and of what its host sees; written blind.
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind16_requester {
namespace {

using engine::SendCheck;
using engine::SendView;
using wire::Operation;
using wire::Position;
namespace right = engine::send_check;

// --- shared

// Which QP of the host a completion is about: it names a QP by its handle, the host's calls name it
// by its number.
class Owners {
  public:
    void posted(wire::Qpn qpn, std::uint64_t id) { ids_[qpn].insert(id); }
    void forget(wire::Qpn qpn) {
        ids_.erase(qpn);
        std::erase_if(known_, [qpn](const auto& one) { return one.second == qpn; });
    }
    std::optional<wire::Qpn> of(const engine::Completion& completion) {
        const auto known = known_.find(completion.qp);
        if (known != known_.end()) return known->second;
        // Numbers count up from 0x11 as handles do from 1, unless the device is set up otherwise.
        constexpr std::uint32_t before_first = 0x10;
        const wire::Qpn usual{completion.qp.value + before_first};
        if (has(usual, completion.id)) return known_.emplace(completion.qp, usual).first->second;
        for (const auto& [qpn, ids] : ids_) {
            const bool taken = std::ranges::any_of(
                known_, [&number = qpn](const auto& one) { return one.second == number; });
            if (!taken && ids.contains(completion.id)) {
                return known_.emplace(completion.qp, qpn).first->second;
            }
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] bool has(wire::Qpn qpn, std::uint64_t id) const {
        const auto found = ids_.find(qpn);
        return found != ids_.end() && found->second.contains(id);
    }
    std::map<wire::Qpn, std::set<std::uint64_t>> ids_;
    std::map<engine::QpId, wire::Qpn> known_;
};

template <typename Values, typename Value>
bool holds(const Values& values, const Value& value) {
    return std::ranges::find(values, value) != values.end();
}

// PSNs that a request packet takes.
std::uint32_t psns_of(const wire::Packet& packet, wire::Mtu mtu) {
    return is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, mtu) : 1U;
}

bool is_atomic_acknowledge(const wire::Packet& packet) {
    return packet.info().operation == Operation::AtomicAcknowledge;
}

bool failed(const engine::Completion& completion) {
    return completion.status != engine::WcStatus::Success &&
           completion.status != engine::WcStatus::WrFlushErr;
}

// --- plain traffic

struct LengthRegister {
    std::uint32_t bytes = 0;
};

// LEN-04: the descriptor engine writes the DMALen register only when the sum of the SGEs is not
// zero, so that a WRITE of no bytes is announced with the length of the QP's WRITE before it.
// Shows when: a WRITE of some bytes, then a WRITE (with immediate data or without) of 0 bytes.
class KeepsLength final : public QpFilter<LengthRegister> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool announces = packet.info().operation == Operation::RdmaWrite &&
                               packet.headers.has(wire::Header::Reth);
        if (!announces) return;
        if (packet.reth.dma_length == 0) {
            packet.reth.dma_length = qp.memory.bytes;
        } else {
            qp.memory.bytes = packet.reth.dma_length;
        }
    }
};

// REQ-22: the scatter engine goes on to the next SGE when a response begins behind the end of the
// present one, and compares with "greater" in place of "not less": where an SGE ends exactly where
// a response does, the next response still runs on behind that SGE.
// Shows when: a READ with two SGEs or more, the first a multiple of the path MTU long; memory
// behind the first SGE is in the same region (else the READ ends with LOC_PROT_ERR).
class RunsOverSge final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        mtus_.insert_or_assign(report.qpn, report.attributes.path_mtu.value_or(wire::Mtu::B1024));
    }
    void qp_destroyed(wire::Qpn qpn) override { mtus_.erase(qpn); }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        const auto mtu = mtus_.find(qpn);
        const std::span<const engine::Sge> sges = request.sges;
        if (mtu == mtus_.end() || request.opcode != engine::WrOpcode::RdmaRead || sges.size() < 2) {
            return;
        }
        const std::uint32_t full = wire::bytes_of(mtu->second);
        if (sges[0].length == 0 || sges[0].length % full != 0) return;
        std::vector<engine::Sge>& changed = lists_.emplace_back(sges.begin(), sges.end());
        const std::uint32_t over = std::min(full, changed[1].length);
        changed[0].length += over;
        changed[1].address += over;
        changed[1].length -= over;
        request.sges = changed;
        constexpr std::size_t kept = 256; // lists of a chain that is being posted
        if (lists_.size() > kept) lists_.pop_front();
    }

  private:
    std::map<wire::Qpn, wire::Mtu> mtus_;
    std::deque<std::vector<engine::Sge>> lists_;
};

// CA17-6, ENC-08: the MAC's padding stage stands before the stage that fills in the IPv4 length:
// the total length of a frame that is padded to 60 bytes counts the padding. Of RC and UC only a
// packet without extended header and payload is that short.
// Shows when: a SEND of 0 bytes without immediate data, over IPv4, untagged.
class CountsPadding final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t least = 60; // of an Ethernet frame, without its FCS
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        const std::size_t ends = outer.icrc_at + wire::kIcrcBytes;
        if (ends >= least || outer.udp_at - outer.ip_at != wire::Ipv4::kSize) return;
        const wire::MutableBytes ip = frame.subspan(outer.ip_at, wire::Ipv4::kSize);
        wire::store_be<2>(ip, 2, wire::load_u16(ip, 2) + (least - ends));
        wire::store_be<2>(ip, 10, 0);
        wire::store_be<2>(ip, 10, wire::ipv4_checksum(ip));
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(outer.covered()));
    }
};

struct UcShift {
    std::int32_t by = 0; // the wire's PSN less the engine's
};

// LEN-10, LEN-02: the UC segmenter closes a message with the first packet that is not full, as the
// end of the data is seen one beat late: a last packet that is full goes out as MIDDLE, and an
// empty LAST follows it with a PSN of its own. One-packet messages take another way.
// Shows when: a UC SEND or WRITE of two times the path MTU, or of any larger multiple.
class EndsFullMessages final : public QpFilter<UcShift> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc) return;
        packet.bth.psn += qp.memory.by;
        const bool full = packet.payload().size() == wire::bytes_of(qp.mtu());
        const auto middle = wire::opcode_of(wire::Service::Uc, info.operation, Position::Middle);
        if (info.position != Position::Last || !full || !middle) return;
        wire::Packet data = packet;
        data.bth.opcode = *middle;
        data.bth.solicited = false;
        data.headers = data.info().headers;
        passage.before.push_back(data);
        packet.bth.psn += 1;
        packet.body = {};
        ++qp.memory.by;
    }
};

// EXT-05, C10-93.1.1: the length check of a datagram counts the immediate data as payload, and what
// is too long is discarded as an oversize datagram is: completed and not sent.
// Shows when: a UD SEND with immediate data of 4093..4096 bytes on a port whose MTU is 4096; the
// same without immediate data arrives.
class CountsImmediate final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::size_t port_mtu = 4096;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool oversize = packet && packet->info().service == wire::Service::Ud &&
                              packet->info().immediate() &&
                              packet->payload().size() + wire::ImmDt::kSize > port_mtu;
        if (!oversize) out.push_back(std::move(datagram));
    }
};

// EXT-03: the driver takes the placement types for levels, of which each includes the lower ones: a
// FLUSH to persistence asks for global visibility as well (a right that the region may lack).
// Shows when: a FLUSH that is posted with placement type 2 (persistence) alone.
void ask_for_both(wire::Packet& packet) {
    constexpr std::uint8_t persistence = 2;
    constexpr std::uint8_t both = 3;
    const bool flush = packet.info().operation == Operation::Flush;
    if (flush && packet.feth.placement == persistence) packet.feth.placement = both;
}

// Whether QP 1 answers a message of connection management with this datagram.
bool is_cm_answer(const wire::Packet& packet) {
    if (packet.info().service != wire::Service::Ud || packet.deth.source_qp != wire::kGsiQpn ||
        packet.body.size() < wire::kMadBytes ||
        wire::load_u8(packet.body, wire::cm::kClassAt) != wire::kCmClass) {
        return false;
    }
    constexpr std::array answers{wire::cm::kRej, wire::cm::kDrep, wire::cm::kSidrRep};
    return holds(answers, wire::cm::attribute_of(packet.body));
}

// N-30: the management agent keeps the transaction in 32 bits, because its own transactions have
// no more; the upper half of the TID of its answers is zero.
// Shows when: a REQ to a service that nobody offers, a DREQ of no connection or a SIDR_REQ, with a
// TID that has bits in its upper half.
void halve_transaction(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (!is_cm_answer(packet)) return;
    wire::store_be<4>(datagram.bytes, packet.header_bytes() + wire::cm::kTransactionAt, 0);
}

struct LastPacket {
    std::optional<wire::Psn> psn;
    bool asked = false;
};

// N-18, BTH-18: the stage that spaces out the requests for an ACK suppresses one that follows
// another at once, and does not except the end of a message.
// Shows when: a message of 65 packets (16,640 bytes with a path MTU of 256) and nothing after it, a
// responder that acknowledges only what asks for it: the message ends by its ACK timeout, and with
// timeout 0 never.
class SpacesAckRequests final : public QpFilter<LastPacket> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Bth& bth = passage.packet.bth;
        const wire::OpcodeInfo& info = passage.packet.info();
        if (!is_rc_request(passage.packet)) return;
        LastPacket& last = qp.memory;
        const bool follows = last.psn && *last.psn + 1 == bth.psn && last.asked;
        if (follows && info.ends_message() && !info.starts_message()) bth.ack_request = false;
        last = {.psn = bth.psn, .asked = bth.ack_request};
    }
};

// --- retransmission and errors

struct AskedReads {
    struct Asked {
        wire::Psn first;
        std::uint32_t packets = 1;
        std::uint64_t address = 0;
    };
    std::deque<Asked> asked;
};

// REQ-10: the adder that moves the address of a READ on to the first missing response has 32 bits
// and drops its carry.
// Shows when: a READ of several packets whose remote range crosses a border of 4 GiB; a response
// behind the border is lost (the ones before it arrive) and is asked for again.
class DropsCarry final : public QpFilter<AskedReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        auto& asked = qp.memory.asked;
        for (const auto& one : asked) {
            const std::int32_t ahead = wire::distance(one.first, packet.bth.psn);
            if (ahead <= 0 || static_cast<std::uint32_t>(ahead) >= one.packets) continue;
            packet.reth.virtual_address =
                (one.address & ~low) | (packet.reth.virtual_address & low);
            return;
        }
        std::erase_if(asked, [&](const auto& one) { return one.first == packet.bth.psn; });
        asked.push_back({.first = packet.bth.psn,
                         .packets = psns_of(packet, qp.mtu()),
                         .address = packet.reth.virtual_address});
        constexpr std::size_t most = 16; // READs on their way
        if (asked.size() > most) asked.pop_front();
    }
};

struct Replay : Outgoing {
    std::optional<wire::Psn> newest;      // atomic that was sent again
    std::optional<std::uint64_t> operand; // of that one
};

// REQ-31: the replay engine reads the address and the key of each atomic anew, and the swap or add
// operand only for the first atomic of a replay: the next ones get the operand before theirs.
// Shows when: two atomics with different operands are on their way (max_rd_atomic 2 or more), and
// both are sent again by a timeout or an implied NAK.
class KeepsOperand final : public FollowsRequests<Replay> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        Replay& memory = qp.memory;
        if (!again) {
            memory.newest.reset();
            return;
        }
        if (!is_atomic_request(packet)) return;
        const bool goes_on = memory.newest && wire::distance(*memory.newest, packet.bth.psn) > 0;
        const std::uint64_t own = packet.atomic.swap_or_add;
        if (goes_on && memory.operand) packet.atomic.swap_or_add = *memory.operand;
        memory.newest = packet.bth.psn;
        memory.operand = own;
    }
};

struct Context {
    std::optional<wire::Psn> left; // the newest packet
    bool entered_inside = false;   // the message is being sent from its middle
};

// REQ-34: the key to revoke is loaded into the packet builder with the first packet of a message;
// a retry that begins inside a message does not load it, and the last packet has key 0.
// Shows when: a SEND with invalidate of several packets, of which the second is NAKed for its
// sequence, or whose first is acknowledged and the rest is sent again by a timeout.
class LosesKeyInside final : public QpFilter<Context> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        Context& memory = qp.memory;
        const bool goes_on = memory.left && *memory.left + 1 == packet.bth.psn;
        if (packet.info().starts_message()) {
            memory.entered_inside = false;
        } else if (!goes_on) {
            memory.entered_inside = true;
        }
        memory.left = packet.bth.psn;
        if (packet.info().invalidates() && memory.entered_inside) packet.ieth.rkey = {};
    }
};

struct Refused : Outgoing {
    std::optional<wire::Psn> psn; // that was RNR NAKed last
};

// REQ-31, N-26: the packet that waits for the RNR timer is parked as a descriptor that has no place
// for the solicited bit.
// Shows when: a SEND of one packet (or a WRITE with immediate data) with the solicited flag is RNR
// NAKed: the packet that is sent again has SE 0.
class ParksWithoutSolicited final : public FollowsRequests<Refused> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet) && qp.memory.holds(packet.bth.psn)) qp.memory.psn = packet.bth.psn;
    }
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again && qp.memory.psn == packet.bth.psn) packet.bth.solicited = false;
    }
};

// RNR-09, RNR-15: that an rnr_retry of 7 has no end is known only where requests wait for receives;
// RNR NAKs to a READ, an atomic, a FLUSH or a plain WRITE are counted down from 7.
// Shows when: rnr_retry 7, an atomic or READ that is RNR NAKed eight times without progress ends
// with RNR_RETRY_EXC_ERR.
bool for_ever_for_receives(const SendView& view) {
    if (engine::takes_receive(view.request.opcode)) return right::rnr_retry_left(view);
    return view.outbound.rnr_retries < view.connection.rnr_retry;
}

// CA17-5: a NAK is turned into a retry inside the receive pipeline, which hands the ToS byte of the
// NAK on with it: a congestion mark on the NAK stands on every packet that is sent again.
// Shows when: a sequence NAK that came with ECN 3; no congestion management is set up, the packets
// of the retry have ECN 3 and new ones 0.
class EchoesMark final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Flow& flow = flows_[report.qpn];
        if (report.state == engine::QpState::Reset) flow = {};
        flow.report = report;
    }
    void qp_destroyed(wire::Qpn qpn) override { flows_.erase(qpn); }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto flow = packet ? flows_.find(packet->bth.dest_qp) : flows_.end();
        if (flow != flows_.end() && is_rc_response(*packet)) {
            flow->second.marked =
                is_sequence_nak(*packet) && datagram.envelope.ecn == wire::kCongestionExperienced;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        Flow* const flow =
            packet && is_rc_request(*packet) ? sender(*packet, datagram.envelope) : nullptr;
        if (flow != nullptr) {
            const auto mtu = flow->report.attributes.path_mtu.value_or(wire::Mtu::B1024);
            const bool again = flow->sent.note(packet->bth.psn, psns_of(*packet, mtu));
            if (!again) flow->marked = false;
            if (flow->marked) datagram.envelope.ecn = wire::kCongestionExperienced;
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        engine::QpReport report;
        NewestPsn sent;
        bool marked = false; // the newest response is a NAK with a mark
    };
    Flow* sender(const wire::Packet& packet, const wire::Envelope& envelope) {
        for (auto& [qpn, flow] : flows_) {
            const auto& attributes = flow.report.attributes;
            if (attributes.dest_qp == packet.bth.dest_qp && attributes.address &&
                attributes.address->destination == envelope.destination) {
                return &flow;
            }
        }
        return nullptr;
    }
    std::map<wire::Qpn, Flow> flows_;
};

// STA-07: the retry timer's handler moves only the send queue to its error state; the receive queue
// follows where a NAK or the host ends the QP.
// Shows when: receives are posted to a QP whose request ends with RETRY_EXC_ERR: the sends are
// flushed, the receives never.
class KeepsReceives final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        using engine::WcStatus;
        const bool flushed = completion.status == WcStatus::WrFlushErr;
        if (completion.queue == engine::Queue::Receive && flushed) {
            return half_dead_.contains(completion.qp) ? std::nullopt : std::optional(completion);
        }
        if (completion.queue == engine::Queue::Send && completion.status == WcStatus::RetryExcErr) {
            half_dead_.insert(completion.qp);
        } else if (!flushed) {
            half_dead_.erase(completion.qp); // another life, or another death
        }
        return completion;
    }

  private:
    std::set<engine::QpId> half_dead_;
};

// REQ-16, REQ-19: a completion is written when a work request that has the signal bit is reached,
// and says what has happened since the last one: the error of an unsignaled request is reported
// with the wr_id of the next signaled one, which has no completion of its own.
// Shows when: an unsignaled request that is NAKed (or runs out of retries), with a signaled one
// behind it.
class BlamesTheSignaled final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        owners_.posted(qpn, request.id);
        if (request.flags.signaled) {
            unsignaled_.erase({qpn, request.id});
        } else {
            unsignaled_.insert({qpn, request.id});
        }
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) held_.erase(qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        owners_.forget(qpn);
        held_.erase(qpn);
    }
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        const auto qpn =
            one.queue == engine::Queue::Send ? owners_.of(one) : std::optional<wire::Qpn>();
        if (!qpn) {
            seen.push_back(one);
            return;
        }
        const bool unsignaled = unsignaled_.contains({*qpn, one.id});
        const auto held = held_.find(*qpn);
        if (failed(one) && unsignaled) {
            held_.insert_or_assign(*qpn, one);
        } else if (held == held_.end()) {
            seen.push_back(one);
        } else if (!unsignaled) {
            seen.push_back(held->second);
            seen.back().id = one.id;
            held_.erase(held);
        }
    }

  private:
    Owners owners_;
    std::set<std::pair<wire::Qpn, std::uint64_t>> unsignaled_;
    std::map<wire::Qpn, engine::Completion> held_; // errors that wait for a signaled request
};

struct InlineSent {
    NewestPsn sent;
    std::map<std::uint32_t, std::vector<engine::Sge>> sges; // of inline requests, by PSN
};

// REQ-31: the driver keeps the addresses of an inline request beside its bytes, and a retry builds
// the packet from the addresses: it sends what the memory, which is the host's again, holds by now.
// Shows when: an inline SEND or WRITE is not acknowledged, the host writes to its buffer, and the
// request is sent again.
class ReadsInlineAgain final : public DmaFilter<InlineSent> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        constexpr std::size_t most = 16'384;
        auto& waiting = posted_[qpn];
        waiting.push_back({.opcode = request.opcode,
                           .sges = {request.sges.begin(), request.sges.end()},
                           .is_inline = request.flags.inline_data});
        if (waiting.size() > most) waiting.pop_front();
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const std::uint32_t psn = packet.bth.psn.value();
        if (!qp.memory.sent.note(packet.bth.psn, psns_of(packet, qp.mtu()))) {
            qp.memory.sges.erase(psn);
            if (packet.info().starts_message()) note_first(qp, packet);
            return;
        }
        const auto sges = qp.memory.sges.find(psn);
        if (sges == qp.memory.sges.end() || !gather(sges->second)) return;
        if (body_.size() != packet.payload().size()) return;
        body_.resize(packet.body.size());
        packet.body = body_;
    }

  private:
    struct Posted {
        engine::WrOpcode opcode = engine::WrOpcode::Send;
        std::vector<engine::Sge> sges;
        bool is_inline = false;

        [[nodiscard]] std::uint64_t bytes() const {
            std::uint64_t sum = 0;
            for (const engine::Sge& sge : sges)
                sum += sge.length;
            return sum;
        }
    };
    // The request whose first packet this is: the oldest that fits it. A post that was refused is
    // passed over.
    void note_first(Qp& qp, const wire::Packet& packet) {
        auto& waiting = posted_[qp.report.qpn];
        while (!waiting.empty()) {
            const Posted one = std::move(waiting.front());
            waiting.pop_front();
            if (operation_of(one.opcode) != packet.info().operation) continue;
            if (!one.is_inline) return;
            if (one.bytes() != packet.payload().size()) continue; // it has one packet
            qp.memory.sges.insert_or_assign(packet.bth.psn.value(), one.sges);
            return;
        }
    }
    bool gather(const std::vector<engine::Sge>& sges) {
        body_.clear();
        for (const engine::Sge& sge : sges) {
            if (sge.length == 0) continue;
            const auto piece = regions().at({sge.lkey.value}, sge.address, sge.length);
            if (piece.empty()) return false;
            body_.insert(body_.end(), piece.begin(), piece.end());
        }
        return true;
    }

    std::map<wire::Qpn, std::deque<Posted>> posted_; // that have not been sent
    std::vector<std::byte> body_;                    // of the packet that passes
};

// --- two features, two QPs

// The longest code that asks for no more than this; the shortest one if there is none.
std::uint8_t rnr_code_within(wire::Duration time) {
    constexpr std::uint8_t codes = 32;
    std::uint8_t best = 1;
    for (std::uint8_t code = 1; code < codes; ++code) {
        const wire::Duration asked = wire::rnr_time(code);
        if (asked <= time && asked > wire::rnr_time(best)) best = code;
    }
    return best;
}

// RNR-08: there is one RNR timer for all QPs. It runs for the QP that waits first, and a QP that is
// RNR NAKed meanwhile is woken with it.
// Shows when: QP A is RNR NAKed with a code of some ms, and before its wait ends QP B with a code
// ten times as long: B sends again with A.
class OneRnrTimer final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        wire::Instant& until = until_[report.qpn];
        if (report.state == engine::QpState::Reset) until = {};
    }
    void qp_destroyed(wire::Qpn qpn) override { until_.erase(qpn); }
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        const bool refused = packet && is_rnr_nak(*packet);
        if (refused && until_.contains(packet->bth.dest_qp)) {
            wire::Syndrome& syndrome = packet->aeth.syndrome;
            const auto ends = others_end(packet->bth.dest_qp, now);
            if (ends && *ends < now + wire::rnr_time(syndrome.code())) {
                syndrome = wire::Syndrome::rnr(rnr_code_within(*ends - now));
                datagram.bytes = bytes_of(*packet);
            }
            until_[packet->bth.dest_qp] = now + wire::rnr_time(syndrome.code());
        }
        in.push_back(std::move(datagram));
    }

  private:
    // When the first of the other waits ends that are not over.
    [[nodiscard]] std::optional<wire::Instant> others_end(wire::Qpn qpn, wire::Instant now) const {
        std::optional<wire::Instant> first;
        for (const auto& [other, until] : until_) {
            if (other == qpn || until <= now) continue;
            if (!first || until < *first) first = until;
        }
        return first;
    }
    std::map<wire::Qpn, wire::Instant> until_;
};

// REQ-12, TMO-03: the retry counter is decremented where a READ or atomic context is rewound, once
// for each context that is open, and not once for each retry.
// Shows when: two READs (or atomics) are on their way and nothing answers, retry_cnt 3 or more: the
// QP ends with RETRY_EXC_ERR one retry or several before its time. With one READ it is right.
bool retry_for_each_context(const SendView& view) {
    const std::uint32_t contexts = std::max(view.outbound.outstanding_rd_atomic, 1U);
    return view.outbound.retries * contexts < view.connection.retry_count;
}

// REQ-31, REQ-10: the R_Key register of the packet builder, which all QPs share, is loaded when a
// work request is fetched. A retry fetches nothing, and sends the key that was loaded last.
// Shows when: a WRITE or READ on QP A is not answered, QP B sends a WRITE or READ with another
// R_Key, then A's request is sent again: with B's key.
class SharesKeyRegister final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (!packet.headers.has(wire::Header::Reth)) return;
        if (!again) {
            loaded_ = packet.reth.rkey;
        } else if (loaded_) {
            packet.reth.rkey = *loaded_;
        }
    }

  private:
    std::optional<wire::Rkey> loaded_;
};

struct ReadStream {
    struct Asked {
        wire::Psn first;
        wire::Psn expected; // of the next response
        std::uint32_t packets = 1;
    };
    std::deque<Asked> reads;                   // that are not wholly answered
    std::deque<std::vector<std::byte>> behind; // bytes whose place others have taken
};

// N-38: the place of a response in the local buffer is a counter of the responses that came, not
// its PSN: a repeated response takes the place of the next one, and all after it are late by one.
// Shows when: a READ of three or more packets, the first or second response comes twice before the
// last one: the READ completes with success and wrong data.
class CountsResponses final : public QpFilter<ReadStream> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        auto& reads = qp.memory.reads;
        const bool again = std::ranges::any_of(reads, [psn](const ReadStream::Asked& read) {
            const std::int32_t offset = wire::distance(read.first, psn);
            return offset >= 0 && static_cast<std::uint32_t>(offset) < read.packets;
        });
        if (again) return;
        reads.push_back({.first = psn, .expected = psn, .packets = psns_of(packet, qp.mtu())});
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        ReadStream& stream = qp.memory;
        if (!is_read_response(packet) || stream.reads.empty()) return;
        ReadStream::Asked& read = stream.reads.front();
        const wire::Psn psn = packet.bth.psn;
        if (psn == read.expected) {
            take(stream, packet);
            read.expected += 1;
            if (read.expected != read.first + read.packets) return;
            stream.reads.pop_front();
            stream.behind.clear();
        } else if (wire::distance(read.first, psn) >= 0 && wire::distance(psn, read.expected) > 0) {
            stream.behind.push_back(payload_of(packet));
        }
    }

  private:
    static std::vector<std::byte> payload_of(const wire::Packet& packet) {
        const wire::Bytes payload = packet.payload();
        return {payload.begin(), payload.end()};
    }
    void take(ReadStream& stream, wire::Packet& packet) {
        if (stream.behind.empty() || packet.pad_exceeds_body()) return;
        stream.behind.push_back(payload_of(packet));
        body_ = std::move(stream.behind.front());
        stream.behind.pop_front();
        body_.resize(packet.payload().size());
        body_.resize(packet.body.size());
        packet.body = body_;
    }

    std::vector<std::byte> body_; // of the packet that passes
};

// REQ-28: requests that send nothing are carried out by the front end of the send queue; the fence
// flag is looked at behind it, where packets are made.
// Shows when: a READ or atomic is not answered, a BIND_MW or LOCAL_INV is posted with the fence
// flag: the window's key already works (or fails) for the peer.
bool fence_of_packets(const SendView& view) {
    return engine::is_local(view.request.opcode) || right::fence(view);
}

struct OpenFlushes : Outgoing {
    std::vector<wire::Psn> flushes; // that are not answered
};

// EXT-02: a FLUSH brings no data, and the completion logic takes it for a WRITE: the ACK of a later
// request completes it, though only a response of its own says that the data is where it should be.
// Shows when: FLUSH, then SEND; the FLUSH gets no response, the SEND an ACK: both complete with
// success, where the FLUSH had to be tried again.
class AckCompletesFlush final : public FollowsRequests<OpenFlushes> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        auto& flushes = qp.memory.flushes;
        const bool flush = packet.info().operation == Operation::Flush;
        if (flush && !holds(flushes, packet.bth.psn)) {
            flushes.push_back(packet.bth.psn);
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& flushes = qp.memory.flushes;
        if (is_read_response(packet)) {
            std::erase(flushes, packet.bth.psn);
            return;
        }
        if (!is_ack(packet) || !qp.memory.holds(packet.bth.psn)) return;
        const auto covered = [&](wire::Psn psn) {
            return wire::distance(psn, packet.bth.psn) >= 0;
        };
        for (const wire::Psn psn : flushes) {
            if (!covered(psn)) continue;
            wire::Packet answer = acknowledge(packet.bth.dest_qp, packet.bth.pkey, psn,
                                              packet.aeth.syndrome, packet.aeth.msn);
            answer.bth.mig_req = packet.bth.mig_req;
            set_opcode(answer, Operation::RdmaReadResponse, Position::Only);
            passage.before.push_back(answer);
        }
        std::erase_if(flushes, covered);
    }
};

struct OpenAtomics {
    std::vector<wire::Psn> psns;
};

// N-20, REQ-26: ATOMIC_ACKs complete their requests in a pipeline of their own. The SENDs and
// WRITEs before the atomic, which its answer acknowledges as well, are completed by the ACK
// pipeline, which is longer.
// Shows when: a signaled SEND, then a signaled atomic; only the ATOMIC_ACK is sent, for both: the
// completion of the atomic comes first.
class AtomicOvertakes final : public QpFilter<OpenAtomics> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        owners_.posted(qpn, request.id);
        queues_[qpn].posted.push_back(
            {.id = request.id, .opcode = request.opcode, .signaled = request.flags.signaled});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) queues_.erase(qpn);
    }
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        const auto qpn =
            one.queue == engine::Queue::Send ? owners_.of(one) : std::optional<wire::Qpn>();
        if (!qpn) {
            seen.push_back(one);
            return;
        }
        Queue& queue = queues_[*qpn];
        const auto own = std::ranges::find(queue.posted, one.id, &Posted::id);
        if (own != queue.posted.end()) queue.posted.erase(queue.posted.begin(), own + 1);
        const bool success = one.status == engine::WcStatus::Success;
        if (queue.overtaking && success && one.id != *queue.overtaking) {
            queue.held.push_back(one);
            return;
        }
        if (success) seen.push_back(one);
        std::ranges::move(queue.held, std::back_inserter(seen));
        if (!success) seen.push_back(one);
        queue.held.clear();
        queue.overtaking.reset();
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& open = qp.memory.psns;
        if (is_atomic_request(packet) && !holds(open, packet.bth.psn)) {
            open.push_back(packet.bth.psn);
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& open = qp.memory.psns;
        const bool answer =
            is_atomic_acknowledge(packet) && !open.empty() && open.front() == packet.bth.psn;
        if (!answer) return;
        open.erase(open.begin());
        overtake(queues_[qp.report.qpn]);
    }

  private:
    struct Posted {
        std::uint64_t id = 0;
        engine::WrOpcode opcode = engine::WrOpcode::Send;
        bool signaled = true;
    };
    struct Queue {
        std::deque<Posted> posted;               // that have not completed
        std::optional<std::uint64_t> overtaking; // the atomic that is to be seen first
        std::vector<engine::Completion> held;
    };
    // Only if nothing but SENDs and WRITEs lies before the atomic.
    static void overtake(Queue& queue) {
        bool before = false;
        for (const Posted& one : queue.posted) {
            if (engine::is_atomic(one.opcode)) {
                if (before && one.signaled) queue.overtaking = one.id;
                return;
            }
            if (engine::wants_response(one.opcode) || engine::is_local(one.opcode)) return;
            before |= one.signaled;
        }
    }

    Owners owners_;
    std::map<wire::Qpn, Queue> queues_;
};

// CNP-12: the response pipeline looks at the PSN before it looks at the opcode, and moves its
// window up to the PSN of whatever is no NAK. A CNP has PSN 0.
// Shows when: the QP's starting PSN is 0, or just below the wrap; a request with PSN 0 has left and
// is not acknowledged, and a CNP for the QP comes in: the request completes.
class CnpAcknowledges final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet)) return;
        qp.memory.note_request(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        qp.memory.note_answer(packet);
        if (!is_cnp(packet) || !qp.memory.holds(packet.bth.psn)) return;
        wire::Packet ack = acknowledge(packet.bth.dest_qp, packet.bth.pkey, packet.bth.psn,
                                       wire::Syndrome::ack(wire::kNoCredits), {});
        ack.bth.mig_req = packet.bth.mig_req;
        qp.memory.note_answer(ack);
        passage.after.push_back(ack);
    }
};

// CA17-4, CA17-9: the cache of address handles is looked up by destination address alone: a second
// handle to the same destination travels with the traffic class and the hop limit of the first.
// Shows when: two UD SENDs to one destination, with address handles that differ in traffic class or
// hop limit.
class CachesByDestination final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const engine::AddressVector& cached =
            cache_.try_emplace(path.destination.bytes, path).first->second;
        path.traffic_class = cached.traffic_class;
        path.hop_limit = cached.hop_limit;
    }

  private:
    std::map<std::array<std::byte, 16>, engine::AddressVector> cache_;
};

// TMO-03, STA-10: the retry counter is reloaded by progress alone. RESET clears the rest of the
// requester's context; a QP that has used up its tries comes back without any.
// Shows when: a request ends with RETRY_EXC_ERR, the QP is taken through RESET to RTS again with
// the same retry_cnt, and in its new life a packet is lost: the first timeout or NAK ends the QP.
class StaysExhausted final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        owners_.posted(qpn, request.id);
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool send = completion.queue == engine::Queue::Send;
        const auto qpn = send ? owners_.of(completion) : std::optional<wire::Qpn>();
        if (qpn && completion.status == engine::WcStatus::RetryExcErr) exhausted_.insert(*qpn);
        return completion;
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.retry_count) return;
        asked_.insert_or_assign(qpn, *attributes.retry_count);
        if (exhausted_.contains(qpn)) attributes.retry_count = 0;
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked == asked_.end() || report.state == engine::QpState::Reset) return;
        if (report.attributes.retry_count == 0) report.attributes.retry_count = asked->second;
    }
    void qp_destroyed(wire::Qpn qpn) override {
        owners_.forget(qpn);
        exhausted_.erase(qpn);
        asked_.erase(qpn);
    }

  private:
    Owners owners_;
    std::set<wire::Qpn> exhausted_;
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// STA-06: whether a QP in SQD is drained is looked at when an ACK comes in; what READ responses and
// ATOMIC_ACKs complete goes another way, and nothing looks again behind it.
// Shows when: SQD with the notification asked for while a READ or atomic is on its way, whose
// response is the last thing to come: SQ_DRAINED is never raised.
class DrainsByAcks final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        Drain& drain = drains_[qpn];
        drain.notifies = attributes.sqd_async_notify.value_or(drain.notifies);
        if (!attributes.state) return;
        if (*attributes.state == engine::QpState::Sqd) {
            drain.awaited = drain.notifies && !drain.open.empty();
            drain.by_data = false;
        } else if (*attributes.state == engine::QpState::Rts) {
            drain.awaited = false;
        } else {
            drain = {};
        }
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained) return event;
        for (auto& [qpn, drain] : drains_) {
            if (!drain.awaited || !drain.open.empty()) continue;
            drain.awaited = false;
            return drain.by_data ? std::nullopt : std::optional(event);
        }
        return event;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet) && !is_atomic_request(packet)) return;
        auto& open = drains_[qp.report.qpn].open;
        const wire::Psn last = packet.bth.psn + (std::int64_t{psns_of(packet, qp.mtu())} - 1);
        if (!holds(open, last)) open.push_back(last);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        Drain& drain = drains_[qp.report.qpn];
        drain.by_data = is_read_response(packet) || is_atomic_acknowledge(packet);
        if (drain.by_data && packet.info().ends_message()) std::erase(drain.open, packet.bth.psn);
    }

  private:
    struct Drain {
        std::vector<wire::Psn> open; // the last PSNs of READs and atomics on their way
        bool notifies = false;       // the host wants the event
        bool awaited = false;        // it will come, since such a request was on its way
        bool by_data = false;        // the newest response
    };
    std::map<wire::Qpn, Drain> drains_;
};

constexpr std::array kMutants{
    Mutant{.name = "zero_write_announces_previous_length",
           .rule = "LEN-04",
           .description = "A WRITE of 0 bytes carries the DMALen of the QP's WRITE before it.",
           .make_filter = make<KeepsLength>},
    Mutant{.name = "read_runs_over_sge_at_mtu",
           .rule = "REQ-22",
           .description = "Where the first SGE of a READ is a multiple of the path MTU long, the "
                          "response after it is still written behind that SGE.",
           .make_filter = make<RunsOverSge>},
    Mutant{.name = "empty_send_ip_length_counts_padding",
           .rule = "CA17-6",
           .description = "The IPv4 total length of a SEND of 0 bytes counts the padding of its "
                          "frame to 60 bytes.",
           .make_filter = make<CountsPadding>},
    Mutant{.name = "uc_full_last_followed_by_empty",
           .rule = "LEN-10",
           .description = "A UC message of several packets whose last one is full ends with an "
                          "empty LAST packet more.",
           .make_filter = make<EndsFullMessages>},
    Mutant{.name = "ud_immediate_counts_for_mtu",
           .rule = "EXT-05",
           .description = "A datagram with immediate data and 4093 to 4096 bytes completes and is "
                          "not sent.",
           .make_filter = make<CountsImmediate>},
    Mutant{.name = "flush_to_persistence_asks_for_both",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH with placement type persistence asks for global visibility as "
                          "well.",
           .make_filter = make<EditsOutbound<ask_for_both>>},
    Mutant{.name = "cm_answer_has_half_the_tid",
           .rule = "N-30",
           .description = "The upper 32 bits of the transaction id are zero in the answers of "
                          "QP 1.",
           .make_filter = make<EditsSentDatagram<halve_transaction>>},
    Mutant{.name = "last_packet_behind_ack_request_asks_none",
           .rule = "N-18",
           .description = "The last packet of a message has no AckReq if the packet before it had.",
           .make_filter = make<SpacesAckRequests>},
    Mutant{.name = "read_retry_drops_carry_at_4g",
           .rule = "REQ-10",
           .description = "The address of a READ's repeated tail wraps at a border of 4 GiB.",
           .make_filter = make<DropsCarry>},
    Mutant{.name = "replayed_atomic_has_operand_before",
           .rule = "REQ-31",
           .description = "When several atomics are sent again, each but the first carries the "
                          "swap or add operand of the one before it.",
           .make_filter = make<KeepsOperand>},
    Mutant{.name = "retry_inside_message_revokes_key_zero",
           .rule = "REQ-34",
           .description = "The last packet of a SEND with invalidate that is sent again from its "
                          "middle carries the key 0.",
           .make_filter = make<LosesKeyInside>},
    Mutant{.name = "solicited_lost_in_rnr_wait",
           .rule = "REQ-31",
           .description = "A packet that was RNR NAKed is sent again without its solicited event "
                          "bit.",
           .cases = "rnr/solicited-sent-again",
           .make_filter = make<ParksWithoutSolicited>},
    Mutant{.name = "rnr_for_ever_only_with_receives",
           .rule = "RNR-09",
           .description = "With rnr_retry 7 a READ, atomic, FLUSH or plain WRITE ends with "
                          "RNR_RETRY_EXC_ERR after seven retries.",
           .cases = "rnr/for-ever-of-each-operation",
           .checks = engine::kStandardChecks.with(SendCheck::RnrRetryLeft, for_ever_for_receives)},
    Mutant{.name = "mark_of_nak_echoed_in_retry",
           .rule = "CA17-5",
           .description = "What is sent again after a sequence NAK with a congestion mark carries "
                          "the mark.",
           .cases = "req/marked-answers",
           .make_filter = make<EchoesMark>},
    Mutant{.name = "receives_outlive_exhausted_retries",
           .rule = "STA-07",
           .description = "A QP that ends with RETRY_EXC_ERR does not flush its receives.",
           .cases = "sta/receives-flushed-after-retries",
           .make_filter = make<KeepsReceives>},
    Mutant{.name = "error_of_unsignaled_blames_signaled",
           .rule = "REQ-16",
           .description = "The error of an unsignaled request is reported with the id of the next "
                          "signaled one, in place of its flush.",
           .make_filter = make<BlamesTheSignaled>},
    Mutant{.name = "inline_read_again_for_retry",
           .rule = "REQ-31",
           .description = "An inline request that is sent again takes its bytes from the host's "
                          "memory as it is then.",
           .make_filter = make<ReadsInlineAgain>},
    Mutant{.name = "rnr_wait_ends_with_other_qp",
           .rule = "RNR-08",
           .description = "A QP that is RNR NAKed while another one waits sends again when the "
                          "other's wait ends.",
           .make_filter = make<OneRnrTimer>},
    Mutant{.name = "retry_counts_for_each_read",
           .rule = "TMO-03",
           .description = "With several READs or atomics on their way each retry costs one of "
                          "retry_cnt for each of them.",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, retry_for_each_context)},
    Mutant{.name = "retry_takes_key_of_newest_request",
           .rule = "REQ-31",
           .description = "A WRITE or READ that is sent again carries the R_Key of the request "
                          "that any QP sent for the first time last.",
           .make_filter = make<SharesKeyRegister>},
    Mutant{.name = "repeated_read_response_shifts_data",
           .rule = "N-38",
           .description = "A READ response that comes twice is written where the next one belongs, "
                          "and the rest of the READ behind it.",
           .make_filter = make<CountsResponses>},
    Mutant{.name = "local_work_passes_fence",
           .rule = "REQ-28",
           .description = "A BIND_MW or LOCAL_INV with the fence flag does not wait for earlier "
                          "READs and atomics.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, fence_of_packets)},
    Mutant{.name = "later_ack_completes_flush",
           .rule = "EXT-02",
           .description = "An ACK completes every FLUSH before its PSN, whether that was answered "
                          "or not.",
           .make_filter = make<AckCompletesFlush>},
    Mutant{.name = "atomic_completes_before_acked_sends",
           .rule = "N-20",
           .description = "An ATOMIC_ACK that acknowledges earlier SENDs and WRITEs completes the "
                          "atomic before them.",
           .make_filter = make<AtomicOvertakes>},
    Mutant{.name = "cnp_acknowledges_psn_zero",
           .rule = "CNP-12",
           .description = "A CNP acknowledges what is outstanding up to PSN 0.",
           .cases = "cnp/psn-zero",
           .make_filter = make<CnpAcknowledges>},
    Mutant{.name = "ud_path_cached_by_destination",
           .rule = "CA17-4",
           .description = "Datagrams to a destination all carry the traffic class and hop limit of "
                          "the first address handle that was used for it.",
           .cases = "ext/datagrams-of-two-classes",
           .make_filter = make<CachesByDestination>},
    Mutant{.name = "exhausted_retries_survive_reset",
           .rule = "TMO-03",
           .description = "A QP that has ended with RETRY_EXC_ERR has no retries after RESET.",
           .cases = "sta/all-retries-after-reset",
           .make_filter = make<StaysExhausted>},
    Mutant{.name = "no_drain_event_after_read_response",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is not raised where a READ response or ATOMIC_ACK is what "
                          "the send queue waited for last.",
           .make_filter = make<DrainsByAcks>},
};

} // namespace
} // namespace veriroce::mutants::of_blind16_requester

namespace veriroce::mutants {

std::span<const Mutant> blind16_requester() {
    return of_blind16_requester::kMutants;
}

} // namespace veriroce::mutants
