#include "transport/net/socket_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/un.h>

#include <cstring>

namespace veriroce::net {

namespace {

template <typename T>
T read_as(const sockaddr_storage& storage) {
    T value{};
    std::memcpy(&value, &storage, sizeof value);
    return value;
}

template <typename T>
SocketAddress store(const T& value) {
    SocketAddress address;
    std::memcpy(&address.storage, &value, sizeof value);
    address.size = sizeof value;
    return address;
}

} // namespace

SocketAddress SocketAddress::of(const wire::IpAddress& address, std::uint16_t port, int scope) {
    if (address.v4()) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        v4.sin_addr.s_addr = htonl(address.low32());
        return store(v4);
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes.data(), address.bytes.size());
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) v6.sin6_scope_id = static_cast<std::uint32_t>(scope);
    return store(v6);
}

wire::IpAddress SocketAddress::ip() const {
    if (family() == AF_INET) {
        return wire::IpAddress::from_v4(ntohl(read_as<sockaddr_in>(storage).sin_addr.s_addr));
    }
    const auto v6 = read_as<sockaddr_in6>(storage);
    return wire::IpAddress::from_v6(std::as_bytes(std::span(v6.sin6_addr.s6_addr)));
}

std::uint16_t SocketAddress::port() const {
    if (family() == AF_INET) return ntohs(read_as<sockaddr_in>(storage).sin_port);
    return ntohs(read_as<sockaddr_in6>(storage).sin6_port);
}

std::string SocketAddress::text() const {
    if (family() != AF_INET && family() != AF_INET6) return "a Unix socket";
    return LineAddress{false, ip().text(), port()}.text();
}

std::expected<std::vector<SocketAddress>, Error> socket_addresses(const LineAddress& address) {
    if (address.is_unix) {
        sockaddr_un path{};
        path.sun_family = AF_UNIX;
        std::strncpy(path.sun_path, address.host.c_str(), sizeof path.sun_path - 1);
        return std::vector{store(path)};
    }
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const auto port = std::to_string(address.port);
    if (const int refused = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
        refused != 0) {
        return std::unexpected(
            Error{ErrorKind::BadAddress, "cannot find the address of host \"" + address.host +
                                             "\" (" + ::gai_strerror(refused) +
                                             "): check the name, or write the address itself"});
    }
    std::vector<SocketAddress> addresses;
    for (const auto* entry = found; entry != nullptr; entry = entry->ai_next) {
        SocketAddress one;
        std::memcpy(&one.storage, entry->ai_addr, entry->ai_addrlen);
        one.size = entry->ai_addrlen;
        addresses.push_back(one);
    }
    ::freeaddrinfo(found);
    return addresses;
}

} // namespace veriroce::net
