// Inside this room: datagrams on their way to one socket, and the system call that takes them all.
//
// A message of the call is one datagram, or with segmentation offload a run of them: to one
// receiver with one envelope, of one size but for a shorter last one. The kernel cuts a run into
// its datagrams and gives the i-th the IPv4 identification i; a datagram alone has 0.
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
    // What the kernel takes in one call, and in one run (UDP_MAX_SEGMENTS of every kernel that has
    // them; the payload of the largest UDP datagram, which no single one may exceed either).
    static constexpr std::size_t kMostMessages = 64;
    static constexpr std::size_t kMostDatagrams = 256;
    static constexpr std::size_t kMostSegments = 64;
    static constexpr std::size_t kMostRunBytes = 65'507;

    explicit SendBatch(bool segmented);

    [[nodiscard]] bool segmented() const { return segmented_; }
    // Whether the next add() might find no room.
    [[nodiscard]] bool full() const {
        return datagrams_count_ == kMostDatagrams || messages_count_ == kMostMessages;
    }

    // Adds a datagram of at most kMostRunBytes with its ICRC; not while full(). Headers are copied,
    // at most IcrcHeaders::kMostHeadBytes, and so are payloads of at most kCopiedBytes: a piece
    // more costs the kernel more than that. A larger one must stay as it is until flush(). `pad` is
    // 0..3.
    static constexpr std::size_t kCopiedBytes = UdpLink::kCopiedBytes;
    void add(const wire::Envelope& envelope, wire::Bytes headers, wire::Bytes payload,
             std::uint8_t pad);

    // Hands all to the socket and begins anew. A run that the kernel refuses is sent once more as
    // single datagrams; what is refused then is dropped and counted, and the first reason kept.
    struct Outcome {
        std::size_t refused = 0;
        std::optional<Error> why;

        void refuse(std::size_t bytes, const wire::IpAddress& to, int number);
    };
    Outcome flush(int fd);

  private:
    struct Datagram {
        wire::Bytes head;
        wire::Bytes payload;     // what is not in the head
        wire::MutableBytes tail; // pad and ICRC

        [[nodiscard]] std::size_t bytes() const {
            return head.size() + payload.size() + tail.size();
        }
    };
    static constexpr std::size_t kMostTailBytes = 3 + wire::kIcrcBytes;
    static constexpr std::size_t kMostKeptBytes =
        kMostDatagrams * (IcrcHeaders::kMostHeadBytes + kCopiedBytes + kMostTailBytes);
    // One msghdr: some datagrams, one after the other.
    struct Message {
        wire::Envelope envelope;
        SocketAddress to;
        std::size_t first = 0;
        std::size_t count = 0;
        std::size_t segment_bytes = 0; // of all but the last
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
    std::unique_ptr<std::byte[]> kept_; // heads, tails and copied payloads, in their order
    std::size_t kept_bytes_ = 0;
    std::vector<Datagram> datagrams_; // these and what follows are as long as they can become
    std::size_t datagrams_count_ = 0;
    std::vector<Message> messages_;
    std::size_t messages_count_ = 0;
    std::vector<iovec> pieces_;
    std::size_t pieces_count_ = 0;
    std::vector<mmsghdr> calls_;
    std::vector<ControlMessages> controls_;
};

} // namespace veriroce::net
