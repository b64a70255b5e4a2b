#include "dissector/print/hex_dump.hpp"

#include <algorithm>
#include <array>

#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

constexpr std::size_t kBytesPerLine = 16;
// Neighbouring headers get different colours.
constexpr std::array<std::string_view, 4> kColours{"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m"};
constexpr std::string_view kPlain = "\x1b[0m";

char printable(std::byte byte) {
    const auto c = std::to_integer<unsigned char>(byte);
    return c >= 0x20 && c < 0x7F ? static_cast<char>(c) : '.';
}

void append_row(std::string& out, std::size_t offset, wire::Bytes row, std::string_view name,
                std::string_view colour) {
    append_hex_digits(out, offset, 4);
    out += "  ";
    out += colour;
    for (const std::byte byte : row) {
        append_hex_bytes(out, {&byte, 1});
        out += ' ';
    }
    if (!colour.empty()) out += kPlain;
    out.append(3 * (kBytesPerLine - row.size()) + 2, ' ');
    for (const std::byte byte : row)
        out += printable(byte);
    if (!name.empty()) {
        out.append(kBytesPerLine - row.size() + 2, ' ');
        out += colour;
        out += name;
        if (!colour.empty()) out += kPlain;
    }
    out += '\n';
}

// Bytes from `first` to before `end`, starting on a new line.
void append_range(std::string& out, wire::Bytes frame, std::size_t first, std::size_t end,
                  std::string_view name, std::string_view colour) {
    for (std::size_t at = first; at < end; at += kBytesPerLine) {
        append_row(out, at, frame.subspan(at, std::min(kBytesPerLine, end - at)), name, colour);
    }
}

} // namespace

void append_hex_dump(std::string& out, const decode::Dissection& dissection, bool colours) {
    const wire::Bytes frame = dissection.frame.bytes;
    std::size_t at = 0;
    std::size_t shown = 0;
    for (const decode::LayerSpan& layer : dissection.layers) {
        const std::size_t first = std::max<std::size_t>(layer.offset, at);
        const std::size_t end = std::min<std::size_t>(layer.offset + layer.length, frame.size());
        if (layer.kind == decode::LayerKind::Frame || first >= end) continue;
        append_range(out, frame, at, first, {}, {});
        append_range(out, frame, first, end, decode::layer_info(layer.kind).name,
                     colours ? kColours[shown++ % kColours.size()] : std::string_view{});
        at = end;
    }
    append_range(out, frame, at, frame.size(), {}, {});
    out += '\n';
}

} // namespace veriroce::print
