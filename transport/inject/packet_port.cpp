#include "transport/inject/packet_port.hpp"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/udp.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/control_messages.hpp"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace veriroce::inject {
namespace {

constexpr std::size_t kMacBytes = 12;
// The largest frame that a kernel hands over: what is still to be cut has 64 KiB and headers.
constexpr std::size_t kLargest = (64U << 10U) + 256;
constexpr int kReceiveBuffer = 32 << 20;
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::size_t kControlBytes = 64;

std::unexpected<net::Error> cannot_open(const std::string& interface, int number) {
    if (number == EPERM || number == EACCES) {
        return std::unexpected(
            net::Error{net::ErrorKind::NotPermitted,
                       "raw frames on " + interface + " need CAP_NET_RAW: run as root"});
    }
    return std::unexpected(
        net::system_error("cannot open a packet socket on " + interface, number));
}

bool switch_on(const net::Descriptor& socket, int option) {
    const int on = 1;
    return ::setsockopt(socket.fd(), SOL_PACKET, option, &on, sizeof on) == 0;
}

// The sum that the sender left to its network card; the field holds that of the pseudo header.
void fill_in_checksum(wire::MutableBytes frame, OffloadNote& note) {
    const std::size_t start = note.checksum_start;
    const std::size_t field = start + note.checksum_offset;
    if (note.segmentation != 0 || field + 2 > frame.size()) return;
    std::uint32_t sum = 0;
    for (std::size_t i = start; i + 1 < frame.size(); i += 2)
        sum += wire::load_u16(frame, i);
    if ((frame.size() - start) % 2 != 0) sum += std::to_integer<std::uint32_t>(frame.back()) << 8U;
    while (sum > 0xFFFF)
        sum = (sum & 0xFFFF) + (sum >> 16U);
    const auto value = static_cast<std::uint16_t>(~sum);
    wire::store_be<2>(frame, field, value == 0 ? std::uint16_t{0xFFFF} : value);
    note = {};
}

bool is_roce(wire::Bytes frame, const OffloadNote& note) {
    constexpr std::size_t kUdpChecksumAt = 6;
    return note.checksum_offset == kUdpChecksumAt &&
           note.checksum_start + wire::Udp::kSize <= frame.size() &&
           wire::load_u16(frame, note.checksum_start + 2U) == wire::kRocePort;
}

} // namespace

// One block of memory for each direction, used for every batch.
struct PacketPort::Buffers {
    struct Slot {
        OffloadNote note;
        std::array<iovec, 2> parts{};
        alignas(cmsghdr) std::array<std::byte, kControlBytes> controls{};
    };
    std::vector<std::byte> bytes = std::vector<std::byte>(kBatch * kSlot);
    std::array<Slot, kBatch> in;
    std::array<mmsghdr, kBatch> in_messages{};
    std::array<Arrival, kBatch> arrivals;
    std::array<Slot, kBatch> out;
    std::array<mmsghdr, kBatch> out_messages{};

    static constexpr std::size_t kSlot = wire::VlanTag::kSize + kLargest;
    [[nodiscard]] std::byte* frame(std::size_t i) {
        return bytes.data() + i * kSlot + wire::VlanTag::kSize;
    }
    bool read(std::size_t i, Arrival& arrival);
};

PacketPort::PacketPort(net::Descriptor socket)
    : socket_(std::move(socket)), buffers_(std::make_unique<Buffers>()) {}
PacketPort::PacketPort(PacketPort&&) noexcept = default;
PacketPort& PacketPort::operator=(PacketPort&&) noexcept = default;
PacketPort::~PacketPort() = default;

std::expected<PacketPort, net::Error> PacketPort::open(const std::string& interface, int index) {
    // Protocol 0: nothing comes before it is bound.
    net::Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return cannot_open(interface, errno);
    if (::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer,
                     sizeof kReceiveBuffer) != 0) {
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
    }
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer);
    switch_on(socket, PACKET_AUXDATA);
    if (!switch_on(socket, PACKET_VNET_HDR)) return cannot_open(interface, errno);
    // What this host sends on the port is not of the wire; above all, what the bump sends.
    if (!switch_on(socket, PACKET_IGNORE_OUTGOING)) return cannot_open(interface, errno);
    packet_mreq request{};
    request.mr_ifindex = index;
    request.mr_type = PACKET_MR_PROMISC;
    if (::setsockopt(socket.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) !=
        0) {
        return cannot_open(interface, errno);
    }
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = index;
    if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return cannot_open(interface, errno);
    }
    return PacketPort(std::move(socket));
}

// The message in slot `i` as a frame; false if the kernel handed over only a part of it.
bool PacketPort::Buffers::read(std::size_t i, Arrival& arrival) {
    msghdr& message = in_messages[i].msg_hdr;
    const std::size_t length = in_messages[i].msg_len;
    if (length < sizeof(OffloadNote) || (message.msg_flags & MSG_TRUNC) != 0) return false;
    arrival.note = in[i].note;
    std::byte* start = frame(i);
    std::size_t size = length - sizeof(OffloadNote);
    tpacket_auxdata aux{};
    for (auto* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        net::read_control(*control, SOL_PACKET, PACKET_AUXDATA, aux);
    }
    if ((aux.tp_status & TP_STATUS_VLAN_VALID) != 0 && size >= kMacBytes) {
        start -= wire::VlanTag::kSize;
        size += wire::VlanTag::kSize;
        std::memmove(start, start + wire::VlanTag::kSize, kMacBytes);
        const bool known = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
        const wire::MutableBytes tag(start + kMacBytes, wire::VlanTag::kSize);
        wire::store_be<2>(tag, 0, known ? aux.tp_vlan_tpid : std::uint16_t{ETHERTYPE_VLAN});
        wire::store_be<2>(tag, 2, aux.tp_vlan_tci);
        if ((arrival.note.flags & kNeedsChecksum) != 0) {
            arrival.note.checksum_start += wire::VlanTag::kSize;
            arrival.note.header_bytes += wire::VlanTag::kSize;
        }
    }
    const wire::MutableBytes whole(start, size);
    if ((arrival.note.flags & kNeedsChecksum) != 0 && is_roce(whole, arrival.note)) {
        fill_in_checksum(whole, arrival.note);
    }
    arrival.frame = whole;
    return true;
}

std::expected<std::span<const Arrival>, int> PacketPort::receive() {
    Buffers& buffers = *buffers_;
    for (std::size_t i = 0; i < kBatch; ++i) {
        Buffers::Slot& slot = buffers.in[i];
        slot.parts = {{{&slot.note, sizeof slot.note}, {buffers.frame(i), kLargest}}};
        msghdr& message = buffers.in_messages[i].msg_hdr;
        message = {};
        message.msg_iov = slot.parts.data();
        message.msg_iovlen = slot.parts.size();
        message.msg_control = slot.controls.data();
        message.msg_controllen = slot.controls.size();
    }
    const int count =
        ::recvmmsg(fd(), buffers.in_messages.data(), kBatch, MSG_DONTWAIT | MSG_TRUNC, nullptr);
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return std::span<const Arrival>{};
        if (errno == EINVAL) { // before Linux 6.2, of datagrams that were merged
            ++counts_.unreadable;
            return std::span<const Arrival>{};
        }
        return std::unexpected(errno);
    }
    std::size_t good = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        if (buffers.read(i, buffers.arrivals[good])) {
            ++good;
        } else {
            ++counts_.unreadable;
        }
    }
    return std::span<const Arrival>(buffers.arrivals).first(good);
}

void PacketPort::queue(wire::Bytes frame, const OffloadNote& note) {
    if (queued_ == kBatch) flush();
    Buffers::Slot& slot = buffers_->out[queued_];
    slot.note = note;
    slot.parts = {
        {{&slot.note, sizeof slot.note}, {const_cast<std::byte*>(frame.data()), frame.size()}}};
    msghdr& message = buffers_->out_messages[queued_].msg_hdr;
    message = {};
    message.msg_iov = slot.parts.data();
    message.msg_iovlen = slot.parts.size();
    ++queued_;
}

int PacketPort::send(std::size_t first) {
    for (;;) {
        const int count = ::sendmmsg(fd(), buffers_->out_messages.data() + first,
                                     static_cast<unsigned>(queued_ - first), MSG_DONTWAIT);
        if (count >= 0 || errno != EINTR) return count;
    }
}

void PacketPort::flush() {
    std::optional<wire::Instant> until;
    for (std::size_t first = 0; first < queued_;) {
        const int count = send(first);
        if (count > 0) {
            first += static_cast<std::size_t>(count);
            continue;
        }
        if (errno == EAGAIN) {
            if (!until) until = net::monotonic_now() + Ports::kQueuePatience;
            if (net::wait_for(fd(), POLLOUT, *until) == net::Waited::Ready) continue;
            ++counts_.queue_full;
        } else if (errno == ENOBUFS) {
            ++counts_.queue_full;
        } else {
            ++counts_.refused;
        }
        ++first; // this frame is lost; those after it go on
    }
    queued_ = 0;
}

PortCounts PacketPort::take_counts() {
    tpacket_stats statistics{};
    socklen_t size = sizeof statistics;
    ::getsockopt(fd(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size);
    counts_.dropped_by_kernel += statistics.tp_drops;
    return counts_;
}

namespace {

class PacketPorts final : public Ports {
  public:
    PacketPorts(PacketPort a, PacketPort b) : a_(std::move(a)), b_(std::move(b)) {}

    [[nodiscard]] std::string text() const override { return "AF_PACKET"; }
    std::expected<void, net::Error> wait(wire::Instant deadline) override {
        const std::array<int, 1> also{b_.fd()};
        net::wait_for(a_.fd(), POLLIN, deadline, also);
        return {};
    }
    std::expected<std::span<const Arrival>, int> receive(End from) override {
        return port(from).receive();
    }
    void done(End from) override { (void)from; }
    void queue(End to, wire::Bytes frame, const OffloadNote& note) override {
        port(to).queue(frame, note);
    }
    void flush() override {
        a_.flush();
        b_.flush();
    }
    PortCounts counts(End end) override { return port(end).take_counts(); }
    bool bypass(const BypassPath& path) override {
        (void)path;
        return false;
    }

  private:
    PacketPort& port(End end) { return end == End::A ? a_ : b_; }
    PacketPort a_;
    PacketPort b_;
};

} // namespace

std::expected<std::unique_ptr<Ports>, net::Error> open_packet_ports(const std::string& a,
                                                                    const std::string& b) {
    auto port_a = PacketPort::open(a, static_cast<int>(::if_nametoindex(a.c_str())));
    if (!port_a) return std::unexpected(port_a.error());
    auto port_b = PacketPort::open(b, static_cast<int>(::if_nametoindex(b.c_str())));
    if (!port_b) return std::unexpected(port_b.error());
    return std::make_unique<PacketPorts>(std::move(*port_a), std::move(*port_b));
}

} // namespace veriroce::inject
