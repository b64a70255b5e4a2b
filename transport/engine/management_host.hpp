// What a host does at QP 1: its connection management, as a user of an engine through its verbs. It
// owns QP 1 and its buffers.
//
//   ManagementHost host(engine, now);       before the first datagram to QP 1
//   engine.handle(datagram, now); host.serve(now); engine.poll_transmit(now) ...
//
// Source: rules N-30, N-31; connections.hpp.
#pragma once

#include <vector>

#include "transport/engine/connections.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::engine {

class ManagementHost {
  public:
    // The engine must outlive the host, have room for one more QP and have no QP 1.
    ManagementHost(Engine& engine, wire::Instant now);
    ManagementHost(const ManagementHost&) = delete;
    ManagementHost& operator=(const ManagementHost&) = delete;

    // What its programs ask for; call serve() afterwards.
    [[nodiscard]] Connections& connections() { return connections_; }

    // Takes what has come, and posts what is to be sent. Whether the engine has more to send.
    bool serve(wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const {
        return connections_.next_deadline();
    }

  private:
    static constexpr std::uint32_t kBuffers = 16; // datagrams that wait; more are dropped

    void receive_into(std::uint64_t buffer);
    void take(const Completion& received, wire::Instant now);
    // While there are buffers; whether it posted any.
    bool send(wire::Instant now);

    Engine& engine_;
    Connections connections_;
    CqId send_cq_;
    CqId receive_cq_;
    QpId qp_;
    wire::Lkey lkey_;
    std::vector<std::byte> memory_;   // the buffers of received datagrams, then those to be sent
    std::vector<std::uint64_t> free_; // of the latter
};

} // namespace veriroce::engine
