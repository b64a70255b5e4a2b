// The device as a requester: the packets that follow from its work requests. Every PSN belongs to
// one packet of one message, whatever the tester answers; so no answer of the tester, right or
// wrong, permits other contents.
//
// UC and UD send each packet once. A request that cannot be sent (a datagram above the MTU, a piece
// outside its region) leaves open which PSNs the later ones have: of UC nothing more is held then,
// and a datagram belongs to the first request that it fits.
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
    RequesterChecks(const Setting& setting, DeviationLog& log) : setting_(setting), log_(log) {}

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
        std::optional<wire::Qkey> own_qkey; // of the QP when it was posted
        wire::Operation operation = wire::Operation::Send;
        std::uint64_t length = 0;
        std::int64_t first = 0;
        std::int64_t packets = 1;
        PostedBytes::Pieces pieces;
        bool sent = false; // a datagram
    };
    struct Queue {
        std::vector<Message> messages;
        std::int64_t next_posted = 0; // the PSN after all that was posted
        std::int64_t next_sent = 0;   // the PSN after all that was sent
        bool unsure = false; // UC, UD: a request may have been left out, and its PSNs with it
    };

    void post(const dut::SendRequest& request, const Connection& connection,
              const PostedBytes& bytes);
    [[nodiscard]] const Message* message_at(const Queue& queue, std::int64_t psn) const;
    [[nodiscard]] wire::Mtu mtu_of(const Connection& connection) const;
    void check_order(PacketLog& log, Queue& queue, const Message& message, std::int64_t psn) const;
    void check_once(PacketLog& log, const Queue& queue, std::int64_t psn) const;
    // The request that the datagram carries; null if there is none.
    static Message* request_of(Queue& queue, const wire::Packet& packet, std::int64_t psn);
    void check_datagram(PacketLog& log, const Packet& packet, Queue& queue, std::int64_t psn,
                        const Connection& connection, const PostedBytes& bytes) const;
    void check_peer(PacketLog& log, const Packet& packet, const Message& message) const;
    void check_contents(PacketLog& log, const wire::Packet& packet, const Message& message,
                        std::int64_t index, const Connection& connection,
                        const PostedBytes& bytes) const;
    void check_headers(PacketLog& log, const wire::Packet& packet, const Message& message,
                       std::int64_t index, wire::Mtu mtu) const;

    const Setting& setting_;
    DeviationLog& log_;
    std::map<const Connection*, Queue> queues_;
};

} // namespace veriroce::model
