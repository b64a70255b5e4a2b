#include "transport/net/packet_socket.hpp"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "dissector/wire/ethernet.hpp"
#include "transport/net/control_messages.hpp"
#include "transport/net/packet_filter.hpp"

namespace veriroce::net {

namespace {

constexpr std::size_t kLargestPacket = (64U << 10U) + 64;
constexpr std::size_t kMacBytes = 12;

// virtio_net_hdr of linux/virtio_net.h, which is not C++: it stands before each frame of a socket
// with PACKET_VNET_HDR. A type that is not 0 is a way to cut the frame into packets.
struct OffloadHeader {
    std::uint8_t flags = 0;
    std::uint8_t segmentation_type = 0;
    std::array<std::uint16_t, 4> rest{};
};
static_assert(sizeof(OffloadHeader) == 10);

std::expected<Descriptor, Error> open_socket(const Interface& interface) {
    // Protocol 0: it receives nothing until it is bound, so that no packet bypasses the filter.
    Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (socket.valid()) return socket;
    if (errno == EPERM || errno == EACCES) {
        return std::unexpected(
            Error{ErrorKind::NotPermitted, "raw frames on " + interface.name +
                                               " need CAP_NET_RAW: run as root, or setcap "
                                               "cap_net_raw,cap_net_admin+ep on the program"});
    }
    return std::unexpected(system_error("cannot open a packet socket on " + interface.name, errno));
}

int bind_to(const Descriptor& socket, int index, std::uint16_t protocol) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = index;
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    return ::bind(socket.fd(), generic, sizeof address) != 0 ? errno : 0;
}

void switch_on(const Descriptor& socket, int level, int option) {
    const int on = 1;
    ::setsockopt(socket.fd(), level, option, &on, sizeof on);
}

// Moves the MAC addresses forward by the size of a tag, into reserved space, and inserts the tag.
void put_back_vlan(std::byte* frame, const tpacket_auxdata& aux) {
    const std::span bytes(frame - wire::VlanTag::kSize, kMacBytes + wire::VlanTag::kSize);
    std::memmove(bytes.data(), frame, kMacBytes);
    const bool known = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    wire::store_be<2>(bytes, kMacBytes, known ? aux.tp_vlan_tpid : ETHERTYPE_VLAN);
    wire::store_be<2>(bytes, kMacBytes + 2, aux.tp_vlan_tci);
}

} // namespace

std::expected<PacketSocket, Error> PacketSocket::sender(const Interface& interface) {
    auto socket = open_socket(interface);
    if (!socket) return std::unexpected(socket.error());
    if (const int number = bind_to(*socket, interface.index, 0); number != 0) {
        return std::unexpected(system_error("cannot send on " + interface.name, number));
    }
    return PacketSocket(std::move(*socket), interface.index);
}

std::expected<PacketSocket, Error> PacketSocket::receiver(const Interface& interface,
                                                          std::vector<sock_filter> filter,
                                                          std::size_t buffer_bytes) {
    auto socket = open_socket(interface);
    if (!socket) return std::unexpected(socket.error());
    const auto failed = [&interface](int number) {
        return std::unexpected(system_error("cannot receive on " + interface.name, number));
    };
    if (const int number = attach(socket->fd(), std::move(filter)); number != 0) {
        return failed(number);
    }
    const int bytes = static_cast<int>(std::min<std::size_t>(buffer_bytes, INT32_MAX / 2));
    if (::setsockopt(socket->fd(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        ::setsockopt(socket->fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    switch_on(*socket, SOL_PACKET, PACKET_AUXDATA);
    switch_on(*socket, SOL_SOCKET, SO_TIMESTAMPNS);
    if (const int number = bind_to(*socket, interface.index, ETH_P_ALL); number != 0) {
        return failed(number);
    }
    PacketSocket result(std::move(*socket), interface.index);
    result.buffer_.resize(wire::VlanTag::kSize + kLargestPacket);
    return result;
}

void PacketSocket::tell_merged() {
    const int on = 1;
    tells_merged_ = ::setsockopt(fd(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) == 0;
}

bool PacketSocket::add_membership(std::uint16_t type, const wire::MacAddress& group) const {
    packet_mreq request{};
    request.mr_ifindex = index_;
    request.mr_type = type;
    request.mr_alen = static_cast<std::uint16_t>(group.bytes.size());
    std::memcpy(request.mr_address, group.bytes.data(), group.bytes.size());
    return ::setsockopt(fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) == 0;
}

bool PacketSocket::join(const wire::MacAddress& group) const {
    return add_membership(PACKET_MR_MULTICAST, group);
}

bool PacketSocket::join_all() const {
    return add_membership(PACKET_MR_PROMISC, {});
}

int PacketSocket::send(wire::Bytes frame) const {
    for (;;) {
        if (::send(fd(), frame.data(), frame.size(), 0) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

std::expected<std::optional<CapturedPacket>, int> PacketSocket::receive() {
    std::byte* const start = buffer_.data() + wire::VlanTag::kSize;
    OffloadHeader offload;
    std::array<iovec, 2> places{{{&offload, sizeof offload}, {start, kLargestPacket}}};
    sockaddr_ll from{};
    alignas(cmsghdr) std::array<std::byte, 256> controls{};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    const std::size_t header_bytes = tells_merged_ ? sizeof offload : 0;
    message.msg_iov = tells_merged_ ? places.data() : &places[1];
    message.msg_iovlen = tells_merged_ ? 2 : 1;
    message.msg_control = controls.data();
    message.msg_controllen = controls.size();
    const auto count = ::recvmsg(fd(), &message, MSG_DONTWAIT | MSG_TRUNC);
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return std::nullopt;
        // Before Linux 6.2, of datagrams that were merged: the kernel had no word for them.
        if (errno == EINVAL && tells_merged_) return CapturedPacket{.merged = true};
        return std::unexpected(errno);
    }

    CapturedPacket packet;
    const std::size_t frame_bytes =
        static_cast<std::size_t>(count) - std::min(static_cast<std::size_t>(count), header_bytes);
    packet.merged = offload.segmentation_type != 0;
    tpacket_auxdata aux{};
    for (auto* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        timespec stamp{};
        if (read_control(*control, SOL_SOCKET, SCM_TIMESTAMPNS, stamp)) {
            packet.stamp_ns = stamp.tv_sec * 1'000'000'000LL + stamp.tv_nsec;
        }
        read_control(*control, SOL_PACKET, PACKET_AUXDATA, aux);
    }
    const auto size = std::min(frame_bytes, kLargestPacket);
    packet.frame = {start, size};
    packet.truncated = frame_bytes > size;
    packet.outgoing = from.sll_pkttype == PACKET_OUTGOING;
    packet.checksum_not_ready = (aux.tp_status & TP_STATUS_CSUMNOTREADY) != 0;
    if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0 && size >= kMacBytes) {
        put_back_vlan(start, aux);
        packet.frame = {start - wire::VlanTag::kSize, size + wire::VlanTag::kSize};
        packet.vlan_put_back = true;
    }
    return packet;
}

std::uint64_t PacketSocket::take_drops() const {
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    ::getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size);
    return statistics.tp_drops;
}

} // namespace veriroce::net
