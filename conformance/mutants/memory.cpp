// Defects in what packets leave in memory and bring from it, and in what completions tell of them.
#include <algorithm>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_memory {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kSmallestMtu = 256;

// Changes the bytes that a packet carries.
template <void (*Edit)(const wire::Packet&, std::span<std::byte> payload)>
void with_payload(engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet || packet->payload().empty()) return;
    const std::size_t at = datagram.bytes.size() - packet->body.size();
    Edit(*packet, std::span(datagram.bytes).subspan(at, packet->payload().size()));
}

template <void (*Edit)(const wire::Packet&, std::span<std::byte> payload)>
class EditsInboundBytes final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        with_payload<Edit>(datagram);
        in.push_back(std::move(datagram));
    }
};

template <void (*Edit)(engine::Completion&)>
class EditsCompletions final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.status == engine::WcStatus::Success) Edit(seen);
        return seen;
    }
};

void last_odd_byte_lost(const wire::Packet& packet, std::span<std::byte> payload) {
    const wire::Operation operation = packet.info().operation;
    const bool message =
        operation == wire::Operation::RdmaWrite || operation == wire::Operation::Send;
    if (message && payload.size() % 2 == 1) payload.back() = std::byte{};
}

void last_odd_byte_of_read_lost(const wire::Packet& packet, std::span<std::byte> payload) {
    if (is_read_response(packet) && payload.size() % 2 == 1) payload.back() = std::byte{};
}

// KEY-14: the first pad byte is taken for one more byte of a WRITE.
void pad_as_data(wire::Packet& packet) {
    const bool whole = packet.info().operation == wire::Operation::RdmaWrite &&
                       packet.info().starts_message() && packet.info().ends_message();
    if (!whole || packet.bth.pad == 0 || packet.payload().size() != packet.reth.dma_length) return;
    packet.bth.pad -= 1;
    packet.reth.dma_length += 1;
}

void address_rounded_down(wire::Packet& packet) {
    if (packet.info().operation != wire::Operation::RdmaWrite) return;
    packet.reth.virtual_address &= ~std::uint64_t{3};
}

void second_page_lost(const wire::Packet& packet, std::span<std::byte> payload) {
    const bool write = packet.info().operation == wire::Operation::RdmaWrite;
    if (!write || !packet.headers.has(wire::Header::Reth)) return;
    const std::uint64_t left = kPageBytes - packet.reth.virtual_address % kPageBytes;
    if (left < payload.size()) std::ranges::fill(payload.subspan(left), std::byte{});
}

struct PacketBefore {
    std::vector<std::byte> bytes;
    std::vector<std::byte> kept;
};

// A packet that is neither the first nor the last of its message carries the bytes of the one
// before it.
template <wire::Operation Of>
bool repeats(PacketBefore& before, wire::Packet& packet) {
    if (packet.info().operation != Of) return false;
    const std::vector<std::byte> own(packet.body.begin(), packet.body.end());
    const bool again =
        packet.info().position == wire::Position::Middle && before.bytes.size() == own.size();
    if (again) {
        before.kept = before.bytes;
        packet.body = before.kept;
    }
    before.bytes = own;
    return again;
}

class RepeatsMiddle final : public QpFilter<PacketBefore> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        repeats<wire::Operation::RdmaReadResponse>(qp.memory, passage.packet);
    }
};

class KeepsMiddle final : public QpFilter<PacketBefore> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        repeats<wire::Operation::RdmaWrite>(qp.memory, passage.packet);
    }
};

struct Original {
    std::optional<std::uint64_t> first;
};

class RepeatsOriginal final : public QpFilter<Original> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().operation != wire::Operation::AtomicAcknowledge) return;
        if (!qp.memory.first) qp.memory.first = passage.packet.atomic_ack.original;
        passage.packet.atomic_ack.original = *qp.memory.first;
    }
};

void result_of_the_low_half(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::AtomicAcknowledge) {
        packet.atomic_ack.original &= 0xFFFFFFFF;
    }
}

void immediate_of_send_lost(engine::Completion& completion) {
    if (completion.opcode == engine::WcOpcode::Recv) completion.imm.reset();
}

void immediate_swapped(engine::Completion& completion) {
    if (!completion.imm) return;
    const std::uint32_t imm = *completion.imm;
    completion.imm = imm << 24 | (imm & 0xFF00) << 8 | (imm >> 8 & 0xFF00) | imm >> 24;
}

void length_of_the_last_packet(engine::Completion& completion) {
    if (completion.opcode != engine::WcOpcode::Recv || completion.byte_len == 0) return;
    completion.byte_len = (completion.byte_len - 1) % kSmallestMtu + 1;
}

void immediate_told_as_receive(engine::Completion& completion) {
    if (completion.opcode == engine::WcOpcode::RecvRdmaWithImm) {
        completion.opcode = engine::WcOpcode::Recv;
    }
}

void send_told_as_write(engine::Completion& completion) {
    if (completion.opcode == engine::WcOpcode::Send) {
        completion.opcode = engine::WcOpcode::RdmaWrite;
    }
}

class HidesFlushedReceives final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool flushed = completion.status == engine::WcStatus::WrFlushErr;
        if (flushed && completion.queue == engine::Queue::Receive) return std::nullopt;
        return completion;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "odd_last_byte_lost",
           .rule = "KEY-14",
           .description =
               "The last byte of a WRITE or SEND packet with an odd length arrives as 0.",
           .cases = "key/odd-places len/every-send-length len/every-write-length "
                    "n/last-byte rdr/read-after-write rsp/pieces-of-each-length",
           .make_filter = make<EditsInboundBytes<last_odd_byte_lost>>},
    Mutant{.name = "odd_last_byte_of_read_lost",
           .rule = "REQ-34",
           .description = "The last byte of a READ response with an odd length arrives as 0.",
           .cases = "key/odd-places req/every-read-length req/many-pieces "
                    "req/read-above-64k req/read-of-odd-length",
           .make_filter = make<EditsInboundBytes<last_odd_byte_of_read_lost>>},
    Mutant{.name = "pad_byte_written",
           .rule = "KEY-14",
           .description = "The first pad byte of a WRITE ONLY is written after its data.",
           .cases = "key/odd-places n/last-byte",
           .make_filter = make<EditsInbound<pad_as_data>>},
    Mutant{.name = "write_address_rounded_down",
           .rule = "KEY-14",
           .description = "A WRITE begins at the multiple of 4 at or below its address.",
           .cases = "key/edges key/odd-places key/out-of-range",
           .make_filter = make<EditsInbound<address_rounded_down>>},
    Mutant{.name = "second_page_lost",
           .rule = "KEY-14",
           .description = "The bytes of a WRITE's first packet that lie in the next page are 0.",
           .cases = "key/odd-places key/write-over-pages",
           .make_filter = make<EditsInboundBytes<second_page_lost>>},
    Mutant{.name = "write_middle_repeated",
           .rule = "KEY-14",
           .description = "A WRITE MIDDLE leaves the bytes of the packet before it.",
           .cases = "ack/each-kind rnr/write-with-immediate rsp/interleaved-messages",
           .make_filter = make<KeepsMiddle>},
    Mutant{.name = "read_middle_repeated",
           .rule = "RDR-01",
           .description = "A READ response MIDDLE carries the bytes of the response before it.",
           .cases = "rdr/msn rdr/order rdr/response-opcodes",
           .make_filter = make<RepeatsMiddle>},
    Mutant{.name = "first_original_repeated",
           .rule = "ATM-01",
           .description = "Every atomic of a QP is answered with the original of the first one.",
           .cases = "atm/among-reads-and-writes atm/compare-swap atm/every-word "
                    "atm/fetch-add",
           .make_filter = make<RepeatsOriginal>},
    Mutant{.name = "atomic_result_of_the_low_half",
           .rule = "REQ-34",
           .description = "Of an atomic's result the requester keeps the low 32 bits.",
           .cases = "atm/operands-sent req/atomic-value-bits",
           .make_filter = make<EditsInbound<result_of_the_low_half>>},
    Mutant{.name = "immediate_of_send_lost",
           .rule = "N-21",
           .description = "The completion of a SEND with immediate has no immediate data.",
           .cases = "ack/each-kind n/receives-in-order rnr/shared-by-three "
                    "rsp/immediate-bits",
           .make_filter = make<EditsCompletions<immediate_of_send_lost>>},
    Mutant{.name = "immediate_swapped",
           .rule = "N-15",
           .description = "Immediate data are told least significant byte first.",
           .cases = "bth/solicited-write n/receives-in-order rnr/write-with-immediate",
           .make_filter = make<EditsCompletions<immediate_swapped>>},
    Mutant{.name = "send_tells_its_last_packet",
           .rule = "N-21",
           .description = "The byte length of a receive is that of the SEND's last packet.",
           .cases = "ack/inside-a-message ext/unreliable-lengths key/scattered "
                    "rsp/posted-inside-a-message",
           .make_filter = make<EditsCompletions<length_of_the_last_packet>>},
    Mutant{.name = "write_with_immediate_told_as_receive",
           .rule = "N-15",
           .description = "A WRITE with immediate completes its receive as a SEND does.",
           .cases = "len/zero-length-write n/armed-for-each rnr/write-with-immediate",
           .make_filter = make<EditsCompletions<immediate_told_as_receive>>},
    Mutant{.name = "send_told_as_write",
           .rule = "REQ-34",
           .description = "SENDs complete with the opcode of a WRITE.",
           .cases = "bth/partition-key-sent",
           .make_filter = make<EditsCompletions<send_told_as_write>>},
    Mutant{.name = "flushed_receives_not_reported",
           .rule = "STA-07",
           .description = "Receives that are flushed complete without a completion.",
           .cases = "bth/pad-in-first sta/last-receive-of-an-own-queue "
                    "sta/receives-of-init-flushed",
           .make_filter = make<HidesFlushedReceives>},
};

} // namespace
} // namespace veriroce::mutants::of_memory

namespace veriroce::mutants {

std::span<const Mutant> memory() {
    return of_memory::kMutants;
}

} // namespace veriroce::mutants
