// A frame that is parsed once says what decode_frame, unseal and decode_packet say of it.
#include <catch2/catch.hpp>

#include <algorithm>

#include "dissector/wire/parsed_frame.hpp"
#include "tests/dissector/wire/frame_edits.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;

namespace {

// What differs; empty if nothing does.
std::string_view difference(const std::vector<std::byte>& bytes) {
    const auto parsed = parse_frame(bytes);
    const auto frame = decode_frame(bytes);
    if (parsed.has_value() != frame.has_value()) return "whether there is a frame";
    if (!parsed) return parsed.error() == frame.error() ? "" : "why there is no frame";
    if (parsed->refusal != frames::refusal(bytes)) return "what a receiver says";
    if (parsed->accepted() != unseal(bytes).has_value()) return "whether a receiver takes it";
    if (!(parsed->frame.envelope() == frame->envelope())) return "the envelope";
    const Datagram datagram = parsed->frame.datagram();
    if (!std::ranges::equal(datagram.bytes, frame->transport)) return "the transport packet";
    const auto packet = decode_packet(frame->transport);
    if (packet.has_value() != parsed->packet.has_value()) return "whether there is a packet";
    if (!packet) return "";
    if (!(packet->bth == parsed->packet->bth)) return "the BTH";
    if (!(packet->headers == parsed->packet->headers)) return "which headers there are";
    if (!parsed->frame.layers.has(Layer::Body)) return "the layers of the packet";
    return "";
}

} // namespace

TEST_CASE("parsed frame: captured frames, with any byte changed and cut anywhere", "[wire]") {
    for (const auto* captured : frames::kSealed) {
        std::vector<std::byte> bytes(captured->begin(), captured->end());
        CHECK(parse_frame(bytes)->accepted());
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            INFO(at);
            const std::byte before = bytes[at];
            for (const unsigned change : {0x01U, 0x40U, 0x80U, 0xFFU}) {
                bytes[at] = before ^ static_cast<std::byte>(change);
                CHECK(difference(bytes).empty());
            }
            bytes[at] = before;
            const std::vector<std::byte> cut(bytes.begin(),
                                             bytes.begin() + static_cast<std::ptrdiff_t>(at));
            CHECK(difference(cut).empty());
        }
    }
}
