#include "dissector/print/line.hpp"

#include "dissector/print/append.hpp"
#include "dissector/print/info.hpp"
#include "dissector/print/named_field.hpp"
#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;

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
    const wire::Bytes address = destination ? d.destination_bytes() : d.source_bytes();
    if (address.size() == 4) {
        put_ipv4(cell, address);
    } else if (!address.empty()) {
        put_ipv6(cell, address);
    } else if (const auto source = number<"infiniband.lrh.slid">(d)) {
        cell.put("LID: ");
        cell.decimal(destination ? number<"infiniband.lrh.dlid">(d).value() : *source);
    } else if (const auto from = value<"eth.src">(d)) {
        put_mac(cell, destination ? value<"eth.dst">(d)->bytes : from->bytes);
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
                           dissection.frame_length());
    append_info(out, dissection);
    out += '\n';
}

} // namespace veriroce::print
