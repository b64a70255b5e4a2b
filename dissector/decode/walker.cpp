#include "dissector/decode/walker.hpp"

#include <algorithm>

#include "dissector/decode/link_type.hpp"

namespace veriroce::decode {

void Walker::frame() {
    out_.layers.push(LayerKind::Frame, 0, captured_);
    const std::optional<LinkType> link = link_type_of(out_.frame.link_code);
    if (!link) {
        out_.not_followed = {Stop::LinkType, out_.frame.link_code};
        return rest(LayerKind::Unsupported);
    }
    const std::uint32_t end = end_;
    const std::uint32_t captured = captured_;
    switch (*link) {
    case LinkType::Ethernet: ethernet(); break;
    case LinkType::RawIp: raw_ip(); break;
    case LinkType::LinuxSll: cooked(LayerKind::Sll, 16, 14); break;
    case LinkType::LinuxSll2: cooked(LayerKind::Sll2, 20, 0); break;
    case LinkType::InfiniBand: infiniband(); break;
    case LinkType::Erf: erf(); break;
    case LinkType::Null: loopback(false); break;
    case LinkType::Loop: loopback(true); break;
    case LinkType::Ppp: ppp(); break;
    case LinkType::Chdlc: cisco_hdlc(); break;
    }
    trailer(end, captured);
}

wire::Bytes Walker::missing(LayerKind kind, std::size_t bytes) {
    if (bytes > end_ - at_) {
        out_.malformed = true;
        out_.findings.add({.kind = FindingKind::HeaderTooShort,
                           .offset = at_,
                           .length = std::min(captured_, end_) - at_,
                           .found = end_ - at_,
                           .expected = static_cast<std::uint32_t>(bytes)});
    } else {
        out_.cut = true;
    }
    pass(kind, end_ - at_);
    return {};
}

void Walker::pass(LayerKind kind, std::uint32_t bytes) {
    const std::uint32_t at_hand = std::min(bytes, captured_ - at_);
    if (at_hand < bytes) out_.cut = true;
    if (at_hand > 0) out_.layers.push(kind, at_, at_hand);
    at_ += at_hand;
}

// A length that reaches beyond what carries it is a finding (ENC-08) and changes nothing.
void Walker::narrow(std::uint32_t end, FindingKind contradiction, std::uint32_t field_offset,
                    std::uint32_t field_value, std::uint32_t available) {
    if (end <= end_) {
        end_ = end;
        open_end_ = false;
        return;
    }
    out_.findings.add({.kind = contradiction,
                       .offset = field_offset,
                       .length = 2,
                       .found = field_value,
                       .expected = available});
}

void Walker::trailer(std::uint32_t end, std::uint32_t captured) {
    end_ = end;
    captured_ = captured;
    const std::uint32_t at_hand = std::min(end, captured_);
    if (at_ >= at_hand) return;
    out_.layers.push(LayerKind::Trailer, at_, at_hand - at_);
    at_ = at_hand;
}

std::uint8_t Walker::peek_u8(std::uint32_t ahead) const {
    if (at_ + ahead >= captured_) return 0;
    return wire::load_u8(out_.frame.bytes, at_ + ahead);
}

std::uint16_t Walker::peek_u16(std::uint32_t ahead) const {
    if (at_ + ahead + 1 >= captured_) return 0;
    return wire::load_u16(out_.frame.bytes, at_ + ahead);
}

} // namespace veriroce::decode
