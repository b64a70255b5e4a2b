// Defects written without a look at the cases: requesters, and what their hosts see.
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/outer.hpp"

namespace veriroce::mutants::of_blind13_requester {
namespace {

using engine::kStandardChecks;
using engine::QpState;
using engine::SendCheck;
using engine::SendView;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what was posted, and the PSNs that it takes

struct Work {
    engine::SendRequest request; // its SGEs are in `sges`
    std::vector<engine::Sge> sges;
    wire::Psn first;
    std::uint32_t packets = 1;
    wire::Psn next; // READ, atomic: the response that is due

    [[nodiscard]] wire::Psn last() const { return first + (std::int64_t{packets} - 1); }
    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t at = wire::distance(first, psn);
        return at >= 0 && static_cast<std::uint32_t>(at) < packets;
    }
    [[nodiscard]] bool answered() const { return next == last() + 1; }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const engine::Sge& sge : sges)
            sum += sge.length;
        return sum;
    }
    // Where the data of this packet begins in the message.
    [[nodiscard]] std::uint64_t offset(wire::Psn psn, wire::Mtu mtu) const {
        return static_cast<std::uint64_t>(wire::distance(first, psn)) * wire::bytes_of(mtu);
    }
};

struct Works {
    std::deque<Work> sent; // the oldest first
    NewestPsn newest;

    Work* holding(wire::Psn psn) {
        for (auto work = sent.rbegin(); work != sent.rend(); ++work) {
            if (work->holds(psn)) return &*work;
        }
        return nullptr;
    }
    // The oldest READ or atomic whose response is not complete.
    Work* unanswered() {
        for (Work& work : sent) {
            if (engine::wants_response(work.request.opcode) && !work.answered()) return &work;
        }
        return nullptr;
    }
};

bool ends_work(const engine::QpAttributes& attributes) {
    return attributes.state == QpState::Reset || attributes.state == QpState::Err;
}

std::uint32_t packets_of(const wire::Packet& request, wire::Mtu mtu) {
    return is_read_request(request) ? wire::packets_of(request.reth.dma_length, mtu) : 1;
}

// A filter that knows of each packet of RC and UC to which posted request it belongs.
template <std::derived_from<Works> Memory>
class FollowsPosts : public DmaFilter<Memory> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (engine::is_local(request.opcode)) return;
        Work work{.request = request, .sges = {request.sges.begin(), request.sges.end()}};
        work.request.sges = {};
        posted_[qpn].push_back(std::move(work));
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (ends_work(attributes)) posted_.erase(qpn);
    }

  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void request_leaves(Qp& /*qp*/, Passage& /*passage*/, Work& /*work*/) {}
    virtual void response_arrives(Qp& /*qp*/, Passage& /*passage*/) {} // before it is noted

    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const bool again = qp.memory.newest.note(packet.bth.psn, packets_of(packet, qp.mtu()));
        if (!again && packet.info().starts_message()) begin(qp, packet);
        if (Work* const work = qp.memory.holding(packet.bth.psn)) {
            request_leaves(qp, passage, *work);
        }
    }
    void arrives(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().response()) return;
        const wire::Packet as_it_came = passage.packet;
        response_arrives(qp, passage);
        note_response(qp.memory, as_it_came);
    }
    // The READ or atomic that this response goes on with; else nothing.
    static Work* due(Works& works, const wire::Packet& packet) {
        Work* const work = works.unanswered();
        if (work == nullptr || packet.bth.psn != work->next) return nullptr;
        const bool fits = engine::is_atomic(work->request.opcode)
                              ? packet.info().operation == Operation::AtomicAcknowledge
                              : is_read_response(packet);
        return fits ? work : nullptr;
    }

  private:
    void begin(Qp& qp, const wire::Packet& packet) {
        constexpr std::size_t kept = 4096;
        auto& posted = posted_[qp.report.qpn];
        while (!posted.empty()) {
            Work work = std::move(posted.front());
            posted.pop_front();
            const WrOpcode opcode = work.request.opcode;
            if (operation_of(opcode) != packet.info().operation) continue; // it was refused
            work.first = work.next = packet.bth.psn;
            work.packets = engine::is_atomic(opcode) ? 1 : wire::packets_of(work.bytes(), qp.mtu());
            qp.memory.sent.push_back(std::move(work));
            if (qp.memory.sent.size() > kept) qp.memory.sent.pop_front();
            return;
        }
    }
    static void note_response(Works& works, const wire::Packet& packet) {
        if (Work* const work = due(works, packet)) work->next += 1;
    }

    std::map<wire::Qpn, std::deque<Work>> posted_;
};

// A part of the host's memory that a range of a message lies in.
struct Piece {
    std::size_t at = 0;        // from the range's first byte
    wire::MutableBytes memory; // empty: it is not registered
};

std::vector<Piece> pieces_of(const Regions& regions, const Work& work, std::uint64_t offset,
                             std::uint64_t length) {
    std::vector<Piece> pieces;
    std::size_t at = 0;
    for (const engine::Sge& sge : work.sges) {
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const std::uint64_t bytes = std::min<std::uint64_t>(sge.length - offset, length - at);
        if (bytes == 0) break;
        const wire::Rkey key{sge.lkey.value};
        pieces.push_back({.at = at, .memory = regions.at(key, sge.address + offset, bytes)});
        at += bytes;
        offset = 0;
    }
    return pieces;
}

// What the host's memory holds there now; nothing if not all of it is registered.
std::optional<std::vector<std::byte>> image_of(const Regions& regions, const Work& work,
                                               std::uint64_t offset, std::uint64_t length) {
    std::vector<std::byte> image;
    for (const Piece& piece : pieces_of(regions, work, offset, length))
        image.insert(image.end(), piece.memory.begin(), piece.memory.end());
    if (image.size() != length) return std::nullopt;
    return image;
}

void write_to(const Regions& regions, const Work& work, std::uint64_t offset, wire::Bytes bytes) {
    for (const Piece& piece : pieces_of(regions, work, offset, bytes.size()))
        std::ranges::copy(bytes.subspan(piece.at, piece.memory.size()), piece.memory.begin());
}

// --- packets of requests

// BTH-14: SE is taken out of the WQE when its first packet is built, and not kept for the last.
class SolicitedOnFirst final : public FollowsPosts<Works> {
  protected:
    void request_leaves(Qp& /*qp*/, Passage& passage, Work& work) override {
        const bool notifies = engine::takes_receive(work.request.opcode);
        if (!notifies || !work.request.flags.solicited) return;
        const Position position = passage.packet.info().position;
        if (position == Position::First) passage.packet.bth.solicited = true;
        if (position == Position::Last) passage.packet.bth.solicited = false;
    }
};

// N-18: the device takes every packet of a whole MTU for one of the middle.
class FullLastAsksNothing final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet) || packet.info().position != Position::Last) return;
        if (packet.payload().size() == wire::bytes_of(qp.mtu())) packet.bth.ack_request = false;
    }
};

// REQ-31: the retransmission's packet builder has the two operands in the other order.
class ResentSwapsOperands final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (!again || packet.info().operation != Operation::CompareSwap) return;
        std::swap(packet.atomic.swap_or_add, packet.atomic.compare);
    }
};

// REQ-10: the offset is added to the address's lower half alone.
class RetryLosesCarry final : public FollowsPosts<Works> {
  protected:
    void request_leaves(Qp& /*qp*/, Passage& passage, Work& work) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet) || packet.bth.psn == work.first) return;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        packet.reth.virtual_address =
            (work.request.remote_address & ~low) | (packet.reth.virtual_address & low);
    }
};

// REQ-31: the WQE only points to inline data that does not fit into its first block.
class InlineByReference final : public FollowsPosts<Works> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, Work& work) override {
        constexpr std::uint64_t block = 32;
        wire::Packet& packet = passage.packet;
        if (!work.request.flags.inline_data || work.bytes() <= block) return;
        auto image = image_of(regions(), work, work.offset(packet.bth.psn, qp.mtu()),
                              packet.payload().size());
        if (!image) return;
        body_ = std::move(*image);
        body_.resize(packet.body.size()); // the pad
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_;
};

// --- responses to READs and atomics

// REQ-22: the DMA engine writes whole words of four bytes.
class PadBehindBuffer final : public FollowsPosts<Works> {
  protected:
    void response_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Work* const work = due(qp.memory, packet);
        if (work == nullptr || work->request.opcode != WrOpcode::RdmaRead) return;
        const std::uint64_t begin = work->offset(packet.bth.psn, qp.mtu());
        const std::size_t bytes = packet.payload().size();
        const bool ends = packet.info().ends_message() && packet.bth.psn == work->last();
        if (!ends || bytes == 0 || begin + bytes != work->bytes()) return;
        const auto used = [](const engine::Sge& sge) { return sge.length > 0; };
        const auto sge = std::ranges::find_if(work->sges.rbegin(), work->sges.rend(), used);
        const auto behind =
            regions().at(wire::Rkey{sge->lkey.value}, sge->address + sge->length, packet.bth.pad);
        std::ranges::copy(packet.body.last(behind.size()), behind.begin());
    }
};

// REQ-21: the scatter unit has room for two addresses per packet.
class TwoPiecesAPacket final : public FollowsPosts<Works> {
  protected:
    void response_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Work* const work = due(qp.memory, packet);
        if (work == nullptr || work->request.opcode != WrOpcode::RdmaRead) return;
        const auto pieces = pieces_of(regions(), *work, work->offset(packet.bth.psn, qp.mtu()),
                                      packet.payload().size());
        constexpr std::size_t most = 2;
        if (pieces.size() <= most) return;
        body_.assign(packet.body.begin(), packet.body.end());
        // What is not written stays as it was.
        for (std::size_t i = most; i < pieces.size(); ++i)
            std::ranges::copy(pieces[i].memory,
                              body_.begin() + static_cast<std::ptrdiff_t>(pieces[i].at));
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_;
};

// N-38: the scatter context of a READ stays valid until the next READ takes its place.
class WritesLateCopies final : public FollowsPosts<Works> {
  protected:
    void response_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool alive = qp.report.state == QpState::Rts || qp.report.state == QpState::Sqd;
        if (!alive || !is_read_response(packet)) return;
        auto& sent = qp.memory.sent;
        const auto read = std::ranges::find_if(sent.rbegin(), sent.rend(), [](const Work& work) {
            return work.request.opcode == WrOpcode::RdmaRead;
        });
        if (read == sent.rend() || !read->answered() || !read->holds(packet.bth.psn)) return;
        write_to(regions(), *read, read->offset(packet.bth.psn, qp.mtu()), packet.payload());
    }
};

// N-12: a NAK acknowledges all PSNs in front of it, also those of the READ in whose range it lies.
class NakSkipsResponses final : public FollowsPosts<Works> {
  protected:
    void response_arrives(Qp& qp, Passage& passage) override {
        images_.clear();
        const wire::Packet& nak = passage.packet;
        Work* const work = qp.memory.unanswered();
        if (!is_sequence_nak(nak) || work == nullptr) return;
        const bool inside = work->request.opcode == WrOpcode::RdmaRead &&
                            work->holds(nak.bth.psn) && wire::distance(work->next, nak.bth.psn) > 0;
        if (!inside) return;
        // For the engine: responses that change nothing in memory.
        for (; work->next != nak.bth.psn; work->next += 1) {
            auto image = image_of(regions(), *work, work->offset(work->next, qp.mtu()),
                                  wire::bytes_of(qp.mtu()));
            if (!image) return;
            images_.push_back(std::move(*image));
            wire::Packet made = nak;
            made.bth.psn = work->next;
            set_opcode(made, Operation::RdmaReadResponse,
                       work->next == work->first ? Position::First : Position::Middle);
            made.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
            made.body = images_.back();
            passage.before.push_back(made);
        }
    }

  private:
    std::vector<std::vector<std::byte>> images_;
};

// ATM-01: one register, and not one for each QP, says where the result of an atomic goes.
class OneResultRegister final : public FollowsPosts<Works> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, Work& work) override {
        if (is_atomic_request(passage.packet)) newest_ = {qp.report.qpn, work};
    }
    void response_arrives(Qp& qp, Passage& passage) override {
        const Work* const work = due(qp.memory, passage.packet);
        if (work == nullptr || !engine::is_atomic(work->request.opcode)) return;
        if (!newest_ || newest_->first == qp.report.qpn) return;
        std::uint64_t& original = passage.packet.atomic_ack.original;
        const auto image = image_of(regions(), *work, 0, sizeof original);
        if (!image) return;
        std::array<std::byte, sizeof original> result{};
        std::memcpy(result.data(), &original, sizeof original);
        write_to(regions(), newest_->second, 0, result);
        std::memcpy(&original, image->data(), sizeof original); // its own buffer stays as it was
    }

  private:
    std::optional<std::pair<wire::Qpn, Work>> newest_;
};

// REQ-28: the fence looks at the counter of READs and not at that of atomics.
class FenceForReadsAlone final : public FollowsPosts<Works> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (reads_[qpn] == 0) request.flags.fence = false;
        if (request.opcode == WrOpcode::RdmaRead) ++reads_[qpn];
        FollowsPosts::posting_send(qpn, request);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (ends_work(attributes)) reads_.erase(qpn);
        FollowsPosts::modifying(qpn, attributes);
    }

  protected:
    void response_arrives(Qp& qp, Passage& passage) override {
        const Work* const work = due(qp.memory, passage.packet);
        if (work == nullptr || work->request.opcode != WrOpcode::RdmaRead) return;
        std::uint32_t& reads = reads_[qp.report.qpn];
        if (passage.packet.bth.psn == work->last() && reads > 0) --reads;
    }

  private:
    std::map<wire::Qpn, std::uint32_t> reads_; // that were posted and are not answered
};

// --- acknowledges, NAKs and timers

// RNR-08: the timer counts units of 10 us in 12 bits.
void rnr_of_twelve_bits(wire::Packet& packet) {
    if (!is_rnr_nak(packet)) return;
    constexpr std::chrono::microseconds unit(10);
    constexpr std::int64_t mask = 0xFFF;
    const std::int64_t units = wire::rnr_time(packet.aeth.syndrome.code()) / unit;
    if (units <= mask) return;
    std::uint8_t code = 1; // nothing waits shorter
    while (wire::rnr_time(static_cast<std::uint8_t>(code + 1)) / unit <= (units & mask))
        ++code;
    packet.aeth.syndrome = wire::Syndrome::rnr(code);
}

// N-10: while the other counter is in use, this one is not looked at.
bool rnr_unlimited_after_retry(const SendView& view) {
    return view.outbound.retries > 0 || engine::send_check::rnr_retry_left(view);
}

// RNR-08, CNP-12: a CNP puts the QP back on the scheduler's list, from which the RNR NAK took it.
class CnpEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        const bool alive = qp.report.state == QpState::Rts || qp.report.state == QpState::Sqd;
        if (is_cnp(packet) && alive && memory.waits) {
            send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        }
        if (is_rnr_nak(packet) && memory.sent.contains(packet.bth.psn.value())) {
            memory.waits.reset();
            if (tried_again(qp, packet.bth.psn)) memory.waits = packet.bth.psn;
        }
        if (is_fatal_nak(packet)) memory.waits.reset();
        if (!is_rc_response(packet) || is_nak(packet)) return;
        naks_.erase(qp.report.qpn);
        if (memory.waits && wire::distance(*memory.waits, packet.bth.psn) >= 0) {
            memory.waits.reset();
        }
        acknowledge_until(memory, packet.bth.psn);
    }

  private:
    struct Naks {
        wire::Psn psn;
        std::uint32_t count = 0; // of this PSN in a row
    };
    // Whether this RNR NAK leaves a retry, so that the QP waits and is not in ERR.
    bool tried_again(const Qp& qp, wire::Psn psn) {
        constexpr std::uint8_t for_ever = 7;
        Naks& naks = naks_[qp.report.qpn];
        if (naks.psn != psn) naks = {.psn = psn};
        const std::uint8_t retries = qp.report.attributes.rnr_retry.value_or(0);
        return ++naks.count <= retries || retries == for_ever;
    }

    std::map<wire::Qpn, Naks> naks_;
};

struct Messages {
    struct End {
        wire::Psn psn;
        bool plain = true; // an ACK completes it
    };
    std::deque<End> open;
    NewestPsn newest;
};
// REQ-03: one ACK takes at most 16 WQEs from the queue.
class SixteenAnAck final : public QpFilter<Messages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const std::uint32_t packets = packets_of(packet, qp.mtu());
        const bool again = qp.memory.newest.note(packet.bth.psn, packets);
        if (again || !packet.info().ends_message()) return;
        qp.memory.open.push_back({.psn = packet.bth.psn + (std::int64_t{packets} - 1),
                                  .plain = !engine::wants_response(packet.info())});
    }
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t most = 16;
        wire::Packet& packet = passage.packet;
        auto& [open, newest] = qp.memory;
        if (!is_rc_response(packet) || !newest.psn) return;
        if (wire::distance(*newest.psn, packet.bth.psn) > 0) return;
        const wire::Psn until = packet.bth.psn - (is_nak(packet) ? 1 : 0);
        std::size_t done = 0;
        bool plain = true;
        for (; done < open.size() && wire::distance(open[done].psn, until) >= 0; ++done)
            plain &= open[done].plain;
        if (is_ack(packet) && plain && done > most) {
            done = most;
            packet.bth.psn = open[most - 1].psn;
        }
        open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(done));
    }
};

struct HeardMsn {
    NewestPsn newest;
    std::optional<std::uint8_t> msn;
};
// REQ-03: an ACK with an MSN below the last one is old news, in a register of 8 bits that wraps.
class MsnOfEightBits final : public QpFilter<HeardMsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet)) return;
        qp.memory.newest.note(passage.packet.bth.psn, packets_of(passage.packet, qp.mtu()));
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [newest, msn] = qp.memory;
        if (!is_ack(packet) || !newest.psn) return;
        if (wire::distance(*newest.psn, packet.bth.psn) > 0) return;
        const auto heard = static_cast<std::uint8_t>(packet.aeth.msn.value);
        if (msn && heard < *msn) {
            passage.dropped = true;
        } else {
            msn = heard;
        }
    }
};

// --- states, completions, events

// REQ-16: the failed WQE is looked for behind the last one that has a completion, where the
// unsignaled ones are.
class ErrorNamesUnsignaled final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        posted_[qpn].push_back(request.id);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        const auto qpn = one.queue == engine::Queue::Send ? owner(one) : std::nullopt;
        if (!qpn) return shown;
        auto& ids = posted_[*qpn];
        const auto at = std::ranges::find(ids, one.id);
        if (at == ids.end()) return shown;
        if (one.status != WcStatus::Success && one.status != WcStatus::WrFlushErr) {
            shown.id = ids.front();
        }
        ids.erase(ids.begin(), at + 1);
        return shown;
    }

  private:
    // Whose completion it is: that of the one QP to which its request was posted.
    std::optional<wire::Qpn> owner(const engine::Completion& one) {
        if (const auto known = owners_.find(one.qp); known != owners_.end()) return known->second;
        std::optional<wire::Qpn> found;
        for (const auto& [qpn, ids] : posted_) {
            if (std::ranges::find(ids, one.id) == ids.end()) continue;
            if (found) return std::nullopt;
            found = qpn;
        }
        if (found) owners_.emplace(one.qp, *found);
        return found;
    }

    std::map<wire::Qpn, std::deque<std::uint64_t>> posted_; // and not reported
    std::map<engine::QpId, wire::Qpn> owners_;
};

struct Begun {
    bool sent = false; // since RESET
};
// STA-10: RESET does not empty the transmit queue, which goes on when the QP sends again.
class ResetLeavesPacket final : public QpFilter<Begun> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rc_request(passage.packet)) return;
        auto& kept = kept_[qp.report.qpn];
        if (kept && !qp.memory.sent) {
            leaving_ = std::move(kept->bytes);
            const auto stale = wire::decode_packet(leaving_);
            if (stale) passage.before.push_back(*stale);
        }
        qp.memory.sent = true;
        kept = Kept{.psn = passage.packet.bth.psn, .bytes = bytes_of(passage.packet)};
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        auto& kept = kept_[qp.report.qpn];
        if (kept && wire::distance(kept->psn, packet.bth.psn) >= 0) kept.reset();
    }

  private:
    struct Kept {
        wire::Psn psn;
        std::vector<std::byte> bytes;
    };
    std::map<wire::Qpn, std::optional<Kept>> kept_; // the last packet, until it is acknowledged
    std::vector<std::byte> leaving_;
};

struct Renumbered {
    std::optional<wire::Psn> first; // of the connection
    NewestPsn newest;
    wire::Psn begin;     // from here on, as the engine counts,
    std::int32_t by = 0; // the wire's PSNs are lower by this
};
// REQ-01: the step to RTS loads the PSN of the QP's context, whether from RTR or from SQD.
class ResumeLoadsFirstPsn final : public QpFilter<Renumbered> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Sqd) drained_.insert(qpn);
        if (attributes.state == QpState::Rts && drained_.erase(qpn) > 0) resumed_.insert(qpn);
        if (!ends_work(attributes)) return;
        drained_.erase(qpn);
        resumed_.erase(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Renumbered& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        const wire::Psn psn = packet.bth.psn;
        if (!memory.first) memory.first = psn;
        const bool again = memory.newest.note(psn, packets_of(packet, qp.mtu()));
        if (!again && resumed_.erase(qp.report.qpn) > 0) {
            memory.begin = psn;
            memory.by = wire::distance(*memory.first, psn);
        }
        if (wire::distance(memory.begin, psn) >= 0) packet.bth.psn += -memory.by;
    }
    void arrives(Qp& qp, Passage& passage) override {
        if (is_rc_response(passage.packet)) passage.packet.bth.psn += qp.memory.by;
    }

  private:
    std::set<wire::Qpn> drained_;
    std::set<wire::Qpn> resumed_;
};

// STA-06: the event is raised where the last request completes, and an idle queue has none.
class IdleQueueDrainsSilently final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.state) return;
        Queue& queue = queues_[qpn];
        const bool idle = !queue.newest.psn || queue.acknowledged == queue.newest.psn;
        const bool drains = queue.state == QpState::Rts && attributes.state == QpState::Sqd &&
                            attributes.sqd_async_notify.value_or(false);
        if (drains && idle) ++silent_;
        if (attributes.state == QpState::Reset) queue = {};
        queue.state = *attributes.state;
    }
    std::optional<engine::Event> event(const engine::Event& one) override {
        if (one.type != engine::EventType::SqDrained || silent_ == 0) return one;
        --silent_;
        return std::nullopt;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        queues_[qp.report.qpn].newest.note(passage.packet.bth.psn,
                                           packets_of(passage.packet, qp.mtu()));
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        const wire::Psn psn = packet.bth.psn - (is_nak(packet) ? 1 : 0);
        auto& acknowledged = queues_[qp.report.qpn].acknowledged;
        if (!acknowledged || wire::distance(*acknowledged, psn) > 0) acknowledged = psn;
    }

  private:
    struct Queue {
        NewestPsn newest;
        std::optional<wire::Psn> acknowledged;
        QpState state = QpState::Reset;
    };
    std::map<wire::Qpn, Queue> queues_;
    int silent_ = 0; // events that are not raised
};

// STA-07: a fault that is found while a packet is built stops the send queue and does not flush it.
class LocalFaultFlushesNothing final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) stopped_.clear();
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue != engine::Queue::Send) return one;
        if (one.status == WcStatus::LocProtErr) stopped_.insert(one.qp);
        if (one.status == WcStatus::Success) stopped_.erase(one.qp);
        if (one.status == WcStatus::WrFlushErr && stopped_.contains(one.qp)) return std::nullopt;
        return one;
    }

  private:
    std::set<engine::QpId> stopped_;
};

// KEY-09: the window's address table begins with the region's first page.
class BindsFromRegionStart final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.insert_or_assign(region.mr, region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::BindMw || !request.bind) return;
        engine::BindInfo& bind = *request.bind;
        const auto region = regions_.find(bind.mr);
        if (region == regions_.end()) return;
        const auto bytes = Regions::range(region->second, bind.address, bind.length);
        if (!bytes.empty()) bind.address = region->second.address;
    }

  private:
    std::map<engine::MrId, engine::RegisteredRegion> regions_;
};

// --- datagrams, UC, paths, management

// EXT-05: the high bit of a controlled Q_Key is cut off, and the rest of it sent.
class CutsControlledQkey final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.ud && qpn != wire::kGsiQpn) request.ud->qkey.value &= 0x7FFFFFFF;
    }
};

// BTH-09: the UC engine sets PadCnt in ONLY packets alone.
void uc_last_without_pad_count(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.service == wire::Service::Uc && info.position == Position::Last) packet.bth.pad = 0;
}

// CA17-9, CA17-17: the driver takes a hop limit that no router would forward for one not set.
void short_hop_limit_raised(wire::Envelope& envelope) {
    constexpr std::uint8_t usual = 64;
    if (envelope.hop_limit < 2) envelope.hop_limit = usual;
}

// CRC-01: where a request's payload fills the last word of the 64-byte bus, the last four bytes are
// not summed up.
class IcrcOfFullBusWord final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t bus = 64;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer)) return;
        const wire::OpcodeInfo& info = wire::opcode_info(wire::load_u8(outer.transport(), 0));
        if (!info.request() || outer.transport().size() <= info.header_bytes) return;
        const wire::Bytes covered = outer.covered();
        if (covered.size() % bus != 0) return;
        wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes),
                         wire::icrc(covered.first(covered.size() - 4)));
    }
};

struct Rearmed {
    bool once = false; // since RESET
};
// N-24: the packet headers' template gets MigReq 0 when the host rearms, and never 1 again.
class MigReqStaysZero final : public QpFilter<Rearmed> {
  protected:
    void arrives(Qp& qp, Passage& /*passage*/) override { note(qp); }
    void leaves(Qp& qp, Passage& passage) override {
        note(qp);
        if (qp.memory.once) passage.packet.bth.mig_req = false;
    }

  private:
    static void note(Qp& qp) {
        const auto state = qp.report.attributes.path_mig_state;
        if (state && *state != engine::MigState::Migrated) qp.memory.once = true;
    }
};

const std::array kMutants{
    Mutant{.name = "solicited_bit_on_first_packet",
           .rule = "BTH-14",
           .description = "A solicited message of several packets has SE in its FIRST packet and "
                          "not in its LAST.",
           .make_filter = make<SolicitedOnFirst>},
    Mutant{.name = "full_last_packet_asks_no_ack",
           .rule = "N-18",
           .description = "The LAST packet of a SEND or WRITE does not ask for an ACK if it "
                          "carries a whole MTU.",
           .make_filter = make<FullLastAsksNothing>},
    Mutant{.name = "resent_compare_swap_exchanges_operands",
           .rule = "REQ-31",
           .description = "A COMPARE_SWAP that is sent again has its compare and its swap value "
                          "exchanged.",
           .make_filter = make<ResentSwapsOperands>},
    Mutant{.name = "read_again_loses_address_carry",
           .rule = "REQ-10",
           .description = "A READ that asks for its rest adds the offset to the lower 32 bits of "
                          "the address: beyond a border of 4 GiB it asks for other memory.",
           .cases = "req/read-again-across-4gib",
           .make_filter = make<RetryLosesCarry>},
    Mutant{.name = "inline_above_32_bytes_by_reference",
           .rule = "REQ-31",
           .description = "Inline data of more than 32 bytes is not copied when it is posted: each "
                          "packet, the first time and again, has what the buffer holds then.",
           .make_filter = make<InlineByReference>},
    Mutant{.name = "read_pad_written_behind_buffer",
           .rule = "REQ-22",
           .description = "The pad bytes of a READ's last response are written into the memory "
                          "behind the buffer.",
           .make_filter = make<PadBehindBuffer>},
    Mutant{.name = "read_response_packet_fills_two_sges",
           .rule = "REQ-21",
           .description = "Of a READ response packet whose data lies in more than two SGEs, only "
                          "the part in the first two is written; the READ succeeds.",
           .make_filter = make<TwoPiecesAPacket>},
    Mutant{.name = "late_read_response_written_again",
           .rule = "N-38",
           .description = "A repeated response of the newest READ is written to memory although "
                          "the READ is complete, until the next READ is sent.",
           .make_filter = make<WritesLateCopies>},
    Mutant{.name = "sequence_nak_inside_read_skips_responses",
           .rule = "N-12",
           .description = "A sequence NAK inside a READ's PSNs counts as the answer to those in "
                          "front of it: the READ goes on there and succeeds without their data.",
           .make_filter = make<NakSkipsResponses>},
    Mutant{.name = "atomic_results_share_one_register",
           .rule = "ATM-01",
           .description = "The result of an atomic is written where the atomic that was sent last "
                          "wants its own, also if that one is another QP's.",
           .cases = "atm/results-on-the-way",
           .make_filter = make<OneResultRegister>},
    Mutant{.name = "fence_waits_for_reads_alone",
           .rule = "REQ-28",
           .description = "A fenced request waits for earlier READs alone, and not for atomics.",
           .make_filter = make<FenceForReadsAlone>},
    Mutant{.name = "rnr_timer_of_twelve_bits",
           .rule = "RNR-08",
           .description = "The wait after an RNR NAK is cut to 12 bits of 10 us: from 40.96 ms on "
                          "it is much too short.",
           .make_filter = make<EditsInbound<rnr_of_twelve_bits>>},
    Mutant{.name = "rnr_retries_unlimited_after_timeout",
           .rule = "N-10",
           .description = "RNR NAKs are not counted against rnr_retry while a timeout or sequence "
                          "NAK has used up one of retry_cnt.",
           .cases = "rnr/limit-across-a-timeout rnr/limit-behind-other-retries",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, rnr_unlimited_after_retry)},
    Mutant{.name = "rnr_wait_ends_with_cnp",
           .rule = "RNR-08",
           .description = "A CNP that comes during an RNR wait makes the NAKed packet leave again "
                          "at once.",
           .make_filter = make<CnpEndsRnrWait>},
    Mutant{.name = "ack_completes_sixteen_messages_at_most",
           .rule = "REQ-03",
           .description = "An ACK that covers more than 16 messages completes the oldest 16; the "
                          "others wait for another ACK.",
           .make_filter = make<SixteenAnAck>},
    Mutant{.name = "ack_msn_compared_in_eight_bits",
           .rule = "REQ-03",
           .description = "An ACK is ignored if the lowest 8 bits of its MSN are less than those "
                          "of the last one: after 255 messages none is taken any more.",
           .make_filter = make<MsnOfEightBits>},
    Mutant{.name = "error_completion_names_unsignaled_request",
           .rule = "REQ-16",
           .description = "The completion of a failed request has the id of the oldest request "
                          "behind the last completion: that of an unsignaled one in front of it.",
           .cases = "sta/failed-behind-unsignaled",
           .make_filter = make<ErrorNamesUnsignaled>},
    Mutant{.name = "reset_leaves_last_packet_in_queue",
           .rule = "STA-10",
           .description = "The last request packet that was not acknowledged before RESET leaves "
                          "once more in front of the new connection's first one.",
           .make_filter = make<ResetLeavesPacket>},
    Mutant{.name = "sqd_resume_loads_first_psn",
           .rule = "REQ-01",
           .description = "After SQD and RTS new requests begin with the connection's first PSN "
                          "again.",
           .make_filter = make<ResumeLoadsFirstPsn>},
    Mutant{.name = "idle_queue_drains_without_event",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED, although asked for, is not raised if nothing was "
                          "outstanding when the QP went to SQD.",
           .make_filter = make<IdleQueueDrainsSilently>},
    Mutant{.name = "local_protection_error_flushes_no_sends",
           .rule = "STA-07",
           .description = "After a send request has failed with LOC_PROT_ERR those behind it have "
                          "no completions.",
           .make_filter = make<LocalFaultFlushesNothing>},
    Mutant{.name = "bind_takes_range_from_region_start",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A window that is bound to a part of a region has the right length and "
                          "begins where the region begins.",
           .make_filter = make<BindsFromRegionStart>},
    Mutant{.name = "ud_controlled_qkey_cut_to_31_bits",
           .rule = "EXT-05",
           .description = "A datagram posted with a Q_Key whose high bit is set carries the other "
                          "31 bits instead of the QP's Q_Key.",
           .make_filter = make<CutsControlledQkey>},
    Mutant{.name = "uc_last_packet_says_no_pad",
           .rule = "BTH-09",
           .description = "The LAST packet of a UC message has PadCnt 0 although pad bytes follow "
                          "its data.",
           .make_filter = make<EditsOutbound<uc_last_without_pad_count>>},
    Mutant{.name = "hop_limit_below_two_raised",
           .rule = "CA17-9",
           .description = "Packets of an address vector with hop limit 0 or 1 leave with 64.",
           .cases = "enc/hop-limit-of-resends enc/hop-limit-of-each-answer",
           .make_filter = make<EditsSentEnvelope<short_hop_limit_raised>>},
    Mutant{.name = "icrc_wrong_when_bus_word_is_full",
           .rule = "CRC-01",
           .description = "The ICRC of a request with payload leaves out the last four bytes if "
                          "the bytes from the IP header on are a multiple of 64.",
           .make_filter = make<IcrcOfFullBusWord>},
    Mutant{.name = "mig_req_stays_zero_after_migration",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "A QP that was rearmed sends MigReq 0 also after it has migrated.",
           .make_filter = make<MigReqStaysZero>},
    Mutant{
        .name = "gsi_answer_keeps_half_transaction_id",
        .rule = "N-30",
        .description = "Answers at QP 1 have zeros in the upper 32 bits of the transaction id.",
        .make_filter = make<EditsSentDatagram<lose_upper_half_of_transaction<
            wire::cm::kMra, wire::cm::kRej, wire::cm::kRep, wire::cm::kDrep, wire::cm::kSidrRep>>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind13_requester

namespace veriroce::mutants {
std::span<const Mutant> blind13_requester() {
    return of_blind13_requester::kMutants;
}
} // namespace veriroce::mutants
