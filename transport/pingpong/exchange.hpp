// The parameter exchange of rdma-core's ibv_rc_pingpong: one message each way over TCP, so that two
// ends know of each other's QP before the first packet.
//
// A message is text of a fixed length with a closing NUL: LID, QPN, PSN and GID in hexadecimal,
// "0000:000011:9f0a31:00000000000000000000ffff0a4d0001". The client speaks first, and says "done"
// when it has heard the server. Source: the program's behaviour on the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::pingpong {

inline constexpr std::uint16_t kExchangePort = 18515;

struct Introduction {
    std::uint16_t lid = 0; // of InfiniBand; 0 on Ethernet
    wire::Qpn qpn;
    wire::Psn psn;
    wire::IpAddress gid;

    static constexpr std::size_t size = sizeof "0000:000000:000000:"
                                               "00000000000000000000000000000000";
    using Message = std::array<char, size>;

    [[nodiscard]] Message encode() const;
    // The error says what is wrong with the message.
    static std::expected<Introduction, std::string> decode(const Message& message);

    friend bool operator==(const Introduction&, const Introduction&) = default;
};

inline constexpr std::string_view kDone{"done", 5}; // with its NUL

} // namespace veriroce::pingpong
