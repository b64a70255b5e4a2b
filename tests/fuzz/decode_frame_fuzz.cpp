// Any bytes are a frame of any link type, whole or cut, that carries any protocol above the
// transport in either direction: layers stay inside it, and every field of the table can be read.
#include <array>

#include "dissector/decode/decoder.hpp"
#include "dissector/decode/field.hpp"
#include "dissector/decode/upper.hpp"

using namespace veriroce;

namespace {

// What the bits of a byte above the link type say of the connection.
decode::UpperFacts facts_of(std::uint8_t bits) {
    decode::UpperFacts facts;
    facts.protocol = static_cast<decode::Upper>(bits % 5);
    facts.toward = static_cast<decode::Toward>(bits / 5 % 3);
    if (bits % 2 == 0) facts.nvme_queue = decode::nvme_queue_of(bits % 4);
    if (bits % 8 > 5) facts.first_psn = wire::Psn(100);
    return facts;
}

} // namespace

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
    const decode::UpperFacts upper = facts_of(data[0] / kLinks.size());
    if (decode::begins_message(dissection)) decode::dissect_upper(upper, dissection);
    decode::dissect_private_data(upper.protocol, dissection);
    decode::connected_nvme_queue(dissection);
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
    // The headers that were read once are those that a reader of the bytes finds.
    if (dissection.complete()) {
        const auto packet = wire::decode_packet(dissection.transport);
        assert(packet && packet->bth == dissection.packet.bth);
        assert(packet->headers == dissection.packet.headers && dissection.has_whole_headers());
    }
    return 0;
}
