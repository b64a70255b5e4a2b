#include "conformance/interpreter/entry.hpp"

#include <utility>

#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::interpreter {

Entry parsed(Side from, std::vector<std::byte> bytes, Interval at) {
    Entry entry{.from = from, .bytes = std::move(bytes), .at = at};
    const auto whole = wire::parse_frame(entry.bytes);
    if (!whole) {
        entry.refusal = whole.error();
        return entry;
    }
    entry.frame = whole->frame;
    entry.packet = whole->packet;
    entry.refusal = whole->refusal;
    return entry;
}

} // namespace veriroce::interpreter
