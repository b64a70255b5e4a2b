// Internal: the tester's side of ARP and neighbour discovery. It has its own thread from
// construction to destruction, because a device may ask while the tester waits for something else.
//
// It answers for the extra addresses, and inside a VLAN also for the interface's own addresses,
// because the kernel has no interface there. It sends no unsolicited announcements.
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

    // See RawLink::resolve.
    std::expected<wire::MacAddress, Error> resolve(const wire::IpAddress& address,
                                                   const wire::IpAddress& source,
                                                   const std::optional<wire::VlanId>& vlan,
                                                   wire::Instant deadline);
    // See RawLink::who_has.
    std::vector<wire::MacAddress> who_has(const wire::IpAddress& address,
                                          const wire::IpAddress& source, wire::Instant deadline);
    // The same without the kernel's table.
    std::expected<wire::MacAddress, Error> ask(const wire::IpAddress& address,
                                               const wire::IpAddress& source,
                                               const std::optional<wire::VlanId>& vlan,
                                               wire::Instant deadline);

  private:
    // A pending resolve() or who_has() and its answers. There is at most one, because a RawLink is
    // used by one thread.
    struct Search {
        wire::IpAddress address;
        std::uint16_t vlan_id = 0;
        std::vector<wire::MacAddress> found; // each once
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
    PacketSocket socket_;       // only the thread receives; both threads send
    Descriptor stop_;           // an eventfd
    std::mutex mutex_;
    std::condition_variable answered_;
    std::optional<Search> search_; // protected by the mutex
    std::jthread thread_;
};

} // namespace veriroce::net
