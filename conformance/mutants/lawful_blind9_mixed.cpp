// Lawful devices that were written without a look at the cases: half of them odd as responders,
// half as requesters, in RC, UC, UD and connection management.
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/management.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::mutants::of_lawful_blind9_mixed {
namespace {

using engine::DuplicateCheck;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using std::chrono::microseconds;
using std::chrono::milliseconds;

bool of_rc(const engine::PacketView& view) {
    return view.connection.type == engine::QpType::Rc;
}

// --- packets that leave or come in later than they could, in their order

// `Rule` has `stream(packet)`, whose packets stay in order, or nothing, and `latency(packet,
// envelope, now)` of one of them.
template <typename Rule>
class Pipeline {
  public:
    void hold(engine::OwnedDatagram& datagram, wire::Instant now) {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet) return;
        const auto stream = rule_.stream(*packet);
        if (!stream) return;
        wire::Instant& last = last_[*stream];
        const wire::Duration latency = rule_.latency(*packet, datagram.envelope, now);
        last = std::max(last, now + datagram.delay + latency);
        datagram.delay = last - now;
    }

  private:
    Rule rule_;
    std::map<wire::Qpn, wire::Instant> last_;
};

template <typename Rule>
class HoldsSent final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        pipeline_.hold(datagram, now);
        out.push_back(std::move(datagram));
    }

  private:
    Pipeline<Rule> pipeline_;
};

template <typename Rule>
class HoldsReceived final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        pipeline_.hold(datagram, now);
        in.push_back(std::move(datagram));
    }

  private:
    Pipeline<Rule> pipeline_;
};

// What was not used for some time must be fetched again.
template <typename Key>
class Cached {
  public:
    bool misses(const Key& key, wire::Instant now, wire::Duration kept) {
        const auto [used, fresh] = used_.try_emplace(key, now);
        const bool gone = fresh || now - used->second > kept;
        used->second = now;
        return gone;
    }

  private:
    std::map<Key, wire::Instant> used_;
};

// --- the responder

// ACK-03: "coalescing: one ACK for many; PSN = last covered". ACK-12, INFO: "ACK latency histogram;
// ACK per N packets". Answers wait behind the late one, so that ACK-04 holds.
struct LateAtRingWrap {
    static std::optional<wire::Qpn> stream(const wire::Packet& packet) {
        return is_rc_response(packet) ? std::optional(packet.bth.dest_qp) : std::nullopt;
    }
    static wire::Duration latency(const wire::Packet& packet, const wire::Envelope& /*envelope*/,
                                  wire::Instant /*now*/) {
        constexpr std::uint32_t ring = 16;
        const bool wraps = is_ack(packet) && packet.bth.psn.value() % ring == ring - 1;
        return wraps ? microseconds(18) : microseconds(0);
    }
};

// RDR-04: "answered with right PSNs/length (G3). New data visible: INFO (spec re-executes; caches
// allowed)". RDR-06, INFO: MIDDLE or LAST may begin the answer. The engine still asks the key.
struct ResponseCache {
    NewestPsn answered;
    std::deque<std::pair<wire::Psn, std::vector<std::byte>>> bodies;
};

class AnswersFromCache final : public QpFilter<ResponseCache> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 8;
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        auto& [answered, bodies] = qp.memory;
        const bool again = answered.note(packet.bth.psn);
        if (!is_read_response(packet)) return;
        if (!again) {
            bodies.emplace_back(packet.bth.psn,
                                std::vector<std::byte>(packet.body.begin(), packet.body.end()));
            if (bodies.size() > kept) bodies.pop_front();
            return;
        }
        for (const auto& [psn, body] : bodies) {
            if (psn == packet.bth.psn && body.size() == packet.body.size()) packet.body = body;
        }
    }
};

// ATM-05: "non-matching duplicate = class D, silent; saved answer also seen"; never executed.
bool same_atomic_of_page(const RequestView& view) {
    if (engine::duplicate_check::same_atomic(view)) return true;
    if (view.saved == nullptr || !is_atomic_request(view.packet)) return false;
    constexpr std::uint64_t page = 4096;
    const engine::SavedRequest& saved = *view.saved;
    return saved.opcode == view.packet.bth.opcode && saved.psn == view.packet.bth.psn &&
           saved.rkey == view.packet.atomic.rkey &&
           saved.address / page == view.packet.atomic.virtual_address / page;
}

// ATM-07, INFO: "silent, NAK 0x61 or ignored".
RequestVerdict payload_of_atomic_ignored(const RequestView& view) {
    if (of_rc(view) && is_atomic_request(view.packet)) return RequestVerdict::Accept;
    return engine::request_check::payload_length(view);
}

// RDR-09: "MUST not corrupt, code INFO"; RNR-03: "RNR = WQE or other resource not ready".
RequestVerdict excess_by_kind(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::reply_resources(view);
    const bool excess = verdict != RequestVerdict::Accept && of_rc(view) &&
                        view.connection.max_dest_rd_atomic != 0; // RDR-10
    if (!excess) return verdict;
    return is_read_request(view.packet) ? RequestVerdict::Rnr : RequestVerdict::Drop;
}

// KEY-10, INFO: "Add pairs: alignment vs rkey, RNR vs rkey, length vs rkey - all either way".
RequestVerdict keys_first_at_odd_psn(const RequestView& view) {
    namespace right = engine::request_check;
    if (of_rc(view) && view.packet.bth.psn.value() % 2 == 1) {
        for (const auto check : {right::key_known, right::key_variant, right::key_domain,
                                 right::key_rights, right::key_range}) {
            const RequestVerdict verdict = check(view);
            if (verdict != RequestVerdict::Accept) return verdict;
        }
    }
    return right::pad_count(view);
}

// RNR-05, INFO: "resend before the responder's timer ends may be dropped silently"; "Or a new RNR
// NAK; both legal".
RequestVerdict silent_in_first_half(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::receive_ready(view);
    const bool again =
        verdict == RequestVerdict::Rnr && of_rc(view) && view.inbound.nak == engine::NakState::Rnr;
    if (!again || view.info.operation != wire::Operation::Send) return verdict;
    const wire::Duration whole = wire::rnr_time(view.connection.min_rnr_timer);
    return view.inbound.rnr_until - view.now > whole / 2 ? RequestVerdict::Drop : verdict;
}

// RNR-03: "mlx5 ODP RNR-NAKs WRITE/READ/SEND on page fault"; "an occasional RNR is INFO". The
// request that comes again finds its page.
RequestVerdict page_fault_once(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::invalidate_key(view);
    const bool may_fault = verdict == RequestVerdict::Accept && of_rc(view) && view.target &&
                           view.info.starts_message() && view.inbound.nak != engine::NakState::Rnr;
    if (!may_fault) return verdict;
    constexpr std::uint64_t page_bits = 12;
    constexpr std::uint64_t one_of = 7;
    const std::uint64_t place =
        (view.target->address >> page_bits) + view.inbound.expected_psn.value();
    return place % one_of == 3 ? RequestVerdict::Rnr : verdict;
}

// CNP-04: "Interval is vendor configuration, not standard"; the annex says no more of the time than
// that a mark "makes the receiver send a CNP to the source (coalescing allowed)" (CA17-44). A CNP
// has no PSN and no place among the others (CNP-12); CNPs stay in their order.
void send_cnp_later(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (is_cnp(packet)) datagram.delay += microseconds(20);
}

// ACK-10: "never more credits than posted WQEs ...; value otherwise INFO". ACK-02: "no obligation;
// ACK allowed"; ACK-04: "Unsolicited/ghost ACK repeats a PSN".
struct Acknowledged {
    NewestPsn newest;
    std::uint32_t fresh = 0;
};

class FewCreditsAndGhosts final : public QpFilter<Acknowledged> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t most = 5; // 6 credits
        constexpr std::uint32_t ghost_every = 8;
        wire::Packet& packet = passage.packet;
        if (!is_rc_response(packet) || is_nak(packet)) return;
        if (has_aeth(packet) && packet.aeth.syndrome.kind() == wire::AckKind::Ack &&
            packet.aeth.syndrome.code() != wire::kNoCredits) {
            packet.aeth.syndrome = wire::Syndrome::ack(std::min(packet.aeth.syndrome.code(), most));
        }
        const bool old = qp.memory.newest.note(packet.bth.psn);
        if (old || !is_ack(packet)) return;
        if (++qp.memory.fresh % ghost_every == 0) passage.after.push_back(packet);
    }
};

// EXT-05: "GRH 40 bytes placed (IPv4 header in last 20)": nothing is said of the first 20.
class LeavesOldGrhBytes final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.add(region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.remove(mr); }
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        if (request.sges.empty() || request.sges.front().length < kGrh) return;
        const engine::Sge& first = request.sges.front();
        posted_.push_back({.qpn = qpn,
                           .id = request.id,
                           .address = first.address,
                           .rkey = {first.lkey.value}}); // a region's keys are equal
    }
    void qp_changed(const engine::QpReport& qp) override {
        if (qp.state == engine::QpState::Reset) qp_destroyed(qp.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        std::erase_if(posted_, [qpn](const Posted& one) { return one.qpn == qpn; });
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.queue != engine::Queue::Receive) return completion;
        const auto same = [&](const Posted& one) { return one.id == completion.id; };
        const bool sure = completion.grh && completion.status == engine::WcStatus::Success &&
                          std::ranges::count_if(posted_, same) == 1;
        if (sure) overwrite(*std::ranges::find_if(posted_, same));
        std::erase_if(posted_, same);
        return completion;
    }

  private:
    static constexpr std::uint32_t kGrh = 40;
    static constexpr std::size_t kUnused = 20;

    struct Posted {
        wire::Qpn qpn;
        std::uint64_t id = 0;
        std::uint64_t address = 0;
        wire::Rkey rkey;
    };

    void overwrite(const Posted& receive) {
        constexpr std::byte version_and_length{0x45};
        constexpr std::byte old{0xA5};
        const wire::MutableBytes grh = regions_.at(receive.rkey, receive.address, kGrh);
        const bool v4 = !grh.empty() && grh[kUnused] == version_and_length &&
                        std::ranges::all_of(grh.first(kUnused),
                                            [](std::byte one) { return one == std::byte{}; });
        if (v4) std::ranges::fill(grh.first(kUnused), old);
    }

    Regions regions_;
    std::vector<Posted> posted_;
};

// UC and UD promise no time, and EXT-06 ("gap drops message, no NAK") asks for order only, which
// is kept.
class ColdReceiver {
  public:
    static std::optional<wire::Qpn> stream(const wire::Packet& packet) {
        const wire::Service service = packet.info().service;
        const bool unreliable = service == wire::Service::Uc || service == wire::Service::Ud;
        return unreliable ? std::optional(packet.bth.dest_qp) : std::nullopt;
    }
    wire::Duration latency(const wire::Packet& packet, const wire::Envelope& /*envelope*/,
                           wire::Instant now) {
        const bool cold = contexts_.misses(packet.bth.dest_qp, now, microseconds(500));
        return cold ? microseconds(12) : microseconds(0);
    }

  private:
    Cached<wire::Qpn> contexts_;
};

// CM-01: "timeouts and max_cm_retries honoured", and no rule asks for an answer sooner. CM-05:
// Linux stays silent on a duplicate of what is answered already; one answer leaves for both here.
class SlowRefusals final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().service == wire::Service::Ud &&
            packet->deth.source_qp == wire::kGsiQpn) {
            std::erase_if(waiting_, [now](const Waiting& one) { return one.leaves <= now; });
            if (waits(*packet, datagram.envelope)) return;
            last_ = std::max(last_, now + datagram.delay + latency(*packet));
            datagram.delay = last_ - now;
            waiting_.push_back({.leaves = last_,
                                .to = datagram.envelope.destination,
                                .qpn = packet->bth.dest_qp,
                                .message = {packet->body.begin(), packet->body.end()}});
        }
        out.push_back(std::move(datagram));
    }

  private:
    struct Waiting {
        wire::Instant leaves;
        wire::IpAddress to;
        wire::Qpn qpn;
        std::vector<std::byte> message;
    };

    static wire::Duration latency(const wire::Packet& packet) {
        const bool management = packet.body.size() == wire::kMadBytes &&
                                wire::load_u8(packet.body, wire::cm::kClassAt) == wire::kCmClass;
        if (!management) return {};
        switch (wire::cm::attribute_of(packet.body)) {
        case wire::cm::kRej: return microseconds(1200);
        case wire::cm::kSidrRep: return microseconds(700);
        case wire::cm::kDrep: return microseconds(200);
        default: return {};
        }
    }
    [[nodiscard]] bool waits(const wire::Packet& packet, const wire::Envelope& envelope) const {
        return std::ranges::any_of(waiting_, [&](const Waiting& one) {
            return one.to == envelope.destination && one.qpn == packet.bth.dest_qp &&
                   std::ranges::equal(one.message, packet.body);
        });
    }

    wire::Instant last_;
    std::vector<Waiting> waiting_;
};

// --- the requester

// REQ-09: "Legal restart PSN is anything from the READ's first PSN to the first missing PSN";
// REQ-32: "READ may be split on PSN borders". Only the rest of a READ that was answered in part, so
// that the responder has it; with nothing behind it, and at the next try undivided (RDR-05).
struct Tail {
    NewestPsn sent;
    wire::Psn first;                // of the newest request
    std::optional<wire::Psn> split; // where the second piece begins
    std::optional<wire::Psn> tried; // the rest that was asked for in pieces last
};

class AsksForRestInTwo final : public QpFilter<Tail> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Tail& tail = qp.memory;
        if (!is_rc_request(packet)) return;
        const bool read = is_read_request(packet);
        const std::uint32_t packets =
            read ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1U;
        if (!tail.sent.note(packet.bth.psn, packets)) {
            tail.first = packet.bth.psn;
            tail.split.reset();
            tail.tried.reset();
            return;
        }
        const wire::Psn last = packet.bth.psn + (std::int64_t{packets} - 1);
        const bool alone = tail.sent.psn == last && wire::distance(tail.first, packet.bth.psn) > 0;
        const bool may_split = read && alone && packets >= 3 && tail.tried != packet.bth.psn &&
                               qp.report.attributes.max_rd_atomic.value_or(1) >= 2;
        if (!may_split) return;
        const std::uint32_t half = packets / 2;
        const std::uint32_t bytes = half * wire::bytes_of(qp.mtu());
        wire::Packet rest = packet;
        rest.bth.psn += half;
        rest.reth.virtual_address += bytes;
        rest.reth.dma_length -= bytes;
        packet.reth.dma_length = bytes;
        tail.tried = packet.bth.psn;
        tail.split = rest.bth.psn;
        passage.after.push_back(rest);
    }
    // The engine knows of one request: its responses go on where the pieces meet.
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& split = qp.memory.split;
        if (!split || !is_read_response(packet)) return;
        const wire::OpcodeInfo& info = packet.info();
        if (packet.bth.psn == *split - 1 && info.ends_message()) {
            set_place(packet, wire::position_of(info.starts_message(), false));
        } else if (packet.bth.psn == *split && info.starts_message()) {
            set_place(packet, wire::position_of(false, info.ends_message()));
        }
    }
};

// REQ-27: "outstanding READ+ATOMIC <= max_rd_atomic"; REQ-28: a fence waits for all. Both are upper
// bounds: fewer, and waiting without a fence, break neither.
bool long_reads_and_atomics_alone(const SendView& view) {
    if (!engine::send_check::rd_atomic(view)) return false;
    if (view.outbound.outstanding_rd_atomic == 0) return true;
    constexpr std::uint32_t long_read = 8;
    return !engine::is_atomic(view.request.opcode) && view.packets <= long_read;
}

// REQ-02: never more than 2^23 PSNs outstanding ("rxe limit 128"): any smaller window is lawful.
bool window_shrinks_at_loss(const SendView& view) {
    constexpr std::uint32_t of_even_qpn = 40;
    constexpr std::uint32_t of_odd_qpn = 160;
    constexpr std::uint32_t after_loss = 12;
    std::uint32_t most = view.connection.qpn.value % 2 == 0 ? of_even_qpn : of_odd_qpn;
    if (view.outbound.retries > 0 || view.outbound.rnr_retries > 0) most = after_loss;
    const std::uint32_t out = engine::forward(view.outbound.unacked_psn, view.outbound.next_psn);
    return out == 0 || std::uint64_t{out} + view.packets <= most;
}

// REQ-20: "legal: ignore, retry it, (error completion)".
ResponseVerdict acknowledged_atomic_is_retried(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::fits_request(view);
    const bool atomic = verdict == ResponseVerdict::Drop && view.request &&
                        engine::is_atomic(view.request->opcode) && is_ack(view.packet);
    return atomic ? ResponseVerdict::Retry : verdict;
}

// REQ-23: "Set {ignore, retry, error}".
ResponseVerdict early_end_is_an_error(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::read_position(view);
    if (verdict != ResponseVerdict::Drop || !view.request) return verdict;
    if (view.info.starts_message()) return ResponseVerdict::Retry;
    const bool early = view.info.ends_message() && view.packet.bth.psn != view.request->last;
    return early ? ResponseVerdict::BadResponse : verdict;
}

// REQ-21: "LOC_LEN_ERR, BAD_RESP_ERR, LOC_QP_OP_ERR, or drop + retry".
ResponseVerdict short_response_is_dropped(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::read_length(view);
    if (verdict != ResponseVerdict::LengthError || !view.request) return verdict;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    const std::uint64_t offset = engine::forward(view.request->first, view.packet.bth.psn) * full;
    const bool last = view.packet.bth.psn == view.request->last;
    const std::uint64_t due = last ? view.request->length - offset : full;
    return view.packet.payload().size() < due ? ResponseVerdict::Drop : verdict;
}

constexpr std::uint16_t kFirstPort = 0xC000;
constexpr std::uint32_t kPortBits = 0x3FFF;

std::uint32_t mixed(std::uint32_t value) {
    constexpr std::uint32_t golden = 0x9E3779B1;
    constexpr unsigned upper = 12;
    return value * golden >> upper;
}

// The trait `multipath`: "sends the packets of a QP from several UDP ports".
void port_of_flowlet(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    if (!is_rc_request(packet)) return;
    constexpr unsigned flowlet = 4;
    const std::uint32_t place = packet.bth.dest_qp.value * 64 + (packet.bth.psn.value() >> flowlet);
    datagram.envelope.source_port =
        static_cast<std::uint16_t>(kFirstPort + (mixed(place) & kPortBits));
}

// ENC-02: "one value per QP (ordering), may be any". CA17-13..19 name all that the IPv6 header
// takes from the address vector; the flow label is not among it, and one that is asked for stays.
void label_of_qp(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    wire::Envelope& envelope = datagram.envelope;
    const bool connected = packet.info().service == wire::Service::Rc;
    if (!connected || envelope.destination.v4() || envelope.flow_label != 0) return;
    envelope.flow_label = mixed(packet.bth.dest_qp.value) | 1U;
}

// EXT-05 says what a datagram looks like and not when it leaves; all of a QP stay in order.
class ColdAddressHandles {
  public:
    static std::optional<wire::Qpn> stream(const wire::Packet& packet) {
        const bool datagram = packet.info().service == wire::Service::Ud;
        return datagram ? std::optional(packet.deth.source_qp) : std::nullopt;
    }
    wire::Duration latency(const wire::Packet& packet, const wire::Envelope& envelope,
                           wire::Instant now) {
        const std::pair key(packet.deth.source_qp, envelope.destination.bytes);
        return handles_.misses(key, now, milliseconds(1)) ? microseconds(10) : microseconds(0);
    }

  private:
    Cached<std::pair<wire::Qpn, std::array<std::byte, 16>>> handles_;
};

// EXT-06: UC has no acknowledge and no timer; REQ-01's PSNs stay in order.
struct UnreliableBursts {
    static std::optional<wire::Qpn> stream(const wire::Packet& packet) {
        const bool uc = packet.info().service == wire::Service::Uc;
        return uc ? std::optional(packet.bth.dest_qp) : std::nullopt;
    }
    static wire::Duration latency(const wire::Packet& packet, const wire::Envelope& /*envelope*/,
                                  wire::Instant /*now*/) {
        constexpr std::uint32_t burst = 8;
        if (packet.bth.psn.value() % burst == 0) return microseconds(5);
        return packet.info().starts_message() ? microseconds(2) : microseconds(0);
    }
};

// REQ-11: "seq NAK at n: complete < n, resend from n", and no rule says how soon. What comes behind
// it on the same QP waits.
struct NaksBySoftware {
    static std::optional<wire::Qpn> stream(const wire::Packet& packet) {
        const bool rc = packet.info().service == wire::Service::Rc;
        return rc ? std::optional(packet.bth.dest_qp) : std::nullopt;
    }
    static wire::Duration latency(const wire::Packet& packet, const wire::Envelope& /*envelope*/,
                                  wire::Instant /*now*/) {
        return is_sequence_nak(packet) ? microseconds(12) : microseconds(0);
    }
};

constexpr engine::Congestion kSlowNotifier{.notification = {.scope = engine::CnpScope::Destination,
                                                            .interval = microseconds(120),
                                                            .for_responses = false}};

// CA17-45: "a CNP lowers the injection rate"; "amount is not specified". CNP-11: a CNP without BECN
// is "ignored or accepted".
constexpr engine::Congestion kHardBraking{
    .reaction = {.enabled = true,
                 .odd_cnp = engine::OddCnp::Ignore,
                 .dcqcn = {.line_rate = 25'000'000'000,
                           .min_rate = 2'000'000'000,
                           .gain_shift = 5,
                           .increase_period = microseconds(100),
                           .fast_recovery_steps = 3,
                           .cut_interval = microseconds(80),
                           .clamp_target = false}}};

constexpr std::array kMutants{
    // --- responders
    Mutant{.name = "lb9m_fourth_acks_late_at_ring_wrap",
           .rule = "ACK-03",
           .description = "One ACK for four requests or after 6 us, and that of every sixteenth "
                          "PSN leaves 18 us later, with the answers behind it.",
           .behaviour = {.ack_policy = engine::AckPolicy::EveryNth,
                         .ack_every = 4,
                         .ack_delay = microseconds(6)},
           .make_filter = make<HoldsSent<LateAtRingWrap>>},
    Mutant{.name = "lb9m_repeated_reads_from_response_cache",
           .rule = "RDR-04",
           .description = "A repeated READ is answered with the old bytes of the last eight "
                          "response packets, goes on in the middle, and is remembered longer.",
           .behaviour = {.partial_read_reply = engine::PartialReadReply::MiddleOrLast,
                         .remembered_extra = 4},
           .make_filter = make<AnswersFromCache>},
    // RSP-10: "resend of the READ response/ATOMIC_ACK itself, which acknowledges the SEND"; RSP-11:
    // "both accepted"; RSP-03: "Duplicate-in-between variant = INFO"; G3: "may resend later
    // responses too"; RDR-08: "correct re-execution is also legal".
    Mutant{.name = "lb9m_duplicates_draw_all_later_responses",
           .rule = "RSP-10",
           .description = "A duplicate that asks for an ACK is answered by the newest response, a "
                          "repeated READ by all later ones too, and each lets a gap be NAKed anew.",
           .behaviour = {.duplicate_answer = engine::DuplicateAnswer::ResendReadResponse,
                         .duplicate_without_ack_request_is_acked = false,
                         .duplicate_rearms_nak = true,
                         .duplicate_resends_later = true,
                         .remembered_extra = 8}},
    Mutant{.name = "lb9m_atomic_replay_by_page",
           .rule = "ATM-05",
           .description = "A duplicate atomic with other operands in the same page gets the saved "
                          "answer, one elsewhere silence; payload of an atomic is ignored.",
           .checks = engine::kStandardChecks.with(DuplicateCheck::SameAtomic, same_atomic_of_page)
                         .with(RequestCheck::PayloadLength, payload_of_atomic_ignored)},
    Mutant{.name = "lb9m_excess_read_waits_excess_atomic_is_lost",
           .rule = "RDR-09",
           .description = "A READ more than max_dest_rd_atomic draws an RNR NAK, an atomic, FLUSH "
                          "or ATOMIC WRITE more is dropped in silence.",
           .checks = engine::kStandardChecks.with(RequestCheck::ReplyResources, excess_by_kind)},
    // LEN-04: "anywhere from the packet that first proves the excess up to LAST/ONLY"; KEY-06:
    // "CX-5 writes in-range packets first"; KEY-14: contents of the target are undefined.
    Mutant{.name = "lb9m_two_check_units_by_psn",
           .rule = "KEY-10",
           .description = "Keys are looked at before lengths at odd PSNs, after them at even ones; "
                          "a WRITE's range and length are asked for where its data goes.",
           .checks = engine::kStandardChecks.with(RequestCheck::PadCount, keys_first_at_odd_psn),
           .behaviour = {.write_range = engine::WriteRange::EachPacket,
                         .write_excess = engine::WriteExcess::AtLast,
                         .refused_data = engine::RefusedData::AsFits}},
    Mutant{.name = "lb9m_early_send_silent_in_first_half_of_wait",
           .rule = "RNR-05",
           .description = "A SEND that comes again in the first half of its RNR wait is dropped, "
                          "in the second half NAKed again; a WRITE with immediate always NAKed.",
           .checks =
               engine::kStandardChecks.with(RequestCheck::ReceiveReady, silent_in_first_half)},
    Mutant{.name = "lb9m_page_fault_by_address_and_psn",
           .rule = "RNR-03",
           .description = "One in seven requests that name memory, by page and PSN, draws one RNR "
                          "NAK before it is carried out.",
           .traits = "odp",
           .checks = engine::kStandardChecks.with(RequestCheck::InvalidateKey, page_fault_once)},
    Mutant{.name = "lb9m_cnp_late_and_once_for_an_address",
           .rule = "CNP-04",
           .description = "A CNP leaves 20 us after the mark, at most one in 120 us to an address, "
                          "and none for marked responses.",
           .behaviour = {.congestion = kSlowNotifier},
           .make_filter = make<EditsSentDatagram<send_cnp_later>>},
    Mutant{.name = "lb9m_few_credits_and_ghost_acks",
           .rule = "ACK-10",
           .description = "Never more than six credits are told of, news of them is sent unasked, "
                          "and each eighth ACK is sent twice.",
           .behaviour = {.credits = true, .unsolicited_credits = true},
           .make_filter = make<FewCreditsAndGhosts>},
    // N-16 promises no order of a shared queue; N-14: "may be completed in error or flushed";
    // RDR-13: "NAK 0x62 or 0x63 at next PSN"; ACK-05, INFO: no visibility is promised.
    Mutant{.name = "lb9m_newest_shared_receive_and_late_host",
           .rule = "N-16",
           .description = "A message takes the newest receive of a shared queue, a bad key costs a "
                          "WRITE its receive, a lost key is an operational error, the host sees "
                          "memory 10, completions 20 and events 40 us late.",
           .behaviour = {.refused_immediate = engine::RefusedImmediate::AccessError,
                         .lost_key = engine::LostKey::NakRemoteOperational,
                         .shared_receive = engine::SharedReceive::Newest},
           .make_filter = make<HostLate<20, 10, 40>>},
    Mutant{.name = "lb9m_ud_grh_begins_with_old_bytes",
           .rule = "EXT-05",
           .description = "The first 20 bytes of the GRH area of a datagram over IPv4 hold "
                          "something old in place of zeros.",
           .make_filter = make<LeavesOldGrhBytes>},
    Mutant{.name = "lb9m_cold_uc_and_ud_receiver",
           .rule = "EXT-06",
           .description = "The first UC or UD packet to a QP that heard nothing for 500 us is "
                          "handled 12 us later, and those behind it wait.",
           .make_filter = make<HoldsReceived<ColdReceiver>>},
    Mutant{.name = "lb9m_slow_manager_answers_a_repeat_once",
           .rule = "CM-01",
           .description = "REJ leaves 1.2 ms, SIDR_REP 0.7 ms and DREP 0.2 ms late, in order, and "
                          "a message that still waits is not sent a second time.",
           .make_filter = make<SlowRefusals>},
    // --- requesters
    Mutant{.name = "lb9m_rest_of_read_asked_in_two",
           .rule = "REQ-32",
           .description = "The rest of a READ that nothing was sent behind is asked for in two "
                          "requests, and if that fails in one.",
           .make_filter = make<AsksForRestInTwo>},
    Mutant{.name = "lb9m_long_reads_and_atomics_go_alone",
           .rule = "REQ-27",
           .description = "An atomic, and a READ of more than eight packets, waits until no other "
                          "READ or atomic is outstanding; AckReq is set every ninth packet.",
           .checks =
               engine::kStandardChecks.with(SendCheck::RdAtomic, long_reads_and_atomics_alone),
           .behaviour = {.ack_request_every = 9}},
    Mutant{.name = "lb9m_window_by_qpn_shrinks_at_loss",
           .rule = "REQ-02",
           .description = "40 packets are on their way on even QPNs and 160 on odd ones, 12 after "
                          "a retry until something is acknowledged.",
           .checks = engine::kStandardChecks.with(SendCheck::Window, window_shrinks_at_loss)},
    // TMO-08, INFO, and TMO-01: "Later intervals may grow (adaptive retransmission)".
    Mutant{.name = "lb9m_adaptive_timer_with_small_window",
           .rule = "TMO-08",
           .description = "The first resend comes after 1 ms and each further one after twice "
                          "that, beyond T as well, with 48 packets on their way at most.",
           .traits = "adaptive_retransmission",
           .behaviour = {.max_unacked_packets = 48,
                         .timeout_grows = true,
                         .adaptive_timeout = milliseconds(1)}},
    // REQ-09: "whole READ again is an identical duplicate"; REQ-15, INFO: "qib restarts per NAK";
    // REQ-11 asks where a resend begins and not how much goes at once.
    Mutant{.name = "lb9m_probes_with_one_packet_after_loss",
           .rule = "REQ-11",
           .description = "After a loss one packet goes and the next when it is acknowledged, a "
                          "READ is asked for as a whole, and each NAK begins the resend anew.",
           .behaviour = {.read_restart = engine::ReadRestart::WholeRead,
                         .after_loss = engine::AfterLoss::OnePacket,
                         .repeated_nak = engine::RepeatedNak::Restarts}},
    // RNR-08: "Lower bound only"; RNR-13: "may first send only the NAKed message"; TMO-01: "<= 4T".
    Mutant{.name = "lb9m_patient_requester",
           .rule = "RNR-13",
           .description = "RNR waits last 22/16 of what was asked and end with the NAKed message "
                          "alone, timeouts last 3.25 T, and AckReq is set every fifth packet.",
           .behaviour = {.ack_request_every = 5,
                         .timeout_sixteenths = 52,
                         .after_rnr = engine::AfterRnr::OneMessage,
                         .rnr_wait_sixteenths = 22}},
    Mutant{.name = "lb9m_brakes_hard_and_seldom",
           .rule = "CA17-45",
           .description = "A CNP lowers the rate from 25 Gb/s at most once in 80 us, recovery "
                          "takes steps of 100 us, and a CNP without BECN is ignored.",
           .behaviour = {.congestion = kHardBraking}},
    Mutant{.name = "lb9m_bad_responses_by_kind",
           .rule = "REQ-23",
           .description = "A short READ response is dropped and a long one an error, one that ends "
                          "early an error and one that begins again a retry; so is an ACK for an "
                          "atomic.",
           .checks = engine::kStandardChecks
                         .with(ResponseCheck::FitsRequest, acknowledged_atomic_is_retried)
                         .with(ResponseCheck::ReadPosition, early_end_is_an_error)
                         .with(ResponseCheck::ReadLength, short_response_is_dropped)},
    // STA-06: "Which WQEs count as "started" is the device's choice".
    Mutant{.name = "lb9m_drains_all_and_tells_late",
           .rule = "STA-06",
           .description = "SQD carries out all that was posted; completions are seen 30 us and "
                          "events 90 us late.",
           .behaviour = {.drain = engine::Drain::Posted},
           .make_filter = make<HostLate<30, 0, 90>>},
    Mutant{.name = "lb9m_flowlets_of_sixteen_packets",
           .rule = "ENC-02",
           .description = "Requests take another UDP source port every sixteen PSNs; answers keep "
                          "one.",
           .traits = "multipath",
           .make_filter = make<EditsSentDatagram<port_of_flowlet>>},
    Mutant{.name = "lb9m_flow_label_and_port_of_qp",
           .rule = "ENC-02",
           .description = "The source port is made of the QPNs, and a connected QP without a flow "
                          "label has one of its own.",
           .behaviour = {.source_port = engine::SourcePort::QpnHash},
           .make_filter = make<EditsSentDatagram<label_of_qp>>},
    Mutant{.name = "lb9m_cold_address_handles",
           .rule = "EXT-05",
           .description = "A datagram to an address that its QP did not send to for 1 ms leaves "
                          "10 us later, and those behind it wait.",
           .make_filter = make<HoldsSent<ColdAddressHandles>>},
    Mutant{.name = "lb9m_uc_sends_in_bursts_of_eight",
           .rule = "EXT-06",
           .description = "UC packets wait 5 us at every eighth PSN and 2 us where a message "
                          "begins, in their order.",
           .make_filter = make<HoldsSent<UnreliableBursts>>},
    // TMO-01: T counts to the first resend; a floor is declared (TMO-05).
    Mutant{.name = "lb9m_sequence_naks_by_software",
           .rule = "REQ-11",
           .description = "A sequence NAK is handled 12 us after it came, with all that follows it "
                          "on its QP; timer codes below 4 act as 4.",
           .ack_timer_floor = 4,
           .behaviour = {.timeout_floor = 4},
           .make_filter = make<HoldsReceived<NaksBySoftware>>},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_lawful_blind9_mixed

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind9_mixed() {
    return of_lawful_blind9_mixed::kMutants;
}

} // namespace veriroce::mutants
