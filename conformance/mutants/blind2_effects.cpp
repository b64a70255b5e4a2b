// Written blind, second sample: memory, completions, events, states, and frames.
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind2_effects {
namespace {

using engine::Completion;
using engine::OwnedDatagram;
using engine::Queue;
using engine::SurfaceFilter;
using engine::WcStatus;
using wire::Operation;
using wire::Position;

// --- memory

class LosesBehindPage final : public DmaFilter<OpenWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint64_t page = 4096;
        constexpr std::uint64_t line = 64;
        OpenWrite& write = qp.memory;
        wire::Packet& packet = passage.packet;
        if (!write.note(packet, qp.first_request(), qp.mtu())) return;
        const std::uint64_t end = write.begin + packet.payload().size();
        const std::uint64_t border = write.begin / page * page + page;
        if (write.begin % line == 0 || border >= end) return;
        const auto old = regions().at(write.reth.rkey, border, end - border);
        write.body.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(old,
                          write.body.begin() + static_cast<std::ptrdiff_t>(border - write.begin));
        packet.body = write.body;
    }
};

class WritesPad final : public DmaFilter<OpenWrite> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!qp.memory.note(packet, qp.first_request(), qp.mtu()) || packet.bth.pad == 0) return;
        if (packet.pad_exceeds_body()) return;
        const wire::Bytes pad = packet.body.last(packet.bth.pad);
        const auto memory = regions().at(qp.memory.reth.rkey,
                                         qp.memory.begin + packet.payload().size(), pad.size());
        std::ranges::copy(pad.first(memory.size()), memory.begin());
    }
};

// --- completions and events

class HidesInvalidatedKey final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        seen.invalidated_rkey.reset();
        return seen;
    }
};

class FlushesInReverse final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn qpn, engine::ReceiveRequest& request) override {
        posted_[qpn].push_back(request.id);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Receive) return seen;
        for (auto& [qpn, ids] : posted_) {
            const auto found = std::ranges::find(ids, seen.id);
            if (found == ids.end()) continue;
            if (seen.status == WcStatus::WrFlushErr) {
                seen.id = ids.back();
                ids.pop_back();
            } else {
                ids.erase(found);
            }
            break;
        }
        return seen;
    }

  private:
    std::map<wire::Qpn, std::vector<std::uint64_t>> posted_; // and not completed, oldest first
};

class UnsignaledFailsInSilence final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.flags.signaled) {
            unsignaled_.erase(request.id);
        } else {
            unsignaled_.insert(request.id);
        }
    }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool failed =
            completion.queue == Queue::Send && completion.status != WcStatus::Success;
        if (failed && unsignaled_.contains(completion.id)) return std::nullopt;
        return completion;
    }

  private:
    std::set<std::uint64_t> unsignaled_;
};

class WritesReachNoLimit final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) {
            write_ = packet->info().operation == Operation::RdmaWrite;
        }
        in.push_back(std::move(datagram));
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == engine::EventType::SrqLimitReached && write_) return std::nullopt;
        return event;
    }

  private:
    bool write_ = false; // the newest request was a WRITE
};

// --- states

class KeepsAccess final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.access) return;
        told_[qpn] = *attributes.access;
        const auto state = attributes.state.value_or(states_[qpn]);
        if (states_[qpn] == engine::QpState::Rts && state == engine::QpState::Rts) {
            attributes.access.reset();
        }
    }
    void qp_changed(const engine::QpReport& report) override { states_[report.qpn] = report.state; }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.access = told->second;
    }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
    std::map<wire::Qpn, engine::Access> told_;
};

// --- frames

class ReflectsHopLimit final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = datagram.envelope.hop_limit;
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().response()) datagram.envelope.hop_limit = newest_;
        out.push_back(std::move(datagram));
    }

  private:
    std::uint8_t newest_ = 64;
};

class FlowLabelSpoilsIcrc final : public SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto parsed = wire::decode_frame(frame);
        if (!parsed || !parsed->ipv6 || parsed->ipv6->flow_label == 0) return;
        for (std::byte& byte : frame.subspan(parsed->outer.icrc_at, wire::kIcrcBytes))
            byte = ~byte;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "unaligned_write_lost_behind_page",
           .rule = "RSP-01",
           .description = "Of a WRITE packet that crosses a page, and does not begin at a multiple "
                          "of 64, the bytes behind the page are not written.",
           .cases = "len/write-above-64k",
           .make_filter = make<LosesBehindPage>},
    Mutant{.name = "write_writes_its_pad",
           .rule = "KEY-14",
           .description = "The pad bytes of a WRITE are written behind it.",
           .make_filter = make<WritesPad>},
    Mutant{.name = "invalidated_key_not_told",
           .rule = "KEY-11",
           .description = "The receive of a SEND with invalidate does not name the key.",
           .make_filter = make<HidesInvalidatedKey>},
    Mutant{.name = "receives_flushed_in_reverse",
           .rule = "STA-07",
           .description = "Receives are flushed in the reverse order.",
           .cases = "sta/receives-of-init-flushed",
           .make_filter = make<FlushesInReverse>},
    Mutant{.name = "unsignaled_failure_not_told",
           .rule = "REQ-16",
           .description = "A request that asked for no completion and fails has none.",
           .cases = "tmo/unsignaled-retry-exceeded",
           .make_filter = make<UnsignaledFailsInSilence>},
    Mutant{.name = "srq_limit_not_reached_by_writes",
           .rule = "N-16",
           .level = "SHOULD",
           .description =
               "SRQ_LIMIT_REACHED is not raised if the receive was taken by a WRITE with "
               "immediate data.",
           .make_filter = make<WritesReachNoLimit>},
    Mutant{.name = "access_change_in_rts_ignored",
           .rule = "KEY-01",
           .description = "New access flags of a QP in RTS have no effect.",
           .make_filter = make<KeepsAccess>},
    Mutant{.name = "responses_reflect_hop_limit",
           .rule = "CA17-9",
           .description = "Responses leave with the TTL or hop limit with which the newest request "
                          "arrived.",
           .make_filter = make<ReflectsHopLimit>},
    Mutant{.name = "flow_label_spoils_icrc",
           .rule = "CRC-03",
           .description = "The ICRC of packets with an IPv6 flow label is wrong.",
           .make_filter = make<FlowLabelSpoilsIcrc>},
};

} // namespace
} // namespace veriroce::mutants::of_blind2_effects

namespace veriroce::mutants {

std::span<const Mutant> blind2_effects() {
    return of_blind2_effects::kMutants;
}

} // namespace veriroce::mutants
