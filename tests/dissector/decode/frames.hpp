// Frames to take apart: from the committed captures, and made by wire's encoder.
#pragma once

#include <filesystem>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::decode::test {

using FrameBytes = std::vector<std::byte>;

inline std::vector<FrameBytes> frames_of(std::string_view capture) {
    const auto path = std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps" / capture;
    auto reader = capture::Reader::open(path);
    if (!reader) throw std::runtime_error(capture::text_of(reader.error(), path.string()));
    std::vector<FrameBytes> frames;
    capture::Record record;
    while (reader->next(record).value_or(false)) {
        frames.emplace_back(record.bytes.begin(), record.bytes.end());
    }
    return frames;
}

inline Dissection taken_apart(wire::Bytes bytes, std::uint16_t link_code = 1,
                              std::uint32_t original_length = 0, Options options = {}) {
    FrameFacts facts;
    facts.bytes = bytes;
    facts.link_code = link_code;
    facts.original_length =
        original_length != 0 ? original_length : static_cast<std::uint32_t>(bytes.size());
    facts.number = 1;
    Dissection dissection;
    dissect_frame(facts, options, dissection);
    return dissection;
}

inline wire::Sender sender(bool v6 = false) {
    wire::Sender sender;
    const auto address = [v6](unsigned last) {
        const std::string host = std::to_string(last);
        return *wire::IpAddress::parse(v6 ? "fd77::" + host : "10.77.0." + host);
    };
    sender.envelope.source = address(1);
    sender.envelope.destination = address(2);
    sender.envelope.source_port = 50'000;
    sender.link.source.bytes.fill(std::byte{2});
    sender.link.destination.bytes.fill(std::byte{4});
    sender.ip_id = 77;
    sender.packet.bth.dest_qp = {0x11};
    sender.packet.bth.psn = wire::Psn(100);
    return sender;
}

inline FrameBytes made(const wire::PacketSpec& spec, bool v6 = false) {
    auto frame = wire::encode(spec, sender(v6));
    if (!frame) throw std::runtime_error(std::string(text_of(frame.error().error)));
    return *frame;
}

inline std::vector<std::byte> payload(std::size_t bytes) {
    return std::vector<std::byte>(bytes, std::byte{0x5A});
}

inline std::vector<FindingKind> kinds_of(const Dissection& dissection) {
    std::vector<FindingKind> kinds;
    for (const Finding& finding : dissection.findings.all())
        kinds.push_back(finding.kind);
    return kinds;
}

inline std::vector<LayerKind> layers_of(const Dissection& dissection) {
    std::vector<LayerKind> kinds;
    for (const LayerSpan& layer : dissection.layers)
        kinds.push_back(layer.kind);
    return kinds;
}

} // namespace veriroce::decode::test
