// Written blind, fourth sample: keys and windows, completions and events, datagrams.
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind4_host {
namespace {

using engine::Completion;
using engine::DatagramCheck;
using engine::DatagramView;
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
using wire::Position;

// --- checks of keys

const engine::Region& named_by(const RequestView& view) {
    return view.memory.slot(view.target->rkey.value);
}

RequestVerdict window_end_refused(const RequestView& view) {
    const auto& target = view.target;
    if (target && !target->whole && target->length > 0) {
        const engine::Region& named = named_by(view);
        const bool window = named.kind != engine::KeyKind::Region;
        const std::uint64_t end = named.address + named.bytes.size();
        if (window && target->address + target->length == end) {
            return RequestVerdict::NakRemoteAccess;
        }
    }
    return engine::request_check::key_range(view);
}

RequestVerdict flush_range_checked(const RequestView& view) {
    const wire::Reth& asked = view.packet.reth;
    if (view.target && view.target->whole && asked.dma_length > 0 &&
        !named_by(view).covers(asked.virtual_address, asked.dma_length)) {
        return RequestVerdict::NakRemoteAccess;
    }
    return engine::request_check::key_range(view);
}

RequestVerdict immediate_write_needs_no_right(const RequestView& view) {
    const bool immediate = view.info.operation == Operation::RdmaWrite && view.info.immediate();
    return immediate ? RequestVerdict::Accept : engine::request_check::key_rights(view);
}

RequestVerdict receives_in_domain_of_qp(const RequestView& view) {
    RequestView own = view;
    own.receive_domain = view.connection.pd;
    return engine::request_check::receive_memory(own);
}

// --- keys

// Whatever the highest byte of the key in an atomic is, the key is the region's.
class AtomicKeyCut final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->headers.has(wire::Header::AtomicEth)) {
            const auto known = keys_.find(packet->atomic.rkey.value & kCompared);
            if (known != keys_.end()) {
                packet->atomic.rkey = known->second.rkey;
                datagram.bytes = bytes_of(*packet);
            }
        }
        in.push_back(std::move(datagram));
    }
    void region_registered(const engine::RegisteredRegion& region) override {
        keys_.insert_or_assign(region.rkey.value & kCompared, region);
    }
    void region_deregistered(engine::MrId mr) override {
        std::erase_if(keys_, [mr](const auto& one) { return one.second.mr == mr; });
    }

  private:
    static constexpr std::uint32_t kCompared = 0x00FFFFFF;
    std::map<std::uint32_t, engine::RegisteredRegion> keys_;
};

void last_revokes_nothing(wire::Packet& packet) {
    const auto& info = packet.info();
    if (info.service != wire::Service::Rc || !info.invalidates()) return;
    if (info.position == Position::Last) set_opcode(packet, Operation::Send, Position::Last);
}

// --- completions

class FailureAfterFlush final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        posted_[qpn].push_back(request.id);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) posted_.erase(report.qpn);
    }
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        const bool more = one.queue == Queue::Send && take(one.id);
        const bool failed = one.status != WcStatus::Success && one.status != WcStatus::WrFlushErr;
        if (failed && more && !held_) {
            held_ = one;
            return;
        }
        seen.push_back(one);
        if (held_ && one.queue == Queue::Send && one.qp == held_->qp) {
            seen.push_back(*held_);
            held_.reset();
        }
    }

  private:
    // Forgets a request and those before it; returns whether its QP has later ones.
    bool take(std::uint64_t id) {
        for (auto& [qpn, ids] : posted_) {
            const auto found = std::ranges::find(ids, id);
            if (found == ids.end()) continue;
            ids.erase(ids.begin(), found + 1);
            return !ids.empty();
        }
        return false;
    }
    std::map<wire::Qpn, std::deque<std::uint64_t>> posted_; // the oldest first
    std::optional<Completion> held_;
};

class LengthStays final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Receive || seen.status != WcStatus::Success) return seen;
        auto& newest = newest_[seen.qp];
        const bool empty = seen.opcode == WcOpcode::RecvRdmaWithImm && seen.byte_len == 0;
        if (empty) {
            seen.byte_len = newest;
        } else {
            newest = seen.byte_len;
        }
        return seen;
    }

  private:
    std::map<engine::QpId, std::uint32_t> newest_;
};

// The receives that no QP has posted come out of shared queues.
class SharedReceiveNamesFirst final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        own_.insert(request.id);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Receive || own_.contains(seen.id)) return seen;
        if (!first_) first_ = seen.qp;
        seen.qp = *first_;
        return seen;
    }

  private:
    std::set<std::uint64_t> own_;
    std::optional<engine::QpId> first_;
};

void last_is_not_solicited(wire::Packet& packet) {
    if (packet.info().position == Position::Last) packet.bth.solicited = false;
}

// --- events

class TellsEachDrain final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Sqd) attributes.sqd_async_notify = true;
    }
};

class MigrationByPeerNotTold final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto bth = wire::Bth::decode(datagram.bytes);
        by_peer_ = bth && bth->mig_req;
        in.push_back(std::move(datagram));
    }
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& /*attributes*/) override {
        by_peer_ = false;
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == EventType::PathMig && by_peer_) return std::nullopt;
        return event;
    }

  private:
    bool by_peer_ = false; // the newest packet came from a peer that has migrated
};

// --- datagrams

bool room_to_spare(const DatagramView& view) {
    constexpr std::size_t grh = 40;
    return grh + view.packet.payload().size() < view.receive_bytes;
}

class ControlledKeySent final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.ud) posted_[qpn].push_back(*request.ud);
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) posted_.erase(report.qpn);
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        constexpr std::uint32_t controlled = 0x80000000;
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->headers.has(wire::Header::Deth)) {
            auto& posted = posted_[packet->deth.source_qp];
            while (!posted.empty() && posted.front().qpn != packet->bth.dest_qp)
                posted.pop_front(); // too large, it was not sent
            if (!posted.empty()) {
                const wire::Qkey qkey = posted.front().qkey;
                posted.pop_front();
                if ((qkey.value & controlled) != 0) packet->deth.qkey = qkey;
                datagram.bytes = bytes_of(*packet);
            }
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, std::deque<engine::UdDestination>> posted_; // the oldest first
};

class SourceQpCut final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::uint32_t sixteen_bits = 0xFFFF;
        Completion seen = completion;
        if (seen.source_qp) seen.source_qp->value &= sixteen_bits;
        return seen;
    }
};

class ImmediateInLength final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.source_qp && seen.imm) seen.byte_len += wire::ImmDt::kSize;
        return seen;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "window_last_byte_refused",
           .rule = "N-37",
           .description = "A range that ends where its window ends is refused.",
           .cases = "key/window-edges key/window-moved-to-another-region",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, window_end_refused)},
    Mutant{.name = "flush_of_region_checks_range",
           .rule = "EXT-03",
           .level = "SHOULD",
           .description = "A FLUSH of a whole region is refused if its address and length, which "
                          "say nothing, lie outside.",
           .cases = "ext/flush-region",
           .checks = kStandardChecks.with(RequestCheck::KeyRange, flush_range_checked)},
    Mutant{.name = "immediate_write_needs_no_right",
           .rule = "KEY-04",
           .description = "A WRITE with immediate data is executed on a region without "
                          "REMOTE_WRITE.",
           .cases = "key/right-of-each-request",
           .checks = kStandardChecks.with(RequestCheck::KeyRights, immediate_write_needs_no_right)},
    Mutant{.name = "shared_receive_in_domain_of_qp",
           .rule = "N-16",
           .description = "The keys of a shared receive are looked up in the QP's protection "
                          "domain, not in the queue's.",
           .cases = "n/shared-queue-in-another-domain",
           .checks = kStandardChecks.with(RequestCheck::ReceiveMemory, receives_in_domain_of_qp)},
    Mutant{.name = "atomic_key_without_highest_byte",
           .rule = "KEY-02",
           .description = "The highest byte of an atomic's key is not compared.",
           .cases = "key/other-key-atomics",
           .make_filter = make<AtomicKeyCut>},
    Mutant{.name = "last_with_invalidate_taken_for_last",
           .rule = "KEY-11",
           .description = "SEND_LAST_WITH_INVALIDATE revokes nothing.",
           .cases = "key/invalidate-nothing-at-the-end key/send-last-with-invalidate",
           .make_filter = make<EditsInbound<last_revokes_nothing>>},
    Mutant{.name = "failure_told_after_first_flush",
           .rule = "N-20",
           .description = "The request that failed completes behind the first that is flushed.",
           .make_filter = make<FailureAfterFlush>},
    Mutant{.name = "empty_write_has_length_of_before",
           .rule = "N-15",
           .description = "An empty WRITE with immediate data completes with the length of the "
                          "receive before.",
           .cases = "n/lengths-in-turn",
           .make_filter = make<LengthStays>},
    Mutant{.name = "shared_receive_names_first_qp",
           .rule = "N-21",
           .description = "A receive out of a shared queue completes as the first QP's.",
           .cases = "rnr/shared-queue-three-qps",
           .make_filter = make<SharedReceiveNamesFirst>},
    Mutant{.name = "last_never_solicited",
           .rule = "BTH-13",
           .description = "The SE bit of a message of several packets raises no notification.",
           .make_filter = make<EditsInbound<last_is_not_solicited>>},
    Mutant{.name = "drain_told_unasked",
           .rule = "N-25",
           .level = "SHOULD",
           .description = "SQ_DRAINED is raised though the host did not ask for it.",
           .make_filter = make<TellsEachDrain>},
    Mutant{.name = "migration_by_peer_not_told",
           .rule = "N-24",
           .level = "SHOULD",
           .description = "PATH_MIG is not raised where the peer migrated first.",
           .make_filter = make<MigrationByPeerNotTold>},
    Mutant{.name = "datagram_of_exact_fit_dropped",
           .rule = "EXT-05",
           .description = "A datagram that fills its receive to the last byte is dropped.",
           .cases = "ext/datagram-exact-fit ext/datagram-keys",
           .checks = kStandardChecks.with(DatagramCheck::ReceiveRoom, room_to_spare)},
    Mutant{.name = "controlled_qkey_sent_as_posted",
           .rule = "EXT-05",
           .description = "A posted Q_Key with the high bit is sent instead of the QP's own.",
           .make_filter = make<ControlledKeySent>},
    Mutant{.name = "source_qp_in_sixteen_bits",
           .rule = "EXT-05",
           .description = "The source QP in a datagram's completion has 16 bits.",
           .make_filter = make<SourceQpCut>},
    Mutant{.name = "datagram_length_counts_immediate",
           .rule = "EXT-05",
           .description = "byte_len of a datagram counts its immediate data.",
           .cases = "ext/datagram-exact-fit",
           .make_filter = make<ImmediateInLength>},
};

} // namespace
} // namespace veriroce::mutants::of_blind4_host

namespace veriroce::mutants {

std::span<const Mutant> blind4_host() {
    return of_blind4_host::kMutants;
}

} // namespace veriroce::mutants
