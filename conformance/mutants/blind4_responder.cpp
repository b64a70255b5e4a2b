// Written blind, fourth sample: responders in the middle of messages, atomics and READs.
#include <cstring>
#include <map>
#include <memory>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind4_responder {
namespace {

using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;

constexpr std::size_t kWord = sizeof(std::uint64_t);

// --- checks

RequestVerdict silent_before_first(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool first = view.inbound.expected_psn == view.connection.initial_rq_psn;
    return first && verdict == RequestVerdict::NakSequence ? RequestVerdict::Drop : verdict;
}

RequestVerdict write_takes_fetch_add(const RequestView& view) {
    const bool inside = view.inbound.open == engine::OpenMessage::Write;
    if (inside && view.info.operation == Operation::FetchAdd) return RequestVerdict::Accept;
    return engine::request_check::opcode_sequence(view);
}

RequestVerdict immediate_is_payload(const RequestView& view) {
    const std::size_t bytes = view.packet.payload().size() + wire::ImmDt::kSize;
    if (view.info.immediate() && bytes > wire::bytes_of(view.connection.mtu)) {
        return RequestVerdict::NakInvalidRequest;
    }
    return engine::request_check::payload_length(view);
}

const engine::Region& named_by(const RequestView& view) {
    return view.memory.slot(view.target->rkey.value);
}

RequestVerdict aligned_offset(const RequestView& view) {
    const bool atomic = view.packet.headers.has(wire::Header::AtomicEth);
    if (!atomic || !view.target) return engine::request_check::atomic_alignment(view);
    const std::uint64_t offset = view.target->address - named_by(view).address;
    return offset % kWord == 0 ? RequestVerdict::Accept : RequestVerdict::NakInvalidRequest;
}

RequestVerdict swap_must_read(const RequestView& view) {
    const bool swap = view.info.operation == Operation::CompareSwap && view.target;
    if (swap && !named_by(view).access.remote_read) return RequestVerdict::NakRemoteAccess;
    return engine::request_check::key_rights(view);
}

// Whether the target ends where its region or window does.
bool reaches_end(const RequestView& view) {
    if (!view.target || view.target->whole || view.target->length == 0) return false;
    const engine::Region& named = named_by(view);
    return view.target->address + view.target->length == named.address + named.bytes.size();
}

RequestVerdict last_word_refused(const RequestView& view) {
    if (view.packet.headers.has(wire::Header::AtomicEth) && reaches_end(view)) {
        return RequestVerdict::NakRemoteAccess;
    }
    return engine::request_check::key_range(view);
}

// --- NAKs

struct AfterRnr {
    bool told = false;
};

class NoSequenceNakAfterRnr final : public QpFilter<AfterRnr> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.told = true;
        if (!is_sequence_nak(passage.packet) || !qp.memory.told) return;
        passage.dropped = true;
        qp.memory.told = false;
    }
};

struct Waiting {
    std::shared_ptr<const wire::Psn> psn; // that the QP's sequence NAK asked for
};

class OneNakForAllQps final : public QpFilter<Waiting> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        auto& psn = qp.memory.psn;
        if (psn && passage.packet.info().request() && passage.packet.bth.psn == *psn) psn.reset();
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        if (!waiting_.expired() && waiting_.lock() != qp.memory.psn) {
            passage.dropped = true;
            return;
        }
        qp.memory.psn = std::make_shared<const wire::Psn>(passage.packet.bth.psn);
        waiting_ = qp.memory.psn;
    }

  private:
    std::weak_ptr<const wire::Psn> waiting_; // gone when its QP is, or begins anew
};

struct Dead {
    std::optional<wire::Packet> nak; // the fatal one
    wire::Envelope envelope;         // in which it left
    bool told = false;
};

class DeadQpNaksGap final : public QpFilter<Dead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& [nak, envelope, told] = qp.memory;
        if (!nak || told || !packet.info().request()) return;
        if (wire::distance(nak->bth.psn, packet.bth.psn) <= 0) return;
        wire::Packet answer = *nak;
        answer.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
        passage.sent.push_back(datagram_of(answer, envelope));
        told = true;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_nak(packet) || is_sequence_nak(packet) || is_rnr_nak(packet)) return;
        qp.memory.nak = packet;
        qp.memory.nak->body = {};
        qp.memory.envelope = passage.envelope;
    }
};

// --- atomics

class AddsAgainInsideMessage final : public DmaFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.note(packet, qp.first_request(), qp.mtu());
        const bool again = place == Arrivals::Place::Behind && qp.memory.open;
        if (!again || packet.info().operation != Operation::FetchAdd) return;
        const auto bytes = regions().at(packet.atomic.rkey, packet.atomic.virtual_address, kWord);
        if (bytes.empty()) return;
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), kWord);
        value += packet.atomic.swap_or_add;
        std::memcpy(bytes.data(), &value, kWord);
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory, passage.packet); }
};

struct Slots {
    Arrivals arrivals;
    std::deque<wire::Packet> answers; // of READs and atomics, the oldest first
    wire::Envelope envelope;          // in which they left
};

class ForgottenAtomicTakesSlot final : public QpFilter<Slots> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, answers, envelope] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (!is_atomic_request(packet) || place != Arrivals::Place::Behind) return;
        const auto known = std::ranges::find(answers, packet.bth.psn, psn_of);
        const std::size_t slots = qp.report.attributes.max_dest_rd_atomic.value_or(0);
        if (known == answers.end() || slots == 0) return;
        const auto place_of_known = static_cast<std::size_t>(known - answers.begin());
        const std::size_t later = (answers.size() - 1 - place_of_known) / slots * slots;
        const wire::Packet& there = answers[place_of_known + later];
        if (later == 0 || there.info().operation != Operation::AtomicAcknowledge) return;
        wire::Packet answer = there;
        answer.bth.psn = packet.bth.psn;
        passage.sent.push_back(datagram_of(answer, envelope));
        passage.dropped = true;
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 512;
        const wire::Packet& packet = passage.packet;
        auto& [arrivals, answers, envelope] = qp.memory;
        heed_nak(arrivals, packet);
        const bool begins = is_read_response(packet) && packet.info().starts_message();
        if (!begins && packet.info().operation != Operation::AtomicAcknowledge) return;
        const bool newer =
            answers.empty() || wire::distance(answers.back().bth.psn, packet.bth.psn) > 0;
        if (!newer) return;
        answers.push_back(packet);
        answers.back().body = {};
        envelope = passage.envelope;
        if (answers.size() > kept) answers.pop_front();
    }

  private:
    static wire::Psn psn_of(const wire::Packet& packet) { return packet.bth.psn; }
};

// --- what lies between a WRITE and the memory

// The bytes that the newest WRITE packet overwrote, until something else comes or the packet is
// acknowledged.
struct Overwritten {
    OpenWrite write;
    wire::Rkey rkey;
    std::uint64_t begin = 0;
    std::vector<std::byte> bytes; // nothing: no WRITE is on its way
    wire::Psn psn;                // of the WRITE's packet
};

// The part of the one range that lies in the other, as an offset into each and a length.
struct Overlap {
    std::size_t in_first = 0;
    std::size_t in_second = 0;
    std::size_t length = 0;
};

Overlap overlap_of(std::uint64_t first, std::size_t first_bytes, std::uint64_t second,
                   std::size_t second_bytes) {
    const std::uint64_t begin = std::max(first, second);
    const std::uint64_t end = std::min(first + first_bytes, second + second_bytes);
    if (end <= begin) return {};
    return {.in_first = begin - first, .in_second = begin - second, .length = end - begin};
}

// `Memory` is derived from Overwritten.
template <typename Memory>
class WriteBuffer : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    // Whether the packet is a new request right behind a WRITE's packet.
    bool note(Qp& qp, const wire::Packet& packet) {
        Memory& memory = qp.memory;
        const bool behind = !memory.bytes.empty() && packet.bth.psn == memory.psn + 1;
        const wire::Psn expected = memory.write.arrivals.next.value_or(qp.first_request());
        if (!memory.write.note(packet, qp.first_request(), qp.mtu())) {
            return behind && packet.bth.psn == expected;
        }
        memory.rkey = memory.write.reth.rkey;
        memory.begin = memory.write.begin;
        memory.psn = packet.bth.psn;
        const auto bytes = this->regions().at(memory.rkey, memory.begin, packet.payload().size());
        memory.bytes.assign(bytes.begin(), bytes.end());
        return false;
    }
    // An answer says that the WRITE has reached the memory.
    void heed(Qp& qp, const wire::Packet& answer) {
        heed_nak(qp.memory.write.arrivals, answer);
        if (is_ack(answer) && wire::distance(qp.memory.psn, answer.bth.psn) >= 0) {
            qp.memory.bytes.clear();
        }
    }
};

class AddTakesOverwritten final : public WriteBuffer<Overwritten> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !note(qp, packet)) return;
        const Overwritten& memory = qp.memory;
        const wire::AtomicEth& asked = packet.atomic;
        if (packet.info().operation == Operation::FetchAdd && asked.rkey == memory.rkey) {
            const auto both =
                overlap_of(memory.begin, memory.bytes.size(), asked.virtual_address, kWord);
            const auto word = regions().at(asked.rkey, asked.virtual_address, kWord);
            if (!word.empty() && both.length > 0) {
                std::memcpy(word.data() + both.in_second, memory.bytes.data() + both.in_first,
                            both.length);
            }
        }
        qp.memory.bytes.clear();
    }
    void leaves(Qp& qp, Passage& passage) override { heed(qp, passage.packet); }
};

struct OldRead : Overwritten {
    std::optional<wire::Packet> read; // whose response has the old bytes
};

class ReadReturnsOverwritten final : public WriteBuffer<OldRead> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        OldRead& memory = qp.memory;
        const bool behind = note(qp, packet);
        memory.read.reset();
        if (!behind) return;
        if (is_read_request(packet) && packet.reth.rkey == memory.rkey) {
            memory.read = packet;
            memory.read->body = {};
        } else {
            memory.bytes.clear();
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        OldRead& memory = qp.memory;
        wire::Packet& packet = passage.packet;
        if (!memory.read) heed(qp, packet);
        if (!memory.read || !is_read_response(packet)) return;
        const std::int32_t at = wire::distance(memory.read->bth.psn, packet.bth.psn);
        if (at < 0) return;
        const std::uint64_t begin = memory.read->reth.virtual_address +
                                    static_cast<std::uint64_t>(at) * wire::bytes_of(qp.mtu());
        const auto both =
            overlap_of(memory.begin, memory.bytes.size(), begin, packet.payload().size());
        if (both.length == 0) return;
        body_.assign(packet.body.begin(), packet.body.end());
        std::memcpy(body_.data() + both.in_second, memory.bytes.data() + both.in_first,
                    both.length);
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

// --- READs

class InsideMessageNoReadAgain final : public QpFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.note(packet, qp.first_request(), qp.mtu());
        const bool again = place == Arrivals::Place::Behind && is_read_request(packet);
        passage.dropped = again && qp.memory.open;
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory, passage.packet); }
};

class LaterPacketsFromWord final : public DmaFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t word = 4;
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto read = qp.memory.holding(packet.bth.psn);
        qp.memory.answer(packet.bth.psn);
        if (!read || packet.info().starts_message()) return;
        const wire::Reth& asked = read->request.reth;
        const auto at =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t begin = asked.virtual_address + at * wire::bytes_of(qp.mtu());
        const auto bytes = regions().at(asked.rkey, begin - begin % word, packet.payload().size());
        if (bytes.empty()) return;
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(bytes, body_.begin());
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

struct Leaked {
    Arrivals arrivals;
    std::uint32_t resources = 0;
};

class DuplicateReadsLeak final : public QpFilter<Leaked> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t spare = 8;
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, resources] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (!is_read_request(packet)) return;
        if (place == Arrivals::Place::Behind) ++resources;
        const bool refused = place == Arrivals::Place::Expected && resources >= spare;
        if (refused) set_opcode(packet, Operation::Send, Position::Middle); // 0x61, by OPC-03
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory.arrivals, passage.packet); }
};

struct Merged {
    Arrivals arrivals;
    std::optional<wire::Psn> behind_read; // the PSN after the newest request, if that is a READ
    std::optional<wire::Psn> empty;       // the READ that is merged with the one before
};

class EmptyReadMerged final : public QpFilter<Merged> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, behind_read, empty] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        const bool read = is_read_request(packet);
        const bool merged = read && packet.reth.dma_length == 0 && behind_read == packet.bth.psn;
        if (merged) empty = packet.bth.psn;
        behind_read = read ? arrivals.next : std::nullopt;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        heed_nak(qp.memory.arrivals, packet);
        if (!is_read_response(packet) || qp.memory.empty != packet.bth.psn) return;
        passage.dropped = true;
        qp.memory.empty.reset(); // asked for again, it is answered
    }
};

constexpr std::array kMutants{
    Mutant{.name = "no_nak_before_first_request",
           .rule = "RSP-02",
           .description = "A gap before the first request of a connection is dropped in silence.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, silent_before_first)},
    Mutant{.name = "no_sequence_nak_after_rnr",
           .rule = "RSP-06",
           .description = "The first gap after an RNR NAK that was recovered from draws no NAK.",
           .cases = "rnr/then-a-gap rsp/gap-after-each-recovery",
           .make_filter = make<NoSequenceNakAfterRnr>},
    Mutant{.name = "fetch_add_accepted_inside_write",
           .rule = "OPC-04",
           .description = "FETCH_ADD between the packets of a WRITE is carried out.",
           .checks = kStandardChecks.with(RequestCheck::OpcodeSequence, write_takes_fetch_add)},
    Mutant{.name = "one_sequence_nak_for_all_qps",
           .rule = "RSP-02",
           .description = "While one QP waits after a sequence NAK, no other QP sends one.",
           .cases = "rsp/gaps-on-three-qps",
           .make_filter = make<OneNakForAllQps>},
    Mutant{.name = "immediate_counted_against_mtu",
           .rule = "LEN-02",
           .description = "A packet with immediate data and more than path MTU less four bytes is "
                          "refused.",
           .checks = kStandardChecks.with(RequestCheck::PayloadLength, immediate_is_payload)},
    Mutant{.name = "gap_nak_from_ended_qp",
           .rule = "N-07",
           .description = "A QP that a fatal NAK has ended sends a sequence NAK for a gap.",
           .make_filter = make<DeadQpNaksGap>},
    Mutant{.name = "duplicate_add_executed_inside_message",
           .rule = "ATM-04",
           .description = "A duplicate FETCH_ADD between the packets of a message adds once more.",
           .cases = "atm/duplicate-everywhere",
           .make_filter = make<AddsAgainInsideMessage>},
    Mutant{.name = "forgotten_atomic_told_of_newer",
           .rule = "ATM-06",
           .description = "A duplicate atomic that is not remembered any more returns the original "
                          "of the one that took its place.",
           .cases = "atm/forgotten",
           .make_filter = make<ForgottenAtomicTakesSlot>},
    Mutant{.name = "atomic_alignment_of_offset",
           .rule = "ATM-02",
           .description = "An atomic must be aligned to the beginning of its region, not to its "
                          "address.",
           .cases = "atm/window-at-odd-word",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, aligned_offset)},
    Mutant{.name = "compare_swap_needs_read_right",
           .rule = "KEY-04",
           .description = "CMP_SWAP needs REMOTE_READ beside REMOTE_ATOMIC.",
           .cases = "atm/compare-swap-everywhere key/atomic-rights",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, swap_must_read)},
    Mutant{.name = "atomic_in_last_word_refused",
           .rule = "N-37",
           .description = "An atomic on the last eight bytes of a region is refused.",
           .cases = "key/edges-of-atomics",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, last_word_refused)},
    Mutant{.name = "add_behind_write_takes_old_value",
           .rule = "ATM-01",
           .description = "A FETCH_ADD right behind a WRITE that is not acknowledged yet adds to "
                          "what was there before.",
           .cases = "rdr/behind-a-write",
           .make_filter = make<AddTakesOverwritten>},
    Mutant{.name = "read_behind_write_returns_old_bytes",
           .rule = "RSP-01",
           .description = "A READ right behind a WRITE that is not acknowledged yet returns what "
                          "was there before.",
           .cases = "rdr/behind-a-write",
           .make_filter = make<ReadReturnsOverwritten>},
    Mutant{.name = "duplicate_read_dropped_inside_message",
           .rule = "RDR-04",
           .description = "A duplicate READ between the packets of a message is not answered.",
           .cases = "rdr/duplicate-everywhere",
           .make_filter = make<InsideMessageNoReadAgain>},
    Mutant{.name = "later_read_packets_from_word",
           .rule = "RDR-01",
           .description = "The later packets of a READ begin at a multiple of four bytes.",
           .make_filter = make<LaterPacketsFromWord>},
    Mutant{.name = "duplicate_reads_use_up_resources",
           .rule = "RDR-04",
           .description = "After eight duplicate READs new ones are refused.",
           .cases = "rdr/many-duplicates",
           .make_filter = make<DuplicateReadsLeak>},
    Mutant{.name = "empty_read_merged_with_read_before",
           .rule = "LEN-07",
           .description = "An empty READ right behind another READ has no response.",
           .cases = "len/empty-among-others",
           .make_filter = make<EmptyReadMerged>},
};

} // namespace
} // namespace veriroce::mutants::of_blind4_responder

namespace veriroce::mutants {

std::span<const Mutant> blind4_responder() {
    return of_blind4_responder::kMutants;
}

} // namespace veriroce::mutants
