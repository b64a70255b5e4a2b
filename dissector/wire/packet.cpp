#include "dissector/wire/packet.hpp"

namespace veriroce::wire {
namespace {

// Calls `use(kind, header)` for each extended header of the packet's set, in the order of the wire,
// until one says no.
template <typename AnyPacket, typename Use>
bool visit_headers(AnyPacket& packet, Use use) {
    if (packet.headers == HeaderSet{}) return true; // as in the middle of a message
    const auto visit = [&](Header kind, auto& header) {
        return !packet.headers.has(kind) || use(header);
    };
    return visit(Header::Rdeth, packet.rdeth) && visit(Header::Deth, packet.deth) &&
           visit(Header::Xrceth, packet.xrceth) && visit(Header::Feth, packet.feth) &&
           visit(Header::Reth, packet.reth) && visit(Header::AtomicEth, packet.atomic) &&
           visit(Header::Aeth, packet.aeth) && visit(Header::AtomicAckEth, packet.atomic_ack) &&
           visit(Header::ImmDt, packet.imm) && visit(Header::Ieth, packet.ieth);
}

} // namespace

std::size_t Packet::header_bytes() const {
    std::size_t bytes = Bth::kSize;
    visit_headers(*this, [&](const auto& header) {
        bytes += header.kSize;
        return true;
    });
    return bytes;
}

std::string_view text_of(PacketError error) {
    switch (error) {
    case PacketError::TooShortForBth: return "too short for a BTH";
    case PacketError::TooShortForHeaders: return "too short for the headers that its opcode names";
    }
    return "";
}

std::optional<PacketError> decode_packet(Bytes bytes, Packet& packet) {
    if (bytes.size() < Bth::kSize) return PacketError::TooShortForBth;
    packet.bth = Bth::read(bytes);
    packet.headers = opcode_info(packet.bth.opcode).headers;
    std::size_t at = Bth::kSize;
    const bool complete = visit_headers(packet, [&]<typename H>(H& header) {
        if (bytes.size() - at < H::kSize) return false;
        header = H::read(bytes.subspan(at));
        at += H::kSize;
        return true;
    });
    packet.body = bytes.subspan(at);
    if (!complete) return PacketError::TooShortForHeaders;
    return std::nullopt;
}

std::expected<Packet, PacketError> decode_packet(Bytes bytes) {
    std::expected<Packet, PacketError> result(std::in_place); // filled where the caller has it
    if (const auto error = decode_packet(bytes, *result)) result = std::unexpected(*error);
    return result;
}

std::size_t encode_headers(const Packet& packet, MutableBytes out) {
    packet.bth.encode(out);
    std::size_t at = Bth::kSize;
    visit_headers(packet, [&](const auto& header) {
        header.encode(out.subspan(at));
        at += header.kSize;
        return true;
    });
    return at;
}

} // namespace veriroce::wire
