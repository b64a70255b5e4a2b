// The port on a raw link.
#include "transport/net/clock.hpp"
#include "transport/net/raw_link.hpp"
#include "transport/port/port.hpp"
#include "transport/sim/nic.hpp"

namespace veriroce::port {
namespace {

// IPv6, UDP, BTH, RETH and immediate, ICRC: what a packet has beside a full PMTU.
constexpr std::size_t kPacketOverhead = 40 + 8 + 12 + 20 + 4;

class RawPort final : public Port {
  public:
    RawPort(std::unique_ptr<net::RawLink> link, const engine::Config& config, Planted planted)
        : Port(config, planted.checks), link_(std::move(link)), filter_(std::move(planted.filter)),
          nic_({.mac = link_->mac(), .addresses = all_addresses(*link_)}, engine_, filter_.get()) {}

    [[nodiscard]] std::vector<wire::IpAddress> addresses() const override {
        return nic_.options().addresses;
    }
    [[nodiscard]] wire::Mtu largest_mtu() const override {
        wire::Mtu best = wire::Mtu::B256;
        for (const wire::Mtu mtu :
             {wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
            if (wire::bytes_of(mtu) + kPacketOverhead <= link_->mtu()) best = mtu;
        }
        return best;
    }
    [[nodiscard]] std::string text() const override {
        return "raw frames on " + link_->interface() + ", " + link_->mac().text();
    }
    [[nodiscard]] int descriptor() const override { return link_->fd(); }
    std::expected<void, net::Error> reach(const wire::IpAddress& address,
                                          wire::Instant deadline) override {
        for (const wire::IpAddress& own : nic_.options().addresses) {
            if (own.v4() != address.v4()) continue;
            const auto mac = link_->resolve(address, own, std::nullopt, deadline);
            if (!mac) return std::unexpected(mac.error());
            nic_.neighbour(address, *mac);
            return {};
        }
        return std::unexpected(
            net::Error{net::ErrorKind::BadAddress,
                       link_->interface() + " has no address of the family of " + address.text()});
    }
    [[nodiscard]] engine::SurfaceFilter* filter() override { return filter_.get(); }
    [[nodiscard]] std::uint64_t bad_icrc() const override {
        return nic_.counters().of(wire::FrameError::BadIcrc);
    }

  protected:
    std::expected<std::size_t, net::Error> take_some(wire::Instant deadline,
                                                     std::span<const int> also) override {
        const auto received = link_->receive(deadline, also);
        if (!received) return std::unexpected(received.error());
        if (!*received) return 0;
        if (!(*received)->outgoing) nic_.receive((*received)->frame, net::monotonic_now());
        return 1;
    }
    bool send_one(wire::Instant now) override {
        const auto frame = nic_.poll_frame(now);
        if (!frame) return false;
        if (!link_->send(*frame)) ++unsent_;
        return true;
    }
    void flush() override {} // nothing is kept back
    [[nodiscard]] std::optional<wire::Instant> due() const override { return nic_.next_deadline(); }
    void run_due(wire::Instant now) override { nic_.advance(now); }

  private:
    // An extra address is preferred to the interface's own.
    static std::vector<wire::IpAddress> all_addresses(const net::RawLink& link) {
        std::vector<wire::IpAddress> all = link.extra_addresses();
        all.insert(all.end(), link.own_addresses().begin(), link.own_addresses().end());
        return all;
    }

    std::unique_ptr<net::RawLink> link_;
    std::unique_ptr<engine::SurfaceFilter> filter_;
    sim::Nic nic_;
};

} // namespace

std::expected<std::unique_ptr<Port>, net::Error>
Port::raw(const std::string& interface, const std::vector<wire::IpAddress>& extra,
          const engine::Config& config, Planted planted) {
    auto link = net::RawLink::open({.interface = interface, .extra_addresses = extra});
    if (!link) return std::unexpected(link.error());
    return std::make_unique<RawPort>(std::move(*link), config, std::move(planted));
}

} // namespace veriroce::port
