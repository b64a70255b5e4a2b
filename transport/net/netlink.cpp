#include "transport/net/netlink.hpp"

#include <sys/socket.h>

namespace veriroce::net {

namespace {

constexpr std::size_t kReplyBytes = 64U << 10U;

bool send_question(const Descriptor& socket, std::uint16_t type, std::uint16_t flags,
                   std::span<const char> body) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    std::vector<char> question(header.nlmsg_len);
    std::memcpy(question.data(), &header, sizeof header);
    std::memcpy(question.data() + NLMSG_HDRLEN, body.data(), body.size());
    return ::send(socket.fd(), question.data(), question.size(), 0) ==
           static_cast<ssize_t>(question.size());
}

// Appends the answers of one datagram; returns false after the last one.
bool take_answers(std::span<const char> bytes, std::vector<std::vector<char>>& answers) {
    std::size_t at = 0;
    while (at + sizeof(nlmsghdr) <= bytes.size()) {
        nlmsghdr header{};
        std::memcpy(&header, bytes.data() + at, sizeof header);
        if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) return false;
        if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > bytes.size()) return false;
        const auto body = bytes.subspan(at + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
        answers.emplace_back(body.begin(), body.end());
        if ((header.nlmsg_flags & NLM_F_MULTI) == 0) return false;
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
    return true;
}

} // namespace

std::vector<std::vector<char>> ask_netlink(std::uint16_t type, std::uint16_t flags,
                                           std::span<const char> body) {
    std::vector<std::vector<char>> answers;
    const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket.valid() || !send_question(socket, type, flags, body)) return answers;
    std::vector<char> reply(kReplyBytes);
    for (;;) {
        const auto count = ::recv(socket.fd(), reply.data(), reply.size(), 0);
        if (count <= 0) return answers;
        if (!take_answers({reply.data(), static_cast<std::size_t>(count)}, answers)) return answers;
    }
}

} // namespace veriroce::net
