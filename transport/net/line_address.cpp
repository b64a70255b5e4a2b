#include "transport/net/line_address.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>

namespace veriroce::net {

namespace {

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
    return std::unexpected(
        Error{ErrorKind::BadAddress, "\"" + std::string(text) +
                                         "\" is not a valid address: " + std::string(why) +
                                         "; write ADDRESS:PORT, [IPV6]:PORT or " + "unix:PATH"});
}

} // namespace

std::expected<LineAddress, Error> LineAddress::parse(std::string_view text) {
    constexpr std::string_view kUnixPrefix = "unix:";
    if (text.starts_with(kUnixPrefix)) {
        const auto path = text.substr(kUnixPrefix.size());
        if (path.empty()) return bad(text, "the path is missing");
        if (path.size() >= sizeof(sockaddr_un::sun_path)) return bad(text, "the path is too long");
        return LineAddress{true, std::string(path), 0};
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || text.ends_with(']')) {
        return bad(text, "the port is missing");
    }
    auto host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return bad(text, "an IPv6 address needs brackets");
    }
    if (host.empty()) return bad(text, "the address is missing");

    const auto digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        return bad(text, "the port must be a number up to 65535");
    }
    return LineAddress{false, std::string(host), port};
}

std::string LineAddress::text() const {
    if (is_unix) return "unix:" + host;
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool LineAddress::local() const {
    if (is_unix || host == "localhost") return true;
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    in6_addr v6{};
    return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

} // namespace veriroce::net
