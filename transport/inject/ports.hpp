// The two ports of a bump, whatever moves their frames: AF_PACKET, or an XDP program and AF_XDP.
//
// Errors: net::Error when opening, and when a port can no longer be used; what is lost is counted.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "transport/fault/injector.hpp"
#include "transport/fault/rule.hpp"
#include "transport/inject/port_counts.hpp"
#include "transport/net/error.hpp"

namespace veriroce::inject {

using fault::End;

// virtio_net_hdr of linux/virtio_net.h, which is not C++: what the kernel says about a frame whose
// checksum or segments its sender left to the network card.
struct OffloadNote {
    std::uint8_t flags = 0;
    std::uint8_t segmentation = 0;
    std::uint16_t header_bytes = 0;
    std::uint16_t segment_bytes = 0;
    std::uint16_t checksum_start = 0;
    std::uint16_t checksum_offset = 0;
};
static_assert(sizeof(OffloadNote) == 10);

struct Arrival {
    wire::Bytes frame;
    OffloadNote note;
};

// The packets from one address to one QP of another.
struct BypassPath {
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint32_t qpn = 0;
};

class Ports {
  public:
    static constexpr std::size_t kBatch = 64;
    // How long a full queue may hold up a frame before it is lost, as in a switch.
    static constexpr wire::Duration kQueuePatience = std::chrono::milliseconds(20);

    virtual ~Ports() = default;
    Ports(const Ports&) = delete;
    Ports& operator=(const Ports&) = delete;

    // "AF_PACKET", "XDP, native mode"
    [[nodiscard]] virtual std::string text() const = 0;
    // Until a frame waits at a port, or until the deadline, or until a signal came.
    virtual std::expected<void, net::Error> wait(wire::Instant deadline) = 0;
    // At most kBatch frames that wait there, until done(). The error is an errno.
    virtual std::expected<std::span<const Arrival>, int> receive(End from) = 0;
    virtual void done(End from) = 0;
    // Frames leave with flush(), in order; `frame` must stay until then.
    virtual void queue(End to, wire::Bytes frame, const OffloadNote& note) = 0;
    virtual void flush() = 0;
    // All since they were opened.
    virtual PortCounts counts(End end) = 0;
    // From now on these packets pass without coming here. False if these ports cannot do that.
    virtual bool bypass(const BypassPath& path) = 0;
    // What the rules that the kernel decides did, in their order; empty if there are none.
    virtual std::vector<fault::Fired> kernel_fired() { return {}; }

  protected:
    Ports() = default;
};

} // namespace veriroce::inject
