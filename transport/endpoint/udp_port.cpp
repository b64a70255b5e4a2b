// The port on a UDP socket.
#include "transport/endpoint/port.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::endpoint {
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
    [[nodiscard]] std::uint64_t bad_icrc() const override { return bad_icrc_; }

  protected:
    std::expected<bool, net::Error> take_one(wire::Instant deadline,
                                             std::span<const int> also) override {
        const auto received = link_->receive(deadline, also);
        if (!received) return std::unexpected(received.error());
        if (!*received) return false;
        // CRC-07: a datagram with a wrong ICRC is dropped in silence.
        if ((*received)->icrc_good)
            engine_.handle((*received)->datagram, net::monotonic_now());
        else
            ++bad_icrc_;
        return true;
    }
    bool send_one(wire::Instant now) override {
        const auto packet = engine_.poll_transmit(now);
        if (!packet) return false;
        wire::Bytes payload = packet->payload;
        if (packet->pad != 0) {
            padded_.assign(payload.begin(), payload.end());
            padded_.resize(payload.size() + packet->pad);
            payload = padded_;
        }
        if (!link_->send(packet->envelope, packet->headers, payload)) ++unsent_;
        return true;
    }

  private:
    std::unique_ptr<net::UdpLink> link_;
    std::vector<std::byte> padded_;
    std::uint64_t bad_icrc_ = 0;
};

} // namespace

std::expected<std::unique_ptr<Port>, net::Error>
Port::udp(const wire::IpAddress& address, const engine::Config& config, std::uint16_t udp_port) {
    auto link = net::UdpLink::open(address, {.port = udp_port});
    if (!link) return std::unexpected(link.error());
    return std::make_unique<UdpPort>(std::move(*link), config);
}

} // namespace veriroce::endpoint
