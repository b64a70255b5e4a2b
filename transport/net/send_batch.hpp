// Internal: datagrams queued for one socket, and the system call that sends them all.
//
// A message of the call is one datagram or, with segmentation offload, a run of datagrams: one
// receiver, one envelope, equal sizes except for a shorter last one. The kernel cuts a run into its
// datagrams and gives the i-th the IPv4 identification i. A single datagram has identification 0.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "transport/net/control_messages.hpp"
#include "transport/net/error.hpp"
#include "transport/net/socket_address.hpp"
#include "transport/net/udp_icrc.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::net {

class SendBatch {
  public:
    // The kernel's limits for one call and for one run (UDP_MAX_SEGMENTS in every kernel that
    // supports runs; the payload of the largest UDP datagram).
    static constexpr std::size_t kMostMessages = 64;
    static constexpr std::size_t kMostDatagrams = 256;
    static constexpr std::size_t kMostSegments = 64;
    static constexpr std::size_t kMostRunBytes = 65'507;

    explicit SendBatch(bool segmented);

    [[nodiscard]] bool segmented() const { return segmented_; }
    // Whether the next add() might not fit.
    [[nodiscard]] bool full() const {
        return datagrams_count_ == kMostDatagrams || messages_count_ == kMostMessages;
    }

    // Adds a datagram of at most kMostRunBytes with its ICRC; the batch must not be full(). Headers
    // (at most IcrcHeaders::kMostHeadBytes) are copied, and so are payloads of at most
    // kCopiedBytes, because another piece would cost the kernel more than the copy. A larger
    // payload must stay unchanged until flush(). `pad` is 0..3.
    static constexpr std::size_t kCopiedBytes = UdpLink::kCopiedBytes;
    void add(const wire::Envelope& envelope, wire::Bytes headers, wire::Bytes payload,
             std::uint8_t pad);

    // Sends everything and empties the batch. A run that the kernel refuses is sent again as single
    // datagrams. Datagrams that are refused then are dropped and counted; the first error is kept.
    struct Outcome {
        std::size_t refused = 0;
        std::optional<Error> why;

        void refuse(std::size_t bytes, const wire::IpAddress& to, int number);
    };
    Outcome flush(int fd);

  private:
    struct Datagram {
        wire::Bytes head;
        wire::Bytes payload;     // payload bytes that are not in the head
        wire::MutableBytes tail; // pad and ICRC

        [[nodiscard]] std::size_t bytes() const {
            return head.size() + payload.size() + tail.size();
        }
    };
    static constexpr std::size_t kMostTailBytes = 3 + wire::kIcrcBytes;
    static constexpr std::size_t kMostKeptBytes =
        kMostDatagrams * (IcrcHeaders::kMostHeadBytes + kCopiedBytes + kMostTailBytes);
    // One msghdr: consecutive datagrams.
    struct Message {
        wire::Envelope envelope;
        SocketAddress to;
        std::size_t first = 0;
        std::size_t count = 0;
        std::size_t segment_bytes = 0; // of every datagram but the last
        std::size_t bytes = 0;
        std::size_t first_piece = 0;
        std::size_t piece_count = 0;
    };
    static constexpr std::size_t kMostPieces = 3 * kMostDatagrams; // head, payload, tail

    Datagram keep(wire::Bytes headers, wire::Bytes payload, std::uint8_t pad);
    [[nodiscard]] bool continues_run(const wire::Envelope& envelope, std::size_t bytes) const;
    void begin_message(const wire::Envelope& envelope, std::size_t bytes);
    void append(Message& message, wire::Bytes bytes);
    void seal(const Datagram& datagram, std::uint16_t id);
    void send_prepared(int fd, std::size_t count, Outcome& outcome);
    void send_one_by_one(int fd, const Message& run, Outcome& outcome);

    bool segmented_ = false;
    IcrcHeaders icrc_;
    std::unique_ptr<std::byte[]> kept_; // heads, tails and copied payloads, in order
    std::size_t kept_bytes_ = 0;
    std::vector<Datagram> datagrams_; // allocated at full size, like the following vectors
    std::size_t datagrams_count_ = 0;
    std::vector<Message> messages_;
    std::size_t messages_count_ = 0;
    std::vector<iovec> pieces_;
    std::size_t pieces_count_ = 0;
    std::vector<mmsghdr> calls_;
    std::vector<ControlMessages> controls_;
};

} // namespace veriroce::net
