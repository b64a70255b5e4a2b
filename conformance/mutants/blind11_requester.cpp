// Written blind, eleventh sample: what a requester sends, sends again and makes of answers, and
// what its host sees.
#include <bit>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/of_first_qp.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind11_requester {
namespace {

using engine::Completion;
using engine::EventType;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

bool succeeded(const Completion& completion, engine::Queue queue) {
    return completion.queue == queue && completion.status == WcStatus::Success;
}

// --- attributes

// What the host sets in this state is reported, and not used.
template <auto Attribute, QpState State>
class ChangeIgnored final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        states_.erase(qpn);
        told_.erase(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        auto& value = attributes.*Attribute;
        const auto state = states_.find(qpn);
        const bool stays = attributes.state.value_or(State) == State;
        if (attributes.state == QpState::Reset) told_.erase(qpn);
        if (!value || state == states_.end() || state->second != State || !stays) return;
        told_.insert_or_assign(qpn, value);
        value.reset();
    }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.*Attribute = told->second;
    }

  private:
    std::map<wire::Qpn, QpState> states_;
    std::map<wire::Qpn, std::remove_cvref_t<decltype(engine::QpAttributes{}.*Attribute)>> told_;
};

bool seven_is_for_ever(const SendView& view) {
    constexpr std::uint8_t seven = 7;
    return view.connection.retry_count == seven || engine::send_check::retry_left(view);
}

// --- what is sent

// Inside a message nothing asks for an ACK, however long it is.
void only_ends_ask(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.request() && !info.ends_message()) packet.bth.ack_request = false;
}

// A datagram's data are in the first of its pieces, as its headers are.
class DatagramOfFirstPiece final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.ud && request.sges.size() > 1) request.sges = request.sges.first(1);
    }
};

// Address handles are kept by the number of the QP that a datagram goes to.
class DatagramPathByQpn final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool ours = packet && packet->info().service == wire::Service::Ud &&
                          packet->deth.source_qp != wire::kGsiQpn;
        if (ours) {
            const std::pair way(packet->deth.source_qp, packet->bth.dest_qp);
            datagram.envelope = paths_.try_emplace(way, datagram.envelope).first->second;
        }
        out.push_back(std::move(datagram));
    }
    void qp_destroyed(wire::Qpn qpn) override {
        std::erase_if(paths_, [qpn](const auto& path) { return path.first.first == qpn; });
    }

  private:
    std::map<std::pair<wire::Qpn, wire::Qpn>, wire::Envelope> paths_; // by QP and destination QP
};

struct UcMessages {
    std::optional<wire::Psn> first; // of the connection
    std::int64_t sent = 0;          // packets of the message
};

class UcMessagesBeginAtFirstPsn final : public QpFilter<UcMessages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [first, sent] = qp.memory;
        if (packet.info().service != wire::Service::Uc) return;
        if (!first) first = packet.bth.psn;
        if (packet.info().starts_message()) sent = 0;
        packet.bth.psn = *first + sent++;
    }
};

// LOCAL_INV revokes the window that its QP has bound last.
class NewestWindowInvalidated final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        auto& bound = bound_[qpn];
        if (request.opcode == WrOpcode::BindMw) bound.push_back(request.rkey);
        if (request.opcode != WrOpcode::LocalInv) return;
        if (std::ranges::count(bound, request.invalidate_rkey) == 0) return;
        request.invalidate_rkey = bound.back();
        bound.pop_back();
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) bound_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, std::vector<wire::Rkey>> bound_; // the newest last
};

// --- what is sent again

// A resend begins with a packet that must be fetched first. Those behind it need no fetch.
class OldestResentLate final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr wire::Duration fetch = std::chrono::microseconds(5);
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool request =
            packet && packet->info().service == wire::Service::Rc && packet->info().request();
        if (request) {
            auto& [newest, resent] = sent_[packet->bth.dest_qp];
            const wire::Psn psn = packet->bth.psn;
            if (!newest.note(psn)) {
                resent.reset();
            } else {
                if (!resent || wire::distance(*resent, psn) <= 0) datagram.delay += fetch;
                resent = psn;
            }
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        const bool begins = report.state == QpState::Rtr;
        if (begins && report.attributes.dest_qp) sent_.erase(*report.attributes.dest_qp);
    }

  private:
    struct Sent {
        NewestPsn newest;
        std::optional<wire::Psn> resent; // just before
    };
    std::map<wire::Qpn, Sent> sent_; // by peer
};

bool asks_for_psn_zero(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_sequence_nak(*packet) && packet->bth.psn == wire::Psn{};
}

// --- what is made of answers

struct SentReads {
    ReadLog reads;
    std::optional<wire::Psn> next; // response, as far as they came in order
};

// What begins before the PSN of a NAK is held to be done, a READ too.
class NakInsideReadCompletesIt final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.reads.note(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::Psn psn = packet.bth.psn;
        auto& [reads, next] = qp.memory;
        if (is_read_response(packet) && (packet.info().starts_message() || next == psn)) {
            next = psn + 1;
        }
        if (!is_sequence_nak(packet)) return;
        const auto read = reads.holding(psn);
        if (!read || read->request.bth.psn == psn) return;
        const bool begun = next && read->holds(*next);
        const auto from = begun ? wire::distance(read->request.bth.psn, *next) : 0;
        for (auto at = static_cast<std::uint32_t>(from); at < read->packets; ++at)
            passage.before.push_back(response(*read, at, qp.mtu(), packet));
        passage.dropped = true;
    }

  private:
    static wire::Packet response(const LoggedRead& read, std::uint32_t at, wire::Mtu mtu,
                                 const wire::Packet& nak) {
        static constexpr std::array<std::byte, wire::bytes_of(wire::Mtu::B4096)> zeros{};
        const std::uint32_t full = wire::bytes_of(mtu);
        const std::uint32_t bytes = std::min(full, read.request.reth.dma_length - at * full);
        wire::Packet packet = nak;
        set_opcode(packet, Operation::RdmaReadResponse,
                   wire::position_of(at == 0, at + 1 == read.packets));
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
        packet.bth.psn = read.request.bth.psn + at;
        packet.bth.pad = wire::pad_of(bytes);
        packet.body = std::span(zeros).first(bytes + packet.bth.pad);
        return packet;
    }
};

struct Flushes : Outgoing {
    std::set<std::uint32_t> unanswered; // PSNs
};

// A FLUSH is held to be one of the requests that an ACK answers.
class AckCompletesFlush final : public FollowsRequests<Flushes> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const bool flush = packet.info().operation == Operation::Flush;
        if (flush && !again) qp.memory.unanswered.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& unanswered = qp.memory.unanswered;
        if (!qp.memory.holds(packet.bth.psn)) return;
        if (is_read_response(packet)) unanswered.erase(packet.bth.psn.value());
        if (!is_ack(packet)) return;
        std::erase_if(unanswered, [&](std::uint32_t flush) {
            const bool behind = wire::distance(wire::Psn(flush), packet.bth.psn) > 0;
            if (behind) passage.before.push_back(answer_to(wire::Psn(flush), packet));
            return behind;
        });
    }

  private:
    static wire::Packet answer_to(wire::Psn flush, const wire::Packet& ack) {
        wire::Packet answer = ack;
        set_opcode(answer, Operation::RdmaReadResponse, Position::Only);
        answer.bth.psn = flush;
        answer.body = {};
        return answer;
    }
};

// The requester goes on for half of the time before it looks at an RNR NAK.
class RnrNakHeededLate final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rnr_nak(*packet)) {
            datagram.delay += wire::rnr_time(packet->aeth.syndrome.code()) / 2;
        }
        in.push_back(std::move(datagram));
    }
};

// --- what answers leave in memory

// A filter that knows where the data of READs or atomics go to, and what was there before.
class KnowsBuffers : public DmaFilter<Nothing> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) final {
        buffers_.erase(request.id);
        if (!engine::brings_data(request.opcode)) return;
        Buffer buffer{.atomic = engine::is_atomic(request.opcode)};
        for (const engine::Sge& sge : request.sges) {
            const auto bytes = regions().anywhere(sge.address, sge.length);
            if (sge.length == 0 || bytes.empty()) continue;
            buffer.pieces.push_back(
                {.address = sge.address, .bytes = bytes, .old = {bytes.begin(), bytes.end()}});
        }
        if (!buffer.pieces.empty()) buffers_.emplace(request.id, std::move(buffer));
    }
    std::optional<Completion> completion(const Completion& completion) final {
        const auto buffer = succeeded(completion, engine::Queue::Send)
                                ? buffers_.find(completion.id)
                                : buffers_.end();
        if (buffer != buffers_.end()) {
            filled(buffer->second);
            buffers_.erase(buffer);
        }
        return completion;
    }
    void region_deregistered(engine::MrId mr) final {
        buffers_.clear(); // one of them may lie there
        DmaFilter::region_deregistered(mr);
    }

  protected:
    struct Piece {
        std::uint64_t address = 0;
        wire::MutableBytes bytes;
        std::vector<std::byte> old;
    };
    struct Buffer {
        bool atomic = false;
        std::vector<Piece> pieces;
    };
    virtual void filled(const Buffer& buffer) = 0;

  private:
    std::map<std::uint64_t, Buffer> buffers_; // by wr_id
};

// Whole words are written, to the last of a READ too.
class PadWrittenBehindBuffer final : public KnowsBuffers {
  protected:
    void filled(const Buffer& buffer) override {
        std::uint64_t bytes = 0;
        for (const Piece& piece : buffer.pieces)
            bytes += piece.bytes.size();
        const Piece& last = buffer.pieces.back();
        std::ranges::fill(regions().anywhere(last.address + last.bytes.size(), wire::pad_of(bytes)),
                          std::byte{0});
    }
};

// The list of a buffer's pages is not gone on with: what lies behind the first page goes to that
// page's beginning.
class ReadWrapsInPage final : public KnowsBuffers {
  protected:
    void filled(const Buffer& buffer) override {
        constexpr std::uint64_t page = 4096;
        if (buffer.atomic || buffer.pieces.size() != 1) return;
        const Piece& piece = buffer.pieces.front();
        const std::uint64_t before = piece.address % page; // bytes of the page
        const std::uint64_t in_page = page - before;
        if (before == 0 || piece.bytes.size() <= in_page) return;
        const auto behind = piece.bytes.subspan(in_page);
        const std::vector<std::byte> moved(behind.begin(), behind.end());
        std::ranges::copy(std::span(piece.old).subspan(in_page), behind.begin());
        const auto there = regions().anywhere(piece.address - before,
                                              std::min<std::uint64_t>(moved.size(), before));
        std::ranges::copy(std::span(moved).first(there.size()), there.begin());
    }
};

// The eight bytes go to where the first piece begins.
class AtomicFillsFirstPiece final : public KnowsBuffers {
  protected:
    void filled(const Buffer& buffer) override {
        if (!buffer.atomic || buffer.pieces.size() < 2) return;
        std::vector<std::byte> value;
        for (const Piece& piece : buffer.pieces) {
            value.insert(value.end(), piece.bytes.begin(), piece.bytes.end());
            if (&piece != &buffer.pieces.front()) std::ranges::copy(piece.old, piece.bytes.begin());
        }
        const auto there = regions().anywhere(buffer.pieces.front().address, value.size());
        if (!there.empty()) std::ranges::copy(value, there.begin());
    }
};

// --- completions

// Rows that the table of opcodes does not have are zero, which is SEND.
std::optional<Completion> young_opcodes_are_sends(Completion completion) {
    const bool young =
        completion.opcode == WcOpcode::Flush || completion.opcode == WcOpcode::AtomicWrite;
    if (succeeded(completion, engine::Queue::Send) && young) completion.opcode = WcOpcode::Send;
    return completion;
}

std::optional<Completion> read_length_with_pad(Completion completion) {
    const bool read = completion.opcode == WcOpcode::RdmaRead;
    if (succeeded(completion, engine::Queue::Send) && read) {
        completion.byte_len += wire::pad_of(completion.byte_len);
    }
    return completion;
}

// Immediate data are told as they are on the wire; a key is a number.
std::optional<Completion> key_as_on_the_wire(Completion completion) {
    auto& key = completion.invalidated_rkey;
    if (key) key->value = std::byteswap(key->value);
    return completion;
}

template <std::optional<Completion> (*Show)(Completion)>
class EditsCompletions final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        return Show(completion);
    }
};

// What was on its way at RESET is flushed when the QP completes something again.
class OldWorkFlushedLater final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.flags.signaled) posted_.insert_or_assign(request.id, qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        for (const auto& [id, owner] : posted_) {
            if (owner == qpn) old_[qpn].insert(id);
        }
        std::erase_if(posted_, [qpn](const auto& work) { return work.second == qpn; });
    }
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        const auto work = one.queue == engine::Queue::Send ? posted_.find(one.id) : posted_.end();
        if (work != posted_.end()) {
            for (const std::uint64_t id : std::exchange(old_[work->second], {}))
                seen.push_back({.id = id, .qp = one.qp, .status = WcStatus::WrFlushErr});
            posted_.erase(work);
        } else if (one.queue == engine::Queue::Send) { // it was complete before the RESET
            for (auto& [qpn, ids] : old_)
                ids.erase(one.id);
        }
        seen.push_back(one);
    }

  private:
    std::map<std::uint64_t, wire::Qpn> posted_;        // by wr_id
    std::map<wire::Qpn, std::set<std::uint64_t>> old_; // that RESET took away
};

// Receives are flushed where there is a connection.
class DatagramReceivesNotFlushed final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.qkey) datagram_qps_.insert(qpn);
    }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        if (datagram_qps_.contains(qpn)) {
            receives_.insert(request.id);
        } else {
            receives_.erase(request.id);
        }
    }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool flushed =
            completion.queue == engine::Queue::Receive && completion.status == WcStatus::WrFlushErr;
        if (flushed && receives_.contains(completion.id)) return std::nullopt;
        return completion;
    }

  private:
    std::set<wire::Qpn> datagram_qps_;
    std::set<std::uint64_t> receives_; // wr_ids
};

// --- events

class OverrunNotTold final : public SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool overrun = event.type == EventType::CqErr || event.type == EventType::QpFatal;
        return overrun ? std::nullopt : std::optional(event);
    }
};

// A connection is noted as established by its first request, and told by the first that is taken
// without an RNR NAK.
class EstablishmentNotToldAfterRnr final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state) refused_ = false;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool hidden = event.type == EventType::CommEst && std::exchange(refused_, false);
        return hidden ? std::nullopt : std::optional(event);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        refused_ |= is_rnr_nak(passage.packet) && qp.report.state == QpState::Rtr;
    }

  private:
    bool refused_ = false; // a QP in RTR has sent an RNR NAK, and not been established since
};

constexpr std::array kMutants{
    // Attributes and limits
    Mutant{.name = "timeout_of_first_qp",
           .rule = "TMO-01",
           .description = "All QPs have the ACK timeout of the QP that was connected first.",
           .cases = "tmo/shorter-in-the-next-life",
           .make_filter = make<OfFirstQp<&engine::QpAttributes::timeout>>},
    Mutant{.name = "timeout_change_in_sqd_ignored",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "An ACK timeout that is set in SQD is reported and not used.",
           .cases = "n/timeout-changed-in-sqd",
           .make_filter = make<ChangeIgnored<&engine::QpAttributes::timeout, QpState::Sqd>>},
    Mutant{.name = "retry_count_of_seven_is_for_ever",
           .rule = "REQ-13",
           .description = "With retry_cnt 7 a request is sent again without end.",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, seven_is_for_ever)},
    // What is sent
    Mutant{.name = "no_ack_asked_for_inside_a_message",
           .rule = "N-18",
           .description = "No packet inside a message asks for an ACK, though at most 128 packets "
                          "are on their way: a longer message comes to a stop.",
           .behaviour = {.max_unacked_packets = 128},
           .make_filter = make<EditsOutbound<only_ends_ask>>},
    Mutant{.name = "datagram_of_first_piece_alone",
           .rule = "LEN-10",
           .description = "A datagram of several pieces leaves with the bytes of the first.",
           .cases = "ext/datagram-gathered",
           .make_filter = make<DatagramOfFirstPiece>},
    Mutant{.name = "datagram_path_kept_by_qpn",
           .rule = "CA17-12",
           .description = "A datagram takes the path of the first datagram to the same QP number, "
                          "not the path of its address handle.",
           .cases = "ext/datagrams-to-two-hosts",
           .make_filter = make<DatagramPathByQpn>},
    Mutant{.name = "uc_messages_begin_at_first_psn",
           .rule = "REQ-01",
           .description = "Each UC message begins with the connection's first PSN.",
           .make_filter = make<UcMessagesBeginAtFirstPsn>},
    Mutant{.name = "local_invalidate_takes_newest_window",
           .rule = "KEY-07",
           .description = "A local invalidate revokes the window that its QP bound last, and "
                          "leaves the one that it names.",
           .cases = "key/older-window-invalidated",
           .make_filter = make<NewestWindowInvalidated>},
    // What is sent again, and made of answers
    Mutant{.name = "oldest_resent_packet_leaves_late",
           .rule = "REQ-11",
           .description = "Of several packets that are sent again the oldest leaves behind the "
                          "next ones.",
           .make_filter = make<OldestResentLate>},
    Mutant{.name = "sequence_nak_for_psn_zero_ignored",
           .rule = "REQ-11",
           .description = "A sequence NAK for PSN 0 is ignored.",
           .cases = "req/nak-for-psn-zero",
           .make_filter = make<DropsInbound<asks_for_psn_zero>>},
    Mutant{.name = "sequence_nak_inside_read_completes_it",
           .rule = "N-12",
           .description =
               "A sequence NAK in the place of a READ response other than the first completes "
               "the READ, with zeros for what is missing.",
           .make_filter = make<NakInsideReadCompletesIt>},
    Mutant{.name = "ack_completes_unanswered_flush",
           .rule = "REQ-08",
           .description = "An ACK behind a FLUSH whose answer was lost completes the FLUSH.",
           .cases = "req/flush-unanswered",
           .make_filter = make<AckCompletesFlush>},
    Mutant{.name = "requests_leave_in_first_half_of_rnr_wait",
           .rule = "RNR-13",
           .description = "In the first half of an RNR wait the requester goes on as before: new "
                          "requests leave, and its ACK timer runs.",
           .make_filter = make<RnrNakHeededLate>},
    // Memory
    Mutant{.name = "pad_of_read_written_behind_buffer",
           .rule = "REQ-22",
           .description = "The pad bytes of a READ response are written behind the READ's buffer.",
           .make_filter = make<PadWrittenBehindBuffer>},
    Mutant{.name = "read_wraps_in_first_page",
           .rule = "REQ-09",
           .description = "What a READ brings behind the first page of a buffer that does not "
                          "begin with it goes to that page's beginning.",
           .make_filter = make<ReadWrapsInPage>},
    Mutant{.name = "atomic_result_in_first_piece_alone",
           .rule = "ATM-01",
           .description = "The eight bytes that an atomic returns are written to where its first "
                          "piece begins, although that is shorter.",
           .cases = "atm/result-in-pieces",
           .make_filter = make<AtomicFillsFirstPiece>},
    // The host
    Mutant{.name = "flush_told_as_send",
           .rule = "REQ-34",
           .description = "FLUSHes and ATOMIC WRITEs complete with the opcode of a SEND.",
           .cases = "ext/flush-sent ext/atomic-write-sent",
           .make_filter = make<EditsCompletions<young_opcodes_are_sends>>},
    Mutant{.name = "read_length_counts_pad",
           .rule = "REQ-34",
           .description = "byte_len of a READ counts the pad bytes of its response.",
           .make_filter = make<EditsCompletions<read_length_with_pad>>},
    Mutant{.name = "revoked_key_told_byte_swapped",
           .rule = "KEY-11",
           .description = "The key that a SEND has revoked is told in the other byte order.",
           .make_filter = make<EditsCompletions<key_as_on_the_wire>>},
    Mutant{.name = "old_work_flushed_into_next_connection",
           .rule = "STA-10",
           .description = "Requests that were unanswered at RESET complete as flushed in front of "
                          "the first completion of the next connection.",
           .make_filter = make<OldWorkFlushedLater>},
    Mutant{.name = "datagram_receives_not_flushed",
           .rule = "STA-07",
           .description = "The receives of a UD QP in ERR do not complete.",
           .cases = "sta/datagram-receives-flushed",
           .make_filter = make<DatagramReceivesNotFlushed>},
    Mutant{.name = "qkey_change_in_rts_ignored",
           .rule = "EXT-05",
           .description = "A Q_Key that is set in RTS is reported and not used.",
           .cases = "ext/queue-key-changed",
           .make_filter = make<ChangeIgnored<&engine::QpAttributes::qkey, QpState::Rts>>},
    Mutant{.name = "overrun_of_queue_not_told",
           .rule = "KEY-13",
           .level = "SHOULD",
           .description = "No event is raised where a completion queue overflows.",
           .make_filter = make<OverrunNotTold>},
    Mutant{.name = "establishment_not_told_after_rnr_nak",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "COMM_EST is not raised if the first request of a connection was RNR "
                          "NAKed before it was taken.",
           .make_filter = make<EstablishmentNotToldAfterRnr>},
};

} // namespace
} // namespace veriroce::mutants::of_blind11_requester

namespace veriroce::mutants {

std::span<const Mutant> blind11_requester() {
    return of_blind11_requester::kMutants;
}

} // namespace veriroce::mutants
