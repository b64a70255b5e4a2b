#include "conformance/agent/engine_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "conformance/dut/engine_device.hpp"
#include "transport/endpoint/port.hpp"

namespace veriroce::agent {

namespace {

class EngineBackend final : public Backend {
  public:
    EngineBackend(std::unique_ptr<endpoint::Port> port, const dut::AgentLimits& limits)
        : port_(std::move(port)), budget_(limits) {}

    [[nodiscard]] std::string text() const override { return "engine on " + port_->text(); }
    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override;

    [[nodiscard]] int descriptor() const override { return port_->descriptor(); }
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override {
        return port_->next_deadline();
    }
    void advance(wire::Instant now) override;

  private:
    class Device; // an EngineDevice that is told of events while it lives

    std::unique_ptr<endpoint::Port> port_;
    dut::Budget budget_;
    std::vector<dut::EngineDevice*> devices_;
};

class EngineBackend::Device final : public dut::Executor {
  public:
    explicit Device(EngineBackend& backend)
        : backend_(backend), device_(backend.port_->engine(), backend.budget_,
                                     {.mtu_active = backend.port_->largest_mtu(),
                                      .addresses = backend.port_->addresses()}) {
        backend_.devices_.push_back(&device_);
    }
    ~Device() override { std::erase(backend_.devices_, &device_); }

    dut::Answer execute(const dut::Request& request, wire::Instant now) override {
        auto answer = device_.execute(request, now);
        backend_.advance(now); // what was posted leaves before the answer does
        return answer;
    }

  private:
    EngineBackend& backend_;
    dut::EngineDevice device_;
};

std::expected<std::unique_ptr<dut::Executor>, dut::Failure> EngineBackend::open_device() {
    return std::make_unique<Device>(*this);
}

void EngineBackend::advance(wire::Instant now) {
    // A link that fails says so to whoever waits for its packets.
    static_cast<void>(port_->step(now));
    while (const auto event = port_->engine().poll_event()) {
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
    auto opened = endpoint::Port::udp(*address, {}, port);
    if (!opened) return std::unexpected(opened.error().text);
    return std::make_unique<EngineBackend>(std::move(*opened), options.limits);
}

} // namespace veriroce::agent
