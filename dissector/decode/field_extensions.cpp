// Rows of the field table: options of IPv4 and extension headers of IPv6.
//
// Source: RFC 791, RFC 8200, RFC 4302.
#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

wire::Bytes ipv4_option_bytes(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    return bytes.size() > wire::Ipv4::kSize ? bytes.subspan(wire::Ipv4::kSize) : wire::Bytes{};
}

Computed ipv4_options(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes options = ipv4_option_bytes(d, layer);
    if (options.empty()) return std::nullopt;
    return Value{.number = 0, .bytes = options, .text = {}};
}

// How many bytes the option at `at` has; 0 if nothing can follow it.
std::size_t option_bytes(wire::Bytes options, std::size_t at) {
    constexpr std::uint8_t kEnd = 0;
    constexpr std::uint8_t kNoOperation = 1;
    const std::uint8_t type = wire::load_u8(options, at);
    if (type == kNoOperation) return 1;
    if (type == kEnd || at + 1 >= options.size()) return 0;
    const std::uint8_t length = wire::load_u8(options, at + 1);
    return length < 2 ? 0 : length;
}

Computed ipv4_option_type(const Dissection& d, const LayerSpan& layer, std::size_t index) {
    const wire::Bytes options = ipv4_option_bytes(d, layer);
    std::size_t at = 0;
    for (; index > 0 && at < options.size(); --index) {
        const std::size_t bytes = option_bytes(options, at);
        if (bytes == 0) return std::nullopt;
        at += bytes;
    }
    if (at >= options.size()) return std::nullopt;
    return number(wire::load_u8(options, at));
}

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kDestinationOptions = 60;

// The type of this header is a field of the header before it.
std::optional<std::uint8_t> extension_type(const Dissection& d, const LayerSpan& layer) {
    const LayerSpan* before = nullptr;
    for (const LayerSpan& one : d.layers) {
        if (one.kind == Ipv6Extension && one.offset == layer.offset) break;
        before = &one;
    }
    if (before == nullptr) return std::nullopt;
    constexpr std::size_t kInIpv6 = 6;
    return wire::load_u8(d.bytes_of(*before), before->kind == Ipv6 ? kInIpv6 : 0);
}

Computed extension_name(const Dissection& d, const LayerSpan& layer) {
    switch (extension_type(d, layer).value_or(0xFF)) {
    case kHopByHop: return text("Hop-by-Hop Options");
    case kRouting: return text("Routing");
    case kFragment: return text("Fragment");
    case kAuthentication: return text("Authentication");
    case kDestinationOptions: return text("Destination Options");
    default: return std::nullopt;
    }
}

// `Bits` bits from bit `At` of an extension header of this type.
template <std::uint8_t Type, std::size_t At, std::size_t Bits>
Computed of_extension(const Dissection& d, const LayerSpan& layer) {
    static_assert(Bits <= 32);
    constexpr std::size_t kEnd = (At + Bits + 7) / 8;
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < kEnd || extension_type(d, layer) != Type) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = At / 8; i < kEnd; ++i)
        value = value << 8 | wire::load_u8(bytes, i);
    return number(value >> (kEnd * 8 - At - Bits) & ((std::uint64_t{1} << Bits) - 1));
}

template <std::uint8_t Type, std::uint16_t At, std::uint16_t Bits>
constexpr FieldRow extension(std::string_view name, std::string_view title, Format format,
                             std::uint8_t digits = 0) {
    FieldRow row = computed(name, title, Ipv6Extension, format, of_extension<Type, At, Bits>);
    return with_digits(standing(row, At, Bits), digits);
}

template <std::uint8_t Type>
constexpr FieldRow next_header(std::string_view name) {
    return with_meaning(extension<Type, 0, 8>(name, "Next Header", Format::Decimal),
                        ip_protocol_name);
}

constexpr std::string_view kLength = "Length in Units of 8 Bytes, Less One";

constexpr std::array kExtensionsRows{
    computed("roce.ip.options", "Options", Ipv4, Format::Bytes, ipv4_options),
    repeated<ipv4_option_type>("ip.opt.type", "Option Type", Ipv4, Format::Decimal),

    computed("roce.ipv6.extension", "Header", Ipv6Extension, Format::Text, extension_name),
    next_header<kHopByHop>("ipv6.hopopts.nxt"),
    extension<kHopByHop, 8, 8>("ipv6.hopopts.len", kLength, Format::Decimal),
    next_header<kRouting>("ipv6.routing.nxt"),
    extension<kRouting, 8, 8>("ipv6.routing.len", kLength, Format::Decimal),
    extension<kRouting, 16, 8>("ipv6.routing.type", "Type", Format::Decimal),
    extension<kRouting, 24, 8>("ipv6.routing.segleft", "Segments Left", Format::Decimal),
    next_header<kFragment>("ipv6.fraghdr.nxt"),
    extension<kFragment, 16, 13>("ipv6.fraghdr.offset", "Fragment Offset in Units of 8 Bytes",
                                 Format::Decimal),
    extension<kFragment, 31, 1>("ipv6.fraghdr.more", "More Fragments", Format::Boolean),
    extension<kFragment, 32, 32>("ipv6.fraghdr.ident", "Identification", Format::Hex, 8),
    next_header<kAuthentication>("ah.next_header"),
    extension<kAuthentication, 8, 8>("ah.length", "Length in Units of 4 Bytes, Less Two",
                                     Format::Decimal),
    extension<kAuthentication, 32, 32>("ah.spi", "Security Parameters Index", Format::Hex, 8),
    extension<kAuthentication, 64, 32>("ah.sequence", "Sequence Number", Format::Decimal),
    next_header<kDestinationOptions>("ipv6.dstopts.nxt"),
    extension<kDestinationOptions, 8, 8>("ipv6.dstopts.len", kLength, Format::Decimal),
};

} // namespace

std::span<const FieldRow> extensions() {
    return kExtensionsRows;
}

} // namespace veriroce::decode::rows
