#include "transport/net/send_batch.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <expected>
#include <span>

#include "dissector/wire/icrc.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"

namespace veriroce::net {

namespace {

// How long to wait while the send buffer is full. A network card that sends nothing for this long
// has no carrier, and the datagram is dropped as it would be on the wire.
constexpr auto kFullBufferPatience = std::chrono::milliseconds(100);

// Only values that differ from the socket's own, which costs the kernel less.
void add_ip_fields(ControlMessages& controls, const wire::Envelope& envelope) {
    const bool v4 = envelope.destination.v4();
    const int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
    const int traffic_class = envelope.dscp << 2 | envelope.ecn;
    const int hop_limit = envelope.hop_limit;
    if (traffic_class != 0) controls.add(level, v4 ? IP_TOS : IPV6_TCLASS, traffic_class);
    if (hop_limit != wire::Envelope{}.hop_limit) {
        controls.add(level, v4 ? IP_TTL : IPV6_HOPLIMIT, hop_limit);
    }
}

// Everything except the pieces. The kernel only reads the data.
void address(msghdr& out, const SocketAddress& to, ControlMessages& controls) {
    out = {};
    out.msg_name = const_cast<sockaddr*>(to.get());
    out.msg_namelen = to.size;
    controls.attach_to(out);
}

iovec piece(wire::Bytes bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// How many of these the kernel accepted, at least one; otherwise the error of the first.
std::expected<std::size_t, int> hand_over(int fd, std::span<mmsghdr> calls) {
    for (;;) {
        const int sent = ::sendmmsg(fd, calls.data(), static_cast<unsigned>(calls.size()), 0);
        if (sent > 0) return static_cast<std::size_t>(sent);
        const int number = errno;
        if (number == EINTR) continue;
        if (number != EAGAIN) return std::unexpected(number);
        const auto until = monotonic_now() + kFullBufferPatience;
        if (wait_for(fd, POLLOUT, until) != Waited::Ready) return std::unexpected(number);
    }
}

} // namespace

SendBatch::SendBatch(bool segmented)
    : segmented_(segmented), kept_(std::make_unique_for_overwrite<std::byte[]>(kMostKeptBytes)),
      datagrams_(kMostDatagrams), messages_(kMostMessages), pieces_(kMostPieces),
      calls_(kMostMessages), controls_(kMostMessages) {}

// Copied in wire order, so that a run is contiguous if no payload is borrowed.
SendBatch::Datagram SendBatch::keep(wire::Bytes headers, wire::Bytes payload, std::uint8_t pad) {
    const auto copy = [this](wire::Bytes bytes) {
        auto* const at = &kept_[kept_bytes_];
        std::copy_n(bytes.data(), bytes.size(), at);
        kept_bytes_ += bytes.size();
        return wire::Bytes(at, bytes.size());
    };
    Datagram datagram;
    datagram.head = copy(headers);
    datagram.payload = payload.size() <= kCopiedBytes ? copy(payload) : payload;
    datagram.tail = wire::MutableBytes(&kept_[kept_bytes_], pad + wire::kIcrcBytes);
    std::fill_n(datagram.tail.begin(), pad, std::byte{0});
    kept_bytes_ += datagram.tail.size();
    return datagram;
}

bool SendBatch::continues_run(const wire::Envelope& envelope, std::size_t bytes) const {
    if (!segmented_ || messages_count_ == 0) return false;
    const auto& run = messages_[messages_count_ - 1];
    const bool all_full = run.bytes == run.count * run.segment_bytes;
    return all_full && bytes <= run.segment_bytes && run.count < kMostSegments &&
           run.bytes + bytes <= kMostRunBytes && run.envelope == envelope;
}

void SendBatch::seal(const Datagram& datagram, std::uint16_t id) {
    const auto pad = datagram.tail.size() - wire::kIcrcBytes;
    const auto unpadded = icrc_.icrc(id, datagram.head, datagram.payload);
    wire::store_icrc(datagram.tail.subspan(pad), icrc_with_zeros(unpadded, pad));
}

void SendBatch::begin_message(const wire::Envelope& envelope, std::size_t bytes) {
    auto& message = messages_[messages_count_++];
    message.envelope = envelope;
    message.to = SocketAddress::of(envelope.destination, envelope.destination_port);
    message.first = datagrams_count_;
    message.count = 0;
    message.segment_bytes = bytes;
    message.bytes = 0;
    message.first_piece = pieces_count_;
    message.piece_count = 0;
}

void SendBatch::append(Message& message, wire::Bytes bytes) {
    if (bytes.empty()) return;
    if (message.piece_count != 0) {
        auto& last = pieces_[pieces_count_ - 1];
        if (static_cast<std::byte*>(last.iov_base) + last.iov_len == bytes.data()) {
            last.iov_len += bytes.size();
            return;
        }
    }
    pieces_[pieces_count_++] = piece(bytes);
    ++message.piece_count;
}

void SendBatch::add(const wire::Envelope& envelope, wire::Bytes headers, wire::Bytes payload,
                    std::uint8_t pad) {
    assert(!full() && headers.size() <= IcrcHeaders::kMostHeadBytes && pad <= 3);
    const auto& datagram = datagrams_[datagrams_count_] = keep(headers, payload, pad);
    const auto bytes = datagram.bytes();
    const bool begins = !continues_run(envelope, bytes);
    if (begins) begin_message(envelope, bytes);
    auto& message = messages_[messages_count_ - 1];
    if (begins || bytes != message.segment_bytes) {
        icrc_.describe(envelope, bytes - wire::kIcrcBytes);
    }
    seal(datagram, static_cast<std::uint16_t>(message.count));
    append(message, datagram.head);
    append(message, datagram.payload);
    append(message, datagram.tail);
    ++message.count;
    message.bytes += bytes;
    ++datagrams_count_;
}

SendBatch::Outcome SendBatch::flush(int fd) {
    for (std::size_t i = 0; i < messages_count_; ++i) {
        const auto& message = messages_[i];
        auto& controls = controls_[i];
        controls.clear();
        add_ip_fields(controls, message.envelope);
        if (message.count > 1) {
            controls.add(IPPROTO_UDP, UDP_SEGMENT,
                         static_cast<std::uint16_t>(message.segment_bytes));
        }
        auto& out = calls_[i].msg_hdr;
        address(out, message.to, controls);
        out.msg_iov = &pieces_[message.first_piece];
        out.msg_iovlen = message.piece_count;
    }
    Outcome outcome;
    send_prepared(fd, messages_count_, outcome);
    messages_count_ = 0;
    datagrams_count_ = 0;
    pieces_count_ = 0;
    kept_bytes_ = 0;
    return outcome;
}

void SendBatch::send_prepared(int fd, std::size_t count, Outcome& outcome) {
    std::size_t at = 0;
    while (at < count) {
        const auto taken = hand_over(fd, std::span(calls_).subspan(at, count - at));
        if (taken) {
            at += *taken;
            continue;
        }
        const auto& message = messages_[at++];
        if (message.count == 1) {
            outcome.refuse(message.bytes, message.envelope.destination, taken.error());
            continue;
        }
        // This route has no checksum offload, so no run will ever be accepted.
        if (taken.error() == EIO) segmented_ = false;
        send_one_by_one(fd, message, outcome);
    }
}

// As single datagrams, all have identification 0.
void SendBatch::send_one_by_one(int fd, const Message& run, Outcome& outcome) {
    ControlMessages controls;
    add_ip_fields(controls, run.envelope);
    for (std::size_t i = run.first; i < run.first + run.count; ++i) {
        const auto& datagram = datagrams_[i];
        icrc_.describe(run.envelope, datagram.bytes() - wire::kIcrcBytes);
        seal(datagram, 0);
        std::array pieces{piece(datagram.head), piece(datagram.payload), piece(datagram.tail)};
        mmsghdr call{};
        address(call.msg_hdr, run.to, controls);
        call.msg_hdr.msg_iov = pieces.data();
        call.msg_hdr.msg_iovlen = pieces.size();
        const auto taken = hand_over(fd, {&call, 1});
        if (!taken) outcome.refuse(datagram.bytes(), run.envelope.destination, taken.error());
    }
}

void SendBatch::Outcome::refuse(std::size_t bytes, const wire::IpAddress& to, int number) {
    ++refused;
    if (why) return;
    const auto what = "a datagram of " + std::to_string(bytes) + " bytes";
    if (number == EMSGSIZE) {
        why = {ErrorKind::TooLong, what + " does not fit the MTU of the path to " + to.text() +
                                       ": raise it, or use a smaller path MTU"};
        return;
    }
    why = system_error("cannot send " + what + " to " + to.text(), number);
}

} // namespace veriroce::net
