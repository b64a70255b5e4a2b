// The raw link: complete Ethernet frames in and out of one interface (AF_PACKET, needs
// CAP_NET_RAW).
//
// While the link is open:
// - The kernel is quiet on UDP 4791: sockets that drop everything hold the port on the interface's
//   own addresses, so that the kernel sends no ICMP port unreachable.
// - A thread answers ARP requests and neighbour solicitations for the extra addresses, even while
//   nobody calls receive(): a device resolves our address inside modify-to-RTR. The kernel answers
//   for its own addresses, except inside a VLAN, where the thread does that too.
// - Offloads that would merge or alter received packets are off (see offloads.hpp).
// Closing the link undoes all of this. The link installs no signal handlers: the program must
// destroy it properly after SIGINT and SIGTERM.
//
// Units: frames begin at the Ethernet header and end before the FCS. Times are wire::Instant on the
// line of monotonic_now(). Each packet has an interval in which it was on the wire at the tester.
// Errors: Error, one sentence each.
// Threads: a RawLink may be used by one thread at a time.
// Source: packet(7); rules ENC-01..ENC-15.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"
#include "transport/net/subnet.hpp"

namespace veriroce::net {

struct RawLinkOptions {
    std::string interface;
    // Tester addresses that this kernel does not own: the link answers for them and joins their
    // groups.
    std::vector<wire::IpAddress> extra_addresses;
    bool promiscuous = false; // also receive frames for other MACs (in-line injector)
    bool passive = false;     // neither reserve UDP 4791 nor answer requests (in-line injector)
    bool change_offloads = true;
    std::size_t receive_buffer_bytes = 64U << 20U;
    std::string rdma_class = "/sys/class/infiniband"; // the list of RDMA devices; changed by tests
};

struct Sent {
    // Counts from 1; becomes Received::sent_number when the frame is reflected.
    std::uint64_t number = 0;
    wire::Interval when; // from before to after the system call
};

struct Received {
    // Valid until the next receive(); includes a VLAN tag that the kernel had stripped.
    wire::Bytes frame;
    // Incoming: from the stamp minus the path delay to the stamp. A reflected frame of ours: from
    // before the system call to the stamp.
    wire::Interval when;
    bool outgoing = false;                    // sent by this host and reflected by the kernel
    std::optional<std::uint64_t> sent_number; // outgoing and sent by this link
    // The UDP checksum is partial: it cannot be checked, but is not wrong.
    bool checksum_not_ready = false;
    bool vlan_put_back = false;
    // Several packets of the wire that an offload (GRO, LRO) made into one; `frame` may be empty.
    bool merged = false;
    bool truncated = false; // longer than 64 KiB: `frame` is only its beginning
};

class RawLink {
  public:
    static std::expected<std::unique_ptr<RawLink>, Error> open(const RawLinkOptions& options);

    virtual ~RawLink() = default;
    RawLink(const RawLink&) = delete;
    RawLink& operator=(const RawLink&) = delete;

    [[nodiscard]] virtual const std::string& interface() const = 0;
    [[nodiscard]] virtual wire::MacAddress mac() const = 0;
    [[nodiscard]] virtual std::size_t mtu() const = 0; // of IP packets, in bytes
    // The interface's own addresses, then the extra ones.
    [[nodiscard]] virtual const std::vector<wire::IpAddress>& own_addresses() const = 0;
    [[nodiscard]] virtual const std::vector<wire::IpAddress>& extra_addresses() const = 0;
    // The subnets of the interface's own addresses.
    [[nodiscard]] virtual const std::vector<Subnet>& subnets() const = 0;
    // What open() changed or could not change, one line each, for users.
    [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;

    // How the interface differs from what it was at open(), for users: its MTU, its name.
    [[nodiscard]] virtual std::optional<std::string> change() const = 0;

    // Readable when a packet waits in the kernel. Packets that were already fetched come first:
    // receive() with a deadline in the past returns them.
    [[nodiscard]] virtual int fd() const = 0;

    virtual std::expected<Sent, Error> send(wire::Bytes frame) = 0;

    // Waits for a packet until `deadline`, or until one of the descriptors in `also` is readable.
    // Returns empty if the deadline has passed or one of `also` is ready. Packets that are already
    // queued come first. With a deadline in the past it does not wait.
    virtual std::expected<std::optional<Received>, Error>
    receive(wire::Instant deadline, std::span<const int> also = {}) = 0;

    // Packets that the kernel has dropped since open(), because they were not fetched in time.
    virtual std::uint64_t drops() = 0;

    // The worst one-way delay from a frame's arrival to its stamp, as measured by calibration.
    virtual void set_path_delay(wire::Duration delay) = 0;

    // The MAC address for `address` on this L2 network: from the kernel's neighbour table, or by an
    // ARP request or neighbour solicitation from `source` (one of our addresses), repeated every
    // 200 ms until `deadline`. Inside a VLAN the kernel's table is not used. Frames that arrive in
    // the meantime wait for receive().
    virtual std::expected<wire::MacAddress, Error> resolve(const wire::IpAddress& address,
                                                           const wire::IpAddress& source,
                                                           const std::optional<wire::VlanId>& vlan,
                                                           wire::Instant deadline) = 0;

    // All MACs that answer a question for this address until the deadline, each once, in the order
    // of their answers: several mean that several hosts or interfaces claim it. Asks on the wire,
    // whatever the kernel knows.
    virtual std::vector<wire::MacAddress> who_has(const wire::IpAddress& address,
                                                  const wire::IpAddress& source,
                                                  wire::Instant deadline) = 0;

    // Whether somebody answers for `address` now, whatever the kernel's table remembers. An error
    // if the interface has no carrier: then silence says nothing about the other end.
    virtual std::expected<bool, Error> answers(const wire::IpAddress& address,
                                               const wire::IpAddress& source,
                                               const std::optional<wire::VlanId>& vlan,
                                               wire::Instant deadline) = 0;

  protected:
    RawLink() = default;
};

} // namespace veriroce::net
