#include "conformance/model/shadow.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "conformance/dut/pattern.hpp"
#include "conformance/model/async_events.hpp"
#include "conformance/model/clear_packet.hpp"
#include "conformance/model/failure_causes.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/qp_states.hpp"
#include "conformance/model/registered.hpp"
#include "conformance/model/requester_view.hpp"
#include "conformance/model/responder_view.hpp"
#include "conformance/model/unreliable_view.hpp"
#include "dissector/wire/crc32c.hpp"

namespace veriroce::model {
namespace {

// An ACK does not promise that its data are visible (ACK-05): a region is compared when nothing has
// changed it for this long.
constexpr wire::Duration kVisible = std::chrono::milliseconds(5);
constexpr std::uint64_t kBytesThatShow = 8;
constexpr std::uint64_t kHost = 1; // the origin of the owner's own writes
constexpr std::uint16_t kPkeyNumber = 0x7FFF;

bool meet(ByteRange a, ByteRange b) {
    return a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

bool holds(ByteRange whole, ByteRange part) {
    return whole.offset <= part.offset && part.offset + part.length <= whole.offset + whole.length;
}

bool is_fatal_nak(const wire::Packet& answer) {
    if (!answer.headers.has(wire::Header::Aeth)) return false;
    const auto code = answer.aeth.syndrome.nak_code();
    return code == wire::NakCode::InvalidRequest || code == wire::NakCode::RemoteAccess ||
           code == wire::NakCode::RemoteOperational;
}

// Whether the QP takes packets before, during and after the change, and looks at the same in them.
bool receives_throughout(const Qp& qp, const dut::QpAttributes& to) {
    using enum wire::QpState;
    const auto receives = [](wire::QpState state) { return state == Rts || state == Sqd; };
    return receives(qp.state) && receives(to.state.value_or(qp.state)) && !to.access && !to.qkey &&
           !to.pkey_index && !to.address_vector && !to.alt_address_vector && !to.path_mig_state;
}

struct Views {
    std::uint64_t life = 0;
    std::unique_ptr<ResponderView> responder;
    std::unique_ptr<RequesterView> requester;
    std::unique_ptr<UnreliableView> unreliable; // of UC and UD, in the place of the other two
};

class Shadow {
  public:
    Shadow(const Story& story, const RegionNames& names) : story_(story), names_(names) {}

    std::vector<Deviation> run() {
        for (const Step& step : story_.steps) {
            ++counters_.serial;
            switch (step.kind) {
            case Step::Kind::Packet: packet(story_.packets[step.index]); break;
            case Step::Kind::Asked: asked(story_.calls[step.index]); break;
            case Step::Kind::Answered: answered(story_.calls[step.index]); break;
            }
        }
        missing();
        if (undecided_) return {};
        return std::move(found_);
    }

  private:
    // --- packets
    void packet(const Packet& packet);
    void from_tester(Qp& qp, const Packet& packet);
    void pass(wire::Instant now);
    void to_unreliable(Qp& qp, const Packet& packet, bool open);
    [[nodiscard]] bool is_open(const Qp& qp, const Packet& packet) const;
    // Why the QP drops a sound packet; nothing if it takes it.
    struct Drop {
        std::string rule;
        std::string why;
    };
    [[nodiscard]] std::optional<Drop> drop(const Qp& qp, const Packet& packet) const;
    [[nodiscard]] bool other_partition(const Qp& qp, wire::Pkey pkey) const;
    Views& views_of(const Qp& qp);

    // --- calls
    void asked(const Call& call);
    void answered(const Call& call);
    void host_write(dut::MrHandle mr, std::uint64_t offset, wire::Bytes data);
    void host_wrote(bool done, dut::MrHandle mr, ByteRange range);
    void begun(const ReceiveWork& work);
    void completed(const Polled& polled);
    [[nodiscard]] bool has_sound_pieces(const SendWork& work, const Qp& qp);
    void bound(const Call& call);
    void unsettle(const dut::SendRequest& request);
    void unsettle_windows_of(dut::QpHandle qp);
    void excuse(dut::QpHandle handle);

    // What was due before the end.
    void missing();
    void missing_of(const Qp& qp, const UnreliableView& view);

    // --- comparing
    void compare(dut::MrHandle mr, std::uint64_t offset, wire::Bytes actual);
    [[nodiscard]] Deviation difference(const Region& region, ByteRange first,
                                       wire::Bytes actual); // `actual` begins with the range
    // The bytes may be visible later: it counts unless another look finds what must be there.
    void look_again(dut::MrHandle mr, ByteRange range, Deviation deviation);
    void saw(dut::MrHandle mr, ByteRange looked, std::span<const ByteRange> wrong);
    void compare_digest(const dut::MrDigest& asked, const dut::MrDigested& digest);
    void open_undecided_receives();
    [[nodiscard]] bool open_to_loose_qp(const Region& region);
    // Whether any posted receive of any QP is so.
    template <typename Is>
    [[nodiscard]] bool any_receive(const Is& is) {
        return std::ranges::any_of(posted_.qps(), [&](Qp& qp) {
            return std::ranges::any_of(posted_.receives_of(qp), is);
        });
    }
    [[nodiscard]] bool in_receive(const Region& region, ByteRange range);
    [[nodiscard]] bool beyond_byte_len(const Region& region, ByteRange range);
    [[nodiscard]] std::string name_of(dut::MrHandle mr) const;

    const Story& story_;
    const RegionNames& names_;
    Counters counters_;
    Posted posted_;
    Registered memory_;
    std::vector<Untouchable> untouchable_;
    std::map<dut::QpHandle, Views> views_;
    std::set<dut::QpHandle> changing_; // a qp_modify is under way
    // Shared queues of which a QP had taken a receive when it was RESET.
    std::set<dut::SrqHandle> left_open_;
    std::set<dut::MrHandle> told_; // regions with a finding
    struct Unseen {
        dut::MrHandle mr;
        ByteRange range;
        Deviation deviation;
    };
    std::vector<Unseen> unseen_;                         // at most one of a region
    std::map<std::uint64_t, std::uint64_t> host_writes_; // by region: the newest
    std::vector<Deviation> found_;
    Completions completions_{story_.setting, posted_, found_};
    AsyncEvents events_{story_, posted_, completions_, found_};
    FailureCauses causes_{story_.setting, found_};
    QpStates states_{story_.setting, found_};
    bool undecided_ = false;
};

// --- packets ----------------------------------------------------------------------------------

Views& Shadow::views_of(const Qp& qp) {
    Views& views = views_[qp.handle];
    if (views.life == qp.life) return views;
    if (qp.srq && views.responder && views.responder->message_open()) left_open_.insert(*qp.srq);
    views.life = qp.life;
    const std::uint64_t origin = 2 * qp.life;
    views.responder =
        std::make_unique<ResponderView>(story_, posted_, memory_, counters_, untouchable_, origin);
    views.requester = std::make_unique<RequesterView>(memory_, counters_, origin + 1);
    views.unreliable =
        std::make_unique<UnreliableView>(story_, posted_, memory_, counters_, untouchable_, origin);
    return views;
}

bool Shadow::other_partition(const Qp& qp, wire::Pkey pkey) const {
    const std::size_t index = qp.attributes.pkey_index.value_or(0);
    const std::uint8_t port = qp.attributes.port_num.value_or(1);
    for (const dut::Port& one : story_.setting.dut.ports) {
        if (one.port != port || index >= one.pkeys.size()) continue;
        return ((one.pkeys[index].value ^ pkey.value) & kPkeyNumber) != 0;
    }
    return false;
}

std::optional<Shadow::Drop> Shadow::drop(const Qp& qp, const Packet& packet) const {
    const wire::Packet& what = *packet.packet;
    if (packet.refusal == wire::FrameError::BadIcrc) return Drop{"CRC-07", "a wrong ICRC"};
    if (what.bth.version != 0) return Drop{"BTH-01", "a transport version other than 0"};
    if (what.info().service != wire::service_of(qp.type) && !what.info().reserved()) {
        return Drop{"BTH-05", "an opcode of another service"};
    }
    if (other_partition(qp, what.bth.pkey)) return Drop{"BTH-07", "a P_Key of another partition"};
    const wire::Envelope envelope = packet.frame.envelope();
    if (envelope.destination != story_.setting.dut_address) {
        return Drop{"ENC-13", "another destination address"};
    }
    const auto& vlan = packet.frame.vlan;
    if (vlan && story_.setting.vlan && vlan->id != story_.setting.vlan->id) {
        return Drop{"N-05", "a packet of another VLAN"};
    }
    const auto& path = qp.attributes.address_vector;
    if (path && envelope.source != path->address && !qp.attributes.alt_address_vector) {
        return Drop{"ENC-14", "a source address that is not the peer's"};
    }
    switch (qp.state) {
    case wire::QpState::Reset:
    case wire::QpState::Init: return Drop{"STA-02", "a request before RTR"};
    case wire::QpState::Err: return Drop{"STA-07", "a request to a QP in ERR"};
    case wire::QpState::Rtr:
    case wire::QpState::Rts:
    case wire::QpState::Sqd:
    case wire::QpState::Sqe: return std::nullopt;
    }
    return std::nullopt;
}

// Whether the QP may take the packet or drop it.
bool Shadow::is_open(const Qp& qp, const Packet& packet) const {
    const bool ready = qp.state != wire::QpState::Reset && qp.state != wire::QpState::Init;
    const bool buffered = !ready && story_.setting.trait("buffers_before_rtr");
    const bool odd_ip = packet.frame.ipv4 && packet.frame.ipv4->header_length != 5;
    const auto& ours = story_.setting.vlan;
    const auto& theirs = packet.frame.vlan;
    const bool both = ours && theirs && ours->id != 0 && theirs->id != 0;
    const bool other_vlan =
        !both && (ours.has_value() != theirs.has_value() || (ours && ours->id != theirs->id));
    const bool unclear = packet.refusal == wire::FrameError::LengthMismatch || odd_ip || other_vlan;
    return changing_.contains(qp.handle) || buffered || unclear;
}

// A packet to a UC or UD QP.
void Shadow::to_unreliable(Qp& qp, const Packet& packet, bool open) {
    Views& views = views_of(qp);
    const auto why = open ? std::nullopt : drop(qp, packet);
    if (why) return views.responder->dropped(qp, packet, why->rule, why->why);
    const bool taken =
        open || !packet.refusal || packet.refusal == wire::FrameError::BadUdpChecksum;
    if (!taken || packet.packet->info().service != wire::service_of(qp.type)) return;
    if (packet.packet->info().invalidates()) memory_.unsettle(packet.packet->ieth.rkey);
    views.unreliable->request(qp, packet, !open && is_clear(story_, packet, qp));
}

void Shadow::from_tester(Qp& qp, const Packet& packet) {
    Views& views = views_of(qp);
    const bool open = is_open(qp, packet);
    if (qp.type != wire::QpType::Rc) return to_unreliable(qp, packet, open);
    if (open) {
        views.requester->loosen();
        return views.responder->loosen(qp);
    }
    if (const auto why = drop(qp, packet)) {
        return views.responder->dropped(qp, packet, why->rule, why->why);
    }
    const bool taken = !packet.refusal || packet.refusal == wire::FrameError::BadUdpChecksum;
    if (!taken || packet.packet->info().operation == wire::Operation::Cnp) return;
    if (packet.packet->info().invalidates()) memory_.unsettle(packet.packet->ieth.rkey);
    if (packet.packet->info().response()) {
        views.requester->response(qp, packet, is_clear(story_, packet, qp),
                                  story_.setting.ack_timeout(qp.attributes.timeout));
    } else {
        views.responder->request(qp, packet);
    }
}

void Shadow::pass(wire::Instant now) {
    counters_.now = std::max(counters_.now, now);
    memory_.advance(counters_.now, counters_.serial);
}

void Shadow::packet(const Packet& packet) {
    pass(packet.at.latest);
    // A device may put fragments together (ENC-09).
    if (packet.refusal == wire::FrameError::Fragment) undecided_ = true;
    if (!packet.packet) return;
    const wire::Qpn to = packet.packet->bth.dest_qp;
    if (packet.from == Side::Tester) {
        Qp* qp = posted_.of_qpn(to);
        if (qp == nullptr) return;
        events_.reached(*qp, packet);
        from_tester(*qp, packet);
        return;
    }
    Qp* qp = posted_.of_peer(to);
    if (qp == nullptr || !packet.sound() || qp->type != wire::QpType::Rc) return;
    if (packet.packet->info().request()) return views_of(*qp).requester->sent(*qp, packet);
    if (!packet.packet->info().response()) return;
    events_.responded(*qp, packet);
    if (is_fatal_nak(*packet.packet)) states_.refused(*qp, packet);
    views_of(*qp).responder->answer(*qp, packet, found_);
}

// --- calls ------------------------------------------------------------------------------------

void Shadow::host_write(dut::MrHandle mr, std::uint64_t offset, wire::Bytes data) {
    Region* region = memory_.find(mr);
    if (region == nullptr) return;
    const Write write{++counters_.write, kHost, counters_.serial};
    host_writes_[mr.value] = write.id;
    region->may_hold(write, offset, data, counters_.now);
}

void Shadow::host_wrote(bool done, dut::MrHandle mr, ByteRange range) {
    Region* region = memory_.find(mr);
    if (region == nullptr) return;
    const Write write{host_writes_[mr.value], kHost, counters_.serial};
    if (done) {
        region->settle(write, range, counters_.serial);
        region->show(write, range, counters_.serial);
    } else {
        region->retract(write, range);
    }
}

void Shadow::asked(const Call& call) {
    pass(call.asked);
    completions_.asked(call);
    events_.asked(call);
    causes_.asked(call);
    posted_.asked(call);
    if (const auto* write = std::get_if<dut::MrWrite>(&call.request)) {
        host_write(write->mr, write->offset, write->data);
    } else if (const auto* fill = std::get_if<dut::MrFill>(&call.request)) {
        std::vector<std::byte> bytes(fill->length);
        dut::write_pattern(bytes, fill->pattern, fill->offset, fill->key.value_or(0));
        host_write(fill->mr, fill->offset, bytes);
    } else if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        const Qp* qp = posted_.find(modify->qp);
        if (qp == nullptr || !receives_throughout(*qp, modify->attributes))
            changing_.insert(modify->qp);
        // Requests from now on may meet a QP in another state.
        if (modify->attributes.state) excuse(modify->qp);
        if (modify->attributes.state == wire::QpState::Reset) unsettle_windows_of(modify->qp);
    } else if (const auto* gone = std::get_if<dut::MrDeregister>(&call.request)) {
        if (const Region* region = memory_.find(gone->mr)) memory_.unsettle(region->rkey);
        memory_.unsettle_windows([&](const Binding& one) { return one.mr == gone->mr; });
    } else if (const auto* freed = std::get_if<dut::MwDealloc>(&call.request)) {
        memory_.unsettle_windows([&](const Binding& one) { return one.mw == freed->mw; });
    } else if (const auto* again = std::get_if<dut::MwBind>(&call.request)) {
        memory_.unsettle_windows([&](const Binding& one) { return one.mw == again->mw; });
    } else if (const auto* destroy = std::get_if<dut::QpDestroy>(&call.request)) {
        excuse(destroy->qp);
        unsettle_windows_of(destroy->qp);
    } else if (const auto* post = std::get_if<dut::PostSend>(&call.request)) {
        for (const dut::SendRequest& one : post->requests) {
            unsettle(one);
            if (one.opcode != wire::WrOpcode::BindMw || !one.mw || !one.bind) continue;
            memory_.bind({.mw = *one.mw,
                          .rkey = one.rkey.value_or(wire::Rkey{}),
                          .mr = one.bind->mr,
                          .range = {one.bind->offset, one.bind->length},
                          .access = one.bind->access,
                          .owner = post->qp});
        }
    }
}

void Shadow::unsettle_windows_of(dut::QpHandle qp) {
    memory_.unsettle_windows([&](const Binding& one) { return one.owner == qp; });
}

// The QP is about to change. The model does not know what it still does before that.
void Shadow::excuse(dut::QpHandle handle) {
    Qp* qp = posted_.find(handle);
    if (qp == nullptr || !views_.contains(handle)) return;
    views_of(*qp).responder->excuse();
}

// Keys that the work request gives or takes away.
void Shadow::unsettle(const dut::SendRequest& request) {
    const bool local = request.opcode == wire::WrOpcode::LocalInv;
    const bool bind = request.opcode == wire::WrOpcode::BindMw;
    if (local && request.invalidate_rkey) memory_.unsettle(*request.invalidate_rkey);
    if ((local || bind) && request.rkey) memory_.unsettle(*request.rkey);
}

void Shadow::bound(const Call& call) {
    const auto& bind = std::get<dut::MwBind>(call.request);
    const auto* made = std::get_if<dut::MwBound>(&**call.answer);
    Qp* qp = posted_.find(bind.qp);
    if (made == nullptr || qp == nullptr || qp->sends.empty()) return;
    memory_.unsettle(made->rkey);
    memory_.bind({.mw = bind.mw,
                  .rkey = made->rkey,
                  .mr = bind.mr,
                  .range = {bind.offset, bind.length},
                  .access = bind.access});
    qp->sends.back().request.rkey = made->rkey; // its completion names it
}

// Whether the device itself may read and write all that the work request names.
bool Shadow::has_sound_pieces(const SendWork& work, const Qp& qp) {
    using enum wire::WrOpcode;
    const wire::WrOpcode opcode = work.request.opcode;
    const bool sends = opcode == Send || opcode == SendWithImm || opcode == RdmaWrite ||
                       opcode == RdmaWriteWithImm;
    if ((!sends && opcode != RdmaRead) || work.bytes > kMostRead) return false;
    return std::ranges::all_of(work.request.sge, [&](const dut::Sge& one) {
        return memory_.device_may_write(one, qp.pd);
    });
}

// A QP takes a receive of a shared queue when a message comes. One that fails then may hold
// anything (KEY-14).
void Shadow::begun(const ReceiveWork& work) {
    const wire::Instant now = counters_.now;
    for (const Place& place : places_of(work.request.sge, 0, work.bytes(), memory_))
        place.region->may_hold_anything({++counters_.write, 0, counters_.serial}, place.range, now);
}

void Shadow::completed(const Polled& polled) {
    if (polled.qp == nullptr) return;
    Qp& qp = *polled.qp;
    Views& views = views_of(qp);
    const bool success = polled.completion.status == wire::WcStatus::Success;
    // A completion of the life before a RESET says nothing of this one.
    const bool matched = polled.send != nullptr || polled.receive != nullptr;
    if (!success && matched && qp.type == wire::QpType::Rc) views.responder->ended();
    if (!success && polled.receive != nullptr && qp.srq) begun(*polled.receive);
    if (polled.receive != nullptr && success) {
        const bool reliable = qp.type == wire::QpType::Rc;
        const bool none =
            reliable ? views.responder->nothing_came() : views.unreliable->nothing_came();
        if (none) completions_.unexplained(polled);
        const auto message =
            reliable ? views.responder->received(qp, *polled.receive)
                     : views.unreliable->received(qp, *polled.receive, polled.completion);
        if (message) completions_.received(polled, *message);
    }
    if (polled.send != nullptr && !success && qp.type != wire::QpType::Rc)
        completions_.failed_alone(polled);
    if (polled.send != nullptr && success && qp.type == wire::QpType::Rc) {
        completions_.sent(polled, views.requester->evidence(),
                          views.requester->response_arrived(*polled.send));
    }
    if (polled.send != nullptr && !success && qp.type == wire::QpType::Rc) {
        completions_.failed(polled, views.requester->evidence(),
                            has_sound_pieces(*polled.send, qp));
    }
    if (polled.send == nullptr) return;
    const dut::SendRequest& request = polled.send->request;
    if (request.opcode == wire::WrOpcode::BindMw && request.rkey) {
        success ? memory_.bound(*request.rkey) : memory_.not_bound(*request.rkey);
    }
    if (!success) return;
    if (request.opcode == wire::WrOpcode::LocalInv) {
        if (request.invalidate_rkey) memory_.invalidate(*request.invalidate_rkey);
        if (request.rkey) memory_.invalidate(*request.rkey);
    }
    for (std::size_t i = qp.sends_done; i < qp.sends.size(); ++i) {
        SendWork& work = qp.sends[i];
        if (&work == polled.send || !work.done) {
            work.done = true;
            views.requester->completed(work);
        }
        if (&work == polled.send) break;
    }
}

void Shadow::answered(const Call& call) {
    pass(call.answered);
    const bool done = call.answer && call.answer->has_value();
    completions_.answered(call);
    events_.answered(call);
    states_.answered(call, posted_);
    for (const Polled& one : posted_.answered(call)) {
        completions_.polled(one, std::get<dut::Poll>(call.request).cq);
        if (one.completion.status != wire::WcStatus::Success) {
            causes_.failed(one);
            states_.failed(one, call.answered);
        }
        completed(one);
    }
    if (const auto* write = std::get_if<dut::MrWrite>(&call.request)) {
        host_wrote(done, write->mr, {write->offset, write->data.size()});
    } else if (const auto* fill = std::get_if<dut::MrFill>(&call.request)) {
        host_wrote(done, fill->mr, {fill->offset, fill->length});
    } else if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        changing_.erase(modify->qp);
        Qp* qp = posted_.find(modify->qp);
        if (done && qp != nullptr && modify->attributes.state == wire::QpState::Err) {
            views_of(*qp).responder->ended();
            views_of(*qp).unreliable->ended();
        }
    }
    if (!done) return;
    if (const auto* made = std::get_if<dut::MrRegistered>(&**call.answer)) {
        memory_.add(std::get<dut::MrRegister>(call.request), *made);
    } else if (const auto* gone = std::get_if<dut::MrDeregister>(&call.request)) {
        if (Region* region = memory_.find(gone->mr)) {
            region->gone = true;
            memory_.settle_again(region->rkey); // N-23: it opens nothing any more
            // What was not visible yet cannot be looked at again.
            std::erase_if(unseen_, [&](const Unseen& one) { return one.mr == gone->mr; });
        }
    } else if (const auto* window = std::get_if<dut::MwAllocated>(&**call.answer)) {
        memory_.unsettle(window->rkey);
    } else if (const auto* freed = std::get_if<dut::MwDealloc>(&call.request)) {
        memory_.unbind_all_of(freed->mw);
    } else if (std::holds_alternative<dut::MwBind>(call.request)) {
        bound(call);
    } else if (const auto* read = std::get_if<dut::MrRead>(&call.request)) {
        const auto* data = std::get_if<dut::MrData>(&**call.answer);
        if (data != nullptr) compare(read->mr, read->offset, data->data);
    } else if (const auto* digest = std::get_if<dut::MrDigest>(&call.request)) {
        const auto* told = std::get_if<dut::MrDigested>(&**call.answer);
        if (told != nullptr) compare_digest(*digest, *told);
    }
}

void Shadow::missing() {
    for (Unseen& one : unseen_) {
        if (told_.insert(one.mr).second) found_.push_back(std::move(one.deviation));
    }
    events_.finish();
    for (Qp& qp : posted_.qps()) {
        if (qp.gone || !views_.contains(qp.handle)) continue;
        if (qp.type != wire::QpType::Rc) {
            missing_of(qp, *views_of(qp).unreliable);
            continue;
        }
        const ResponderView& view = *views_of(qp).responder;
        if (const auto ended = view.ended_at()) completions_.missing_flush(qp, *ended);
        view.overdue(qp, found_);
        const Evidence& evidence = views_of(qp).requester->evidence();
        if (!view.ended_at()) completions_.missing_success(qp, evidence);
        completions_.missing_failure(qp, evidence);
        causes_.judge(qp, view, evidence,
                      completions_.lossy(qp.send_cq) || completions_.lossy(qp.recv_cq));
        if (const auto lost = view.unreported(qp)) {
            completions_.missing_receive(qp, lost->message, lost->acknowledged);
        }
    }
}

void Shadow::missing_of(const Qp& qp, const UnreliableView& view) {
    if (const auto ended = view.ended_at()) completions_.missing_flush(qp, *ended);
    if (const auto due = view.unreported(qp))
        completions_.missing_receive(qp, due->message, due->since);
}

// --- comparing --------------------------------------------------------------------------------

std::string Shadow::name_of(dut::MrHandle mr) const {
    const auto found = names_.find(mr);
    return found == names_.end() ? fmt::format("region {}", mr.value) : found->second;
}

// Receives whose contents the model cannot know yet may hold anything.
void Shadow::open_undecided_receives() {
    for (Qp& qp : posted_.qps()) {
        // Of this life; a look at them notes what an earlier one left open.
        const Views* const views = views_.contains(qp.handle) ? &views_of(qp) : nullptr;
        if (views != nullptr && qp.type != wire::QpType::Rc) views->unreliable->open_undecided(qp);
        const bool loose = (views != nullptr && views->responder->loose()) ||
                           (qp.srq && left_open_.contains(*qp.srq));
        const bool shared = qp.srq && views != nullptr && views->responder->message_open();
        if (!loose && !shared) continue;
        for (const ReceiveWork& work : posted_.receives_of(qp)) {
            if (work.polled && !loose) continue;
            for (const Place& place : places_of(work.request.sge, 0, work.bytes(), memory_)) {
                place.region->contents.may_hold_anything({++counters_.write, 0, counters_.serial},
                                                         place.range.offset, place.range.length);
            }
        }
    }
}

// Whether a QP of which nothing can be said may have written to the region.
bool Shadow::open_to_loose_qp(const Region& region) {
    const wire::Access access = region.access;
    if (!access.remote_write && !access.remote_atomic && !access.mw_bind) return false;
    return std::ranges::any_of(posted_.qps(), [&](const Qp& qp) {
        const auto found = views_.find(qp.handle);
        return qp.pd == region.pd && found != views_.end() && found->second.responder->loose();
    });
}

// Whether a receive that was posted names some of these bytes.
bool Shadow::in_receive(const Region& region, ByteRange range) {
    return any_receive([&](const ReceiveWork& work) {
        const auto places = places_of(work.request.sge, 0, work.bytes(), memory_);
        return std::ranges::any_of(places, [&](const Place& place) {
            return place.region == &region && meet(place.range, range);
        });
    });
}

// Bytes of a receive that its completion does not count.
bool Shadow::beyond_byte_len(const Region& region, ByteRange range) {
    return any_receive([&](const ReceiveWork& work) {
        if (!work.polled || work.status != wire::WcStatus::Success) return false;
        const std::uint64_t all = work.bytes();
        if (work.byte_len >= all) return false;
        const auto places =
            places_of(work.request.sge, work.byte_len, all - work.byte_len, memory_);
        return std::ranges::any_of(places, [&](const Place& place) {
            return place.region == &region && holds(place.range, range);
        });
    });
}

Deviation Shadow::difference(const Region& region, ByteRange first, wire::Bytes actual) {
    Deviation deviation{.rule = "KEY-14", .level = rules::Level::Must, .field = "memory"};
    std::string why = "nothing names it";
    for (const Touched& one : region.touched) {
        if (!meet(one.range, first)) continue;
        deviation.rule = one.rule;
        deviation.packets.assign(1, one.packet);
        why = "by the packets";
    }
    for (const Untouchable& one : untouchable_) {
        if (one.region != &region || !meet(one.range, first)) continue;
        deviation.rule = one.rule;
        deviation.packets.assign(1, one.packet);
        why = "not changed by " + one.why;
    }
    if (beyond_byte_len(region, first)) {
        deviation.level = rules::Level::Should;
        why = "the completion does not count it";
    }
    // A late copy of a SEND that was refused may have come there.
    if (!story_.setting.exact && in_receive(region, first))
        deviation.kind = rules::FindingClass::Surplus;
    const std::uint64_t shown = std::min(first.length, kBytesThatShow);
    std::string seen;
    for (const std::byte one : actual.first(shown))
        seen += fmt::format("{}{:02x}", seen.empty() ? "" : " ", std::to_integer<unsigned>(one));
    deviation.allowed =
        fmt::format("it must be {} ({})", region.contents.text(first.offset, shown), why);
    deviation.measured =
        fmt::format("byte {} of {} on is {}{}", first.offset, name_of(region.mr), seen,
                    first.length > shown ? fmt::format(" ({} bytes differ)", first.length) : "");
    return deviation;
}

void Shadow::look_again(dut::MrHandle mr, ByteRange range, Deviation deviation) {
    if (told_.contains(mr) || std::ranges::count(unseen_, mr, &Unseen::mr) > 0) return;
    deviation.may_come = true;
    unseen_.push_back({mr, range, std::move(deviation)});
}

void Shadow::saw(dut::MrHandle mr, ByteRange looked, std::span<const ByteRange> wrong) {
    std::erase_if(unseen_, [&](const Unseen& one) {
        return one.mr == mr && holds(looked, one.range) &&
               std::ranges::none_of(wrong, [&](ByteRange other) { return meet(one.range, other); });
    });
}

void Shadow::compare(dut::MrHandle mr, std::uint64_t offset, wire::Bytes actual) {
    Region* region = memory_.find(mr);
    if (region == nullptr || open_to_loose_qp(*region)) return;
    open_undecided_receives();
    const std::vector<ByteRange> wrong = region->contents.differences(offset, actual);
    saw(mr, {offset, actual.size()}, wrong);
    if (wrong.empty()) return;
    const auto from = [&](ByteRange range) { return actual.subspan(range.offset - offset); };
    const std::vector<ByteRange> certain = region->visible.differences(offset, actual);
    if (!certain.empty()) {
        const ByteRange first = certain.front();
        if (told_.insert(mr).second) found_.push_back(difference(*region, first, from(first)));
        return;
    }
    if (counters_.now - region->changed < kVisible) return;
    const ByteRange first = wrong.front();
    look_again(mr, first, difference(*region, first, from(first)));
}

// Tells that a region differs, not where: for those that are too large to be read.
void Shadow::compare_digest(const dut::MrDigest& asked, const dut::MrDigested& digest) {
    const Region* region = memory_.find(asked.mr);
    if (region == nullptr || asked.length <= kMostRead || open_to_loose_qp(*region)) return;
    open_undecided_receives();
    if (!region->contents.certain(asked.offset, asked.length)) return;
    const ByteRange range{asked.offset, asked.length};
    const std::uint32_t expected =
        wire::crc32c(region->contents.known().subspan(asked.offset, asked.length));
    if (expected == digest.crc32c) return saw(asked.mr, range, {});
    Deviation deviation{
        .rule = "KEY-14",
        .level = rules::Level::Must,
        .field = "memory",
        .allowed = fmt::format("it must be 0x{:08X}", expected),
        .measured = fmt::format("the CRC-32C of {} is 0x{:08X}", name_of(asked.mr), digest.crc32c),
        .packets = {}};
    if (region->visible.certain(asked.offset, asked.length)) {
        if (told_.insert(asked.mr).second) found_.push_back(std::move(deviation));
    } else if (counters_.now - region->changed >= kVisible) {
        look_again(asked.mr, range, std::move(deviation));
    }
}

} // namespace

std::vector<Deviation> check_memory(const Story& story, const RegionNames& names) {
    return Shadow(story, names).run();
}

} // namespace veriroce::model
