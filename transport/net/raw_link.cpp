#include "transport/net/raw_link.hpp"

#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/net/clock.hpp"
#include "transport/net/ethtool_features.hpp"
#include "transport/net/interface.hpp"
#include "transport/net/neighbours.hpp"
#include "transport/net/offloads.hpp"
#include "transport/net/packet_filter.hpp"
#include "transport/net/packet_socket.hpp"
#include "transport/net/port_reservation.hpp"
#include "transport/net/sent_frames.hpp"

namespace veriroce::net {

namespace {

std::size_t tag_bytes(wire::Bytes frame) {
    std::size_t tags = 0;
    for (std::size_t at = 12; at + 2 <= frame.size(); at += wire::VlanTag::kSize) {
        const auto type = wire::load_u16(frame, at);
        if (type != static_cast<std::uint16_t>(wire::EtherType::Vlan) &&
            type != static_cast<std::uint16_t>(wire::EtherType::QinQ)) {
            break;
        }
        tags += wire::VlanTag::kSize;
    }
    return tags;
}

class PacketLink final : public RawLink {
  public:
    PacketLink(Interface interface, std::vector<wire::IpAddress> extra, PacketSocket sender,
               PacketSocket receiver)
        : interface_(std::move(interface)), extra_(std::move(extra)), sender_(std::move(sender)),
          receiver_(std::move(receiver)) {}

    std::expected<void, Error> prepare(const RawLinkOptions& options);

    const std::string& interface() const override { return interface_.name; }
    wire::MacAddress mac() const override { return interface_.mac; }
    std::size_t mtu() const override { return interface_.mtu; }
    const std::vector<wire::IpAddress>& own_addresses() const override {
        return interface_.addresses;
    }
    const std::vector<wire::IpAddress>& extra_addresses() const override { return extra_; }
    const std::vector<Subnet>& subnets() const override { return interface_.subnets; }
    const std::vector<std::string>& notes() const override { return notes_; }
    void set_path_delay(wire::Duration delay) override { path_delay_ = delay; }

    [[nodiscard]] std::optional<std::string> change() const override;
    [[nodiscard]] int fd() const override { return receiver_.fd(); }
    std::expected<Sent, Error> send(wire::Bytes frame) override;
    std::expected<std::optional<Received>, Error> receive(wire::Instant deadline,
                                                          std::span<const int> also) override;
    std::uint64_t drops() override { return drops_ += receiver_.take_drops(); }
    std::expected<wire::MacAddress, Error> resolve(const wire::IpAddress& address,
                                                   const wire::IpAddress& source,
                                                   const std::optional<wire::VlanId>& vlan,
                                                   wire::Instant deadline) override;
    std::vector<wire::MacAddress> who_has(const wire::IpAddress& address,
                                          const wire::IpAddress& source,
                                          wire::Instant deadline) override {
        return neighbours_->who_has(address, source, deadline);
    }
    std::expected<bool, Error> answers(const wire::IpAddress& address,
                                       const wire::IpAddress& source,
                                       const std::optional<wire::VlanId>& vlan,
                                       wire::Instant deadline) override;

  private:
    void pass_vlan_filter();
    Error send_error(int number, std::size_t frame_bytes) const;
    Error receive_error(int number) const;
    Received describe(const CapturedPacket& packet);

    Interface interface_;
    std::vector<wire::IpAddress> extra_;
    std::vector<std::string> notes_;
    std::vector<Descriptor> port_reservations_;
    std::optional<Offloads> offloads_;
    // Separate sockets, because the kernel does not reflect a frame to the socket that sent it.
    PacketSocket sender_;
    PacketSocket receiver_;
    std::unique_ptr<Neighbours> neighbours_;
    KernelClock clock_;
    SentFrames sent_;
    wire::Duration path_delay_{0};
    std::uint64_t drops_ = 0;
    bool lost_ = false; // the kernel has reported the interface down, which it does only once
};

std::expected<void, Error> PacketLink::prepare(const RawLinkOptions& options) {
    if (options.promiscuous && !receiver_.join_all()) {
        return std::unexpected(
            system_error("cannot make " + interface_.name + " promiscuous", errno));
    }
    if (!options.passive) {
        auto held = reserve_roce_port(interface_);
        if (!held) return std::unexpected(held.error());
        port_reservations_ = std::move(*held);
    }
    if (options.change_offloads) {
        auto offloads = Offloads::turn_off(interface_.name);
        if (!offloads) return std::unexpected(offloads.error());
        notes_ = offloads->notes();
        offloads_ = std::move(*offloads);
        pass_vlan_filter();
    }
    // A passive link does not answer requests, but may have to resolve addresses.
    auto neighbours = Neighbours::start(interface_, extra_, !options.passive);
    if (!neighbours) return std::unexpected(neighbours.error());
    neighbours_ = std::move(*neighbours);
    return {};
}

// A filter in the device that cannot be turned off drops frames of VLANs in which the kernel has no
// interface, unless the interface is promiscuous.
void PacketLink::pass_vlan_filter() {
    const auto features = EthtoolFeatures::open(interface_.name);
    if (!features || !features->is_on(kVlanFilter).value_or(false)) return;
    notes_.push_back(
        receiver_.join_all()
            ? interface_.name + " is promiscuous while the link is open, because its " +
                  std::string(kVlanFilter) + " stays on"
            : interface_.name + " may drop frames of VLANs: its " + std::string(kVlanFilter) +
                  " stays on, and it cannot be promiscuous");
}

Error PacketLink::send_error(int number, std::size_t frame_bytes) const {
    const auto frame = "a frame of " + std::to_string(frame_bytes) + " bytes";
    switch (number) {
    case EMSGSIZE:
        return {ErrorKind::TooLong, frame + " does not fit " + interface_.name + ", whose MTU is " +
                                        std::to_string(interface_.mtu) + " (" +
                                        std::to_string(interface_.mtu + wire::Ethernet::kSize) +
                                        " with Ethernet): raise the MTU on both sides, or use a "
                                        "smaller path MTU"};
    case ENETDOWN:
    case ENXIO:
    case ENODEV: return lost_interface(interface_.name, interface_.index);
    default: return system_error("cannot send " + frame + " on " + interface_.name, number);
    }
}

Error PacketLink::receive_error(int number) const {
    if (number == ENETDOWN) return lost_interface(interface_.name, interface_.index);
    return system_error("cannot receive on " + interface_.name, number);
}

std::expected<Sent, Error> PacketLink::send(wire::Bytes frame) {
    const auto before = monotonic_now();
    if (const int number = sender_.send(frame); number != 0) {
        return std::unexpected(send_error(number, frame.size()));
    }
    return sent_.add(frame, {before, monotonic_now()});
}

std::optional<std::string> PacketLink::change() const {
    std::array<char, IF_NAMESIZE> name{};
    const auto index = static_cast<unsigned>(interface_.index);
    if (::if_indextoname(index, name.data()) == nullptr) return std::nullopt; // receive() tells
    if (name.data() != interface_.name) {
        return "interface " + interface_.name + " was renamed to " + name.data();
    }
    const auto now = Interface::find(interface_.name);
    if (!now || now->mtu == interface_.mtu) return std::nullopt;
    return "the MTU of " + interface_.name + " was changed from " + std::to_string(interface_.mtu) +
           " to " + std::to_string(now->mtu);
}

Received PacketLink::describe(const CapturedPacket& packet) {
    const auto stamp = packet.stamp_ns ? clock_.to_monotonic(*packet.stamp_ns) : monotonic_now();
    Received received;
    received.frame = packet.frame;
    received.when = {stamp - path_delay_, stamp};
    received.outgoing = packet.outgoing;
    received.checksum_not_ready = packet.checksum_not_ready;
    received.vlan_put_back = packet.vlan_put_back;
    received.truncated = packet.truncated;
    const auto overhead = wire::Ethernet::kSize + tag_bytes(packet.frame);
    received.merged = packet.merged || packet.frame.size() > interface_.mtu + overhead;
    if (!packet.outgoing) return received;
    received.when.earliest = stamp; // for reflected frames of other programs, nothing else is known
    if (const auto ours = sent_.take(packet.frame, stamp)) {
        received.sent_number = ours->number;
        received.when.earliest = ours->when.earliest;
        // The clocks differ by a few ns.
        received.when.latest = std::max(stamp, ours->when.earliest);
    }
    return received;
}

std::expected<std::optional<Received>, Error> PacketLink::receive(wire::Instant deadline,
                                                                  std::span<const int> also) {
    for (;;) {
        const auto packet = receiver_.receive();
        if (!packet) {
            lost_ = true;
            return std::unexpected(receive_error(packet.error()));
        }
        if (*packet) return describe(**packet);
        if (lost_) {
            // The kernel reports this only once, so later calls must not wait in vain.
            if (const auto there = Interface::find(interface_.name);
                !there || there->index != interface_.index) {
                return std::unexpected(lost_interface(interface_.name, interface_.index));
            }
            lost_ = false;
        }
        if (wait_for(receiver_.fd(), POLLIN, deadline, also) != Waited::Ready) {
            return std::nullopt;
        }
    }
}

std::expected<wire::MacAddress, Error> PacketLink::resolve(const wire::IpAddress& address,
                                                           const wire::IpAddress& source,
                                                           const std::optional<wire::VlanId>& vlan,
                                                           wire::Instant deadline) {
    return neighbours_->resolve(address, source, vlan, deadline);
}

std::expected<bool, Error> PacketLink::answers(const wire::IpAddress& address,
                                               const wire::IpAddress& source,
                                               const std::optional<wire::VlanId>& vlan,
                                               wire::Instant deadline) {
    if (auto running = wait_for_carrier(interface_); !running) {
        return std::unexpected(running.error());
    }
    const auto found = neighbours_->ask(address, source, vlan, deadline);
    if (found) return true;
    if (found.error().kind == ErrorKind::NoNeighbour) return false;
    return std::unexpected(found.error());
}

} // namespace

std::expected<std::unique_ptr<RawLink>, Error> RawLink::open(const RawLinkOptions& options) {
    auto interface = Interface::find(options.interface);
    if (!interface) return std::unexpected(interface.error());
    if (auto free = check_no_rdma(interface->name, options.rdma_class); !free) {
        return std::unexpected(free.error());
    }
    if (auto free = check_no_forwarding(interface->name, options.extra_addresses); !free) {
        return std::unexpected(free.error());
    }
    auto sender = PacketSocket::sender(*interface);
    if (!sender) return std::unexpected(sender.error());
    auto receiver = PacketSocket::receiver(*interface, link_filter(), options.receive_buffer_bytes);
    if (!receiver) return std::unexpected(receiver.error());
    receiver->tell_merged();
    if (auto running = wait_for_carrier(*interface); !running) {
        return std::unexpected(running.error());
    }
    auto link = std::make_unique<PacketLink>(std::move(*interface), options.extra_addresses,
                                             std::move(*sender), std::move(*receiver));
    if (auto prepared = link->prepare(options); !prepared) {
        return std::unexpected(prepared.error());
    }
    return link;
}

} // namespace veriroce::net
