// Internal: an AF_PACKET socket on one interface, and the kernel's metadata for each packet.
#pragma once

#include <linux/filter.h>

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/interface.hpp"

namespace veriroce::net {

// A packet in the caller's buffer.
struct CapturedPacket {
    wire::Bytes frame;                    // including a VLAN tag that the kernel had stripped
    std::optional<std::int64_t> stamp_ns; // CLOCK_REALTIME
    bool outgoing = false;
    bool checksum_not_ready = false;
    bool vlan_put_back = false;
    bool truncated = false;
    bool merged = false; // by GRO, LRO or a sender's segmentation; may come without its frame
};

class PacketSocket {
  public:
    // A socket that only sends.
    static std::expected<PacketSocket, Error> sender(const Interface& interface);
    // A socket that receives what `filter` lets through, beginning with its first packet.
    static std::expected<PacketSocket, Error>
    receiver(const Interface& interface, std::vector<sock_filter> filter, std::size_t buffer_bytes);

    [[nodiscard]] int fd() const { return socket_.fd(); }

    // From now on `merged` is known, if the kernel can tell. Nothing in a merged frame says it: GRO
    // writes the sum into the lengths of IP and UDP. The socket can then only receive.
    void tell_merged();

    // Also receives frames for this destination MAC, or all frames. False if the driver refuses.
    [[nodiscard]] bool join(const wire::MacAddress& group) const;
    [[nodiscard]] bool join_all() const;

    // Returns 0 or an errno.
    [[nodiscard]] int send(wire::Bytes frame) const;

    // The next waiting packet, if any. The error is an errno.
    std::expected<std::optional<CapturedPacket>, int> receive();

    // Packets dropped since the last call.
    [[nodiscard]] std::uint64_t take_drops() const;

  private:
    PacketSocket(Descriptor socket, int index) : socket_(std::move(socket)), index_(index) {}
    [[nodiscard]] bool add_membership(std::uint16_t type, const wire::MacAddress& group) const;

    Descriptor socket_;
    int index_ = 0;
    bool tells_merged_ = false; // an OffloadHeader stands before each frame
    std::vector<std::byte> buffer_;
};

} // namespace veriroce::net
