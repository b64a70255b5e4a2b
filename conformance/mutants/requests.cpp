// Defects in requests that leave.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants {

namespace {

void se_set(wire::Packet& packet) {
    if (packet.info().request()) packet.bth.solicited = true;
}

void no_ack_request(wire::Packet& packet) {
    if (packet.info().request()) packet.bth.ack_request = false;
}

struct Asked {
    std::optional<wire::Packet> read; // the newest READ as it was first sent; it has no body

    // Whether the packet is a READ that goes on inside that one; else notes it.
    bool goes_on(const wire::Packet& packet, wire::Mtu mtu) {
        if (!is_read_request(packet)) return false;
        if (read) {
            const std::int32_t offset = wire::distance(read->bth.psn, packet.bth.psn);
            const std::uint32_t packets = wire::packets_of(read->reth.dma_length, mtu);
            if (offset == 0) return false;
            if (offset > 0 && static_cast<std::uint32_t>(offset) < packets) return true;
        }
        read = packet;
        read->body = {};
        return false;
    }
};

class AsksForTooMuch final : public QpFilter<Asked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (qp.memory.goes_on(packet, qp.mtu())) {
            packet.reth.dma_length = qp.memory.read->reth.dma_length;
        }
    }
};

class AsksFromTheStart final : public QpFilter<Asked> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (qp.memory.goes_on(packet, qp.mtu())) {
            packet.reth.virtual_address = qp.memory.read->reth.virtual_address;
        }
    }
};

void one_byte_more(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.operation == wire::Operation::RdmaWrite && info.position == wire::Position::First) {
        ++packet.reth.dma_length;
    }
}

void reserved_set(wire::Packet& packet) {
    packet.bth.reserved7 = 1;
}

void hop_limit_1(wire::Envelope& envelope) {
    envelope.hop_limit = 1;
}

void marked_v4(wire::Envelope& envelope) {
    if (envelope.source.v4()) envelope.ecn = wire::kCongestionExperienced;
}

void marked_v6(wire::Envelope& envelope) {
    if (!envelope.source.v4()) envelope.ecn = wire::kCongestionExperienced;
}

void half_operands(wire::Packet& packet) {
    packet.atomic.compare &= 0xFFFFFFFF;
    packet.atomic.swap_or_add &= 0xFFFFFFFF;
}

struct Sent {
    std::optional<wire::Psn> newest; // of a request
};

class ResendsAsOnly final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& newest = qp.memory.newest;
        const bool again = newest && wire::distance(packet.bth.psn, *newest) >= 0;
        if (!again) newest = packet.bth.psn;
        if (again && packet.info().position == wire::Position::First) {
            set_place(packet, wire::Position::Only);
        }
    }
};

constexpr std::array kMutants{
    Mutant{.name = "every_request_sent_solicited",
           .rule = "BTH-14",
           .description = "All requests leave with SE set.",
           .make_filter = make<EditsOutbound<se_set>>},
    Mutant{.name = "ack_request_never_set",
           .rule = "BTH-18",
           .description = "Requests leave with AckReq 0.",
           .make_filter = make<EditsOutbound<no_ack_request>>},
    Mutant{.name = "resent_read_asks_for_too_much",
           .rule = "REQ-10",
           .description =
               "A READ that goes on behind a lost response asks for the length of the whole READ.",
           .make_filter = make<AsksForTooMuch>},
    Mutant{.name = "resent_read_from_the_start",
           .rule = "REQ-09",
           .description =
               "A READ that goes on behind a lost response names the address of the whole READ.",
           .make_filter = make<AsksFromTheStart>},
    Mutant{.name = "announced_one_byte_too_many",
           .rule = "LEN-10",
           .description = "WRITEs of several packets announce one byte more than they bring.",
           .make_filter = make<EditsOutbound<one_byte_more>>},
    Mutant{.name = "reserved_bits_sent",
           .rule = "BTH-16",
           .description = "Packets leave with a reserved bit of the BTH set.",
           .make_filter = make<EditsOutbound<reserved_set>>},
    Mutant{.name = "sent_with_hop_limit_1",
           .rule = "ENC-11",
           .description = "Packets leave with hop limit 1, whatever the address vector says.",
           .make_filter = make<EditsSentEnvelope<hop_limit_1>>},
    Mutant{.name = "sent_as_congested",
           .rule = "CA17-5",
           .description = "IPv4 packets leave marked \"congestion experienced\".",
           .make_filter = make<EditsSentEnvelope<marked_v4>>},
    Mutant{.name = "sent_as_congested_ipv6",
           .rule = "CA17-14",
           .description = "IPv6 packets leave marked \"congestion experienced\".",
           .make_filter = make<EditsSentEnvelope<marked_v6>>},
    Mutant{.name = "operand_high_half_not_sent",
           .rule = "ATM-01",
           .description = "Atomics leave with only the low 32 bits of their operands.",
           .make_filter = make<EditsOutbound<half_operands>>},
    Mutant{.name = "first_packet_resent_as_only",
           .rule = "REQ-32",
           .description = "When the FIRST of a message is sent again, it leaves as an ONLY.",
           .make_filter = make<ResendsAsOnly>},
};

} // namespace

std::span<const Mutant> requests() {
    return kMutants;
}

} // namespace veriroce::mutants
