#include "dissector/wire/opcode.hpp"

#include "dissector/wire/opcode_table.hpp"

namespace veriroce::wire {
namespace {

constexpr std::size_t index(Header header) {
    return static_cast<std::size_t>(header);
}

} // namespace

std::size_t size_of(Header header) {
    return kHeaders[index(header)].bytes;
}

std::string_view name_of(Header header) {
    return kHeaders[index(header)].name;
}

const OpcodeInfo& opcode_info(std::uint8_t code) {
    return kOpcodeTable[code];
}

std::span<const OpcodeInfo, 256> opcode_table() {
    return kOpcodeTable;
}

std::optional<std::uint8_t> opcode_by_name(std::string_view name, Service service) {
    if (name == kOpcodeTable[kCnpOpcode].name) return kCnpOpcode;
    for (const OpcodeInfo& info : kOpcodeTable) {
        if (info.service == service && !info.reserved() && info.name == name) return info.code;
    }
    return std::nullopt;
}

std::optional<std::uint8_t> opcode_of(Service service, Operation operation, Position position,
                                      bool immediate, bool invalidate) {
    for (const OpcodeInfo& info : kOpcodeTable) {
        if (info.service == service && info.operation == operation && !info.reserved() &&
            info.position == position && info.immediate() == immediate &&
            info.invalidates() == invalidate) {
            return info.code;
        }
    }
    return std::nullopt;
}

} // namespace veriroce::wire
