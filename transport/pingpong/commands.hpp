// The commands `veriroce serve` and `veriroce ping`: our engine at one end of a ping-pong, with
// ibv_rc_pingpong or another veriroce at the other.
//
// Exit codes: 0 every round trip was made and came back as it was sent; 1 the peer broke off or
// sent something else; 2 an option is wrong; 3 no link, no permission, nobody there; 130
// interrupted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace veriroce::pingpong {

struct Options {
    std::string interface;            // raw frames on it; a UDP socket if empty
    std::string address;              // ours; the exchange's connection tells it if empty
    std::vector<std::string> listen;  // serve: where the exchange is awaited
    std::string peer;                 // ping: HOST or HOST:PORT
    std::uint32_t size = 4096;        // of a message, bytes
    std::uint64_t rounds = 1000;      // round trips of a peer
    std::uint32_t mtu = 0;            // path MTU, bytes; 0: 1024, or less where the link is small
    std::optional<std::uint32_t> psn; // the first; random if unset
    bool once = false;                // serve: end after the first peer
};

int serve(const Options& options, std::FILE* out, std::FILE* err);
int ping(const Options& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::pingpong
