// The kernel's connection management (rdma_ucm): one program that listens, by the commands that
// librdmacm writes to /dev/infiniband/rdma_cm. We write them ourselves because the agent needs no
// library but libibverbs, and because its QPs belong to the caller, not to a connection.
//
// Nothing blocks. Errors are errno values. Source: the kernel's rdma/rdma_user_cm.h, ABI version 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>

#include "dissector/wire/connection_event.hpp"
#include "transport/net/descriptor.hpp"

struct ib_uverbs_qp_attr;

namespace veriroce::agent {

class KernelConnections {
  public:
    // The kernel's number for a connection.
    using Id = std::uint32_t;

    // Whether this process may ask for connections here.
    static bool available();

    [[nodiscard]] bool listening() const { return device_.valid(); }
    // On every RDMA device of the host; port 0: a free one. Returns the port.
    std::expected<std::uint16_t, int> listen(std::uint16_t port);

    struct Event {
        wire::ConnectionEvent type = wire::ConnectionEvent::ConnectRequest;
        Id connection = 0;
    };
    // The next one that means something to a program; nothing if none waits.
    std::optional<Event> next_event();

    // `state` as ibv_qp_state has it. Returns an errno, as each of these.
    int qp_attributes(Id connection, std::uint32_t state, ib_uverbs_qp_attr& attributes);
    struct Acceptance {
        std::uint32_t qpn = 0;
        std::uint8_t responder_resources = 0;
        std::uint8_t initiator_depth = 0;
        bool shared_receives = false;
    };
    int accept(Id connection, const Acceptance& acceptance);
    int reject(Id connection);
    int disconnect(Id connection);
    int established(Id connection); // a packet came to its QP (COMM_EST)

    // The listener and its connections are gone.
    void close() { device_ = {}; }

  private:
    template <typename Command>
    int write(std::uint32_t number, Command command, std::size_t result_bytes = 0);

    net::Descriptor device_;
};

} // namespace veriroce::agent
