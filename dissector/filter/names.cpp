#include "dissector/filter/names.hpp"

#include <algorithm>
#include <charconv>

#include "dissector/wire/nearest_word.hpp"

namespace veriroce::filter {
namespace {

// Protocols without a layer of their own: recognised by their number but not decoded, or, as RoCE,
// made of the headers above. Wireshark's column calls RoCE v2 RRoCE.
struct Recognised {
    std::string_view name;
    decode::Protocol protocol;
};
constexpr std::array kRecognised{
    Recognised{"arp", decode::Protocol::Arp},
    Recognised{"icmp", decode::Protocol::Icmp},
    Recognised{"icmpv6", decode::Protocol::Icmpv6},
    Recognised{"macc", decode::Protocol::MacControl},
    Recognised{"roce", decode::Protocol::RoceV1},
    Recognised{"roce", decode::Protocol::RoceV2},
    Recognised{"rroce", decode::Protocol::RoceV2},
    Recognised{"tcp", decode::Protocol::Tcp},
};

// The protocol that contains all the headers: Wireshark's name for BTH, RETH and the others
// together.
constexpr std::string_view kUmbrella = "infiniband";
constexpr std::string_view kUmbrellaHeaders = "infiniband.";

Type type_of(decode::Format format) {
    switch (format) {
    case decode::Format::Decimal:
    case decode::Format::Hex: return Type::Number;
    case decode::Format::Boolean: return Type::Boolean;
    case decode::Format::Seconds:
    case decode::Format::Date: return Type::Seconds;
    case decode::Format::Ipv4: return Type::Ipv4;
    case decode::Format::Ipv6: return Type::Ipv6;
    case decode::Format::Mac:
    case decode::Format::Bytes: return Type::Bytes;
    case decode::Format::Text: return Type::Text;
    }
    return Type::Number;
}

std::vector<decode::LayerKind> layers_called(std::string_view name) {
    std::vector<decode::LayerKind> kinds;
    for (std::size_t i = 0; i < decode::kLayerKinds; ++i) {
        const auto kind = static_cast<decode::LayerKind>(i);
        const std::string_view layer = decode::layer_info(kind).name;
        const bool under = name == kUmbrella && layer.starts_with(kUmbrellaHeaders);
        if (layer == name || under) kinds.push_back(kind);
    }
    return kinds;
}

std::optional<std::int64_t> offset_of(std::string_view text) {
    std::int64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    constexpr std::int64_t kFarthest = 1 << 24; // larger than any packet
    if (error != std::errc{} || stop != end || value > kFarthest || value < -kFarthest) {
        return std::nullopt;
    }
    return value;
}

// One of the comma-separated parts.
std::expected<SlicePart, std::string> part_of(std::string_view text) {
    const std::string wrong = "write a slice as [offset], [offset:length] or [first-last]";
    SlicePart part;
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
        const auto first =
            colon == 0 ? std::optional<std::int64_t>(0) : offset_of(text.substr(0, colon));
        if (!first) return std::unexpected(wrong);
        part.first = *first;
        if (colon + 1 == text.size()) return part;
        const auto length = offset_of(text.substr(colon + 1));
        if (!length) return std::unexpected(wrong);
        if (*length <= 0) return std::unexpected("the length of a slice must be positive");
        part.length = static_cast<std::size_t>(*length);
        return part;
    }
    // A minus sign after the first character separates two offsets.
    const std::size_t minus = text.size() > 1 ? text.find('-', 1) : std::string_view::npos;
    const auto first = offset_of(text.substr(0, minus));
    if (!first) return std::unexpected(wrong);
    part.first = part.last.emplace(*first);
    if (minus == std::string_view::npos) return part;
    const auto last = offset_of(text.substr(minus + 1));
    if (!last) return std::unexpected(wrong);
    part.last = last;
    return part;
}

} // namespace

std::optional<Operand> operand_of(std::string_view name) {
    Operand operand;
    if (auto column = decode::Column::find(name)) {
        operand.type = type_of(column->rows().front()->format);
        operand.column = std::move(column);
        return operand;
    }
    operand.type = Type::Bytes;
    operand.protocol.kinds = layers_called(name);
    if (!operand.protocol.kinds.empty()) return operand;
    for (const Recognised& one : kRecognised) {
        if (one.name == name) operand.protocol.innermost.push_back(one.protocol);
    }
    if (operand.protocol.innermost.empty()) return std::nullopt;
    return operand;
}

std::string nearest_operand(std::string_view name) {
    std::vector<std::string_view> names{kUmbrella};
    for (const decode::FieldRow& row : decode::field_table())
        names.push_back(row.name);
    for (std::size_t i = 0; i < decode::kLayerKinds; ++i)
        names.push_back(decode::layer_info(static_cast<decode::LayerKind>(i)).name);
    for (const Recognised& one : kRecognised)
        names.push_back(one.name);
    return std::string(wire::nearest_word(name, names).value_or(""));
}

std::string_view name_of(Type type) {
    switch (type) {
    case Type::Number: return "a number";
    case Type::Boolean: return "true or false";
    case Type::Seconds: return "a time in seconds";
    case Type::Ipv4: return "an IPv4 address";
    case Type::Ipv6: return "an IPv6 address";
    case Type::Bytes: return "bytes";
    case Type::Text: return "text";
    }
    return {};
}

std::expected<std::vector<SlicePart>, std::string> slice_of(std::string_view text) {
    std::vector<SlicePart> parts;
    std::string inside;
    for (const char c : text.substr(1, text.size() - 2)) {
        if (c != ' ') inside += c;
    }
    std::string_view rest = inside;
    for (;;) {
        const std::size_t comma = rest.find(',');
        auto part = part_of(rest.substr(0, comma));
        if (!part) return std::unexpected(std::move(part.error()));
        parts.push_back(*part);
        if (comma == std::string_view::npos) return parts;
        rest.remove_prefix(comma + 1);
    }
}

} // namespace veriroce::filter
