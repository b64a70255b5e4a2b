#include "conformance/agent/engine_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "conformance/dut/engine_device.hpp"
#include "conformance/dut/late_device.hpp"
#include "conformance/dut/limited_device.hpp"
#include "transport/engine/management_host.hpp"
#include "transport/net/clock.hpp"
#include "transport/port/port.hpp"

namespace veriroce::agent {

namespace {

constexpr int kMostRounds = 64; // of management, before others have a turn

class EngineBackend final : public Backend {
  public:
    EngineBackend(std::unique_ptr<port::Port> port, const Options& options)
        : port_(std::move(port)), management_(port_->engine(), net::monotonic_now()),
          budget_(options.limits) {
        if (!options.planted) return;
        lacks_ = options.planted->lacks;
        traits_ = options.planted->traits;
    }

    [[nodiscard]] std::string text() const override { return "engine on " + port_->text(); }
    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override;

    [[nodiscard]] int descriptor() const override { return port_->descriptor(); }
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override;
    void advance(wire::Instant now) override;

  private:
    class Device; // it receives events while it exists

    std::unique_ptr<port::Port> port_;
    engine::ManagementHost management_; // of all connections, as a host has one
    dut::Budget budget_;
    dut::Lacks lacks_;
    std::vector<std::string> traits_;
    std::vector<Device*> devices_;
};

class EngineBackend::Device final : public dut::Executor {
  public:
    explicit Device(EngineBackend& backend)
        : backend_(backend), device_(backend.port_->engine(), backend.budget_,
                                     {.mtu_active = backend.port_->largest_mtu(),
                                      .addresses = backend.port_->addresses(),
                                      .traits = backend.traits_},
                                     backend.port_->filter()),
          late_(device_, backend.port_->filter()), limited_(late_, backend.lacks_, dut::Told::Yes) {
        device_.use([&management = backend.management_](
                        wire::Instant /*now*/) -> engine::ManagementHost& { return management; });
        backend_.devices_.push_back(this);
    }
    ~Device() override { std::erase(backend_.devices_, this); }

    dut::Answer execute(const dut::Request& request, wire::Instant now) override {
        if (const auto lost = neighbour_missing(request)) return std::unexpected(*lost);
        auto answer = limited_.execute(request, now);
        backend_.advance(now); // send the posted packets before the answer
        return answer;
    }
    bool offer(const engine::Event& event, wire::Instant now) { return device_.offer(event, now); }
    // The calls that wait are executed again after this.
    void pass(wire::Instant now) { late_.pass(now); }
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const {
        return late_.next_deadline();
    }

  private:
    // A device looks for its peer inside qp_modify, as kernel drivers do.
    std::optional<dut::Failure> neighbour_missing(const dut::Request& request) {
        const auto* modify = std::get_if<dut::QpModify>(&request);
        if (modify == nullptr) return std::nullopt;
        const dut::QpAttributes& to = modify->attributes;
        for (const auto& vector : {to.address_vector, to.alt_address_vector}) {
            if (!vector) continue;
            const auto found = backend_.port_->reach(vector->address, net::monotonic_now() +
                                                                          std::chrono::seconds(1));
            if (found) continue;
            return dut::Failure{.code = static_cast<std::int32_t>(dut::FailureCode::Refused),
                                .message = found.error().text,
                                .verb = "qp_modify",
                                .errno_name = "ETIMEDOUT"};
        }
        return std::nullopt;
    }

    EngineBackend& backend_;
    dut::EngineDevice device_;
    dut::LateDevice late_;       // in front of it
    dut::LimitedDevice limited_; // in front of that
};

std::optional<wire::Instant> EngineBackend::next_deadline() const {
    std::optional<wire::Instant> next = port_->next_deadline();
    const auto sooner = [&](std::optional<wire::Instant> one) {
        if (one && (!next || *one < *next)) next = one;
    };
    sooner(management_.next_deadline());
    for (const Device* device : devices_)
        sooner(device->next_deadline());
    return next;
}

std::expected<std::unique_ptr<dut::Executor>, dut::Failure> EngineBackend::open_device() {
    return std::make_unique<Device>(*this);
}

void EngineBackend::advance(wire::Instant now) {
    // If the link fails, whoever waits for its packets finds out.
    static_cast<void>(port_->step(now));
    // Each round sends as much as the host has buffers for.
    for (int round = 0; round < kMostRounds && management_.serve(now); ++round)
        static_cast<void>(port_->step(now));
    while (const auto event = port_->engine().poll_event()) {
        std::ranges::any_of(devices_, [&](auto* device) { return device->offer(*event, now); });
    }
    for (Device* device : devices_)
        device->pass(now);
}

} // namespace

std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options) {
    return open_engine(options, wire::kRocePort);
}

std::expected<std::unique_ptr<Backend>, std::string> open_engine(const Options& options,
                                                                 std::uint16_t port) {
    std::vector<wire::IpAddress> addresses;
    if (!options.address.empty()) {
        const auto address = wire::IpAddress::parse(options.address);
        if (!address) {
            return std::unexpected("--address cannot be \"" + options.address +
                                   "\": expected an IPv4 or IPv6 address of this host");
        }
        addresses.push_back(*address);
    }
    if (addresses.empty() && options.interface.empty()) {
        return std::unexpected(
            "the engine needs --address or --interface, where it sends and receives "
            "RoCEv2 on this host");
    }
    port::Planted planted;
    engine::Config config;
    if (options.planted) {
        if (options.interface.empty()) {
            return std::unexpected("--mutant needs --interface: it changes whole frames");
        }
        planted.checks = options.planted->checks;
        config.behaviour = options.planted->behaviour;
        if (options.planted->make_filter) planted.filter = options.planted->make_filter();
    }
    auto opened = options.interface.empty()
                      ? port::Port::udp(addresses.front(), {}, port)
                      : port::Port::raw(options.interface, addresses, config, std::move(planted));
    if (!opened) return std::unexpected(opened.error().text);
    return std::make_unique<EngineBackend>(std::move(*opened), options);
}

} // namespace veriroce::agent
