// The port on a UDP socket.
#include "transport/net/clock.hpp"
#include "transport/net/udp_link.hpp"
#include "transport/port/port.hpp"

namespace veriroce::port {
namespace {

class UdpPort final : public Port {
  public:
    UdpPort(std::unique_ptr<net::UdpLink> link, const engine::Config& config)
        : Port(config), link_(std::move(link)) {}

    [[nodiscard]] std::vector<wire::IpAddress> addresses() const override {
        return {link_->address()};
    }
    // What an Ethernet MTU of 1500 carries; the socket does not know the path's.
    [[nodiscard]] wire::Mtu largest_mtu() const override { return wire::Mtu::B1024; }
    [[nodiscard]] std::string text() const override {
        return "UDP " + link_->address().text() + " port " + std::to_string(link_->port());
    }
    [[nodiscard]] int descriptor() const override { return link_->fd(); }
    std::expected<void, net::Error> reach(const wire::IpAddress& /*address*/,
                                          wire::Instant /*deadline*/) override {
        return {}; // the kernel finds the way
    }
    [[nodiscard]] std::uint64_t bad_icrc() const override { return link_->bad_icrc(); }

  protected:
    std::expected<std::size_t, net::Error> take_some(wire::Instant deadline,
                                                     std::span<const int> also) override {
        const auto batch = link_->receive_batch(deadline, also);
        if (!batch) return std::unexpected(batch.error());
        const auto now = net::monotonic_now();
        for (const auto& received : *batch) {
            // CRC-07: a datagram with a wrong ICRC is dropped in silence.
            if (received.icrc_good) engine_.handle(received.datagram, now);
        }
        return batch->size();
    }
    // Packets leave together, as far as the link copies their payload: the engine's is its own
    // until the next call to it.
    bool send_one(wire::Instant now) override {
        const auto packet = engine_.poll_transmit(now);
        if (!packet) return false;
        // What the link refuses it counts.
        static_cast<void>(
            link_->queue(packet->envelope, packet->headers, packet->payload, packet->pad));
        if (packet->payload.size() > net::UdpLink::kCopiedBytes) flush();
        unsent_ = link_->refused();
        return true;
    }
    void flush() override {
        static_cast<void>(link_->flush());
        unsent_ = link_->refused();
    }

  private:
    std::unique_ptr<net::UdpLink> link_;
};

} // namespace

std::expected<std::unique_ptr<Port>, net::Error>
Port::udp(const wire::IpAddress& address, const engine::Config& config, std::uint16_t udp_port) {
    auto link = net::UdpLink::open(address, {.port = udp_port});
    if (!link) return std::unexpected(link.error());
    return std::make_unique<UdpPort>(std::move(*link), config);
}

} // namespace veriroce::port
