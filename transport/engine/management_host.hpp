// What a host does at QP 1 when none of its programs listens for connections: it refuses each
// request for one, says that it knows no such service, and confirms the end of connections that it
// does not know. A user of an engine, through its verbs: it owns QP 1, and its buffers.
//
//   ManagementHost host(engine, now);       before the first datagram to QP 1
//   engine.handle(datagram, now); host.serve(now); engine.poll_transmit(now) ...
//
// A message that is malformed, of another class or unknown gets no answer, and each other one gets
// at most one. Source: rules N-30, N-31, CM-06, CM-09, CM-11; InfiniBand volume 1 chapters 12, 13.
#pragma once

#include <array>
#include <vector>

#include "transport/engine/engine.hpp"

#include "dissector/wire/management.hpp"

namespace veriroce::engine {

using ManagementDatagram = std::array<std::byte, wire::kMadBytes>;

// The answer to a management datagram, without the GRH; nothing for one that gets none.
std::optional<ManagementDatagram> answer_to(wire::Bytes datagram);

class ManagementHost {
  public:
    // The engine must outlive the host, have room for one more QP and have no QP 1.
    ManagementHost(Engine& engine, wire::Instant now);
    ManagementHost(const ManagementHost&) = delete;
    ManagementHost& operator=(const ManagementHost&) = delete;

    // Answers what has come. Whether an answer waits in the engine to be sent.
    bool serve(wire::Instant now);

  private:
    static constexpr std::uint32_t kBuffers = 16; // datagrams that wait; more are dropped

    void receive_into(std::uint64_t buffer);
    bool answer(const Completion& received, wire::Instant now);

    Engine& engine_;
    CqId cq_;
    QpId qp_;
    wire::Lkey lkey_;
    std::vector<std::byte> memory_; // for each buffer a received datagram, then its answer
};

} // namespace veriroce::engine
