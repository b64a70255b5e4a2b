#include "transport/net/send_batch.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
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

// How long a full send buffer is waited for. A network card that sends nothing for that long has
// no carrier, and the datagram is lost as it would be on the wire.
constexpr auto kFullBufferPatience = std::chrono::milliseconds(100);

// What differs from the socket's own values, set when it was opened: that costs the kernel less.
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

iovec piece(wire::Bytes bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()}; // the kernel only reads
}

// How many of these the kernel took, at least one; or why it did not take the first.
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
    : segmented_(segmented),
      datagrams_(std::make_unique_for_overwrite<std::array<Datagram, kMostDatagrams>>()),
      messages_(std::make_unique<std::array<Message, kMostMessages>>()),
      pieces_(kMostDatagrams * kPieces), calls_(kMostMessages), controls_(kMostMessages) {}

bool SendBatch::continues_run(const wire::Envelope& envelope, std::size_t bytes) const {
    if (!segmented_ || messages_count_ == 0) return false;
    const auto& run = (*messages_)[messages_count_ - 1];
    const bool all_full = run.bytes == run.count * run.segment_bytes;
    return all_full && bytes <= run.segment_bytes && run.count < kMostSegments &&
           run.bytes + bytes <= kMostRunBytes && run.envelope == envelope;
}

void SendBatch::seal(Datagram& datagram, const wire::Envelope& envelope, std::uint16_t id) {
    icrc_.describe(envelope, datagram.bytes() - wire::kIcrcBytes);
    const auto unpadded =
        icrc_.icrc(id, wire::Bytes(datagram.head).first(datagram.head_bytes), datagram.payload);
    std::fill_n(datagram.tail.begin(), datagram.pad, std::byte{0});
    wire::store_icrc(std::span(datagram.tail).subspan(datagram.pad, wire::kIcrcBytes),
                     icrc_with_zeros(unpadded, datagram.pad));
}

void SendBatch::add(const wire::Envelope& envelope, wire::Bytes headers, wire::Bytes payload,
                    std::uint8_t pad) {
    assert(!full() && headers.size() <= IcrcHeaders::kMostHeadBytes && pad <= 3);
    auto& datagram = (*datagrams_)[datagrams_count_];
    std::copy_n(headers.data(), headers.size(), datagram.head.data());
    datagram.head_bytes = static_cast<std::uint8_t>(headers.size());
    datagram.pad = pad;
    datagram.payload = payload;

    const auto bytes = datagram.bytes();
    if (!continues_run(envelope, bytes)) {
        auto& message = (*messages_)[messages_count_++];
        message.envelope = envelope;
        message.to = SocketAddress::of(envelope.destination, envelope.destination_port);
        message.first = datagrams_count_;
        message.count = 0;
        message.segment_bytes = bytes;
        message.bytes = 0;
    }
    auto& message = (*messages_)[messages_count_ - 1];
    seal(datagram, envelope, static_cast<std::uint16_t>(message.count));
    ++message.count;
    message.bytes += bytes;
    ++datagrams_count_;
}

void SendBatch::prepare(const Message& message, msghdr& out, ControlMessages& controls) {
    auto* const first_piece = &pieces_[message.first * kPieces];
    std::size_t count = 0;
    for (std::size_t i = message.first; i < message.first + message.count; ++i) {
        const auto& datagram = (*datagrams_)[i];
        first_piece[count++] = piece(wire::Bytes(datagram.head).first(datagram.head_bytes));
        if (!datagram.payload.empty()) first_piece[count++] = piece(datagram.payload);
        first_piece[count++] =
            piece(wire::Bytes(datagram.tail).first(datagram.pad + wire::kIcrcBytes));
    }
    controls.clear();
    add_ip_fields(controls, message.envelope);
    if (message.count > 1) {
        controls.add(IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(message.segment_bytes));
    }
    out = {};
    out.msg_name = const_cast<sockaddr*>(message.to.get());
    out.msg_namelen = message.to.size;
    out.msg_iov = first_piece;
    out.msg_iovlen = count;
    controls.attach_to(out);
}

SendBatch::Outcome SendBatch::flush(int fd) {
    Outcome outcome;
    for (std::size_t i = 0; i < messages_count_; ++i)
        prepare((*messages_)[i], calls_[i].msg_hdr, controls_[i]);
    send_prepared(fd, messages_count_, outcome);
    messages_count_ = 0;
    datagrams_count_ = 0;
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
        const auto& message = (*messages_)[at++];
        if (message.count == 1) {
            outcome.refuse(message.bytes, message.envelope.destination, taken.error());
            continue;
        }
        // No checksum offload on this way: no run will ever pass.
        if (taken.error() == EIO) segmented_ = false;
        send_one_by_one(fd, message, outcome);
    }
}

// As single datagrams they have identification 0, every one.
void SendBatch::send_one_by_one(int fd, const Message& run, Outcome& outcome) {
    for (std::size_t i = run.first; i < run.first + run.count; ++i) {
        auto& datagram = (*datagrams_)[i];
        seal(datagram, run.envelope, 0);
        Message single = run;
        single.first = i;
        single.count = 1;
        mmsghdr call{};
        ControlMessages controls;
        prepare(single, call.msg_hdr, controls);
        const auto taken = hand_over(fd, {&call, 1});
        if (!taken) outcome.refuse(datagram.bytes(), run.envelope.destination, taken.error());
    }
}

void SendBatch::Outcome::refuse(std::size_t bytes, const wire::IpAddress& to, int number) {
    ++refused;
    if (why) return;
    const auto what = "a datagram of " + std::to_string(bytes) + " bytes";
    if (number == EMSGSIZE) {
        why = {ErrorKind::TooLong, what + " does not fit the MTU of the way to " + to.text() +
                                       ": raise it, or use a smaller path MTU"};
        return;
    }
    why = system_error("cannot send " + what + " to " + to.text(), number);
}

} // namespace veriroce::net
