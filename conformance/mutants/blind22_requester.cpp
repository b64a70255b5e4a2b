// Defects of requesters, written blind. They are derived from three devices:
//
// - The journal NIC writes a short record of every packet that it sends into a ring. A replay unit
//   rebuilds lost packets from these records, and what the records lack comes from registers.
// - The template NIC compiles each work request at the doorbell, into headers and a gather list
//   that its pipeline only patches. Templates are cached and outlive what they were made from.
// - The scoreboard NIC has a coprocessor for answers, timers and completions. All QPs share its
//   comparators, walkers and completion writers.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind22_requester {
namespace {

using engine::QpState;
using engine::SurfaceFilter;
using wire::Operation;
using wire::Psn;
using wire::Qpn;

// Whether a request is answered by a response of its own.
bool has_response(const wire::Packet& packet) {
    const Operation operation = packet.info().operation;
    return is_read_request(packet) || is_atomic_request(packet) || operation == Operation::Flush ||
           operation == Operation::AtomicWrite;
}

bool sends_data(const wire::Packet& packet) {
    return packet.info().operation == Operation::Send || is_write(packet);
}

std::uint32_t psns_of(const wire::Packet& request, wire::Mtu mtu) {
    return is_read_request(request) ? wire::packets_of(request.reth.dma_length, mtu) : 1;
}

// The memory of a part of a list of SGEs; nothing if some of it is not registered.
std::optional<std::vector<wire::MutableBytes>> pieces_of(const Regions& regions,
                                                         std::span<const engine::Sge> sges,
                                                         std::uint64_t offset,
                                                         std::uint64_t length) {
    std::vector<wire::MutableBytes> pieces;
    for (const engine::Sge& sge : sges) {
        if (length == 0) break;
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const std::uint64_t size = std::min<std::uint64_t>(sge.length - offset, length);
        const auto bytes = regions.at({sge.lkey.value}, sge.address + offset, size);
        if (bytes.empty()) return std::nullopt;
        pieces.push_back(bytes);
        offset = 0;
        length -= size;
    }
    if (length != 0) return std::nullopt;
    return pieces;
}

std::optional<std::vector<std::byte>> gathered(const Regions& regions,
                                               std::span<const engine::Sge> sges,
                                               std::uint64_t offset, std::uint64_t length) {
    const auto pieces = pieces_of(regions, sges, offset, length);
    if (!pieces) return std::nullopt;
    std::vector<std::byte> bytes;
    for (const wire::MutableBytes piece : *pieces)
        bytes.insert(bytes.end(), piece.begin(), piece.end());
    return bytes;
}

std::uint64_t bytes_in(std::span<const engine::Sge> sges) {
    std::uint64_t sum = 0;
    for (const engine::Sge& sge : sges)
        sum += sge.length;
    return sum;
}

// --- the template NIC

struct SolicitedBit {
    bool left = false; // by the message before
};

// BTH-14: the SE bit is patched into the template at a message's end only, so the first packet of
// the next message of several packets still has it. Middle and last packets are patched.
// Shows when: a solicited SEND is followed by a SEND or WRITE of two packets or more (RC, UC).
class SolicitedBitStays final : public QpFilter<SolicitedBit> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const bool asked = packet.bth.solicited;
        if (packet.info().ends_message()) {
            qp.memory.left = asked;
        } else if (packet.info().starts_message()) {
            packet.bth.solicited |= qp.memory.left;
        }
    }
};

// LEN-10: the compiler of gather lists takes an element of length zero for the list's terminator.
// Shows when: a SEND or WRITE has an empty SGE before one with bytes; the message lacks these.
class EmptyElementEndsList final : public SurfaceFilter {
  public:
    void posting_send(Qpn /*qpn*/, engine::SendRequest& request) override {
        const auto operation = operation_of(request.opcode);
        if (operation != Operation::Send && operation != Operation::RdmaWrite) return;
        const auto& sges = request.sges;
        const auto end = std::ranges::find(sges, 0U, &engine::Sge::length);
        request.sges = sges.first(static_cast<std::size_t>(end - sges.begin()));
    }
};

// LEN-04: the UC microcode takes the length of the RETH from the counter of the DMA engine, which
// counts words of four bytes. RC and messages of one packet have microcode of their own.
// Shows when: a UC WRITE of several packets has a length that is no multiple of four.
void whole_words(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool meant = info.service == wire::Service::Uc && is_write(packet) &&
                       info.position == wire::Position::First;
    if (meant) packet.reth.dma_length = (packet.reth.dma_length + 3) & ~std::uint32_t{3};
}

// CA17-4: compiled address handles are cached for all UD QPs, and the cache's tag is the remote GID
// and QPN. A second handle for the same destination hits, whatever its traffic class is.
// Shows when: two datagrams go to one QP of one address with different traffic classes.
class PathCacheWithoutClass final : public SurfaceFilter {
  public:
    void posting_send(Qpn /*qpn*/, engine::SendRequest& request) override {
        if (!request.ud) return;
        auto& path = request.ud->path;
        for (const Entry& entry : cache_) {
            if (entry.qpn != request.ud->qpn || entry.address != path.destination) continue;
            path.traffic_class = entry.traffic_class;
            return;
        }
        cache_.push_back({.address = path.destination,
                          .qpn = request.ud->qpn,
                          .traffic_class = path.traffic_class});
    }

  private:
    struct Entry {
        wire::IpAddress address;
        Qpn qpn;
        std::uint8_t traffic_class = 0;
    };
    std::vector<Entry> cache_;
};

// EXT-05: the Q_Key for work requests with a controlled one is rendered into the QP's template when
// it goes to RTS. Later changes reach the receiver's side, and not the template.
// Shows when: a UD QP gets another Q_Key in RTS and then sends with the high bit set in the work
// request: the datagram carries the Q_Key of before.
class QkeyOfTemplate final : public SurfaceFilter {
  public:
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        Template& made = templates_[qpn];
        if (attributes.state == QpState::Reset) made = {};
        if (attributes.qkey && !made.rendered) made.qkey = attributes.qkey;
        if (attributes.state == QpState::Rts) made.rendered = true;
    }
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        if (!request.ud || !controlled(request.ud->qkey)) return;
        const auto& qkey = templates_[qpn].qkey;
        if (qkey && !controlled(*qkey)) request.ud->qkey = *qkey;
    }
    void qp_destroyed(Qpn qpn) override { templates_.erase(qpn); }

  private:
    struct Template {
        std::optional<wire::Qkey> qkey;
        bool rendered = false;
    };
    static bool controlled(wire::Qkey qkey) { return (qkey.value & 0x80000000) != 0; }
    std::map<Qpn, Template> templates_;
};

// EXT-03: the placement types of a FLUSH go through a priority encoder, as if one excluded the
// other: of global visibility and persistence only persistence is sent.
// Shows when: a FLUSH asks for both placement types.
class OnePlacementType final : public SurfaceFilter {
  public:
    void posting_send(Qpn /*qpn*/, engine::SendRequest& request) override {
        constexpr std::uint8_t both = 3;
        constexpr std::uint8_t persistence = 2;
        if (request.flush_placement == both) request.flush_placement = persistence;
    }
};

struct LastWord {
    std::vector<std::byte> previous; // body
    std::vector<std::byte> body;
};

// BTH-09: the bus between gather and framer has no byte enables. The last word of a message's last
// packet keeps, where the pad is, what was at that place of the packet before.
// Shows when: the last of several packets has pad; it is not zero if the data before was not.
class PadOfPacketBefore final : public QpFilter<LastWord> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [previous, body] = qp.memory;
        if (!sends_data(packet)) return;
        body.assign(packet.body.begin(), packet.body.end());
        const std::size_t pad = packet.bth.pad;
        if (pad > 0 && !packet.info().starts_message() && body.size() >= pad &&
            previous.size() >= body.size()) {
            for (std::size_t i = body.size() - pad; i < body.size(); ++i)
                body[i] = previous[i];
        }
        previous.assign(packet.body.begin(), packet.body.end());
        packet.body = body;
    }
};

// ENC-09: the flags of the IPv4 header come from a template for each size of buffer. The one for
// jumbo buffers was made for the TCP side of the card and leaves fragmentation to the network.
// Shows when: the path MTU is 2048 or more over IPv4 and a packet is longer than 1500 bytes.
class JumboMayFragment final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::uint32_t ethernet_mtu = 1500;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        if (outer.ip_end - outer.ip_at <= ethernet_mtu) return;
        const std::size_t flags_at = outer.ip_at + 6U;
        const std::size_t checksum_at = outer.ip_at + 10U;
        const std::uint32_t old = wire::load_u16(frame, flags_at);
        const std::uint32_t fresh = old & ~std::uint32_t{0x4000};
        const std::uint32_t checksum = wire::load_u16(frame, checksum_at);
        std::uint32_t sum = (~checksum & 0xFFFF) + (~old & 0xFFFF) + fresh; // RFC 1624
        sum = (sum & 0xFFFF) + (sum >> 16);
        sum = (sum & 0xFFFF) + (sum >> 16);
        wire::store_be<2>(frame, flags_at, fresh);
        wire::store_be<2>(frame, checksum_at, ~sum & 0xFFFF);
        wire::seal(frame);
    }
};

// REQ-28: the doorbell's compiler decides whether a fence is needed: it drops the flag if no READ
// or atomic of the QP is on its way at that moment, though one may wait in the queue before it.
// Shows when: a READ and a fenced SEND are posted in one chain, or both while the QP is in SQD: the
// SEND leaves before the READ is answered.
class FenceDecidedAtDoorbell final : public QpFilter<Nothing> {
  public:
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        if (open_[qpn].empty()) request.flags.fence = false;
    }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) open_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!has_response(packet)) return;
        auto& open = open_[qp.report.qpn];
        const auto same = [&](const Range& range) { return range.holds(packet.bth.psn); };
        if (std::ranges::any_of(open, same)) return;
        open.push_back({.first = packet.bth.psn, .packets = psns_of(packet, qp.mtu())});
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response() || packet.info().operation == Operation::Acknowledge) return;
        std::erase_if(open_[qp.report.qpn],
                      [&](const Range& range) { return range.last() == packet.bth.psn; });
    }

  private:
    struct Range {
        Psn first;
        std::uint32_t packets = 1;

        [[nodiscard]] Psn last() const { return first + (std::int64_t{packets} - 1); }
        [[nodiscard]] bool holds(Psn psn) const {
            const std::int32_t at = wire::distance(first, psn);
            return at >= 0 && static_cast<std::uint32_t>(at) < packets;
        }
    };
    std::map<Qpn, std::deque<Range>> open_;
};

struct Resumption {
    struct Read {
        Psn first;
        std::uint32_t packets = 1;
        std::uint32_t answered = 0;
    };
    Outgoing sent;
    std::deque<Read> reads;
    std::uint32_t left = 0; // packets that the first READ of this life skips
};

// STA-10: how far a READ is answered stands in the template's patch register, which RESET does not
// clear. The first READ of the QP's next life begins that many packets inside its range.
// Shows when: a READ is partly answered, the QP goes to RESET and up again, and posts a READ of
// more packets: address and length of its RETH are shifted.
class FirstReadGoesOn final : public QpFilter<Nothing> {
  public:
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        Resumption& life = lives_[qpn];
        const std::uint32_t left = life.reads.empty() ? 0 : life.reads.front().answered;
        life = {};
        life.left = left;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Resumption& life = lives_[qp.report.qpn];
        if (!packet.info().request()) return;
        if (life.sent.note_request(packet, qp.mtu()) || !is_read_request(packet)) return;
        const std::uint32_t packets = psns_of(packet, qp.mtu());
        life.reads.push_back({.first = packet.bth.psn, .packets = packets});
        if (life.left < packets) {
            const std::uint32_t skipped = life.left * wire::bytes_of(qp.mtu());
            packet.reth.virtual_address += skipped;
            packet.reth.dma_length -= skipped;
        }
        life.left = 0;
    }
    void arrives(Qp& qp, Passage& passage) override {
        Resumption& life = lives_[qp.report.qpn];
        if (!is_read_response(passage.packet) || life.reads.empty()) return;
        Resumption::Read& read = life.reads.front();
        const std::int32_t at = wire::distance(read.first, passage.packet.bth.psn);
        if (at < 0 || static_cast<std::uint32_t>(at) >= read.packets) return;
        read.answered = static_cast<std::uint32_t>(at) + 1;
        if (read.answered == read.packets) life.reads.pop_front();
    }

  private:
    std::map<Qpn, Resumption> lives_;
};

// --- the journal NIC

struct SentReads : Outgoing {
    ReadLog log;
};

// REQ-10: the replay unit adds the offset of the first missing packet to the lower half of the
// READ's address, and the carry is lost.
// Shows when: a READ's range crosses a multiple of 4 GiB and the response that is lost lies behind.
class RestartLosesCarry final : public FollowsRequests<SentReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        if (!again) {
            qp.memory.log.note(packet, qp.mtu());
            return;
        }
        constexpr std::uint64_t lower = 0xFFFFFFFF;
        const auto read = qp.memory.log.holding(packet.bth.psn);
        if (!read) return;
        packet.reth.virtual_address =
            (read->request.reth.virtual_address & ~lower) | (packet.reth.virtual_address & lower);
    }
};

struct Journal : Outgoing {
    std::deque<Psn> firsts; // of the messages that have a record
};

// REQ-11: the ring of records holds 16 messages and overwrites the oldest. A replay sends what it
// has, and what stood before is never sent again.
// Shows when: 17 messages or more are on their way and the oldest is lost: after the NAK or the
// timeout the resend begins at a later PSN, until RETRY_EXC_ERR.
class JournalOfSixteen final : public QpFilter<Journal> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Journal& journal = qp.memory;
        if (!packet.info().request()) return;
        if (journal.note_request(packet, qp.mtu())) {
            passage.dropped = !journal.firsts.empty() &&
                              wire::distance(journal.firsts.front(), packet.bth.psn) < 0;
            return;
        }
        constexpr std::size_t records = 16;
        if (packet.info().starts_message()) journal.firsts.push_back(packet.bth.psn);
        if (journal.firsts.size() > records) journal.firsts.pop_front();
    }
};

struct PostedRead {
    std::uint64_t address = 0;
    wire::Rkey rkey;
    std::uint64_t length = 0;
    std::vector<engine::Sge> sges;
};

struct OpenReads {
    struct Read {
        Psn first;
        std::uint32_t packets = 1;
        Psn next; // response
        std::optional<Psn> resumed;
        std::vector<engine::Sge> sges;

        [[nodiscard]] bool holds(Psn psn) const {
            const std::int32_t at = wire::distance(first, psn);
            return at >= 0 && static_cast<std::uint32_t>(at) < packets;
        }
    };
    std::deque<Read> reads;
    std::vector<std::byte> body;
};

// REQ-09: the replay unit sets up the scatter engine as for a new READ: the data of a READ that is
// resumed in its middle goes to the beginning of the local buffer.
// Shows when: a response behind the first of a READ is lost and asked for again: the completion is
// good, the buffer's beginning is overwritten and its end is not written.
class ResumedReadLandsInFront final : public DmaFilter<OpenReads> {
  public:
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode != engine::WrOpcode::RdmaRead) return;
        posted_[qpn].push_back({.address = request.remote_address,
                                .rkey = request.rkey,
                                .length = bytes_in(request.sges),
                                .sges = {request.sges.begin(), request.sges.end()}});
    }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const Psn psn = packet.bth.psn;
        for (OpenReads::Read& read : qp.memory.reads) {
            if (!read.holds(psn)) continue;
            if (psn != read.first) read.resumed = psn;
            return;
        }
        auto& posted = posted_[qp.report.qpn];
        const auto found = std::ranges::find_if(posted, [&](const PostedRead& read) {
            return read.address == packet.reth.virtual_address && read.rkey == packet.reth.rkey &&
                   read.length == packet.reth.dma_length;
        });
        if (found == posted.end()) return;
        qp.memory.reads.push_back({.first = psn,
                                   .packets = psns_of(packet, qp.mtu()),
                                   .next = psn,
                                   .resumed = {},
                                   .sges = found->sges});
        posted.erase(found);
    }
    void arrives(Qp& qp, Passage& passage) override {
        const Psn psn = passage.packet.bth.psn;
        auto& reads = qp.memory.reads;
        if (!is_read_response(passage.packet)) return;
        const auto read = std::ranges::find_if(
            reads, [psn](const OpenReads::Read& each) { return each.holds(psn); });
        if (read == reads.end() || psn != read->next) return;
        read->next += 1;
        if (read->resumed && wire::distance(*read->resumed, psn) >= 0) {
            misplace(qp, *read, passage.packet);
        }
        if (!read->holds(read->next)) reads.erase(read);
    }

  private:
    void misplace(Qp& qp, const OpenReads::Read& read, wire::Packet& packet) {
        const auto offset_from = [&](Psn begin) {
            return static_cast<std::uint64_t>(wire::distance(begin, packet.bth.psn)) *
                   wire::bytes_of(qp.mtu());
        };
        const wire::Bytes payload = packet.payload();
        const auto there = gathered(regions(), read.sges, offset_from(read.first), payload.size());
        const auto front =
            pieces_of(regions(), read.sges, offset_from(*read.resumed), payload.size());
        if (!there || !front) return;
        auto& body = qp.memory.body;
        body = *there; // the engine writes what is there already
        body.resize(packet.body.size());
        std::size_t done = 0;
        for (const wire::MutableBytes piece : *front) {
            std::ranges::copy(payload.subspan(done, piece.size()), piece.begin());
            done += piece.size();
        }
        packet.body = body;
    }

    std::map<Qpn, std::deque<PostedRead>> posted_;
};

struct ResentAtomics : Outgoing {
    std::set<std::uint32_t> psns;
};

// ATM-01: the answer to a replayed atomic comes back through the replay unit's own path to memory,
// which has no byte swap.
// Shows when: the ATOMIC_ACK of an atomic is lost: after the resend its result is byte-swapped.
class ReplayedAtomicNotSwapped final : public FollowsRequests<ResentAtomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again && is_atomic_request(packet)) qp.memory.psns.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        if (qp.memory.psns.erase(packet.bth.psn.value()) == 0) return;
        packet.atomic_ack.original = std::byteswap(packet.atomic_ack.original);
    }
};

// BTH-08: a record has no index into the table of P_Keys; replayed packets carry entry 0's.
// Shows when: a QP with another P_Key than 0xFFFF sends a packet again.
class ReplaysDefaultPkey final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again) packet.bth.pkey = wire::kDefaultPkey;
    }
};

struct PostedInline {
    std::vector<std::byte> bytes;
    std::vector<engine::Sge> sges;
};

struct InlineRecords : Outgoing {
    std::map<std::uint32_t, std::vector<engine::Sge>> sent; // by PSN
    std::vector<std::byte> body;
};

// REQ-31: inline data is not kept for a replay. The record has the addresses from which the driver
// had copied it, and the replay unit gathers from there.
// Shows when: an inline SEND or WRITE is posted, the host writes over its buffer (which it may do
// at once), and the packet is sent again.
class ReplayGathersInline final : public DmaFilter<InlineRecords> {
  public:
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        if (!request.flags.inline_data) return;
        const auto bytes = gathered(regions(), request.sges, 0, bytes_in(request.sges));
        if (!bytes || bytes->empty()) return;
        posted_[qpn].push_back(
            {.bytes = *bytes, .sges = {request.sges.begin(), request.sges.end()}});
    }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        InlineRecords& records = qp.memory;
        if (!packet.info().request()) return;
        const bool again = records.note_request(packet, qp.mtu());
        if (!sends_data(packet) || packet.info().position != wire::Position::Only) return;
        const wire::Bytes payload = packet.payload();
        if (again) {
            replay(records, packet);
            return;
        }
        records.sent.erase(packet.bth.psn.value());
        auto& posted = posted_[qp.report.qpn];
        const auto found = std::ranges::find_if(posted, [payload](const PostedInline& each) {
            return std::ranges::equal(each.bytes, payload);
        });
        if (found == posted.end()) return;
        records.sent.insert_or_assign(packet.bth.psn.value(), found->sges);
        posted.erase(found);
    }

  private:
    void replay(InlineRecords& records, wire::Packet& packet) {
        const auto record = records.sent.find(packet.bth.psn.value());
        if (record == records.sent.end()) return;
        const auto bytes = gathered(regions(), record->second, 0, packet.payload().size());
        if (!bytes) return;
        records.body = *bytes;
        records.body.resize(packet.body.size());
        packet.body = records.body;
    }

    std::map<Qpn, std::deque<PostedInline>> posted_;
};

// N-24: replayed packets have the first word of the BTH as the record has it, with the MigReq bit
// of the path on which they went first. A peer that is ARMED takes them for packets of the old path
// on the new one and drops them.
// Shows when: an ARMED QP migrates because its retries are used up: what it sends again on the
// alternate path has MigReq 0, new packets have 1.
class ReplaysOldMigReq final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Line& line = lines_[report.qpn];
        if (report.state == QpState::Reset) line = {};
        line.peer = report.attributes.dest_qp.value_or(Qpn{});
        line.mtu = report.attributes.path_mtu.value_or(wire::Mtu::B1024);
    }
    void qp_destroyed(Qpn qpn) override { lines_.erase(qpn); }
    // By the peer's QP alone, because the address is another one after the migration.
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rc_request(*packet)) {
            for (auto& [qpn, line] : lines_) {
                if (line.peer != packet->bth.dest_qp) continue;
                edit(line, *packet);
                datagram.bytes = bytes_of(*packet);
                break;
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Line {
        Qpn peer;
        wire::Mtu mtu = wire::Mtu::B1024;
        Outgoing sent;
        std::optional<Psn> last_before; // the migration
    };
    static void edit(Line& line, wire::Packet& packet) {
        const bool again = line.sent.note_request(packet, line.mtu);
        if (!packet.bth.mig_req) {
            line.last_before = line.sent.sent.psn;
        } else if (again && line.last_before &&
                   wire::distance(packet.bth.psn, *line.last_before) >= 0) {
            packet.bth.mig_req = false;
        }
    }
    std::map<Qpn, Line> lines_;
};

// --- the scoreboard NIC

struct MessageEnds : Outgoing {
    std::deque<Psn> ends; // of the messages that are not acknowledged
};

// REQ-03: the walker that retires work requests takes eight steps for an acknowledge and forgets
// the rest of its range.
// Shows when: nine or more SENDs or WRITEs are covered by one ACK: the ninth does not complete, and
// is sent again after the timeout.
class RetiresEightPerAck final : public FollowsRequests<MessageEnds> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again || !packet.info().ends_message()) return;
        qp.memory.ends.push_back(packet.bth.psn + (std::int64_t{psns_of(packet, qp.mtu())} - 1));
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        constexpr std::ptrdiff_t steps = 8;
        wire::Packet& packet = passage.packet;
        auto& ends = qp.memory.ends;
        const auto covered = [&](Psn end) {
            const std::int32_t ahead = wire::distance(end, packet.bth.psn);
            return is_nak(packet) ? ahead > 0 : ahead >= 0;
        };
        const auto& newest = qp.memory.sent.psn;
        if (!newest || wire::distance(packet.bth.psn, *newest) < 0) return; // REQ-07
        if (is_ack(packet) && std::ranges::count_if(ends, covered) > steps) {
            packet.bth.psn = ends[static_cast<std::size_t>(steps - 1)];
        }
        std::erase_if(ends, covered);
    }
};

struct OwnAnswers : Outgoing {
    ReadLog reads;
    std::set<std::uint32_t> atomics;
};

// REQ-16: NAKs to requests with data in their answers are decoded by the response pipe, which looks
// at the lowest bit of the code: it takes Remote Operational for Invalid Request.
// Shows when: a READ or atomic gets NAK 0x63: it completes with REM_INV_REQ_ERR.
class ResponsePipeNak final : public FollowsRequests<OwnAnswers> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (again) return;
        if (is_read_request(packet)) qp.memory.reads.note(packet, qp.mtu());
        if (is_atomic_request(packet)) qp.memory.atomics.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_fatal_nak(packet)) return;
        if (packet.aeth.syndrome.nak_code() != wire::NakCode::RemoteOperational) return;
        const Psn psn = packet.bth.psn;
        if (qp.memory.reads.holding(psn) || qp.memory.atomics.contains(psn.value())) {
            packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::InvalidRequest);
        }
    }
};

struct SentResponders : Outgoing {
    std::deque<Psn> own; // requests that have responses of their own
};

// N-20: completions in error are written by firmware, good ones by a queue that is drained behind
// it. Where one NAK gives both, the error stands before those that the NAK acknowledges.
// Shows when: several SENDs or WRITEs are on their way, signaled, and a fatal NAK names a later one
// than the oldest.
class ErrorOvertakes final : public FollowsRequests<SentResponders> {
  public:
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        ids_[qpn].insert(request.id);
    }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        ids_.erase(qpn);
        failing_.erase(qpn);
    }
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        const auto held = one.queue == engine::Queue::Send ? held_by(one.id) : failing_.end();
        if (held == failing_.end()) {
            seen.push_back(one);
        } else if (one.status == engine::WcStatus::Success) {
            held->second.push_back(one);
        } else {
            seen.push_back(one);
            std::ranges::copy(held->second, std::back_inserter(seen));
            failing_.erase(held);
        }
    }

  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!again && has_response(packet)) qp.memory.own.push_back(packet.bth.psn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Psn psn = packet.bth.psn;
        const SentResponders& memory = qp.memory;
        const auto code = packet.aeth.syndrome.nak_code();
        if (!is_fatal_nak(packet) || !code || *code == wire::NakCode::InvalidRdRequest) return;
        if (!memory.holds(psn) || psn == *memory.oldest) return;
        if (!of_this_connection(qp.report, passage)) return;
        const bool implied = std::ranges::any_of(memory.own, [&](Psn own) { // N-11
            return wire::distance(*memory.oldest, own) >= 0 && wire::distance(own, psn) > 0;
        });
        if (!implied) failing_.try_emplace(qp.report.qpn);
    }

  private:
    using Held = std::map<Qpn, std::vector<engine::Completion>>;

    Held::iterator held_by(std::uint64_t id) {
        return std::ranges::find_if(
            failing_, [&](const auto& each) { return ids_[each.first].contains(id); });
    }

    std::map<Qpn, std::set<std::uint64_t>> ids_;
    Held failing_; // QPs that a NAK has ended, and good completions that wait for the error
};

// RNR-13: an ACK that names the packet before the one that waits wakes the sender, which looks at
// "oldest PSN has an answer before it" and not at the timer.
// Shows when: two SENDs are on their way, an RNR NAK names the second, and a late or repeated ACK
// of the first arrives during the wait: the second is sent again at once.
class LateAckEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!packet.info().response() || !of_this_connection(qp.report, passage)) return;
        const Psn psn = packet.bth.psn;
        if (is_rnr_nak(packet)) {
            Count& naks = naks_[qp.report.qpn];
            naks = {.psn = psn, .times = naks.psn == psn ? naks.times + 1 : 1};
            if (memory.sent.contains(psn.value()) && tries_left(qp, naks)) memory.waits = psn;
            acknowledge_until(memory, psn - 1);
        } else if (is_ack(packet)) {
            if (memory.waits && psn + 1 == *memory.waits) {
                send_again(memory, *memory.waits, passage);
                memory.waits.reset();
            }
            acknowledge_until(memory, psn);
        }
    }

  private:
    struct Count {
        std::optional<Psn> psn;
        std::uint32_t times = 0;
    };
    static bool tries_left(const Qp& qp, const Count& naks) {
        constexpr std::uint8_t for_ever = 7;
        const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(0);
        return most == for_ever || naks.times <= most;
    }
    std::map<Qpn, Count> naks_;
};

// REQ-27: the pool of READ slots of a QP only ever grows: a smaller max_rd_atomic in SQD is
// reported by the query and changes nothing.
// Shows when: max_rd_atomic is lowered from 4 to 1 in SQD, and back in RTS three READs are posted:
// all leave before the first is answered.
class SlotsOnlyGrow final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Slots& slots = slots_[report.qpn];
        if (report.state == QpState::Reset) slots = {};
        slots.state = report.state;
        slots.real = report.attributes.max_rd_atomic.value_or(0);
    }
    void qp_destroyed(Qpn qpn) override { slots_.erase(qpn); }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.max_rd_atomic || attributes.state == QpState::Reset) return;
        Slots& slots = slots_[qpn];
        const std::uint8_t asked = *attributes.max_rd_atomic;
        slots.shown.reset();
        if (slots.state != QpState::Sqd || asked == 0 || asked >= slots.real) return;
        slots.shown = asked;
        attributes.max_rd_atomic = slots.real;
    }
    void queried(engine::QpReport& report) override {
        const auto slots = slots_.find(report.qpn);
        if (slots != slots_.end() && slots->second.shown) {
            report.attributes.max_rd_atomic = slots->second.shown;
        }
    }

  private:
    struct Slots {
        QpState state = QpState::Reset;
        std::uint8_t real = 0;
        std::optional<std::uint8_t> shown;
    };
    std::map<Qpn, Slots> slots_;
};

// TMO-01: ACK timers are kept for each destination, not for each QP. A new QP whose timeout is
// longer than that of another one to the same address gets the shorter one.
// Shows when: two QPs of one peer address have the timeout codes 14 and 18, the first one set up
// first, and a request of the second is not answered: it is sent again after 67 ms and not 1 s.
class TimerOfDestination final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) {
            timers_.erase(report.qpn);
        } else if (report.attributes.address) {
            timers_[report.qpn].destination = report.attributes.address->destination;
        }
    }
    void qp_destroyed(Qpn qpn) override { timers_.erase(qpn); }
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.timeout || attributes.state == QpState::Reset) return;
        const auto own = timers_.find(qpn);
        if (own == timers_.end()) return;
        const std::uint8_t asked = *attributes.timeout;
        own->second.asked = asked;
        if (asked == 0) return;
        for (const auto& [other, timer] : timers_) {
            const bool shares =
                other != qpn && timer.destination == own->second.destination && timer.asked;
            if (shares && *timer.asked != 0 && *timer.asked < *attributes.timeout) {
                attributes.timeout = timer.asked;
            }
        }
    }
    void queried(engine::QpReport& report) override {
        const auto own = timers_.find(report.qpn);
        if (own != timers_.end() && own->second.asked) {
            report.attributes.timeout = own->second.asked;
        }
    }

  private:
    struct Timer {
        std::optional<wire::IpAddress> destination;
        std::optional<std::uint8_t> asked;
    };
    std::map<Qpn, Timer> timers_;
};

// RNR-08: one comparator serves the RNR waits of all QPs. A wait that begins while another QP waits
// is cut to what that one was asked for, if this is less.
// Shows when: QP A gets an RNR NAK of 10 ms and, before it has sent again, QP B one of 80 ms: B
// sends again after 10 ms.
class SharedRnrComparator final : public FollowsRequests<Outgoing> {
  public:
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        const bool ends = attributes.state == QpState::Reset || attributes.state == QpState::Err;
        if (ends) waiting_.erase(qpn);
    }

  protected:
    void request_leaves(Qp& qp, wire::Packet& /*packet*/, bool /*again*/) override {
        waiting_.erase(qp.report.qpn);
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || !qp.memory.holds(packet.bth.psn)) return;
        const wire::Syndrome asked = packet.aeth.syndrome;
        for (const auto& [other, syndrome] : waiting_) {
            const bool less =
                wire::rnr_time(syndrome.code()) < wire::rnr_time(packet.aeth.syndrome.code());
            if (other != qp.report.qpn && less) packet.aeth.syndrome = syndrome;
        }
        waiting_.insert_or_assign(qp.report.qpn, asked);
    }

  private:
    std::map<Qpn, wire::Syndrome> waiting_; // what each was asked for
};

struct SentFlushes : Outgoing {
    std::set<std::uint32_t> psns;
};

// REQ-26: empty READ responses were added for FLUSH and ATOMIC WRITE, and bypass the stage that
// retires what stands before. With older requests on their way they find no match and are dropped.
// Shows when: a WRITE and a FLUSH (or ATOMIC WRITE) are on their way and the peer answers with the
// response of the second alone: neither completes, and the WRITE is sent again.
class EmptyResponseRetiresNothing final : public QpFilter<SentFlushes> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        qp.memory.note_request(packet, qp.mtu());
        const Operation operation = packet.info().operation;
        if (operation == Operation::Flush || operation == Operation::AtomicWrite) {
            qp.memory.psns.insert(packet.bth.psn.value());
        } else {
            qp.memory.psns.erase(packet.bth.psn.value());
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SentFlushes& memory = qp.memory;
        if (!packet.info().response()) return;
        const Psn psn = packet.bth.psn;
        if (is_read_response(packet) && memory.psns.contains(psn.value()) && memory.oldest &&
            wire::distance(*memory.oldest, psn) > 0) {
            passage.dropped = true;
            return;
        }
        // What a NAK names is now the oldest (REQ-11, RNR-12).
        if (is_nak(packet) && memory.holds(psn)) memory.oldest = psn;
        memory.note_answer(packet);
    }
};

// STA-07: the flusher takes the wr_id from the slot that the producer index named when the host
// moved the QP to ERR. Later doorbells do not move its index.
// Shows when: a QP that has posted work is moved to ERR, and more is posted: it is flushed with the
// wr_id of the last work request of before.
class FlushesStaleId final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Slot& slot = slots_[report.qpn];
        if (report.state == QpState::Reset) slot = {};
        slot.ended = report.state == QpState::Err;
    }
    void qp_destroyed(Qpn qpn) override { slots_.erase(qpn); }
    void posting_send(Qpn qpn, engine::SendRequest& request) override {
        Slot& slot = slots_[qpn];
        if (!slot.ended) {
            slot.id = request.id;
        } else if (slot.id) {
            request.id = *slot.id;
        }
    }

  private:
    struct Slot {
        bool ended = false;
        std::optional<std::uint64_t> id;
    };
    std::map<Qpn, Slot> slots_;
};

// STA-06: SQ_DRAINED hangs on the edge "last request retired". A send queue that is idle when the
// QP goes to SQD has no such edge, and the event never comes.
// Shows when: a QP that has nothing on its way goes to SQD with sqd_async_notify.
class IdleQueueNeverDrains final : public QpFilter<Nothing> {
  public:
    void modifying(Qpn qpn, engine::QpAttributes& attributes) override {
        Line& line = lines_[qpn];
        if (attributes.state == QpState::Reset) line = {};
        if (attributes.sqd_async_notify) line.notifies = *attributes.sqd_async_notify;
        if (attributes.state == QpState::Sqd && line.sends) {
            if (line.notifies && idle(line.sent)) ++missed_;
            line.sends = false;
        }
        if (attributes.state) line.sends = *attributes.state == QpState::Rts;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained || missed_ == 0) return event;
        --missed_;
        return std::nullopt;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        lines_[qp.report.qpn].sent.note_request(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        lines_[qp.report.qpn].sent.note_answer(passage.packet);
    }

  private:
    struct Line {
        Outgoing sent;
        bool sends = false; // it is in RTS
        bool notifies = false;
    };
    static bool idle(const Outgoing& sent) {
        return !sent.sent.psn || (sent.oldest && *sent.oldest == *sent.sent.psn + 1);
    }
    std::map<Qpn, Line> lines_;
    std::uint32_t missed_ = 0; // events of queues that were idle
};

constexpr std::array kMutants{
    Mutant{.name = "solicited_bit_left_on_next_first_packet",
           .rule = "BTH-14",
           .description = "After a solicited SEND the first packet of the next message of several "
                          "packets has the SE bit set.",
           .make_filter = make<SolicitedBitStays>},
    Mutant{.name = "empty_sge_ends_gather_list",
           .rule = "LEN-10",
           .description = "An SGE of length zero ends the gather list of a SEND or WRITE: what "
                          "the SGEs behind it name is not sent.",
           .make_filter = make<EmptyElementEndsList>},
    Mutant{.name = "uc_write_announces_whole_words",
           .rule = "LEN-04",
           .description = "The RETH of a UC WRITE of several packets announces the length rounded "
                          "up to a multiple of four.",
           .make_filter = make<EditsOutbound<whole_words>>},
    Mutant{.name = "ud_path_cache_ignores_traffic_class",
           .rule = "CA17-4",
           .description = "Datagrams to one address and QPN carry the traffic class of the first "
                          "address handle that was used for this destination.",
           .cases = "ext/datagram-classes-to-one-qp",
           .make_filter = make<PathCacheWithoutClass>},
    Mutant{.name = "ud_own_qkey_of_before_rts",
           .rule = "EXT-05",
           .description = "A work request that asks for the QP's own Q_Key is sent with the one "
                          "that the QP had when it came to RTS, though it was changed since.",
           .cases = "ext/queue-key-of-each-datagram",
           .make_filter = make<QkeyOfTemplate>},
    Mutant{.name = "flush_of_both_placements_sends_persistence",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH that asks for global visibility and persistence is sent with "
                          "the placement type of persistence alone.",
           .make_filter = make<OnePlacementType>},
    Mutant{.name = "pad_keeps_bytes_of_packet_before",
           .rule = "BTH-09",
           .level = "SHOULD",
           .description = "The pad of a message's last packet holds the bytes that stood at the "
                          "same place of the packet before it.",
           .make_filter = make<PadOfPacketBefore>},
    Mutant{.name = "jumbo_frames_without_df",
           .rule = "ENC-09",
           .description = "IPv4 packets longer than 1500 bytes leave without the don't-fragment "
                          "flag.",
           .make_filter = make<JumboMayFragment>},
    Mutant{.name = "fence_decided_at_doorbell",
           .rule = "REQ-28",
           .description = "A fence has no effect if no READ or atomic was on its way when the "
                          "request was posted, though one stood before it in the queue.",
           .cases = "req/fence-behind-a-waiting-read",
           .make_filter = make<FenceDecidedAtDoorbell>},
    Mutant{.name = "first_read_resumes_former_life",
           .rule = "STA-10",
           .description = "The first READ after RESET skips as many packets of its range as were "
                          "answered of the READ that RESET cut off.",
           .cases = "sta/reset-forgets-a-read",
           .make_filter = make<FirstReadGoesOn>},
    Mutant{.name = "resend_takes_newest_immediate",
           .rule = "REQ-34",
           .description = "A request that is sent again carries the immediate data of the newest "
                          "request that had any.",
           .make_filter = make<ResendsNewestImmediate>},
    Mutant{.name = "read_restart_loses_carry_at_4_gib",
           .rule = "REQ-10",
           .description = "A READ that asks for the rest of its range behind a multiple of 4 GiB "
                          "names an address that is 4 GiB too low.",
           .make_filter = make<RestartLosesCarry>},
    Mutant{.name = "resends_newest_16_messages_only",
           .rule = "REQ-11",
           .description = "Only the newest 16 messages can be sent again: with more on their way a "
                          "resend begins behind the oldest unacknowledged packet.",
           .make_filter = make<JournalOfSixteen>},
    Mutant{.name = "resumed_read_data_at_buffer_begin",
           .rule = "REQ-09",
           .description = "The data of a READ that was asked for again from its middle is written "
                          "to the beginning of the local buffer.",
           .make_filter = make<ResumedReadLandsInFront>},
    Mutant{.name = "resent_atomic_result_swapped",
           .rule = "ATM-01",
           .description = "The result of an atomic that was sent again is written to memory with "
                          "its bytes in reverse order.",
           .make_filter = make<ReplayedAtomicNotSwapped>},
    Mutant{.name = "resend_with_default_pkey",
           .rule = "BTH-08",
           .level = "SHOULD",
           .description = "Packets that are sent again carry P_Key 0xFFFF instead of the QP's.",
           .make_filter = make<ReplaysDefaultPkey>},
    Mutant{.name = "inline_resend_gathers_again",
           .rule = "REQ-31",
           .description = "An inline message that is sent again carries what its buffer holds by "
                          "then, not what was posted.",
           .make_filter = make<ReplayGathersInline>},
    Mutant{.name = "resend_keeps_migreq_of_old_path",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "What is sent again after a migration has MigReq 0, as it had on the "
                          "first path.",
           .make_filter = make<ReplaysOldMigReq>},
    Mutant{.name = "ack_retires_eight_messages_at_most",
           .rule = "REQ-03",
           .description = "An ACK that covers more than eight messages completes the oldest eight; "
                          "the others are sent again.",
           .make_filter = make<RetiresEightPerAck>},
    Mutant{.name = "remote_operational_of_read_is_invalid_request",
           .rule = "REQ-16",
           .description = "A READ or atomic that gets a NAK Remote Operational completes with "
                          "REM_INV_REQ_ERR.",
           .make_filter = make<ResponsePipeNak>},
    Mutant{.name = "error_completion_overtakes_good_ones",
           .rule = "N-20",
           .description = "The completion in error of a fatal NAK comes before the good ones of "
                          "the requests that the same NAK acknowledges.",
           .make_filter = make<ErrorOvertakes>},
    Mutant{.name = "late_ack_ends_rnr_wait",
           .rule = "RNR-13",
           .description = "A repeated ACK of the packet before the RNR NAKed one makes the "
                          "requester send that one again before its wait is over.",
           .make_filter = make<LateAckEndsRnrWait>},
    Mutant{.name = "max_rd_atomic_not_lowered_in_sqd",
           .rule = "REQ-27",
           .description = "A smaller max_rd_atomic that is set in SQD is reported and not obeyed.",
           .make_filter = make<SlotsOnlyGrow>},
    Mutant{.name = "ack_timer_of_other_qp_to_same_address",
           .rule = "TMO-01",
           .description = "A QP has the ACK timeout of another QP to the same address that was set "
                          "up before it, if that is shorter.",
           .cases = "tmo/longer-timer-of-a-later-qp",
           .make_filter = make<TimerOfDestination>},
    Mutant{.name = "rnr_wait_cut_to_that_of_other_qp",
           .rule = "RNR-08",
           .description = "An RNR wait that begins while another QP waits is no longer than what "
                          "the other one was asked for.",
           .make_filter = make<SharedRnrComparator>},
    Mutant{.name = "flush_response_acknowledges_nothing_before",
           .rule = "REQ-26",
           .description = "The response to a FLUSH or ATOMIC WRITE is dropped while older requests "
                          "are not acknowledged.",
           .make_filter = make<EmptyResponseRetiresNothing>},
    Mutant{.name = "posts_in_err_flushed_with_stale_id",
           .rule = "STA-07",
           .description = "What is posted to a QP that the host has moved to ERR is flushed with "
                          "the wr_id of the last work request that was posted before.",
           .make_filter = make<FlushesStaleId>},
    Mutant{.name = "no_sq_drained_for_idle_queue",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is not raised if nothing was on its way when the QP went to "
                          "SQD.",
           .make_filter = make<IdleQueueNeverDrains>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind22_requester

namespace veriroce::mutants {

std::span<const Mutant> blind22_requester() {
    return of_blind22_requester::kMutants;
}

} // namespace veriroce::mutants
