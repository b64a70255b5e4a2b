#include "transport/fault/pfc.hpp"

#include "dissector/wire/ethernet.hpp"

namespace veriroce::fault {
namespace {

constexpr std::uint16_t kPriorityPause = 0x0101;
constexpr std::size_t kPfcBytes = wire::Ethernet::kSize + 4 + 2 * kClasses;
constexpr double kQuantumBits = 512;

} // namespace

std::optional<PfcFrame> pfc_of(wire::Bytes frame) {
    constexpr std::size_t kTypeAt = wire::Ethernet::kSize - 2;
    if (frame.size() < kPfcBytes) return std::nullopt;
    const wire::Bytes body = frame.subspan(wire::Ethernet::kSize);
    if (wire::load_u16(frame, kTypeAt) != static_cast<std::uint16_t>(wire::EtherType::MacControl) ||
        wire::load_u16(body, 0) != kPriorityPause) {
        return std::nullopt;
    }
    PfcFrame pfc{.enabled = static_cast<std::uint8_t>(wire::load_u16(body, 2) & 0xFFU)};
    for (std::size_t i = 0; i < kClasses; ++i)
        pfc.quanta[i] = wire::load_u16(body, 4 + 2 * i);
    return pfc;
}

std::uint8_t class_of(const wire::Envelope& envelope) {
    return envelope.vlan ? envelope.vlan->priority : static_cast<std::uint8_t>(envelope.dscp >> 3);
}

wire::Duration pause_time(std::uint16_t quanta, double bits_per_second) {
    return wire::Duration(static_cast<std::int64_t>(quanta * kQuantumBits * 1e9 / bits_per_second));
}

void PauseClock::apply(const Change& change, wire::Instant at) {
    for (std::size_t i = 0; i < kClasses; ++i) {
        if (!change.frame.about(i)) continue;
        until_[index_of(change.end)][i] = at + pause_time(change.frame.quanta[i], bits_per_second_);
    }
}

void PauseClock::tell(End end, const PfcFrame& frame, wire::Instant at) {
    later_.emplace(at, Change{end, frame});
    // Out of bounds, what is due first takes effect early.
    if (later_.size() <= kMaxChanges) return;
    apply(later_.begin()->second, later_.begin()->first);
    later_.erase(later_.begin());
}

bool PauseClock::paused(End end, const Range& classes, wire::Instant now) {
    while (!later_.empty() && later_.begin()->first <= now) {
        apply(later_.begin()->second, later_.begin()->first);
        later_.erase(later_.begin());
    }
    for (std::size_t i = 0; i < kClasses; ++i) {
        if (classes.has(static_cast<std::int64_t>(i)) && now < until_[index_of(end)][i])
            return true;
    }
    return false;
}

} // namespace veriroce::fault
