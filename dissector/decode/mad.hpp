// Management datagrams as a RoCEv2 network has them: the common header's fields that decide what
// follows, and the names of classes, methods and communication management messages.
//
// Source: rules N-30, N-31, CM-01..CM-09; the values are those of Linux's ib_mad.h and ib_cm.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace veriroce::decode {

inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::uint32_t kMadBytes = 256; // header and data
inline constexpr std::uint32_t kGsiQp = 1;      // the general service interface
inline constexpr std::uint8_t kCmClass = 0x07;

// Empty for values without a name.
std::string_view mad_class_name(std::uint8_t management_class);
std::string_view mad_method_name(std::uint8_t method);
// What a message of class kCmClass is: "ConnectRequest", as Wireshark calls it.
std::string_view cm_message_name(std::uint16_t attribute);

} // namespace veriroce::decode
