// The layers of a RoCEv2 frame, and where each of them begins.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "dissector/wire/header_list.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::wire {

enum class Layer : std::uint8_t {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    Udp,
    Bth,
    VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_TYPE) //
    Body,                                           // payload and pad
    Icrc,
};
inline constexpr std::size_t kLayers = static_cast<std::size_t>(Layer::Icrc) + 1;

// The layer that an extended header is.
constexpr Layer layer_of(Header header) {
    return static_cast<Layer>(static_cast<std::size_t>(Layer::Bth) + 1 +
                              static_cast<std::size_t>(header));
}

// Where each layer of a frame begins, in bytes from the frame's first.
class LayerMap {
  public:
    constexpr LayerMap() { offsets_.fill(kAbsent); }
    constexpr void set(Layer layer, std::size_t offset) {
        offsets_[static_cast<std::size_t>(layer)] = static_cast<std::uint32_t>(offset);
    }
    [[nodiscard]] constexpr bool has(Layer layer) const {
        return offsets_[static_cast<std::size_t>(layer)] != kAbsent;
    }
    [[nodiscard]] constexpr std::size_t at(Layer layer) const {
        assert(has(layer));
        return offsets_[static_cast<std::size_t>(layer)];
    }

  private:
    // 32 bits: after Ethernet, the ICRC of the longest IP datagram begins beyond byte 65,535.
    static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
    std::array<std::uint32_t, kLayers> offsets_{};
};

} // namespace veriroce::wire
