// Internal: control messages (cmsg(3)) of a datagram.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace veriroce::net {

// Builds the control messages of a msghdr, with space for a few small ones.
class ControlMessages {
  public:
    template <typename T>
    void add(int level, int type, const T& value) {
        auto* header = reinterpret_cast<cmsghdr*>(bytes_.data() + used_);
        header->cmsg_level = level;
        header->cmsg_type = type;
        header->cmsg_len = CMSG_LEN(sizeof value);
        std::memcpy(CMSG_DATA(header), &value, sizeof value);
        used_ += CMSG_SPACE(sizeof value);
    }
    void clear() { used_ = 0; }
    void attach_to(msghdr& message) {
        message.msg_control = used_ == 0 ? nullptr : bytes_.data();
        message.msg_controllen = used_;
    }

  private:
    alignas(cmsghdr) std::array<std::byte, 256> bytes_{};
    std::size_t used_ = 0;
};

// Reads the value of a control message of the requested type; returns false and leaves `value`
// unchanged for another type.
template <typename T>
bool read_control(const cmsghdr& control, int level, int type, T& value) {
    if (control.cmsg_level != level || control.cmsg_type != type) return false;
    if (control.cmsg_len < CMSG_LEN(sizeof value)) return false;
    std::memcpy(&value, CMSG_DATA(&control), sizeof value);
    return true;
}

} // namespace veriroce::net
