// A complete software RC transport, sans-IO: no clock, socket, thread, randomness or file. Packets,
// verbs and the time go in; packets, completions, events and the next deadline come out.
//
//   engine.handle(datagram, now);            a datagram arrived (its ICRC was checked by the link)
//   engine.handle_timeout(now);              next_timeout() has come
//   while (auto t = engine.poll_transmit(now)) link.send(t->envelope, t->headers, t->payload);
//   while (auto c = engine.poll_completion(cq)) ...
//
// The same calls with the same times give the same packets, to the byte. Every queue is bounded;
// a full one is a VerbError or a completion in error, never silence.
//
// Source: the rule catalogue; each decision cites its rule where it is taken.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <vector>

#include "dissector/wire/packet.hpp"
#include "transport/engine/behaviour.hpp"
#include "transport/engine/checks.hpp"
#include "transport/engine/refusal.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// Limits of the device, which verbs report and enforce.
struct Limits {
    std::uint32_t qps = 65'536;
    std::uint32_t cqs = 65'536;
    std::uint32_t regions = 65'536;
    std::uint32_t windows = 65'536;
    std::uint32_t qp_wr = 16'384;
    std::uint32_t cqe = 1 << 20;
    std::uint32_t srqs = 65'536;
    std::uint32_t srq_wr = 16'384;
    std::uint32_t sges = 16;
    std::uint32_t inline_bytes = 256;
    std::uint8_t rd_atomic = 16;
    std::uint32_t multicast_attached = 4096;  // QPs of all groups
    std::uint32_t multicast_group_qps = 64;   // of one
    std::uint32_t message_bytes = 0x80000000; // LEN-11
};

struct Config {
    Behaviour behaviour;
    Limits limits;
    wire::Mtu port_mtu = wire::Mtu::B4096;
    // The port's P_Key table: what a QP may be given, and what QP1 hears. Empty: any may be given,
    // and QP1 hears the default one.
    std::vector<wire::Pkey> pkeys;
    wire::Qpn first_qpn{0x11};       // QPNs count up from here
    std::uint32_t first_key = 0x100; // region keys are (index << 8 | variant byte)
    // Whether registered memory outlives a loss of power; else no region can promise to.
    bool persistent_memory = false;
};

// A packet to send: headers and payload as two spans, so that nothing is copied. The payload spans
// registered memory (the engine's own buffer where a packet gathers several pieces) and ends where
// the message's bytes end; `pad` zero bytes follow it. All is valid until the next call to the
// engine.
struct Transmit {
    wire::Envelope envelope;
    wire::Bytes headers;
    wire::Bytes payload;
    std::uint8_t pad = 0;
    QpId qp;
};

// Counters of the engine; the names are those of wire::DeviceCounter, where they count the same.
struct Counters {
    std::uint64_t out_of_sequence = 0;
    std::uint64_t duplicate_request = 0;
    std::uint64_t rnr_nak_sent = 0;
    std::uint64_t local_ack_timeout = 0;
    std::uint64_t bad_pkey = 0;
    std::uint64_t bad_qkey = 0;
    std::uint64_t cnp_sent = 0;
    std::uint64_t cnp_handled = 0;
    std::uint64_t ecn_marked = 0;
    std::uint64_t dropped = 0;     // packets that no QP took, or that a check dropped silently
    std::uint64_t events_lost = 0; // asynchronous events that the user did not fetch in time
};

class Engine {
  public:
    explicit Engine(const Config& config, const Checks& checks = kStandardChecks);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    Engine(Engine&&) = delete;
    Engine& operator=(Engine&&) = delete;

    // --- the wire
    void handle(const wire::Datagram& datagram, wire::Instant now);
    void handle_timeout(wire::Instant now);
    // nullptr: nothing goes out before something happens or next_timeout() is reached.
    const Transmit* poll_transmit(wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> next_timeout() const;

    // --- verbs
    std::expected<PdId, VerbError> create_pd();
    std::expected<void, VerbError> destroy_pd(PdId pd);
    std::expected<CqId, VerbError> create_cq(std::uint32_t depth);
    std::expected<void, VerbError> destroy_cq(CqId cq);
    // ibv_req_notify_cq: the next completion that comes in after this call gives one notification;
    // with `solicited_only` the next that the peer asked for, or that failed. A queue that is armed
    // for any stays so.
    std::expected<void, VerbError> arm_cq(CqId cq, bool solicited_only);
    // Whether a completion has come that the queue was armed for; true only once.
    bool take_notification(CqId cq);

    struct Region {
        MrId mr;
        wire::Lkey lkey;
        wire::Rkey rkey;
    };
    // A queue of receives that QPs share (QpDescription::srq). When fewer than `limit` receives are
    // left SRQ_LIMIT_REACHED is raised once; modify_srq arms it again.
    std::expected<SrqId, VerbError> create_srq(const SrqDescription& description);
    std::expected<void, VerbError> modify_srq(SrqId srq, std::uint32_t limit);
    std::expected<SrqReport, VerbError> query_srq(SrqId srq) const;
    std::expected<void, VerbError> destroy_srq(SrqId srq);

    // The memory stays the caller's and must outlive the registration. `address` is the virtual
    // address that names its first byte.
    std::expected<Region, VerbError> register_region(PdId pd, wire::MutableBytes memory,
                                                     std::uint64_t address, Access access);
    // Busy while a window is bound to it.
    std::expected<void, VerbError> deregister_region(MrId mr);

    struct Window {
        MwId mw;
        wire::Rkey rkey;
    };
    std::expected<Window, VerbError> allocate_window(PdId pd, WindowType type);
    std::expected<void, VerbError> free_window(MwId mw);
    // ibv_bind_mw, for windows of type 1: puts a BIND_MW into the send queue and says which key the
    // window has when that is done. Type 2 is bound by a BIND_MW of post_send, whose `rkey` is the
    // window's with another lowest byte.
    std::expected<wire::Rkey, VerbError> bind_window(QpId qp, MwId mw, const BindInfo& bind,
                                                     std::uint64_t id, const SendFlags& flags = {});

    std::expected<QpId, VerbError> create_qp(const QpDescription& description);
    std::expected<void, VerbError> modify_qp(QpId qp, const QpAttributes& attributes,
                                             wire::Instant now);
    std::expected<QpReport, VerbError> query_qp(QpId qp) const;
    // Busy while it is attached to a multicast group.
    std::expected<void, VerbError> destroy_qp(QpId qp);

    // ibv_attach_mcast: the UD QP hears the datagrams of the group, whose address is its GID. Once,
    // however often it is attached. InvalidArgument for any other QP or address; NoMemory at the
    // limits.
    std::expected<void, VerbError> attach_mcast(QpId qp, const wire::IpAddress& group);
    // InvalidArgument if it is not attached.
    std::expected<void, VerbError> detach_mcast(QpId qp, const wire::IpAddress& group);

    // A chain is posted up to the first request that is refused; `posted` of them were taken.
    struct Posted {
        std::size_t posted = 0;
        std::optional<VerbError> refused;
    };
    Posted post_send(QpId qp, std::span<const SendRequest> chain, wire::Instant now);
    // InvalidArgument for a QP with a shared queue.
    Posted post_receive(QpId qp, std::span<const ReceiveRequest> chain);
    Posted post_srq_receive(SrqId srq, std::span<const ReceiveRequest> chain);

    std::optional<Completion> poll_completion(CqId cq);
    [[nodiscard]] bool overrun(CqId cq) const;
    std::optional<Event> poll_event();
    // Why the engine refused a packet, oldest first; it keeps the newest kRefusals.
    std::optional<Refusal> poll_refusal();

    [[nodiscard]] const Counters& counters() const;
    [[nodiscard]] const Limits& limits() const;
    [[nodiscard]] const Config& config() const;

    // Congestion management of the whole device. A QP is a reaction point, or not, from its
    // creation or its latest RESET on.
    [[nodiscard]] const Congestion& congestion() const;
    void set_congestion(const Congestion& congestion);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace veriroce::engine
