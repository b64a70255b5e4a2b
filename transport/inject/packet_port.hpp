// The ports over AF_PACKET: every frame that the interface receives, whole, and frames out.
// Promiscuous while they are open.
//
// The kernel's notes about a frame (a checksum that is still to be filled in, a TCP segment that is
// still to be cut) go with it: a frame that leaves as it came leaves as its sender's kernel meant
// it. The checksum of a RoCEv2 frame is filled in here, because rules change such frames. A VLAN
// tag that the kernel took off is put back.
//
// Errors: net::Error when opening; afterwards counts. Needs CAP_NET_RAW.
// Source: packet(7), linux/virtio_net.h.
#pragma once

#include "transport/inject/ports.hpp"
#include "transport/net/descriptor.hpp"

namespace veriroce::inject {

class PacketPort {
  public:
    static constexpr std::size_t kBatch = Ports::kBatch;

    static std::expected<PacketPort, net::Error> open(const std::string& interface, int index);
    PacketPort(PacketPort&&) noexcept;
    PacketPort& operator=(PacketPort&&) noexcept;
    ~PacketPort();

    [[nodiscard]] int fd() const { return socket_.fd(); }
    // As Ports; frames are valid until the next call.
    std::expected<std::span<const Arrival>, int> receive();
    void queue(wire::Bytes frame, const OffloadNote& note);
    void flush();
    PortCounts take_counts();

  private:
    struct Buffers;
    explicit PacketPort(net::Descriptor socket);
    int send(std::size_t first);

    net::Descriptor socket_;
    std::unique_ptr<Buffers> buffers_;
    std::size_t queued_ = 0;
    PortCounts counts_;
};

std::expected<std::unique_ptr<Ports>, net::Error> open_packet_ports(const std::string& a,
                                                                    const std::string& b);

} // namespace veriroce::inject
