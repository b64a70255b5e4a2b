// Internal: ETHTOOL ioctls on an interface (linux/ethtool.h).
#pragma once

#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::net {

// Structures of linux/ethtool.h end in arrays without a size: space for one with `extra_bytes`.
template <typename Header>
class EthtoolCommand {
  public:
    explicit EthtoolCommand(std::uint32_t number, std::size_t extra_bytes = 0)
        : words_((sizeof(Header) + extra_bytes) / sizeof(std::uint64_t) + 1) {
        get()->cmd = number;
    }
    Header* get() { return reinterpret_cast<Header*>(words_.data()); }

  private:
    std::vector<std::uint64_t> words_; // aligned for all of these structures
};

// Returns 0 or an errno; the answer is in the command. `socket` is any socket.
inline int ethtool_call(const Descriptor& socket, const std::string& interface, void* command) {
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(command);
    return ::ioctl(socket.fd(), SIOCETHTOOL, &request) < 0 ? errno : 0;
}

} // namespace veriroce::net
