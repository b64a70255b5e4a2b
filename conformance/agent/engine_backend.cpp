#include "conformance/agent/engine_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "conformance/dut/engine_device.hpp"
#include "transport/engine/engine.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::agent {

namespace {

class EngineBackend final : public Backend {
  public:
    EngineBackend(std::unique_ptr<net::UdpLink> link, const dut::AgentLimits& limits)
        : link_(std::move(link)), engine_(engine::Config{}), budget_(limits) {}

    [[nodiscard]] std::string text() const override {
        return "engine on UDP " + link_->address().text() + " port " +
               std::to_string(link_->port());
    }
    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override;

    [[nodiscard]] int descriptor() const override { return link_->fd(); }
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override {
        if (more_to_send_) return wire::Instant::min();
        return engine_.next_timeout();
    }
    void advance(wire::Instant now) override;

  private:
    // Bounds of one advance, so that a flood of packets does not starve the connections.
    static constexpr std::size_t max_received = 256;
    static constexpr std::size_t max_sent = 1024;

    class Device; // an EngineDevice that is told of events while it lives

    void receive();
    void transmit(wire::Instant now);

    std::unique_ptr<net::UdpLink> link_;
    engine::Engine engine_;
    dut::Budget budget_;
    std::vector<dut::EngineDevice*> devices_;
    std::vector<std::byte> padded_;
    bool more_to_send_ = false; // an advance ended at its bound
};

class EngineBackend::Device final : public dut::Executor {
  public:
    explicit Device(EngineBackend& backend)
        : backend_(backend), device_(backend.engine_, backend.budget_,
                                     {.mtu_active = wire::Mtu::B1024, // what an MTU of 1500 carries
                                      .addresses = {backend.link_->address()}}) {
        backend_.devices_.push_back(&device_);
    }
    ~Device() override { std::erase(backend_.devices_, &device_); }

    dut::Answer execute(const dut::Request& request, wire::Instant now) override {
        auto answer = device_.execute(request, now);
        backend_.transmit(now); // what was posted leaves before the answer does
        return answer;
    }

  private:
    EngineBackend& backend_;
    dut::EngineDevice device_;
};

std::expected<std::unique_ptr<dut::Executor>, dut::Failure> EngineBackend::open_device() {
    return std::make_unique<Device>(*this);
}

void EngineBackend::receive() {
    for (std::size_t count = 0; count < max_received; ++count) {
        const auto received = link_->receive(wire::Instant::min());
        if (!received || !*received) return;
        // CRC-07: a datagram with a wrong ICRC is dropped in silence.
        if ((*received)->icrc_good) engine_.handle((*received)->datagram, net::monotonic_now());
    }
}

void EngineBackend::transmit(wire::Instant now) {
    for (std::size_t count = 0; count < max_sent; ++count) {
        const auto packet = engine_.poll_transmit(now);
        more_to_send_ = packet.has_value();
        if (!packet) return;
        padded_.assign(packet->payload.begin(), packet->payload.end());
        padded_.resize(padded_.size() + packet->pad);
        // What the kernel refuses is lost, as it would be on a wire: the engine sends it again.
        static_cast<void>(link_->send(packet->envelope, packet->headers, padded_));
    }
}

void EngineBackend::advance(wire::Instant now) {
    receive();
    if (const auto due = engine_.next_timeout(); due && *due <= now) engine_.handle_timeout(now);
    transmit(now);
    while (const auto event = engine_.poll_event()) {
        std::ranges::any_of(devices_, [&](auto* device) { return device->offer(*event, now); });
    }
}

} // namespace

std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options) {
    return open_engine(options, wire::kRocePort);
}

std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options,
                                                                 std::uint16_t port) {
    if (options.address.empty()) {
        return std::unexpected("the engine needs --address: which address of this host it speaks "
                               "RoCEv2 on");
    }
    const auto address = wire::IpAddress::parse(options.address);
    if (!address) {
        return std::unexpected("--address cannot be \"" + options.address +
                               "\": an IPv4 or IPv6 address of this host");
    }
    auto link = net::UdpLink::open(*address, port);
    if (!link) return std::unexpected(link.error().text);
    return std::make_unique<EngineBackend>(std::move(*link), options.limits);
}

} // namespace veriroce::agent
