#include "dissector/capture/pcapng_format.hpp"

#include <algorithm>

#include "dissector/capture/pcapng_options.hpp"

namespace veriroce::capture {
namespace {

constexpr std::size_t kFrameBytes = 12; // type, length, and the length repeated
constexpr std::size_t kPacketFixedBytes = 20;

constexpr bool is_read(std::uint32_t type) {
    return type == block_type::kSection || type == block_type::kInterface ||
           type == block_type::kPacket || type == block_type::kSimplePacket ||
           type == block_type::kEnhancedPacket;
}

std::unexpected<ReadError> failure(ReadErrorKind kind, std::uint64_t offset,
                                   std::uint64_t detail = 0) {
    return std::unexpected(ReadError{.kind = kind, .offset = offset, .detail = detail});
}

std::string text_of(wire::Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t padded(std::size_t bytes) {
    return (bytes + 3) / 4 * 4;
}

void apply(const Option& option, ByteOrder order, Interface& interface) {
    switch (option.code) {
    case option::kInterfaceName: interface.name = text_of(option.value); break;
    case option::kInterfaceDescription: interface.description = text_of(option.value); break;
    case option::kInterfaceTimeUnit:
        if (option.value.empty()) break;
        interface.time.exponent = std::to_integer<std::uint8_t>(option.value[0] & std::byte{0x7F});
        interface.time.binary = (option.value[0] & std::byte{0x80}) != std::byte{0};
        break;
    case option::kInterfaceTimeOffset:
        if (option.value.size() != 8) break;
        interface.time.offset_s = static_cast<std::int64_t>(order.u64(option.value, 0));
        break;
    default: break; // not used here
    }
}

} // namespace

bool PcapngFormat::recognise(wire::Bytes magic) {
    return ByteOrder{}.u32(magic, 0) == block_type::kSection;
}

bool PcapngFormat::holds_packet(wire::Bytes bytes) const {
    if (bytes.size() < kFrameBytes || bytes.size() < order_.u32(bytes, 4)) return false;
    const std::uint32_t type = order_.u32(bytes, 0);
    return type == block_type::kEnhancedPacket || type == block_type::kSimplePacket ||
           type == block_type::kPacket;
}

std::expected<PcapngFormat::Block, ReadError> PcapngFormat::read_block(Source& source) {
    const wire::Bytes head = source.ahead(kFrameBytes);
    if (head.size() < kFrameBytes) return std::unexpected(source.too_short());
    Block block{.type = order_.u32(head, 0), .offset = source.offset(), .body = {}};
    if (block.type ==
        block_type::kSection) { // the length is already in the new section's byte order
        order_ = {};
        if (order_.u32(head, 8) != block_type::kByteOrderMagic) order_.swapped = true;
        if (order_.u32(head, 8) != block_type::kByteOrderMagic) {
            return failure(ReadErrorKind::MissingSection, block.offset);
        }
    }
    const std::uint32_t length = order_.u32(head, 4);
    if (length < kFrameBytes || length % 4 != 0) {
        return failure(ReadErrorKind::BadBlock, block.offset);
    }
    if (length > kMaxBlockBytes) {
        if (is_read(block.type)) return failure(ReadErrorKind::BadBlock, block.offset);
        return skip_block(source, length, block);
    }
    const wire::Bytes whole = source.ahead(length);
    if (whole.size() < length) return std::unexpected(source.too_short());
    if (order_.u32(whole, length - 4) != length) {
        return failure(ReadErrorKind::BadBlock, block.offset);
    }
    block.body = whole.subspan(8, length - kFrameBytes);
    source.skip(length);
    return block;
}

// A block of a type that is not read may be of any length. It is skipped in pieces.
std::expected<PcapngFormat::Block, ReadError>
PcapngFormat::skip_block(Source& source, std::uint32_t length, const Block& block) const {
    // In a file that is there to its end a length beyond it is damaged.
    if (source.whole() && source.ahead(length).size() < length) {
        return failure(ReadErrorKind::BadBlock, block.offset);
    }
    constexpr std::size_t kSkipped = 1U << 20;
    const std::size_t end_bytes = sizeof length;
    for (std::size_t left = length - end_bytes; left > 0;) {
        const std::size_t piece = std::min(left, kSkipped);
        if (source.ahead(piece).size() < piece) return std::unexpected(source.too_short());
        source.skip(piece);
        left -= piece;
    }
    const wire::Bytes repeated = source.ahead(end_bytes);
    if (repeated.size() < end_bytes) return std::unexpected(source.too_short());
    if (order_.u32(repeated, 0) != length) return failure(ReadErrorKind::BadBlock, block.offset);
    source.skip(end_bytes);
    return block;
}

std::expected<bool, ReadError>
PcapngFormat::next(Source& source, std::vector<Interface>& interfaces, Record& record) {
    while (!source.ahead(1).empty()) {
        const auto block = read_block(source);
        if (!block) return std::unexpected(block.error());
        std::expected<void, ReadError> done;
        bool packet = false;
        switch (block->type) {
        case block_type::kSection: done = open_section(*block, interfaces); break;
        case block_type::kInterface: done = add_interface(*block, interfaces); break;
        case block_type::kSimplePacket:
            packet = true;
            done = read_simple(*block, interfaces, record);
            break;
        case block_type::kPacket:
        case block_type::kEnhancedPacket:
            packet = true;
            done = read_packet(*block, interfaces, record);
            break;
        default: break; // unknown blocks are skipped, as the format requires
        }
        if (!done) return std::unexpected(done.error());
        if (packet) return true;
    }
    if (source.error()) return std::unexpected(*source.error());
    return false;
}

std::expected<void, ReadError>
PcapngFormat::open_section(const Block& block, const std::vector<Interface>& interfaces) {
    if (block.body.size() < 16) return failure(ReadErrorKind::BadBlock, block.offset);
    const std::uint16_t major = order_.u16(block.body, 4);
    if (major != 1) return failure(ReadErrorKind::BadVersion, block.offset, major);
    ++section_;
    section_interface_ = interfaces.size();
    return {};
}

std::expected<void, ReadError>
PcapngFormat::add_interface(const Block& block, std::vector<Interface>& interfaces) const {
    if (block.body.size() < 8) return failure(ReadErrorKind::BadBlock, block.offset);
    Interface interface{.link_code = order_.u16(block.body, 0),
                        .snap_length = order_.u32(block.body, 4),
                        .name = {},
                        .description = {},
                        .section = section_,
                        .number =
                            static_cast<std::uint32_t>(interfaces.size() - section_interface_)};
    OptionList options(block.body.subspan(8), order_);
    while (const std::optional<Option> option = options.next())
        apply(*option, order_, interface);
    interfaces.push_back(std::move(interface));
    return {};
}

// Enhanced packet blocks and the obsolete packet blocks, which differ in the width of the interface
// number.
std::expected<void, ReadError> PcapngFormat::read_packet(const Block& block,
                                                         const std::vector<Interface>& interfaces,
                                                         Record& record) const {
    const wire::Bytes body = block.body;
    if (body.size() < kPacketFixedBytes) return failure(ReadErrorKind::BadBlock, block.offset);
    const std::uint32_t number =
        block.type == block_type::kPacket ? order_.u16(body, 0) : order_.u32(body, 0);
    if (number >= interfaces.size() - section_interface_) {
        return failure(ReadErrorKind::UnknownInterface, block.offset, number);
    }
    const std::size_t captured = order_.u32(body, 12);
    if (captured > body.size() - kPacketFixedBytes) {
        return failure(ReadErrorKind::BadBlock, block.offset);
    }
    const std::size_t index = section_interface_ + number;
    const std::uint64_t units = std::uint64_t{order_.u32(body, 4)} << 32 | order_.u32(body, 8);
    record.time_ns = interfaces[index].time.nanoseconds(units);
    record.link_code = interfaces[index].link_code;
    record.interface = static_cast<std::uint32_t>(index);
    record.original_length = order_.u32(body, 16);
    record.bytes = body.subspan(kPacketFixedBytes, captured);
    record.offset = block.offset;
    record.options = body.subspan(std::min(kPacketFixedBytes + padded(captured), body.size()));
    record.order = order_;
    return {};
}

std::expected<void, ReadError> PcapngFormat::read_simple(const Block& block,
                                                         const std::vector<Interface>& interfaces,
                                                         Record& record) const {
    if (block.body.size() < 4) return failure(ReadErrorKind::BadBlock, block.offset);
    if (interfaces.size() == section_interface_) {
        return failure(ReadErrorKind::UnknownInterface, block.offset);
    }
    const Interface& interface = interfaces[section_interface_];
    std::size_t captured = order_.u32(block.body, 0);
    record.original_length = order_.u32(block.body, 0);
    if (interface.snap_length > 0)
        captured = std::min<std::size_t>(captured, interface.snap_length);
    if (captured > block.body.size() - 4) return failure(ReadErrorKind::BadBlock, block.offset);
    record.time_ns = std::nullopt;
    record.link_code = interface.link_code;
    record.interface = static_cast<std::uint32_t>(section_interface_);
    record.bytes = block.body.subspan(4, captured);
    record.offset = block.offset;
    record.options = {};
    record.order = order_;
    return {};
}

} // namespace veriroce::capture
