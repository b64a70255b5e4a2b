// Defects in requests that leave.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_requests {
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

// EXT-05: what is too long for a datagram is not seen.
class DatagramLengthOf16Bits final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (!request.ud || request.sges.size() != 1) return;
        piece_ = request.sges.front();
        piece_.length &= 0xFFFF;
        request.sges = std::span(&piece_, 1);
    }

  private:
    engine::Sge piece_;
};

constexpr std::array kMutants{
    Mutant{.name = "every_request_sent_solicited",
           .rule = "BTH-14",
           .description = "All requests leave with SE set.",
           .cases = "len/gathered len/segments",
           .make_filter = make<EditsOutbound<se_set>>},
    Mutant{.name = "ack_request_never_set",
           .rule = "BTH-18",
           .description = "Requests leave with AckReq 0.",
           .cases = "len/gathered req/asks-before-local-work",
           .make_filter = make<EditsOutbound<no_ack_request>>},
    Mutant{.name = "resent_read_asks_for_too_much",
           .rule = "REQ-10",
           .description =
               "A READ that goes on behind a lost response asks for the length of the whole READ.",
           .cases = "req/lost-read-response",
           .make_filter = make<AsksForTooMuch>},
    Mutant{.name = "resent_read_from_the_start",
           .rule = "REQ-09",
           .description =
               "A READ that goes on behind a lost response names the address of the whole READ.",
           .cases = "req/last-too-early req/lost-read-response",
           .make_filter = make<AsksFromTheStart>},
    Mutant{.name = "announced_one_byte_too_many",
           .rule = "LEN-10",
           .description = "WRITEs of several packets announce one byte more than they bring.",
           .cases = "len/gathered req/every-pair req/every-write-length",
           .make_filter = make<EditsOutbound<one_byte_more>>},
    Mutant{.name = "datagram_length_of_16_bits",
           .rule = "EXT-05",
           .description = "A datagram of 64 KiB and more leaves with what is above 64 KiB.",
           .cases = "ext/datagram-longer-than-64k",
           .make_filter = make<DatagramLengthOf16Bits>},
    Mutant{.name = "reserved_bits_sent",
           .rule = "BTH-16",
           .description = "Packets leave with a reserved bit of the BTH set.",
           .cases = "bth/answer-header",
           .make_filter = make<EditsOutbound<reserved_set>>},
};

} // namespace
} // namespace veriroce::mutants::of_requests

namespace veriroce::mutants {

std::span<const Mutant> requests() {
    return of_requests::kMutants;
}

} // namespace veriroce::mutants
