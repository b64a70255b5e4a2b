// Defects of responders, written without a look at the cases.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::mutants::of_blind14_responder {
namespace {

using engine::Completion;
using engine::DatagramCheck;
using engine::DatagramView;
using engine::kStandardChecks;
using engine::NakState;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::WcOpcode;
using engine::WcStatus;
using wire::Operation;
using wire::Position;
namespace request_check = engine::request_check;

// --- requests in and their NAKs

// RSP-02: the NAK unit reads the PSN at which the message began, which stands beside the expected
// one in the context.
class NakNamesBeginOfMessage final : public PlacesRequests<Arrivals> {
  protected:
    void answered(Qp& qp, Passage& passage) override {
        const Arrivals& arrivals = qp.memory;
        if (is_sequence_nak(passage.packet) && arrivals.open) {
            passage.packet.bth.psn = arrivals.first;
        }
    }
};

// RSP-02: four contexts share a line of the cache, and the line has one flag "NAK was sent".
class NakFlagOfFourQps final : public PlacesRequests<Arrivals> {
  protected:
    void requested(Qp& qp, Passage& /*passage*/, Arrivals::Place place) override {
        if (place == Arrivals::Place::Expected) naked_.erase(line_of(qp));
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        const auto [holder, taken] = naked_.try_emplace(line_of(qp), qp.report.qpn);
        passage.dropped = !taken && holder->second != qp.report.qpn;
    }

  private:
    static std::uint32_t line_of(const Qp& qp) { return qp.report.qpn.value / 4; }
    std::map<std::uint32_t, wire::Qpn> naked_; // by line: who was NAKed
};

// RSP-12: a receive is fetched before the PSN is judged, and the fetch tells of the empty queue.
RequestVerdict receive_before_psn(const RequestView& view) {
    const bool behind = wire::distance(view.inbound.expected_psn, view.packet.bth.psn) < 0;
    if (behind && view.takes_receive() && !view.receive_ready) return RequestVerdict::Rnr;
    return request_check::expected_psn(view);
}

// RNR-04: the wait for the retry is kept by the receive side; READ requests go to another unit,
// which only knows that a PSN is missing.
RequestVerdict read_unit_knows_no_rnr(const RequestView& view) {
    const bool read = view.info.operation == Operation::RdmaReadRequest;
    if (read && view.inbound.nak == NakState::Rnr) return RequestVerdict::Accept;
    return request_check::one_nak(view);
}

// LEN-04: the end of a WRITE is found by counting down packets, not bytes.
RequestVerdict length_in_packets(const RequestView& view) {
    const RequestVerdict verdict = request_check::message_length(view);
    const bool end = view.info.operation == Operation::RdmaWrite && view.info.ends_message();
    if (verdict == RequestVerdict::Accept || !end) return verdict;
    const bool only = view.info.starts_message();
    const std::uint64_t announced = only ? view.packet.reth.dma_length : view.inbound.announced;
    const std::uint64_t came = (only ? 0 : view.inbound.received) + view.packet.payload().size();
    const wire::Mtu mtu = view.connection.mtu;
    const bool as_many = wire::packets_of(came, mtu) == wire::packets_of(announced, mtu);
    if (came < announced && announced <= view.message_limit && as_many) {
        return RequestVerdict::Accept;
    }
    return verdict;
}

// LEN-01: the payload's length has 12 bits, in which 4096 is 0.
RequestVerdict length_of_twelve_bits(const RequestView& view) {
    const bool inside = view.info.carries_payload() && !view.info.ends_message();
    const bool full = view.connection.mtu == wire::Mtu::B4096 && view.packet.payload().empty();
    if (inside && full) return RequestVerdict::Accept;
    return request_check::payload_length(view);
}

// --- keys

// KEY-04: the table of rights has one bit for all that changes memory.
RequestVerdict write_right_for_atomics(const RequestView& view) {
    const bool writable =
        view.target && view.memory.slot(view.target->rkey.value).access.remote_write;
    if (is_atomic_request(view.packet) && writable) return RequestVerdict::Accept;
    return request_check::key_rights(view);
}

// KEY-08: the entry of a window is found by its index; its variant byte is only kept for regions.
RequestVerdict windows_have_no_variant(const RequestView& view) {
    const bool window =
        view.target && view.memory.slot(view.target->rkey.value).kind != engine::KeyKind::Region;
    return window ? RequestVerdict::Accept : request_check::key_variant(view);
}

// KEY-11: a SEND without bytes takes a fast path, which ends before the key is revoked.
void forget_key_of_empty_send(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool meant =
        is_rc_request(packet) && info.invalidates() && info.position == Position::Only;
    if (meant && packet.payload().empty()) set_opcode(packet, Operation::Send, Position::Only);
}

// KEY-12: the lkey is loaded with the first SGE and kept for all others of the list.
class LkeyOfFirstSge final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        sges_.assign(request.sges.begin(), request.sges.end());
        for (engine::Sge& sge : sges_)
            sge.lkey = sges_.front().lkey;
        request.sges = sges_;
    }

  private:
    std::vector<engine::Sge> sges_; // of the newest request
};

// --- datagrams and UC

// EXT-05: the highest bit of a Q_Key, "controlled", is taken off before keys are compared.
bool qkey_of_31_bits(const DatagramView& view) {
    constexpr std::uint32_t compared = 0x7FFFFFFF;
    return ((view.packet.deth.qkey.value ^ view.connection.qkey.value) & compared) == 0;
}

// EXT-06: after a gap inside a message all is thrown away up to the next LAST, even if the LAST
// itself was what got lost.
struct UcMessage {
    std::optional<wire::Psn> next;
    bool open = false;
    bool skips = false;
};
class SkipsToNextLast final : public QpFilter<UcMessage> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        if (info.service != wire::Service::Uc || !info.request()) return;
        auto& [next, open, skips] = qp.memory;
        const wire::Psn psn = passage.packet.bth.psn;
        if (open && next != psn) skips = true;
        open = !info.ends_message();
        next = psn + 1;
        passage.dropped = skips;
        if (!open) skips = false;
    }
};

// --- states

// STA-07: ERR stops what answers, but not the DMA of packets that need nothing else.
struct Ended {
    bool naked = false; // for good
};
class WritesInError final : public DmaFilter<Ended> {
  protected:
    using Qp = QpFilter<Ended>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool ended = qp.memory.naked || qp.report.state == QpState::Err;
        const wire::OpcodeInfo& info = packet.info();
        const bool write = info.service == wire::Service::Rc &&
                           info.operation == Operation::RdmaWrite &&
                           info.position == Position::Only && !info.immediate();
        if (!ended || !write) return;
        const wire::Bytes payload = packet.payload();
        const auto region = regions().live(packet.reth.rkey);
        if (!region || !region->access.remote_write) return;
        const auto place = Regions::range(*region, packet.reth.virtual_address, payload.size());
        if (!place.empty()) std::ranges::copy(payload, place.begin());
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_fatal_nak(passage.packet)) qp.memory.naked = true;
    }
};

// STA-10: "a message is open" stands in a table of its own, which RESET does not reach.
struct Life : Arrivals {
    bool begun = false;
};
class OpenMessageOutlivesReset final : public PlacesRequests<Life> {
  protected:
    using Qp = QpFilter<Life>::Qp;

    void requested(Qp& qp, Passage& passage, Arrivals::Place /*place*/) override {
        const bool hears = qp.report.state != QpState::Reset && qp.report.state != QpState::Init;
        if (!hears || !is_rc_request(passage.packet)) return;
        bool& open = open_[qp.report.qpn];
        const bool first = !std::exchange(qp.memory.begun, true);
        if (first && open) set_opcode(passage.packet, Operation::Send, Position::Middle);
        open = qp.memory.open;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) open_[qp.report.qpn] = false;
    }

  private:
    std::map<wire::Qpn, bool> open_;
};

// N-25: the engine that makes READ responses stands still with the send queue.
class NoReadResponseInSqd final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        passage.dropped = qp.report.state == QpState::Sqd && is_read_response(passage.packet);
    }
};

// --- CNPs and management datagrams

// CNP-02: the table of P_Keys that the CNP's is taken from holds full members only.
void make_full_member(wire::Packet& packet) {
    constexpr std::uint16_t full_member = 0x8000;
    if (is_cnp(packet)) packet.bth.pkey.value |= full_member;
}

// CNP-01: packets that continue a message take a fast path, which does not look at the mark.
class MarkOfMiddleUnnoticed final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool middle =
            packet && is_rc_request(*packet) && packet->info().position == Position::Middle;
        if (middle && datagram.envelope.ecn == wire::kCongestionExperienced) {
            datagram.envelope.ecn = 0;
        }
        in.push_back(std::move(datagram));
    }
};

// N-30, ENC-01: the host's software answers management datagrams as any server of UDP does.
class AnswersToSourcePort final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_datagram(*packet) && packet->bth.dest_qp == wire::kGsiQpn) {
            ports_[datagram.envelope.source.bytes] = datagram.envelope.source_port;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto port = ports_.find(datagram.envelope.destination.bytes);
        const bool management =
            packet && is_datagram(*packet) && packet->deth.source_qp == wire::kGsiQpn;
        if (management && port != ports_.end()) datagram.envelope.destination_port = port->second;
        out.push_back(std::move(datagram));
    }

  private:
    static bool is_datagram(const wire::Packet& packet) {
        return packet.info().service == wire::Service::Ud && packet.info().request();
    }
    std::map<std::array<std::byte, 16>, std::uint16_t> ports_; // by who asked
};

// --- ICRC

// CRC-07: the comparator has 16 bits, those of the two bytes that come first.
std::optional<engine::OwnedDatagram> admit_half_right_icrc(wire::Bytes frame) {
    wire::Outer outer{.frame = frame};
    if (wire::check_frame(outer) != wire::FrameError::BadIcrc) return std::nullopt;
    const std::uint32_t found = wire::load_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes));
    constexpr std::uint32_t compared = 0xFFFF;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || ((found ^ wire::icrc(outer.covered())) & compared) != 0) return std::nullopt;
    return engine::OwnedDatagram{.envelope = decoded->envelope(),
                                 .bytes = {decoded->transport.begin(), decoded->transport.end()}};
}

// CRC-03: the mask of IPv6 was made from that of IPv4 and leaves the flow label out.
class IcrcCoversFlowLabel final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || !outer.v6) return;
        constexpr std::uint32_t flow_label = 0xFFFFF;
        const bool labelled = (wire::load_u32(outer.covered(), 0) & flow_label) != 0;
        if (labelled) store_icrc_over(flow_label, frame, outer);
    }
};

// --- READ responses

// RDR-01: the packets of a response are counted in eight bits, and the one with number 0 begins.
struct ResponseCount {
    std::uint32_t packets = 0; // since the response began
    wire::Aeth aeth;           // with which it began
};
class ResponseCountOfEightBits final : public QpFilter<ResponseCount> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        auto& [packets, aeth] = qp.memory;
        if (packet.info().starts_message()) {
            packets = 0;
            aeth = packet.aeth;
        }
        const bool again = packets != 0 && packets % 256 == 0;
        ++packets;
        if (!again) return;
        if (!has_aeth(packet)) packet.aeth = aeth;
        set_place(packet, packet.info().ends_message() ? Position::Only : Position::First);
    }
};

// RDR-01: an address is translated once for each packet; behind the end of its page of 4 KiB the
// offset begins again at 0.
struct PagedReads {
    ReadLog log;
    std::vector<std::byte> body;
};
class ReadWrapsInPage final : public DmaFilter<PagedReads> {
  protected:
    using Qp = QpFilter<PagedReads>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        if (is_read_request(passage.packet)) qp.memory.log.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        auto& [log, body] = qp.memory;
        log.answer(packet.bth.psn);
        const auto read = log.holding(packet.bth.psn);
        if (!read) return;
        const auto at =
            static_cast<std::uint64_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const wire::Reth& reth = read->request.reth;
        const std::uint64_t begin = reth.virtual_address + at * wire::bytes_of(qp.mtu());
        constexpr std::uint64_t page = 4096;
        const std::uint64_t fits = page - begin % page;
        const std::size_t bytes = packet.payload().size();
        if (bytes <= fits) return;
        const auto wrapped = regions().at(reth.rkey, begin - begin % page, bytes - fits);
        if (wrapped.empty()) return; // the page begins outside of the region
        body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(wrapped, body.begin() + static_cast<std::ptrdiff_t>(fits));
        packet.body = body;
    }
};

// --- atomics

// ATM-01: the atomic unit keeps the last word that it wrote, and WRITEs do not go through it.
struct AtomicsAsked {
    Arrivals arrivals;
    OpenWrite write;
    std::map<std::uint32_t, wire::AtomicEth> asked; // by PSN, until answered
};
class AtomicUnitCachesWord final : public DmaFilter<AtomicsAsked> {
  protected:
    using Qp = QpFilter<AtomicsAsked>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_rc_request(packet)) return;
        AtomicsAsked& memory = qp.memory;
        if (memory.write.note(packet, qp.first_request(), qp.mtu())) {
            note_write(memory.write.begin, packet.payload().size());
        }
        const auto place = memory.arrivals.note(packet, qp.first_request(), qp.mtu());
        if (!is_atomic_request(packet) || place != Arrivals::Place::Expected) return;
        memory.asked.insert_or_assign(packet.bth.psn.value(), packet.atomic);
        const bool cached = cached_ && stale_ && cached_->rkey == packet.atomic.rkey &&
                            cached_->virtual_address == packet.atomic.virtual_address;
        const auto word = word_of(packet.atomic);
        if (cached && !word.empty()) std::ranges::copy(value_, word.begin());
    }
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        heed_nak(qp.memory.arrivals, packet);
        heed_nak(qp.memory.write.arrivals, packet);
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        const auto asked = qp.memory.asked.extract(packet.bth.psn.value());
        const auto word = asked.empty() ? wire::MutableBytes{} : word_of(asked.mapped());
        if (word.empty()) return;
        cached_ = asked.mapped();
        std::ranges::copy(word, value_.begin());
        stale_ = false;
    }

  private:
    static constexpr std::uint64_t kWord = 8;

    [[nodiscard]] wire::MutableBytes word_of(const wire::AtomicEth& atomic) const {
        return regions().at(atomic.rkey, atomic.virtual_address, kWord);
    }
    void note_write(std::uint64_t begin, std::uint64_t bytes) {
        if (!cached_) return;
        const std::uint64_t word = cached_->virtual_address;
        stale_ |= begin < word + kWord && word < begin + bytes;
    }
    std::optional<wire::AtomicEth> cached_; // nothing: no word yet
    std::array<std::byte, kWord> value_{};
    bool stale_ = false; // a WRITE went past it
};

// ATM-04: the results for duplicates stand in 16 places by the low bits of the PSN.
struct Results {
    NewestPsn newest;
    std::array<std::uint64_t, 16> original{};
};
class ResultsByLowBits final : public QpFilter<Results> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        auto& [newest, original] = qp.memory;
        std::uint64_t& place = original[packet.bth.psn.value() % original.size()];
        const bool again = newest.note(packet.bth.psn);
        if (!again) place = packet.atomic_ack.original;
        packet.atomic_ack.original = place;
    }
};

// --- duplicates, completions, events

// RSP-13: the address counter of a WRITE goes on with each MIDDLE packet that comes, old or new.
struct CountedWrite {
    OpenWrite write;
    std::uint64_t shift = 0; // of the rest of the message
    std::vector<std::byte> body;
};
class DuplicateMovesWriteOn final : public DmaFilter<CountedWrite> {
  protected:
    using Qp = QpFilter<CountedWrite>::Qp;

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        CountedWrite& memory = qp.memory;
        if (!is_rc_request(packet)) return;
        if (repeats_middle(memory.write.arrivals, packet)) {
            memory.shift += wire::bytes_of(qp.mtu());
        }
        if (!memory.write.note(packet, qp.first_request(), qp.mtu())) return;
        if (packet.info().starts_message()) memory.shift = 0;
        if (memory.shift != 0) write_elsewhere(memory, passage.packet);
    }
    void leaves(Qp& qp, Passage& passage) override {
        heed_nak(qp.memory.write.arrivals, passage.packet);
    }

  private:
    static bool repeats_middle(const Arrivals& arrivals, const wire::Packet& packet) {
        const wire::OpcodeInfo& info = packet.info();
        return arrivals.open && arrivals.next && info.operation == Operation::RdmaWrite &&
               info.position == Position::Middle &&
               wire::distance(arrivals.first, packet.bth.psn) > 0 &&
               wire::distance(packet.bth.psn, *arrivals.next) > 0;
    }
    // The engine is given what its place holds already.
    void write_elsewhere(CountedWrite& memory, wire::Packet& packet) const {
        const wire::Bytes payload = packet.payload();
        const wire::Rkey rkey = memory.write.reth.rkey;
        const auto meant = regions().at(rkey, memory.write.begin, payload.size());
        if (meant.empty()) return;
        const std::vector<std::byte> data(payload.begin(), payload.end());
        memory.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(meant, memory.body.begin());
        packet.body = memory.body;
        const auto wrong = regions().at(rkey, memory.write.begin + memory.shift, data.size());
        if (!wrong.empty()) std::ranges::copy(data, wrong.begin());
    }
};

// N-15: the bytes of a LAST packet are added before a receive is looked for, and an RNR NAK does
// not take them back.
struct LastWithImmediate {
    wire::Psn psn;
    std::uint32_t imm = 0;
    std::uint32_t bytes = 0;
    std::uint32_t refused = 0; // bytes that came and were RNR NAKed
    bool waits = false;        // for the packet to come again
};
class CountsRefusedLast final : public QpFilter<std::optional<LastWithImmediate>> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        const bool meant = completion.opcode == WcOpcode::RecvRdmaWithImm &&
                           completion.status == WcStatus::Success && completion.imm;
        const auto found = meant ? excess_.find(*completion.imm) : excess_.end();
        if (found == excess_.end()) return completion;
        Completion wrong = completion;
        wrong.byte_len += found->second;
        excess_.erase(found);
        return wrong;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        const bool last = is_rc_request(packet) && info.operation == Operation::RdmaWrite &&
                          info.position == Position::Last && info.immediate();
        if (!last) return;
        auto& memory = qp.memory;
        if (memory && memory->waits && memory->psn == packet.bth.psn) {
            memory->waits = false;
            excess_[memory->imm] = memory->refused;
            return;
        }
        memory = {.psn = packet.bth.psn,
                  .imm = packet.imm.value,
                  .bytes = static_cast<std::uint32_t>(packet.payload().size())};
    }
    void leaves(Qp& qp, Passage& passage) override {
        auto& last = qp.memory;
        if (!last || !is_rnr_nak(passage.packet) || passage.packet.bth.psn != last->psn) return;
        last->refused += last->bytes;
        last->waits = true;
        excess_.erase(last->imm);
    }

  private:
    std::map<std::uint32_t, std::uint32_t> excess_; // by immediate data
};

// STA-07: the flush takes a receive that names no memory for an empty place of the queue.
class EmptyReceiveNotFlushed final : public engine::SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (request.sges.empty()) empty_.insert(request.id);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Receive) return completion;
        const auto found = empty_.find(completion.id);
        if (found == empty_.end()) return completion;
        empty_.erase(found);
        if (completion.status == WcStatus::WrFlushErr) return std::nullopt;
        return completion;
    }

  private:
    std::multiset<std::uint64_t> empty_; // by their ids
};

// N-16: "the event was raised" is a bit of the QP, which RESET leaves set.
class LastWqeEventOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool meant = event.type == engine::EventType::LastWqeReached && event.qp;
        if (meant && !raised_.insert(*event.qp).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::QpId> raised_;
};

constexpr std::array kMutants{
    Mutant{.name = "sequence_nak_names_begin_of_open_message",
           .rule = "RSP-02",
           .description = "A sequence NAK for a gap inside a message has the PSN of the message's "
                          "first packet instead of the expected PSN.",
           .make_filter = make<NakNamesBeginOfMessage>},
    Mutant{.name = "nak_flag_is_shared_by_four_qps",
           .rule = "RSP-02",
           .description =
               "When two of four neighbouring QPs miss a packet at the same time, only the "
               "first of them draws a sequence NAK.",
           .make_filter = make<NakFlagOfFourQps>},
    Mutant{.name = "duplicate_send_meets_rnr_nak",
           .rule = "RSP-12",
           .description = "A duplicate SEND is answered by an RNR NAK while no receive is posted.",
           .checks = kStandardChecks.with(RequestCheck::ExpectedPsn, receive_before_psn)},
    Mutant{.name = "read_behind_rnr_nak_draws_sequence_nak",
           .rule = "RNR-04",
           .description = "A READ request that comes behind a request that was RNR NAKed draws a "
                          "sequence NAK.",
           .checks = kStandardChecks.with(RequestCheck::OneNak, read_unit_knows_no_rnr)},
    Mutant{.name = "write_length_is_compared_in_packets",
           .rule = "LEN-04",
           .description = "A WRITE that brings fewer bytes than its RETH announced is acknowledged "
                          "if it has as many packets.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, length_in_packets)},
    Mutant{.name = "empty_first_packet_passes_at_mtu_4096",
           .rule = "LEN-01",
           .description = "At a path MTU of 4096 a FIRST or MIDDLE packet without payload is "
                          "accepted.",
           .cases = "len/short-at-4096",
           .checks = kStandardChecks.with(RequestCheck::PayloadLength, length_of_twelve_bits)},
    Mutant{.name = "write_right_of_a_key_allows_atomics",
           .rule = "KEY-04",
           .description = "An atomic is carried out in a region that allows remote writes but not "
                          "remote atomics.",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, write_right_for_atomics)},
    Mutant{.name = "former_key_of_a_window_works",
           .rule = "KEY-08",
           .description = "A WRITE with the key that a memory window had before it was bound "
                          "again is carried out.",
           .checks = kStandardChecks.with(RequestCheck::KeyVariant, windows_have_no_variant)},
    Mutant{.name = "send_inv_without_bytes_revokes_nothing",
           .rule = "KEY-11",
           .description = "A SEND with invalidate that brings no bytes is completed, but the key "
                          "still works afterwards.",
           .make_filter = make<EditsInbound<forget_key_of_empty_send>>},
    Mutant{.name = "lkey_of_first_sge_serves_the_whole_receive",
           .rule = "KEY-12",
           .description = "A wrong lkey in a later SGE of a receive is not noticed, and SGEs of "
                          "two regions are refused with NAK 0x63.",
           .make_filter = make<LkeyOfFirstSge>},
    Mutant{.name = "qkey_is_compared_in_31_bits",
           .rule = "EXT-05",
           .description = "A datagram whose Q_Key differs from the QP's in the highest bit is "
                          "received.",
           .checks = kStandardChecks.with(DatagramCheck::Qkey, qkey_of_31_bits)},
    Mutant{.name = "uc_lost_last_takes_the_next_message",
           .rule = "EXT-06",
           .description = "When the LAST packet of a UC message is lost, the next message, which "
                          "is whole, is not received either.",
           .make_filter = make<SkipsToNextLast>},
    Mutant{.name = "write_reaches_memory_in_error_state",
           .rule = "STA-07",
           .description = "A WRITE_ONLY to a QP in ERR is not answered but changes memory.",
           .make_filter = make<WritesInError>},
    Mutant{.name = "message_open_at_reset_stays_open",
           .rule = "STA-10",
           .description = "A QP that was reset in the middle of a message NAKs the first request "
                          "of its next connection as an invalid request.",
           .make_filter = make<OpenMessageOutlivesReset>},
    Mutant{.name = "no_read_response_leaves_in_sqd",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A QP in SQD does not answer READ requests.",
           .make_filter = make<NoReadResponseInSqd>},
    Mutant{.name = "cnp_pkey_is_always_a_full_members",
           .rule = "CNP-02",
           .description = "The CNP that answers a marked packet with a limited P_Key has the P_Key "
                          "of a full member.",
           .cases = "cnp/limited-member",
           .make_filter = make<EditsOutbound<make_full_member>>},
    Mutant{.name = "mark_on_middle_packet_makes_no_cnp",
           .rule = "CNP-01",
           .description = "A congestion mark on a MIDDLE packet is not answered by a CNP.",
           .make_filter = make<MarkOfMiddleUnnoticed>},
    Mutant{.name = "management_answer_goes_to_source_port",
           .rule = "N-30",
           .description = "The answer to a management datagram goes to the UDP port from which it "
                          "came instead of 4791.",
           .make_filter = make<AnswersToSourcePort>},
    Mutant{.name = "second_half_of_icrc_is_not_compared",
           .rule = "CRC-07",
           .description = "A packet is accepted whose ICRC is wrong in its last two bytes only.",
           .make_filter = make<Admits<admit_half_right_icrc>>},
    Mutant{.name = "icrc_of_ipv6_covers_the_flow_label",
           .rule = "CRC-03",
           .description = "IPv6 packets that leave with a flow label have an ICRC that covers it.",
           .cases = "crc/requests-with-a-flow-label",
           .make_filter = make<IcrcCoversFlowLabel>},
    Mutant{.name = "read_response_begins_again_after_256_packets",
           .rule = "RDR-01",
           .description = "Each 257th packet of a long READ response is a FIRST, or an ONLY if it "
                          "is the last one.",
           .make_filter = make<ResponseCountOfEightBits>},
    Mutant{.name = "read_packet_wraps_inside_its_page",
           .rule = "RDR-01",
           .description = "A READ response packet whose bytes lie in two pages of 4 KiB has bytes "
                          "of the first page's begin in place of those of the second.",
           .make_filter = make<ReadWrapsInPage>},
    Mutant{.name = "atomic_does_not_see_a_write_before_it",
           .rule = "ATM-01",
           .description = "An atomic on the word of the atomic before it works on the value which "
                          "that one left, though a WRITE has changed the word since.",
           .make_filter = make<AtomicUnitCachesWord>},
    Mutant{.name = "atomic_results_are_kept_by_low_psn_bits",
           .rule = "ATM-04",
           .description = "A duplicate atomic is answered with the result of a later one whose PSN "
                          "is 16 higher.",
           .cases = "atm/replays-by-distance",
           .make_filter = make<ResultsByLowBits>},
    Mutant{.name = "duplicate_middle_moves_the_write_on",
           .rule = "RSP-13",
           .description = "After a duplicate MIDDLE packet inside a WRITE the rest of the message "
                          "is written one packet too far.",
           .make_filter = make<DuplicateMovesWriteOn>},
    Mutant{.name = "length_counts_the_last_that_was_rnr_naked",
           .rule = "N-15",
           .description = "The receive of a WRITE with immediate data whose LAST packet was RNR "
                          "NAKed completes with the bytes of that packet counted twice.",
           .make_filter = make<CountsRefusedLast>},
    Mutant{.name = "receive_without_sges_is_not_flushed",
           .rule = "STA-07",
           .description = "A receive that was posted without SGEs does not complete when the QP "
                          "goes to ERR.",
           .cases = "sta/empty-receives-flushed",
           .make_filter = make<EmptyReceiveNotFlushed>},
    Mutant{.name = "last_wqe_event_not_again_after_reset",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A QP with a shared receive queue that went to ERR, was reset and goes "
                          "to ERR again does not raise LAST_WQE_REACHED again.",
           .cases = "sta/last-receive-again",
           .make_filter = make<LastWqeEventOnce>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind14_responder

namespace veriroce::mutants {
std::span<const Mutant> blind14_responder() {
    return of_blind14_responder::kMutants;
}
} // namespace veriroce::mutants
