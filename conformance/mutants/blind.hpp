// What the filters that were written blind share. Inside the room only.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <deque>
#include <map>
#include <vector>

#include "conformance/mutants/qp_filter.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/outer.hpp"

namespace veriroce::mutants {

// The ICRC of an IPv6 frame from a sender that masks what it must, but not these bits of the first
// word: version, traffic class and flow label.
inline void store_icrc_over(std::uint32_t bits, wire::MutableBytes frame,
                            const wire::Outer& outer) {
    std::vector<std::byte> covered(outer.covered().begin(), outer.covered().end());
    constexpr std::uint32_t masked = 0x0FFFFFFF; // all but the version
    constexpr std::byte ones{0xFF};
    wire::store_be<4>(covered, 0, wire::load_u32(covered, 0) | (masked & ~bits));
    covered[7] = ones;                                                  // hop limit
    wire::store_be<2>(covered, outer.udp_at - outer.ip_at + 6, 0xFFFF); // checksum
    covered[outer.bth_at - outer.ip_at + 4] = ones;
    wire::store_icrc(frame.subspan(outer.icrc_at, wire::kIcrcBytes), wire::icrc_unmasked(covered));
}

// Whether the QP is of RC: no other is given an RNR timer.
inline bool is_reliable(const engine::QpReport& report) {
    return report.attributes.min_rnr_timer.has_value();
}

// BTH-01, BTH-07, ENC-14: what a right device compares before it takes a packet for this QP's. The
// states, the service and the VLAN are for the caller.
inline bool of_this_connection(const engine::QpReport& report, const Passage& passage) {
    const wire::Bth& bth = passage.packet.bth;
    const auto& attributes = report.attributes;
    const std::uint16_t ours = attributes.pkey.value_or(bth.pkey).value;
    const bool member =
        ((ours ^ bth.pkey.value) & 0x7FFF) == 0 && ((ours | bth.pkey.value) & 0x8000) != 0;
    return bth.version == 0 && member && attributes.address &&
           attributes.address->destination == passage.envelope.source &&
           attributes.address->source == passage.envelope.destination;
}

// Only the short form of the header goes through the byte swap.
inline void swap_immediate_of_long_write(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool meant = info.operation == wire::Operation::RdmaWrite &&
                       info.position == wire::Position::Last && info.immediate();
    if (meant) packet.imm.value = std::byteswap(packet.imm.value);
}

struct FirstRnr {
    std::optional<wire::Psn> psn; // of the newest RNR NAK
    wire::Syndrome asked;         // of the first one for this PSN
};

// The timer gets its time once for each request that waits; each further NAK starts it again.
class NextRnrWaitsAsFirst final : public QpFilter<FirstRnr> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        FirstRnr& memory = qp.memory;
        if (memory.psn == packet.bth.psn) {
            packet.aeth.syndrome = memory.asked;
        } else {
            memory = {.psn = packet.bth.psn, .asked = packet.aeth.syndrome};
        }
    }
};

// The operation of the packets of a request that sends some.
inline wire::Operation operation_of(engine::WrOpcode opcode) {
    using engine::WrOpcode;
    using wire::Operation;
    switch (opcode) {
    case WrOpcode::Send:
    case WrOpcode::SendWithImm:
    case WrOpcode::SendWithInv: return Operation::Send;
    case WrOpcode::RdmaWrite:
    case WrOpcode::RdmaWriteWithImm: return Operation::RdmaWrite;
    case WrOpcode::RdmaRead: return Operation::RdmaReadRequest;
    case WrOpcode::AtomicCmpAndSwp: return Operation::CompareSwap;
    case WrOpcode::AtomicFetchAndAdd: return Operation::FetchAdd;
    case WrOpcode::Flush: return Operation::Flush;
    case WrOpcode::AtomicWrite: return Operation::AtomicWrite;
    case WrOpcode::LocalInv:
    case WrOpcode::BindMw: break;
    }
    return Operation::Reserved;
}

// The host's registered memory by key. A region that the host has deregistered leaves a copy of its
// bytes.
class Regions {
  public:
    void add(const engine::RegisteredRegion& region) {
        regions_.insert_or_assign(region.rkey, Known{.region = region, .gone = false, .copy = {}});
    }
    void remove(engine::MrId mr) {
        for (auto& [rkey, known] : regions_) {
            if (known.gone || known.region.mr != mr) continue;
            known.gone = true;
            const wire::MutableBytes bytes = known.region.memory;
            known.copy.assign(bytes.begin(), bytes.end());
            known.region.memory = known.copy;
        }
    }
    [[nodiscard]] std::optional<engine::RegisteredRegion> live(wire::Rkey rkey) const {
        return region(rkey, false);
    }
    [[nodiscard]] std::optional<engine::RegisteredRegion> gone(wire::Rkey rkey) const {
        return region(rkey, true);
    }
    // The bytes of a range of a live region; empty if it has no such range.
    [[nodiscard]] wire::MutableBytes at(wire::Rkey rkey, std::uint64_t address,
                                        std::uint64_t length) const {
        const auto region = live(rkey);
        return region ? range(*region, address, length) : wire::MutableBytes{};
    }
    // The same of whatever live region has them.
    [[nodiscard]] wire::MutableBytes anywhere(std::uint64_t address, std::uint64_t length) const {
        for (const auto& [rkey, known] : regions_) {
            const auto bytes =
                known.gone ? wire::MutableBytes{} : range(known.region, address, length);
            if (!bytes.empty()) return bytes;
        }
        return {};
    }
    // The newest live region of its domain that begins where this one does.
    [[nodiscard]] wire::Rkey newest_alike(wire::Rkey rkey) const {
        const auto one = live(rkey);
        for (const auto& [key, known] : regions_) {
            const bool alike = one && !known.gone && known.region.address == one->address &&
                               known.region.pd == one->pd;
            if (alike) rkey = key;
        }
        return rkey;
    }
    static wire::MutableBytes range(const engine::RegisteredRegion& region, std::uint64_t address,
                                    std::uint64_t length) {
        if (address < region.address) return {};
        const std::uint64_t offset = address - region.address;
        if (offset > region.memory.size() || length > region.memory.size() - offset) return {};
        return region.memory.subspan(offset, length);
    }

  private:
    struct Known {
        engine::RegisteredRegion region;
        bool gone = false;
        std::vector<std::byte> copy;
    };
    [[nodiscard]] std::optional<engine::RegisteredRegion> region(wire::Rkey rkey, bool gone) const {
        const auto found = regions_.find(rkey);
        if (found == regions_.end() || found->second.gone != gone) return std::nullopt;
        return found->second.region;
    }
    std::map<wire::Rkey, Known> regions_;
};

// A filter that reaches the host's memory.
template <typename Memory>
class DmaFilter : public QpFilter<Memory> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.add(region);
    }
    void region_deregistered(engine::MrId mr) override { regions_.remove(mr); }

  protected:
    [[nodiscard]] const Regions& regions() const { return regions_; }

  private:
    Regions regions_;
};

// How the requests of a QP come in: which PSN is expected, as far as arrivals tell. A request that
// is refused counts as taken until it comes again.
struct Arrivals {
    std::optional<wire::Psn> next;
    bool open = false; // a message of several packets has begun
    wire::Psn first;   // of the newest message

    enum class Place : std::uint8_t { Behind, Expected, Ahead };

    Place note(const wire::Packet& packet, wire::Psn begin, wire::Mtu mtu) {
        const std::int32_t ahead = wire::distance(next.value_or(begin), packet.bth.psn);
        if (ahead != 0) return ahead < 0 ? Place::Behind : Place::Ahead;
        const wire::OpcodeInfo& info = packet.info();
        if (info.starts_message()) first = packet.bth.psn;
        open = !info.ends_message();
        next = packet.bth.psn +
               (is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, mtu) : 1U);
        return Place::Expected;
    }
    // A NAK or RNR NAK said so.
    void expect(wire::Psn psn) { next = psn; }
};

// What a NAK says of the expected PSN.
inline void heed_nak(Arrivals& arrivals, const wire::Packet& packet) {
    if (is_rnr_nak(packet) || is_sequence_nak(packet)) arrivals.expect(packet.bth.psn);
}

// A filter that is told of each request where it lies.
template <std::derived_from<Arrivals> Memory>
class PlacesRequests : public DmaFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void requested(Qp& /*qp*/, Passage& /*passage*/, Arrivals::Place /*place*/) {}
    virtual void other_arrives(Qp& /*qp*/, Passage& /*passage*/) {}
    virtual void answered(Qp& /*qp*/, Passage& /*passage*/) {} // or a request leaves

    void arrives(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().request()) {
            other_arrives(qp, passage);
            return;
        }
        requested(qp, passage, qp.memory.note(passage.packet, qp.first_request(), qp.mtu()));
    }
    void leaves(Qp& qp, Passage& passage) final {
        heed_nak(qp.memory, passage.packet);
        answered(qp, passage);
    }
};

// A datagram of the filter's own, as the engine sends it.
inline engine::OwnedDatagram datagram_of(const wire::Packet& packet,
                                         const wire::Envelope& envelope) {
    return {.envelope = envelope, .bytes = bytes_of(packet)};
}

// A WRITE as it comes in.
struct OpenWrite {
    Arrivals arrivals;
    wire::Reth reth;         // of the WRITE that arrives
    std::uint64_t begin = 0; // of the packet's bytes
    std::vector<std::byte> body;

    // Whether this packet writes, from `begin` on.
    bool note(const wire::Packet& packet, wire::Psn first, wire::Mtu mtu) {
        if (!packet.info().request()) return false;
        const auto place = arrivals.note(packet, first, mtu);
        const bool write = packet.info().operation == wire::Operation::RdmaWrite;
        if (!write || place != Arrivals::Place::Expected) return false;
        if (packet.info().starts_message()) reth = packet.reth;
        const auto at = static_cast<std::uint64_t>(wire::distance(arrivals.first, packet.bth.psn));
        begin = reth.virtual_address + at * wire::bytes_of(mtu);
        return true;
    }
};

// --- what is on its way

struct Outgoing {
    NewestPsn sent;
    std::optional<wire::Psn> oldest; // that is not acknowledged; nothing: nothing was sent
    bool again = false;              // something was sent again, and nothing acknowledged since

    // Returns whether a request packet has left before.
    bool note_request(const wire::Packet& packet, wire::Mtu mtu) {
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, mtu) : 1;
        if (!oldest) oldest = packet.bth.psn;
        const bool old = sent.note(packet.bth.psn, packets);
        again |= old;
        return old;
    }
    void note_answer(const wire::Packet& packet) {
        if (!packet.info().response() || is_nak(packet) || !oldest) return;
        if (wire::distance(*oldest, packet.bth.psn) < 0) return;
        oldest = packet.bth.psn + 1;
        again = false;
    }
    // Whether this PSN was sent and is not acknowledged.
    [[nodiscard]] bool holds(wire::Psn psn) const {
        return oldest && wire::distance(*oldest, psn) >= 0 && wire::distance(psn, *sent.psn) >= 0;
    }
};

// `Memory` is derived from Outgoing.
template <std::derived_from<Outgoing> Memory>
class FollowsRequests : public QpFilter<Memory> {
  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void request_leaves(Qp& /*qp*/, wire::Packet& /*packet*/, bool /*again*/) {}
    virtual void answer_arrives(Qp& /*qp*/, Passage& /*passage*/) {} // before it is noted

    void leaves(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().request()) return;
        const bool again = qp.memory.note_request(passage.packet, qp.mtu());
        request_leaves(qp, passage.packet, again);
    }
    void arrives(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().response()) return;
        const wire::Packet as_it_came = passage.packet;
        answer_arrives(qp, passage);
        qp.memory.note_answer(as_it_came);
    }
};

struct NewestImmediate : Outgoing {
    std::uint32_t imm = 0;
};

// There is one place for immediate data: what is sent again has the newest.
class ResendsNewestImmediate final : public FollowsRequests<NewestImmediate> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!packet.info().immediate()) return;
        if (again) {
            packet.imm.value = qp.memory.imm;
        } else {
            qp.memory.imm = packet.imm.value;
        }
    }
};

// --- what was sent

struct Copies {
    std::map<std::uint32_t, engine::OwnedDatagram> sent; // by PSN, the newest of each
    std::optional<wire::Psn> oldest;                     // that is not acknowledged
    std::optional<wire::Psn> waits; // that was RNR NAKed, until it is sent again
};

class KeepsCopies : public QpFilter<Copies> {
  protected:
    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        auto& [sent, oldest, waits] = qp.memory;
        if (!packet.info().request()) return;
        if (!oldest) oldest = packet.bth.psn;
        if (waits == packet.bth.psn) waits.reset();
        sent.insert_or_assign(packet.bth.psn.value(), datagram_of(packet, passage.envelope));
    }
    static void acknowledge_until(Copies& memory, wire::Psn psn) {
        constexpr std::int32_t most = 1024; // packets that a requester has on its way
        auto& oldest = memory.oldest;
        if (!oldest || wire::distance(*oldest, psn) < 0 || wire::distance(*oldest, psn) > most) {
            return;
        }
        for (; *oldest != psn + 1; *oldest += 1)
            memory.sent.erase(oldest->value());
    }
    static void send_again(const Copies& memory, wire::Psn psn, Passage& passage) {
        const auto copy = memory.sent.find(psn.value());
        if (copy != memory.sent.end()) passage.sent.push_back(copy->second);
    }
};

} // namespace veriroce::mutants
