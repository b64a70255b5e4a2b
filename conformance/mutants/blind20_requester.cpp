// Defects of requesters, written without a look at the cases.
//
// Source: the rules named at each.
#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::mutants::of_blind20_requester {
namespace {

using engine::OwnedDatagram;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendRequest;
using engine::SendView;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;
using wire::Service;

// --- what the filters share

bool is_send_or_write(WrOpcode opcode) {
    return operation_of(opcode) == Operation::Send || operation_of(opcode) == Operation::RdmaWrite;
}

// A work request, and the PSNs that it got.
struct Work {
    SendRequest request; // without its list of SGEs
    std::vector<engine::Sge> sges;
    wire::Psn first;
    std::uint32_t packets = 1;

    [[nodiscard]] std::uint64_t length() const {
        std::uint64_t sum = 0;
        for (const engine::Sge& sge : sges)
            sum += sge.length;
        return sum;
    }
    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t at = wire::distance(first, psn);
        return at >= 0 && static_cast<std::uint32_t>(at) < packets;
    }
};

// A request on its way out.
struct Leaving {
    wire::Packet packet; // may be changed
    wire::Envelope envelope;
    const Work* work = nullptr; // nothing if it is not known
    bool again = false;         // RC: its PSN has left before
    bool dropped = false;
};

// A filter that knows of which work request a request packet is. RESET makes it forget (STA-10).
class FollowsWorks : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, SendRequest& request) final {
        if (engine::is_local(request.opcode)) return;
        Work work{.request = request,
                  .sges = {request.sges.begin(), request.sges.end()},
                  .first = {},
                  .packets = 1};
        work.request.sges = {};
        posted(work);
        lines_[qpn].posted.push_back(std::move(work));
    }
    void qp_changed(const engine::QpReport& report) final {
        Line& line = lines_[report.qpn];
        if (report.state == engine::QpState::Reset) line = {};
        line.report = report;
    }
    void qp_destroyed(wire::Qpn qpn) final { lines_.erase(qpn); }

    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) final {
        const auto packet = wire::decode_packet(datagram.bytes);
        Line* const line = packet ? sender(*packet, datagram.envelope) : nullptr;
        if (line == nullptr) {
            out.push_back(std::move(datagram));
            return;
        }
        Leaving leaving{.packet = *packet, .envelope = datagram.envelope};
        note(*line, leaving);
        leaves(*line, leaving);
        if (leaving.dropped) return;
        out.push_back({.envelope = leaving.envelope,
                       .bytes = bytes_of(leaving.packet),
                       .delay = datagram.delay});
    }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) final {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto line = packet ? lines_.find(packet->bth.dest_qp) : lines_.end();
        if (line != lines_.end() && is_rc_response(*packet)) note_answer(line->second, *packet);
        in.push_back(std::move(datagram));
    }

  protected:
    struct Line {
        engine::QpReport report;
        std::deque<Work> posted; // that has not begun
        std::deque<Work> sent;   // the newest that has
        NewestPsn newest;
        std::optional<wire::Psn> oldest; // that is not acknowledged; nothing: nothing was sent
        bool refused = false;            // a NAK came, and nothing was acknowledged since

        [[nodiscard]] wire::Mtu mtu() const {
            return report.attributes.path_mtu.value_or(wire::Mtu::B1024);
        }
        [[nodiscard]] bool idle() const {
            return posted.empty() && (!oldest || wire::distance(*oldest, *newest.psn) < 0);
        }
    };

    virtual void posted(const Work& /*work*/) {}
    virtual void leaves(Line& /*line*/, Leaving& /*leaving*/) {}
    [[nodiscard]] const Line* line_of(wire::Qpn qpn) const {
        const auto found = lines_.find(qpn);
        return found == lines_.end() ? nullptr : &found->second;
    }

  private:
    Line* sender(const wire::Packet& packet, const wire::Envelope& envelope) {
        if (!packet.info().request()) return nullptr;
        if (packet.info().service == Service::Ud) {
            const auto found = lines_.find(packet.deth.source_qp);
            return found == lines_.end() ? nullptr : &found->second;
        }
        for (auto& [qpn, line] : lines_) {
            const auto& attributes = line.report.attributes;
            if (attributes.dest_qp == packet.bth.dest_qp && attributes.address &&
                attributes.address->destination == envelope.destination) {
                return &line;
            }
        }
        return nullptr;
    }

    static void note(Line& line, Leaving& leaving) {
        const wire::Packet& packet = leaving.packet;
        const wire::OpcodeInfo& info = packet.info();
        const wire::Psn psn = packet.bth.psn;
        if (info.service == Service::Rc) {
            if (!line.oldest) line.oldest = psn;
            leaving.again = line.newest.note(
                psn, is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, line.mtu())
                                             : 1U);
        }
        if (!leaving.again && info.starts_message()) begin(line, packet);
        const auto work =
            std::ranges::find_if(line.sent, [psn](const Work& one) { return one.holds(psn); });
        if (work != line.sent.end()) leaving.work = &*work;
    }

    static void begin(Line& line, const wire::Packet& packet) {
        constexpr std::size_t kept = 256;
        const Operation operation = packet.info().operation;
        const bool datagram = packet.info().service == Service::Ud;
        const auto other = [&](const Work& work) {
            return operation_of(work.request.opcode) != operation ||
                   (datagram && work.length() != packet.payload().size());
        };
        while (!line.posted.empty() && other(line.posted.front()))
            line.posted.pop_front();
        if (line.posted.empty()) return;
        Work work = std::move(line.posted.front());
        line.posted.pop_front();
        work.first = packet.bth.psn;
        const bool long_one = !datagram && (operation == Operation::RdmaReadRequest ||
                                            is_send_or_write(work.request.opcode));
        work.packets = long_one ? wire::packets_of(work.length(), line.mtu()) : 1;
        // The newest first: a PSN that comes again after 2^24 is the newer one's.
        line.sent.push_front(std::move(work));
        if (line.sent.size() > kept) line.sent.pop_back();
    }

    // REQ-03, REQ-11: an ACK acknowledges its own PSN, a NAK all before it.
    static void note_answer(Line& line, const wire::Packet& packet) {
        if (!line.oldest || wire::distance(packet.bth.psn, *line.newest.psn) < 0) return;
        const wire::Psn behind = is_nak(packet) ? packet.bth.psn : packet.bth.psn + 1;
        if (wire::distance(*line.oldest, behind) > 0) {
            line.oldest = behind;
            line.refused = false;
        }
        line.refused |= is_nak(packet);
    }

    std::map<wire::Qpn, Line> lines_;
};

// --- plain traffic

// LEN-10: the gather engine takes an SGE of no bytes for the end of its list, as it pads short
// lists. Shows when: a SEND or WRITE has an SGE of length 0 before one with bytes.
class StopsAtEmptySge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!is_send_or_write(request.opcode) || request.flags.inline_data) return;
        const auto end = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = request.sges.first(static_cast<std::size_t>(end - request.sges.begin()));
    }
};

// LEN-04: the header builder takes the length after padding, but only in the form with immediate
// data, which it builds last. Shows when: a WRITE_WITH_IMM of one packet has a length that is no
// multiple of 4.
void announce_pad_of_immediate_write(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (is_write(packet) && info.position == Position::Only && info.immediate()) {
        packet.reth.dma_length += packet.bth.pad;
    }
}

// EXT-03: the work request of a whole region has a one-bit field for the placement type.
// Shows when: a FLUSH of a whole region (SEL 1) asks for persistence, alone or with visibility.
void one_placement_bit_for_region(wire::Packet& packet) {
    constexpr std::uint8_t visibility = 1;
    if (packet.info().operation == Operation::Flush && packet.feth.selectivity == 1) {
        packet.feth.placement = visibility;
    }
}

// ATM-01: the unit that writes the value of an atomic writes 8 bytes at the first SGE and never
// goes on to the next one. Shows when: an atomic has its 8 bytes in two SGEs that do not adjoin.
class AtomicResultInFirstSge final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!engine::is_atomic(request.opcode)) return;
        std::uint64_t length = 0;
        for (const engine::Sge& sge : request.sges)
            length += sge.length;
        const auto first = std::ranges::find_if(
            request.sges, [](const engine::Sge& sge) { return sge.length != 0; });
        if (length != sizeof(std::uint64_t) || first == request.sges.end()) return;
        only_[0] = *first;
        only_[0].length = sizeof(std::uint64_t);
        request.sges = only_;
    }

  private:
    std::array<engine::Sge, 1> only_{};
};

struct UcShift {
    std::int32_t by = 0; // the wire's PSN less the engine's
};

// LEN-10: the UC segmenter ends a message when less than a full packet is left, and so sends an
// empty LAST behind a full one; ONLY packets are told apart before. Shows when: a UC message of
// two packets or more is an exact multiple of the path MTU.
class EmptyLastOfUc final : public QpFilter<UcShift> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.service != Service::Uc || !info.request()) return;
        packet.bth.psn += qp.memory.by;
        if (info.position != Position::Last || packet.body.size() != wire::bytes_of(qp.mtu())) {
            return;
        }
        const auto middle = wire::opcode_of(Service::Uc, info.operation, Position::Middle);
        if (!middle) return;
        wire::Packet last = packet;
        last.body = {};
        last.bth.psn += 1;
        packet.bth.opcode = *middle;
        packet.bth.solicited = false;
        packet.headers = packet.info().headers;
        passage.after.push_back(last);
        ++qp.memory.by;
    }
};

// EXT-05: the length check of UD adds the 40 bytes of the GRH, which RoCEv2 does not send.
// Shows when: a datagram has more than 4056 bytes and at most 4096, which is the port's MTU.
class UdMtuLessGrh final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::size_t grh = 40;
        constexpr std::size_t most = wire::bytes_of(wire::Mtu::B4096) - grh;
        const auto packet = wire::decode_packet(datagram.bytes);
        const bool too_long =
            packet && packet->info().service == Service::Ud && packet->payload().size() > most;
        if (!too_long) out.push_back(std::move(datagram));
    }
};

// N-18: AckReq is set by the stage that reads the last payload, and a WRITE of no bytes does not
// pass it. Shows when: a WRITE of length 0 is the last request, and the responder acknowledges
// only what asks for it.
void empty_write_asks_for_no_ack(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (is_write(packet) && info.service == Service::Rc && info.position == Position::Only &&
        !info.immediate() && packet.body.empty()) {
        packet.bth.ack_request = false;
    }
}

// CA17-7: frames above 1500 bytes are built by the offload path for large segments, whose template
// of the IPv4 header allows fragments. Shows when: a request over IPv4 fills a packet of a path MTU
// of 2048 or 4096.
class NoDontFragmentAboveClassicMtu final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::size_t classic_mtu = 1500;
        constexpr std::size_t flags_at = 6;
        constexpr std::size_t checksum_at = 10;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || outer.v6) return;
        if (outer.ip_end - outer.ip_at <= classic_mtu) return;
        if (!wire::opcode_info(wire::load_u8(frame, outer.bth_at)).request()) return;
        const wire::MutableBytes ip = frame.subspan(outer.ip_at, outer.udp_at - outer.ip_at);
        constexpr std::uint16_t dont_fragment = 0x4000;
        const unsigned flags = wire::load_u16(ip, flags_at);
        wire::store_be<2>(ip, flags_at, flags & ~unsigned{dont_fragment});
        wire::store_be<2>(ip, checksum_at, wire::ipv4_checksum(ip));
        wire::seal(frame);
    }
};

// CRC-03: the flow label of a connected QP is masked with its context; the one of an address handle
// is put into the header after the mask was made. Shows when: a UD QP sends over IPv6 with an
// address handle whose flow label is not 0.
class UdFlowLabelInIcrc final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        constexpr std::uint32_t flow_label = 0xFFFFF;
        wire::Outer outer{.frame = frame};
        if (wire::find_layers(outer) || !outer.v6) return;
        const auto& info = wire::opcode_info(wire::load_u8(frame, outer.bth_at));
        const bool labelled = (wire::load_u32(frame, outer.ip_at) & flow_label) != 0;
        if (info.service == Service::Ud && labelled) store_icrc_over(flow_label, frame, outer);
    }
};

// --- errors and retransmission

// REQ-10: the address where a READ goes on is added up in 32 bits, the upper half is the request's.
// Shows when: a READ whose range crosses a multiple of 4 GiB loses a response behind that border.
class ReadRestartLosesCarry final : public FollowsWorks {
  protected:
    void leaves(Line& /*line*/, Leaving& leaving) override {
        wire::Packet& packet = leaving.packet;
        if (!is_read_request(packet) || leaving.work == nullptr) return;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        const std::uint64_t begin = leaving.work->request.remote_address;
        packet.reth.virtual_address = (begin & ~low) | (packet.reth.virtual_address & low);
    }
};

// REQ-03: the window check reads a next PSN of 0 as "nothing was sent yet". Shows when: the newest
// request has PSN 0xFFFFFF, and its answer comes before another one is sent.
ResponseVerdict window_that_ends_at_zero(const ResponseView& view) {
    if (view.outbound.next_psn == wire::Psn(0)) return ResponseVerdict::Drop;
    return engine::response_check::window(view);
}

// REQ-21: the length of the last READ response is compared in words of 4 bytes, pad included.
// Shows when: a LAST or ONLY brings one to three bytes too few, with more pad.
ResponseVerdict read_length_in_words(const ResponseView& view) {
    const ResponseVerdict verdict = engine::response_check::read_length(view);
    if (verdict == ResponseVerdict::Take || !view.request) return verdict;
    if (view.packet.bth.psn != view.request->last) return verdict;
    const std::uint64_t offset = std::uint64_t{wire::bytes_of(view.connection.mtu)} *
                                 engine::forward(view.request->first, view.request->last);
    const std::uint64_t due = view.request->length - offset;
    const std::uint64_t came = view.packet.payload().size();
    constexpr std::uint64_t word = 4;
    const bool same_words = (due + word - 1) / word == (came + word - 1) / word;
    return came < due && same_words ? ResponseVerdict::Take : verdict;
}

// REQ-16: a fatal NAK is matched against the first PSN of the oldest request, not against its
// range. Shows when: a READ of several packets is NAKed (0x61..0x63) in place of its second or a
// later response.
ResponseVerdict fatal_nak_only_at_first_psn(const ResponseView& view) {
    const bool inside = is_fatal_nak(view.packet) && view.request &&
                        view.request->opcode == WrOpcode::RdmaRead &&
                        view.packet.bth.psn != view.request->first;
    return inside ? ResponseVerdict::Drop : engine::response_check::fits_request(view);
}

// REQ-31: the retransmission context keeps whether a SEND has immediate data, and has no bit for a
// key to revoke. Shows when: the last packet of a SEND_WITH_INV is sent again.
class ResentWithoutInvalidate final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && packet.info().invalidates()) set_place(packet, packet.info().position);
    }
};

struct RetriedAtomics : Outgoing {
    std::set<std::uint32_t> psns;
};

// ATM-01: an atomic that is tried again is completed by the slow path, which copies the value as
// it came. Shows when: an ATOMIC_ACK is lost, and the one that answers the repetition brings a
// value that is no palindrome of bytes.
class RetriedAtomicNotSwapped final : public FollowsRequests<RetriedAtomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_atomic_request(packet)) return;
        if (again) {
            qp.memory.psns.insert(packet.bth.psn.value());
        } else {
            qp.memory.psns.erase(packet.bth.psn.value());
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool meant = packet.info().operation == Operation::AtomicAcknowledge &&
                           qp.memory.psns.contains(packet.bth.psn.value());
        if (meant) packet.atomic_ack.original = std::byteswap(packet.atomic_ack.original);
    }
};

// TMO-06: an ACK inside a message stores the next PSN as the place to go on, and the timeout
// handler adds one, as it does where the last acknowledged PSN is stored. Shows when: an ACK covers
// the first packets of a message, and then nothing comes until the timeout.
class TimeoutSkipsPacket final : public FollowsWorks {
  protected:
    void leaves(Line& line, Leaving& leaving) override {
        const bool in_the_middle = !leaving.packet.info().starts_message();
        leaving.dropped = leaving.again && in_the_middle && !line.refused &&
                          line.oldest == leaving.packet.bth.psn;
    }
};

// REQ-34: the byte count of a READ is started with each request packet. Shows when: a READ of
// several packets goes on behind a lost response, and its completion tells the length.
class ReadCountsFromRestart final : public FollowsWorks {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        const bool read = one.queue == engine::Queue::Send && one.status == WcStatus::Success &&
                          one.opcode == WcOpcode::RdmaRead;
        const auto skipped = read ? skipped_.find(one.id) : skipped_.end();
        if (skipped != skipped_.end() && skipped->second < shown.byte_len) {
            shown.byte_len -= skipped->second;
        }
        return shown;
    }

  protected:
    void posted(const Work& work) override { skipped_.erase(work.request.id); }
    void leaves(Line& line, Leaving& leaving) override {
        if (!is_read_request(leaving.packet) || leaving.work == nullptr) return;
        const std::int32_t answered = wire::distance(leaving.work->first, leaving.packet.bth.psn);
        if (answered <= 0) return;
        skipped_[leaving.work->request.id] =
            static_cast<std::uint32_t>(answered) * wire::bytes_of(line.mtu());
    }

  private:
    std::map<std::uint64_t, std::uint32_t> skipped_; // bytes, by work request
};

// REQ-31: inline bytes live in the slot of the send queue until the packet is built; for a
// retransmission the driver's list of SGEs is read. Shows when: an inline request is sent again,
// and the host has used its buffer for something else meanwhile.
class InlineFromBufferWhenResent final : public FollowsWorks {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.add(region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.remove(mr); }

  protected:
    void leaves(Line& /*line*/, Leaving& leaving) override {
        const Work* const work = leaving.work;
        if (!leaving.again || work == nullptr || !work->request.flags.inline_data) return;
        if (leaving.packet.info().position != Position::Only) return;
        std::vector<std::byte> bytes;
        for (const engine::Sge& sge : work->sges) {
            const auto piece = regions_.at({sge.lkey.value}, sge.address, sge.length);
            bytes.insert(bytes.end(), piece.begin(), piece.end());
        }
        if (bytes.size() != leaving.packet.payload().size()) return;
        bytes.resize(leaving.packet.body.size());
        body_ = std::move(bytes);
        leaving.packet.body = body_;
    }

  private:
    Regions regions_;
    std::vector<std::byte> body_;
};

// --- where two features or two QPs meet

struct SolicitedLatch {
    bool set = false;
};

// BTH-14: the flag is latched by each message that may be solicited, and a plain WRITE does not
// clear it. Shows when: a WRITE without immediate data follows a solicited SEND or WRITE_WITH_IMM.
class SolicitedSticksToWrite final : public QpFilter<SolicitedLatch> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Bth& bth = passage.packet.bth;
        const wire::OpcodeInfo& info = passage.packet.info();
        if (!info.request() || !info.ends_message()) return;
        if (info.consumes_receive()) qp.memory.set = bth.solicited;
        if (is_write(passage.packet) && !info.immediate()) bth.solicited = qp.memory.set;
    }
};

// CA17-4: the cache of address handles has one line, whose tag is the pair of addresses; another
// handle for the same pair hits it. Shows when: two datagrams go to one address with address
// handles of different traffic class or hop limit, from one QP or from two.
class AddressHandleOfSameDestination final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, SendRequest& request) override {
        if (!request.ud) return;
        engine::AddressVector& path = request.ud->path;
        const bool hit =
            line_ && line_->destination == path.destination && line_->source == path.source;
        if (!hit) line_ = path;
        path.traffic_class = line_->traffic_class;
        path.hop_limit = line_->hop_limit;
    }

  private:
    std::optional<engine::AddressVector> line_;
};

// RNR-08: one timer serves the RNR waits of all QPs; a QP that joins while it runs is woken with
// the first one. Shows when: a QP gets an RNR NAK with a long timer code while another QP waits out
// a shorter one.
class OneRnrTimer final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rnr_nak(*packet)) {
            const wire::Syndrome asked = packet->aeth.syndrome;
            const bool joins = running_ && running_->qpn != packet->bth.dest_qp &&
                               now < running_->until && time_of(running_->asked) < time_of(asked);
            if (joins) {
                packet->aeth.syndrome = running_->asked;
                datagram.bytes = bytes_of(*packet);
            } else {
                running_ = {packet->bth.dest_qp, asked, now + time_of(asked)};
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    struct Running {
        wire::Qpn qpn;
        wire::Syndrome asked;
        wire::Instant until;
    };
    static wire::Duration time_of(wire::Syndrome asked) { return wire::rnr_time(asked.code()); }

    std::optional<Running> running_;
};

// REQ-28: the replay scheduler, which drives the send queue from a timeout or NAK until the next
// progress, does not look at the fence bit. Shows when: a READ or atomic gets no answer, and a
// fenced request waits behind it when it is tried again.
bool no_fence_in_replay(const SendView& view) {
    return view.outbound.retries > 0 || engine::send_check::fence(view);
}

// STA-07: the driver writes the completion of LOCAL_INV and BIND_MW by itself when it drains the
// queue, and does not look at the state of the QP. Shows when: a request fails, or the host sets
// ERR, while a LOCAL_INV or BIND_MW waits in the send queue.
class LocalWorkIsNeverFlushed final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion shown = one;
        const bool local = one.opcode == WcOpcode::LocalInv || one.opcode == WcOpcode::BindMw;
        if (one.queue == engine::Queue::Send && one.status == WcStatus::WrFlushErr && local) {
            shown.status = WcStatus::Success;
        }
        return shown;
    }
};

// STA-06: SQ_DRAINED is raised by the completion of the last request; where there is none to
// complete nobody raises it. Shows when: a QP goes to SQD, with notification, while nothing is
// posted or outstanding.
class NoDrainedEventWhenIdle final : public FollowsWorks {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != engine::QpState::Sqd) return;
        const Line* const line = line_of(qpn);
        const bool begins = line != nullptr && line->report.state == engine::QpState::Rts;
        if (begins) was_idle_ = line->idle();
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained) return event;
        return std::exchange(was_idle_, false) ? std::nullopt : std::optional(event);
    }

  private:
    bool was_idle_ = false; // the QP that went to SQD last
};

// N-05: the header template of the retransmission unit has no room for a tag. Shows when: a QP
// whose path has a VLAN sends a request again.
class ResentUntagged final : public FollowsWorks {
  protected:
    void leaves(Line& /*line*/, Leaving& leaving) override {
        if (leaving.again) leaving.envelope.vlan.reset();
    }
};

// RNR-08: a CNP puts the QP on the scheduler's list again so that its new rate counts, and the
// scheduler sends what the QP has first in its window. Shows when: a CNP comes for a QP that waits
// after an RNR NAK.
class CnpEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            if (memory.sent.contains(packet.bth.psn.value())) memory.waits = packet.bth.psn;
        } else if (is_rc_response(packet) && !is_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn);
            const bool over = memory.waits && wire::distance(*memory.waits, packet.bth.psn) >= 0;
            if (over) memory.waits.reset();
        } else if (is_cnp(packet) && memory.waits && of_this_connection(qp.report, passage)) {
            send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        }
    }
};

// REQ-03: a stage before the QP look-up drops ACKs that repeat the one before; it compares PSN and
// AETH, and not the QP. Shows when: two QPs began with the same PSN, and get the same ACK one after
// the other.
class AckRepeatsOtherQp final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_ack(*packet)) {
            const bool repeats = last_ && last_->psn == packet->bth.psn &&
                                 last_->aeth == packet->aeth && last_->qpn != packet->bth.dest_qp;
            if (repeats) return;
            last_ = {packet->bth.dest_qp, packet->bth.psn, packet->aeth};
        }
        in.push_back(std::move(datagram));
    }

  private:
    struct Ack {
        wire::Qpn qpn;
        wire::Psn psn;
        wire::Aeth aeth;
    };
    std::optional<Ack> last_;
};

// REQ-26: the response of a FLUSH, a later addition, is looked up only at the head of the send
// queue. Shows when: the response of a FLUSH comes while the WRITE before it is not acknowledged by
// an ACK of its own.
ResponseVerdict flush_answered_only_at_head(const ResponseView& view) {
    const bool behind_others = view.request && view.request->opcode == WrOpcode::Flush &&
                               view.info.operation == Operation::RdmaReadResponse &&
                               view.request->first != view.outbound.unacked_psn;
    return behind_others ? ResponseVerdict::Drop : engine::response_check::window(view);
}

constexpr std::array kMutants{
    Mutant{.name = "send_sge_list_ends_at_empty_entry",
           .rule = "LEN-10",
           .description = "A SEND or WRITE ends before an SGE of length 0; the bytes of the SGEs "
                          "behind it are not sent, and it completes.",
           .make_filter = make<StopsAtEmptySge>},
    Mutant{.name = "write_only_imm_announces_pad",
           .rule = "LEN-04",
           .description = "The RETH of a WRITE_ONLY_IMM announces the length with the pad bytes.",
           .make_filter = make<EditsOutbound<announce_pad_of_immediate_write>>},
    Mutant{.name = "flush_of_region_never_persistent",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH of a whole region asks for global visibility, whatever "
                          "placement type was posted.",
           .make_filter = make<EditsOutbound<one_placement_bit_for_region>>},
    Mutant{.name = "atomic_result_overruns_first_sge",
           .rule = "ATM-01",
           .description = "The value of an atomic is written as 8 bytes at the first SGE, past its "
                          "end where it is shorter; the other SGEs get nothing.",
           .make_filter = make<AtomicResultInFirstSge>},
    Mutant{.name = "uc_full_last_packet_then_empty_last",
           .rule = "LEN-10",
           .description = "A UC message of several full packets ends with an additional LAST "
                          "without bytes.",
           .make_filter = make<EmptyLastOfUc>},
    Mutant{.name = "ud_mtu_is_less_by_a_grh",
           .rule = "EXT-05",
           .description = "A datagram of the port's MTU, or up to 39 bytes less, is not sent and "
                          "completes.",
           .make_filter = make<UdMtuLessGrh>},
    Mutant{.name = "empty_write_asks_for_no_ack",
           .rule = "N-18",
           .description = "A WRITE_ONLY of length 0 does not set AckReq, not even when it is sent "
                          "again after a timeout.",
           .make_filter = make<EditsOutbound<empty_write_asks_for_no_ack>>},
    Mutant{.name = "no_df_in_requests_above_1500_bytes",
           .rule = "CA17-7",
           .description = "Requests whose IPv4 packet is longer than 1500 bytes do not have the "
                          "don't-fragment flag.",
           .make_filter = make<NoDontFragmentAboveClassicMtu>},
    Mutant{.name = "ud_flow_label_counts_in_icrc",
           .rule = "CRC-03",
           .description = "The ICRC of a datagram over IPv6 covers its flow label as it is and not "
                          "as ones.",
           .make_filter = make<UdFlowLabelInIcrc>},
    Mutant{.name = "read_restart_loses_carry_at_4gib",
           .rule = "REQ-10",
           .description = "The rest of a READ is asked for with the upper half of the READ's own "
                          "address, though it lies behind a multiple of 4 GiB.",
           .make_filter = make<ReadRestartLosesCarry>},
    Mutant{.name = "nothing_answered_while_next_psn_is_zero",
           .rule = "REQ-03",
           .description = "While PSN 0 is the next to be sent, all responses are dropped.",
           .checks = engine::kStandardChecks.with(ResponseCheck::Window, window_that_ends_at_zero)},
    Mutant{.name = "last_read_length_compared_in_words",
           .rule = "REQ-21",
           .description = "A READ whose last response brings one to three bytes too few completes "
                          "with success.",
           .checks = engine::kStandardChecks.with(ResponseCheck::ReadLength, read_length_in_words)},
    Mutant{.name = "fatal_nak_inside_read_ignored",
           .rule = "REQ-16",
           .description = "A fatal NAK in place of a READ's second or later response is ignored; "
                          "the READ is tried again until retry_cnt is used up.",
           .checks = engine::kStandardChecks.with(ResponseCheck::FitsRequest,
                                                  fatal_nak_only_at_first_psn)},
    Mutant{.name = "resent_send_with_inv_is_plain",
           .rule = "REQ-31",
           .description = "A SEND_LAST_INV or SEND_ONLY_INV that is sent again is a SEND_LAST or "
                          "SEND_ONLY without a key.",
           .make_filter = make<ResentWithoutInvalidate>},
    Mutant{.name = "result_of_retried_atomic_not_swapped",
           .rule = "ATM-01",
           .description = "The value of an atomic that was sent more than once stands in memory "
                          "with its bytes in the wrong order.",
           .make_filter = make<RetriedAtomicNotSwapped>},
    Mutant{.name = "timeout_skips_packet_after_partial_ack",
           .rule = "TMO-06",
           .description = "After an ACK inside a message a timeout goes on with the packet behind "
                          "the oldest unacknowledged one.",
           .cases = "tmo/send-acknowledged-inside tmo/write-acknowledged-inside",
           .make_filter = make<TimeoutSkipsPacket>},
    Mutant{.name = "read_byte_len_counts_from_restart",
           .rule = "REQ-34",
           .description = "The completion of a READ that was asked for in two parts tells the "
                          "length of the second part.",
           .make_filter = make<ReadCountsFromRestart>},
    Mutant{.name = "inline_bytes_read_again_when_resent",
           .rule = "REQ-31",
           .description = "An inline request that is sent again carries what the host's buffer "
                          "holds then.",
           .make_filter = make<InlineFromBufferWhenResent>},
    Mutant{.name = "solicited_sticks_to_next_write",
           .rule = "BTH-14",
           .description = "WRITEs without immediate data carry the SE bit of the last SEND or "
                          "WRITE_WITH_IMM before them.",
           .make_filter = make<SolicitedSticksToWrite>},
    Mutant{.name = "ud_address_handle_cached_by_addresses",
           .rule = "CA17-4",
           .description = "A datagram has the traffic class and hop limit of the one before, if "
                          "both go between the same addresses.",
           .make_filter = make<AddressHandleOfSameDestination>},
    Mutant{.name = "rnr_wait_ends_with_other_qps",
           .rule = "RNR-08",
           .description = "A QP that gets an RNR NAK while another QP waits out a shorter time "
                          "code waits only as long as that code says.",
           .make_filter = make<OneRnrTimer>},
    Mutant{.name = "fence_ignored_while_retrying",
           .rule = "REQ-28",
           .description = "A fenced request is sent before an earlier READ or atomic is answered, "
                          "if that one is being tried again.",
           .checks = engine::kStandardChecks.with(SendCheck::Fence, no_fence_in_replay)},
    Mutant{.name = "local_work_succeeds_in_flush",
           .rule = "STA-07",
           .description = "LOCAL_INV and BIND_MW that are flushed in ERR complete with success.",
           .make_filter = make<LocalWorkIsNeverFlushed>},
    Mutant{.name = "no_sq_drained_when_idle",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A QP that goes to SQD with an idle send queue raises no SQ_DRAINED.",
           .make_filter = make<NoDrainedEventWhenIdle>},
    Mutant{.name = "resent_requests_leave_untagged",
           .rule = "N-05",
           .level = "SHOULD",
           .description = "Requests that are sent again have no VLAN tag.",
           .make_filter = make<ResentUntagged>},
    Mutant{.name = "cnp_makes_refused_request_go",
           .rule = "RNR-08",
           .description = "A CNP makes a QP that waits after an RNR NAK send the refused request "
                          "at once.",
           .make_filter = make<CnpEndsRnrWait>},
    Mutant{.name = "ack_like_other_qps_dropped",
           .rule = "REQ-03",
           .description = "An ACK with PSN, syndrome and MSN of the ACK before is dropped, though "
                          "that one was another QP's.",
           .cases = "req/same-answers-on-three-qps",
           .make_filter = make<AckRepeatsOtherQp>},
    Mutant{.name = "flush_response_acknowledges_no_write",
           .rule = "REQ-26",
           .description = "The response of a FLUSH is dropped while a request before it is not "
                          "acknowledged.",
           .cases = "ext/flush-acknowledges",
           .checks =
               engine::kStandardChecks.with(ResponseCheck::Window, flush_answered_only_at_head)},
};
static_assert(kMutants.size() == 28);

} // namespace
} // namespace veriroce::mutants::of_blind20_requester

namespace veriroce::mutants {

std::span<const Mutant> blind20_requester() {
    return of_blind20_requester::kMutants;
}

} // namespace veriroce::mutants
