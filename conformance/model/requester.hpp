// The device as a requester: the packets that follow from its work requests. Every PSN belongs to
// one packet of one message, whatever the tester answers; so no answer of the tester, right or
// wrong, permits other contents.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "conformance/model/connection.hpp"
#include "conformance/model/deviation_log.hpp"
#include "conformance/model/posted_bytes.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class RequesterChecks {
  public:
    explicit RequesterChecks(DeviationLog& log) : log_(log) {}

    // A call that the device carries out from now on, after `bytes` has taken it.
    void take(const Call& call, Connections& connections, const PostedBytes& bytes);
    // A sound packet of the device with a request.
    void check(const Packet& packet, const Connection& connection, const PostedBytes& bytes);
    // Whether a posted request has this PSN.
    [[nodiscard]] bool knows(const Connection& connection, wire::Psn psn) const;

  private:
    // A posted request, and the PSNs that it takes, counted from the QP's first one.
    struct Message {
        dut::SendRequest request;
        wire::Operation operation = wire::Operation::Send;
        std::uint64_t length = 0;
        std::int64_t first = 0;
        std::int64_t packets = 1;
        PostedBytes::Pieces pieces;
    };
    struct Queue {
        std::vector<Message> messages;
        std::int64_t next_posted = 0; // the PSN after all that was posted
        std::int64_t next_sent = 0;   // the PSN after all that was sent
    };

    void post(const dut::SendRequest& request, const Connection& connection,
              const PostedBytes& bytes);
    [[nodiscard]] const Message* message_at(const Queue& queue, std::int64_t psn) const;
    void check_order(PacketLog& log, Queue& queue, const Message& message, std::int64_t psn) const;
    void check_contents(PacketLog& log, const wire::Packet& packet, const Message& message,
                        std::int64_t index, const Connection& connection,
                        const PostedBytes& bytes) const;
    void check_headers(PacketLog& log, const wire::Packet& packet, const Message& message,
                       std::int64_t index, wire::Mtu mtu) const;

    DeviationLog& log_;
    std::map<const Connection*, Queue> queues_;
};

} // namespace veriroce::model
