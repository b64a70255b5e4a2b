// Written blind, third sample: completions, events, keys and memory as the host sees them.
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind3_host {
namespace {

using engine::Completion;
using engine::EventType;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::Queue;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using engine::SurfaceFilter;
using engine::WcOpcode;
using engine::WcStatus;
using wire::Operation;

// --- receives

// The receives that the host has posted to its QPs; those of a shared queue are not among them.
class PostedReceives {
  public:
    void post(wire::Qpn qpn, std::uint64_t id) { ids_[qpn].push_back(id); }
    // Takes one away and says whose it was.
    std::optional<wire::Qpn> take(std::uint64_t id) {
        for (auto& [qpn, ids] : ids_) {
            const auto found = std::ranges::find(ids, id);
            if (found == ids.end()) continue;
            ids.erase(found);
            return qpn;
        }
        return std::nullopt;
    }
    void forget(wire::Qpn qpn) { ids_.erase(qpn); }
    [[nodiscard]] std::optional<std::uint64_t> oldest(wire::Qpn qpn) const {
        const auto found = ids_.find(qpn);
        if (found == ids_.end() || found->second.empty()) return std::nullopt;
        return found->second.front();
    }

  private:
    std::map<wire::Qpn, std::deque<std::uint64_t>> ids_; // the oldest first
};

// A filter of completions of receives that knows of which QP each is.
template <typename Base>
class FollowsReceives : public Base {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) final {
        posted_.post(qpn, request.id);
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) final {
        if (attributes.state != QpState::Reset) return;
        posted_.forget(qpn);
        forget(qpn);
    }
    std::optional<Completion> completion(const Completion& completion) final {
        if (completion.queue != Queue::Receive) return completion;
        return received(completion, posted_.take(completion.id));
    }

  protected:
    virtual std::optional<Completion> received(Completion completion,
                                               std::optional<wire::Qpn> qpn) = 0;
    virtual void forget(wire::Qpn /*qpn*/) {}
    [[nodiscard]] const PostedReceives& posted() const { return posted_; }

  private:
    PostedReceives posted_;
};

class HeldReceiveLost final : public FollowsReceives<QpFilter<Arrivals>> {
  protected:
    void forget(wire::Qpn qpn) override { holding_.erase(qpn); }
    std::optional<Completion> received(Completion completion,
                                       std::optional<wire::Qpn> qpn) override {
        const bool held = qpn && holding_.erase(*qpn) != 0;
        if (held && completion.status == WcStatus::WrFlushErr) return std::nullopt;
        return completion;
    }

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        Arrivals& arrivals = qp.memory;
        if (arrivals.note(packet, qp.first_request(), qp.mtu()) != Arrivals::Place::Expected) {
            return;
        }
        const bool send = packet.info().operation == Operation::Send;
        if (send && packet.info().position == wire::Position::First) {
            holding_.insert(qp.report.qpn);
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        qp.memory.expect(passage.packet.bth.psn);
        holding_.erase(qp.report.qpn);
    }

  private:
    std::set<wire::Qpn> holding_; // an unfinished SEND has a receive
};

class LengthOfLast final : public FollowsReceives<QpFilter<Arrivals>> {
  protected:
    void forget(wire::Qpn qpn) override { lengths_.erase(qpn); }
    std::optional<Completion> received(Completion seen, std::optional<wire::Qpn> qpn) override {
        const bool write =
            seen.status == WcStatus::Success && seen.opcode == WcOpcode::RecvRdmaWithImm;
        if (!qpn || !write || lengths_[*qpn].empty()) return seen;
        seen.byte_len = lengths_[*qpn].front();
        lengths_[*qpn].pop_front();
        return seen;
    }

    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.note(packet, qp.first_request(), qp.mtu());
        const bool ends =
            packet.info().operation == Operation::RdmaWrite && packet.info().immediate();
        if (place != Arrivals::Place::Expected || !ends) return;
        lengths_[qp.report.qpn].push_back(static_cast<std::uint32_t>(packet.payload().size()));
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        qp.memory.expect(passage.packet.bth.psn);
        auto& lengths = lengths_[qp.report.qpn];
        if (!lengths.empty()) lengths.pop_back();
    }

  private:
    std::map<wire::Qpn, std::deque<std::uint32_t>> lengths_; // of ends that have not completed
};

class ImmediateStays final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Receive || seen.status != WcStatus::Success) return seen;
        auto& newest = newest_[seen.qp];
        if (seen.imm) {
            newest = seen.imm;
        } else {
            seen.imm = newest;
        }
        return seen;
    }

  private:
    std::map<engine::QpId, std::optional<std::uint32_t>> newest_;
};

class TooLongNamesNext final : public FollowsReceives<SurfaceFilter> {
  protected:
    std::optional<Completion> received(Completion seen, std::optional<wire::Qpn> qpn) override {
        if (const auto known = told_.extract(seen.id)) {
            seen.id = known.mapped();
            return seen;
        }
        const auto next = qpn ? posted().oldest(*qpn) : std::nullopt;
        if (seen.status != WcStatus::LocLenErr || !next) return seen;
        told_[*next] = seen.id;
        seen.id = *next;
        return seen;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> told_; // what takes the place of an id
};

class OddPieceCut final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        constexpr std::uint32_t word = 4;
        if (request.sges.size() < 2 || request.sges.front().length % word == 0) return;
        auto& list = lists_.emplace_back(request.sges.begin(), request.sges.end());
        list.front().length -= list.front().length % word;
        request.sges = list;
    }

  private:
    std::deque<std::vector<engine::Sge>> lists_; // the engine copies one when its chain is posted
};

void write_is_not_solicited(wire::Packet& packet) {
    if (packet.info().operation == Operation::RdmaWrite) packet.bth.solicited = false;
}

// --- requests

class NamesUnsignaled final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        auto& silent = silent_[qpn];
        if (!request.flags.signaled) {
            if (!silent) silent = request.id;
            return;
        }
        if (silent) told_[request.id] = *silent;
        silent.reset();
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Send) return seen;
        const auto known = told_.extract(seen.id);
        if (known && seen.status == WcStatus::Success) seen.id = known.mapped();
        return seen;
    }

  private:
    std::map<wire::Qpn, std::optional<std::uint64_t>> silent_; // the first since a signaled one
    std::map<std::uint64_t, std::uint64_t> told_;              // what takes the place of an id
};

class PostedInSqdLost final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (states_[qpn] == QpState::Sqd) late_[qpn].insert(request.id);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state != QpState::Sqd && report.state != QpState::Err) late_.erase(report.qpn);
        states_[report.qpn] = report.state;
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != Queue::Send) return completion;
        const bool flushed = completion.status == WcStatus::WrFlushErr;
        for (auto& [qpn, ids] : late_) {
            if (ids.erase(completion.id) != 0 && flushed) return std::nullopt;
        }
        return completion;
    }

  private:
    std::map<wire::Qpn, QpState> states_;
    std::map<wire::Qpn, std::set<std::uint64_t>> late_; // posted in SQD
};

// --- events

class LimitReachedOnce final : public SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool limit = event.type == EventType::SrqLimitReached && event.srq;
        if (limit && !reached_.insert(*event.srq).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::SrqId> reached_;
};

class HostEndsInSilence final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state) by_host_ = attributes.state == QpState::Err;
    }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        by_host_ = false;
        in.push_back(std::move(datagram));
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == EventType::LastWqeReached && by_host_) return std::nullopt;
        return event;
    }

  private:
    bool by_host_ = false; // the last thing that happened is that the host ended a QP
};

// --- keys, memory, and what RESET leaves

RequestVerdict write_window_takes_atomics(const RequestView& view) {
    const bool atomic = view.packet.headers.has(wire::Header::AtomicEth);
    if (atomic && view.target) {
        const engine::Region& named = view.memory.slot(view.target->rkey.value);
        const bool window = named.kind != engine::KeyKind::Region;
        if (window && named.access.remote_write) return RequestVerdict::Accept;
    }
    return engine::request_check::key_rights(view);
}

class AddCarries final : public DmaFilter<Arrivals> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::size_t word = sizeof(std::uint64_t);
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto place = qp.memory.note(packet, qp.first_request(), qp.mtu());
        const bool adds = packet.info().operation == Operation::FetchAdd;
        if (place != Arrivals::Place::Expected || !adds) return;
        const wire::AtomicEth& asked = packet.atomic;
        const auto region = regions().live(asked.rkey);
        if (!region || !region->access.remote_atomic || asked.virtual_address % word != 0) return;
        const auto both = Regions::range(*region, asked.virtual_address, 2 * word);
        if (both.empty()) return;
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::memcpy(&low, both.data(), word);
        std::memcpy(&high, both.data() + word, word);
        if (low + asked.swap_or_add >= low) return;
        ++high;
        std::memcpy(both.data() + word, &high, word);
    }
};

struct Answered {
    Arrivals arrivals;
    std::set<std::uint32_t> psns; // of the atomics since RESET
};

class ReplaysSurviveReset final : public QpFilter<Answered> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [arrivals, psns] = qp.memory;
        const auto place = arrivals.note(packet, qp.first_request(), qp.mtu());
        const bool atomic = packet.headers.has(wire::Header::AtomicEth);
        if (!atomic || place != Arrivals::Place::Behind) return;
        if (psns.contains(packet.bth.psn.value())) return;
        for (const OwnedDatagram& replay : replays_[qp.report.qpn]) {
            auto answer = wire::decode_packet(replay.bytes);
            if (!answer || answer->bth.psn != packet.bth.psn) continue;
            answer->bth.dest_qp = qp.peer();
            OwnedDatagram again{.envelope = replay.envelope, .bytes = bytes_of(*answer)};
            again.envelope.source = passage.envelope.destination;
            again.envelope.destination = passage.envelope.source;
            passage.sent.push_back(std::move(again));
            passage.dropped = true;
            return;
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 16;
        const wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        qp.memory.psns.insert(packet.bth.psn.value());
        auto& replays = replays_[qp.report.qpn];
        replays.push_back({.envelope = passage.envelope, .bytes = bytes_of(packet)});
        if (replays.size() > kept) replays.pop_front();
    }

  private:
    std::map<wire::Qpn, std::deque<OwnedDatagram>> replays_; // the answers, the oldest first
};

constexpr std::array kMutants{
    Mutant{.name = "held_receive_not_flushed",
           .rule = "STA-07",
           .description = "The receive of a SEND that has begun is not flushed.",
           .make_filter = make<HeldReceiveLost>},
    Mutant{.name = "immediate_write_length_of_last",
           .rule = "N-15",
           .description = "byte_len of a WRITE with immediate data counts its last packet alone.",
           .cases = "rsp/messages-on-three-qps",
           .make_filter = make<LengthOfLast>},
    Mutant{.name = "immediate_told_once_more",
           .rule = "REQ-34",
           .description = "A receive without immediate data completes with that of the one "
                          "before.",
           .cases = "n/immediate-of-a-former-lap",
           .make_filter = make<ImmediateStays>},
    Mutant{.name = "too_long_send_names_next_receive",
           .rule = "KEY-14",
           .description = "The receive that a SEND was too long for changes its wr_id with the "
                          "next one.",
           .cases = "len/too-long-among-receives",
           .make_filter = make<TooLongNamesNext>},
    Mutant{.name = "odd_receive_piece_cut_to_word",
           .rule = "RSP-01",
           .description = "The first of several pieces of a receive is filled up to a multiple of "
                          "four bytes only, and the data goes on in the second.",
           .cases = "len/odd-pieces",
           .make_filter = make<OddPieceCut>},
    Mutant{.name = "immediate_write_never_solicited",
           .rule = "N-26",
           .description = "The SE bit of a WRITE with immediate data raises no notification.",
           .make_filter = make<EditsInbound<write_is_not_solicited>>},
    Mutant{.name = "completion_names_unsignaled",
           .rule = "REQ-34",
           .description = "The completion behind unsignaled requests has the first one's wr_id.",
           .make_filter = make<NamesUnsignaled>},
    Mutant{.name = "work_posted_in_sqd_not_flushed",
           .rule = "STA-07",
           .description = "Requests that were posted in SQD do not complete when the QP goes to "
                          "ERR.",
           .cases = "sta/posted-while-drained",
           .make_filter = make<PostedInSqdLost>},
    Mutant{.name = "srq_limit_reached_only_once",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "SRQ_LIMIT_REACHED is not raised again after the limit was armed again.",
           .make_filter = make<LimitReachedOnce>},
    Mutant{.name = "no_last_wqe_if_host_ends_qp",
           .rule = "N-16",
           .level = "SHOULD",
           .description = "LAST_WQE_REACHED is not raised where the host moves the QP to ERR.",
           .cases = "sta/last-receive",
           .make_filter = make<HostEndsInSilence>},
    Mutant{.name = "write_window_takes_atomics",
           .rule = "KEY-04",
           .description = "A window that may be written takes atomics as well.",
           .cases = "key/window-write-alone",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, write_window_takes_atomics)},
    Mutant{.name = "fetch_add_carries_into_neighbour",
           .rule = "ATM-08",
           .description = "FETCH_ADD beyond 2^64 carries into the next eight bytes.",
           .make_filter = make<AddCarries>},
    Mutant{.name = "atomic_replays_survive_reset",
           .rule = "STA-10",
           .description = "After RESET the atomics of the old connection are answered once more.",
           .cases = "sta/reset-forgets-atomics",
           .make_filter = make<ReplaysSurviveReset>},
};

} // namespace
} // namespace veriroce::mutants::of_blind3_host

namespace veriroce::mutants {

std::span<const Mutant> blind3_host() {
    return of_blind3_host::kMutants;
}

} // namespace veriroce::mutants
