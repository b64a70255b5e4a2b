// Defects of a requester, a sender and its host, written without a look at the cases.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/outer.hpp"

namespace veriroce::mutants::of_blind17_requester {
namespace {

using engine::Completion;
using engine::OwnedDatagram;
using engine::QpState;
using engine::Queue;
using engine::SendCheck;
using engine::SendView;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
using wire::Service;
namespace right = engine::send_check;

bool resets(const engine::QpAttributes& attributes) {
    return attributes.state == QpState::Reset;
}

std::uint64_t bytes_of_all(std::span<const engine::Sge> sges) {
    std::uint64_t sum = 0;
    for (const engine::Sge& sge : sges)
        sum += sge.length;
    return sum;
}

// --- what the host posted, and where it went

struct Work {
    std::uint64_t id = 0;
    WrOpcode opcode = WrOpcode::Send;
    bool inline_data = false;
    std::vector<engine::Sge> sges;
    std::uint64_t length = 0;
    std::uint64_t remote_address = 0;
    wire::Psn first;
    std::uint32_t packets = 1;
    std::uint32_t responses = 0; // READ: that came in their order

    [[nodiscard]] bool holds(wire::Psn psn) const { return engine::forward(first, psn) < packets; }
    // Whether this packet may begin it.
    [[nodiscard]] bool fits(const wire::Packet& packet) const {
        if (operation_of(opcode) != packet.info().operation) return false;
        if (is_atomic_request(packet)) return packet.atomic.virtual_address == remote_address;
        if (packet.headers.has(wire::Header::Reth)) {
            return packet.reth.virtual_address == remote_address;
        }
        return packet.info().position == Position::First || packet.payload().size() == length;
    }
};

struct Works : Outgoing {
    std::deque<Work> begun; // the newest last

    Work* holding(wire::Psn psn) {
        for (auto at = begun.rbegin(); at != begun.rend(); ++at) {
            if (at->holds(psn)) return &*at;
        }
        return nullptr;
    }
};

// Tells of each request packet whose work request it is.
template <std::derived_from<Works> Memory>
class KnowsWork : public FollowsRequests<Memory> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (engine::is_local(request.opcode) || request.ud) return;
        posted_[qpn].push_back({.id = request.id,
                                .opcode = request.opcode,
                                .inline_data = request.flags.inline_data,
                                .sges = {request.sges.begin(), request.sges.end()},
                                .length = bytes_of_all(request.sges),
                                .remote_address = request.remote_address});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (resets(attributes)) posted_.erase(qpn);
    }

  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void work_leaves(Qp& /*qp*/, wire::Packet& /*packet*/, Work& /*work*/, bool /*again*/) {
    }

  private:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) final {
        if (!again && packet.info().starts_message()) begin(qp, packet);
        if (Work* const work = qp.memory.holding(packet.bth.psn)) {
            work_leaves(qp, packet, *work, again);
        }
    }
    void begin(Qp& qp, const wire::Packet& packet) {
        constexpr std::size_t kept = 256;
        auto& posted = posted_[qp.report.qpn];
        while (!posted.empty() && !posted.front().fits(packet))
            posted.pop_front(); // it was refused, or failed before it was sent
        if (posted.empty()) return;
        Work work = std::move(posted.front());
        posted.pop_front();
        work.first = packet.bth.psn;
        work.packets = is_atomic_request(packet) ? 1 : wire::packets_of(work.length, qp.mtu());
        qp.memory.begun.push_back(std::move(work));
        if (qp.memory.begun.size() > kept) qp.memory.begun.pop_front();
    }

    std::map<wire::Qpn, std::deque<Work>> posted_;
};

// --- plain traffic

// CRC-01: the CRC of the request pipeline takes 32 bytes at a time. Where the covered bytes end
// with a beat "last" is seen one clock late, and the beat goes into the CRC a second time. A header
// of two beats alone goes another way.
// Shows when: a request is sent whose bytes from the IP header to the pad are a multiple of 32 and
// more than 64: over IPv4 a SEND_ONLY of 56 bytes or a WRITE_ONLY of 40, over IPv6 36 and 52.
class TakesLastBeatTwice final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t beat = 32;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        const auto packet = wire::decode_packet(outer.transport());
        const wire::Bytes covered = outer.covered();
        if (!packet || !packet->info().request()) return;
        if (covered.size() % beat != 0 || covered.size() <= 2 * beat) return;
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(covered, covered.last(beat)));
    }
};

// CA17-7: the driver takes the "don't fragment" of its header template from the interface, which
// clears it for packets above 1500 bytes.
// Shows when: packets of PMTU 2048 or 4096 are full and go over IPv4.
class FragmentableJumbo final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t usual_mtu = 1500;
        constexpr std::size_t flags_at = 6;
        constexpr std::size_t checksum_at = 10;
        constexpr std::byte dont_fragment{0x40};
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        if (outer.ip_end - outer.ip_at <= usual_mtu) return;
        const wire::MutableBytes header = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
        header[flags_at] &= ~dont_fragment;
        wire::store_be<2>(header, checksum_at, wire::ipv4_checksum(header));
        wire::seal(frame);
    }
};

struct OpenSend {
    std::optional<wire::Psn> first;
};

// LEN-10: the segmenter's index of the packet in a SEND has 8 bits, and 0 is "first".
// Shows when: a SEND has more than 257 packets, for example 80000 bytes at PMTU 256.
class BeginsAgain final : public QpFilter<OpenSend> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::int32_t indices = 256;
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || packet.info().operation != Operation::Send) return;
        auto& first = qp.memory.first;
        if (packet.info().starts_message()) first = packet.bth.psn;
        if (!first || packet.info().position != Position::Middle) return;
        const std::int32_t index = wire::distance(*first, packet.bth.psn);
        if (index > 0 && index % indices == 0) set_place(packet, Position::First);
    }
};

struct LastLength {
    std::optional<std::uint32_t> bytes;
};

// LEN-04: the length adder of the RETH is loaded by the first SGE. A WRITE without any leaves in it
// what the WRITE before had.
// Shows when: a WRITE of zero bytes, with immediate data or not, follows one with bytes on a QP.
class StaleLength final : public QpFilter<LastLength> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::RdmaWrite) return;
        if (!packet.headers.has(wire::Header::Reth)) return;
        if (packet.reth.dma_length != 0) {
            qp.memory.bytes = packet.reth.dma_length;
        } else if (qp.memory.bytes) {
            packet.reth.dma_length = *qp.memory.bytes;
        }
    }
};

struct BehindBy {
    std::int32_t packets = 0;
};

// REQ-01: the UC engine adds to its PSN the number of payload blocks that went out, which is 0 for
// a message without bytes.
// Shows when: anything is sent on a UC QP after a SEND of zero bytes.
class EmptySendTakesNoPsn final : public QpFilter<BehindBy> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || packet.info().service != Service::Uc) return;
        packet.bth.psn += -qp.memory.packets;
        const bool send = packet.info().operation == Operation::Send;
        if (send && packet.payload().empty()) ++qp.memory.packets;
    }
};

// EXT-05: the length check of datagrams counts the immediate data as payload. What seems too long
// completes and is not sent, as a datagram should that is.
// Shows when: a UD SEND with immediate data brings 4093 to 4096 bytes at a port MTU of 4096.
class FullDatagramLost final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool counted =
            packet && packet->info().service == Service::Ud && packet->info().immediate();
        const std::size_t most = wire::bytes_of(wire::Mtu::B4096) - wire::ImmDt::kSize;
        if (counted && packet->payload().size() > most) return;
        out.push_back(std::move(datagram));
    }
};

struct ScatteredWorks : Works {
    std::vector<std::byte> body;
};

// REQ-21: the barrel shifter behind a READ's scatter is set up one byte late where an SGE ends
// inside a word: the next SGE begins with the last byte of the one before.
// Shows when: a READ has several SGEs, and one whose end is no multiple of 4 bytes into the message
// ends inside a packet.
class ShiftsAtOddSge final : public KnowsWork<ScatteredWorks> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const Work* const work = qp.memory.holding(packet.bth.psn);
        if (work == nullptr || work->opcode != WrOpcode::RdmaRead) return;
        const std::uint64_t begin =
            std::uint64_t{engine::forward(work->first, packet.bth.psn)} * wire::bytes_of(qp.mtu());
        auto& body = qp.memory.body;
        body.assign(packet.body.begin(), packet.body.end());
        std::uint64_t end = 0;
        for (const engine::Sge& sge : work->sges) {
            end += sge.length;
            const bool inside = end > begin && end - begin < packet.payload().size();
            if (inside && end % 4 != 0) body[end - begin] = body[end - begin - 1];
        }
        packet.body = body;
    }
};

// ATM-01: the driver writes the compare operand into the WQE only if it is not 0, and the WQE's
// template still has that of the last COMPARE_SWAP.
// Shows when: a COMPARE_SWAP compares with 0 after one on the same QP that compared with another
// value.
class ZeroCompareIsStale final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::AtomicCmpAndSwp) return;
        std::uint64_t& last = last_[qpn];
        if (request.compare_or_add != 0) last = request.compare_or_add;
        request.compare_or_add = last;
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (resets(attributes)) last_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, std::uint64_t> last_;
};

// N-30: the daemon at QP1 answers like any server of UDP, to the port from which it was asked.
// Shows when: a management datagram that is answered (REQ, DREQ, SIDR_REQ) comes from another
// source port than 4791.
class AnswersToSourcePort final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (for_gsi(datagram)) asked_ = {datagram.envelope.source, datagram.envelope.source_port};
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        wire::Envelope& envelope = datagram.envelope;
        if (asked_ && for_gsi(datagram) && envelope.destination == asked_->address) {
            envelope.destination_port = asked_->port;
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Asked {
        wire::IpAddress address;
        std::uint16_t port = 0;
    };
    static bool for_gsi(const OwnedDatagram& datagram) {
        const auto packet = wire::decode_packet(datagram.bytes);
        return packet && packet->info().service == Service::Ud &&
               packet->bth.dest_qp == wire::kGsiQpn;
    }
    std::optional<Asked> asked_;
};

struct Counted : Outgoing {
    std::optional<wire::Psn> last; // that was new
    bool wrapped = false;
};

// BTH-16: the PSN counter of the send context has 32 bits and is stored as a whole word below
// AckReq: its carry stands in the reserved bits.
// Shows when: requests are sent on an RC QP after its PSN has gone from 0xFFFFFF to 0.
class CarryInReservedBits final : public FollowsRequests<Counted> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        constexpr std::uint32_t half = 0x800000;
        Counted& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        if (!again) {
            memory.wrapped |= memory.last && psn.value() < memory.last->value();
            memory.last = psn;
        }
        if (memory.wrapped && psn.value() < half) packet.bth.reserved7 |= 1;
    }
};

// --- errors and what is sent again

struct ReadsOut : Outgoing {
    ReadLog reads;
};

// REQ-10: the retry unit adds the offset of the first missing packet to the low half of the READ's
// address, without the carry.
// Shows when: a READ of several packets crosses an address that is a multiple of 4 GiB and is asked
// for again from there, because its responses from there on were lost.
class CarryLostInRetry final : public FollowsRequests<ReadsOut> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        if (!is_read_request(packet)) return;
        if (!again) {
            qp.memory.reads.note(packet, qp.mtu());
            return;
        }
        const auto read = qp.memory.reads.holding(packet.bth.psn);
        if (!read) return;
        std::uint64_t& address = packet.reth.virtual_address;
        address = (read->request.reth.virtual_address & ~low) | (address & low);
    }
};

struct Refused : Outgoing {
    std::optional<wire::Psn> from; // RNR NAKed, and not acknowledged since
};

// N-26: the flag of the solicited event is taken out of the WQE when its last packet is sent, and
// the queue of the RNR timer does not keep it.
// Shows when: a SEND with the solicited flag is sent again after an RNR NAK.
class NotSolicitedAfterRnr final : public FollowsRequests<Refused> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const auto& from = qp.memory.from;
        const bool waited = again && from && wire::distance(*from, packet.bth.psn) >= 0;
        if (waited) packet.bth.solicited = false;
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& from = qp.memory.from;
        if (is_rnr_nak(packet)) {
            if (qp.memory.holds(packet.bth.psn)) from = packet.bth.psn;
        } else if (from && !is_nak(packet) && wire::distance(*from, packet.bth.psn) >= 0) {
            from.reset();
        }
    }
};

struct Acknowledged {
    std::map<std::uint32_t, OwnedDatagram> sent; // by PSN: the newest acknowledged one and later
    std::optional<wire::Psn> oldest;             // that is not acknowledged
};

// REQ-18: the window of NAKs begins with the newest acknowledged PSN, not behind it, and the ring
// of sent packets still has that one.
// Shows when: a sequence NAK comes with the PSN of the packet that was acknowledged last.
class HeedsOldNak final : public QpFilter<Acknowledged> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [sent, oldest] = qp.memory;
        if (!is_rc_request(packet)) return;
        if (!oldest) oldest = packet.bth.psn;
        sent.insert_or_assign(packet.bth.psn.value(), datagram_of(packet, passage.envelope));
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [sent, oldest] = qp.memory;
        if (!is_rc_response(packet) || !oldest) return;
        const wire::Psn psn = packet.bth.psn;
        if (is_sequence_nak(packet) && psn == *oldest - 1) {
            const auto copy = sent.find(psn.value());
            if (copy != sent.end()) passage.sent.push_back(copy->second);
            return;
        }
        acknowledge(qp.memory, is_nak(packet) ? psn - 1 : psn);
        if (is_fatal_nak(packet)) sent.clear();
    }

  private:
    static void acknowledge(Acknowledged& memory, wire::Psn psn) {
        constexpr std::int32_t most = 4096; // packets on their way
        auto& [sent, oldest] = memory;
        const std::int32_t ahead = wire::distance(*oldest, psn);
        if (ahead < 0 || ahead > most) return;
        for (wire::Psn done = *oldest - 1; done != psn; done += 1)
            sent.erase(done.value());
        oldest = psn + 1;
    }
};

// REQ-34: the byte count of a READ's completion is the length of the request that was sent last.
// Shows when: some responses of a READ of several packets are lost, the rest is asked for again,
// and the READ completes.
class ReportsTheRest final : public KnowsWork<Works> {
  public:
    std::optional<Completion> completion(const Completion& one) override {
        Completion seen = one;
        const auto rest = one.queue == Queue::Send ? rests_.find(one.id) : rests_.end();
        if (rest == rests_.end()) return seen;
        if (one.status == WcStatus::Success && one.opcode == WcOpcode::RdmaRead) {
            seen.byte_len = rest->second;
        }
        rests_.erase(rest);
        return seen;
    }

  protected:
    void work_leaves(Qp& /*qp*/, wire::Packet& packet, Work& work, bool again) override {
        if (!again || !is_read_request(packet)) return;
        if (packet.reth.dma_length < work.length) rests_[work.id] = packet.reth.dma_length;
    }

  private:
    std::map<std::uint64_t, std::uint32_t> rests_; // by the id of the work
};

// TMO-03: the table that says which requests count their tries was not extended when FLUSH and
// ATOMIC WRITE came.
// Shows when: a FLUSH or an ATOMIC WRITE is never answered; it is sent more than retry_cnt + 1
// times and never completes.
bool new_requests_try_for_ever(const SendView& view) {
    const WrOpcode opcode = view.request.opcode;
    return opcode == WrOpcode::Flush || opcode == WrOpcode::AtomicWrite || right::retry_left(view);
}

// REQ-16: the driver writes the id of a request into its table only if the request is signaled; a
// completion in error of one that is not finds the id that was written before.
// Shows when: a request without the signaled flag fails or is flushed, after signaled ones.
class IdOfSignaledBefore final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        std::uint64_t& newest = signaled_[qpn];
        if (request.flags.signaled) {
            newest = request.id;
            before_.erase(request.id);
        } else {
            before_[request.id] = newest;
        }
    }
    std::optional<Completion> completion(const Completion& one) override {
        Completion seen = one;
        if (one.queue != Queue::Send || one.status == WcStatus::Success) return seen;
        const auto before = before_.find(one.id);
        if (before != before_.end()) seen.id = before->second;
        return seen;
    }

  private:
    std::map<wire::Qpn, std::uint64_t> signaled_;   // the newest
    std::map<std::uint64_t, std::uint64_t> before_; // of an unsignaled one
};

// STA-07: the flush walks over the requests that have PSNs or wait for some; those that are carried
// out by the memory unit (BIND_MW, LOCAL_INV) are not among them.
// Shows when: a QP goes to ERR with a BIND_MW or LOCAL_INV behind a request that is not
// acknowledged, or one is posted to a QP in ERR.
class LocalWorkNotFlushed final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& one) override {
        const bool local = one.opcode == WcOpcode::BindMw || one.opcode == WcOpcode::LocalInv;
        const bool flushed = one.queue == Queue::Send && one.status == WcStatus::WrFlushErr;
        if (flushed && local) return std::nullopt;
        return one;
    }
};

// N-38: the scatter context of a READ stays valid after its completion until the next READ takes
// it, and a response that comes late is written through it.
// Shows when: a response of a READ that has completed comes again with other bytes, or after the
// host has changed its buffer, and no later READ was sent.
class WritesLateResponse final : public KnowsWork<Works> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.add(region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.remove(mr); }

  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        Work* const work = qp.memory.holding(packet.bth.psn);
        if (work == nullptr || work->opcode != WrOpcode::RdmaRead) return;
        const std::uint32_t index = engine::forward(work->first, packet.bth.psn);
        const std::uint64_t begin = std::uint64_t{index} * wire::bytes_of(qp.mtu());
        const std::uint64_t bytes = std::min<std::uint64_t>(
            work->length - std::min(begin, work->length), wire::bytes_of(qp.mtu()));
        if (packet.payload().size() != bytes) return;
        if (work->responses == work->packets) {
            if (newest_read(qp.memory) == work) write(*work, begin, packet.payload());
        } else if (index == work->responses) {
            ++work->responses;
        }
    }

  private:
    static const Work* newest_read(const Works& memory) {
        for (auto at = memory.begun.rbegin(); at != memory.begun.rend(); ++at) {
            if (at->opcode == WrOpcode::RdmaRead) return &*at;
        }
        return nullptr;
    }
    void write(const Work& work, std::uint64_t offset, wire::Bytes bytes) const {
        for (const engine::Sge& sge : work.sges) {
            if (offset >= sge.length) {
                offset -= sge.length;
                continue;
            }
            const std::uint64_t piece = std::min<std::uint64_t>(sge.length - offset, bytes.size());
            // A region has one key for both uses.
            const wire::MutableBytes to =
                regions_.at(wire::Rkey{sge.lkey.value}, sge.address + offset, piece);
            if (to.size() == piece) std::ranges::copy(bytes.first(piece), to.begin());
            bytes = bytes.subspan(piece);
            offset = 0;
        }
    }

    Regions regions_;
};

// N-05: the retry unit builds the outer header from the QP's addresses by itself, and its header
// has no VLAN tag.
// Shows when: an RC QP whose path has a VLAN sends something again, after a NAK or a timeout.
class UntaggedAgain final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        const auto& attributes = report.attributes;
        if (report.state != QpState::Rtr || !attributes.dest_qp || !attributes.address) return;
        const Peer fresh{.qpn = *attributes.dest_qp,
                         .address = attributes.address->destination,
                         .mtu = attributes.path_mtu.value_or(wire::Mtu::B1024),
                         .sent = {}};
        if (Peer* const known = find(fresh.qpn, fresh.address)) {
            *known = fresh;
        } else {
            peers_.push_back(fresh);
        }
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            Peer* const peer = find(packet->bth.dest_qp, datagram.envelope.destination);
            if (peer != nullptr && peer->note(*packet)) datagram.envelope.vlan.reset();
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Peer {
        wire::Qpn qpn;
        wire::IpAddress address;
        wire::Mtu mtu = wire::Mtu::B1024;
        NewestPsn sent;

        // Whether the packet was sent before.
        bool note(const wire::Packet& packet) {
            const bool read = is_read_request(packet);
            return sent.note(packet.bth.psn,
                             read ? wire::packets_of(packet.reth.dma_length, mtu) : 1);
        }
    };
    Peer* find(wire::Qpn qpn, const wire::IpAddress& address) {
        for (Peer& peer : peers_) {
            if (peer.qpn == qpn && peer.address == address) return &peer;
        }
        return nullptr;
    }

    std::vector<Peer> peers_;
};

// --- where two features meet

// RNR-08: a request that comes in puts the QP into the scheduler's list, for its ACK. What the
// scheduler finds there first is the packet that waits for the end of the RNR time.
// Shows when: the peer sends a request to a QP that waits after an RNR NAK with a long time.
class RequestEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (is_rc_request(packet)) {
            const QpState state = qp.report.state; // of what the host has made of it
            const bool sends = state == QpState::Rts || state == QpState::Sqd;
            if (memory.waits && sends) send_again(memory, *memory.waits, passage);
            memory.waits.reset();
            return;
        }
        if (!is_rc_response(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        const wire::Psn behind = is_nak(packet) ? psn : psn + 1;
        if (memory.oldest && wire::distance(*memory.oldest, behind) > 0) {
            tries_[qp.report.qpn] = 0;
            if (memory.waits && wire::distance(*memory.waits, behind) > 0) memory.waits.reset();
        }
        acknowledge_until(memory, behind - 1);
        if (is_rnr_nak(packet) && memory.oldest == psn) note_refusal(qp);
        if (is_fatal_nak(packet)) memory.waits.reset();
    }

  private:
    // The last RNR NAK that it bears ends the QP.
    void note_refusal(Qp& qp) {
        constexpr std::uint8_t for_ever = 7;
        const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(0);
        std::uint32_t& tries = tries_[qp.report.qpn];
        qp.memory.waits.reset();
        if (most == for_ever || ++tries <= most) qp.memory.waits = qp.memory.oldest;
    }

    std::map<wire::Qpn, std::uint32_t> tries_;
};

struct Atomics : Outgoing {
    std::vector<wire::Psn> unanswered;
    std::uint64_t result = 0; // the last that came
};

// REQ-08: only READs are in the table of requests that wait for their own response; an ACK with a
// later PSN completes an atomic like a SEND, with what the result register has.
// Shows when: the ATOMIC_ACK is lost, and a SEND or WRITE behind the atomic is acknowledged.
class AckCompletesAtomic final : public FollowsRequests<Atomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (is_atomic_request(packet) && !again) qp.memory.unanswered.push_back(packet.bth.psn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Atomics& memory = qp.memory;
        if (packet.info().operation == Operation::AtomicAcknowledge) {
            if (std::erase(memory.unanswered, packet.bth.psn) != 0) {
                memory.result = packet.atomic_ack.original;
            }
            return;
        }
        if (!is_ack(packet) || !memory.holds(packet.bth.psn)) return;
        std::erase_if(memory.unanswered, [&](wire::Psn psn) {
            if (wire::distance(psn, packet.bth.psn) <= 0) return false;
            wire::Packet& answer = passage.before.emplace_back(packet);
            set_opcode(answer, Operation::AtomicAcknowledge, Position::Only);
            answer.bth.psn = psn;
            answer.atomic_ack.original = memory.result;
            return true;
        });
    }
};

// REQ-28: a request with inline data is written to the doorbell page as a whole and is sent from
// there; the fence is looked at only where WQEs are fetched.
// Shows when: an inline SEND or WRITE with the fence flag is posted behind an unanswered READ or
// atomic.
bool inline_knows_no_fence(const SendView& view) {
    return view.request.flags.inline_data || right::fence(view);
}

struct InlineWorks : Works {
    std::vector<std::byte> newest; // inline bytes that were sent
    std::vector<std::byte> body;
};

// REQ-31: the buffer of inline bytes is given back when the packet has left, not when it is
// acknowledged, and the next inline request takes it.
// Shows when: of two inline requests that are on their way the first is sent again.
class InlineBufferReused final : public KnowsWork<InlineWorks> {
  protected:
    void work_leaves(Qp& qp, wire::Packet& packet, Work& work, bool again) override {
        auto& newest = qp.memory.newest;
        auto& body = qp.memory.body;
        if (!work.inline_data) return;
        const wire::Bytes payload = packet.payload();
        if (!again) {
            newest.assign(payload.begin(), payload.end());
            return;
        }
        body.assign(packet.body.begin(), packet.body.end());
        const std::size_t overwritten = std::min(newest.size(), payload.size());
        std::copy_n(newest.begin(), overwritten, body.begin());
        packet.body = body;
    }
};

struct Tries : Outgoing {
    bool rnr = false; // what is sent again next is no try of retry_cnt
};

// TMO-03: how many tries are used stands in the timer's memory, which RESET does not clear and only
// an ACK does.
// Shows when: a QP that ended with RETRY_EXC_ERR is reset and connected again, and a request is not
// answered: it fails after fewer than retry_cnt + 1 transmissions.
class TriesOfFormerLife final : public FollowsRequests<Tries> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        auto& count = attributes.retry_count;
        if (resets(attributes)) asked_.erase(qpn);
        if (!count) return;
        asked_[qpn] = *count;
        if (attributes.state != QpState::Rts) return;
        *count = static_cast<std::uint8_t>(*count - std::min(*count, used_[qpn]));
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end()) report.attributes.retry_count = asked->second;
    }

  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        constexpr std::uint8_t most = 7;
        Tries& memory = qp.memory;
        if (!again || memory.oldest != packet.bth.psn) return;
        std::uint8_t& used = used_[qp.report.qpn];
        if (!std::exchange(memory.rnr, false) && used < most) ++used;
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_rnr_nak(packet)) qp.memory.rnr = true;
        if (!is_nak(packet) && qp.memory.holds(packet.bth.psn)) used_[qp.report.qpn] = 0;
    }

  private:
    std::map<wire::Qpn, std::uint8_t> used_;
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// STA-06: the drained event is raised where the last acknowledge of a draining QP is handled. A QP
// that has nothing outstanding when it goes to SQD has none to come.
// Shows when: an idle QP is moved to SQD with the event asked for.
class NoEventWhenIdle final : public FollowsRequests<Outgoing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (resets(attributes)) busy_.erase(qpn);
        if (attributes.state) hides_ = attributes.state == QpState::Sqd && !busy_.contains(qpn);
    }
    std::optional<engine::Event> event(const engine::Event& one) override {
        const bool drained = one.type == engine::EventType::SqDrained;
        if (drained && std::exchange(hides_, false)) return std::nullopt;
        return one;
    }

  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        if (is_rc_request(packet)) busy_.insert(qp.report.qpn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto& newest = qp.memory.sent.psn;
        if (!is_nak(packet) && newest == packet.bth.psn) busy_.erase(qp.report.qpn);
    }

  private:
    std::set<wire::Qpn> busy_; // has sent what is not acknowledged
    bool hides_ = false;
};

// CA17-4: the cache of address handles is searched by the destination's GID alone.
// Shows when: a UD QP sends through two address handles to one address that differ in traffic
// class.
class OneHandleForEachGid final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool datagram_service =
            packet && packet->info().service == Service::Ud && packet->bth.dest_qp != wire::kGsiQpn;
        if (datagram_service) {
            wire::Envelope& envelope = datagram.envelope;
            const wire::Envelope& cached = handle_of(envelope);
            envelope.dscp = cached.dscp;
        }
        out.push_back(std::move(datagram));
    }

  private:
    const wire::Envelope& handle_of(const wire::Envelope& envelope) {
        for (const wire::Envelope& one : handles_) {
            if (one.destination == envelope.destination) return one;
        }
        return handles_.emplace_back(envelope);
    }

    std::deque<wire::Envelope> handles_; // the first to each address
};

// CA17-45: the reaction point finds its rate by the flow that the CNP's addresses name, and all QPs
// between two addresses are the flow of the first of them.
// Shows when: of two QPs with one peer the one that was connected later gets a CNP: it goes on as
// fast as before, and the other one slows down.
class CnpSlowsFirstQp final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        const bool gone = report.state == QpState::Reset || report.state == QpState::Err;
        if (gone) forget(report.qpn);
        const auto& address = report.attributes.address;
        const auto known = [&](const Flow& flow) { return flow.qpn == report.qpn; };
        if (report.state != QpState::Rts || !address || std::ranges::any_of(flows_, known)) return;
        flows_.push_back({.qpn = report.qpn, .peer = address->destination});
    }
    void qp_destroyed(wire::Qpn qpn) override { forget(qpn); }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) {
            const auto first = std::ranges::find_if(
                flows_, [&](const Flow& flow) { return flow.peer == datagram.envelope.source; });
            const auto named = std::ranges::find_if(
                flows_, [&](const Flow& flow) { return flow.qpn == packet->bth.dest_qp; });
            if (first != flows_.end() && named != flows_.end()) {
                packet->bth.dest_qp = first->qpn;
                datagram.bytes = bytes_of(*packet);
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    struct Flow {
        wire::Qpn qpn;
        wire::IpAddress peer;
    };
    void forget(wire::Qpn qpn) {
        std::erase_if(flows_, [qpn](const Flow& flow) { return flow.qpn == qpn; });
    }

    std::vector<Flow> flows_; // in the order in which they were connected
};

// REQ-34: the IETH of a SEND_LAST is taken from a register that is loaded behind it, when the
// message completes; SEND_ONLY takes it out of the WQE.
// Shows when: a SEND with invalidate of several packets follows a SEND with invalidate of another
// key on the same QP.
class StaleInvalidate final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.path_mtu) mtus_[report.qpn] = *report.attributes.path_mtu;
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (resets(attributes)) keys_.erase(qpn);
    }
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        const auto mtu = mtus_.find(qpn);
        if (request.opcode != WrOpcode::SendWithInv || mtu == mtus_.end()) return;
        const wire::Rkey asked = request.invalidate_rkey;
        const auto before = keys_.find(qpn);
        const bool several = bytes_of_all(request.sges) > wire::bytes_of(mtu->second);
        if (several && before != keys_.end()) request.invalidate_rkey = before->second;
        keys_.insert_or_assign(qpn, asked);
    }

  private:
    std::map<wire::Qpn, wire::Mtu> mtus_;
    std::map<wire::Qpn, wire::Rkey> keys_; // of the last SEND with invalidate
};

constexpr std::array kMutants{
    // Plain traffic
    Mutant{.name = "icrc_takes_last_beat_twice",
           .rule = "CRC-01",
           .description = "The ICRC of a request is wrong where its covered bytes are a multiple "
                          "of 32, and more than 64.",
           .make_filter = make<TakesLastBeatTwice>},
    Mutant{.name = "jumbo_may_be_fragmented",
           .rule = "CA17-7",
           .description = "IPv4 packets of more than 1500 bytes leave without the don't-fragment "
                          "flag.",
           .make_filter = make<FragmentableJumbo>},
    Mutant{.name = "send_begins_again_after_256_packets",
           .rule = "LEN-10",
           .description = "Every 256th packet inside a SEND is sent as SEND_FIRST.",
           .cases = "req/messages-of-300-packets",
           .make_filter = make<BeginsAgain>},
    Mutant{.name = "empty_write_with_length_of_last_one",
           .rule = "LEN-04",
           .description = "The RETH of a WRITE of zero bytes has the length of the WRITE before.",
           .make_filter = make<StaleLength>},
    Mutant{.name = "empty_uc_send_takes_no_psn",
           .rule = "REQ-01",
           .description = "The packet behind a UC SEND of zero bytes has that one's PSN again.",
           .make_filter = make<EmptySendTakesNoPsn>},
    Mutant{.name = "full_datagram_with_immediate_not_sent",
           .rule = "EXT-05",
           .description = "A UD SEND with immediate data whose payload is within 4 bytes of the "
                          "MTU of 4096 completes, but is not sent.",
           .make_filter = make<FullDatagramLost>},
    Mutant{.name = "read_repeats_byte_at_odd_sge",
           .rule = "REQ-21",
           .description = "Where an SGE of a READ ends inside a word, the next one begins with a "
                          "wrong byte, and the READ completes with success.",
           .make_filter = make<ShiftsAtOddSge>},
    Mutant{.name = "compare_with_zero_takes_last_operand",
           .rule = "ATM-01",
           .description = "A COMPARE_SWAP that compares with 0 carries the compare operand of the "
                          "COMPARE_SWAP before.",
           .cases = "req/operands-of-zero",
           .make_filter = make<ZeroCompareIsStale>},
    Mutant{.name = "management_answered_to_source_port",
           .rule = "N-30",
           .description = "Answers of connection management go to the UDP port from which the "
                          "question came, in place of 4791.",
           .cases = "cm/answer-form cm/unknown-connection",
           .make_filter = make<AnswersToSourcePort>},
    Mutant{.name = "psn_carry_in_reserved_bits",
           .rule = "BTH-16",
           .description = "After the PSN has wrapped, requests have the lowest of the seven "
                          "reserved bits before the PSN set.",
           .make_filter = make<CarryInReservedBits>},
    // Errors and what is sent again
    Mutant{.name = "read_rest_asked_4_gib_too_low",
           .rule = "REQ-10",
           .description = "A READ that asks again for its rest behind a border of 4 GiB names an "
                          "address 4 GiB too low.",
           .make_filter = make<CarryLostInRetry>},
    Mutant{.name = "not_solicited_after_rnr",
           .rule = "N-26",
           .description = "What is sent again after an RNR NAK has lost its solicited event.",
           .make_filter = make<NotSolicitedAfterRnr>},
    Mutant{.name = "nak_of_acknowledged_psn_heeded",
           .rule = "REQ-18",
           .description = "A sequence NAK with the PSN that was acknowledged last makes the "
                          "requester send that packet again.",
           .cases = "req/nak-of-the-acknowledged",
           .make_filter = make<HeedsOldNak>},
    Mutant{.name = "retried_read_reports_its_rest",
           .rule = "REQ-34",
           .description = "The completion of a READ whose rest was asked for again counts only "
                          "the bytes of that rest.",
           .make_filter = make<ReportsTheRest>},
    Mutant{.name = "flush_and_atomic_write_retried_for_ever",
           .rule = "TMO-03",
           .description = "FLUSH and ATOMIC WRITE are sent again without end; retry_cnt does not "
                          "count for them.",
           .cases = "tmo/optional-requests-retry-exceeded",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, new_requests_try_for_ever)},
    Mutant{.name = "unsignaled_failure_has_id_of_signaled",
           .rule = "REQ-16",
           .description = "A completion in error of an unsignaled request has the id of the "
                          "signaled request that was posted before it.",
           .make_filter = make<IdOfSignaledBefore>},
    Mutant{.name = "bind_and_local_invalidate_not_flushed",
           .rule = "STA-07",
           .description = "BIND_MW and LOCAL_INV that are flushed give no completion.",
           .make_filter = make<LocalWorkNotFlushed>},
    Mutant{.name = "late_response_of_newest_read_written",
           .rule = "N-38",
           .description = "A response of the newest READ that comes again after its completion is "
                          "written to the host's memory.",
           .make_filter = make<WritesLateResponse>},
    Mutant{.name = "sent_again_without_vlan_tag",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Request packets that are sent again leave without the VLAN tag of "
                          "their path.",
           .make_filter = make<UntaggedAgain>},
    // Where two features meet
    Mutant{.name = "peer_request_ends_rnr_wait",
           .rule = "RNR-08",
           .description = "A request of the peer's makes a QP that waits after an RNR NAK send "
                          "the refused packet at once.",
           .make_filter = make<RequestEndsRnrWait>},
    Mutant{.name = "ack_behind_atomic_gives_stale_result",
           .rule = "REQ-08",
           .description = "An ACK of a later request completes an atomic that was not answered, "
                          "with a stale result.",
           .make_filter = make<AckCompletesAtomic>},
    Mutant{.name = "inline_request_ignores_fence",
           .rule = "REQ-28",
           .description = "A request with inline data does not wait for earlier READs and atomics, "
                          "though it has the fence flag.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, inline_knows_no_fence)},
    Mutant{.name = "inline_resend_has_newer_bytes",
           .rule = "REQ-31",
           .description = "An inline request that is sent again carries the bytes of the inline "
                          "request that was sent last.",
           .cases = "req/inline-among-others-sent-again req/many-inline-sent-again",
           .make_filter = make<InlineBufferReused>},
    Mutant{.name = "tries_of_former_life_count",
           .rule = "TMO-03",
           .description = "A QP that is connected again has fewer tries, by those that it had used "
                          "when it was reset.",
           .make_filter = make<TriesOfFormerLife>},
    Mutant{.name = "idle_qp_has_no_drained_event",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is not raised for a QP that has nothing outstanding when it "
                          "is moved to SQD.",
           .make_filter = make<NoEventWhenIdle>},
    Mutant{.name = "handles_to_one_gid_share_traffic_class",
           .rule = "CA17-4",
           .description = "All datagrams to an address have the DSCP of the address handle that "
                          "was used first.",
           .make_filter = make<OneHandleForEachGid>},
    Mutant{.name = "cnp_slows_first_qp_of_peer",
           .rule = "CA17-45",
           .description = "A CNP slows down the QP that was connected first to its sender, and not "
                          "the QP that it names.",
           .behaviour = {.congestion = {.reaction = {.enabled = true}}},
           .make_filter = make<CnpSlowsFirstQp>},
    Mutant{.name = "long_send_invalidates_last_key",
           .rule = "REQ-34",
           .description = "A SEND with invalidate of several packets carries the key of the SEND "
                          "with invalidate before.",
           .make_filter = make<StaleInvalidate>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind17_requester

namespace veriroce::mutants {

std::span<const Mutant> blind17_requester() {
    return of_blind17_requester::kMutants;
}

} // namespace veriroce::mutants
