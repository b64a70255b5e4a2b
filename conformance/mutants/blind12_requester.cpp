// Written blind, twelfth sample: requesters and their hosts. More than half of these defects show
// only in a particular situation.
#include <cstring>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management.hpp"

namespace veriroce::mutants::of_blind12_requester {
namespace {

using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

std::uint32_t psns_of(const wire::Packet& request, wire::Mtu mtu) {
    return is_read_request(request) ? wire::packets_of(request.reth.dma_length, mtu) : 1;
}

// --- checks

// A try that brings data is counted when it is sent, not when it is sent again.
bool reads_tried_once_less(const SendView& view) {
    const std::uint32_t first = engine::wants_response(view.request.opcode) ? 1 : 0;
    return view.outbound.retries + first < view.connection.retry_count;
}

// There is one count of tries, and each cause compares it with its own limit.
bool rnr_counted_with_timeouts(const SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    return view.connection.rnr_retry == for_ever ||
           view.outbound.rnr_retries + view.outbound.retries < view.connection.rnr_retry;
}

// READs and atomics have a queue of their own, which looks at its limit and at nothing else.
bool fence_not_for_reads(const SendView& view) {
    return engine::wants_response(view.request.opcode) || engine::send_check::fence(view);
}

// PSNs are compared as numbers.
ResponseVerdict smaller_psn_is_old(const ResponseView& view) {
    const auto verdict = engine::response_check::window(view);
    const bool smaller = view.packet.bth.psn.value() < view.outbound.unacked_psn.value();
    return smaller ? ResponseVerdict::Drop : verdict;
}

// --- requests

// An element of zero bytes marks the end of a list.
class EmptySgeEndsList final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        const bool sends =
            request.opcode == WrOpcode::RdmaWrite || engine::takes_receive(request.opcode);
        if (!sends) return;
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(empty - request.sges.begin()));
    }
};

struct Solicits : Outgoing {
    bool asked = false;           // the newest message did
    std::set<std::uint32_t> kept; // PSNs of WRITEs that have the bit of the message before
};

// The bit is part of the send context, which a plain WRITE does not load.
class SolicitedKeptForWrite final : public FollowsRequests<Solicits> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        Solicits& memory = qp.memory;
        const wire::OpcodeInfo& info = packet.info();
        if (!info.ends_message()) return;
        if (again) {
            if (memory.kept.contains(packet.bth.psn.value())) packet.bth.solicited = true;
            return;
        }
        const bool before = std::exchange(memory.asked, packet.bth.solicited);
        memory.kept.erase(packet.bth.psn.value());
        if (!before || info.operation != Operation::RdmaWrite || info.immediate()) return;
        packet.bth.solicited = true;
        memory.kept.insert(packet.bth.psn.value());
    }
};

// How many bytes the last word has, and not how many it lacks.
void ud_pad_is_length_of_last_word(wire::Packet& packet) {
    constexpr std::size_t word = 4;
    if (packet.info().service != wire::Service::Ud) return;
    packet.bth.pad = static_cast<std::uint8_t>(packet.payload().size() % word);
}

struct Behind {
    std::int64_t by = 0; // PSNs
};

// A PSN is taken where bytes are read: an empty message reads no bytes.
class EmptyUcMessageTakesNoPsn final : public QpFilter<Behind> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != wire::Service::Uc || !info.request()) return;
        packet.bth.psn += -qp.memory.by;
        if (info.position == Position::Only && packet.payload().empty()) ++qp.memory.by;
    }
};

struct AsksForAcks {
    NewestPsn newest;
    bool asked = false; // the packet before, of the same message
};

// One request for an ACK is on its way.
class LastBehindAckRequestAsksNone final : public QpFilter<AsksForAcks> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        AsksForAcks& memory = qp.memory;
        const wire::OpcodeInfo& info = packet.info();
        const bool again = memory.newest.note(packet.bth.psn, psns_of(packet, qp.mtu()));
        const bool before =
            std::exchange(memory.asked, packet.bth.ack_request && !info.ends_message());
        if (!again && before && info.position == Position::Last) packet.bth.ack_request = false;
    }
};

struct AnnouncedLengths {
    NewestPsn newest;
    std::uint32_t length = 0;                     // of the newest WRITE that has bytes
    std::map<std::uint32_t, std::uint32_t> stale; // by the PSN of one that has none
};

// The length register is written where there are pieces to add up.
class EmptyWriteAnnouncesLastLength final : public QpFilter<AnnouncedLengths> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        AnnouncedLengths& memory = qp.memory;
        const wire::OpcodeInfo& info = packet.info();
        const bool again = memory.newest.note(packet.bth.psn, psns_of(packet, qp.mtu()));
        if (info.operation != Operation::RdmaWrite || !info.starts_message()) return;
        const bool empty = info.position == Position::Only && packet.payload().empty();
        if (!empty) {
            if (!again) memory.length = packet.reth.dma_length;
            return;
        }
        std::uint32_t& length = memory.stale[packet.bth.psn.value()];
        if (!again) length = memory.length;
        packet.reth.dma_length = length;
    }
};

struct Bodies {
    struct Body {
        wire::Psn psn;
        std::vector<std::byte> bytes;
    };
    NewestPsn newest;
    std::optional<wire::Psn> previous; // the PSN that the packet before ended with
    std::deque<Body> sent;
};

// The way back is computed to the packet, and the place in memory to the one before.
class ResentMiddleHasBytesBefore final : public QpFilter<Bodies> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 1100; // more than a requester has on its way
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        Bodies& memory = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        const std::int64_t packets = psns_of(packet, qp.mtu());
        const bool again = memory.newest.note(psn, static_cast<std::uint32_t>(packets));
        const auto previous = std::exchange(memory.previous, psn + (packets - 1));
        if (!again) {
            memory.sent.push_back({.psn = psn, .bytes = {packet.body.begin(), packet.body.end()}});
            if (memory.sent.size() > kept) memory.sent.pop_front();
            return;
        }
        const bool begins = previous && *previous + 1 != psn;
        if (!begins || packet.info().position != Position::Middle) return;
        const auto before = std::ranges::find(memory.sent, psn - 1, &Bodies::Body::psn);
        if (before != memory.sent.end()) packet.body = before->bytes;
    }
};

// --- READs

struct SentRead {
    wire::Psn first;
    std::uint32_t packets = 1;
    wire::Reth reth; // as it was sent first

    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t offset = wire::distance(first, psn);
        return offset >= 0 && static_cast<std::uint32_t>(offset) < packets;
    }
    [[nodiscard]] wire::Psn last() const { return first + (std::int64_t{packets} - 1); }
};

struct SentReads {
    NewestPsn newest;
    std::deque<SentRead> reads;

    struct Noted {
        bool fresh = false;            // a READ that was not sent before
        std::optional<SentRead> whole; // the READ of which the request asks for the rest
    };
    // Notes a request that leaves.
    Noted note(const wire::Packet& request, wire::Mtu mtu) {
        constexpr std::size_t kept = 64;
        const wire::Psn psn = request.bth.psn;
        const std::uint32_t packets = psns_of(request, mtu);
        const bool again = newest.note(psn, packets);
        if (!is_read_request(request)) return {};
        if (!again) {
            reads.push_back({.first = psn, .packets = packets, .reth = request.reth});
            if (reads.size() > kept) reads.pop_front();
            return {.fresh = true, .whole = {}};
        }
        for (const SentRead& read : reads) {
            if (read.holds(psn) && read.first != psn) return {.fresh = false, .whole = read};
        }
        return {};
    }
};

// How far a PSN lies behind the first one is negative there, and taken for nothing.
class ReadBehindWrapFromBegin final : public QpFilter<SentReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        const auto whole = qp.memory.note(packet, qp.mtu()).whole;
        if (whole && packet.bth.psn.value() < whole->first.value()) packet.reth = whole->reth;
    }
};

struct EmptyReads {
    NewestPsn newest;            // as the engine counts
    std::int64_t forgotten = 0;  // READs of zero bytes that are long behind
    std::deque<wire::Psn> empty; // the others

    // How many PSNs this one is too high on the wire.
    [[nodiscard]] std::int64_t before(wire::Psn psn) const {
        return forgotten + std::ranges::count_if(empty, [psn](wire::Psn read) {
                   return wire::distance(read, psn) > 0;
               });
    }
};

// The responses of a READ are its bytes by the MTU, rounded up.
class EmptyReadTakesNoPsn final : public QpFilter<EmptyReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 64;
        wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        EmptyReads& memory = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        const bool again = memory.newest.note(psn, psns_of(packet, qp.mtu()));
        packet.bth.psn += -memory.before(psn);
        if (again || !is_read_request(packet) || packet.reth.dma_length != 0) return;
        memory.empty.push_back(psn);
        if (memory.empty.size() <= kept) return;
        memory.empty.pop_front();
        ++memory.forgotten;
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet)) return;
        const EmptyReads& memory = qp.memory;
        const wire::Psn told = packet.bth.psn;
        const bool answers_empty = is_read_response(packet) && packet.payload().empty();
        std::int64_t by = memory.forgotten;
        // A READ of zero bytes and the request behind it have the same PSN.
        const std::int64_t most = by + static_cast<std::int64_t>(memory.empty.size());
        bool found = false;
        for (std::int64_t more = by; more <= most; ++more) {
            if (memory.before(told + more) != more) continue;
            if (found && answers_empty) break;
            by = more;
            found = true;
        }
        packet.bth.psn += by;
    }
};

struct PostedRead {
    std::uint64_t id = 0;
    std::uint64_t length = 0;
    std::uint64_t remote_address = 0;
    wire::Rkey rkey;
    std::vector<engine::Sge> sges;
};

// A filter that knows which READ of the host's a READ request is.
template <typename Memory>
class KnowsPostedReads : public DmaFilter<Memory> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) final {
        if (request.opcode != WrOpcode::RdmaRead) return;
        PostedRead read{.id = request.id,
                        .length = 0,
                        .remote_address = request.remote_address,
                        .rkey = request.rkey,
                        .sges = {request.sges.begin(), request.sges.end()}};
        for (const engine::Sge& piece : request.sges)
            read.length += piece.length;
        posted_[qpn].push_back(std::move(read));
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) final {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    // Those that were posted before it are done or were refused.
    std::optional<PostedRead> take(wire::Qpn qpn, const wire::Reth& reth) {
        auto& queue = posted_[qpn];
        const auto found = std::ranges::find_if(queue, [&](const PostedRead& read) {
            return read.remote_address == reth.virtual_address && read.rkey == reth.rkey &&
                   read.length == reth.dma_length;
        });
        if (found == queue.end()) return std::nullopt;
        std::optional<PostedRead> read = std::move(*found);
        queue.erase(queue.begin(), found + 1);
        return read;
    }

  private:
    std::map<wire::Qpn, std::deque<PostedRead>> posted_;
};

struct Scattered {
    SentRead read;
    std::vector<engine::Sge> sges;
    wire::Psn expected; // response; behind the last one: all came
};
struct ScatteredReads {
    SentReads sent;
    std::deque<Scattered> reads;
};

// Where a response goes is known for a while longer than that it is awaited.
class LateReadDataWritten final : public KnowsPostedReads<ScatteredReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 16;
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        ScatteredReads& memory = qp.memory;
        if (!memory.sent.note(packet, qp.mtu()).fresh) return;
        auto posted = take(qp.report.qpn, packet.reth);
        if (!posted) return;
        memory.reads.push_back({.read = memory.sent.reads.back(),
                                .sges = std::move(posted->sges),
                                .expected = packet.bth.psn});
        if (memory.reads.size() > kept) memory.reads.pop_front();
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const auto& path = qp.report.attributes.address;
        const bool from_peer = path && path->destination == passage.envelope.source;
        const bool awake = qp.report.state == QpState::Rts || qp.report.state == QpState::Sqd;
        if (!is_rc_response(packet) || !is_read_response(packet) || !from_peer || !awake) return;
        for (Scattered& one : qp.memory.reads) {
            const bool complete = one.expected == one.read.last() + 1;
            if (one.read.holds(packet.bth.psn)) {
                const std::uint64_t full = wire::bytes_of(qp.mtu());
                const auto place =
                    static_cast<std::uint64_t>(wire::distance(one.read.first, packet.bth.psn));
                const std::uint64_t due =
                    std::min<std::uint64_t>(full, one.read.reth.dma_length - place * full);
                if (packet.payload().size() != due) return;
                if (complete) {
                    write(one, place * full, packet.payload());
                } else if (one.expected == packet.bth.psn) {
                    one.expected += 1;
                }
                return;
            }
            if (!complete) return; // one behind it is of no use yet (REQ-08)
        }
    }

  private:
    void write(const Scattered& one, std::uint64_t offset, wire::Bytes bytes) const {
        for (const engine::Sge& piece : one.sges) {
            if (bytes.empty()) return;
            if (offset >= piece.length) {
                offset -= piece.length;
                continue;
            }
            const std::size_t length = std::min<std::size_t>(piece.length - offset, bytes.size());
            const auto memory = regions().anywhere(piece.address + offset, length);
            if (memory.size() < length) return;
            std::memcpy(memory.data(), bytes.data(), length);
            bytes = bytes.subspan(length);
            offset = 0;
        }
    }
};

struct CountedReads {
    SentReads sent;
    std::map<std::uint32_t, PostedRead> posted; // by first PSN
};

// The length of the request that was sent last is what the completion tells.
class ReadCompletesWithRest final : public KnowsPostedReads<CountedReads> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.queue != engine::Queue::Send) return completion;
        const auto rest = rests_.find(completion.id);
        if (rest == rests_.end()) return completion;
        const Rest told = rest->second;
        engine::Completion shown = completion;
        const bool read = completion.status == WcStatus::Success &&
                          completion.opcode == WcOpcode::RdmaRead &&
                          completion.byte_len == told.whole;
        if (read) shown.byte_len = told.rest;
        if (read || completion.status != WcStatus::Success) rests_.erase(rest);
        return shown;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 64;
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        CountedReads& memory = qp.memory;
        const auto noted = memory.sent.note(packet, qp.mtu());
        if (noted.fresh) {
            const auto posted = take(qp.report.qpn, packet.reth);
            if (memory.posted.size() > kept) memory.posted.clear();
            memory.posted.erase(packet.bth.psn.value());
            if (posted) {
                rests_.erase(posted->id);
                memory.posted.emplace(packet.bth.psn.value(), *posted);
            }
        }
        if (!noted.whole) return;
        const auto posted = memory.posted.find(noted.whole->first.value());
        if (posted == memory.posted.end()) return;
        rests_.insert_or_assign(posted->second.id, Rest{.whole = noted.whole->reth.dma_length,
                                                        .rest = packet.reth.dma_length});
    }

  private:
    struct Rest {
        std::uint32_t whole = 0;
        std::uint32_t rest = 0;
    };
    std::map<std::uint64_t, Rest> rests_; // by wr_id
};

// --- atomics

struct SentAtomics {
    NewestPsn newest;
    std::deque<wire::Psn> atomics; // that were not answered, as far as arrivals tell

    // Returns whether it is an atomic that was not sent before.
    bool note(const wire::Packet& request, wire::Mtu mtu) {
        const bool again = newest.note(request.bth.psn, psns_of(request, mtu));
        if (again || !is_atomic_request(request)) return false;
        atomics.push_back(request.bth.psn);
        return true;
    }
    void answer(wire::Psn psn) { std::erase(atomics, psn); }
};

// An ACK completes whatever is before it, except READs, which have a count of bytes.
class AckCompletesAtomic final : public QpFilter<SentAtomics> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rc_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SentAtomics& memory = qp.memory;
        if (packet.info().operation == Operation::AtomicAcknowledge) {
            memory.answer(packet.bth.psn);
        }
        const bool sent =
            memory.newest.psn && wire::distance(packet.bth.psn, *memory.newest.psn) >= 0;
        if (!is_ack(packet) || !sent) return;
        while (!memory.atomics.empty() &&
               wire::distance(memory.atomics.front(), packet.bth.psn) > 0) {
            wire::Packet answer = packet;
            answer.bth.psn = memory.atomics.front();
            set_opcode(answer, Operation::AtomicAcknowledge, Position::Only);
            answer.atomic_ack.original = 0;
            passage.before.push_back(answer);
            memory.atomics.pop_front();
        }
    }
};

// The table of statuses has a row for each opcode, and this one was copied from the row above.
class AtomicAccessErrorIsInvalid final : public QpFilter<SentAtomics> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rc_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        SentAtomics& memory = qp.memory;
        if (packet.info().operation == Operation::AtomicAcknowledge) {
            memory.answer(packet.bth.psn);
        }
        const bool of_atomic =
            std::ranges::find(memory.atomics, packet.bth.psn) != memory.atomics.end();
        if (!of_atomic || !is_fatal_nak(packet)) return;
        wire::Syndrome& syndrome = packet.aeth.syndrome;
        if (syndrome.nak_code() == wire::NakCode::RemoteAccess) {
            syndrome = wire::Syndrome::nak(wire::NakCode::InvalidRequest);
        }
    }
};

// --- acknowledges, RNR NAKs

// Any ACK takes the QP off the list of those that wait.
class GhostAckEndsRnrWait final : public KeepsCopies {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) naked_.erase(qpn);
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || !awake(qp)) return;
        Copies& memory = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        if (is_rnr_nak(packet)) {
            if (!memory.sent.contains(psn.value())) return;
            acknowledge_until(memory, psn - 1);
            if (may_wait(qp, psn)) memory.waits = psn;
            return;
        }
        if (is_nak(packet)) return;
        if (is_ack(packet) && memory.waits && wire::distance(psn, *memory.waits) > 0) {
            send_again(memory, *std::exchange(memory.waits, std::nullopt), passage);
            return;
        }
        acknowledge_until(memory, psn);
        if (memory.waits && wire::distance(*memory.waits, psn) >= 0) memory.waits.reset();
    }

  private:
    struct Naked {
        std::optional<wire::Psn> psn;
        std::uint32_t times = 0; // in a row
    };
    static bool awake(const Qp& qp) {
        return qp.report.state == QpState::Rts || qp.report.state == QpState::Sqd;
    }
    // Whether the QP waits and does not end (RNR-09).
    bool may_wait(const Qp& qp, wire::Psn psn) {
        constexpr std::uint8_t for_ever = 7;
        Naked& naked = naked_[qp.report.qpn];
        if (naked.psn != psn) naked = {.psn = psn, .times = 0};
        ++naked.times;
        const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(0);
        return most == for_ever || naked.times <= most;
    }

    std::map<wire::Qpn, Naked> naked_;
};

// The end of the window is the next PSN, and belongs to it.
class AckOfNextPsnTaken final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto newest = qp.memory.sent.psn;
        if (is_ack(packet) && newest && packet.bth.psn == *newest + 1) packet.bth.psn = *newest;
    }
};

// --- states, events, completions

// The flag that the event was raised is cleared where a QP is made.
class DrainedToldOnce final : public SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained || !event.qp) return event;
        return told_.insert(*event.qp).second ? std::optional(event) : std::nullopt;
    }

  private:
    std::set<engine::QpId> told_;
};

// A change reaches the part that sends only with a change of state.
class RdAtomicInSqdIgnored final : public SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        states_.erase(qpn);
        asked_.erase(qpn);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) asked_.erase(qpn);
        if (!attributes.max_rd_atomic) return;
        asked_.erase(qpn);
        const auto state = states_.find(qpn);
        if (state == states_.end() || state->second != QpState::Sqd) return;
        asked_.emplace(qpn, *attributes.max_rd_atomic);
        attributes.max_rd_atomic.reset();
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end()) report.attributes.max_rd_atomic = asked->second;
    }

  private:
    std::map<wire::Qpn, QpState> states_;
    std::map<wire::Qpn, std::uint8_t> asked_;
};

// What an error has stopped keeps its place, for whoever looks at it later.
class PsnKeptThroughError final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Err) stopped_.insert(qpn);
        if (attributes.state != QpState::Rts || !attributes.sq_psn) return;
        const auto newest = newest_.find(qpn);
        if (newest == newest_.end()) return;
        if (stopped_.erase(qpn) != 0 && newest->second.psn) {
            attributes.sq_psn = *newest->second.psn + 1;
        }
        newest_.erase(newest);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        newest_[qp.report.qpn].note(packet.bth.psn, psns_of(packet, qp.mtu()));
    }

  private:
    std::set<wire::Qpn> stopped_;           // by the host
    std::map<wire::Qpn, NewestPsn> newest_; // of the connection
};

struct FirstSolicits {
    bool solicited = false; // the newest message's first packet
};

// The bit is put into the context of a message where that is made.
void take_solicited_of_first(FirstSolicits& memory, wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (!info.request()) return;
    if (info.starts_message()) memory.solicited = packet.bth.solicited;
    if (info.position == Position::Last) packet.bth.solicited = memory.solicited;
}

class SolicitedOfFirstCounts final : public QpFilter<FirstSolicits> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        take_solicited_of_first(qp.memory, passage.packet);
    }
};

// Whether a completion is wanted is asked before how the request ended.
class UnsignaledFlushedInSilence final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.flags.signaled) {
            unsignaled_.erase(request.id);
        } else {
            unsignaled_.insert(request.id);
        }
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool hidden = completion.queue == engine::Queue::Send &&
                            completion.status == WcStatus::WrFlushErr &&
                            unsignaled_.erase(completion.id) != 0;
        return hidden ? std::nullopt : std::optional(completion);
    }

  private:
    std::set<std::uint64_t> unsignaled_; // wr_ids
};

// --- windows, QP 1

// The table of pages ends with the region, and so does the window.
class BindCutToRegion final : public SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.insert_or_assign(region.mr, region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::BindMw || !request.bind) return;
        engine::BindInfo& bind = *request.bind;
        const auto found = regions_.find(bind.mr);
        if (found == regions_.end() || bind.address < found->second.address) return;
        const std::uint64_t offset = bind.address - found->second.address;
        const std::uint64_t size = found->second.memory.size();
        if (offset < size) bind.length = std::min(bind.length, size - offset);
    }

  private:
    std::map<engine::MrId, engine::RegisteredRegion> regions_;
};

constexpr std::array kMutants{
    // Requests
    Mutant{.name = "empty_sge_ends_message",
           .rule = "LEN-10",
           .description = "A SEND or WRITE with a piece of zero bytes in its list is sent without "
                          "the pieces behind that one.",
           .make_filter = make<EmptySgeEndsList>},
    Mutant{.name = "solicited_kept_for_next_write",
           .rule = "BTH-14",
           .description = "A WRITE without immediate data that follows a solicited message has SE "
                          "set in its last packet.",
           .cases = "req/plain-behind-solicited",
           .make_filter = make<SolicitedKeptForWrite>},
    Mutant{.name = "ud_pad_is_length_of_last_word",
           .rule = "BTH-09",
           .description = "The pad count of a datagram is its length modulo 4, so that it is wrong "
                          "for odd lengths.",
           .make_filter = make<EditsOutbound<ud_pad_is_length_of_last_word>>},
    Mutant{.name = "empty_uc_message_takes_no_psn",
           .rule = "REQ-01",
           .description = "The message that follows a UC message of zero bytes begins with the "
                          "same PSN.",
           .cases = "ext/empty-unreliable-messages-sent",
           .make_filter = make<EmptyUcMessageTakesNoPsn>},
    Mutant{.name = "last_behind_ack_request_asks_none",
           .rule = "N-18",
           .description = "The last packet of a message does not ask for an ACK if the one before "
                          "it did, until it is sent again. The device asks at every eighth packet "
                          "of long messages.",
           .behaviour = {.ack_request_every = 8},
           .make_filter = make<LastBehindAckRequestAsksNone>},
    Mutant{.name = "empty_write_announces_last_length",
           .rule = "LEN-04",
           .description = "The RETH of a WRITE of zero bytes announces the length of the newest "
                          "WRITE before it that had any.",
           .cases = "req/empty-in-turn",
           .make_filter = make<EmptyWriteAnnouncesLastLength>},
    Mutant{.name = "immediate_of_long_write_swapped",
           .rule = "REQ-34",
           .description = "The immediate data of a WRITE of several packets leave with their bytes "
                          "in reverse order.",
           .make_filter = make<EditsOutbound<swap_immediate_of_long_write>>},
    Mutant{.name = "resent_middle_has_bytes_before",
           .rule = "REQ-31",
           .description = "Where a resend begins with a MIDDLE packet, that packet has the bytes "
                          "of the one before it.",
           .make_filter = make<ResentMiddleHasBytesBefore>},
    // READs
    Mutant{.name = "read_behind_wrap_from_begin",
           .rule = "REQ-10",
           .description = "A READ that crosses PSN 0 and is asked for again from behind it names "
                          "its first address and its whole length.",
           .make_filter = make<ReadBehindWrapFromBegin>},
    Mutant{.name = "empty_read_takes_no_psn",
           .rule = "N-36",
           .description = "The request that follows a READ of zero bytes has the READ's PSN.",
           .make_filter = make<EmptyReadTakesNoPsn>},
    Mutant{.name = "late_read_data_written",
           .rule = "N-38",
           .description = "A READ response that comes again after its READ has completed is "
                          "written to memory once more.",
           .make_filter = make<LateReadDataWritten>},
    Mutant{.name = "read_completes_with_length_of_rest",
           .rule = "REQ-34",
           .description = "The byte_len of a READ that was asked for again from its middle counts "
                          "only what was asked for last.",
           .make_filter = make<ReadCompletesWithRest>},
    Mutant{.name = "reads_and_atomics_tried_once_less",
           .rule = "TMO-03",
           .description = "READs and atomics are sent again one time less than retry_cnt allows.",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, reads_tried_once_less)},
    Mutant{.name = "fence_of_reads_ignored",
           .rule = "REQ-28",
           .description = "A READ or atomic with a fence does not wait for the READs and atomics "
                          "before it.",
           .checks = kStandardChecks.with(SendCheck::Fence, fence_not_for_reads)},
    // Atomics
    Mutant{.name = "later_ack_completes_atomic",
           .rule = "REQ-08",
           .description = "An ACK of a later request completes an atomic that was not answered; "
                          "its result is zero.",
           .make_filter = make<AckCompletesAtomic>},
    Mutant{.name = "access_error_of_atomic_told_as_invalid",
           .rule = "REQ-16",
           .description = "An atomic that draws NAK Remote Access ends with REM_INV_REQ_ERR.",
           .make_filter = make<AtomicAccessErrorIsInvalid>},
    // Acknowledges, RNR NAKs
    Mutant{.name = "rnr_retries_counted_with_timeouts",
           .rule = "N-10",
           .description = "Tries after timeouts and sequence NAKs count as well when an RNR NAK "
                          "is compared with rnr_retry.",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, rnr_counted_with_timeouts)},
    Mutant{.name = "ghost_ack_ends_rnr_wait",
           .rule = "RNR-08",
           .description = "An ACK of an older PSN that comes during an RNR wait makes the device "
                          "send the NAKed packet at once.",
           .make_filter = make<GhostAckEndsRnrWait>},
    Mutant{.name = "next_rnr_waits_as_first",
           .rule = "RNR-08",
           .description = "When a request draws several RNR NAKs, each wait is as long as the "
                          "first one asked for.",
           .make_filter = make<NextRnrWaitsAsFirst>},
    Mutant{.name = "ack_of_next_psn_taken",
           .rule = "REQ-07",
           .description = "An ACK of the PSN that comes after the newest one sent acknowledges all "
                          "that was sent.",
           .cases = "req/ack-of-the-next-psn",
           .make_filter = make<AckOfNextPsnTaken>},
    Mutant{.name = "ack_across_wrap_taken_for_old",
           .rule = "REQ-03",
           .description = "A response is dropped whose PSN is a smaller number than the oldest "
                          "unacknowledged one, though it lies ahead of it across the wrap.",
           .checks = kStandardChecks.with(ResponseCheck::Window, smaller_psn_is_old)},
    // States, events, completions
    Mutant{.name = "drained_told_once",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "Only the first time that a QP is drained an SQ_DRAINED event comes.",
           .cases = "sta/drained-again",
           .make_filter = make<DrainedToldOnce>},
    Mutant{.name = "rd_atomic_in_sqd_ignored",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A max_rd_atomic that is set in SQD is reported and has no effect.",
           .cases = "n/reads-limited-in-sqd",
           .make_filter = make<RdAtomicInSqdIgnored>},
    Mutant{.name = "psn_kept_through_error_and_reset",
           .rule = "STA-10",
           .description = "A QP that the host took to ERR and to RESET goes on with the next PSN "
                          "of its old connection, whatever sq_psn says.",
           .make_filter = make<PsnKeptThroughError>},
    Mutant{.name = "solicited_of_first_packet_counts",
           .rule = "N-26",
           .description = "Of a message of several packets that comes in the SE bit of the first "
                          "packet counts, and not that of the last.",
           .make_filter = make<SolicitedOfFirstCounts>},
    Mutant{.name = "unsignaled_flushed_in_silence",
           .rule = "STA-07",
           .description = "A request that was posted unsignaled has no completion when it is "
                          "flushed.",
           .make_filter = make<UnsignaledFlushedInSilence>},
    // Windows, QP 1
    Mutant{.name = "bind_beyond_region_cut",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A BIND_MW of a range that goes on behind its region succeeds, and the "
                          "window ends with the region.",
           .cases = "key/bind-beyond-an-odd-end key/bind-beyond-region",
           .make_filter = make<BindCutToRegion>},
    Mutant{.name = "upper_half_of_transaction_lost",
           .rule = "N-30",
           .description = "The answers of QP 1 have zeros in the upper half of the transaction id.",
           .make_filter = make<EditsSentDatagram<lose_upper_half_of_transaction<>>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind12_requester

namespace veriroce::mutants {

std::span<const Mutant> blind12_requester() {
    return of_blind12_requester::kMutants;
}

} // namespace veriroce::mutants
