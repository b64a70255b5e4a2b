// Rows of the field table: the bytes after the packet, which Wireshark divides into padding,
// trailer and frame check sequence.
//
// Source: IEEE 802.3 clause 4 for the least length of a frame.
#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

constexpr std::size_t kLeastFrame = 60; // without its frame check sequence
constexpr std::size_t kFcsBytes = 4;

// The Ethernet frame that a trailer ends.
struct Trailed {
    const LayerSpan* ethernet = nullptr;
    bool outermost = true;
    bool tagged = false;
};

// Where the outermost IP packet ends by its own length; 0 if there is none.
std::uint32_t outer_end(const Dissection& d) {
    for (const LayerSpan& layer : d.layers) {
        const wire::Bytes bytes = d.bytes_of(layer);
        const auto end = [&](std::uint64_t length) {
            return layer.offset + static_cast<std::uint32_t>(length);
        };
        if (layer.kind == Ipv4 && bytes.size() >= 4) {
            return end(wire::load<wire::where("ip.len")>(bytes));
        }
        if (layer.kind == Ipv6 && bytes.size() >= 6) {
            return end(wire::load<wire::where("ipv6.plen")>(bytes) + wire::Ipv6::kSize);
        }
    }
    return 0;
}

// Behind the outermost packet ends the first frame, in front of its end the innermost.
Trailed trailed(const Dissection& d, const LayerSpan& trailer) {
    Trailed found;
    const bool outermost = trailer.offset >= outer_end(d);
    for (const LayerSpan& layer : d.layers) {
        if (layer.kind != Ethernet) continue;
        if (found.ethernet != nullptr && outermost) break;
        found.outermost = found.ethernet == nullptr;
        found.ethernet = &layer;
    }
    if (found.ethernet == nullptr) return found;
    const LayerSpan* next = found.ethernet + 1;
    found.tagged = next != d.layers.end() && (next->kind == Vlan || next->kind == ServiceTag);
    return found;
}

// Where the frame ends on the wire: a record says so by itself.
std::uint32_t frame_end(const Dissection& d) {
    const LayerSpan* record = d.layers.find(Erf);
    if (record == nullptr || record->length < 16) return d.frame.original_length;
    return record->offset + record->length + wire::load_u16(d.bytes_of(*record), 14);
}

struct Behind {
    wire::Bytes padding; // zeros up to the least length of a frame
    wire::Bytes trailer; // what else
    wire::Bytes fcs;     // nothing says that it is one: it is at the place of one
};

// Padding is zeros that bring the frame to 60 bytes; four bytes after it are a frame check
// sequence if the frame has 64. A frame in a tunnel has none.
Behind behind(const Dissection& d, const LayerSpan& layer, const LayerSpan& ethernet) {
    Behind result{.padding = {}, .trailer = d.bytes_of(layer), .fcs = {}};
    const std::size_t length = frame_end(d) - ethernet.offset;
    const std::size_t packet = layer.offset - ethernet.offset;
    if (length >= kLeastFrame && packet < kLeastFrame) {
        const std::size_t missing = std::min(kLeastFrame - packet, result.trailer.size());
        const wire::Bytes padding = result.trailer.first(missing);
        if (std::ranges::all_of(padding, [](std::byte b) { return b == std::byte{0}; })) {
            result.padding = padding;
            result.trailer = result.trailer.subspan(missing);
        }
    }
    const std::size_t on_the_wire = length - packet - result.padding.size();
    if (length < kLeastFrame + kFcsBytes || on_the_wire < kFcsBytes) return result;
    const std::size_t before = on_the_wire - kFcsBytes;
    if (result.trailer.size() == on_the_wire) result.fcs = result.trailer.subspan(before);
    result.trailer = result.trailer.first(std::min(before, result.trailer.size()));
    return result;
}

// Who has a name for such bytes.
enum class Owner : std::uint8_t { Ethernet, Tag, Nobody };

struct Parts : Behind {
    Owner owner = Owner::Nobody;
};

Parts parts_of(const Dissection& d, const LayerSpan& layer) {
    const Trailed frame = trailed(d, layer);
    Parts parts{{.padding = {}, .trailer = d.bytes_of(layer), .fcs = {}}, Owner::Nobody};
    // Behind the frame of a record is the record's own padding.
    if (frame.ethernet == nullptr || layer.offset >= frame_end(d)) return parts;
    parts.owner = frame.tagged ? Owner::Tag : Owner::Ethernet;
    if (!frame.tagged && frame.outermost) {
        static_cast<Behind&>(parts) = behind(d, layer, *frame.ethernet);
    }
    return parts;
}

Computed some(wire::Bytes bytes) {
    if (bytes.empty()) return std::nullopt;
    return Value{.number = 0, .bytes = bytes, .text = {}};
}

Computed padding(const Dissection& d, const LayerSpan& layer) {
    return some(parts_of(d, layer).padding);
}
template <Owner Name>
Computed trailer(const Dissection& d, const LayerSpan& layer) {
    const Parts parts = parts_of(d, layer);
    return parts.owner == Name ? some(parts.trailer) : std::nullopt;
}
Computed check_sequence(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes fcs = parts_of(d, layer).fcs;
    if (fcs.empty()) return std::nullopt;
    return number(wire::load_u32(fcs, 0));
}

constexpr FieldRow by_name(std::string_view name, std::string_view title,
                           Computed (*compute)(const Dissection&, const LayerSpan&),
                           Format format = Format::Bytes) {
    return computed(name, title, Trailer, format, compute, Shown::OnlyByName);
}

constexpr std::array kTrailersRows{
    by_name("eth.padding", "Padding", padding),
    by_name("eth.trailer", "Trailer", trailer<Owner::Ethernet>),
    with_digits(by_name("eth.fcs", "Frame Check Sequence", check_sequence, Format::Hex), 8),
    by_name("vlan.trailer", "Trailer", trailer<Owner::Tag>),
    by_name("roce.trailer", "Trailer", trailer<Owner::Nobody>),
};

} // namespace

std::span<const FieldRow> trailers() {
    return kTrailersRows;
}

} // namespace veriroce::decode::rows
