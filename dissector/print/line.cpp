#include <iterator>

#include <fmt/format.h>

#include "dissector/print/info.hpp"
#include "dissector/print/text.hpp"
#include "dissector/print/value_text.hpp"
#include "dissector/wire/ethernet.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::LayerSpan;

// Columns are at least as wide as tshark's.
constexpr std::size_t kNumberWidth = 5;
constexpr std::size_t kTimeWidth = 10;
constexpr std::size_t kAddressWidth = 12;
constexpr unsigned kTimeDecimals = 6;

// Puts spaces before what was appended since `start`, up to `width` characters in all.
void align_right(std::string& out, std::size_t start, std::size_t width) {
    const std::size_t size = out.size() - start;
    if (size < width) out.insert(start, width - size, ' ');
}

void append_number(std::string& out, const Dissection& d) {
    const std::size_t start = out.size();
    fmt::format_to(std::back_inserter(out), "{}", d.frame.number);
    align_right(out, start, kNumberWidth);
}

void append_time(std::string& out, const Dissection& d) {
    const std::size_t start = out.size();
    if (d.frame.time_ns) {
        const std::int64_t first = d.frame.first_time_ns.value_or(*d.frame.time_ns);
        const auto since =
            static_cast<std::uint64_t>(*d.frame.time_ns) - static_cast<std::uint64_t>(first);
        append_seconds(out, static_cast<std::int64_t>(since), kTimeDecimals);
    }
    align_right(out, start, kTimeWidth);
}

// The innermost address: of the IP packet or GRH, else of the Ethernet frame or LRH, else nothing.
void append_address(std::string& out, const Dissection& d, bool destination) {
    const LayerSpan* best = nullptr;
    for (const LayerSpan& layer : d.layers) {
        const bool whole = (layer.kind == LayerKind::Ipv4 && layer.length >= 20) ||
                           (layer.kind == LayerKind::Ipv6 && layer.length >= 40) ||
                           (layer.kind == LayerKind::Grh && layer.length >= 40) ||
                           (layer.kind == LayerKind::Lrh && layer.length >= 8) ||
                           (layer.kind == LayerKind::Ethernet && layer.length >= 12);
        if (whole) best = &layer;
    }
    if (best == nullptr) return;
    const wire::Bytes bytes = d.bytes_of(*best);
    if (best->kind == LayerKind::Ipv4) {
        append_ipv4(out, bytes.subspan(destination ? 16 : 12, 4));
    } else if (best->kind == LayerKind::Lrh) {
        fmt::format_to(std::back_inserter(out), "LID: {}",
                       wire::load_u16(bytes, destination ? 2 : 6));
    } else if (best->kind != LayerKind::Ethernet) {
        append_ipv6(out, bytes.subspan(destination ? 24 : 8, 16));
    } else {
        append_mac(out, bytes.subspan(destination ? 0 : 6, 6));
    }
}

} // namespace

void append_line(std::string& out, const Dissection& dissection) {
    append_number(out, dissection);
    out += ' ';
    append_time(out, dissection);
    out += ' ';
    std::size_t start = out.size();
    append_address(out, dissection, false);
    align_right(out, start, kAddressWidth);
    out += " → ";
    start = out.size();
    append_address(out, dissection, true);
    const std::size_t size = out.size() - start;
    if (size < kAddressWidth) out.append(kAddressWidth - size, ' ');
    fmt::format_to(std::back_inserter(out), " {} {} ", decode::name_of(dissection.protocol),
                   dissection.frame.original_length);
    append_info(out, dissection);
    out += '\n';
}

} // namespace veriroce::print
