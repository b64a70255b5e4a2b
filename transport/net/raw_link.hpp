// The raw link: whole Ethernet frames in and out of one interface (AF_PACKET, needs CAP_NET_RAW).
//
// While it is open, for the tester's sake:
// - the kernel is quiet on UDP 4791: sockets that drop everything hold the port on the interface's
//   own addresses, so that it sends no ICMP port unreachable;
// - a thread of ours answers ARP requests and neighbour solicitations for the extra addresses, also
//   while nobody calls receive(): a device resolves us inside modify-to-RTR. The kernel answers for
//   its own addresses, except inside a VLAN, where we do that too;
// - offloads that would merge or alter received packets are off (see offloads.hpp).
// All of this ends with the object. It installs no signal handlers: the program that owns it ends
// it in an orderly way after SIGINT and SIGTERM.
//
// Units: frames begin at the Ethernet header and end before the FCS. Times are wire::Instant on the
// line of monotonic_now(). Every packet has an interval in which it was on the wire at the tester.
// Errors: Error, one sentence each.
// Threads: one thread uses a RawLink at a time.
// Source: design of the live link; packet(7); rules ENC-01..ENC-15.
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

namespace veriroce::net {

struct RawLinkOptions {
    std::string interface;
    // The tester's addresses that this kernel does not own: answered for, and joined, by us.
    std::vector<wire::IpAddress> extra_addresses;
    bool promiscuous = false; // also frames for other MACs (the injector)
    bool passive = false;     // neither holds UDP 4791 nor answers for anybody (the injector)
    bool change_offloads = true;
    std::size_t receive_buffer_bytes = 64U << 20U;
    std::string rdma_class = "/sys/class/infiniband"; // where RDMA devices are listed; for tests
};

// An interval on the monotonic line.
struct Interval {
    wire::Instant earliest;
    wire::Instant latest;
};

struct Sent {
    std::uint64_t number = 0; // counts from 1; Received::sent_number names it when it is reflected
    Interval when;            // from before to after the system call
};

struct Received {
    wire::Bytes frame; // valid until the next receive(); a stripped VLAN tag has been put back
    // For what comes in: from the stamp minus the path delay to the stamp. For a reflected frame of
    // ours: from before the system call to the stamp.
    Interval when;
    bool outgoing = false;                    // left this host: reflected by the kernel
    std::optional<std::uint64_t> sent_number; // outgoing, and sent by this link
    bool checksum_not_ready = false;          // the UDP checksum is partial: uncheckable, not wrong
    bool vlan_put_back = false;
    bool longer_than_mtu = false; // merged by an offload (GRO, LRO): not a packet of the wire
    bool truncated = false;       // longer than 64 KiB: `frame` is only its head
};

class RawLink {
  public:
    static std::expected<std::unique_ptr<RawLink>, Error> open(const RawLinkOptions& options);

    virtual ~RawLink() = default;
    RawLink(const RawLink&) = delete;
    RawLink& operator=(const RawLink&) = delete;

    [[nodiscard]] virtual const std::string& interface() const = 0;
    [[nodiscard]] virtual wire::MacAddress mac() const = 0;
    [[nodiscard]] virtual std::size_t mtu() const = 0; // bytes of IP
    // The interface's own addresses; then the extra ones.
    [[nodiscard]] virtual const std::vector<wire::IpAddress>& own_addresses() const = 0;
    [[nodiscard]] virtual const std::vector<wire::IpAddress>& extra_addresses() const = 0;
    // What open() changed or could not change, one line each, for people.
    [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;

    // Readable when a packet waits; but packets that stand in this object come first: receive()
    // with a deadline in the past says whether there are any.
    [[nodiscard]] virtual int fd() const = 0;

    virtual std::expected<Sent, Error> send(wire::Bytes frame) = 0;

    // Waits for a packet until `deadline`, or until one of the file descriptors in `also` can be
    // read. Nothing: the deadline has passed, or one of `also` is ready (ask it). Packets that
    // already stand in the queue come first. A deadline in the past only looks.
    virtual std::expected<std::optional<Received>, Error>
    receive(wire::Instant deadline, std::span<const int> also = {}) = 0;

    // Packets that the kernel dropped because nobody fetched them, since open().
    virtual std::uint64_t drops() = 0;

    // The worst one-way delay between a frame's arrival and its stamp, as calibration measured it.
    virtual void set_path_delay(wire::Duration delay) = 0;

    // The MAC that answers for `address` on this L2 network: from the kernel's neighbour table, or
    // by an ARP request or neighbour solicitation from `source` (one of our addresses), repeated
    // every 200 ms until `deadline`. Inside a VLAN the kernel is not asked. Frames that arrive
    // meanwhile wait for receive().
    virtual std::expected<wire::MacAddress, Error> resolve(const wire::IpAddress& address,
                                                           const wire::IpAddress& source,
                                                           const std::optional<wire::VlanId>& vlan,
                                                           wire::Instant deadline) = 0;

  protected:
    RawLink() = default;
};

} // namespace veriroce::net
