// Written blind, fifth sample: responders with duplicates, gaps, RNR NAKs, READs, atomics and keys.
#include <cstring>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind5_responder {
namespace {

using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using Place = Arrivals::Place;

constexpr std::size_t kWord = sizeof(std::uint64_t);

// --- checks

RequestVerdict wait_ends_nak_state(const RequestView& view) {
    const bool over =
        view.inbound.nak == engine::NakState::Rnr && view.now >= view.inbound.rnr_until;
    return over ? RequestVerdict::Accept : engine::request_check::one_nak(view);
}

RequestVerdict gap_must_ask(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool silent = verdict == RequestVerdict::NakSequence && !view.packet.bth.ack_request;
    return silent ? RequestVerdict::Drop : verdict;
}

RequestVerdict atomic_write_not_aligned(const RequestView& view) {
    const bool write = view.info.operation == Operation::AtomicWrite;
    return write ? RequestVerdict::Accept : engine::request_check::atomic_alignment(view);
}

RequestVerdict atomics_by_right_to_write(const RequestView& view) {
    if (!is_atomic_request(view.packet)) return engine::request_check::rights(view);
    const bool allowed = view.connection.access.remote_write;
    return allowed ? RequestVerdict::Accept : RequestVerdict::NakInvalidRequest;
}

RequestVerdict immediate_write_fits_receive(const RequestView& view) {
    const bool write = view.info.operation == Operation::RdmaWrite && view.info.immediate();
    if (write && view.packet.payload().size() > view.receive_bytes) {
        return RequestVerdict::NakInvalidRequest;
    }
    return engine::request_check::receive_room(view);
}

// --- duplicates

struct Waits : Arrivals {
    bool for_receive = false; // an RNR NAK was the last answer
};

class WritesAgainInWait final : public PlacesRequests<Waits> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place == Place::Expected) qp.memory.for_receive = false;
        const bool write =
            packet.info().operation == Operation::RdmaWrite && packet.info().starts_message();
        if (place != Place::Behind || !qp.memory.for_receive || !write) return;
        const auto payload = packet.payload();
        const auto to = regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!to.empty()) std::ranges::copy(payload, to.begin());
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.for_receive = true;
    }
};

class ReadsBeforeWrapForgotten final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const bool again = place == Place::Behind && is_read_request(packet);
        const wire::Psn next = qp.memory.next.value_or(qp.first_request());
        passage.dropped = again && packet.bth.psn.value() > next.value();
    }
};

struct Again : Arrivals {
    bool duplicate = false; // a SEND or WRITE, to which no answer has left
};

class DuplicateAckOfOtherQp final : public PlacesRequests<Again> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const Operation operation = passage.packet.info().operation;
        const bool plain = operation == Operation::Send || operation == Operation::RdmaWrite;
        qp.memory.duplicate = place == Place::Behind && plain;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_ack(packet)) return;
        if (qp.memory.duplicate && newest_) {
            packet.bth.psn = *newest_;
        } else {
            newest_ = packet.bth.psn;
        }
        qp.memory.duplicate = false;
    }

  private:
    std::optional<wire::Psn> newest_; // acknowledged, of whatever QP
};

struct Reads : Arrivals {
    ReadLog log;
    std::optional<wire::Psn> tail;  // asked for again last
    std::optional<wire::Psn> whole; // the READ of that tail
    std::optional<wire::Psn> from;  // the responses before this PSN stay out
};

class OddTailDropped final : public PlacesRequests<Reads> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        if (place == Place::Expected) qp.memory.log.note(packet, qp.mtu());
        const auto known = qp.memory.log.holding(packet.bth.psn);
        const bool tail =
            place == Place::Behind && known && known->request.bth.psn != packet.bth.psn;
        passage.dropped = tail && packet.reth.dma_length % wire::bytes_of(qp.mtu()) != 0;
    }
};

class WholeAfterTailIsTail final : public PlacesRequests<Reads> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Reads& memory = qp.memory;
        if (!is_read_request(packet)) return;
        if (place == Place::Expected) memory.log.note(packet, qp.mtu());
        const auto known = memory.log.holding(packet.bth.psn);
        if (place != Place::Behind || !known) return;
        if (known->request.bth.psn != packet.bth.psn) {
            memory.tail = packet.bth.psn;
            memory.whole = known->request.bth.psn;
        } else if (memory.whole == packet.bth.psn) {
            memory.from = memory.tail;
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        auto& from = qp.memory.from;
        if (!from || !is_read_response(passage.packet)) return;
        passage.dropped = wire::distance(passage.packet.bth.psn, *from) > 0;
        if (!passage.dropped) from.reset();
    }
};

// --- RNR NAKs

class TimerOfFirstQp final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        if (!first_) first_ = qp.report.qpn;
        if (first_ == qp.report.qpn) {
            told_ = packet.aeth.syndrome;
        } else {
            packet.aeth.syndrome = told_;
        }
    }

  private:
    std::optional<wire::Qpn> first_;
    wire::Syndrome told_; // by the first QP, the last time
};

// --- acknowledges and NAKs

struct Counted {
    std::optional<wire::Msn> msn; // the newest that the engine told
};

class MsnOfAllQps final : public QpFilter<Counted> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        auto& msn = qp.memory.msn;
        if (!msn) total_ = {}; // a new connection begins at 0
        const std::int32_t more = wire::distance(wire::Psn(msn.value_or(wire::Msn{}).value),
                                                 wire::Psn(packet.aeth.msn.value));
        if (more > 0 || !msn) {
            total_ = total_ + more;
            msn = packet.aeth.msn;
            packet.aeth.msn = total_;
        } else {
            packet.aeth.msn = total_ + more;
        }
    }

  private:
    wire::Msn total_;
};

struct Stream : OpenWrite {
    bool writes = false; // the open message is a WRITE
};

class MiddleAckNamesLast final : public QpFilter<Stream> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        Stream& memory = qp.memory;
        if (!passage.packet.info().request()) return;
        const bool write = memory.note(passage.packet, qp.first_request(), qp.mtu());
        memory.writes = memory.arrivals.open && (memory.writes || write);
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Stream& memory = qp.memory;
        heed_nak(memory.arrivals, packet);
        if (!is_ack(packet) || !memory.writes) return;
        if (wire::distance(memory.arrivals.first, packet.bth.psn) <= 0) return;
        packet.bth.psn = memory.arrivals.first +
                         (std::int64_t{wire::packets_of(memory.reth.dma_length, qp.mtu())} - 1);
    }
};

class GapNamedByFirst final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        if (is_sequence_nak(passage.packet) && qp.memory.open) {
            passage.packet.bth.psn = qp.memory.first;
        }
    }
};

struct Naked : Arrivals {
    std::optional<wire::Packet> nak; // that waits for its PSN
    wire::Envelope envelope;         // in which it left
    bool rearmed = false;
};

class CnpRearmsNak final : public PlacesRequests<Naked> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        Naked& memory = qp.memory;
        if (place == Place::Expected) memory.nak.reset();
        if (place != Place::Ahead || !memory.nak || !memory.rearmed) return;
        passage.sent.push_back(datagram_of(*memory.nak, memory.envelope));
        memory.rearmed = false;
    }
    void other_arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().operation == Operation::Cnp) {
            qp.memory.rearmed = qp.memory.nak.has_value();
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        qp.memory.nak = passage.packet;
        qp.memory.nak->body = {};
        qp.memory.envelope = passage.envelope;
        qp.memory.rearmed = false;
    }
};

struct Ended : Arrivals {
    std::optional<wire::Packet> ack; // the newest
    wire::Envelope envelope;         // in which it left
    bool ended = false;              // by a fatal NAK
};

class EndedQpAcksDuplicates final : public PlacesRequests<Ended> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const Ended& memory = qp.memory;
        if (memory.ended && memory.ack && place == Place::Behind &&
            passage.packet.bth.ack_request) {
            passage.sent.push_back(datagram_of(*memory.ack, memory.envelope));
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Ended& memory = qp.memory;
        if (is_nak(packet) && !is_sequence_nak(packet) && !is_rnr_nak(packet)) memory.ended = true;
        if (!is_ack(packet)) return;
        memory.ack = packet;
        memory.ack->body = {};
        memory.envelope = passage.envelope;
    }
};

// --- READs

class ReadBeyond4GibAtStart final : public DmaFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr unsigned low_bits = 32;
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto read = qp.memory.holding(packet.bth.psn);
        qp.memory.answer(packet.bth.psn);
        if (!read) return;
        const wire::Reth& asked = read->request.reth;
        const auto at =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const std::uint64_t begin = asked.virtual_address + at * wire::bytes_of(qp.mtu());
        const auto region = regions().live(asked.rkey);
        const bool beyond = begin >> low_bits != asked.virtual_address >> low_bits;
        const std::size_t bytes = packet.payload().size();
        if (!beyond || !region || region->memory.size() < bytes) return;
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(region->memory.first(bytes), body_.begin());
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

struct Buffer {
    std::vector<std::byte> word;    // that the newest READ response began with
    std::optional<wire::Psn> empty; // a READ of no bytes that was not answered
};

class EmptyReadFromBuffer final : public QpFilter<Buffer> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_read_request(packet) && packet.reth.dma_length == 0) {
            qp.memory.empty = packet.bth.psn;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t bus_bytes = 4;
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        auto& [word, empty] = qp.memory;
        if (packet.bth.psn == empty) {
            packet.body = word;
            empty.reset();
        } else if (packet.body.size() >= bus_bytes) {
            const auto begin = packet.body.first(bus_bytes);
            word.assign(begin.begin(), begin.end());
        }
    }
};

// A QP for which the host posts no receives takes them from a shared queue.
class NoCreditsInReads final : public QpFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& /*request*/) override {
        own_.insert(qpn);
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (own_.contains(qp.report.qpn) || !is_read_response(packet)) return;
        if (has_aeth(packet)) packet.aeth.syndrome = wire::Syndrome::ack(0);
    }

  private:
    std::set<wire::Qpn> own_;
};

// --- atomics

struct Replay : Arrivals {
    std::optional<wire::Psn> newest;                 // of an atomic
    std::map<std::uint32_t, std::uint64_t> clobbers; // by the atomic's PSN: a READ's address
    std::optional<wire::Psn> again;                  // a duplicate that was not answered
};

class ReadClobbersReplay final : public PlacesRequests<Replay> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Replay& memory = qp.memory;
        if (place == Place::Behind && is_atomic_request(packet)) memory.again = packet.bth.psn;
        if (place != Place::Expected) return;
        if (is_read_request(packet) && memory.newest == packet.bth.psn - 1) {
            memory.clobbers[memory.newest->value()] = packet.reth.virtual_address;
        }
        if (is_atomic_request(packet)) {
            memory.newest = packet.bth.psn;
            memory.clobbers.erase(packet.bth.psn.value());
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto found = qp.memory.clobbers.find(packet.bth.psn.value());
        if (qp.memory.again != packet.bth.psn || found == qp.memory.clobbers.end()) return;
        packet.atomic_ack.original = found->second;
        qp.memory.again.reset();
    }
};

class ReplaysOfAllQps final : public PlacesRequests<Replay> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const bool again = place == Place::Behind && is_atomic_request(passage.packet);
        if (again) qp.memory.again = passage.packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        std::uint64_t& found = found_[packet.bth.psn.value()];
        if (qp.memory.again == packet.bth.psn) {
            packet.atomic_ack.original = found;
            qp.memory.again.reset();
        } else {
            found = packet.atomic_ack.original;
        }
    }

  private:
    std::map<std::uint32_t, std::uint64_t> found_; // by PSN, whatever the QP
};

struct Zero : Arrivals {
    std::optional<wire::AtomicEth> again; // a duplicate that adds nothing
    wire::Psn psn;                        // of that duplicate
};

class ZeroAddReadsAgain final : public PlacesRequests<Zero> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const bool zero =
            packet.info().operation == Operation::FetchAdd && packet.atomic.swap_or_add == 0;
        if (place != Place::Behind || !zero) return;
        qp.memory.again = packet.atomic;
        qp.memory.psn = packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& again = qp.memory.again;
        if (!again || packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto word = regions().at(again->rkey, again->virtual_address, kWord);
        if (packet.bth.psn == qp.memory.psn && !word.empty()) {
            std::memcpy(&packet.atomic_ack.original, word.data(), kWord);
        }
        again.reset();
    }
};

class AddAheadExecuted final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Ahead || packet.info().operation != Operation::FetchAdd) return;
        const auto word = regions().at(packet.atomic.rkey, packet.atomic.virtual_address, kWord);
        if (word.empty()) return;
        std::uint64_t value = 0;
        std::memcpy(&value, word.data(), kWord);
        value += packet.atomic.swap_or_add;
        std::memcpy(word.data(), &value, kWord);
    }
};

struct Slots : Arrivals {
    struct Taken {
        wire::Psn psn;
        std::uint32_t slots = 1;
    };
    std::deque<Taken> taken; // by READs and atomics, the oldest first
};

class LongReadTakesSlots final : public PlacesRequests<Slots> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        constexpr std::size_t kept = 512;
        const wire::Packet& packet = passage.packet;
        auto& taken = qp.memory.taken;
        const bool read = is_read_request(packet);
        if (place == Place::Expected && (read || is_atomic_request(packet))) {
            taken.push_back(
                {.psn = packet.bth.psn,
                 .slots = read ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1});
            if (taken.size() > kept) taken.pop_front();
        }
        if (place != Place::Behind || !is_atomic_request(packet)) return;
        std::uint64_t slots = 0;
        std::uint64_t requests = 0;
        for (const auto& one : taken) {
            if (wire::distance(packet.bth.psn, one.psn) < 0) continue;
            slots += one.slots;
            ++requests;
        }
        const std::uint8_t most = qp.report.attributes.max_dest_rd_atomic.value_or(0);
        passage.dropped = requests <= most && slots > most;
    }
};

// --- keys

class UpperAddressIgnored final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        wire::Packet& packet = passage.packet;
        if (!packet.headers.has(wire::Header::Reth)) return;
        const auto region = regions().live(packet.reth.rkey);
        if (!region) return;
        std::uint64_t& address = packet.reth.virtual_address;
        address = (region->address & ~low) | (address & low);
        if (address < region->address) address += low + 1; // the region crosses a border
    }
};

constexpr std::array kMutants{
    Mutant{.name = "duplicate_write_written_again_in_rnr_wait",
           .rule = "RSP-15",
           .description = "A duplicate WRITE is written again while the QP waits for the request "
                          "that it RNR NAKed.",
           .cases = "rnr/duplicates-write-nothing-in-the-wait",
           .make_filter = make<WritesAgainInWait>},
    Mutant{.name = "duplicate_read_from_before_wrap_forgotten",
           .rule = "RDR-04",
           .description = "A duplicate READ is dropped if PSN 0 lies between it and the expected "
                          "PSN.",
           .cases = "rsp/duplicates-from-before-the-wrap",
           .make_filter = make<ReadsBeforeWrapForgotten>},
    Mutant{.name = "duplicate_ack_names_psn_of_other_qp",
           .rule = "RSP-10",
           .description = "The ACK of a duplicate has the PSN that was acknowledged last, even if "
                          "another QP acknowledged it.",
           .make_filter = make<DuplicateAckOfOtherQp>},
    Mutant{.name = "read_tail_of_odd_length_dropped",
           .rule = "RDR-05",
           .description = "A READ that repeats the tail of an earlier one is dropped unless it is "
                          "a multiple of the path MTU.",
           .make_filter = make<OddTailDropped>},
    Mutant{.name = "whole_read_again_after_tail_answers_tail",
           .rule = "RDR-04",
           .description = "After its tail was repeated, a READ that is repeated as a whole is "
                          "answered from that tail on.",
           .make_filter = make<WholeAfterTailIsTail>},
    Mutant{.name = "rnr_timer_of_first_qp",
           .rule = "RNR-07",
           .description = "The RNR NAKs of all QPs have the timer of the QP that sent the first.",
           .cases = "rnr/timers-of-two-qps",
           .make_filter = make<TimerOfFirstQp>},
    Mutant{.name = "rnr_wait_over_gap_draws_nak",
           .rule = "N-08",
           .level = "SHOULD",
           .description = "A gap behind a request that was RNR NAKed draws a sequence NAK once the "
                          "time is over that the RNR NAK asked for.",
           .checks = kStandardChecks.with(RequestCheck::OneNak, wait_ends_nak_state)},
    Mutant{.name = "msn_of_all_qps",
           .rule = "ACK-07",
           .description = "One MSN counts the messages of all QPs.",
           .make_filter = make<MsnOfAllQps>},
    Mutant{.name = "ack_inside_write_names_its_last",
           .rule = "ACK-04",
           .description = "The ACK that a MIDDLE of a WRITE asks for has the PSN of the WRITE's "
                          "last packet.",
           .make_filter = make<MiddleAckNamesLast>},
    Mutant{.name = "gap_in_message_named_by_its_first",
           .rule = "RSP-02",
           .description = "The NAK of a gap inside a message names the message's first PSN.",
           .make_filter = make<GapNamedByFirst>},
    Mutant{.name = "gap_unasked_draws_no_nak",
           .rule = "RSP-02",
           .description = "A packet ahead of the expected PSN that does not ask for an ACK draws "
                          "no NAK.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, gap_must_ask)},
    Mutant{.name = "cnp_rearms_sequence_nak",
           .rule = "RSP-03",
           .description = "After a CNP a gap that was NAKed is NAKed once more.",
           .cases = "cnp/in-each-recovery",
           .make_filter = make<CnpRearmsNak>},
    Mutant{.name = "ended_qp_acks_duplicates",
           .rule = "N-07",
           .description = "A QP that a fatal NAK has ended acknowledges duplicates.",
           .cases = "sta/silent-after-a-fatal-nak",
           .make_filter = make<EndedQpAcksDuplicates>},
    Mutant{.name = "read_beyond_4_gib_returns_start",
           .rule = "RDR-01",
           .description = "What a READ returns from beyond a multiple of 4 GiB in its range is "
                          "the region's beginning.",
           .make_filter = make<ReadBeyond4GibAtStart>},
    Mutant{.name = "empty_read_returns_word_of_before",
           .rule = "LEN-07",
           .description = "An empty READ returns the first word of the READ response before.",
           .make_filter = make<EmptyReadFromBuffer>},
    Mutant{.name = "read_responses_tell_zero_credits",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "READ responses of a QP with a shared queue tell zero credits.",
           .cases = "n/credits-with-a-shared-queue",
           .make_filter = make<NoCreditsInReads>},
    Mutant{.name = "read_clobbers_saved_atomic",
           .rule = "ATM-04",
           .description = "A duplicate atomic returns the address of the READ that came right "
                          "behind it.",
           .cases = "atm/duplicates-among-everything",
           .make_filter = make<ReadClobbersReplay>},
    Mutant{.name = "replays_shared_by_qps",
           .rule = "ATM-04",
           .description = "A duplicate atomic returns what the newest atomic of any QP with its "
                          "PSN found.",
           .cases = "atm/replays-at-the-same-psn",
           .make_filter = make<ReplaysOfAllQps>},
    Mutant{.name = "duplicate_add_of_zero_reads_again",
           .rule = "ATM-04",
           .description = "A duplicate FETCH_ADD of zero returns the present value.",
           .cases = "atm/duplicates-among-everything",
           .make_filter = make<ZeroAddReadsAgain>},
    Mutant{.name = "add_ahead_of_gap_executed",
           .rule = "RSP-02",
           .description = "A FETCH_ADD ahead of the expected PSN adds, though it draws a NAK.",
           .make_filter = make<AddAheadExecuted>},
    Mutant{.name = "long_read_pushes_out_replays",
           .rule = "ATM-06",
           .description = "A READ takes one of the places of remembered atomics for each of its "
                          "response packets.",
           .cases = "atm/duplicates-among-everything",
           .make_filter = make<LongReadTakesSlots>},
    Mutant{.name = "atomic_write_at_any_address",
           .rule = "EXT-01",
           .description = "An ATOMIC WRITE is carried out at an address that is not aligned.",
           .checks = kStandardChecks.with(RequestCheck::AtomicAlignment, atomic_write_not_aligned)},
    Mutant{.name = "qp_right_of_atomics_is_that_of_writes",
           .rule = "KEY-01",
           .description = "A QP with REMOTE_WRITE alone takes atomics.",
           .checks = kStandardChecks.with(RequestCheck::Rights, atomics_by_right_to_write)},
    Mutant{.name = "upper_address_word_ignored",
           .rule = "KEY-05",
           .description = "The upper half of a READ's or WRITE's address is not compared.",
           .make_filter = make<UpperAddressIgnored>},
    Mutant{.name = "immediate_write_must_fit_receive",
           .rule = "N-15",
           .description = "A WRITE with immediate data is refused if its last packet is larger "
                          "than the receive that it takes.",
           .cases = "len/write-immediate-beside-small-receives",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, immediate_write_fits_receive)},
};

} // namespace
} // namespace veriroce::mutants::of_blind5_responder

namespace veriroce::mutants {

std::span<const Mutant> blind5_responder() {
    return of_blind5_responder::kMutants;
}

} // namespace veriroce::mutants
