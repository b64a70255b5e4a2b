// Our engine behind a link of this host: a raw one that sees and writes whole frames, or a UDP
// socket that needs no privilege.
//
//   auto port = Port::raw("eth0", {}, config);        or Port::udp(address, config)
//   port->engine().post_send(...);
//   port->run(deadline, stop_fds);    packets in, timers, packets out; returns when something came
//
// Errors are one sentence for people.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/engine/engine.hpp"
#include "transport/engine/surface_filter.hpp"
#include "transport/net/error.hpp"

namespace veriroce::port {

// What makes a device of the engine that breaks a rule: for tests of testers.
struct Planted {
    engine::Checks checks = engine::kStandardChecks;
    std::unique_ptr<engine::SurfaceFilter> filter; // null: none
};

class Port {
  public:
    // `extra` are addresses that this host's kernel does not own; the port answers for them.
    static std::expected<std::unique_ptr<Port>, net::Error>
    raw(const std::string& interface, const std::vector<wire::IpAddress>& extra,
        const engine::Config& config = {}, Planted planted = {});
    // `udp_port` other than RoCEv2's own: for tests and tunnels.
    static std::expected<std::unique_ptr<Port>, net::Error>
    udp(const wire::IpAddress& address, const engine::Config& config = {},
        std::uint16_t udp_port = wire::kRocePort);

    virtual ~Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    [[nodiscard]] engine::Engine& engine() { return engine_; }
    [[nodiscard]] virtual std::vector<wire::IpAddress> addresses() const = 0;
    // The largest path MTU that the link carries.
    [[nodiscard]] virtual wire::Mtu largest_mtu() const = 0;
    [[nodiscard]] virtual std::string text() const = 0; // "UDP 10.0.0.1 port 4791"
    [[nodiscard]] virtual int descriptor() const = 0;   // readable when a packet waits

    // Learns where packets to this address go, before the first of them.
    virtual std::expected<void, net::Error> reach(const wire::IpAddress& address,
                                                  wire::Instant deadline) = 0;

    // Takes what has come, runs what is due and sends what there is to say, up to a bound that
    // keeps a flood from starving the caller. Whether there is more to do at once.
    std::expected<bool, net::Error> step(wire::Instant now);
    // Steps until something came in or became due, or until the deadline, or until one of `also`
    // can be read.
    std::expected<void, net::Error> run(wire::Instant deadline, std::span<const int> also = {});
    // When step() has something to do although no packet comes.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;

    // Datagrams that the link refused for their ICRC, and packets that it could not send.
    [[nodiscard]] virtual std::uint64_t bad_icrc() const = 0;
    [[nodiscard]] std::uint64_t unsent() const { return unsent_; }
    // Null if nothing is planted.
    [[nodiscard]] virtual engine::SurfaceFilter* filter() { return nullptr; }

  protected:
    explicit Port(const engine::Config& config,
                  const engine::Checks& checks = engine::kStandardChecks)
        : engine_(config, checks) {}

    // What is due without a packet: the engine's timers.
    [[nodiscard]] virtual std::optional<wire::Instant> due() const {
        return engine_.next_timeout();
    }
    virtual void run_due(wire::Instant now) { engine_.handle_timeout(now); }

    // Waits for packets until the deadline and gives them to the engine; how many there were.
    virtual std::expected<std::size_t, net::Error> take_some(wire::Instant deadline,
                                                             std::span<const int> also) = 0;
    // Sends the next packet of the engine, at the latest with the next flush(); whether there was
    // one. What the kernel refuses counts in unsent_: it is lost, as on a wire, and the engine
    // sends it again.
    virtual bool send_one(wire::Instant now) = 0;
    virtual void flush() = 0;

    engine::Engine engine_;
    std::uint64_t unsent_ = 0;

  private:
    static constexpr std::size_t most_received = 256; // of one step
    static constexpr std::size_t most_sent = 1024;
    bool more_ = false; // a step ended at its bound
};

} // namespace veriroce::port
