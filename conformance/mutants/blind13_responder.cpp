// Defects written without a look at the cases: responders, and what their hosts see.
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
#include "conformance/mutants/read_log.hpp"
#include "dissector/wire/outer.hpp"

namespace veriroce::mutants::of_blind13_responder {
namespace {

using engine::kStandardChecks;
using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::WcOpcode;
using engine::WcStatus;
using wire::Header;
using wire::Operation;
using wire::Position;
using wire::Service;

// --- requests that pass the checks of their headers, and where they lie

// STA-01, BTH-01, BTH-05, BTH-07, ENC-14
template <typename Qp>
bool heard(const Qp& qp, const Passage& passage, Service service) {
    const wire::Packet& packet = passage.packet;
    return engine::receives(qp.report.state) && packet.info().service == service &&
           of_this_connection(qp.report, passage);
}

template <std::derived_from<Arrivals> Memory>
class HeardRequests : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;
    using Place = Arrivals::Place;

    virtual void requested(Qp& /*qp*/, Passage& /*passage*/, Place /*place*/) {}
    virtual void answered(Qp& /*qp*/, Passage& /*passage*/) {}

    void arrives(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().request() || !heard(qp, passage, Service::Rc)) return;
        requested(qp, passage, qp.memory.note(passage.packet, qp.first_request(), qp.mtu()));
    }
    void leaves(Qp& qp, Passage& passage) final {
        if (!is_rc_response(passage.packet)) return;
        heed_nak(qp.memory, passage.packet);
        answered(qp, passage);
    }
};

// Whether an ACK answers it.
bool is_plain(const wire::Packet& packet) {
    return packet.info().operation == Operation::Send || is_write(packet);
}

// --- duplicates, NAKs and states

struct Latch : Arrivals {
    bool set = false;
    std::optional<wire::Psn> used; // the request that was given the bit
};
// N-26: the register of the SE bit is loaded by each packet and cleared by a completion, which a
// duplicate does not have.
class DuplicateLatchesSolicited final : public HeardRequests<Latch> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Bth& bth = passage.packet.bth;
        const wire::OpcodeInfo& info = passage.packet.info();
        Latch& latch = qp.memory;
        if (place == Place::Behind && is_plain(passage.packet)) latch.set |= bth.solicited;
        const bool completes = info.ends_message() && info.consumes_receive();
        if (place != Place::Expected || !completes || !latch.set) return;
        bth.solicited = true;
        latch.set = false;
        latch.used = bth.psn;
    }
    void answered(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        // It did not complete, and will come again.
        if (is_rnr_nak(packet) && qp.memory.used == packet.bth.psn) qp.memory.set = true;
    }
};

struct Redirected : Arrivals {
    bool write = false; // the open message is one
    wire::Reth reth;    // of it
    std::optional<wire::Reth> other;
};
// RSP-13: the RETH goes into the context before the PSN is looked at.
class DuplicateLoadsAddress final : public HeardRequests<Redirected> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        Redirected& memory = qp.memory;
        if (place == Place::Behind && memory.open && memory.write && is_write(packet) &&
            packet.headers.has(Header::Reth)) {
            memory.other = packet.reth;
        }
        if (place != Place::Expected) return;
        if (packet.info().starts_message()) {
            memory.write = is_write(packet);
            memory.reth = packet.reth;
            memory.other.reset();
        }
        if (memory.write && memory.other) redirect(qp, packet);
    }

  private:
    void redirect(Qp& qp, wire::Packet& packet) {
        Redirected& memory = qp.memory;
        const wire::Bytes payload = packet.payload();
        const auto at = static_cast<std::uint64_t>(wire::distance(memory.first, packet.bth.psn));
        const auto right = regions().at(memory.reth.rkey,
                                        memory.reth.virtual_address + at * wire::bytes_of(qp.mtu()),
                                        payload.size());
        const auto wrong =
            regions().at(memory.other->rkey, memory.other->virtual_address, payload.size());
        if (right.empty() || wrong.empty() || payload.size() > wire::bytes_of(qp.mtu())) return;
        std::ranges::copy(payload, wrong.begin());
        memory.other->virtual_address += payload.size();
        body_.assign(right.begin(), right.end()); // for the engine: nothing changes there
        body_.resize(packet.body.size());         // the pad
        packet.body = body_;
    }

    std::vector<std::byte> body_;
};

struct Outstanding : Arrivals {
    bool naked = false; // a sequence NAK has left
    bool stuck = false;
};
// RSP-06: the flag is cleared where the ACK is made, and the READ and atomic unit makes none.
class ReadLeavesNakOutstanding final : public HeardRequests<Outstanding> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected) return;
        Outstanding& memory = qp.memory;
        memory.stuck = !is_plain(passage.packet) && (memory.stuck || memory.naked);
        memory.naked = false;
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_sequence_nak(passage.packet)) return;
        passage.dropped = qp.memory.stuck;
        qp.memory.naked = true;
    }
};

// RSP-09: the queue of ACKs marks an empty place by PSN 0.
class NoAckOfPsnZero final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& /*qp*/, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (is_ack(packet) && packet.bth.psn == wire::Psn{}) passage.dropped = true;
    }
};

// RSP-10: the key is revoked where the header is parsed, before the PSN is compared.
class DuplicateRevokes final : public HeardRequests<Arrivals> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::BindMw) revoked_.erase(request.rkey);
    }

  protected:
    void requested(Qp& /*qp*/, Passage& passage, Place place) override {
        wire::Packet& packet = passage.packet;
        const bool invalidates = packet.info().invalidates();
        if (place == Place::Behind && invalidates) revoked_.insert(packet.ieth.rkey);
        if (packet.headers.has(Header::Reth)) refuse(packet.reth.rkey);
        if (packet.headers.has(Header::AtomicEth)) refuse(packet.atomic.rkey);
        if (place == Place::Expected && invalidates) refuse(packet.ieth.rkey);
    }

  private:
    // To the engine it is a key of the same slot that is not the right one.
    void refuse(wire::Rkey& rkey) const {
        constexpr std::uint32_t variant_bit = 0x80;
        if (revoked_.contains(rkey)) rkey.value ^= variant_bit;
    }
    std::set<wire::Rkey> revoked_;
};

// STA-10: RESET clears the PSNs and not the "inside a message" bit.
class ResetKeepsMessageOpen final : public HeardRequests<Arrivals> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        if (open_.erase(qpn) > 0) stale_.insert(qpn);
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected) return;
        const wire::Qpn qpn = qp.report.qpn;
        const bool refused = stale_.erase(qpn) > 0 && passage.packet.info().starts_message();
        // To the engine it is a packet that does not go on with what is open.
        if (refused) set_opcode(passage.packet, Operation::Send, Position::Middle);
        note(qpn, qp.memory.open && !refused);
    }
    void answered(Qp& qp, Passage& passage) override {
        const bool never_began =
            is_nak(passage.packet) && passage.packet.bth.psn == qp.memory.first;
        if (never_began) note(qp.report.qpn, false);
    }

  private:
    void note(wire::Qpn qpn, bool open) {
        if (open) {
            open_.insert(qpn);
        } else {
            open_.erase(qpn);
        }
    }
    std::set<wire::Qpn> open_;
    std::set<wire::Qpn> stale_;
};

struct Bounds : Arrivals {
    std::optional<wire::Psn> end; // of the newest message, if its last packet has come

    void note_end(const wire::Packet& packet, Place place) {
        if (place != Place::Expected) return;
        end = packet.info().ends_message() ? std::optional(packet.bth.psn) : std::nullopt;
    }
    // Whether the newest message has this PSN, or would have it next.
    [[nodiscard]] bool inside(wire::Psn psn) const {
        return next && wire::distance(first, psn) >= 0 && wire::distance(psn, *next) >= 0;
    }
};
// RNR-02: the RNR NAK takes the PSN that was saved when the message began.
class RnrNakNamesFirst final : public HeardRequests<Bounds> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        qp.memory.note_end(passage.packet, place);
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        // A SEND is refused at its first packet anyway.
        if (is_rnr_nak(packet) && packet.bth.psn == qp.memory.end) packet.bth.psn = qp.memory.first;
    }
};

// ACK-08: the MSN is counted up where a message begins.
class MsnCountsBegun final : public HeardRequests<Bounds> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        qp.memory.note_end(passage.packet, place);
    }
    void answered(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Bounds& memory = qp.memory;
        const bool acknowledges = is_ack(packet) && packet.bth.psn != memory.end;
        const bool asks_for_rest = is_sequence_nak(packet) && memory.open;
        if (memory.inside(packet.bth.psn) && (acknowledges || asks_for_rest)) {
            packet.aeth.msn = packet.aeth.msn + 1;
        }
    }
};

// ACK-10: the table of credits lacks its entry for 4.
void credits_one_step_too_high(wire::Packet& packet) {
    constexpr std::uint8_t first_wrong = 4;
    constexpr std::uint8_t largest = 30;
    if (!has_aeth(packet) || packet.aeth.syndrome.kind() != wire::AckKind::Ack) return;
    const std::uint8_t code = packet.aeth.syndrome.code();
    if (code < first_wrong || code >= largest) return;
    packet.aeth.syndrome = wire::Syndrome::ack(static_cast<std::uint8_t>(code + 1));
}

// --- READs, atomics, WRITEs and keys

// RDR-11: the data of READs comes out of host memory later than ACKs are made, and each has a queue
// of its own to the port.
void read_responses_later(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::chrono::microseconds fetch(40);
    if (is_read_response(packet)) datagram.delay += fetch;
}

struct ReadState {
    ReadLog log;
    wire::Aeth aeth; // of the newest response that has one
};
// RDR-01: the counter that tells the first and the last response has 8 bits.
class ReadPositionOfEightBits final : public QpFilter<ReadState> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet) || !heard(qp, passage, Service::Rc)) return;
        qp.memory.log.note(packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t around = 256;
        wire::Packet& packet = passage.packet;
        auto& [log, aeth] = qp.memory;
        if (!is_read_response(packet)) return;
        log.answer(packet.bth.psn);
        if (has_aeth(packet)) aeth = packet.aeth;
        const auto read = log.holding(packet.bth.psn);
        if (!read) return;
        const auto at =
            static_cast<std::uint32_t>(wire::distance(read->request.bth.psn, packet.bth.psn));
        const wire::OpcodeInfo& info = packet.info();
        const bool begins = info.starts_message() || at % around == 0;
        const bool ends = info.ends_message() || at % around == around - 1;
        packet.aeth = aeth;
        set_place(packet, wire::position_of(begins, ends));
    }
};

struct Answered {
    NewestPsn newest;
};
// ATM-04: the table of results for duplicates is looked up by PSN, for all QPs.
class ReplayTableWithoutQp final : public QpFilter<Answered> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        const bool again = qp.memory.newest.note(packet.bth.psn);
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        std::uint64_t& original = packet.atomic_ack.original;
        std::uint64_t& result =
            results_.try_emplace(packet.bth.psn.value(), original).first->second;
        if (again) {
            original = result;
        } else {
            result = original;
        }
    }

  private:
    std::map<std::uint32_t, std::uint64_t> results_;
};

struct Sums : Arrivals {
    std::map<std::uint32_t, std::uint64_t> added; // by PSN: what the engine adds instead
};
// ATM-01: FETCH_ADD is made of the masked one, whose field borders lie in the compare operand.
class FetchAddInFields final : public HeardRequests<Sums> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        wire::AtomicEth& asked = passage.packet.atomic;
        auto& added = qp.memory.added;
        if (passage.packet.info().operation != Operation::FetchAdd || asked.compare == 0) return;
        const std::uint32_t psn = passage.packet.bth.psn.value();
        if (place == Place::Expected) {
            std::uint64_t original = 0;
            const auto memory = regions().at(asked.rkey, asked.virtual_address, sizeof original);
            if (memory.empty()) return;
            std::memcpy(&original, memory.data(), sizeof original);
            const std::uint64_t sum = in_fields(original, asked.swap_or_add, asked.compare);
            added.insert_or_assign(psn, sum - original);
        }
        const auto known = added.find(psn);
        if (known != added.end() && place != Place::Ahead) asked.swap_or_add = known->second;
    }

  private:
    // No carry leaves the highest bit of a field, which is set in `borders`.
    static std::uint64_t in_fields(std::uint64_t a, std::uint64_t b, std::uint64_t borders) {
        std::uint64_t sum = 0;
        std::uint64_t carry = 0;
        for (unsigned bit = 0; bit < 64; ++bit) {
            const std::uint64_t digit = (a >> bit & 1) + (b >> bit & 1) + carry;
            sum |= (digit & 1) << bit;
            carry = (borders >> bit & 1) != 0 ? 0 : digit >> 1;
        }
        return sum;
    }
};

// BTH-11: the length counters count words of four bytes, and PadCnt is not taken off.
RequestVerdict write_length_in_words(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::message_length(view);
    const wire::OpcodeInfo& info = view.info;
    if (info.operation != Operation::RdmaWrite || !info.ends_message()) return verdict;
    const bool begins = info.starts_message();
    const std::uint64_t announced = begins ? view.packet.reth.dma_length : view.inbound.announced;
    const std::uint64_t came = (begins ? 0 : view.inbound.received) + view.packet.payload().size();
    const auto words = [](std::uint64_t bytes) { return (bytes + 3) / 4; };
    const bool possible = announced <= view.message_limit && came <= view.message_limit;
    return possible && words(came) == words(announced) ? RequestVerdict::Accept : verdict;
}

// N-37: the limit in a window's table entry is its last byte, and is taken for the one behind it.
RequestVerdict window_without_last_byte(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::key_range(view);
    if (verdict != RequestVerdict::Accept || !view.target || view.target->length == 0 ||
        view.target->whole) {
        return verdict;
    }
    const engine::Region& slot = view.memory.slot(view.target->rkey.value);
    if (slot.kind == engine::KeyKind::Region) return verdict;
    const bool reaches_last =
        view.target->address + view.target->length == slot.address + slot.bytes.size();
    return reaches_last ? RequestVerdict::NakRemoteAccess : verdict;
}

struct Ends : Arrivals {
    wire::Reth reth; // of the newest WRITE
    struct End {
        wire::Psn psn;
        wire::Rkey rkey;
        std::uint64_t address = 0;
    };
    std::deque<End> open; // WRITEs that are not acknowledged
};
// KEY-14: the last word of 8 bytes is written whole, its rest from an empty buffer.
class WriteZeroesRestOfWord final : public HeardRequests<Ends> {
  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        Ends& memory = qp.memory;
        if (place != Place::Expected || !is_write(packet)) return;
        if (packet.info().starts_message()) memory.reth = packet.reth;
        if (!packet.info().ends_message() || memory.reth.dma_length == 0) return;
        memory.open.push_back({.psn = packet.bth.psn,
                               .rkey = memory.reth.rkey,
                               .address = memory.reth.virtual_address + memory.reth.dma_length});
    }
    void answered(Qp& qp, Passage& passage) override {
        auto& open = qp.memory.open;
        const bool nak = is_nak(passage.packet);
        const wire::Psn until = passage.packet.bth.psn - (nak ? 1 : 0);
        while (!open.empty() && wire::distance(open.front().psn, until) >= 0) {
            constexpr std::uint64_t word = 8;
            const Ends::End& end = open.front();
            const std::uint64_t rest = (word - end.address % word) % word;
            std::ranges::fill(regions().at(end.rkey, end.address, rest), std::byte{});
            open.pop_front();
        }
        if (nak) open.clear(); // it was refused
    }
};

// KEY-01: the responder has the copy of the access flags that was made at RTR.
class AccessFixedAtRtr final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        asks_.reset();
        const auto known = qps_.find(qpn);
        if (!attributes.access || known == qps_.end()) return;
        const QpState from = known->second.state;
        const QpState to = attributes.state.value_or(from);
        const bool sqd = from == QpState::Sqd && to == QpState::Sqd;
        if (!known->second.connected || (to != QpState::Rts && !sqd)) return;
        asks_ = {qpn, *attributes.access};
        attributes.access.reset();
    }
    void qp_changed(const engine::QpReport& report) override {
        Known& known = qps_[report.qpn];
        known.state = report.state;
        if (asks_ && asks_->first == report.qpn) known.shown = asks_->second;
        asks_.reset();
        if (report.state == QpState::Reset) known = {};
        // A UD QP has no peer, and may not be given rights.
        known.connected = report.attributes.dest_qp.value_or(wire::Qpn{}) != wire::Qpn{};
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }
    void queried(engine::QpReport& report) override {
        const auto known = qps_.find(report.qpn);
        if (known != qps_.end() && known->second.shown) {
            report.attributes.access = known->second.shown;
        }
    }

  private:
    struct Known {
        QpState state = QpState::Reset;
        bool connected = false;
        std::optional<engine::Access> shown; // to the host
    };
    std::map<wire::Qpn, Known> qps_;
    std::optional<std::pair<wire::Qpn, engine::Access>> asks_; // what the host asks for now
};

// --- receives, completions, events

struct Refused : Arrivals {
    wire::Psn last; // of the newest WRITE of several packets with immediate data
    std::uint32_t imm = 0;
    std::uint32_t bytes = 0; // of its last packet
    bool came = false;
};
// N-15: the bytes are counted before the receive queue is looked at.
class RefusedLastCounted final : public HeardRequests<Refused> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != QpState::Reset) return;
        std::erase_if(extra_, [qpn](const auto& entry) { return entry.second.qpn == qpn; });
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        const bool of_write = one.queue == engine::Queue::Receive &&
                              one.status == WcStatus::Success &&
                              one.opcode == WcOpcode::RecvRdmaWithImm && one.imm;
        const auto extra = of_write ? extra_.find(*one.imm) : extra_.end();
        if (extra == extra_.end()) return shown;
        shown.byte_len += extra->second.bytes;
        extra_.erase(extra);
        return shown;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        const wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        Refused& memory = qp.memory;
        if (place != Place::Expected) return;
        memory.came = is_write(packet) && info.immediate() && info.position == Position::Last;
        memory.last = packet.bth.psn;
        memory.imm = packet.imm.value;
        memory.bytes = static_cast<std::uint32_t>(packet.payload().size());
    }
    void answered(Qp& qp, Passage& passage) override {
        const Refused& memory = qp.memory;
        const wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || !memory.came || packet.bth.psn != memory.last) return;
        Extra& extra = extra_[memory.imm];
        if (extra.qpn != qp.report.qpn) extra = {.qpn = qp.report.qpn};
        extra.bytes += memory.bytes;
    }

  private:
    struct Extra {
        wire::Qpn qpn;
        std::uint32_t bytes = 0;
    };
    std::map<std::uint32_t, Extra> extra_; // by immediate data
};

// STA-07: the driver flushes a queue once, when the host ends the QP.
class LateReceivesNotFlushed final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
    }
    void qp_destroyed(wire::Qpn qpn) override { states_.erase(qpn); }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        const auto state = states_.find(qpn);
        if (state != states_.end() && state->second == QpState::Err) lost_.insert(request.id);
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.queue != engine::Queue::Receive || one.status != WcStatus::WrFlushErr) return one;
        const auto lost = lost_.find(one.id);
        if (lost == lost_.end()) return one;
        lost_.erase(lost);
        return std::nullopt;
    }

  private:
    std::map<wire::Qpn, QpState> states_; // as the host has set them
    std::multiset<std::uint64_t> lost_;
};

// N-16: the bit "limit was told" is cleared when the queue is created, and not when it is armed.
class SrqLimitToldOnce final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& one) override {
        if (one.type != engine::EventType::SrqLimitReached || !one.srq) return one;
        if (!told_.insert(*one.srq).second) return std::nullopt;
        return one;
    }

  private:
    std::set<engine::SrqId> told_;
};

struct Established : Arrivals {
    bool begun = false; // a first request has come
};
// STA-04: the event is raised by the unit that takes receives and writes; READs pass it by.
class ReadEstablishesSilently final : public HeardRequests<Established> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) forget(qpn);
    }
    std::optional<engine::Event> event(const engine::Event& one) override {
        if (one.type != engine::EventType::CommEst || awaited_.empty()) return one;
        const bool silent = awaited_.front().silent;
        awaited_.pop_front();
        if (silent) return std::nullopt;
        return one;
    }

  protected:
    void requested(Qp& qp, Passage& passage, Place place) override {
        if (place != Place::Expected || std::exchange(qp.memory.begun, true)) return;
        if (qp.report.state != QpState::Rtr) return;
        awaited_.push_back({.qpn = qp.report.qpn, .silent = !is_plain(passage.packet)});
    }
    void answered(Qp& qp, Passage& passage) override {
        if (!is_nak(passage.packet) || passage.packet.bth.psn != qp.first_request()) return;
        qp.memory.begun = false; // the first request was refused: there is no event
        forget(qp.report.qpn);
    }

  private:
    struct Awaited {
        wire::Qpn qpn;
        bool silent = false;
    };
    void forget(wire::Qpn qpn) {
        std::erase_if(awaited_, [qpn](const Awaited& one) { return one.qpn == qpn; });
    }
    std::deque<Awaited> awaited_; // the events that the engine raises, in their order
};

// STA-12: the driver answers from its own copy of the state.
class QueryShowsHostsState final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        asked_.reset();
        if (attributes.state) asked_ = {qpn, *attributes.state};
    }
    void qp_changed(const engine::QpReport& report) override {
        if (asked_ && asked_->first == report.qpn) set_[report.qpn] = asked_->second;
        asked_.reset();
    }
    void qp_destroyed(wire::Qpn qpn) override { set_.erase(qpn); }
    void queried(engine::QpReport& report) override {
        const auto set = set_.find(report.qpn);
        if (report.state != QpState::Err || set == set_.end()) return;
        report.state = set->second;
        report.attributes.state = set->second;
    }

  private:
    std::optional<std::pair<wire::Qpn, QpState>> asked_; // now; it counts if it is accepted
    std::map<wire::Qpn, QpState> set_;
};

// --- frames and headers

engine::OwnedDatagram owned(const wire::Datagram& datagram) {
    return {.envelope = datagram.envelope, .bytes = {datagram.bytes.begin(), datagram.bytes.end()}};
}

// N-03: as in UDP, a checksum of 0 counts as none.
std::optional<engine::OwnedDatagram> zero_ip_checksum_taken(wire::Bytes frame) {
    constexpr std::size_t checksum_at = 10;
    wire::Outer outer{.frame = frame};
    if (wire::find_layers(outer) || outer.v6) return std::nullopt;
    std::vector<std::byte> summed(frame.begin(), frame.end());
    const auto header = wire::MutableBytes(summed).subspan(outer.ip_at, outer.udp_at - outer.ip_at);
    if (wire::load_u16(header, checksum_at) != 0) return std::nullopt;
    wire::store_be<2>(header, checksum_at, wire::ipv4_checksum(header));
    const auto datagram = wire::unseal(summed);
    if (!datagram) return std::nullopt;
    return owned(*datagram);
}

// CRC-07: the ICRC unit finds the packet's end at a fixed place, and lets pass what has a tag.
std::optional<engine::OwnedDatagram> tagged_without_icrc(wire::Bytes frame) {
    wire::Outer outer{.frame = frame};
    if (wire::check_headers(outer) || !outer.tagged) return std::nullopt;
    if (!wire::udp_checksum_acceptable(outer)) return std::nullopt;
    const auto decoded = wire::decode_frame(frame);
    if (!decoded) return std::nullopt;
    return owned(decoded->datagram());
}

// CA17-7: the template of the IP header of ACKs and NAKs has flags 000.
class AcknowledgesWithoutDf final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t flags_at = 6;
        constexpr std::size_t checksum_at = 10;
        constexpr std::uint8_t dont_fragment = 0x40;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        const wire::OpcodeInfo& info = wire::opcode_info(wire::load_u8(outer.transport(), 0));
        if (info.operation != Operation::Acknowledge) return;
        const auto header = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
        header[flags_at] &= ~std::byte{dont_fragment};
        wire::store_be<2>(header, checksum_at, wire::ipv4_checksum(header));
        wire::seal(frame);
    }
};

// BTH-17: the FECN bit of InfiniBand is still wired to the notification point.
class FecnIsAMark final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == Service::Rc && packet->bth.fecn) {
            datagram.envelope.ecn = wire::kCongestionExperienced;
        }
        in.push_back(std::move(datagram));
    }
};

// EXT-05: the completion has 16 bits for the source QP.
class SourceQpOfSixteenBits final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        if (shown.source_qp) shown.source_qp->value &= 0xFFFF;
        return shown;
    }
};

struct UcWrite {
    enum class State : std::uint8_t { None, Whole, Broken };
    State state = State::None; // of the WRITE that has begun
    wire::Psn next;
};
// EXT-06: a WRITE of which a packet is missing is marked as lost for its data alone.
class UcImmediateSurvivesLoss final : public QpFilter<UcWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        using State = UcWrite::State;
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        auto& [state, next] = qp.memory;
        if (!info.request() || !heard(qp, passage, Service::Uc)) return;
        if (info.starts_message()) {
            state = is_write(packet) ? State::Whole : State::None;
        } else if (!is_write(packet)) {
            state = State::None;
        } else if (state == State::Whole && packet.bth.psn != next) {
            state = State::Broken;
        }
        next = packet.bth.psn + 1;
        if (!info.ends_message()) return;
        const bool broken = std::exchange(state, State::None) == State::Broken;
        if (broken && info.immediate()) make_empty(packet);
    }

  private:
    // To the engine it is a WRITE of no bytes.
    static void make_empty(wire::Packet& packet) {
        const auto opcode =
            wire::opcode_of(Service::Uc, Operation::RdmaWrite, Position::Only, true);
        if (!opcode) return;
        packet.bth.opcode = *opcode;
        packet.bth.pad = 0;
        packet.headers = packet.info().headers;
        packet.reth = {};
        packet.body = {};
    }
};

const std::array kMutants{
    Mutant{.name = "duplicate_latches_solicited_event",
           .rule = "N-26",
           .description = "After a duplicate SEND or WRITE with SE the next message that "
                          "completes a receive counts as solicited, although its SE is 0.",
           .cases = "bth/solicited-duplicates",
           .make_filter = make<DuplicateLatchesSolicited>},
    Mutant{.name = "duplicate_write_loads_address_of_open_write",
           .rule = "RSP-13",
           .description = "A duplicate FIRST or ONLY of a WRITE that comes inside another WRITE "
                          "loads its address: the rest of the open WRITE goes there.",
           .make_filter = make<DuplicateLoadsAddress>},
    Mutant{.name = "nak_outstanding_after_read_fills_gap",
           .rule = "RSP-06",
           .description = "If a READ or atomic is the request that a sequence NAK asked for, the "
                          "NAK stays outstanding: no gap is NAKed until a SEND or WRITE is taken.",
           .make_filter = make<ReadLeavesNakOutstanding>},
    Mutant{.name = "ack_of_psn_zero_never_leaves",
           .rule = "RSP-09",
           .description = "An ACK whose PSN is 0 is not sent.",
           .make_filter = make<NoAckOfPsnZero>},
    Mutant{.name = "duplicate_send_with_invalidate_revokes_again",
           .rule = "RSP-10",
           .description = "A duplicate SEND with invalidate revokes its key once more, also if a "
                          "window was bound under that key in the meantime.",
           .make_filter = make<DuplicateRevokes>},
    Mutant{.name = "reset_inside_message_leaves_it_open",
           .rule = "STA-10",
           .description = "After a RESET in the middle of a SEND or WRITE the first message of "
                          "the new connection is NAKed as an invalid request.",
           .make_filter = make<ResetKeepsMessageOpen>},
    Mutant{.name = "rnr_nak_names_first_packet_of_write",
           .rule = "RNR-02",
           .description = "The RNR NAK of the last packet of a WRITE with immediate data has the "
                          "PSN of the WRITE's first packet.",
           .make_filter = make<RnrNakNamesFirst>},
    Mutant{.name = "msn_counts_message_that_has_begun",
           .rule = "ACK-08",
           .description = "ACKs and sequence NAKs inside a message of several packets have an MSN "
                          "that counts this message.",
           .make_filter = make<MsnCountsBegun>},
    Mutant{.name = "credit_code_one_step_too_high",
           .rule = "ACK-10",
           .level = "SHOULD",
           .description = "From four posted receives on, ACKs tell of more credits than there are "
                          "receives: of 6 for 4, of 8 for 6.",
           .behaviour = {.credits = true},
           .make_filter = make<EditsOutbound<credits_one_step_too_high>>},
    Mutant{.name = "ack_overtakes_read_responses",
           .rule = "RDR-11",
           .description = "READ responses leave 40 us later than other answers: the ACK of a SEND "
                          "or WRITE right behind a READ leaves before the READ's responses.",
           .make_filter = make<EditsSentDatagram<read_responses_later>>},
    Mutant{.name = "read_response_position_of_eight_bits",
           .rule = "RDR-01",
           .description = "In a READ of more than 256 packets each 256th response is a LAST, and "
                          "the one after it a FIRST or ONLY.",
           .make_filter = make<ReadPositionOfEightBits>},
    Mutant{.name = "atomic_replay_table_shared_by_qps",
           .rule = "ATM-04",
           .description = "A duplicate atomic is answered with the result of the newest atomic "
                          "that had its PSN, also if that was on another QP.",
           .make_filter = make<ReplayTableWithoutQp>},
    Mutant{.name = "fetch_add_obeys_compare_operand",
           .rule = "ATM-01",
           .description = "FETCH_ADD does not carry across the bits that are set in the compare "
                          "operand, which it should not look at.",
           .cases = "atm/fetch-add-ignores-compare",
           .make_filter = make<FetchAddInFields>},
    Mutant{.name = "write_length_compared_in_words",
           .rule = "BTH-11",
           .description = "A WRITE whose data is one to three bytes longer or shorter than its "
                          "RETH says is taken if both fill the same number of four-byte words.",
           .checks = kStandardChecks.with(RequestCheck::MessageLength, write_length_in_words)},
    Mutant{.name = "window_lacks_its_last_byte",
           .rule = "N-37",
           .description = "An access through a memory window that reaches the window's last byte "
                          "gets a NAK for remote access.",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, window_without_last_byte)},
    Mutant{.name = "write_zeroes_rest_of_last_word",
           .rule = "KEY-14",
           .description = "A WRITE whose end is not a multiple of eight sets the bytes behind it "
                          "to zero, up to the next multiple.",
           .make_filter = make<WriteZeroesRestOfWord>},
    Mutant{.name = "access_flags_fixed_at_rtr",
           .rule = "KEY-01",
           .description = "Access flags that the host changes at RTS or later are shown by a "
                          "query, but requests are judged by those that the QP had at RTR.",
           .make_filter = make<AccessFixedAtRtr>},
    Mutant{.name = "rnr_refused_last_packet_counts_twice",
           .rule = "N-15",
           .description = "If the last packet of a WRITE with immediate data was refused with an "
                          "RNR NAK, the completion counts its bytes once more for each refusal.",
           .make_filter = make<RefusedLastCounted>},
    Mutant{.name = "receives_posted_in_error_not_flushed",
           .rule = "STA-07",
           .description = "Receives that are posted to a QP after the host has moved it to ERR "
                          "have no completions.",
           .make_filter = make<LateReceivesNotFlushed>},
    Mutant{.name = "srq_limit_told_once_for_ever",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "A shared receive queue raises its limit event once; after the limit is "
                          "armed again it does not.",
           .make_filter = make<SrqLimitToldOnce>},
    Mutant{.name = "read_raises_no_comm_est",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "COMM_EST is not raised if the first request in RTR is a READ or an "
                          "atomic.",
           .make_filter = make<ReadEstablishesSilently>},
    Mutant{.name = "query_shows_state_that_host_set",
           .rule = "STA-12",
           .description = "A query of a QP that a fault has moved to ERR reports the state that "
                          "the host has set last.",
           .make_filter = make<QueryShowsHostsState>},
    Mutant{.name = "zero_ip_checksum_counts_as_none",
           .rule = "N-03",
           .description = "An IPv4 packet whose header checksum is 0 is taken, although 0 is "
                          "wrong.",
           .cases = "enc/no-ip-checksum",
           .make_filter = make<Admits<zero_ip_checksum_taken>>},
    Mutant{.name = "icrc_of_tagged_frames_unchecked",
           .rule = "CRC-07",
           .description = "Packets in frames with a VLAN tag are taken with a wrong ICRC.",
           .make_filter = make<Admits<tagged_without_icrc>>},
    Mutant{.name = "acknowledges_leave_without_df",
           .rule = "CA17-7",
           .description = "ACKs and NAKs over IPv4 leave with the don't-fragment flag 0.",
           .make_filter = make<AcknowledgesWithoutDf>},
    Mutant{.name = "fecn_counts_as_congestion_mark",
           .rule = "BTH-17",
           .description = "An RC packet with FECN in its BTH is answered by a CNP, although its "
                          "IP header is not marked.",
           .make_filter = make<FecnIsAMark>},
    Mutant{.name = "ud_source_qp_of_sixteen_bits",
           .rule = "EXT-05",
           .description = "The completion of a datagram names the lowest 16 bits of its source "
                          "QP.",
           .make_filter = make<SourceQpOfSixteenBits>},
    Mutant{.name = "uc_immediate_delivered_after_loss",
           .rule = "EXT-06",
           .description = "A UC WRITE with immediate data of which a packet is missing after its "
                          "first completes a receive when its last packet comes.",
           .make_filter = make<UcImmediateSurvivesLoss>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind13_responder

namespace veriroce::mutants {
std::span<const Mutant> blind13_responder() {
    return of_blind13_responder::kMutants;
}
} // namespace veriroce::mutants
