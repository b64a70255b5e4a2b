#include "conformance/interpreter/entry.hpp"

#include <utility>

namespace veriroce::interpreter {

Entry parsed(Side from, std::vector<std::byte> bytes, Interval at) {
    Entry entry{.from = from, .bytes = std::move(bytes), .at = at};
    auto frame = wire::decode_frame(entry.bytes);
    if (!frame) {
        entry.refusal = frame.error();
        return entry;
    }
    wire::map_transport(*frame);
    entry.frame = *frame;
    if (const auto packet = wire::decode_packet(entry.frame.transport)) entry.packet = *packet;
    if (from == Side::Dut) {
        if (const auto unsealed = wire::unseal(entry.frame); !unsealed) {
            entry.refusal = unsealed.error();
        }
    }
    return entry;
}

} // namespace veriroce::interpreter
