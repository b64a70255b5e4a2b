#include "conformance/interpreter/entry.hpp"

#include <utility>

#include "dissector/wire/packet_spec.hpp"
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
    // ENC-06: a receiver may pass over a wrong UDP checksum, but not over a wrong ICRC (CRC-07).
    const bool wrong_icrc =
        entry.refusal == wire::FrameError::BadUdpChecksum &&
        entry.frame.icrc != wire::icrc_of(wire::IcrcKind::Good, entry.frame.covered());
    if (wrong_icrc) entry.refusal = wire::FrameError::BadIcrc;
    return entry;
}

} // namespace veriroce::interpreter
