// Defects in what answers READs and atomics.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_rdr_atm {
namespace {

using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Position;

// RDR-01: the last full packet is not the last.
class EndsEmpty final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message() ||
            packet.payload().size() != wire::bytes_of(qp.mtu())) {
            return;
        }
        wire::Packet last = packet;
        set_place(last, Position::Last);
        last.bth.psn += 1;
        last.body = {};
        passage.after.push_back(last);
        set_place(packet, packet.info().starts_message() ? Position::First : Position::Middle);
    }
};

// EXT-01: what is behind the first eight bytes is ignored.
void eight_bytes_of_an_atomic_write(wire::Packet& packet) {
    constexpr std::size_t eight = 8;
    if (packet.info().operation != wire::Operation::AtomicWrite || packet.body.size() <= eight)
        return;
    packet.body = packet.body.first(eight);
    packet.bth.pad = 0;
    packet.reth.dma_length = eight;
}

// RDR-14: it names the last response of the READ that loses its key.
class NakNamesLastResponse final : public QpFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_fatal_nak(packet)) return;
        const auto read = qp.memory.holding(packet.bth.psn);
        if (read && read->request.bth.psn != packet.bth.psn)
            packet.bth.psn = read->request.bth.psn + static_cast<std::int32_t>(read->packets - 1);
    }
};

// RDR-09: a READ that came again while it was answered keeps its place for ever, and when all are
// kept, later READs are refused.
struct KeptPlaces {
    ReadLog reads;
    std::optional<wire::Psn> answering; // the latest response, if more of them follow
    std::set<std::uint32_t> kept;       // the first PSNs of such READs
};
class RestartedReadKeepsItsPlace final : public QpFilter<KeptPlaces> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        KeptPlaces& memory = qp.memory;
        const auto known = memory.reads.holding(packet.bth.psn);
        if (known && memory.answering && known->holds(*memory.answering)) {
            memory.kept.insert(known->request.bth.psn.value());
            return;
        }
        if (!known && memory.kept.size() >= qp.report.attributes.max_dest_rd_atomic.value_or(1)) {
            passage.dropped = true;
            passage.answers.push_back(
                acknowledge(qp.peer(), packet.bth.pkey, packet.bth.psn,
                            wire::Syndrome::nak(wire::NakCode::InvalidRequest), {}));
            return;
        }
        memory.reads.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        qp.memory.answering.reset();
        if (!packet.info().ends_message()) qp.memory.answering = packet.bth.psn;
    }
};

void msn_from_before(wire::Packet& packet) {
    if (is_read_response(packet) && has_aeth(packet)) packet.aeth.msn = packet.aeth.msn + -1;
}

// RDR-05: the tail's request is given the address of the whole READ.
class TailFromTheStart final : public QpFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        const auto whole = qp.memory.holding(packet.bth.psn);
        if (whole && whole->answered && whole->request.bth.psn != packet.bth.psn) {
            packet.reth.virtual_address = whole->request.reth.virtual_address;
        }
        qp.memory.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_read_response(passage.packet)) qp.memory.answer(passage.packet.bth.psn);
    }
};

struct OnlyResponses : Arrivals {
    struct Response {
        wire::Packet packet; // without its bytes
        std::size_t length = 0;
    };
    std::map<std::uint32_t, Response> by_psn;
};

// N-23: of a READ that comes again the key is not looked at any more.
class ReadsAgainByAnyKey final : public PlacesRequests<OnlyResponses> {
  protected:
    void requested(Qp& qp, Passage& passage, Arrivals::Place place) override {
        const wire::Packet& packet = passage.packet;
        const auto before = qp.memory.by_psn.find(packet.bth.psn.value());
        if (place != Arrivals::Place::Behind || !is_read_request(packet) ||
            before == qp.memory.by_psn.end()) {
            return;
        }
        const auto& [response, length] = before->second;
        const auto bytes = regions().anywhere(packet.reth.virtual_address, length);
        if (packet.reth.dma_length != length || bytes.empty()) return;
        wire::Packet answer = response;
        answer.body = bytes;
        passage.answers.push_back(answer);
        passage.dropped = true;
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool only = packet.info().starts_message() && packet.info().ends_message();
        if (!is_read_response(packet) || !only || packet.bth.pad != 0) return;
        OnlyResponses::Response& kept = qp.memory.by_psn[packet.bth.psn.value()];
        kept = {.packet = packet, .length = packet.body.size()};
        kept.packet.body = {};
    }
};

bool within_read_or_from_its_start(const RequestView& view) {
    const bool from_start = view.info.operation == wire::Operation::RdmaReadRequest && view.saved &&
                            view.packet.reth.rkey == view.saved->rkey &&
                            view.packet.reth.virtual_address == view.saved->address &&
                            view.packet.reth.dma_length <= view.saved->length;
    return from_start || engine::duplicate_check::within_read(view);
}

// ATM-04. The engine's PSN goes on with the extra atomic; the device's does not.
RequestVerdict execute_duplicate_add(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::expected_psn(view);
    const bool again = verdict == RequestVerdict::Duplicate &&
                       view.info.operation == wire::Operation::FetchAdd &&
                       view.inbound.open == engine::OpenMessage::None;
    return again ? RequestVerdict::Accept : verdict;
}

bool executed_add_again(const wire::Packet& packet, Told told) {
    return packet.info().operation == wire::Operation::AtomicAcknowledge && told.behind &&
           told.fresh;
}

bool atomic_write(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == wire::Operation::AtomicWrite;
}

void operands_swapped(wire::Packet& packet) {
    std::swap(packet.atomic.compare, packet.atomic.swap_or_add);
}

void original_lost(wire::Packet& packet) {
    packet.atomic_ack.original = 0;
}

constexpr std::array kMutants{
    Mutant{.name = "long_atomic_write_taken",
           .rule = "EXT-01",
           .description = "An ATOMIC WRITE of more than eight bytes writes the first eight.",
           .cases = "ext/atomic-write-of-other-lengths",
           .make_filter = make<EditsInbound<eight_bytes_of_an_atomic_write>>},
    Mutant{.name = "nak_inside_a_read_names_its_last_response",
           .rule = "RDR-14",
           .description =
               "The NAK for a READ that loses its key while it is answered names the PSN "
               "of the last response.",
           .judge_cases = "key/region-lost-inside-a-read key/window-lost-inside-a-read",
           .make_filter = make<NakNamesLastResponse>},
    Mutant{.name = "restarted_read_keeps_its_place",
           .rule = "RDR-09",
           .description = "A READ that comes again while it is answered keeps its place for ever: "
                          "later READs within the agreed number are refused.",
           .cases = "rdr/again-while-answered",
           .make_filter = make<RestartedReadKeepsItsPlace>},
    Mutant{.name = "full_last_followed_by_empty_last",
           .rule = "RDR-01",
           .passive = true,
           .description = "A READ whose length is a multiple of the PMTU is answered with all its "
                          "data in FIRST and MIDDLEs and one more, empty LAST.",
           .cases = "rdr/msn rdr/response-opcodes rdr/whole-packets",
           .make_filter = make<EndsEmpty>},
    Mutant{.name = "read_not_in_its_msn",
           .rule = "RDR-03",
           .passive = true,
           .description = "READ responses, LAST and ONLY included, carry the MSN from before the "
                          "READ.",
           .cases = "ack/each-kind rdr/msn rdr/order rnr/no-receive-needed sta/ready-to-receive",
           .make_filter = make<EditsOutbound<msn_from_before>>},
    Mutant{.name = "read_tail_answered_from_the_start",
           .rule = "RDR-05",
           .passive = true,
           .description =
               "A READ for the tail of an earlier one is answered from the first byte of "
               "the original: right PSNs, wrong data.",
           .cases = "rdr/repeated-long-read rdr/tail rdr/tail-from-each-packet",
           .checks = engine::kStandardChecks.with(DuplicateCheck::WithinRead,
                                                  within_read_or_from_its_start),
           .make_filter = make<TailFromTheStart>},
    Mutant{.name = "key_of_a_duplicate_read_ignored",
           .rule = "N-23",
           .description = "A duplicate READ of one packet is answered whatever has become of its "
                          "key.",
           .cases = "rdr/duplicate-by-a-window-given-up rdr/duplicate-by-an-old-key-of-a-window",
           .make_filter = make<ReadsAgainByAnyKey>},
    Mutant{.name = "duplicate_atomic_executed_again",
           .rule = "ATM-04",
           .passive = true,
           .description =
               "A duplicate FETCH_ADD adds once more and returns the present value under "
               "the old PSN.",
           .cases = "atm/duplicate atm/duplicates-of-each atm/replay-cache n/one-pool",
           .checks = engine::kStandardChecks.with(RequestCheck::ExpectedPsn, execute_duplicate_add),
           .make_filter = make<ShiftsPsns<executed_add_again>>},
    Mutant{.name = "atomic_write_dropped",
           .rule = "EXT-02",
           .description = "ATOMIC WRITE requests are dropped.",
           .cases = "ext/atomic-write",
           .make_filter = make<DropsInbound<atomic_write>>},
    Mutant{.name = "atomic_operands_swapped",
           .rule = "ATM-08",
           .description = "COMPARE_SWAP compares with the new value and writes the expected one.",
           .cases = "atm/compare-swap rdr/more-atomics-than-agreed",
           .make_filter = make<EditsInbound<operands_swapped>>},
    Mutant{.name = "atomic_original_not_returned",
           .rule = "ATM-01",
           .description = "ATOMIC ACKNOWLEDGEs carry 0 in place of the value that was in memory.",
           .cases = "atm/compare-swap atm/fetch-add atm/two-qps",
           .make_filter = make<EditsOutbound<original_lost>>},
};

} // namespace
} // namespace veriroce::mutants::of_rdr_atm

namespace veriroce::mutants {

std::span<const Mutant> rdr_atm() {
    return of_rdr_atm::kMutants;
}

} // namespace veriroce::mutants
