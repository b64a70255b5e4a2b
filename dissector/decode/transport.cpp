// The transport packet, whatever carries it: BTH, extended headers by the opcode table, payload,
// pad and ICRC.
#include <algorithm>

#include "dissector/decode/mad.hpp"
#include "dissector/decode/walker.hpp"
#include "dissector/wire/frame.hpp"

namespace veriroce::decode {

void Walker::transport(Protocol protocol) {
    out_.protocol = protocol;
    const std::uint32_t start = at_;
    const std::uint32_t packet_end = end_;
    const bool room_for_icrc = end_ - at_ >= wire::kIcrcBytes;
    // Headers and payload end where the ICRC begins (ENC-07: by the lengths of what carries it).
    if (room_for_icrc) end_ -= static_cast<std::uint32_t>(wire::kIcrcBytes);
    const std::uint32_t at_hand = std::min(captured_, end_) - start;
    out_.transport = out_.frame.bytes.subspan(start, at_hand);
    // The headers are read once, here: the layers say where each of them is.
    wire::decode_packet(out_.transport, out_.packet);
    out_.has_bth = step(LayerKind::Bth, wire::Bth::kSize);
    if (out_.has_bth) extended_headers();
    if (!out_.malformed && !out_.cut) body();
    at_ = std::min(end_, captured_);
    end_ = packet_end;
    if (room_for_icrc) rest(LayerKind::Icrc);
}

void Walker::extended_headers() {
    wire::HeaderSet left = out_.info().headers;
    for (; !left.empty(); left = left.without_first()) {
        const wire::Header header = left.first();
        if (!step(layer_kind_of(header), wire::size_of(header))) return;
    }
}

void Walker::body() {
    out_.body_bytes = end_ - at_;
    if (out_.info().operation == wire::Operation::Cnp) return rest(LayerKind::Cnp);
    if (is_management(out_.packet.bth, out_.protocol) && out_.body_bytes >= kMadHeaderBytes)
        return mad();
    // BTH-12: a pad count above the payload leaves neither, so all of it is shown as payload.
    const std::uint32_t pad = out_.packet.bth.pad <= out_.body_bytes ? out_.packet.bth.pad : 0;
    pass(LayerKind::Payload, out_.body_bytes - pad);
    pass(LayerKind::Pad, pad);
}

} // namespace veriroce::decode
