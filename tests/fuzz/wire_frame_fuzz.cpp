// Any bytes as a frame: nothing is read beyond their end, and what was found stays true: fields are
// written as they were read, a sealed frame is refused for no ICRC, an accepted one is written
// again.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "dissector/wire/field.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/packet.hpp"

using namespace veriroce::wire;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

// Reads every field and writes it back: not a byte may change.
void check_fields(const Frame& frame) {
    std::vector<std::byte> copy(frame.bytes.begin(), frame.bytes.end());
    for (const FieldInfo& info : field_table()) {
        const Field field = info.field;
        if (const auto number = read_field(copy, frame.layers, field)) {
            require(write_field(copy, frame.layers, field, *number));
        }
        if (const auto ip = read_ip(copy, frame.layers, field)) {
            // An IPv4-mapped address in an IPv6 header counts as IPv4 and is refused there.
            require(write_ip(copy, frame.layers, field, *ip) || frame.ipv6);
        }
        if (const auto mac = read_mac(copy, frame.layers, field)) {
            require(write_mac(copy, frame.layers, field, *mac));
        }
        if (flip_field(copy, frame.layers, field, 0)) {
            require(flip_field(copy, frame.layers, field, 0));
        }
    }
    require(std::ranges::equal(copy, frame.bytes));
}

// With a good ICRC, an error can only be of something in front of it.
void check_seal(const Frame& frame) {
    std::vector<std::byte> copy(frame.bytes.begin(), frame.bytes.end());
    seal(copy);
    const auto again = decode_frame(copy);
    require(again && again->icrc == icrc(again->covered()));
    const auto datagram = unseal(copy);
    require(datagram || datagram.error() != FrameError::BadIcrc);
    const auto by_frame = unseal(*again);
    require(datagram.has_value() == by_frame.has_value());
    if (!datagram) return;
    require(std::ranges::equal(datagram->bytes, frame.transport));
    require(datagram->envelope == by_frame->envelope);
}

// The accepted datagram, written by us, is accepted again and is the same.
void check_write(const Frame& frame, const Datagram& datagram) {
    const Envelope& envelope = datagram.envelope;
    if (envelope.source.v4() != envelope.destination.v4()) return;
    std::vector<std::byte> out(kMaxFrameOverhead + datagram.bytes.size());
    const LinkAddress link{.source = frame.ethernet.source,
                           .destination = frame.ethernet.destination};
    out.resize(write_frame(link, envelope, 1, datagram.bytes, {}, out));
    const auto again = unseal(out);
    require(again.has_value());
    require(again->envelope == envelope || frame.ipv6);
    require(std::ranges::equal(again->bytes, datagram.bytes));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    const auto datagram = unseal(bytes);
    auto frame = decode_frame(bytes);
    if (!frame) {
        require(!datagram && !text_of(frame.error()).empty());
        return 0;
    }
    require(frame->ipv4.has_value() != frame->ipv6.has_value());
    require(frame->covered().data() + frame->covered().size() ==
            frame->transport.data() + frame->transport.size());
    map_transport(*frame);
    require(frame->layers.has(Layer::Body));
    require(frame->layers.at(Layer::Body) <= frame->layers.at(Layer::Icrc));
    const auto packet = decode_packet(frame->transport);
    require(!packet ||
            frame->layers.at(Layer::Bth) + packet->header_bytes() == frame->layers.at(Layer::Body));
    check_fields(*frame);
    check_seal(*frame);
    if (datagram) check_write(*frame, *datagram);
    return 0;
}
