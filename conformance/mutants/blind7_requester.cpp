// Written blind, seventh sample: what a requester sends, sends again and makes of answers, and what
// its host sees.
#include <deque>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind7_requester {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::ResponseCheck;
using engine::ResponseVerdict;
using engine::ResponseView;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- checks

bool fence_holds_no_atomics(const SendView& view) {
    return engine::is_atomic(view.request.opcode) || engine::send_check::fence(view);
}

ResponseVerdict no_read_responses_in_sqd(const ResponseView& view) {
    const bool ignored = view.connection.state == engine::QpState::Sqd &&
                         view.info.operation == Operation::RdmaReadResponse;
    return ignored ? ResponseVerdict::Drop : engine::response_check::state(view);
}

ResponseVerdict only_answers_whole_reads(const ResponseView& view) {
    const bool tail = view.info.operation == Operation::RdmaReadResponse &&
                      view.info.position == Position::Only && view.request &&
                      view.request->first != view.packet.bth.psn;
    return tail ? ResponseVerdict::Drop : engine::response_check::read_position(view);
}

// --- what was posted, where it is sent

struct Posted {
    engine::SendRequest request; // without its pieces
    std::vector<engine::Sge> pieces;
};

// A filter that knows of each packet of an RC requester which work request it belongs to.
class KnowsWork : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        Posted posted{.request = request, .pieces = {request.sges.begin(), request.sges.end()}};
        posted.request.sges = {};
        queues_[qpn].waiting.push_back(std::move(posted));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) final {
        auto packet = wire::decode_packet(datagram.bytes);
        const bool mine =
            packet && packet->info().request() && packet->info().service == wire::Service::Rc;
        Queue* const queue = mine ? queue_to(*packet, datagram.envelope) : nullptr;
        if (queue != nullptr) {
            const bool again = note(*queue, *packet);
            const auto work = holding(*queue, packet->bth.psn);
            if (work && !leaves(*packet, *work, again)) return;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) final {
        Queue& queue = queues_[report.qpn];
        if (report.state == engine::QpState::Reset) queue = {};
        queue.attributes = report.attributes;
    }
    void qp_destroyed(wire::Qpn qpn) final { queues_.erase(qpn); }
    void region_registered(const engine::RegisteredRegion& region) final { regions_.add(region); }
    void region_deregistered(engine::MrId mr) final { regions_.remove(mr); }

  protected:
    struct Work {
        Posted posted;
        wire::Psn first;
        std::uint32_t packets = 1;
        wire::Mtu mtu{};
    };
    // Returns whether the packet leaves at all.
    virtual bool leaves(wire::Packet& packet, const Work& work, bool again) = 0;
    [[nodiscard]] const Regions& regions() const { return regions_; }

  private:
    static constexpr std::size_t kept = 256;
    struct Queue {
        engine::QpAttributes attributes;
        std::deque<Posted> waiting;
        std::deque<Work> sent;
        NewestPsn newest;
    };

    Queue* queue_to(const wire::Packet& packet, const wire::Envelope& envelope) {
        const auto found = std::ranges::find_if(queues_, [&](const auto& entry) {
            const auto& attributes = entry.second.attributes;
            return attributes.dest_qp == packet.bth.dest_qp && attributes.address &&
                   attributes.address->destination == envelope.destination;
        });
        return found == queues_.end() ? nullptr : &found->second;
    }
    // Returns whether the packet left before.
    static bool note(Queue& queue, const wire::Packet& packet) {
        const wire::Mtu mtu = queue.attributes.path_mtu.value_or(wire::Mtu::B1024);
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, mtu) : 1;
        if (queue.newest.note(packet.bth.psn, packets)) return true;
        if (!packet.info().starts_message()) {
            if (!queue.sent.empty()) ++queue.sent.back().packets;
            return false;
        }
        const Operation operation = packet.info().operation;
        while (!queue.waiting.empty() &&
               operation_of(queue.waiting.front().request.opcode) != operation) {
            queue.waiting.pop_front();
        }
        if (queue.waiting.empty()) return false;
        queue.sent.push_back({.posted = std::move(queue.waiting.front()),
                              .first = packet.bth.psn,
                              .packets = packets,
                              .mtu = mtu});
        queue.waiting.pop_front();
        if (queue.sent.size() > kept) queue.sent.pop_front();
        return false;
    }
    static std::optional<Work> holding(const Queue& queue, wire::Psn psn) {
        const auto found = std::ranges::find_if(queue.sent, [psn](const Work& work) {
            const std::int32_t at = wire::distance(work.first, psn);
            return at >= 0 && static_cast<std::uint32_t>(at) < work.packets;
        });
        if (found == queue.sent.end()) return std::nullopt;
        return *found;
    }

    std::map<wire::Qpn, Queue> queues_;
    Regions regions_;
};

class UnsignaledNotResent final : public KnowsWork {
  protected:
    bool leaves(wire::Packet& /*packet*/, const Work& work, bool again) override {
        return !again || work.posted.request.flags.signaled;
    }
};

class FirstPieceSentTwice final : public KnowsWork {
  protected:
    bool leaves(wire::Packet& packet, const Work& work, bool /*again*/) override {
        const auto& pieces = work.posted.pieces;
        const bool gathered = pieces.size() > 1 && !work.posted.request.flags.inline_data;
        if (!gathered || !packet.info().carries_payload()) return true;
        const std::uint64_t at =
            std::uint64_t{static_cast<std::uint32_t>(wire::distance(work.first, packet.bth.psn))} *
            wire::bytes_of(work.mtu);
        if (at == 0 || at != pieces.front().length) return true;
        const auto bytes = regions().anywhere(pieces.front().address, packet.payload().size());
        if (bytes.empty()) return true;
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(bytes, body_.begin());
        packet.body = body_;
        return true;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

class RestartedReadTellsTail final : public KnowsWork {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool read =
            seen.opcode == engine::WcOpcode::RdmaRead && seen.status == WcStatus::Success;
        const auto found = read ? tails_.find(seen.id) : tails_.end();
        if (found == tails_.end()) return seen;
        seen.byte_len = found->second;
        tails_.erase(found);
        return seen;
    }

  protected:
    bool leaves(wire::Packet& packet, const Work& work, bool again) override {
        if (!again || !is_read_request(packet) || packet.bth.psn == work.first) return true;
        tails_[work.posted.request.id] = packet.reth.dma_length;
        return true;
    }

  private:
    std::map<std::uint64_t, std::uint32_t> tails_; // by wr_id
};

class SentNotFlushed final : public KnowsWork {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Send) return completion;
        const bool sent = sent_.erase(completion.id) != 0;
        if (completion.status == WcStatus::Success) return completion;
        if (completion.status != WcStatus::WrFlushErr) {
            failed_.insert(completion.qp);
            return completion;
        }
        if (sent && !failed_.contains(completion.qp)) return std::nullopt;
        return completion;
    }

  protected:
    bool leaves(wire::Packet& packet, const Work& work, bool /*again*/) override {
        if (packet.info().ends_message()) sent_.insert(work.posted.request.id);
        return true;
    }

  private:
    std::set<std::uint64_t> sent_;  // wr_ids of requests that left wholly
    std::set<engine::QpId> failed_; // QPs that ended by a fault, not by their host
};

// --- what is sent

void last_without_key(wire::Packet& packet) {
    if (packet.info().position == Position::Last && packet.headers.has(wire::Header::Ieth)) {
        set_place(packet, Position::Last);
    }
}

class ResentFlushEmpty final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && packet.info().operation == Operation::Flush) packet.reth.dma_length = 0;
    }
};

class NothingResentInSqd final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!passage.packet.info().request()) return;
        const bool again = qp.memory.note_request(passage.packet, qp.mtu());
        passage.dropped = again && qp.report.state == engine::QpState::Sqd;
    }
    void arrives(Qp& qp, Passage& passage) override { qp.memory.note_answer(passage.packet); }
};

// --- answers

struct Written : Outgoing {
    std::set<std::uint32_t> psns; // of ATOMIC WRITEs
};

class AtomicWriteAcknowledged final : public FollowsRequests<Written> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        auto& psns = qp.memory.psns;
        if (packet.info().operation == Operation::AtomicWrite) {
            psns.insert(packet.bth.psn.value());
        } else {
            psns.erase(packet.bth.psn.value());
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::Psn psn = packet.bth.psn;
        if (!is_ack(packet) || !qp.memory.psns.contains(psn.value()) || !qp.memory.holds(psn)) {
            return;
        }
        set_opcode(packet, Operation::RdmaReadResponse, Position::Only);
    }
};

class NoRnrWaitForReads final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (!packet.info().response()) return;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            const auto copy = memory.sent.find(packet.bth.psn.value());
            const auto request = copy == memory.sent.end()
                                     ? std::nullopt
                                     : std::optional(wire::decode_packet(copy->second.bytes));
            if (request && *request && is_read_request(**request)) {
                send_again(memory, packet.bth.psn, passage);
            }
        } else if (!is_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn);
        }
    }
};

// The timer of a READ runs from its request on, whatever of its response comes.
class ReadTimerRunsOn final : public SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant now,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_read_request(*packet)) {
            asked_[packet->bth.dest_qp] = {.datagram = datagram, .at = now};
        }
        out.push_back(std::move(datagram));
    }
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto peer = packet ? peers_.find(packet->bth.dest_qp) : peers_.end();
        if (peer != peers_.end() && is_read_response(*packet)) {
            const auto asked = asked_.find(peer->second.peer);
            if (asked != asked_.end() && packet->info().ends_message()) {
                asked_.erase(asked);
            } else if (asked != asked_.end() && peer->second.timeout &&
                       now - asked->second.at > 2 * *peer->second.timeout) {
                answers.push_back(asked->second.datagram);
                asked->second.at = now;
            }
        }
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (!report.attributes.dest_qp) return;
        peers_[report.qpn] = {.peer = *report.attributes.dest_qp,
                              .timeout = wire::ack_timeout(report.attributes.timeout.value_or(0))};
    }
    void qp_destroyed(wire::Qpn qpn) override { peers_.erase(qpn); }

  private:
    struct Asked {
        OwnedDatagram datagram;
        wire::Instant at;
    };
    struct Peer {
        wire::Qpn peer;
        std::optional<std::chrono::nanoseconds> timeout;
    };
    std::map<wire::Qpn, Asked> asked_; // by peer: the READ that was asked for last
    std::map<wire::Qpn, Peer> peers_;
};

// --- work requests

class InlineImmediateWriteReadLater final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == WrOpcode::RdmaWriteWithImm) request.flags.inline_data = false;
    }
};

class LocalWorkCompletes final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (engine::is_local(request.opcode)) request.flags.signaled = true;
    }
};

// --- attributes, states

class TimerChangeInSqdIgnored final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (states_[qpn] != engine::QpState::Sqd || !attributes.min_rnr_timer) return;
        told_[qpn] = *attributes.min_rnr_timer;
        attributes.min_rnr_timer.reset();
    }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.min_rnr_timer = told->second;
    }
    void qp_changed(const engine::QpReport& report) override {
        states_[report.qpn] = report.state;
        if (report.state == engine::QpState::Reset) told_.erase(report.qpn);
    }
    void qp_destroyed(wire::Qpn qpn) override {
        states_.erase(qpn);
        told_.erase(qpn);
    }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
    std::map<wire::Qpn, std::uint8_t> told_;
};

class LargeMtuHalved final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.path_mtu) return;
        halved_.erase(qpn);
        if (*attributes.path_mtu != wire::Mtu::B2048) return;
        attributes.path_mtu = wire::Mtu::B1024;
        halved_.insert(qpn);
    }
    void queried(engine::QpReport& report) override {
        if (halved_.contains(report.qpn)) report.attributes.path_mtu = wire::Mtu::B2048;
    }
    void qp_destroyed(wire::Qpn qpn) override { halved_.erase(qpn); }

  private:
    std::set<wire::Qpn> halved_;
};

// Receives that were posted before a RESET are still there after it, and are used first.
class ReceivesSurviveReset final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        Receives& receives = qps_[qpn];
        receives.before.push_back(
            {.id = request.id, .pieces = {request.sges.begin(), request.sges.end()}});
        receives.posted.push_back(std::move(receives.before.front()));
        receives.before.pop_front();
        request.id = receives.posted.back().id;
        request.sges = receives.posted.back().pieces;
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != engine::Queue::Receive) return completion;
        const auto has = [&](wire::Qpn qpn) {
            const auto found = qps_.find(qpn);
            return found != qps_.end() && !found->second.posted.empty() &&
                   found->second.posted.front().id == completion.id;
        };
        wire::Qpn whose = newest_;
        if (!has(whose)) {
            const auto found =
                std::ranges::find_if(qps_, [&](const auto& entry) { return has(entry.first); });
            if (found == qps_.end()) return completion;
            whose = found->first;
        }
        qps_[whose].posted.pop_front();
        return completion;
    }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet) newest_ = packet->bth.dest_qp;
        in.push_back(std::move(datagram));
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state != engine::QpState::Reset) return;
        Receives& receives = qps_[report.qpn];
        std::ranges::move(receives.posted, std::back_inserter(receives.before));
        receives.posted.clear();
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }

  private:
    struct Receive {
        std::uint64_t id = 0;
        std::vector<engine::Sge> pieces;
    };
    struct Receives {
        std::deque<Receive> posted; // with the engine
        std::deque<Receive> before; // from before the RESET
    };
    std::map<wire::Qpn, Receives> qps_;
    wire::Qpn newest_; // that a packet came to
};

// --- completions

class RevokedKeyOfLongSendNotTold final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->headers.has(wire::Header::Ieth)) {
            if (packet->info().position == Position::Last) {
                long_.insert(packet->ieth.rkey.value);
            } else {
                long_.erase(packet->ieth.rkey.value);
            }
        }
        in.push_back(std::move(datagram));
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const auto& key = seen.invalidated_rkey;
        if (key && long_.erase(key->value) != 0) seen.invalidated_rkey.reset();
        return seen;
    }

  private:
    std::set<std::uint32_t> long_; // keys that a SEND of several packets names
};

constexpr std::array kMutants{
    Mutant{.name = "unsignaled_request_not_resent",
           .rule = "REQ-11",
           .description = "A request that asks for no completion is not sent again.",
           .cases = "req/unsignaled-of-each-lost",
           .make_filter = make<UnsignaledNotResent>},
    Mutant{.name = "piece_of_whole_packets_sent_twice",
           .rule = "LEN-10",
           .description = "If the first of several pieces ends with a packet, the next packet "
                          "begins at its address again.",
           .cases = "req/pieces-that-end-with-packets",
           .make_filter = make<FirstPieceSentTwice>},
    Mutant{.name = "restarted_read_tells_length_of_tail",
           .rule = "REQ-34",
           .description = "A READ that was asked for again from its middle completes with the "
                          "length of what was asked for again.",
           .make_filter = make<RestartedReadTellsTail>},
    Mutant{.name = "sent_requests_not_flushed",
           .rule = "STA-07",
           .description = "If the host ends the QP, requests that were sent and not answered do "
                          "not complete.",
           .cases = "sta/partly-acknowledged-flushed",
           .make_filter = make<SentNotFlushed>},
    Mutant{.name = "long_send_with_invalidate_names_no_key",
           .rule = "REQ-34",
           .description = "A SEND with invalidate of several packets ends with a plain LAST.",
           .make_filter = make<EditsOutbound<last_without_key>>},
    Mutant{.name = "fenced_atomic_does_not_wait",
           .rule = "REQ-28",
           .description = "A fenced atomic does not wait for earlier READs.",
           .checks = kStandardChecks.with(SendCheck::Fence, fence_holds_no_atomics)},
    Mutant{.name = "read_responses_ignored_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A READ response that comes in SQD is ignored.",
           .checks = kStandardChecks.with(ResponseCheck::State, no_read_responses_in_sqd)},
    Mutant{.name = "nothing_resent_in_sqd",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "In SQD nothing is sent again.",
           .cases = "sta/resends-while-draining",
           .make_filter = make<NothingResentInSqd>},
    Mutant{.name = "resent_flush_covers_nothing",
           .rule = "REQ-34",
           .description = "A FLUSH that is sent again has length 0.",
           .cases = "ext/requests-lost",
           .make_filter = make<ResentFlushEmpty>},
    Mutant{.name = "ack_completes_atomic_write",
           .rule = "REQ-20",
           .description = "An ACK completes an ATOMIC WRITE.",
           .cases = "ext/requests-lost",
           .make_filter = make<AtomicWriteAcknowledged>},
    Mutant{.name = "only_response_to_read_tail_ignored",
           .rule = "REQ-09",
           .description = "A READ that is asked for again from its last packet takes no ONLY.",
           .checks = kStandardChecks.with(ResponseCheck::ReadPosition, only_answers_whole_reads)},
    Mutant{.name = "no_rnr_wait_for_reads",
           .rule = "RNR-08",
           .description = "A READ that is RNR NAKed is sent again at once.",
           .make_filter = make<NoRnrWaitForReads>},
    Mutant{.name = "read_timer_not_restarted_by_responses",
           .rule = "TMO-04",
           .description = "A READ whose response takes twice the timeout in all is sent again, "
                          "however often a part of it comes.",
           .cases = "tmo/progress-of-a-read",
           .make_filter = make<ReadTimerRunsOn>},
    Mutant{.name = "inline_write_with_immediate_read_later",
           .rule = "REQ-31",
           .description = "The inline data of a WRITE with immediate data are read when they are "
                          "sent.",
           .cases = "req/inline-sent-again",
           .make_filter = make<InlineImmediateWriteReadLater>},
    Mutant{.name = "unsignaled_local_work_completes",
           .rule = "REQ-03",
           .description = "A bind or a local invalidate that asks for no completion gets one.",
           .cases = "key/unsignaled-binds",
           .make_filter = make<LocalWorkCompletes>},
    Mutant{.name = "rnr_timer_change_in_sqd_ignored",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "A min_rnr_timer that is set in SQD is reported and not used.",
           .cases = "sta/timer-set-in-sqd",
           .make_filter = make<TimerChangeInSqdIgnored>},
    Mutant{.name = "mtu_2048_acts_as_1024",
           .rule = "LEN-10",
           .description = "A QP with path MTU 2048 sends and takes packets of 1024 bytes.",
           .make_filter = make<LargeMtuHalved>},
    Mutant{.name = "receives_survive_reset",
           .rule = "STA-10",
           .description = "Receives that were posted before a RESET are used after it.",
           .cases = "sta/receives-gone-after-reset",
           .make_filter = make<ReceivesSurviveReset>},
    Mutant{.name = "revoked_key_of_long_send_not_told",
           .rule = "KEY-11",
           .description = "The receive of a SEND with invalidate of several packets does not name "
                          "the key.",
           .make_filter = make<RevokedKeyOfLongSendNotTold>},
};

} // namespace
} // namespace veriroce::mutants::of_blind7_requester

namespace veriroce::mutants {

std::span<const Mutant> blind7_requester() {
    return of_blind7_requester::kMutants;
}

} // namespace veriroce::mutants
