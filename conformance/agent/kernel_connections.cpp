#ifdef VERIROCE_HAVE_VERBS

#include "conformance/agent/kernel_connections.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace veriroce::agent {
namespace {

constexpr const char* kDevice = "/dev/infiniband/rdma_cm";
constexpr std::uint16_t kTcpPortSpace = 0x0106;
constexpr std::uint8_t kConnectedQp = 2; // IB_QPT_RC
constexpr std::uint32_t kBacklog = 128;
constexpr std::uint8_t kRejectedByConsumer = 28;
constexpr std::uint32_t kCommEst = 4; // of the kernel's asynchronous events
constexpr std::uint8_t kMost = 7;     // of a retry count

// The kernel writes the result there.
std::uint64_t address_of(void* result) {
    return reinterpret_cast<std::uintptr_t>(result);
}

std::optional<wire::ConnectionEvent> event_of(std::uint32_t number) {
    switch (number) { // of librdmacm's rdma_cm_event_type
    case 4: return wire::ConnectionEvent::ConnectRequest;
    case 7: return wire::ConnectionEvent::Unreachable;
    case 8: return wire::ConnectionEvent::Rejected;
    case 9: return wire::ConnectionEvent::Established;
    case 10: return wire::ConnectionEvent::Disconnected;
    default: return std::nullopt; // of addresses and routes, or the end of TIMEWAIT
    }
}

} // namespace

bool KernelConnections::available() {
    return access(kDevice, R_OK | W_OK) == 0;
}

template <typename Command>
int KernelConnections::write(std::uint32_t number, Command command, std::size_t result_bytes) {
    struct {
        rdma_ucm_cmd_hdr header;
        Command command;
    } message{};
    message.header = {
        .cmd = number, .in = sizeof(Command), .out = static_cast<std::uint16_t>(result_bytes)};
    message.command = command;
    const ssize_t written = ::write(device_.fd(), &message, sizeof message);
    if (written < 0) return errno;
    return written == sizeof message ? 0 : EIO;
}

std::expected<std::uint16_t, int> KernelConnections::listen(std::uint16_t port) {
    device_ = net::Descriptor(open(kDevice, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!device_.valid()) return std::unexpected(errno);
    const auto failed = [this](int error) {
        device_ = {};
        return std::unexpected(error);
    };
    rdma_ucm_create_id_resp created{};
    int error = write(RDMA_USER_CM_CMD_CREATE_ID,
                      rdma_ucm_create_id{.uid = 0,
                                         .response = address_of(&created),
                                         .ps = kTcpPortSpace,
                                         .qp_type = kConnectedQp,
                                         .reserved = {}},
                      sizeof created);
    if (error != 0) return failed(error);
    const Id listener = created.id;

    // Of IPv6 and IPv4, like a socket that listens there.
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    rdma_ucm_bind bind{};
    bind.id = listener;
    bind.addr_size = sizeof any;
    std::memcpy(&bind.addr, &any, sizeof any);
    error = write(RDMA_USER_CM_CMD_BIND, bind);
    if (error != 0) return failed(error);

    rdma_ucm_query_addr_resp bound{};
    error = write(RDMA_USER_CM_CMD_QUERY,
                  rdma_ucm_query{.response = address_of(&bound),
                                 .id = listener,
                                 .option = RDMA_USER_CM_QUERY_ADDR},
                  sizeof bound);
    if (error != 0) return failed(error);
    std::memcpy(&any, &bound.src_addr, sizeof any);

    error = write(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = listener, .backlog = kBacklog});
    if (error != 0) return failed(error);
    return ntohs(any.sin6_port);
}

std::optional<KernelConnections::Event> KernelConnections::next_event() {
    for (;;) {
        rdma_ucm_event_resp seen{};
        const int error = write(RDMA_USER_CM_CMD_GET_EVENT,
                                rdma_ucm_get_event{.response = address_of(&seen)}, sizeof seen);
        if (error != 0) return std::nullopt;
        if (const auto type = event_of(seen.event))
            return Event{.type = *type, .connection = seen.id};
    }
}

int KernelConnections::qp_attributes(Id connection, std::uint32_t state,
                                     ib_uverbs_qp_attr& attributes) {
    return write(RDMA_USER_CM_CMD_INIT_QP_ATTR,
                 rdma_ucm_init_qp_attr{
                     .response = address_of(&attributes), .id = connection, .qp_state = state},
                 sizeof attributes);
}

int KernelConnections::accept(Id connection, const Acceptance& acceptance) {
    rdma_ucm_accept accept{};
    accept.id = connection;
    accept.uid = connection + 1; // of a connection without one the kernel tells nothing
    accept.conn_param.qp_num = acceptance.qpn;
    accept.conn_param.srq = acceptance.shared_receives ? 1 : 0;
    accept.conn_param.responder_resources = acceptance.responder_resources;
    accept.conn_param.initiator_depth = acceptance.initiator_depth;
    accept.conn_param.retry_count = kMost;
    accept.conn_param.rnr_retry_count = kMost;
    accept.conn_param.valid = 1;
    return write(RDMA_USER_CM_CMD_ACCEPT, accept);
}

int KernelConnections::reject(Id connection) {
    rdma_ucm_reject reject{};
    reject.id = connection;
    reject.reason = kRejectedByConsumer;
    return write(RDMA_USER_CM_CMD_REJECT, reject);
}

int KernelConnections::disconnect(Id connection) {
    return write(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = connection});
}

int KernelConnections::established(Id connection) {
    return write(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{.id = connection, .event = kCommEst});
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
