#include "dissector/wire/packet.hpp"

namespace veriroce::wire {
namespace {

// Calls `use(kind, member)` for each extended header of this set, in the order of the wire, until
// one says no. `member` is a pointer to the member of Packet.
template <typename Use>
bool visit_headers(HeaderSet headers, Use use) {
    for (; !headers.empty(); headers = headers.without_first()) {
        bool more = false;
        switch (headers.first()) {
#define VERIROCE_HEADER_CASE(type, member, ...)                                                    \
    case Header::type: more = use(Header::type, &Packet::member); break;
            VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_CASE)
#undef VERIROCE_HEADER_CASE
        }
        if (!more) return false;
    }
    return true;
}

} // namespace

std::size_t Packet::header_bytes() const {
    std::size_t bytes = Bth::kSize;
    for (HeaderSet left = headers; !left.empty(); left = left.without_first())
        bytes += size_of(left.first());
    return bytes;
}

std::string_view text_of(PacketError error) {
    switch (error) {
    case PacketError::TooShortForBth: return "too short for a BTH";
    case PacketError::TooShortForHeaders: return "too short for the headers that its opcode names";
    }
    return "";
}

namespace {

// Reads the headers that the opcode names, all of which are there.
void read_headers(Bytes bytes, Packet& packet) {
    std::size_t at = Bth::kSize;
    visit_headers(packet.headers, [&]<typename H>(Header, H Packet::* member) {
        packet.*member = H::read(bytes.subspan(at, H::kSize));
        at += H::kSize;
        return true;
    });
}

// The same of a packet that ends before the last of them: those in front of its end.
void read_first_headers(Bytes bytes, Packet& packet) {
    const HeaderSet named = packet.headers;
    packet.headers = HeaderSet();
    std::size_t at = Bth::kSize;
    visit_headers(named, [&]<typename H>(Header kind, H Packet::* member) {
        if (bytes.size() - at < H::kSize) return false;
        packet.*member = H::read(bytes.subspan(at, H::kSize));
        packet.headers = packet.headers.with(kind);
        at += H::kSize;
        return true;
    });
    packet.body = bytes.subspan(at);
}

} // namespace

std::optional<PacketError> decode_packet(Bytes bytes, Packet& packet) {
    if (bytes.size() < Bth::kSize) return PacketError::TooShortForBth;
    packet.bth = Bth::read(bytes.first(Bth::kSize));
    const OpcodeInfo& info = opcode_info(packet.bth.opcode);
    packet.headers = info.headers;
    if (bytes.size() < info.header_bytes) {
        read_first_headers(bytes, packet);
        return PacketError::TooShortForHeaders;
    }
    packet.body = bytes.subspan(info.header_bytes);
    if (!info.headers.empty()) read_headers(bytes, packet);
    return std::nullopt;
}

void copy_headers(const Packet& from, Packet& fresh) {
    fresh.bth = from.bth;
    fresh.headers = from.headers;
    fresh.body = from.body;
    visit_headers(from.headers, [&](Header, auto member) {
        fresh.*member = from.*member;
        return true;
    });
}

std::expected<Packet, PacketError> decode_packet(Bytes bytes) {
    std::expected<Packet, PacketError> result(std::in_place); // filled where the caller has it
    if (const auto error = decode_packet(bytes, *result)) result = std::unexpected(*error);
    return result;
}

std::size_t encode_headers(const Packet& packet, MutableBytes out) {
    packet.bth.encode(out);
    std::size_t at = Bth::kSize;
    visit_headers(packet.headers, [&]<typename H>(Header, H Packet::* member) {
        (packet.*member).encode(out.subspan(at));
        at += H::kSize;
        return true;
    });
    return at;
}

} // namespace veriroce::wire
