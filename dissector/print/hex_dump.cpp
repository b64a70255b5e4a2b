#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "dissector/print/text.hpp"

namespace veriroce::print {
namespace {

constexpr std::size_t kBytesPerLine = 16;

char printable(std::byte byte) {
    const auto c = std::to_integer<unsigned char>(byte);
    return c >= 0x20 && c < 0x7F ? static_cast<char>(c) : '.';
}

void append_row(std::string& out, std::size_t offset, wire::Bytes row) {
    fmt::format_to(std::back_inserter(out), "{:04x} ", offset);
    for (const std::byte byte : row) {
        fmt::format_to(std::back_inserter(out), " {:02x}", std::to_integer<unsigned>(byte));
    }
    out.append(3 * (kBytesPerLine - row.size()) + 3, ' ');
    for (const std::byte byte : row)
        out += printable(byte);
    out += '\n';
}

} // namespace

void append_hex_dump(std::string& out, wire::Bytes bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
        append_row(out, at, bytes.subspan(at, std::min(kBytesPerLine, bytes.size() - at)));
    }
    out += '\n';
}

} // namespace veriroce::print
