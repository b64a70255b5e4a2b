// The general service interface, QP 1 of every RoCEv2 port, and the datagrams that it takes.
//
// Source: rules N-30, N-31, CM-11; the values are those of Linux's ib_mad.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dissector/wire/types.hpp"

namespace veriroce::wire {

inline constexpr Qpn kSmiQpn{0}; // the subnet management interface, of native InfiniBand alone
inline constexpr Qpn kGsiQpn{1}; // the general service interface
inline constexpr Qkey kGsiQkey{0x80010000};

inline constexpr std::uint32_t kMadBytes = 256; // header and data
inline constexpr std::uint8_t kCmClass = 0x07;  // communication management

} // namespace veriroce::wire
