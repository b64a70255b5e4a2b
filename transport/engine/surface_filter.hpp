// A filter on what enters or leaves the engine's surface. Mutants and fault plans are made of it;
// the engine itself does not know the filter: the code that connects an engine to a link calls it.
#pragma once

#include <optional>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// A datagram that owns its bytes (BTH to the last pad byte).
struct OwnedDatagram {
    wire::Envelope envelope;
    std::vector<std::byte> bytes;
    wire::Duration delay{0}; // how much later than now it passes the surface
};

// A region that the host has registered. The memory stays readable and writable until
// region_deregistered.
struct RegisteredRegion {
    MrId mr;
    PdId pd;
    wire::Rkey rkey;
    std::uint64_t address = 0; // virtual address of the first byte
    wire::MutableBytes memory;
    Access access;
};

class SurfaceFilter {
  public:
    SurfaceFilter() = default;
    SurfaceFilter(const SurfaceFilter&) = delete;
    SurfaceFilter& operator=(const SurfaceFilter&) = delete;
    SurfaceFilter(SurfaceFilter&&) = delete;
    SurfaceFilter& operator=(SurfaceFilter&&) = delete;
    virtual ~SurfaceFilter() = default;

    // A whole frame as it came from the wire, before the ICRC is checked; returning a datagram
    // takes it in whatever the check would say, nothing leaves the decision to the link's edge.
    // It is called for every frame, and whatever is taken in, by it or by the edge, goes through
    // inbound before the next frame is looked at.
    virtual std::optional<OwnedDatagram> admit(wire::Bytes /*frame*/, wire::Instant /*now*/) {
        return std::nullopt;
    }
    // What becomes of a datagram on its way in, and on its way out: zero, one or several datagrams.
    // `answers` of inbound go straight out to the wire, not through outbound.
    virtual void inbound(OwnedDatagram datagram, wire::Instant /*now*/,
                         std::vector<OwnedDatagram>& in, std::vector<OwnedDatagram>& /*answers*/) {
        in.push_back(std::move(datagram));
    }
    virtual void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                          std::vector<OwnedDatagram>& out) {
        out.push_back(std::move(datagram));
    }
    // A whole frame just before it leaves, sealed: what is changed here leaves as it is then.
    virtual void sealed(wire::MutableBytes /*frame*/) {}
    // What the host sees of a completion; nothing hides it.
    virtual std::optional<Completion> completion(const Completion& completion) {
        return completion;
    }
    // The same, for a filter that shows the host more completions than there are, or shows them in
    // another order: it appends to `seen` what the host sees now.
    virtual void completions(const Completion& one, std::vector<Completion>& seen) {
        if (const auto shown = completion(one)) seen.push_back(*shown);
    }
    // What the host sees of an asynchronous event; nothing hides it.
    virtual std::optional<Event> event(const Event& event) { return event; }
    // What the host asks of a QP, before the engine carries it out. A changed list of SGEs must
    // live until the next call.
    virtual void modifying(wire::Qpn /*qpn*/, QpAttributes& /*attributes*/) {}
    virtual void posting_send(wire::Qpn /*qpn*/, SendRequest& /*request*/) {}
    virtual void posting_receive(wire::Qpn /*qpn*/, ReceiveRequest& /*request*/) {}
    // What ibv_query_qp reports.
    virtual void queried(QpReport& /*report*/) {}
    // The host's memory, as the device's DMA reaches it. Called after the engine has registered a
    // region, and before it forgets one.
    virtual void region_registered(const RegisteredRegion& /*region*/) {}
    virtual void region_deregistered(MrId /*mr*/) {}
    // How much later than it could the host sees a completion, and the bytes that packets wrote:
    // but never later than a completion that it sees, and what the host itself writes at once.
    [[nodiscard]] virtual wire::Duration completion_delay() const { return {}; }
    [[nodiscard]] virtual wire::Duration memory_delay() const { return {}; }
    // The same of an asynchronous event.
    [[nodiscard]] virtual wire::Duration event_delay() const { return {}; }
    // Whether the host may not post to a QP in ERR; else what it posts is flushed.
    [[nodiscard]] virtual bool refuses_posts_in_error() const { return false; }
    // What the host makes of a QP, which packets alone do not tell: whose it is and how it is set
    // up. Called when a QP was created and after each change that the engine accepted, with what
    // ibv_query_qp reports then (rq_psn is the expected PSN at that time).
    virtual void qp_changed(const QpReport& /*qp*/) {}
    virtual void qp_destroyed(wire::Qpn /*qpn*/) {}
};

} // namespace veriroce::engine
