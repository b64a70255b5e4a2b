// Messages of connection management: their attributes, and where in the datagram their fields lie,
// in bytes. What has no unit of its own is named with its bits.
//
// Source: rules N-30, N-31, CM-01 to CM-14; names and places are those of Linux's ib_mad.h and
// cm_msgs.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire::cm {

inline constexpr std::uint16_t kReq = 0x10;
inline constexpr std::uint16_t kMra = 0x11;
inline constexpr std::uint16_t kRej = 0x12;
inline constexpr std::uint16_t kRep = 0x13;
inline constexpr std::uint16_t kRtu = 0x14;
inline constexpr std::uint16_t kDreq = 0x15;
inline constexpr std::uint16_t kDrep = 0x16;
inline constexpr std::uint16_t kSidrReq = 0x17;
inline constexpr std::uint16_t kSidrRep = 0x18;
inline constexpr std::uint16_t kLap = 0x19;
inline constexpr std::uint16_t kApr = 0x1A;

// The common header, and the numbers of the communication with which nearly each message begins.
inline constexpr std::size_t kBaseVersionAt = 0;
inline constexpr std::size_t kClassAt = 1;
inline constexpr std::size_t kClassVersionAt = 2;
inline constexpr std::size_t kMethodAt = 3;
inline constexpr std::size_t kTransactionAt = 8;
inline constexpr std::size_t kAttributeAt = 16;
inline constexpr std::size_t kLocalIdAt = 24;
inline constexpr std::size_t kRemoteIdAt = 28;

namespace req {
inline constexpr std::size_t kServiceAt = 32;
inline constexpr std::size_t kGuidAt = 40;
inline constexpr std::size_t kQpnAt = 56;
inline constexpr std::size_t kResponderResourcesAt = 59;
inline constexpr std::size_t kInitiatorDepthAt = 63;
inline constexpr std::size_t kTransportAt = 67; // 5 bits of a timeout, 2 of the transport: 0 is RC
inline constexpr std::size_t kPsnAt = 68;
inline constexpr std::size_t kLocalTimeoutAt = 71; // 5 bits, then 3 of the retry count
inline constexpr std::size_t kPkeyAt = 72;
inline constexpr std::size_t kMtuAt = 74;     // 4 bits; the last 3 are the RNR retry count
inline constexpr std::size_t kRepeatsAt = 75; // 4 bits
inline constexpr std::size_t kPrimaryLidsAt = 76;
inline constexpr std::size_t kLocalGidAt = 80;
inline constexpr std::size_t kRemoteGidAt = 96;
inline constexpr std::size_t kFlowLabelAt = 112; // 20 bits
inline constexpr std::size_t kTrafficClassAt = 116;
inline constexpr std::size_t kHopLimitAt = 117;
inline constexpr std::size_t kAckTimeoutAt = 119; // 5 bits
inline constexpr std::size_t kAlternateLidsAt = 120;
} // namespace req

namespace rep {
inline constexpr std::size_t kQpnAt = 36;
inline constexpr std::size_t kPsnAt = 44;
inline constexpr std::size_t kResponderResourcesAt = 48;
inline constexpr std::size_t kInitiatorDepthAt = 49;
inline constexpr std::size_t kRnrRetryAt = 51; // 3 bits, then 1 of the SRQ
inline constexpr std::size_t kGuidAt = 52;
} // namespace rep

inline constexpr std::size_t kMessageAt = 32;    // of MRA and REJ, 2 bits: what it is about
inline constexpr std::size_t kMraTimeoutAt = 33; // 5 bits
inline constexpr std::size_t kRejReasonAt = 34;
inline constexpr std::size_t kDreqQpnAt = 32;
inline constexpr std::size_t kSidrStatusAt = 28;
inline constexpr std::size_t kSidrRequestServiceAt = 32;
inline constexpr std::size_t kSidrReplyServiceAt = 36;

inline std::uint16_t attribute_of(Bytes datagram) {
    return load_u16(datagram, kAttributeAt);
}

// The path MTU as messages say it: 1 is 256, each step doubles it.
constexpr std::uint8_t code_of(Mtu mtu) {
    std::uint8_t code = 1;
    for (std::uint32_t bytes = bytes_of(Mtu::B256); bytes < bytes_of(mtu); bytes *= 2)
        ++code;
    return code;
}
constexpr std::optional<Mtu> mtu_of(std::uint8_t code) {
    if (code == 0 || code > code_of(Mtu::B4096)) return std::nullopt;
    return static_cast<Mtu>(bytes_of(Mtu::B256) << (code - 1U));
}

} // namespace veriroce::wire::cm
