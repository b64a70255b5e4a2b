// Written blind, sixth sample: responders with duplicates, gaps, RNR NAKs, READs, atomics, keys and
// lengths.
#include <cstring>
#include <map>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind6_responder {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
using Place = Arrivals::Place;

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kPage = 4096;

bool plain(const wire::Packet& packet) { // of an answer that is an ACK
    const Operation operation = packet.info().operation;
    return operation == Operation::Send || operation == Operation::RdmaWrite;
}

// --- checks

RequestVerdict write_may_lack_packets(const RequestView& view) {
    const auto verdict = engine::request_check::message_length(view);
    const bool last =
        view.info.operation == Operation::RdmaWrite && view.info.position == Position::Last;
    const std::uint64_t came = view.inbound.received + view.packet.payload().size();
    const bool whole = last && came < view.inbound.announced &&
                       (view.inbound.announced - came) % wire::bytes_of(view.connection.mtu) == 0;
    return whole ? RequestVerdict::Accept : verdict;
}

RequestVerdict room_for_pad(const RequestView& view) {
    const std::uint64_t before = view.info.starts_message() ? 0 : view.inbound.received;
    const bool too_long = view.info.operation == Operation::Send &&
                          before + view.packet.body.size() > view.receive_bytes;
    return too_long ? RequestVerdict::NakInvalidRequest : engine::request_check::receive_room(view);
}

RequestVerdict receive_has_pieces(const RequestView& view) {
    const bool none = view.info.operation == Operation::Send && view.receive_sges.empty();
    return none ? RequestVerdict::NakRemoteOperational
                : engine::request_check::receive_memory(view);
}

RequestVerdict short_writes_by_right_to_atomics(const RequestView& view) {
    const bool write = view.target && view.info.operation == Operation::RdmaWrite &&
                       view.info.position == Position::Only &&
                       view.memory.slot(view.target->rkey.value).access.remote_atomic;
    return write ? RequestVerdict::Accept : engine::request_check::key_rights(view);
}

// --- duplicates

class FarDuplicateDropped final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        constexpr std::int32_t kept = 255;
        const wire::Packet& packet = passage.packet;
        const bool connected = packet.info().service == wire::Service::Rc;
        if (place != Place::Behind || !connected || !plain(packet)) return;
        const wire::Psn next = qp.memory.next.value_or(qp.first_request());
        passage.dropped = wire::distance(packet.bth.psn, next) > kept;
    }
};

class EmptyReadNotRepeated final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        passage.dropped =
            place == Place::Behind && is_read_request(packet) && packet.reth.dma_length == 0;
    }
};

class AtomicWriteAgain final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Behind || packet.info().operation != Operation::AtomicWrite) return;
        const auto payload = packet.payload();
        const auto to = regions().at(packet.reth.rkey, packet.reth.virtual_address, payload.size());
        if (!to.empty()) std::ranges::copy(payload, to.begin());
    }
};

struct Waits : Arrivals {
    bool for_receive = false; // an RNR NAK was the last answer
};

class AddsInRnrWait final : public PlacesRequests<Waits> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place == Place::Expected) qp.memory.for_receive = false;
        const bool add = packet.info().operation == Operation::FetchAdd;
        if (place != Place::Behind || !qp.memory.for_receive || !add) return;
        const auto word = regions().at(packet.atomic.rkey, packet.atomic.virtual_address, kWord);
        if (word.empty()) return;
        std::uint64_t value = 0;
        std::memcpy(&value, word.data(), kWord);
        value += packet.atomic.swap_or_add;
        std::memcpy(word.data(), &value, kWord);
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.for_receive = true;
    }
};

struct OpenSend : Arrivals {
    std::uint32_t bytes = 0; // of the open SEND that came
    std::uint32_t again = 0; // of it that came more than once
};

class DuplicateCounted final : public PlacesRequests<OpenSend> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool receive =
            seen.queue == engine::Queue::Receive && seen.status == engine::WcStatus::Success;
        const auto found = receive ? extra_.find(seen.byte_len) : extra_.end();
        if (found == extra_.end()) return seen;
        seen.byte_len += found->second;
        extra_.erase(found);
        return seen;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        OpenSend& memory = qp.memory;
        if (packet.info().operation != Operation::Send) return;
        const auto bytes = static_cast<std::uint32_t>(packet.payload().size());
        if (place == Place::Behind && memory.open) memory.again += bytes;
        if (place != Place::Expected) return;
        if (packet.info().starts_message()) memory.bytes = memory.again = 0;
        memory.bytes += bytes;
        if (packet.info().ends_message() && memory.again > 0) {
            extra_[memory.bytes] = memory.again;
        }
    }

  private:
    std::map<std::uint32_t, std::uint32_t> extra_; // by the length of the whole message
};

// --- gaps and RNR NAKs

struct Gaps : Arrivals {
    std::optional<wire::Psn> naked; // the first PSN of the message in which a gap was NAKed
};

class OneGapInMessage final : public PlacesRequests<Gaps> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        Gaps& memory = qp.memory;
        if (!is_sequence_nak(passage.packet) || !memory.open) return;
        passage.dropped = memory.naked == memory.first;
        memory.naked = memory.first;
    }
};

void zero_named_by_last(wire::Packet& packet) {
    if (is_sequence_nak(packet) && packet.bth.psn == wire::Psn{}) packet.bth.psn += -1;
}

struct Ahead : Arrivals {
    std::optional<wire::Psn> ahead; // that drew a sequence NAK
};

class RnrNakNamesAhead final : public PlacesRequests<Ahead> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        auto& ahead = qp.memory.ahead;
        if (place == Place::Ahead && !ahead) ahead = passage.packet.bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        auto& ahead = qp.memory.ahead;
        if (is_sequence_nak(passage.packet)) return;
        if (ahead && is_rnr_nak(passage.packet)) passage.packet.bth.psn = *ahead;
        ahead.reset();
    }
};

struct Refused : Arrivals {
    std::optional<wire::Psn> psn;  // of the newest RNR NAK
    bool immediate_at_end = false; // the newest request ends a WRITE of several packets
};

class RevokesNothingAfterRnr final : public PlacesRequests<Refused> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const bool again = place == Place::Expected && qp.memory.psn == packet.bth.psn;
        if (again && packet.headers.has(wire::Header::Ieth))
            set_place(packet, packet.info().position);
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
};

class ShortestTimerOfLongWrite final : public PlacesRequests<Refused> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        if (place != Place::Expected) return;
        qp.memory.immediate_at_end = info.operation == Operation::RdmaWrite &&
                                     info.position == Position::Last && info.immediate();
    }
    void answered(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t shortest = 1;
        if (is_rnr_nak(passage.packet) && qp.memory.immediate_at_end) {
            passage.packet.aeth.syndrome = wire::Syndrome::rnr(shortest);
        }
    }
};

// --- MSN

struct Count : Arrivals {
    std::int32_t more = 0;        // messages that are counted and were none
    bool after_immediate = false; // the newest request is a WRITE with immediate data
};

// `More` says how many messages too many a request at the expected PSN counts.
template <std::int32_t (*More)(const wire::Packet&, const Count&)>
class CountsOtherwise final : public PlacesRequests<Count> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        if (place != Place::Expected) return;
        qp.memory.more += More(packet, qp.memory);
        qp.memory.after_immediate =
            packet.info().operation == Operation::RdmaWrite && packet.info().immediate();
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        packet.aeth.msn = packet.aeth.msn + qp.memory.more;
    }
};

std::int32_t atomic_behind_immediate(const wire::Packet& packet, const Count& count) {
    return is_atomic_request(packet) && count.after_immediate ? 1 : 0;
}
std::int32_t empty_write(const wire::Packet& packet, const Count& /*count*/) {
    const bool only = packet.info().operation == Operation::RdmaWrite &&
                      packet.info().position == Position::Only && !packet.info().immediate();
    return only && packet.reth.dma_length == 0 ? -1 : 0;
}

// --- READs

class CountsResponsesInAByte final : public QpFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::int32_t round = 256;
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto read = qp.memory.holding(packet.bth.psn);
        qp.memory.answer(packet.bth.psn);
        if (!read || packet.info().position != Position::Middle) return;
        if (wire::distance(read->request.bth.psn, packet.bth.psn) % round != 0) return;
        set_place(packet, Position::First);
        packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits), .msn = {}};
    }
};

class LastByteOfPageRepeats final : public QpFilter<ReadLog> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const auto read = qp.memory.holding(packet.bth.psn);
        qp.memory.answer(packet.bth.psn);
        const std::size_t bytes = packet.payload().size();
        if (!read || bytes < 2 || !packet.info().ends_message()) return;
        const wire::Reth& asked = read->request.reth;
        if ((asked.virtual_address + asked.dma_length) % kPage != 0) return;
        body_.assign(packet.body.begin(), packet.body.end());
        body_[bytes - 1] = body_[bytes - 2];
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

// --- memory

struct Shifted : OpenWrite {
    std::byte last{}; // of the packet before
};

class OddWriteRepeatsAtBorder final : public QpFilter<Shifted> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Shifted& memory = qp.memory;
        if (!memory.note(packet, qp.first_request(), qp.mtu()) || packet.payload().empty()) return;
        const std::byte last = packet.payload().back();
        if (!packet.info().starts_message() && memory.reth.virtual_address % 2 != 0) {
            memory.body.assign(packet.body.begin(), packet.body.end());
            memory.body.front() = memory.last;
            packet.body = memory.body;
        }
        memory.last = last;
    }
    void leaves(Qp& qp, Passage& passage) override { heed_nak(qp.memory.arrivals, passage.packet); }
};

// --- atomics

class OddWordComparesEven final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        wire::AtomicEth& atomic = passage.packet.atomic;
        const bool swap = passage.packet.info().operation == Operation::CompareSwap;
        if (place != Place::Expected || !swap) return;
        if (atomic.virtual_address % (2 * kWord) != kWord) return;
        const auto both = regions().at(atomic.rkey, atomic.virtual_address - kWord, 2 * kWord);
        if (both.empty()) return;
        std::uint64_t even = 0;
        std::uint64_t odd = 0;
        std::memcpy(&even, both.data(), kWord);
        std::memcpy(&odd, both.subspan(kWord).data(), kWord);
        if (even == atomic.compare) {
            atomic.compare = odd;
        } else if (odd == atomic.compare) {
            atomic.compare = ~odd;
        }
    }
};

constexpr std::array kMutants{
    Mutant{.name = "duplicate_far_behind_not_answered",
           .rule = "RSP-08",
           .description = "A duplicate SEND or WRITE more than 255 PSNs behind the expected one "
                          "gets no answer.",
           .cases = "rsp/duplicates-far-behind rsp/duplicates-of-each-distance",
           .make_filter = make<FarDuplicateDropped>},
    Mutant{.name = "duplicate_empty_read_not_answered",
           .rule = "RDR-04",
           .description = "A duplicate READ of no bytes gets no answer.",
           .make_filter = make<EmptyReadNotRepeated>},
    Mutant{.name = "duplicate_atomic_write_executed_again",
           .rule = "EXT-04",
           .description = "A duplicate ATOMIC WRITE is written once more.",
           .make_filter = make<AtomicWriteAgain>},
    Mutant{.name = "duplicate_add_executed_in_rnr_wait",
           .rule = "ATM-04",
           .description = "A duplicate FETCH_ADD adds once more while the QP waits for the request "
                          "that it RNR NAKed.",
           .make_filter = make<AddsInRnrWait>},
    Mutant{.name = "duplicate_counted_in_open_send",
           .rule = "RSP-13",
           .description = "A SEND that comes again while another one is open is counted in "
                          "that one's byte_len.",
           .make_filter = make<DuplicateCounted>},
    Mutant{.name = "second_gap_in_message_not_naked",
           .rule = "RSP-06",
           .description = "The second gap inside one message draws no NAK.",
           .cases = "rsp/gaps-inside-a-send rsp/gaps-inside-a-write",
           .make_filter = make<OneGapInMessage>},
    Mutant{.name = "gap_at_psn_zero_named_by_last_psn",
           .rule = "RSP-09",
           .description = "The sequence NAK for PSN 0 names PSN 0xFFFFFF.",
           .make_filter = make<EditsOutbound<zero_named_by_last>>},
    Mutant{.name = "rnr_nak_after_gap_names_packet_ahead",
           .rule = "N-09",
           .description = "The RNR NAK of a request that closes a gap names the packet that had "
                          "come ahead of it.",
           .make_filter = make<RnrNakNamesAhead>},
    Mutant{.name = "invalidate_forgotten_after_rnr",
           .rule = "KEY-11",
           .description = "A SEND with invalidate that was RNR NAKed is taken for a plain one when "
                          "it comes again.",
           .cases = "key/invalidate-in-each-recovery",
           .make_filter = make<RevokesNothingAfterRnr>},
    Mutant{.name = "rnr_timer_of_long_write_shortest",
           .rule = "RNR-07",
           .description = "The RNR NAK for a WRITE LAST with immediate data asks for 0.01 ms.",
           .make_filter = make<ShortestTimerOfLongWrite>},
    Mutant{.name = "atomic_behind_immediate_counted_twice",
           .rule = "ACK-07",
           .description = "An atomic right behind a WRITE with immediate data raises the MSN by "
                          "two.",
           .make_filter = make<CountsOtherwise<atomic_behind_immediate>>},
    Mutant{.name = "empty_write_not_counted",
           .rule = "ACK-07",
           .description = "A WRITE of no bytes does not raise the MSN.",
           .make_filter = make<CountsOtherwise<empty_write>>},
    Mutant{.name = "read_responses_counted_in_a_byte",
           .rule = "RDR-01",
           .description = "Each 256th packet of a READ response is a FIRST.",
           .cases = "rdr/above-64k rsp/duplicates-of-each-distance",
           .make_filter = make<CountsResponsesInAByte>},
    Mutant{.name = "read_to_end_of_page_repeats_a_byte",
           .rule = "RDR-01",
           .description = "Of a READ that ends with a page the last byte is the one before it.",
           .make_filter = make<LastByteOfPageRepeats>},
    Mutant{.name = "odd_write_repeats_byte_at_packet_border",
           .rule = "KEY-14",
           .description = "Of a WRITE to an odd address each later packet begins with the last "
                          "byte of the one before.",
           .make_filter = make<OddWriteRepeatsAtBorder>},
    Mutant{.name = "swap_of_odd_word_compares_even_one",
           .rule = "ATM-01",
           .description = "A CMP_SWAP at an odd multiple of eight compares the word before it.",
           .make_filter = make<OddWordComparesEven>},
    Mutant{.name = "write_may_lack_whole_packets",
           .rule = "LEN-04",
           .description = "A WRITE that lacks a multiple of the path MTU is accepted.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, write_may_lack_packets)},
    Mutant{.name = "pad_must_fit_receive",
           .rule = "LEN-06",
           .description = "A SEND is refused if it fits its receive, but not with its pad.",
           .cases = "len/hundred-receives",
           .checks = kStandardChecks.with(RequestCheck::ReceiveRoom, room_for_pad)},
    Mutant{.name = "receive_without_pieces_refused",
           .rule = "LEN-09",
           .description = "A SEND of no bytes into a receive without pieces draws NAK Remote "
                          "Operational.",
           .checks = kStandardChecks.with(RequestCheck::ReceiveMemory, receive_has_pieces)},
    Mutant{.name = "short_write_by_right_to_atomics",
           .rule = "KEY-04",
           .description = "A WRITE of one packet is let into a region with REMOTE_ATOMIC alone.",
           .checks =
               kStandardChecks.with(RequestCheck::KeyRights, short_writes_by_right_to_atomics)},
};

} // namespace
} // namespace veriroce::mutants::of_blind6_responder

namespace veriroce::mutants {

std::span<const Mutant> blind6_responder() {
    return of_blind6_responder::kMutants;
}

} // namespace veriroce::mutants
