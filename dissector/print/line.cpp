#include "dissector/print/line.hpp"

#include "dissector/print/append.hpp"
#include "dissector/print/info.hpp"
#include "dissector/print/named_field.hpp"
#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;

// Minimum column widths, the same as tshark's.
constexpr std::size_t kAddressWidth = 12;

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

} // namespace

Cell address_text(const Dissection& d, bool destination) {
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

void append_line(std::string& out, const Dissection& dissection, TimeColumn& time) {
    append_right(out, number_of(dissection), kNumberWidth);
    out += ' ';
    append_right(out, time.text(dissection), kTimeWidth);
    out += ' ';
    append_right(out, address_text(dissection, false), kAddressWidth);
    Cell destination = address_text(dissection, true);
    if (destination.size() < kAddressWidth) destination.spaces(kAddressWidth - destination.size());
    append<" → {} {} {} ">(out, destination.text(), decode::name_of(dissection.protocol),
                           dissection.frame_length());
    append_info(out, dissection);
    out += '\n';
}

void append_line(std::string& out, const Dissection& dissection) {
    TimeColumn time;
    append_line(out, dissection, time);
}

} // namespace veriroce::print
