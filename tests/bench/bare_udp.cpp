#include "tests/bench/bare_udp.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::bench_test {

namespace {

constexpr int receive_bytes = 8 << 20; // as the link asks for

net::Descriptor open_socket() {
    net::Descriptor socket(needed(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    return socket;
}

class Sender {
  public:
    Sender(const Batch& batch, const sockaddr_in& to)
        : batch_(batch), socket_(open_socket()), to_(to),
          bytes_(batch.datagram_bytes * batch.datagrams * batch.messages), places_(batch.messages),
          calls_(batch.messages) {
        auto* const header = reinterpret_cast<cmsghdr*>(control_.data());
        const auto segment = static_cast<std::uint16_t>(batch.datagram_bytes);
        header->cmsg_level = IPPROTO_UDP;
        header->cmsg_type = UDP_SEGMENT;
        header->cmsg_len = CMSG_LEN(sizeof segment);
        std::memcpy(CMSG_DATA(header), &segment, sizeof segment);
        const std::size_t size = batch.datagram_bytes * batch.datagrams;
        for (std::size_t i = 0; i < batch.messages; ++i) {
            places_[i] = {&bytes_[i * size], size};
            auto& message = calls_[i].msg_hdr;
            message.msg_name = &to_;
            message.msg_namelen = sizeof to_;
            message.msg_iov = &places_[i];
            message.msg_iovlen = 1;
            if (batch.datagrams == 1) continue;
            message.msg_control = control_.data();
            message.msg_controllen = CMSG_SPACE(sizeof segment);
        }
    }

    void some(Progress& progress) {
        const int sent =
            needed(::sendmmsg(socket_.fd(), calls_.data(), static_cast<unsigned>(calls_.size()), 0),
                   "bare sendmmsg");
        progress.add(static_cast<std::size_t>(sent) * batch_.datagrams);
    }

  private:
    Batch batch_;
    net::Descriptor socket_;
    sockaddr_in to_;
    std::vector<std::byte> bytes_;
    std::vector<iovec> places_;
    std::vector<mmsghdr> calls_;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control_{};
};

class Receiver {
  public:
    explicit Receiver(const Batch& batch)
        : batch_(batch), socket_(open_socket()), places_(batch.received_messages),
          calls_(batch.received_messages), controls_(batch.received_messages) {
        const bool joined = batch.datagrams > 1;
        const int on = 1;
        if (joined) {
            needed(::setsockopt(socket_.fd(), IPPROTO_UDP, UDP_GRO, &on, sizeof on), "UDP_GRO");
        }
        const timeval patience{.tv_sec = 0, .tv_usec = 50'000};
        needed(::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience),
               "SO_RCVTIMEO");
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        auto* const address = reinterpret_cast<sockaddr*>(&address_);
        needed(::bind(socket_.fd(), address, size), "bind to 127.0.0.1");
        needed(::getsockname(socket_.fd(), address, &size), "getsockname");

        // Neighbouring buffers do not begin at the same place of a cache.
        const std::size_t room = joined ? 64U << 10U : batch.datagram_bytes;
        const std::size_t stride = room + 1088;
        bytes_ = std::vector<std::byte>(stride * batch.received_messages);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            places_[i] = {&bytes_[i * stride], room};
            calls_[i].msg_hdr.msg_iov = &places_[i];
            calls_[i].msg_hdr.msg_iovlen = 1;
            if (joined) calls_[i].msg_hdr.msg_control = controls_[i].data();
        }
    }

    [[nodiscard]] const sockaddr_in& address() const { return address_; }

    void some(Progress& progress) {
        if (batch_.datagrams > 1) {
            for (auto& call : calls_)
                call.msg_hdr.msg_controllen = sizeof controls_.front();
        }
        const int count =
            ::recvmmsg(socket_.fd(), calls_.data(), static_cast<unsigned>(calls_.size()),
                       batch_.spin ? MSG_DONTWAIT : MSG_WAITFORONE, nullptr);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        needed(count, "bare recvmmsg");
        std::size_t datagrams = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            datagrams += (calls_[i].msg_len + batch_.datagram_bytes - 1) / batch_.datagram_bytes;
        progress.add(datagrams);
    }

  private:
    Batch batch_;
    net::Descriptor socket_;
    sockaddr_in address_{};
    std::vector<std::byte> bytes_;
    std::vector<iovec> places_;
    std::vector<mmsghdr> calls_;
    std::vector<std::array<std::uint64_t, 8>> controls_;
};

} // namespace

Traffic bare_udp(const Batch& batch) {
    const auto receiver = std::make_shared<Receiver>(batch);
    const auto sender = std::make_shared<Sender>(batch, receiver->address());
    return {.send_some = [sender](Progress& progress) { sender->some(progress); },
            .receive_some = [receiver](Progress& progress) { receiver->some(progress); }};
}

} // namespace veriroce::bench_test
