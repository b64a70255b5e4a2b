// Written blind, eleventh sample: responders. About half of these defects show only where two
// things come together.
#include <cstring>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind11_responder {
namespace {

using engine::kStandardChecks;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

// A filter that is told of each request where it lies, and knows about when it comes.
template <std::derived_from<Arrivals> Memory>
class PlacesRequestsInTime : public PlacesRequests<Memory> {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes /*frame*/, wire::Instant now) final {
        now_ = now;
        return std::nullopt;
    }

  protected:
    [[nodiscard]] wire::Instant now() const { return now_; }

  private:
    wire::Instant now_;
};

bool is_rc(const wire::Packet& packet) {
    return packet.info().service == wire::Service::Rc;
}

// --- checks

// The end of a range is computed first, and one that overflows is lost on its way to the NAK.
RequestVerdict range_beyond_addresses_lost(const RequestView& view) {
    const auto& target = view.target;
    const bool ends_beyond = target && !target->whole && target->length != 0 &&
                             target->address + (target->length - 1) < target->address;
    return ends_beyond ? RequestVerdict::Drop : engine::request_check::key_range(view);
}

// A FLUSH moves no bytes: its range is not translated.
RequestVerdict flush_goes_anywhere(const RequestView& view) {
    const bool flush = view.info.operation == Operation::Flush;
    return flush ? RequestVerdict::Accept : engine::request_check::key_range(view);
}

// An atomic reads, and so the right to atomics is taken for one to read.
RequestVerdict right_to_atomics_reads(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    return read && view.connection.access.remote_atomic ? RequestVerdict::Accept
                                                        : engine::request_check::rights(view);
}

// The domain is compared where a window's QP is: in windows of type 2.
RequestVerdict shared_windows_in_any_domain(const RequestView& view) {
    const bool shared = view.target && view.memory.slot(view.target->rkey.value).kind ==
                                           engine::KeyKind::WindowType1;
    return shared ? RequestVerdict::Accept : engine::request_check::key_domain(view);
}

// The table of opcodes is asked before the PSN counts.
RequestVerdict reserved_opcode_before_psn(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool naked = verdict == RequestVerdict::Duplicate && view.info.reserved();
    return naked ? RequestVerdict::NakInvalidRequest : verdict;
}

// While nothing has been executed there is nothing that a PSN could be behind.
RequestVerdict nothing_is_behind_first_psn(const RequestView& view) {
    const auto verdict = engine::request_check::expected_psn(view);
    const bool first = view.inbound.expected_psn == view.connection.initial_rq_psn &&
                       view.inbound.msn == wire::Msn{};
    if (verdict != RequestVerdict::Duplicate || !first) return verdict;
    const bool naked = view.inbound.nak != engine::NakState::None;
    return naked ? RequestVerdict::Drop : RequestVerdict::NakSequence;
}

// --- windows

// A window of type 2 gives its rights only where the region behind it gives them as well.
class WindowNeedsRightsOfRegion final : public QpFilter<Nothing> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.insert_or_assign(region.mr, region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == WrOpcode::BindMw && request.bind) {
            windows_.insert_or_assign(request.rkey, *request.bind);
        }
    }

  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool read = is_read_request(packet);
        const bool write = info.operation == Operation::RdmaWrite && info.starts_message();
        if ((!read && !write) || !is_rc(packet)) return;
        const auto window = windows_.find(packet.reth.rkey);
        if (window == windows_.end()) return;
        const engine::BindInfo& bind = window->second;
        const auto region = regions_.find(bind.mr);
        if (region == regions_.end() || bind.access.zero_based) return;
        const auto right = read ? &engine::Access::remote_read : &engine::Access::remote_write;
        if (bind.access.*right && !(region->second.access.*right)) {
            packet.reth.rkey = region->second.rkey; // which draws the NAK
        }
    }

  private:
    std::map<wire::Rkey, engine::BindInfo> windows_;
    std::map<engine::MrId, engine::RegisteredRegion> regions_;
};

// The offset of a window in its region is part of its first address, which a zero-based one lacks.
class ZeroBasedWindowAtRegionBegin final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        begins_.insert_or_assign(region.mr, region.address);
    }
    void region_deregistered(engine::MrId mr) override { begins_.erase(mr); }
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != WrOpcode::BindMw || !request.bind) return;
        const auto begin = begins_.find(request.bind->mr);
        if (begin == begins_.end() || !request.bind->access.zero_based) return;
        if (request.bind->address > begin->second) request.bind->address = begin->second;
    }

  private:
    std::map<engine::MrId, std::uint64_t> begins_;
};

struct Invalidates : Arrivals {
    std::optional<wire::Psn> end; // of the newest message
    bool invalidates = false;     // the newest message does
    bool ignored = false;         // its key
};

// The slot of the key that is being revoked is still in use by the SEND before.
class SecondInvalidateIgnored final : public PlacesRequests<Invalidates> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        Invalidates& memory = qp.memory;
        if (place != Place::Expected || !is_rc(packet) || !packet.info().ends_message()) return;
        const bool invalidates = packet.info().invalidates();
        if (memory.end != packet.bth.psn) { // it is not the same once more, after an RNR NAK
            memory.ignored = invalidates && memory.invalidates;
            memory.invalidates = invalidates;
            memory.end = packet.bth.psn;
        }
        if (memory.ignored && invalidates) {
            set_opcode(packet, Operation::Send, packet.info().position);
        }
    }
};

// --- RNR NAKs

struct RnrNakedFirst : Arrivals {
    std::optional<wire::Psn> naked; // a FIRST, which has opened its message all the same
};

class RnrNakedFirstRefused final : public PlacesRequests<RnrNakedFirst> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        const bool again = std::exchange(qp.memory.naked, std::nullopt) == packet.bth.psn;
        const wire::OpcodeInfo& info = packet.info();
        const bool first = info.operation == Operation::Send && info.position == Position::First;
        if (again && first) set_place(packet, Position::Middle); // which may not come here either
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        RnrNakedFirst& memory = qp.memory;
        const bool opened = memory.open && memory.first == packet.bth.psn;
        if (is_rnr_nak(packet) && opened) memory.naked = packet.bth.psn;
    }
};

// There is one timer for the RNR NAKs of the device, and no look at whose it is.
class RnrTimeHoldsForAll final : public PlacesRequestsInTime<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc(packet) || !packet.info().consumes_receive()) return;
        if (qp.report.qpn == owner_) {
            if (place == Place::Expected) until_.reset();
            return;
        }
        passage.dropped = until_ && now() < *until_;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        owner_ = qp.report.qpn;
        until_ = now() + wire::rnr_time(passage.packet.aeth.syndrome.code());
    }

  private:
    wire::Qpn owner_; // that sent the newest RNR NAK
    std::optional<wire::Instant> until_;
};

struct SharedUse : Arrivals {
    std::optional<wire::Psn> taking; // the newest packet that took a receive
    bool took = false;               // and one has been acknowledged
};

// A QP that takes its receives out of a shared queue does not ask whether there are any.
class EmptySharedQueueInSilence final : public PlacesRequests<SharedUse> {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& /*request*/) override {
        own_.insert(qpn);
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        if (place == Place::Expected && info.consumes_receive() && info.ends_message()) {
            qp.memory.taking = passage.packet.bth.psn;
        }
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        SharedUse& memory = qp.memory;
        if (own_.contains(qp.report.qpn)) return;
        if (is_ack(packet) && memory.taking) {
            memory.took |= wire::distance(*memory.taking, packet.bth.psn) >= 0;
        }
        passage.dropped = is_rnr_nak(packet) && memory.took;
    }

  private:
    std::set<wire::Qpn> own_; // QPs that have had a receive of their own
};

// --- gaps and duplicates

struct ReadInFront : Arrivals {
    std::optional<wire::Psn> last; // response to the newest READ, until it has left
    bool naked = false;            // a NAK has left, and the expected request has not come since
    bool gap = false;              // came while the READ was being answered
    std::vector<std::byte> held;   // the last response, which leaves behind the NAK
};

// NAKs have a queue of their own, which is served first.
class NakOvertakesReadResponse final : public PlacesRequests<ReadInFront> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        ReadInFront& memory = qp.memory;
        if (place == Place::Ahead && memory.last && !memory.naked) memory.gap = true;
        if (place != Place::Expected) return;
        memory.naked = memory.gap = false;
        if (!is_read_request(packet)) return;
        const std::int64_t packets = wire::packets_of(packet.reth.dma_length, qp.mtu());
        memory.last = packet.bth.psn + (packets - 1);
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        ReadInFront& memory = qp.memory;
        if (is_read_response(packet) && memory.last == packet.bth.psn) {
            memory.last.reset();
            passage.dropped = memory.gap;
            if (memory.gap) memory.held = bytes_of(packet);
        }
        if (!is_nak(packet)) return;
        memory.naked = true;
        if (!std::exchange(memory.gap, false) || memory.held.empty()) return;
        leaving_ = std::exchange(memory.held, {});
        if (const auto response = wire::decode_packet(leaving_)) passage.after.push_back(*response);
    }

  private:
    std::vector<std::byte> leaving_; // what `after` points into
};

class DuplicatesDroppedInSqd final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        passage.dropped = place == Place::Behind && qp.report.state == QpState::Sqd;
    }
};

// --- atomics

// An addition takes a while from its load to its store, and the next one does not wait for it.
class AdditionsAtOnceLoseOne final : public PlacesRequestsInTime<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        constexpr wire::Duration pipeline = std::chrono::microseconds(10);
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        const auto before = std::exchange(newest_, std::nullopt);
        const wire::AtomicEth& asked = packet.atomic;
        if (packet.info().operation != Operation::FetchAdd) return;
        const auto region = regions().live(asked.rkey);
        if (!region || !region->access.remote_atomic) return;
        const auto word = Regions::range(*region, asked.virtual_address, sizeof(std::uint64_t));
        if (word.empty() || asked.virtual_address % word.size() != 0) return;
        newest_ = Addition{.rkey = asked.rkey, .address = asked.virtual_address, .at = now()};
        const bool at_once = before && before->rkey == asked.rkey &&
                             before->address == asked.virtual_address &&
                             now() - before->at < pipeline;
        if (at_once) std::memcpy(word.data(), &before->found, word.size());
        std::memcpy(&newest_->found, word.data(), word.size());
    }

  private:
    struct Addition {
        wire::Rkey rkey;
        std::uint64_t address = 0;
        wire::Instant at;
        std::uint64_t found = 0; // as the host has it
    };
    std::optional<Addition> newest_; // the newest request of all, if it is one
};

// --- receives

// Whole words are written, to the last of a receive too.
class PadWrittenBehindReceive final : public DmaFilter<Nothing> {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        receives_.erase(request.id);
        if (request.sges.empty()) return;
        std::uint64_t bytes = 0;
        for (const engine::Sge& piece : request.sges)
            bytes += piece.length;
        const engine::Sge& last = request.sges.back();
        receives_.emplace(request.id, Room{.bytes = bytes, .end = last.address + last.length});
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool send = completion.queue == engine::Queue::Receive &&
                          completion.status == engine::WcStatus::Success &&
                          completion.opcode == engine::WcOpcode::Recv && !completion.source_qp;
        const auto receive = send ? receives_.find(completion.id) : receives_.end();
        if (receive == receives_.end() || receive->second.bytes != completion.byte_len) {
            return completion;
        }
        const auto behind =
            regions().anywhere(receive->second.end, wire::pad_of(completion.byte_len));
        std::ranges::fill(behind, std::byte{0});
        return completion;
    }

  private:
    struct Room {
        std::uint64_t bytes = 0;
        std::uint64_t end = 0; // the address behind the last piece
    };
    std::map<std::uint64_t, Room> receives_; // by wr_id
};

// The row of the table for this opcode has no receive.
void uc_immediate_write_ends_plain(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool meant = info.service == wire::Service::Uc &&
                       info.operation == Operation::RdmaWrite && info.position == Position::Last &&
                       info.immediate();
    if (!meant) return;
    packet.bth.opcode =
        wire::opcode_of(wire::Service::Uc, Operation::RdmaWrite, Position::Last).value();
    packet.headers = packet.info().headers;
}

// The receives of all QPs stand in one counter.
class CreditsCountOtherQps final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset || attributes.state == QpState::Err) {
            receives_.erase(qpn);
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        wire::Syndrome& syndrome = packet.aeth.syndrome;
        if (syndrome.kind() != wire::AckKind::Ack) return;
        const auto own = wire::credits_of(syndrome.code());
        if (!own) return;
        receives_.insert_or_assign(qp.report.qpn, *own);
        std::uint32_t all = 0;
        for (const auto& [qpn, receives] : receives_)
            all += receives;
        syndrome = wire::Syndrome::ack(wire::credit_code_of(all));
    }

  private:
    std::map<wire::Qpn, std::uint32_t> receives_; // as each QP would have told last
};

constexpr std::array kMutants{
    // Keys, rights, windows
    Mutant{.name = "range_beyond_all_addresses_in_silence",
           .rule = "KEY-05",
           .description = "A request whose range goes on behind the last 64-bit address gets no "
                          "answer.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, range_beyond_addresses_lost)},
    Mutant{.name = "flush_beyond_its_region_answered",
           .rule = "KEY-05",
           .description = "A FLUSH of a range that its region does not have is answered.",
           .cases = "key/flush-out-of-range",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, flush_goes_anywhere)},
    Mutant{.name = "right_to_atomics_lets_reads_in",
           .rule = "KEY-01",
           .description = "A QP with REMOTE_ATOMIC and without REMOTE_READ takes READs.",
           .checks = kStandardChecks.with(RequestCheck::Rights, right_to_atomics_reads)},
    Mutant{.name = "shared_window_in_any_domain",
           .rule = "KEY-03",
           .description = "A window of type 1 lets WRITEs and atomics in that come to QPs of "
                          "another protection domain.",
           .cases = "key/window-in-another-domain",
           .checks = kStandardChecks.with(RequestCheck::KeyDomain, shared_windows_in_any_domain)},
    Mutant{.name = "window_needs_rights_of_its_region",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A window of type 2 lets READs or WRITEs in only if the region behind "
                          "it has the same right.",
           .cases = "key/window-rights-of-its-own",
           .make_filter = make<WindowNeedsRightsOfRegion>},
    Mutant{.name = "zero_based_window_begins_with_region",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A zero-based window opens the bytes at the beginning of its region, "
                          "wherever it was bound.",
           .make_filter = make<ZeroBasedWindowAtRegionBegin>},
    Mutant{.name = "second_invalidate_in_a_row_ignored",
           .rule = "KEY-11",
           .description = "Of SENDs with invalidate that follow each other the first alone "
                          "revokes its key.",
           .cases = "key/invalidates-in-a-row",
           .make_filter = make<SecondInvalidateIgnored>},
    // RNR NAKs, receives
    Mutant{.name = "rnr_naked_first_refused_when_it_comes_again",
           .rule = "RNR-06",
           .description = "A SEND FIRST that was RNR NAKed draws NAK Invalid Request when it "
                          "comes again, as a second FIRST of its message.",
           .make_filter = make<RnrNakedFirstRefused>},
    Mutant{.name = "rnr_time_of_one_qp_holds_for_all",
           .rule = "ACK-01",
           .description = "While the time runs that one QP's RNR NAK asked for, the SENDs of all "
                          "other QPs are dropped.",
           .make_filter = make<RnrTimeHoldsForAll>},
    Mutant{.name = "empty_shared_queue_in_silence",
           .rule = "RNR-14",
           .description = "A SEND that finds the shared queue empty is dropped in silence, once "
                          "its QP has taken a receive out of it.",
           .make_filter = make<EmptySharedQueueInSilence>},
    Mutant{.name = "pad_of_send_written_behind_receive",
           .rule = "KEY-14",
           .description = "The pad bytes of a SEND that fills its receive are written behind it.",
           .cases = "key/receives-filled-to-the-byte",
           .make_filter = make<PadWrittenBehindReceive>},
    Mutant{.name = "uc_long_immediate_write_takes_no_receive",
           .rule = "N-15",
           .description = "A UC WRITE of several packets with immediate data takes no receive, "
                          "and its immediate data are lost.",
           .make_filter = make<EditsInbound<uc_immediate_write_ends_plain>>},
    Mutant{.name = "credits_count_receives_of_other_qps",
           .rule = "ACK-10",
           .level = "SHOULD",
           .description = "The credits of an ACK count the receives of all QPs.",
           .behaviour = {.credits = true},
           .make_filter = make<CreditsCountOtherQps>},
    // Order
    Mutant{.name = "reserved_opcode_behind_naked",
           .rule = "RSP-12",
           .description = "A packet with a reserved opcode and an old PSN draws NAK Invalid "
                          "Request.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, reserved_opcode_before_psn)},
    Mutant{.name = "old_psn_before_first_request_naked",
           .rule = "RSP-08",
           .description = "Before a connection's first request an old PSN draws a sequence NAK.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, nothing_is_behind_first_psn)},
    Mutant{.name = "nak_overtakes_last_read_response",
           .rule = "RDR-11",
           .description = "The sequence NAK of a gap that comes while a READ is being answered "
                          "leaves before the last response.",
           .make_filter = make<NakOvertakesReadResponse>},
    Mutant{.name = "duplicates_dropped_in_sqd",
           .rule = "RSP-10",
           .description = "In SQD requests that come again get no answer.",
           .make_filter = make<DuplicatesDroppedInSqd>},
    Mutant{.name = "additions_at_once_lose_one",
           .rule = "ATM-01",
           .description = "A FETCH_ADD that comes within 10 us of another one to the same word, "
                          "with no other request between them, adds to what that one found.",
           .make_filter = make<AdditionsAtOnceLoseOne>},
};

} // namespace
} // namespace veriroce::mutants::of_blind11_responder

namespace veriroce::mutants {

std::span<const Mutant> blind11_responder() {
    return of_blind11_responder::kMutants;
}

} // namespace veriroce::mutants
