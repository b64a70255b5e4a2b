// One packet of a story made by hand: built, parsed as the tester parses what comes, and added to
// the story as its next step.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "conformance/model/story.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::model::test {

using EditFrame = std::function<void(std::vector<std::byte>&)>;

// `frames` keeps the bytes. `edit` acts before the frame is parsed.
inline void add_frame(Story& story, std::deque<std::vector<std::byte>>& frames, Side from,
                      const wire::Packet& packet, const wire::LinkAddress& link,
                      const wire::Envelope& envelope, wire::Bytes payload, wire::Instant at,
                      const EditFrame& edit) {
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    std::vector<std::byte> body(payload.begin(), payload.end());
    body.resize(body.size() + packet.bth.pad);
    std::vector<std::byte>& frame =
        frames.emplace_back(wire::kMaxFrameOverhead + headers.size() + body.size());
    frame.resize(wire::write_frame(link, envelope, 1, headers, body, frame));
    edit(frame);
    const auto parsed = wire::parse_frame(frame);
    story.steps.push_back({Step::Kind::Packet, story.packets.size()});
    story.packets.push_back({.from = from,
                             .number = story.packets.size(),
                             .bytes = frame,
                             .frame = parsed->frame,
                             .packet = parsed->packet,
                             .refusal = parsed->refusal,
                             .at = {at, at}});
}

} // namespace veriroce::model::test
