// Written blind: a responder's duplicates, NAKs, acknowledges and keys.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind_responder {
namespace {

using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;

bool is_immediate_write(const wire::Packet& packet) {
    return packet.info().operation == Operation::RdmaWrite && packet.info().immediate();
}

// --- duplicates

// RSP-14. The engine's PSN goes on with the extra WRITE; the device's does not.
RequestVerdict empty_immediate_again(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::expected_psn(view);
    const bool empty = is_immediate_write(view.packet) && view.info.starts_message() &&
                       view.packet.reth.dma_length == 0;
    const bool again = verdict == RequestVerdict::Duplicate && empty &&
                       view.packet.bth.ack_request &&
                       view.inbound.open == engine::OpenMessage::None;
    return again ? RequestVerdict::Accept : verdict;
}

bool executed_again(const wire::Packet& packet, Told told) {
    return is_ack(packet) && told.behind && told.fresh;
}

struct Repeated {
    Arrivals arrivals;
    bool duplicate = false;
};

class CountsOpenMessage final : public QpFilter<Repeated> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(passage.packet, qp.first_request(), qp.mtu());
        qp.memory.duplicate |= place == Arrivals::Place::Behind;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_ack(passage.packet) || !qp.memory.duplicate) return;
        qp.memory.duplicate = false;
        if (!qp.memory.arrivals.open) return;
        passage.packet.aeth.msn = passage.packet.aeth.msn + 1;
    }
};

struct Write {
    wire::Psn first;
    wire::Reth reth;
};
struct Writes {
    Arrivals arrivals;
    std::deque<Write> newest;
};

class WritesLongDuplicates final : public DmaFilter<Writes> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (packet.info().operation != Operation::RdmaWrite) return;
        constexpr std::size_t kept = 8;
        auto& newest = qp.memory.newest;
        if (place == Arrivals::Place::Expected && packet.info().position == Position::First) {
            newest.push_back({.first = packet.bth.psn, .reth = packet.reth});
            if (newest.size() > kept) newest.pop_front();
        }
        if (place != Arrivals::Place::Behind) return;
        for (const Write& write : newest) {
            const std::int32_t at = wire::distance(write.first, packet.bth.psn);
            const std::uint64_t offset = std::uint64_t{wire::bytes_of(qp.mtu())} *
                                         static_cast<std::uint64_t>(std::max(at, 0));
            if (at < 0 || offset >= write.reth.dma_length) continue;
            const wire::Bytes payload = packet.payload();
            const wire::MutableBytes memory =
                regions().at(write.reth.rkey, write.reth.virtual_address + offset, payload.size());
            std::ranges::copy(payload.first(memory.size()), memory.begin());
        }
    }
};

struct Reads {
    ReadLog log;
    Arrivals arrivals;
    wire::Msn msn;
};

class NaksLongerDuplicate final : public QpFilter<Reads> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (!is_read_request(packet)) return;
        const auto known = qp.memory.log.holding(packet.bth.psn);
        if (place != Arrivals::Place::Behind || !known) {
            qp.memory.log.note(packet, qp.mtu());
            return;
        }
        const auto offset =
            static_cast<std::uint32_t>(wire::distance(known->request.bth.psn, packet.bth.psn));
        const std::uint64_t end =
            std::uint64_t{offset} * wire::bytes_of(qp.mtu()) + packet.reth.dma_length;
        if (end <= known->request.reth.dma_length) return;
        passage.dropped = true;
        passage.answers.push_back(acknowledge(qp.peer(), packet.bth.pkey, packet.bth.psn,
                                              wire::Syndrome::nak(wire::NakCode::InvalidRequest),
                                              qp.memory.msn));
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (has_aeth(passage.packet)) qp.memory.msn = passage.packet.aeth.msn;
        if (is_read_response(passage.packet)) qp.memory.log.answer(passage.packet.bth.psn);
    }
};

// --- RNR

struct Refused {
    std::map<std::uint32_t, bool> immediate_write; // by PSN
    std::optional<wire::Psn> psn;
};

class CountsRefusedImmediate final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        qp.memory.psn.reset();
        if (is_immediate_write(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet) || qp.memory.psn != passage.packet.bth.psn) return;
        passage.packet.aeth.msn = passage.packet.aeth.msn + 1;
    }
};

void shortest_for_longest(wire::Packet& packet) {
    if (is_rnr_nak(packet) && packet.aeth.syndrome.code() == 0) {
        packet.aeth.syndrome = wire::Syndrome::rnr(1);
    }
}

class ForgetsSolicited final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (qp.memory.psn == passage.packet.bth.psn) passage.packet.bth.solicited = false;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
};

class RefusesFirstPacket final : public QpFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) {
            qp.memory.note(passage.packet, qp.first_request(), qp.mtu());
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        const wire::Psn psn = passage.packet.bth.psn;
        qp.memory.expect(psn);
        const bool inside = wire::distance(qp.memory.first, psn) > 0;
        if (inside) passage.packet.bth.psn = qp.memory.first;
    }
};

// --- gaps

struct Gap {
    std::optional<wire::Psn> psn; // that a sequence NAK asked for
    bool closed_by_read = false;
};

class ReadLeavesNakState final : public QpFilter<Gap> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request() || qp.memory.psn != packet.bth.psn) return;
        qp.memory.closed_by_read = is_read_request(packet);
        if (!is_read_request(packet)) qp.memory.psn.reset();
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        if (qp.memory.closed_by_read) {
            passage.dropped = true;
            return;
        }
        qp.memory.psn = passage.packet.bth.psn;
    }
};

class DropsAckAfterGap final : public QpFilter<Gap> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (is_sequence_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
        if (!is_ack(passage.packet) || !qp.memory.psn) return;
        passage.dropped = wire::distance(*qp.memory.psn, passage.packet.bth.psn) >= 0;
        if (passage.dropped) qp.memory.psn.reset();
    }
};

class RepeatsFirstNak final : public QpFilter<Gap> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        if (!qp.memory.psn) qp.memory.psn = passage.packet.bth.psn;
        passage.packet.bth.psn = *qp.memory.psn;
    }
};

struct ReadCount {
    NewestPsn newest;
    std::int32_t reads = 0;
};

class NakForgetsReads final : public QpFilter<ReadCount> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [newest, reads] = qp.memory;
        const bool ends = is_read_response(packet) && packet.info().ends_message();
        if (ends && !newest.note(packet.bth.psn)) ++reads;
        if (is_sequence_nak(packet)) packet.aeth.msn = packet.aeth.msn + -reads;
    }
};

void no_ack_inside(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.request() && !info.ends_message()) packet.bth.ack_request = false;
}

void eight_bits(wire::Packet& packet) {
    constexpr std::uint32_t mask = 0xFF;
    if (has_aeth(packet)) packet.aeth.msn.value &= mask;
}

void nak_asks(wire::Packet& packet) {
    if (is_nak(packet)) packet.bth.ack_request = true;
}

// --- keys

class AcksBeyondEnd final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool write = packet.info().operation == Operation::RdmaWrite &&
                           packet.info().position == Position::Only;
        const auto region = write ? regions().live(packet.reth.rkey) : std::nullopt;
        if (!region || !region->access.remote_write) return;
        constexpr std::uint64_t page = 4096;
        const std::uint64_t end = region->address + region->memory.size();
        const std::uint64_t rounded = (end + page - 1) / page * page;
        const std::uint64_t asked = packet.reth.virtual_address + packet.reth.dma_length;
        const bool inside = packet.reth.virtual_address >= region->address;
        if (!inside || asked <= end || asked > rounded) return;
        packet.reth.dma_length = 0;
        packet.bth.pad = 0;
        packet.body = {};
    }
};

struct Stale {
    std::map<std::uint32_t, std::vector<std::byte>> answers; // by PSN
};

class ReadsStaleRegions final : public DmaFilter<Stale> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto region = regions().gone(packet.reth.rkey);
        const std::uint32_t length = packet.reth.dma_length;
        if (!region || length == 0 || length > wire::bytes_of(qp.mtu())) return;
        const auto bytes = Regions::range(*region, packet.reth.virtual_address, length);
        if (bytes.empty()) return;
        auto& answer = qp.memory.answers[packet.bth.psn.value()];
        answer.assign(bytes.begin(), bytes.end());
        packet.reth.dma_length = 0;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.body.empty()) return;
        const auto answer = qp.memory.answers.find(packet.bth.psn.value());
        if (answer == qp.memory.answers.end()) return;
        packet.bth.pad = wire::pad_of(answer->second.size());
        answer->second.resize(answer->second.size() + packet.bth.pad);
        packet.body = answer->second;
    }
};

// --- what RESET leaves

class ResetKeepsNakState final : public QpFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const auto place = qp.memory.note(passage.packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Expected) waits_.erase(qp.report.qpn);
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        passage.dropped = waits_.contains(qp.report.qpn);
        waits_[qp.report.qpn] = true;
    }

  private:
    std::map<wire::Qpn, bool> waits_; // through RESET
};

class ResetKeepsOpenMessage final : public QpFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const bool fresh = !qp.memory.next;
        if (qp.memory.note(packet, qp.first_request(), qp.mtu()) != Arrivals::Place::Expected) {
            return;
        }
        const bool open = open_.contains(qp.report.qpn);
        if (fresh && open && packet.info().starts_message()) {
            passage.dropped = true;
            passage.answers.push_back(
                acknowledge(qp.peer(), packet.bth.pkey, packet.bth.psn,
                            wire::Syndrome::nak(wire::NakCode::InvalidRequest), wire::Msn{}));
        }
        if (qp.memory.open) {
            open_[qp.report.qpn] = true;
        } else {
            open_.erase(qp.report.qpn);
        }
    }

  private:
    std::map<wire::Qpn, bool> open_; // through RESET
};

constexpr std::array kFirst{
    Mutant{.name = "duplicate_empty_immediate_write_completes",
           .rule = "RSP-14",
           .description = "A duplicate WRITE with immediate data and no bytes takes and completes "
                          "another receive.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, empty_immediate_again),
           .make_filter = make<ShiftsPsns<executed_again>>},
    Mutant{.name = "duplicate_acked_with_open_message",
           .rule = "ACK-07",
           .description = "The ACK of a duplicate that comes in the middle of a message has an MSN "
                          "that counts this message.",
           .cases = "rsp/duplicate-sends-everywhere rsp/duplicate-writes-everywhere",
           .make_filter = make<CountsOpenMessage>},
    Mutant{.name = "duplicate_long_write_written_again",
           .rule = "RSP-15",
           .description = "Duplicate packets of a WRITE of several packets are written to memory "
                          "again.",
           .make_filter = make<WritesLongDuplicates>},
    Mutant{.name = "longer_duplicate_read_nakked",
           .rule = "RSP-12",
           .description = "A duplicate READ that asks for more than the original did is NAKed as "
                          "an invalid request.",
           .make_filter = make<NaksLongerDuplicate>},
    Mutant{.name = "rnr_nak_counts_immediate_write",
           .rule = "ACK-08",
           .description = "The RNR NAK of a WRITE with immediate data has an MSN that counts it.",
           .make_filter = make<CountsRefusedImmediate>},
    Mutant{.name = "rnr_timer_zero_sent_as_one",
           .rule = "RNR-07",
           .description = "min_rnr_timer 0, the longest time, is sent as code 1, the shortest.",
           .make_filter = make<EditsOutbound<shortest_for_longest>>},
    Mutant{.name = "solicited_lost_after_rnr",
           .rule = "N-26",
           .description = "A SEND that met RNR and comes again raises no solicited event.",
           .cases = "rnr/solicited-later",
           .make_filter = make<ForgetsSolicited>},
    Mutant{.name = "rnr_nak_at_first_packet_of_write",
           .rule = "RNR-01",
           .description = "The RNR NAK of a WRITE of several packets with immediate data has the "
                          "PSN of its first packet.",
           .make_filter = make<RefusesFirstPacket>},
    Mutant{.name = "read_does_not_end_nak_state",
           .rule = "RSP-06",
           .description = "If a READ closes a gap, the next gap gets no NAK.",
           .make_filter = make<ReadLeavesNakState>},
    Mutant{.name = "no_ack_for_what_closes_gap",
           .rule = "ACK-01",
           .description = "The request that closes a gap is executed and not acknowledged.",
           .make_filter = make<DropsAckAfterGap>},
    Mutant{.name = "second_sequence_nak_repeats_first",
           .rule = "RSP-02",
           .description = "Each further sequence NAK of a connection has the PSN of its first.",
           .cases = "rsp/fault-beside-recovering-qps",
           .make_filter = make<RepeatsFirstNak>},
    Mutant{.name = "sequence_nak_msn_without_reads",
           .rule = "RSP-02",
           .description = "The MSN of a sequence NAK does not count READs.",
           .make_filter = make<NakForgetsReads>},
    Mutant{.name = "ack_request_inside_message_ignored",
           .rule = "ACK-01",
           .description = "AckReq of a FIRST or MIDDLE brings no ACK before the message ends.",
           .make_filter = make<EditsInbound<no_ack_inside>>},
    Mutant{.name = "msn_of_eight_bits",
           .rule = "ACK-07",
           .description = "The MSN goes from 255 to 0.",
           .cases = "ack/many-messages",
           .make_filter = make<EditsOutbound<eight_bits>>},
    Mutant{.name = "naks_ask_for_ack",
           .rule = "BTH-19",
           .level = "SHOULD",
           .description = "NAKs and RNR NAKs leave with AckReq.",
           .make_filter = make<EditsOutbound<nak_asks>>},
    Mutant{.name = "write_beyond_end_in_page_acked",
           .rule = "KEY-05",
           .description = "A WRITE_ONLY beyond its region's end, but not beyond the page, is "
                          "acknowledged; nothing is written.",
           .cases = "key/just-beyond",
           .make_filter = make<AcksBeyondEnd>},
    Mutant{.name = "stale_key_still_reads",
           .rule = "KEY-07",
           .description = "A READ of one packet with the key of a region that was deregistered "
                          "brings what was there.",
           .make_filter = make<ReadsStaleRegions>},
    Mutant{.name = "reset_keeps_open_message",
           .rule = "STA-10",
           .description = "A QP that was reset in the middle of a message refuses the first "
                          "message of its next connection.",
           .cases = "sta/reset-inside-a-message",
           .make_filter = make<ResetKeepsOpenMessage>},
};

constexpr std::array kSecond{
    Mutant{.name = "reset_keeps_sequence_nak",
           .rule = "STA-10",
           .description = "A QP that waited for the end of a gap when it was reset NAKs no gap of "
                          "its next connection before the expected PSN has come.",
           .make_filter = make<ResetKeepsNakState>},
};

} // namespace
} // namespace veriroce::mutants::of_blind_responder

namespace veriroce::mutants {

std::span<const Mutant> blind_responder() {
    return of_blind_responder::kFirst;
}

std::span<const Mutant> blind2_responder() {
    return of_blind_responder::kSecond;
}

} // namespace veriroce::mutants
