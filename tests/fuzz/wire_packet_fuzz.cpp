// Any bytes between UDP header and ICRC: what decodes must encode to the same bytes.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "dissector/wire/packet.hpp"

using namespace veriroce::wire;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    const auto packet = decode_packet(bytes);
    if (!packet) {
        require(bytes.size() < kMaxTransportHeaderBytes);
        require(!text_of(packet.error()).empty());
        return 0;
    }
    std::array<std::byte, kMaxTransportHeaderBytes> headers{};
    const std::size_t length = encode_headers(*packet, headers);
    require(length == packet->header_bytes());
    require(length + packet->body.size() == bytes.size());
    require(std::ranges::equal(Bytes(headers).first(length), bytes.first(length)));
    require(std::ranges::equal(packet->body, bytes.subspan(length)));
    require(packet->payload().size() <= packet->body.size());
    return 0;
}
