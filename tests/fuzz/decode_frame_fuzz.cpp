// Any bytes are a frame of any link type, whole or cut: layers stay inside it, and every field of
// the table can be read.
#include <array>

#include "dissector/decode/decoder.hpp"
#include "dissector/decode/field.hpp"

using namespace veriroce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    constexpr std::array<std::uint16_t, 6> kLinks{1, 101, 113, 276, 197, 247};
    decode::FrameFacts facts;
    facts.bytes = std::as_bytes(std::span(data, size)).subspan(2);
    facts.link_code = kLinks[data[0] % kLinks.size()];
    facts.original_length = static_cast<std::uint32_t>(facts.bytes.size() + data[1]);
    facts.number = 1;
    static decode::Dissection dissection;
    decode::dissect_frame(facts, {}, dissection);
    std::uint32_t at = 0;
    for (const decode::LayerSpan& layer : dissection.layers) {
        assert(layer.offset + layer.length <= facts.bytes.size());
        if (layer.kind != decode::LayerKind::Frame) {
            assert(layer.offset >= at);
            at = layer.offset + layer.length;
        }
        for (const decode::FieldRow& row : decode::fields_of(layer.kind)) {
            const auto value = decode::read(row, dissection, layer);
            assert(!value || value->bytes.size() <= facts.bytes.size());
        }
    }
    assert(!(dissection.malformed && dissection.findings.empty() && dissection.transport_packet()));
    if (const auto packet = dissection.packet()) assert(packet->bth == dissection.bth);
    return 0;
}
