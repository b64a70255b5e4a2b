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

// The innermost address: of the IP packet or GRH, else of the LRH or Ethernet frame, else nothing.
void append_address(std::string& out, const Dissection& d, bool destination) {
    if (const LayerSpan& network = d.network; network.length > 0) {
        const wire::Bytes bytes = d.bytes_of(network);
        if (network.kind == LayerKind::Ipv4) {
            append_ipv4(out, bytes.subspan(destination ? 16 : 12, 4));
        } else {
            append_ipv6(out, bytes.subspan(destination ? 24 : 8, 16));
        }
    } else if (const auto* lrh = d.layers.find(LayerKind::Lrh);
               lrh != nullptr && lrh->length >= 8) {
        fmt::format_to(std::back_inserter(out), "LID: {}",
                       wire::load_u16(d.bytes_of(*lrh), destination ? 2 : 6));
    } else if (const auto* link = d.layers.find(LayerKind::Ethernet);
               link != nullptr && link->length >= 12) {
        append_mac(out, d.bytes_of(*link).subspan(destination ? 0 : 6, 6));
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
