// Inside this room: the tester's side of ARP and neighbour discovery, in a thread of its own from
// construction to destruction, because a device may ask while we wait for something else.
//
// It answers for the extra addresses, and inside a VLAN for the interface's own as well, because
// the kernel has no interface there. It announces nothing unasked.
#pragma once

#include <condition_variable>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "transport/net/interface.hpp"
#include "transport/net/neighbour_packets.hpp"
#include "transport/net/packet_socket.hpp"

namespace veriroce::net {

class Neighbours {
  public:
    static std::expected<std::unique_ptr<Neighbours>, Error>
    start(const Interface& interface, const std::vector<wire::IpAddress>& extra, bool answers);
    ~Neighbours();
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

    // As RawLink::resolve.
    std::expected<wire::MacAddress, Error> resolve(const wire::IpAddress& address,
                                                   const wire::IpAddress& source,
                                                   const std::optional<wire::VlanId>& vlan,
                                                   wire::Instant deadline);

  private:
    // What somebody waits for, and what came. There is one waiter at most: a RawLink has one
    // thread.
    struct Search {
        wire::IpAddress address;
        std::uint16_t vlan_id = 0;
        std::optional<wire::MacAddress> found;
    };

    Neighbours(Interface interface, std::vector<wire::IpAddress> extra, bool answers,
               PacketSocket socket, Descriptor stop)
        : interface_(std::move(interface)), extra_(std::move(extra)), answers_(answers),
          socket_(std::move(socket)), stop_(std::move(stop)) {}

    void work();
    void handle(const NeighbourMessage& message);
    [[nodiscard]] bool answers_for(const NeighbourMessage& request) const;

    const Interface interface_;
    const std::vector<wire::IpAddress> extra_;
    const bool answers_ = true; // a passive link only resolves
    PacketSocket socket_;       // received from by the thread only; sent on by both
    Descriptor stop_;           // an eventfd
    std::mutex mutex_;
    std::condition_variable answered_;
    std::optional<Search> search_; // under the mutex
    std::jthread thread_;
};

} // namespace veriroce::net
