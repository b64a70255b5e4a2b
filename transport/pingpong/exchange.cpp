#include "transport/pingpong/exchange.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "dissector/wire/safe_text.hpp"

namespace veriroce::pingpong {
namespace {

// The whole text as a hexadecimal number.
std::optional<std::uint32_t> hexadecimal(std::string_view text) {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
    if (error != std::errc{} || stop != end || text.starts_with('-')) return std::nullopt;
    return value;
}

} // namespace

Introduction::Message Introduction::encode() const {
    Message message{};
    char* out =
        fmt::format_to(message.data(), "{:04x}:{:06x}:{:06x}:", lid, qpn.value, psn.value());
    for (const std::byte byte : gid.bytes)
        out = fmt::format_to(out, "{:02x}", std::to_integer<unsigned>(byte));
    return message;
}

std::expected<Introduction, std::string> Introduction::decode(const Message& message) {
    const std::string_view text(message.data(), message.size() - 1);
    const auto refused = [&] {
        return std::unexpected(
            fmt::format("\"{}\" is no \"LID:QPN:PSN:GID\"", wire::safe_text(text)));
    };
    if (message.back() != '\0' || text[4] != ':' || text[11] != ':' || text[18] != ':') {
        return refused();
    }
    const auto lid = hexadecimal(text.substr(0, 4));
    const auto qpn = hexadecimal(text.substr(5, 6));
    const auto psn = hexadecimal(text.substr(12, 6));
    if (!lid || !qpn || !psn) return refused();
    std::array<std::byte, 16> gid{};
    for (std::size_t i = 0; i < gid.size(); ++i) {
        const auto byte = hexadecimal(text.substr(19 + 2 * i, 2));
        if (!byte) return refused();
        gid[i] = static_cast<std::byte>(*byte);
    }
    return Introduction{.lid = static_cast<std::uint16_t>(*lid),
                        .qpn = {*qpn},
                        .psn = wire::Psn(*psn),
                        .gid = wire::IpAddress::from_v6(gid)};
}

} // namespace veriroce::pingpong
