// Written blind, fourth sample: what a requester sends and makes of answers, and RNR NAKs on both
// sides.
#include <cstring>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind4_requester {
namespace {

using engine::Completion;
using engine::OwnedDatagram;
using engine::QpState;
using engine::Queue;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what was posted and what was sent

struct PostedWork {
    std::vector<engine::Sge> sges;
    bool inline_data = false;
};

// A filter that knows of each packet that leaves to which work request it belongs.
template <typename Base>
class FollowsWork : public Base {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (engine::is_local(request.opcode)) return;
        works_[qpn].push_back({.sges = {request.sges.begin(), request.sges.end()},
                               .inline_data = request.flags.inline_data});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) works_.erase(qpn);
    }

  protected:
    // The work of a message that begins to leave for the first time.
    PostedWork begins(wire::Qpn qpn) {
        auto& works = works_[qpn];
        if (works.empty()) return {};
        PostedWork work = std::move(works.front());
        works.pop_front();
        return work;
    }

  private:
    std::map<wire::Qpn, std::deque<PostedWork>> works_; // that have not begun, the oldest first
};

// A message that has left at least once.
struct SentMessage {
    wire::Psn first;
    std::uint32_t packets = 1;
    PostedWork work;
    wire::Reth asked;                     // of a READ: as it left last
    std::optional<wire::Psn> asked_again; // of a READ: from where, the first time
};

class SentMessages {
  public:
    // The message of a packet that has left before; nullptr: it leaves for the first time.
    SentMessage* holding(wire::Psn psn) {
        const auto found = std::ranges::find_if(messages_, [psn](const SentMessage& one) {
            const std::int32_t at = wire::distance(one.first, psn);
            return at >= 0 && static_cast<std::uint32_t>(at) < one.packets;
        });
        return found == messages_.end() ? nullptr : &*found;
    }
    void add(SentMessage message) {
        constexpr std::size_t kept = 256;
        messages_.push_back(std::move(message));
        if (messages_.size() > kept) messages_.pop_front();
    }
    SentMessage* newest() { return messages_.empty() ? nullptr : &messages_.back(); }

  private:
    std::deque<SentMessage> messages_;
};

// --- requests

class SecondRestartAddsTwice final : public QpFilter<SentMessages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        SentMessage* known = qp.memory.holding(packet.bth.psn);
        if (known == nullptr) {
            qp.memory.add({.first = packet.bth.psn,
                           .packets = wire::packets_of(packet.reth.dma_length, qp.mtu()),
                           .asked = packet.reth});
            return;
        }
        const auto at = static_cast<std::uint64_t>(wire::distance(known->first, packet.bth.psn));
        packet.reth.virtual_address = known->asked.virtual_address + at * wire::bytes_of(qp.mtu());
        known->asked = packet.reth;
    }
};

// The bytes of a list of pieces; nothing if a piece lies in no region.
class HostMemory {
  public:
    void add(const engine::RegisteredRegion& region) { regions_.push_back(region); }
    void remove(engine::MrId mr) {
        std::erase_if(regions_, [mr](const auto& region) { return region.mr == mr; });
    }
    [[nodiscard]] wire::MutableBytes at(std::uint64_t address, std::uint64_t length) const {
        for (const auto& region : regions_) {
            const auto bytes = Regions::range(region, address, length);
            if (!bytes.empty()) return bytes;
        }
        return {};
    }
    [[nodiscard]] std::vector<std::byte> gather(std::span<const engine::Sge> sges,
                                                std::uint64_t offset, std::size_t length) const {
        std::vector<std::byte> all;
        for (const engine::Sge& sge : sges) {
            if (sge.length == 0) continue;
            const auto bytes = at(sge.address, sge.length);
            if (bytes.empty()) return {};
            all.insert(all.end(), bytes.begin(), bytes.end());
        }
        if (offset > all.size() || length > all.size() - offset) return {};
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(offset);
        return {begin, begin + static_cast<std::ptrdiff_t>(length)};
    }

  private:
    std::vector<engine::RegisteredRegion> regions_;
};

// What the host has registered, and what it has posted.
class ReachesHost : public FollowsWork<QpFilter<SentMessages>> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override { host_.add(region); }
    void region_deregistered(engine::MrId mr) override { host_.remove(mr); }

  protected:
    [[nodiscard]] const HostMemory& host() const { return host_; }

    // Notes a request packet; returns its message if it has left before, else nullptr.
    SentMessage* note(Qp& qp, const wire::Packet& packet) {
        SentMessage* known = qp.memory.holding(packet.bth.psn);
        if (known != nullptr) return known;
        if (packet.info().starts_message()) {
            const std::uint32_t length = is_read_request(packet) ? packet.reth.dma_length : 0;
            qp.memory.add({.first = packet.bth.psn,
                           .packets = wire::packets_of(length, qp.mtu()),
                           .work = begins(qp.report.qpn),
                           .asked = packet.reth});
        } else if (SentMessage* newest = qp.memory.newest()) {
            ++newest->packets;
        }
        return nullptr;
    }

  private:
    HostMemory host_;
};

class InlineReadAgain final : public ReachesHost {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const SentMessage* again = note(qp, packet);
        const std::size_t bytes = packet.payload().size();
        if (again == nullptr || !again->work.inline_data || bytes == 0) return;
        const auto at = static_cast<std::uint64_t>(wire::distance(again->first, packet.bth.psn));
        const auto now = host().gather(again->work.sges, at * wire::bytes_of(qp.mtu()), bytes);
        if (now.empty()) return;
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(now, body_.begin());
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that leaves
};

class RestartedReadInFirstPiece final : public ReachesHost {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        SentMessage* again = note(qp, packet);
        if (again == nullptr || !is_read_request(packet)) return;
        if (again->first != packet.bth.psn) again->asked_again = packet.bth.psn;
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_response(packet)) return;
        const SentMessage* read = qp.memory.holding(packet.bth.psn);
        if (read == nullptr || !read->asked_again || read->work.sges.size() < 2) return;
        if (wire::distance(*read->asked_again, packet.bth.psn) < 0) return;
        const auto at = static_cast<std::uint64_t>(wire::distance(read->first, packet.bth.psn)) *
                        wire::bytes_of(qp.mtu());
        const std::size_t bytes = packet.payload().size();
        const auto wrong = host().at(read->work.sges.front().address + at, bytes);
        const auto before = host().gather(read->work.sges, at, bytes);
        if (wrong.empty() || before.empty()) return;
        const std::vector<std::byte> brought(packet.payload().begin(), packet.payload().end());
        body_.assign(packet.body.begin(), packet.body.end());
        std::ranges::copy(before, body_.begin()); // where it belongs nothing changes
        std::ranges::copy(brought, wrong.begin());
        packet.body = body_;
    }

  private:
    std::vector<std::byte> body_; // of the packet that arrives
};

class FenceIgnoresAtomics final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        auto& reads = reads_[qpn];
        if (reads.empty()) request.flags.fence = false;
        if (request.opcode == WrOpcode::RdmaRead) reads.insert(request.id);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue == Queue::Send) {
            for (auto& [qpn, reads] : reads_)
                reads.erase(completion.id);
        }
        return completion;
    }
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == QpState::Reset) reads_.erase(report.qpn);
    }

  private:
    std::map<wire::Qpn, std::set<std::uint64_t>> reads_; // that have not completed
};

class EmptyPieceEndsList final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        const auto empty = std::ranges::find(request.sges, 0U, &engine::Sge::length);
        request.sges = {request.sges.begin(), empty};
    }
};

struct Revoked {
    NewestPsn newest;
    std::optional<wire::Rkey> key;            // of the newest SEND that revokes one
    std::map<std::uint32_t, wire::Rkey> sent; // by PSN, of long SENDs
};

class LongSendRevokesPrevious final : public QpFilter<Revoked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [newest, key, sent] = qp.memory;
        const bool old = newest.note(packet.bth.psn);
        if (!packet.info().invalidates()) return;
        const wire::Rkey own = packet.ieth.rkey;
        if (packet.info().position == Position::Last) {
            const auto [place, fresh] = sent.try_emplace(packet.bth.psn.value(), key.value_or(own));
            if (!fresh && !old) place->second = key.value_or(own);
            packet.ieth.rkey = place->second;
        }
        if (!old) key = own;
    }
};

// --- RNR NAKs at the requester

struct Atomics {
    std::deque<wire::Psn> psns; // sent last
};

class RnrNakEndsAtomic final : public QpFilter<Atomics> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        constexpr std::size_t kept = 64;
        auto& psns = qp.memory.psns;
        if (!is_atomic_request(passage.packet)) return;
        psns.push_back(passage.packet.bth.psn);
        if (psns.size() > kept) psns.pop_front();
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& psns = qp.memory.psns;
        if (!is_rnr_nak(packet) || std::ranges::find(psns, packet.bth.psn) == psns.end()) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteOperational);
    }
};

// One timer for all QPs: while it runs, another QP's wait ends with it.
class OneRnrTimer final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant now, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_rnr_nak(*packet)) {
            const std::uint8_t asked = packet->aeth.syndrome.code();
            const std::uint8_t code = packet->bth.dest_qp == qpn_ ? asked : longest(now, asked);
            if (code == asked) {
                until_ = now + wire::rnr_time(asked);
                qpn_ = packet->bth.dest_qp;
            } else {
                packet->aeth.syndrome = wire::Syndrome::rnr(code);
                datagram.bytes = bytes_of(*packet);
            }
        }
        in.push_back(std::move(datagram));
    }

  private:
    // The longest wait that ends with the timer; what was asked for if the timer does not run, or
    // runs longer than that.
    [[nodiscard]] std::uint8_t longest(wire::Instant now, std::uint8_t asked) const {
        constexpr std::uint8_t codes = 32;
        if (until_ <= now || until_ - now >= wire::rnr_time(asked)) return asked;
        std::uint8_t best = 1;
        for (std::uint8_t code = 2; code < codes; ++code) {
            if (wire::rnr_time(code) <= until_ - now) best = code;
        }
        return best;
    }
    wire::Instant until_;
    std::optional<wire::Qpn> qpn_; // which started the timer
};

struct Refusals {
    std::uint32_t rnr_naks = 0; // since an ACK brought progress
    wire::Psn psn;              // of the last one
};

class ReadsReloadNoRnrRetries final : public QpFilter<Refusals> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.status == WcStatus::RemOpErr && ended_ > 0) {
            --ended_;
            seen.status = WcStatus::RnrRetryExcErr;
        }
        return seen;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t for_ever = 7;
        wire::Packet& packet = passage.packet;
        auto& [rnr_naks, psn] = qp.memory;
        if (is_ack(packet) && wire::distance(psn, packet.bth.psn) >= 0) rnr_naks = 0;
        const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(for_ever);
        if (!is_rnr_nak(packet) || most == for_ever) return;
        psn = packet.bth.psn;
        if (++rnr_naks <= most) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteOperational);
        ++ended_;
        rnr_naks = 0;
    }

  private:
    std::uint32_t ended_ = 0; // QPs whose completion in error is still to come
};

// --- RNR NAKs of the responder

struct Refused {
    std::optional<wire::Psn> psn; // of the newest RNR NAK
};

class OneRnrNakPerPsn final : public QpFilter<Refused> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (!is_rnr_nak(passage.packet)) return;
        passage.dropped = qp.memory.psn == passage.packet.bth.psn;
        qp.memory.psn = passage.packet.bth.psn;
    }
};

class ImmediateLostAfterRnr final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool again = qp.memory.psn == packet.bth.psn && packet.info().request();
        if (again && packet.info().immediate()) packet.imm.value = 0;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "second_read_restart_adds_twice",
           .rule = "REQ-10",
           .description = "A READ that is asked for again a second time adds its offset to the "
                          "address of the first time.",
           .make_filter = make<SecondRestartAddsTwice>},
    Mutant{.name = "resent_inline_data_read_again",
           .rule = "REQ-31",
           .description = "Inline data that are sent again are read from the host's buffer.",
           .make_filter = make<InlineReadAgain>},
    Mutant{.name = "restarted_read_goes_on_in_first_piece",
           .rule = "REQ-09",
           .description = "What a READ of several pieces brings after it was asked for again goes "
                          "to where the first piece would go on.",
           .make_filter = make<RestartedReadInFirstPiece>},
    Mutant{.name = "fence_ignores_atomics",
           .rule = "REQ-28",
           .description = "A fence waits for READs, not for atomics.",
           .cases = "req/fence-behind-an-atomic",
           .make_filter = make<FenceIgnoresAtomics>},
    Mutant{.name = "empty_piece_ends_list",
           .rule = "LEN-10",
           .description = "A piece of zero bytes ends the list of pieces of a send request.",
           .cases = "req/empty-pieces req/empty-pieces-of-targets",
           .make_filter = make<EmptyPieceEndsList>},
    Mutant{.name = "long_send_revokes_previous_key",
           .rule = "REQ-34",
           .description = "A SEND of several packets with invalidate names the key of the SEND "
                          "before.",
           .cases = "req/second-invalidate",
           .make_filter = make<LongSendRevokesPrevious>},
    Mutant{.name = "rnr_nak_of_atomic_ends_qp",
           .rule = "RNR-15",
           .description = "An RNR NAK for an atomic ends the QP.",
           .make_filter = make<RnrNakEndsAtomic>},
    Mutant{.name = "one_rnr_timer_for_all_qps",
           .rule = "RNR-08",
           .description = "A QP that is told to wait while another one waits ends its wait with "
                          "that one.",
           .cases = "rnr/waits-on-three-qps",
           .make_filter = make<OneRnrTimer>},
    Mutant{.name = "read_reloads_no_rnr_retries",
           .rule = "RNR-11",
           .description = "READ responses and atomic answers do not reload rnr_retry.",
           .cases = "rnr/progress-by-responses",
           .make_filter = make<ReadsReloadNoRnrRetries>},
    Mutant{.name = "one_rnr_nak_per_request",
           .rule = "RNR-01",
           .description = "A request that was RNR NAKed is dropped in silence if it comes in time "
                          "and still finds no receive.",
           .cases = "rnr/three-qps-without-receives",
           .make_filter = make<OneRnrNakPerPsn>},
    Mutant{.name = "immediate_lost_after_rnr",
           .rule = "REQ-34",
           .description = "A request that was RNR NAKed completes with immediate data of zero.",
           .make_filter = make<ImmediateLostAfterRnr>},
};

} // namespace
} // namespace veriroce::mutants::of_blind4_requester

namespace veriroce::mutants {

std::span<const Mutant> blind4_requester() {
    return of_blind4_requester::kMutants;
}

} // namespace veriroce::mutants
