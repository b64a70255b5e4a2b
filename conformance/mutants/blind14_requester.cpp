// Defects of a requester and of its host's view of it, written blind.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind14_requester {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpAttributes;
using engine::QpReport;
using engine::QpState;
using engine::SendCheck;
using engine::SendRequest;
using engine::SendView;
using engine::Sge;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;

bool sends_from_memory(WrOpcode opcode) {
    const Operation operation = operation_of(opcode);
    return operation == Operation::Send || operation == Operation::RdmaWrite;
}

// --- headers of requests

// BTH-14: the register of the SE bit is loaded by messages that notify, and every LAST takes it.
struct Solicited {
    bool newest = false;
};
class SolicitedSticks final : public QpFilter<Solicited> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (!is_rc_request(packet) || !info.ends_message()) return;
        if (info.consumes_receive()) {
            qp.memory.newest = packet.bth.solicited;
        } else if (info.operation == Operation::RdmaWrite) {
            packet.bth.solicited = qp.memory.newest;
        }
    }
};

// LEN-10: the DMA engine counts in words of 4 bytes, and so does the READ that it asks for; it
// throws away what it did not want of the last word.
struct RoundedReads {
    std::map<std::uint32_t, std::uint8_t> extra; // by the PSN of the last response
};
class ReadsWholeWords final : public QpFilter<RoundedReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const std::uint8_t extra = wire::pad_of(packet.reth.dma_length);
        if (extra == 0) return;
        const std::uint32_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
        qp.memory.extra.insert_or_assign(last.value(), extra);
        packet.reth.dma_length += extra;
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        const auto found = qp.memory.extra.find(packet.bth.psn.value());
        if (found == qp.memory.extra.end()) return;
        if (packet.bth.pad == 0 && packet.body.size() >= found->second) {
            packet.bth.pad = found->second;
        }
        qp.memory.extra.erase(found);
    }
};

// ENC-02: the hash of the source port takes the first word of the BTH in, opcode and all.
void hash_opcode(const wire::Packet& packet, OwnedDatagram& datagram) {
    if (!is_rc_request(packet)) return;
    const unsigned port = datagram.envelope.source_port ^ (packet.bth.opcode & 0x1FU) << 4;
    datagram.envelope.source_port = static_cast<std::uint16_t>(port);
}

// --- what the host posts

// LEN-10: the gather engine takes an entry of length 0 for the end of the list.
class EmptySgeEndsList final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!sends_from_memory(request.opcode)) return;
        const auto empty =
            std::ranges::find_if(request.sges, [](const Sge& sge) { return sge.length == 0; });
        const auto kept = static_cast<std::size_t>(empty - request.sges.begin());
        request.sges = request.sges.first(kept);
    }
};

// ATM-01: the result of an atomic is written as one aligned word of 8 bytes.
class AtomicResultAligned final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!engine::is_atomic(request.opcode)) return;
        sges_.assign(request.sges.begin(), request.sges.end());
        for (Sge& sge : sges_)
            sge.address &= ~std::uint64_t{7};
        request.sges = sges_;
    }

  private:
    std::vector<Sge> sges_;
};

// REQ-03: the unit that handles atomic responses does not look at the request's flags.
class AtomicsAlwaysReported final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (engine::is_atomic(request.opcode)) request.flags.signaled = true;
    }
};

// REQ-31: the driver has no inline format and posts a pointer to the host's buffer instead.
class InlineReadWhenSent final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        request.flags.inline_data = false;
    }
};

// --- attributes

// TMO-01: the field of the timeout in the device's QP context has 4 bits.
class TimeoutOfFourBits final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (!attributes.timeout) return;
        asked_.insert_or_assign(qpn, *attributes.timeout);
        attributes.timeout = static_cast<std::uint8_t>(*attributes.timeout & 0xF);
    }
    void queried(QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end() && report.state != QpState::Reset) {
            report.attributes.timeout = asked->second;
        }
    }

  private:
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// STA-10: the firmware writes the MTU into its QP context only if none is there, and RESET leaves
// it there.
class MtuOutlivesReset final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (!attributes.path_mtu) return;
        asked_.insert_or_assign(qpn, *attributes.path_mtu);
        const auto first = first_.find(qpn);
        if (first != first_.end()) attributes.path_mtu = first->second;
    }
    void queried(QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end() && report.state != QpState::Reset) {
            report.attributes.path_mtu = asked->second;
        }
    }
    void qp_changed(const QpReport& report) override {
        const auto mtu = report.attributes.path_mtu;
        if (report.state == QpState::Rtr && mtu) first_.try_emplace(report.qpn, *mtu);
    }
    void qp_destroyed(wire::Qpn qpn) override { first_.erase(qpn); }

  private:
    std::map<wire::Qpn, wire::Mtu> asked_;
    std::map<wire::Qpn, wire::Mtu> first_;
};

// CA17-4: the headers of READs and atomics come from a template of their own, which is filled when
// the QP is connected and not when SQD changes the path.
class ReadsKeepFirstDscp final : public SurfaceFilter {
  public:
    void qp_changed(const QpReport& report) override {
        const auto& attributes = report.attributes;
        if (report.state == QpState::Reset) first_.erase(report.qpn);
        if (report.state != QpState::Rtr || !attributes.address || !attributes.dest_qp) return;
        const auto dscp = static_cast<std::uint8_t>(attributes.address->traffic_class >> 2);
        first_.try_emplace(report.qpn, Path{.peer = *attributes.dest_qp, .dscp = dscp});
    }
    void qp_destroyed(wire::Qpn qpn) override { first_.erase(qpn); }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && (is_read_request(*packet) || is_atomic_request(*packet))) {
            for (const auto& [qpn, path] : first_) {
                if (path.peer == packet->bth.dest_qp) datagram.envelope.dscp = path.dscp;
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Path {
        wire::Qpn peer;
        std::uint8_t dscp = 0;
    };
    std::map<wire::Qpn, Path> first_;
};

// CA17-12: the cache of address handles is looked up by the QPN alone.
class PathOfSameQpn final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        if (!request.ud) return;
        const engine::AddressVector& path = request.ud->path;
        if (path.source.v4() != path.destination.v4()) return; // the engine refuses it
        const auto cached = paths_.try_emplace(std::pair(qpn, request.ud->qpn), path).first;
        request.ud->path = cached->second;
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        std::erase_if(paths_, [qpn](const auto& entry) { return entry.first.first == qpn; });
    }

  private:
    std::map<std::pair<wire::Qpn, wire::Qpn>, engine::AddressVector> paths_;
};

// --- whole frames

std::optional<wire::Frame> request_frame(wire::MutableBytes bytes) {
    const auto frame = wire::decode_frame(bytes);
    const auto packet = frame ? wire::decode_packet(frame->transport)
                              : std::unexpected(wire::PacketError::TooShortForBth);
    if (!packet || !packet->info().request()) return std::nullopt;
    return *frame;
}

// CA17-7: "do not fragment" is left to the path's software where a packet is longer than an
// ordinary Ethernet frame.
class LargePacketsMayBeFragmented final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes bytes) override {
        const auto frame = request_frame(bytes);
        constexpr std::uint16_t ordinary = 1500;
        if (!frame || !frame->ipv4 || frame->ipv4->total_length <= ordinary) return;
        wire::Ipv4 header = *frame->ipv4;
        header.dont_fragment = false;
        header.checksum = 0;
        const wire::MutableBytes at = bytes.subspan(frame->outer.ip_at, wire::Ipv4::kSize);
        header.encode(at);
        header.checksum = wire::ipv4_checksum(at);
        header.encode(at);
        wire::seal(bytes);
    }
};

// CA17-22: the mask for IPv6 was made for a traffic class of 0.
class IcrcCoversTrafficClass final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes bytes) override {
        const auto frame = request_frame(bytes);
        constexpr std::uint32_t traffic_class = 0x0FF00000;
        if (!frame || !frame->ipv6 || frame->ipv6->dscp == 0) return;
        store_icrc_over(traffic_class, bytes, frame->outer);
    }
};

// --- what is sent when

// REQ-28: a request whose data come with the doorbell takes a fast path around the fence.
bool fence_of_others(const SendView& view) {
    return view.request.flags.inline_data || engine::send_check::fence(view);
}

// RNR-09: 7 is the largest value of a counter of six bits, and not for ever.
bool rnr_retry_of_64(const SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    constexpr std::uint8_t most = 64;
    if (view.connection.rnr_retry == for_ever) return view.outbound.rnr_retries < most;
    return engine::send_check::rnr_retry_left(view);
}

// REQ-01: the PSN is counted where requests are fetched, and not where packets are made: a BIND_MW
// or LOCAL_INV counts as well.
struct PsnSteps {
    struct Step {
        wire::Psn from; // as the engine counts
        std::int32_t by = 0;
    };
    NewestPsn sent;
    std::int32_t by = 0; // of new messages
    std::deque<Step> steps;

    [[nodiscard]] std::int32_t ahead_of(wire::Psn psn) const {
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            if (wire::distance(step->from, psn) >= 0) return step->by;
        }
        return 0;
    }
    [[nodiscard]] std::int32_t behind(wire::Psn on_wire) const {
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            if (wire::distance(step->from + step->by, on_wire) >= 0) return step->by;
        }
        return 0;
    }
};
class LocalWorkTakesPsn final : public QpFilter<PsnSteps> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        posted_[qpn].push_back(request.opcode);
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        PsnSteps& memory = qp.memory;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.request()) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        const bool again = memory.sent.note(packet.bth.psn, packets);
        if (!again && info.starts_message()) begin(qp, packet.bth.psn, info.operation);
        packet.bth.psn += memory.ahead_of(packet.bth.psn);
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().response()) packet.bth.psn += -qp.memory.behind(packet.bth.psn);
    }

  private:
    // A message begins: what was posted before it has been fetched.
    void begin(Qp& qp, wire::Psn psn, Operation operation) {
        auto& posted = posted_[qp.report.qpn];
        const std::int32_t before = qp.memory.by;
        while (!posted.empty()) {
            const WrOpcode opcode = posted.front();
            posted.pop_front();
            if (engine::is_local(opcode)) ++qp.memory.by;
            if (operation_of(opcode) == operation) break; // others were refused
        }
        if (qp.memory.by != before) qp.memory.steps.push_back({.from = psn, .by = qp.memory.by});
    }

    std::map<wire::Qpn, std::deque<WrOpcode>> posted_;
};

// REQ-01: PSN 0 means "none" to the unit that sends for UC, and its counter leaves it out.
struct UcSkip {
    std::int32_t by = 0;
    bool begun = false; // the first PSN was loaded and not counted
};
class UcSkipsPsnZero final : public QpFilter<UcSkip> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc) return;
        packet.bth.psn += qp.memory.by;
        const bool counted = std::exchange(qp.memory.begun, true);
        if (!counted || packet.bth.psn != wire::Psn{}) return;
        packet.bth.psn += 1;
        ++qp.memory.by;
    }
};

// --- what is sent again

// REQ-31: the operands of an atomic that is sent again are read from the slot of the newest one.
struct NewestAtomic : Outgoing {
    wire::AtomicEth operands;
};
class RepeatedAtomicOfNewest final : public FollowsRequests<NewestAtomic> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_atomic_request(packet)) return;
        if (!again) qp.memory.operands = packet.atomic;
        packet.atomic.swap_or_add = qp.memory.operands.swap_or_add;
        packet.atomic.compare = qp.memory.operands.compare;
    }
};

// REQ-10: how far a READ has come is kept in 16 bits.
struct FirstReads : Outgoing {
    struct Read {
        wire::Psn first;
        std::uint32_t packets = 1;
        std::uint64_t address = 0;
    };
    static constexpr std::size_t kept = 64;
    std::deque<Read> reads;
};
class ReadOffsetOf16Bits final : public FollowsRequests<FirstReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        auto& reads = qp.memory.reads;
        if (!again) {
            reads.push_back({.first = packet.bth.psn,
                             .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                             .address = packet.reth.virtual_address});
            if (reads.size() > FirstReads::kept) reads.pop_front();
            return;
        }
        for (const FirstReads::Read& read : reads) {
            const std::int32_t at = wire::distance(read.first, packet.bth.psn);
            if (at < 0 || static_cast<std::uint32_t>(at) >= read.packets) continue;
            const std::uint64_t offset = static_cast<std::uint64_t>(at) * wire::bytes_of(qp.mtu());
            packet.reth.virtual_address = read.address + (offset & 0xFFFF);
        }
    }
};

// STA-06: the scheduler that sends again looks at QPs in RTS alone.
class NoResendInSqd final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const bool again = qp.memory.note_request(passage.packet, qp.mtu());
        if (again && qp.report.state == QpState::Sqd) passage.dropped = true;
    }
};

// CNP-12: the handler of CNPs lowers the rate and makes the queue begin again at the oldest packet
// without an acknowledgement.
class CnpRestartsWindow final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) qp.memory.note_request(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& oldest = qp.memory.oldest;
        qp.memory.note_answer(packet);
        if (is_nak(packet) && oldest && qp.memory.holds(packet.bth.psn)) oldest = packet.bth.psn;
        if (!is_cnp(packet) || !oldest || !qp.memory.holds(*oldest)) return;
        passage.after.push_back(acknowledge(qp.report.qpn, packet.bth.pkey, *oldest,
                                            wire::Syndrome::nak(wire::NakCode::PsnSequence), {}));
    }
};

// RNR-08: an acknowledge that repeats the last one tells of new receives, and is taken for leave to
// try again at once.
class GhostAckEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!packet.info().response()) return;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            if (memory.oldest == packet.bth.psn) memory.waits = packet.bth.psn;
            return;
        }
        const bool ghost = is_ack(packet) && memory.waits && packet.bth.psn == *memory.waits - 1;
        if (ghost) {
            constexpr std::int32_t most = 1024; // packets that are on their way
            for (wire::Psn psn = *memory.waits;
                 wire::distance(*memory.waits, psn) < most && memory.sent.contains(psn.value());
                 psn += 1) {
                send_again(memory, psn, passage);
            }
            memory.waits.reset();
        }
        if (!is_nak(packet)) acknowledge_until(memory, packet.bth.psn);
    }
};

// --- responses

// BTH-17: BECN is looked at before the opcode, and a packet with it goes to the handler of CNPs.
bool is_acknowledge_with_becn(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == Operation::Acknowledge && packet->bth.becn;
}

// REQ-03: the loop that completes requests ends after eight, and begins again at the next ACK.
struct Ends : Outgoing {
    std::deque<wire::Psn> of_messages; // SENDs and WRITEs that are not complete
};
class AckCompletesEight final : public FollowsRequests<Ends> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const wire::OpcodeInfo& info = packet.info();
        const bool counts =
            info.operation == Operation::Send || info.operation == Operation::RdmaWrite;
        const bool rc = info.service == wire::Service::Rc;
        if (!again && rc && counts && info.ends_message()) {
            qp.memory.of_messages.push_back(packet.bth.psn);
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        constexpr std::size_t most = 8;
        auto& ends = qp.memory.of_messages;
        const auto& newest = qp.memory.sent.psn;
        if (!newest || wire::distance(*newest, packet.bth.psn) > 0) return; // REQ-07
        const auto acknowledged = [&](wire::Psn end) {
            const std::int32_t ahead = wire::distance(end, packet.bth.psn);
            return is_nak(packet) ? ahead > 0 : ahead >= 0;
        };
        std::size_t done = 0;
        while (done < ends.size() && acknowledged(ends[done]))
            ++done;
        if (is_ack(packet) && done > most) {
            done = most;
            packet.bth.psn = ends[most - 1];
        }
        ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(done));
    }
};

// REQ-09: a READ that is asked for again is placed like a new one: from the start of its buffer.
struct PlacedReads {
    struct Read {
        wire::Psn first;
        std::uint32_t packets = 1;
        wire::Psn asked; // where it was asked for last
        Sge to;

        [[nodiscard]] bool holds(wire::Psn psn) const {
            const std::int32_t at = wire::distance(first, psn);
            return at >= 0 && static_cast<std::uint32_t>(at) < packets;
        }
    };
    static constexpr std::size_t kept = 64;
    NewestPsn sent;
    std::deque<Read> reads; // into one SGE
    std::vector<std::byte> body;
};
class ResumedReadFromStart final : public DmaFilter<PlacedReads> {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        if (request.opcode != WrOpcode::RdmaRead) return;
        Posted posted{.address = request.remote_address, .rkey = request.rkey, .to = {}};
        if (request.sges.size() == 1) posted.to = request.sges.front();
        posted_[qpn].push_back(posted);
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        PlacedReads& memory = qp.memory;
        if (!packet.info().request()) return;
        const bool read = is_read_request(packet);
        const std::uint32_t packets = read ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        const bool again = memory.sent.note(packet.bth.psn, packets);
        if (!read) return;
        if (!again) {
            begin(qp, packet, packets);
            return;
        }
        for (PlacedReads::Read& one : memory.reads) {
            if (one.holds(packet.bth.psn)) one.asked = packet.bth.psn;
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        for (const PlacedReads::Read& read : qp.memory.reads) {
            const bool resumed =
                read.asked != read.first && wire::distance(read.asked, packet.bth.psn) >= 0;
            if (read.holds(packet.bth.psn) && resumed) misplace(qp, packet, read);
        }
    }

  private:
    struct Posted {
        std::uint64_t address = 0;
        wire::Rkey rkey;
        Sge to; // of length 0: several, or none
    };
    void begin(Qp& qp, const wire::Packet& packet, std::uint32_t packets) {
        auto& posted = posted_[qp.report.qpn];
        auto& reads = qp.memory.reads;
        while (!posted.empty()) { // those that do not fit were refused
            const Posted one = posted.front();
            posted.pop_front();
            const wire::Reth& reth = packet.reth;
            if (one.address != reth.virtual_address || one.rkey != reth.rkey) continue;
            if (one.to.length > 0) {
                reads.push_back({.first = packet.bth.psn,
                                 .packets = packets,
                                 .asked = packet.bth.psn,
                                 .to = one.to});
            }
            break;
        }
        if (reads.size() > PlacedReads::kept) reads.pop_front();
    }
    // The payload goes to the wrong place; what the engine writes is what is there already.
    void misplace(Qp& qp, wire::Packet& packet, const PlacedReads::Read& read) const {
        const wire::Bytes payload = packet.payload();
        const auto at = [&](wire::Psn from) {
            const auto index = static_cast<std::uint64_t>(wire::distance(from, packet.bth.psn));
            return regions().at(wire::Rkey{read.to.lkey.value},
                                read.to.address + index * wire::bytes_of(qp.mtu()), payload.size());
        };
        const wire::MutableBytes right = at(read.first);
        const wire::MutableBytes wrong = at(read.asked);
        if (right.empty() || wrong.empty()) return;
        auto& body = qp.memory.body;
        body.assign(right.begin(), right.end());
        std::ranges::copy(payload, wrong.begin());
        body.resize(packet.body.size());
        packet.body = body;
    }

    std::map<wire::Qpn, std::deque<Posted>> posted_;
};

// EXT-02: FLUSH and ATOMIC WRITE stand in the queue of WRITEs, which an ACK completes as a whole.
struct OpenFlushes : Outgoing {
    std::deque<wire::Psn> flushes;
};
class AckCompletesFlush final : public FollowsRequests<OpenFlushes> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const Operation operation = packet.info().operation;
        const bool flush = operation == Operation::Flush || operation == Operation::AtomicWrite;
        if (flush && !again) qp.memory.flushes.push_back(packet.bth.psn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        OpenFlushes& memory = qp.memory;
        const bool sent =
            memory.sent.psn && wire::distance(packet.bth.psn, *memory.sent.psn) >= 0; // REQ-07
        if (is_nak(packet) || !sent) return;
        while (!memory.flushes.empty() &&
               wire::distance(memory.flushes.front(), packet.bth.psn) >= 0) {
            if (is_ack(packet)) passage.before.push_back(answer(packet, memory.flushes.front()));
            memory.flushes.pop_front();
        }
    }

  private:
    static wire::Packet answer(const wire::Packet& ack, wire::Psn psn) {
        wire::Packet response = ack;
        set_opcode(response, Operation::RdmaReadResponse, wire::Position::Only);
        response.bth.psn = psn;
        return response;
    }
};

// --- completions

// What was posted, and which of it a completion is of.
class FollowsPosts : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) override {
        posts_[qpn].push_back(
            {.id = request.id, .opcode = request.opcode, .signaled = request.flags.signaled});
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posts_.erase(qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override { posts_.erase(qpn); }

  protected:
    struct Post {
        std::uint64_t id = 0;
        WrOpcode opcode = WrOpcode::Send;
        bool signaled = true;
    };
    using Posts = std::deque<Post>;

    // The request that is complete; it and those before it are taken out.
    std::optional<Post> settle(const Completion& completion) {
        Posts* const posts = posts_of(completion);
        if (posts == nullptr) return std::nullopt;
        const auto found = std::ranges::find(*posts, completion.id, &Post::id);
        if (found == posts->end()) return std::nullopt;
        const Post post = *found;
        posts->erase(posts->begin(), found + 1);
        return post;
    }
    // Those behind it.
    const Posts& behind(const Completion& completion) {
        static const Posts none;
        const Posts* const posts = posts_of(completion);
        return posts == nullptr ? none : *posts;
    }

  private:
    // A completion names its QP otherwise than the host's calls: by the first one with such an id.
    Posts* posts_of(const Completion& completion) {
        if (completion.queue != engine::Queue::Send) return nullptr;
        if (const auto known = qpns_.find(completion.qp); known != qpns_.end()) {
            return &posts_[known->second];
        }
        for (auto& [qpn, posts] : posts_) {
            const bool taken = std::ranges::any_of(
                qpns_, [&qpn](const auto& entry) { return entry.second == qpn; });
            if (taken || std::ranges::find(posts, completion.id, &Post::id) == posts.end()) {
                continue;
            }
            qpns_.emplace(completion.qp, qpn);
            return &posts;
        }
        return nullptr;
    }

    std::map<wire::Qpn, Posts> posts_;
    std::map<engine::QpId, wire::Qpn> qpns_;
};

// N-20: the firmware writes the CQE of a BIND_MW or LOCAL_INV when it leaves the queue, before that
// of the request whose ACK let it.
class LocalCompletionOvertakes final : public FollowsPosts {
  public:
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        const auto post = settle(one);
        const bool good =
            post && one.status == WcStatus::Success && !engine::is_local(post->opcode);
        if (good && local_is_next(one) && held_.try_emplace(one.qp, one).second) return;
        seen.push_back(one);
        if (one.queue != engine::Queue::Send) return;
        const auto held = held_.find(one.qp);
        if (held == held_.end()) return;
        seen.push_back(held->second);
        held_.erase(held);
    }
    void modifying(wire::Qpn qpn, QpAttributes& attributes) override {
        FollowsPosts::modifying(qpn, attributes);
        if (attributes.state == QpState::Reset) held_.clear();
    }

  private:
    bool local_is_next(const Completion& one) {
        const Posts& posts = behind(one);
        return !posts.empty() && engine::is_local(posts.front().opcode) && posts.front().signaled;
    }

    std::map<engine::QpId, Completion> held_;
};

// REQ-16: an error is written into the next CQE that the queue owes, whosever it is.
class ErrorOfNextSignaled final : public FollowsPosts {
  public:
    std::optional<Completion> completion(const Completion& one) override {
        Completion seen = one;
        const auto post = settle(one);
        if (post && one.status == WcStatus::Success && !post->signaled) signals_all_.insert(one.qp);
        if (!post || one.status == WcStatus::Success || signals_all_.contains(one.qp)) return seen;
        if (one.status != WcStatus::WrFlushErr && !post->signaled) {
            const bool owed = std::ranges::any_of(behind(one), &Post::signaled);
            if (!owed) return seen;
            owed_[one.qp] = one.status;
            return std::nullopt;
        }
        const auto owed = owed_.find(one.qp);
        if (owed == owed_.end() || !post->signaled) return seen;
        seen.status = owed->second;
        owed_.erase(owed);
        return seen;
    }

  private:
    std::map<engine::QpId, WcStatus> owed_;
    std::set<engine::QpId> signals_all_; // QPs that were created so
};

constexpr std::array kMutants{
    Mutant{.name = "solicited_flag_sticks_until_next_write",
           .rule = "BTH-14",
           .description = "A plain WRITE behind a SEND with the solicited event carries SE as "
                          "well.",
           .make_filter = make<SolicitedSticks>},
    Mutant{.name = "read_length_rounded_up_to_words",
           .rule = "LEN-10",
           .description = "The DMALen of a READ request is the next multiple of 4, so that a READ "
                          "of the odd end of a region is refused.",
           .make_filter = make<ReadsWholeWords>},
    Mutant{.name = "zero_length_sge_ends_gather_list",
           .rule = "LEN-10",
           .description = "A SEND or WRITE lacks the bytes of the SGEs behind one of length 0.",
           .make_filter = make<EmptySgeEndsList>},
    Mutant{.name = "atomic_result_at_rounded_address",
           .rule = "ATM-01",
           .description = "The result of an atomic whose local address is no multiple of 8 lands "
                          "below that address.",
           .cases = "atm/result-at-odd-places atm/results-across-pages",
           .make_filter = make<AtomicResultAligned>},
    Mutant{.name = "source_port_hashes_opcode",
           .rule = "ENC-02",
           .level = "SHOULD",
           .description = "The UDP source port of a QP's requests changes with their opcode.",
           .make_filter = make<EditsSentDatagram<hash_opcode>>},
    Mutant{.name = "unsignaled_atomic_is_reported",
           .rule = "REQ-03",
           .description = "An atomic that was posted unsignaled has a completion all the same.",
           .cases = "atm/unsignaled",
           .make_filter = make<AtomicsAlwaysReported>},
    Mutant{.name = "inline_bytes_read_when_sent",
           .rule = "REQ-31",
           .description = "An inline request sends, at first or again, what the buffer holds at "
                          "that time and not what it held when it was posted.",
           .make_filter = make<InlineReadWhenSent>},
    Mutant{.name = "ack_timeout_code_of_four_bits",
           .rule = "TMO-01",
           .description = "A local ACK timeout of code 16 never ends, and one of a larger code n "
                          "is as short as that of n - 16.",
           .make_filter = make<TimeoutOfFourBits>},
    Mutant{.name = "mtu_of_first_connection_outlives_reset",
           .rule = "STA-10",
           .description = "A QP that is connected again after RESET cuts its messages by the path "
                          "MTU of its first connection.",
           .cases = "req/reads-after-another-mtu sta/other-mtu-after-reset",
           .make_filter = make<MtuOutlivesReset>},
    Mutant{.name = "reads_keep_dscp_from_before_sqd",
           .rule = "CA17-4",
           .description = "After SQD has changed the traffic class, READ and atomic requests still "
                          "leave with the old DSCP.",
           .make_filter = make<ReadsKeepFirstDscp>},
    Mutant{.name = "datagram_path_cached_by_qpn",
           .rule = "CA17-12",
           .description = "A datagram to a QPN that its QP has sent to before goes by the path "
                          "(address, DSCP, hop limit) of the first one.",
           .make_filter = make<PathOfSameQpn>},
    Mutant{.name = "large_requests_may_be_fragmented",
           .rule = "CA17-7",
           .description = "Request packets of more than 1500 bytes over IPv4 lack the DF bit.",
           .make_filter = make<LargePacketsMayBeFragmented>},
    Mutant{.name = "icrc_covers_ipv6_traffic_class",
           .rule = "CA17-22",
           .description = "The ICRC of a request over IPv6 with a DSCP other than 0 covers the "
                          "traffic class.",
           .make_filter = make<IcrcCoversTrafficClass>},
    Mutant{.name = "fence_ignored_by_inline_requests",
           .rule = "REQ-28",
           .description = "An inline request with a fence leaves before earlier READs and atomics "
                          "are answered.",
           .cases = "req/fence-inline",
           .checks = kStandardChecks.with(SendCheck::Fence, fence_of_others)},
    Mutant{.name = "endless_rnr_retry_ends_after_64",
           .rule = "RNR-09",
           .description = "With rnr_retry 7 the 65th RNR NAK in a row fails the request.",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, rnr_retry_of_64)},
    Mutant{.name = "local_work_takes_a_psn",
           .rule = "REQ-01",
           .description = "The first packet behind a BIND_MW or LOCAL_INV leaves a PSN out.",
           .make_filter = make<LocalWorkTakesPsn>},
    Mutant{.name = "uc_psn_skips_zero",
           .rule = "REQ-01",
           .description = "A UC QP sends PSN 1 right after PSN 0xFFFFFF.",
           .cases = "ext/unreliable-wrap",
           .make_filter = make<UcSkipsPsnZero>},
    Mutant{.name = "repeated_atomic_has_newest_operands",
           .rule = "REQ-31",
           .description = "An atomic that is sent again while a newer one is on its way carries "
                          "the operands of the newer one.",
           .cases = "req/atomics-sent-again",
           .make_filter = make<RepeatedAtomicOfNewest>},
    Mutant{.name = "read_restart_offset_of_16_bits",
           .rule = "REQ-10",
           .description = "A READ that is asked for again from 64 KiB on or later names an address "
                          "64 KiB (or a multiple) too low.",
           .cases = "req/read-restarts-beyond-64k",
           .make_filter = make<ReadOffsetOf16Bits>},
    Mutant{.name = "no_resend_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A packet that was lost is not sent again while the QP is in SQD.",
           .make_filter = make<NoResendInSqd>},
    Mutant{.name = "cnp_restarts_the_window",
           .rule = "CNP-12",
           .description = "A CNP makes the requester send again all that is not acknowledged, and "
                          "uses up a retry.",
           .cases = "cnp/while-requests-wait",
           .make_filter = make<CnpRestartsWindow>},
    Mutant{.name = "ghost_ack_ends_the_rnr_wait",
           .rule = "RNR-08",
           .description = "In an RNR wait an ACK that repeats the last one makes the requester "
                          "send again at once.",
           .make_filter = make<GhostAckEndsRnrWait>},
    Mutant{.name = "acknowledge_with_becn_is_eaten",
           .rule = "BTH-17",
           .description = "An ACK or NAK with the BECN bit has no effect.",
           .make_filter = make<DropsInbound<is_acknowledge_with_becn>>},
    Mutant{.name = "one_ack_completes_at_most_eight",
           .rule = "REQ-03",
           .description = "Of more than eight requests that one ACK covers only eight complete; "
                          "the others are sent again.",
           .make_filter = make<AckCompletesEight>},
    Mutant{.name = "resumed_read_fills_from_the_start",
           .rule = "REQ-09",
           .description = "The rest of a READ that was asked for again lands at the start of the "
                          "buffer and not behind the part that had come.",
           .cases = "req/reads-behind-restarted-reads",
           .make_filter = make<ResumedReadFromStart>},
    Mutant{.name = "ack_behind_flush_completes_it",
           .rule = "EXT-02",
           .description = "An ACK of the same or a later PSN completes a FLUSH or ATOMIC WRITE "
                          "whose own response did not come.",
           .make_filter = make<AckCompletesFlush>},
    Mutant{.name = "local_completion_overtakes_the_one_before",
           .rule = "N-20",
           .description = "The completion of a BIND_MW or LOCAL_INV comes before that of the "
                          "request in front of it.",
           .make_filter = make<LocalCompletionOvertakes>},
    Mutant{.name = "failure_of_unsignaled_told_of_next_signaled",
           .rule = "REQ-16",
           .description = "When an unsignaled request fails, the next signaled one is reported "
                          "with its status, and the failed one not at all.",
           .make_filter = make<ErrorOfNextSignaled>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind14_requester

namespace veriroce::mutants {
std::span<const Mutant> blind14_requester() {
    return of_blind14_requester::kMutants;
}
} // namespace veriroce::mutants
