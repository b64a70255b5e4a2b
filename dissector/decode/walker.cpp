#include "dissector/decode/walker.hpp"

#include <algorithm>

#include "dissector/decode/link_type.hpp"

namespace veriroce::decode {

void Walker::frame() {
    out_.layers.push({.kind = LayerKind::Frame, .offset = 0, .length = captured_});
    const std::optional<LinkType> link = link_type_of(out_.frame.link_code);
    if (!link) return rest(LayerKind::Unsupported);
    switch (*link) {
    case LinkType::Ethernet: ethernet(); break;
    case LinkType::RawIp: raw_ip(); break;
    case LinkType::LinuxSll: cooked(LayerKind::Sll, 16, 14); break;
    case LinkType::LinuxSll2: cooked(LayerKind::Sll2, 20, 0); break;
    }
    trailer();
}

std::optional<wire::Bytes> Walker::take(LayerKind kind, std::size_t bytes) {
    const std::uint32_t available = std::min(captured_, end_) - at_;
    if (bytes <= available) {
        const LayerSpan layer{
            .kind = kind, .offset = at_, .length = static_cast<std::uint32_t>(bytes)};
        out_.layers.push(layer);
        at_ += layer.length;
        return out_.bytes_of(layer);
    }
    if (bytes > end_ - at_) {
        out_.malformed = true;
        out_.findings.add({.kind = FindingKind::HeaderTooShort,
                           .offset = at_,
                           .length = available,
                           .found = end_ - at_,
                           .expected = static_cast<std::uint32_t>(bytes)});
    } else {
        out_.cut = true;
    }
    pass(kind, end_ - at_);
    return std::nullopt;
}

void Walker::pass(LayerKind kind, std::uint32_t bytes) {
    const std::uint32_t at_hand = std::min(bytes, captured_ - at_);
    if (at_hand < bytes) out_.cut = true;
    if (at_hand > 0) out_.layers.push({.kind = kind, .offset = at_, .length = at_hand});
    at_ += at_hand;
}

void Walker::trailer() {
    if (!trailer_ || *trailer_ >= out_.frame.bytes.size()) return;
    const auto size = static_cast<std::uint32_t>(out_.frame.bytes.size());
    out_.layers.push({.kind = LayerKind::Trailer, .offset = *trailer_, .length = size - *trailer_});
}

} // namespace veriroce::decode
