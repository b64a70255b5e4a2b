// Written blind, third sample: what a responder takes in, and what it answers.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind3_responder {
namespace {

using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SurfaceFilter;
using wire::Operation;
using wire::Position;

// --- checks

RequestVerdict full_last_is_enough(const RequestView& view) {
    const std::uint64_t bytes = view.packet.payload().size();
    const bool full = view.info.operation == Operation::RdmaWrite &&
                      view.info.position == Position::Last &&
                      bytes == wire::bytes_of(view.connection.mtu);
    const bool short_of = view.inbound.received + bytes < view.inbound.announced;
    return full && short_of ? RequestVerdict::Accept : engine::request_check::message_length(view);
}

RequestVerdict buffer_has_512(const RequestView& view) {
    constexpr std::size_t buffer = 512;
    const bool only =
        view.info.position == Position::Only &&
        (view.info.operation == Operation::Send || view.info.operation == Operation::RdmaWrite);
    const bool fits = view.packet.payload().size() <= buffer;
    return only && fits ? RequestVerdict::Accept : engine::request_check::payload_length(view);
}

RequestVerdict empty_read_has_key(const RequestView& view) {
    const bool empty =
        view.info.operation == Operation::RdmaReadRequest && view.packet.reth.dma_length == 0;
    const bool known = view.memory.slot(view.packet.reth.rkey.value).live;
    return empty && !known ? RequestVerdict::NakRemoteAccess
                           : engine::request_check::key_known(view);
}

// --- NAKs

class KeepsRnrTimer final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.min_rnr_timer) return;
        told_[qpn] = *attributes.min_rnr_timer;
        if (states_[qpn] == engine::QpState::Rts) attributes.min_rnr_timer.reset();
    }
    void qp_changed(const engine::QpReport& report) override { states_[report.qpn] = report.state; }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.min_rnr_timer = told->second;
    }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
    std::map<wire::Qpn, std::uint8_t> told_;
};

struct Executed {
    Arrivals arrivals;
    std::optional<wire::Psn> long_read; // the newest request, if it is one
};

class NamesPsnInsideRead final : public QpFilter<Executed> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, long_read] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place != Arrivals::Place::Expected) return;
        long_read.reset();
        if (is_read_request(packet) && wire::packets_of(packet.reth.dma_length, qp.mtu()) > 1) {
            long_read = packet.bth.psn;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        const auto& read = qp.memory.long_read;
        if (is_sequence_nak(passage.packet) && read) passage.packet.bth.psn = *read + 1;
    }
};

struct Answering {
    Arrivals arrivals;
    std::uint32_t due = 0; // READ responses that have not left
    bool mute = false;
};

class NoNakWhileReadIsAnswered final : public QpFilter<Answering> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, due, mute] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Ahead) mute |= due > 0;
        if (place != Arrivals::Place::Expected) return;
        mute = false;
        if (is_read_request(packet)) {
            due += wire::packets_of(packet.reth.dma_length, qp.mtu());
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        auto& [arrivals, due, mute] = qp.memory;
        if (is_read_response(passage.packet) && due > 0) --due;
        if (!is_sequence_nak(passage.packet) || !mute) return;
        passage.dropped = true;
        mute = false;
    }
};

struct Refused {
    Arrivals arrivals;
    bool write = false; // the newest request is a part of one
};

class RnrNamesFirst final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, write] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Expected) {
            write = packet.info().operation == Operation::RdmaWrite;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        auto& [arrivals, write] = qp.memory;
        arrivals.expect(packet.bth.psn);
        if (write) packet.bth.psn = arrivals.first;
    }
};

// --- answers

struct Overtaken {
    Arrivals arrivals;
    std::optional<wire::Psn> atomic; // that is not answered
    std::optional<wire::Packet> held;
    std::vector<std::byte> body;
};

class AtomicOvertakesRead final : public QpFilter<Overtaken> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        const bool atomic = packet.headers.has(wire::Header::AtomicEth);
        if (place == Arrivals::Place::Expected && atomic) qp.memory.atomic = packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        auto& [arrivals, atomic, held, body] = qp.memory;
        const bool answers = packet.info().operation == Operation::AtomicAcknowledge;
        if (held) {
            (answers ? passage.after : passage.before).push_back(*held);
            held.reset();
        }
        if (answers) atomic.reset();
        const bool ends = is_read_response(packet) && packet.info().ends_message();
        if (!ends || !atomic || *atomic != packet.bth.psn + 1) return;
        body.assign(packet.body.begin(), packet.body.end());
        held = packet;
        held->body = body;
        passage.dropped = true;
    }
};

struct Answered {
    wire::Aeth aeth; // of the newest response that has one
};

class BeginsAnewAtWrap final : public QpFilter<Answered> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (has_aeth(packet)) qp.memory.aeth = packet.aeth;
        if (!is_read_response(packet)) return;
        const wire::OpcodeInfo& info = packet.info();
        const bool last = packet.bth.psn.value() == wire::kMask24;
        const bool first = packet.bth.psn.value() == 0;
        if (!last && !first) return;
        const auto place =
            wire::position_of(first || info.starts_message(), last || info.ends_message());
        set_place(packet, place);
        packet.aeth = qp.memory.aeth;
    }
};

struct Replays {
    Arrivals arrivals;
    std::deque<wire::Psn> newest; // READs and atomics, the oldest first
};

class OneReplayTooFew final : public QpFilter<Replays> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool atomic = packet.headers.has(wire::Header::AtomicEth);
        if (!packet.info().request()) return;
        auto& [arrivals, newest] = qp.memory;
        const std::size_t depth = qp.report.attributes.max_dest_rd_atomic.value_or(0);
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        if (place == Arrivals::Place::Expected && (atomic || is_read_request(packet))) {
            newest.push_back(packet.bth.psn);
            if (newest.size() > depth) newest.pop_front();
        }
        const bool oldest = newest.size() == depth && depth > 1 && newest.front() == packet.bth.psn;
        passage.dropped = place == Arrivals::Place::Behind && atomic && oldest;
    }
};

// --- data

class LosesFullOf4096 final : public DmaFilter<OpenWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t full = 4096;
        OpenWrite& write = qp.memory;
        wire::Packet& packet = passage.packet;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        if (packet.payload().size() != full) return;
        const auto old = regions().at(write.reth.rkey, write.begin, full);
        if (old.size() != full) return;
        write.body.assign(old.begin(), old.end());
        packet.body = write.body;
    }
};

struct Rewound {
    OpenWrite write;
    std::optional<std::uint64_t> at; // of the next bytes, after a duplicate
};

class DuplicateFirstRewinds final : public DmaFilter<Rewound> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [write, at] = qp.memory;
        const wire::Psn expected = write.arrivals.next.value_or(qp.first_request());
        const bool first_of_write = packet.info().operation == Operation::RdmaWrite &&
                                    packet.info().position == Position::First;
        const bool behind = wire::distance(expected, packet.bth.psn) < 0;
        if (behind && first_of_write && write.arrivals.open) at = write.reth.virtual_address;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        if (packet.info().starts_message()) at.reset();
        if (!at) return;
        const wire::Bytes data = packet.payload();
        const auto right = regions().at(write.reth.rkey, write.begin, data.size());
        const auto wrong = regions().at(write.reth.rkey, *at, data.size());
        if (right.size() != data.size() || wrong.size() != data.size()) return;
        write.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(right, write.body.begin());
        std::ranges::copy(data, wrong.begin());
        *at += data.size();
        packet.body = write.body;
    }
};

// --- UC

struct Gaps {
    std::optional<wire::Psn> next;
    std::int32_t by = 0; // PSNs that are missing in the open message
};

class UcGapOverlooked final : public QpFilter<Gaps> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().service != wire::Service::Uc || !packet.info().request()) return;
        auto& [next, by] = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        if (packet.info().starts_message()) {
            by = 0;
        } else if (next && wire::distance(*next, psn) > 0) {
            by += wire::distance(*next, psn);
        }
        next = psn + 1;
        packet.bth.psn = psn - by;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "rnr_timer_change_in_rts_ignored",
           .rule = "RNR-07",
           .description = "A new min_rnr_timer of a QP in RTS has no effect: RNR NAKs keep the "
                          "old code.",
           .cases = "rnr/new-timer",
           .make_filter = make<KeepsRnrTimer>},
    Mutant{.name = "gap_behind_read_named_inside_it",
           .rule = "RSP-02",
           .description = "The sequence NAK of a gap behind a READ of several packets names the "
                          "READ's second PSN.",
           .cases = "rsp/gap-after-a-long-read",
           .make_filter = make<NamesPsnInsideRead>},
    Mutant{.name = "no_nak_while_read_is_answered",
           .rule = "RSP-02",
           .description = "The sequence NAK of a gap that comes while a READ is being answered is "
                          "lost.",
           .cases = "rsp/gap-after-a-long-read",
           .make_filter = make<NoNakWhileReadIsAnswered>},
    Mutant{.name = "rnr_nak_names_first_of_write",
           .rule = "RNR-02",
           .description = "The RNR NAK of a long WRITE with immediate data names its FIRST.",
           .make_filter = make<RnrNamesFirst>},
    Mutant{.name = "atomic_answer_overtakes_read",
           .rule = "RDR-11",
           .description = "The answer to an atomic leaves before the last response to the READ "
                          "before it.",
           .cases = "rdr/then-an-atomic",
           .make_filter = make<AtomicOvertakesRead>},
    Mutant{.name = "read_response_begins_anew_at_wrap",
           .rule = "RDR-01",
           .description = "A READ response that crosses the wrap ends at PSN 0xFFFFFF and begins "
                          "again at 0.",
           .cases = "rsp/at-psn",
           .make_filter = make<BeginsAnewAtWrap>},
    Mutant{.name = "one_replay_too_few",
           .rule = "ATM-06",
           .description = "Of as many READs and atomics as were agreed upon, the oldest is not "
                          "remembered: if it is an atomic, its duplicate gets no answer.",
           .cases = "atm/replays-on-three-qps",
           .make_filter = make<OneReplayTooFew>},
    Mutant{.name = "packet_of_4096_not_written",
           .rule = "RSP-01",
           .description = "The 4096 bytes of a full WRITE packet at the largest MTU are not "
                          "written.",
           .make_filter = make<LosesFullOf4096>},
    Mutant{.name = "duplicate_first_rewinds_write",
           .rule = "RSP-13",
           .description = "After a duplicate WRITE FIRST the rest of the open WRITE goes to its "
                          "beginning.",
           .cases = "rsp/old-writes-inside-a-write",
           .make_filter = make<DuplicateFirstRewinds>},
    Mutant{.name = "full_last_ends_write_early",
           .rule = "LEN-04",
           .description = "A LAST of a whole PMTU may end a WRITE that announced more.",
           .cases = "len/ends-early",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, full_last_is_enough)},
    Mutant{.name = "only_of_512_at_mtu_256",
           .rule = "LEN-03",
           .description = "At PMTU 256 an ONLY may have up to 512 bytes.",
           .checks = kStandardChecks.with(RequestCheck::PayloadLength, buffer_has_512)},
    Mutant{.name = "key_of_empty_read_checked",
           .rule = "N-37",
           .description = "A READ of no bytes needs a key that exists.",
           .cases = "len/zero-length-read-any-key",
           .checks = kStandardChecks.with(RequestCheck::KeyKnown, empty_read_has_key)},
    Mutant{.name = "uc_gap_overlooked",
           .rule = "EXT-06",
           .description = "A UC message that lost a packet in its middle is delivered without it.",
           .make_filter = make<UcGapOverlooked>},
};

} // namespace
} // namespace veriroce::mutants::of_blind3_responder

namespace veriroce::mutants {

std::span<const Mutant> blind3_responder() {
    return of_blind3_responder::kMutants;
}

} // namespace veriroce::mutants
