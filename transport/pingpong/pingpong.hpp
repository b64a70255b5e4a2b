// One side of ibv_rc_pingpong: two QPs send one message to and fro, from and into one buffer. The
// server sends back what it received; so a client that sends something else each time and compares
// knows that every byte made both ways.
//
//   Pingpong side(port.engine(), options);              its QP waits in INIT
//   side.local()                                        goes to the peer
//   side.connect(remote, now); if (client) side.start(now);
//   while (!side.finished()) { port.run(...); side.progress(now); }
//
// Sans-IO as the engine: no clock, socket or randomness. Units: bytes, round trips.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/engine/engine.hpp"
#include "transport/pingpong/exchange.hpp"

namespace veriroce::pingpong {

struct PingpongOptions {
    std::uint32_t size = 4096; // of a message
    std::uint64_t rounds = 1000;
    std::uint32_t receives = 500; // kept posted
    wire::Mtu mtu = wire::Mtu::B1024;
    wire::Psn psn;
    wire::IpAddress address; // ours
};

class Pingpong {
  public:
    static std::expected<std::unique_ptr<Pingpong>, std::string>
    open(engine::Engine& engine, const PingpongOptions& options);
    ~Pingpong();
    Pingpong(const Pingpong&) = delete;
    Pingpong& operator=(const Pingpong&) = delete;

    [[nodiscard]] Introduction local() const;
    [[nodiscard]] std::expected<void, std::string> connect(const Introduction& remote,
                                                           wire::Instant now);
    // The first message of the side that begins.
    void start(wire::Instant now);
    // Takes completions, and sends what is due for them.
    void progress(wire::Instant now);

    // The side that begins is done with the last answer, which proves that its last message came
    // through; the other side when that answer is acknowledged.
    [[nodiscard]] bool finished() const {
        return failed_.has_value() ||
               (received_ >= options_.rounds && (begins_ || sent_ >= options_.rounds));
    }
    // Why it ended early; nothing if it did not.
    [[nodiscard]] const std::optional<std::string>& failed() const { return failed_; }
    // The last answer was sent until the retries were used up: the peer had gone, with it or
    // without it. Its own exit tells which.
    [[nodiscard]] bool parted() const { return parted_; }
    // Of messages: completed sends, and receives.
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t received() const { return received_; }

  private:
    Pingpong(engine::Engine& engine, const PingpongOptions& options)
        : engine_(engine), options_(options), buffer_(options.size) {}

    std::expected<void, std::string> prepare();
    bool post_receives();
    void send(wire::Instant now);
    void fill();
    void take(const engine::Completion& completion);
    [[nodiscard]] std::byte pattern(std::size_t at) const;

    engine::Engine& engine_;
    PingpongOptions options_;
    std::vector<std::byte> buffer_;
    engine::PdId pd_;
    engine::CqId cq_;
    engine::MrId mr_;
    engine::QpId qp_;
    engine::Sge sge_;
    wire::Qpn qpn_;
    bool begins_ = false; // and fills and compares the buffer
    bool sending_ = false;
    bool parted_ = false;
    bool answered_ = true; // what we sent last came back
    std::uint32_t posted_ = 0;
    std::uint64_t begun_ = 0; // sends
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::optional<std::string> failed_;
};

} // namespace veriroce::pingpong
