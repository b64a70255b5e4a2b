#include "dissector/print/line.hpp"

#include "dissector/print/append.hpp"
#include "dissector/print/info.hpp"
#include "dissector/print/value_text.hpp"
#include "dissector/wire/ethernet.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;
using decode::LayerSpan;

// Minimum column widths, the same as tshark's.
constexpr std::size_t kNumberWidth = 5;
constexpr std::size_t kTimeWidth = 10;
constexpr std::size_t kAddressWidth = 12;
constexpr unsigned kTimeDecimals = 6;

using Cell = Scratch<64>; // larger than any number, time or address

// Right-aligned within the column; wider text overflows it.
void append_right(std::string& out, const Cell& cell, std::size_t width) {
    if (cell.size() < width) out.append(width - cell.size(), ' ');
    out += cell.text();
}

Cell number_of(const Dissection& d) {
    Cell cell;
    cell.decimal(d.frame.number);
    return cell;
}

Cell time_of(const Dissection& d) {
    Cell cell;
    if (!d.frame.time_ns) return cell;
    const std::int64_t first = d.frame.first_time_ns.value_or(*d.frame.time_ns);
    const auto since =
        static_cast<std::uint64_t>(*d.frame.time_ns) - static_cast<std::uint64_t>(first);
    put_seconds(cell, static_cast<std::int64_t>(since), kTimeDecimals);
    return cell;
}

// The innermost address: from the IP packet or GRH, otherwise from the LRH or Ethernet header,
// otherwise empty.
Cell address_of(const Dissection& d, bool destination) {
    Cell cell;
    if (const LayerSpan& network = d.network; network.length > 0) {
        const wire::Bytes bytes = d.bytes_of(network);
        if (network.kind == LayerKind::Ipv4) {
            put_ipv4(cell, bytes.subspan(destination ? 16 : 12, 4));
        } else {
            put_ipv6(cell, bytes.subspan(destination ? 24 : 8, 16));
        }
    } else if (const auto* lrh = d.layers.find(LayerKind::Lrh);
               lrh != nullptr && lrh->length >= 8) {
        cell.put("LID: ");
        cell.decimal(wire::load_u16(d.bytes_of(*lrh), destination ? 2 : 6));
    } else if (const auto* link = d.layers.find(LayerKind::Ethernet);
               link != nullptr && link->length >= 12) {
        put_mac(cell, d.bytes_of(*link).subspan(destination ? 0 : 6, 6));
    }
    return cell;
}

} // namespace

void append_line(std::string& out, const Dissection& dissection) {
    append_right(out, number_of(dissection), kNumberWidth);
    out += ' ';
    append_right(out, time_of(dissection), kTimeWidth);
    out += ' ';
    append_right(out, address_of(dissection, false), kAddressWidth);
    Cell destination = address_of(dissection, true);
    if (destination.size() < kAddressWidth) destination.spaces(kAddressWidth - destination.size());
    append<" → {} {} {} ">(out, destination.text(), decode::name_of(dissection.protocol),
                           dissection.frame.original_length);
    append_info(out, dissection);
    out += '\n';
}

} // namespace veriroce::print
