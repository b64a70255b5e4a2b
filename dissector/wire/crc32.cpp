#include "dissector/wire/crc32.hpp"

#include <array>
#include <cassert>
#include <cstring>

#include <isa-l/crc.h>

#include "dissector/wire/crc32_wide.hpp"

namespace veriroce::wire {

// ISA-L complements the seed it is given and the result it returns, so that the CRC of one piece
// is the seed of the next.
std::uint32_t crc32(std::uint32_t seed, Bytes bytes) {
    if (bytes.empty()) return seed;
    return crc32_gzip_refl(seed, reinterpret_cast<const unsigned char*>(bytes.data()),
                           bytes.size());
}

// The CRC of the copy, whatever becomes of the original.
std::uint32_t copy_crc32_portably(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    assert(to.size() >= bytes.size());
    if (bytes.empty()) return seed;
    std::memcpy(to.data(), bytes.data(), bytes.size());
    return crc32(seed, Bytes(to).first(bytes.size()));
}

namespace {

// Bytes of the message to take with its head.
std::size_t bytes_with(const MaskedHead& head, Bytes message) {
    assert(message.size() >= head.size());
    const std::size_t more = message.size() % kIsalBlock;
    return more < head.size() ? more + kIsalBlock : more;
}

} // namespace

std::uint32_t crc32_portably(const MaskedHead& head, Bytes message) {
    std::array<std::byte, MaskedHead::kMost + kIsalBlock> first; // NOLINT(*-member-init): written
    const std::size_t size = bytes_with(head, message);
    std::memcpy(first.data(), message.data(), size);
    for (std::size_t i = 0; i < head.size(); ++i)
        first[i] |= head.ones(0)[i];
    return crc32(crc32(head.seed(), Bytes(first).first(size)), message.subspan(size));
}

std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    assert(to.size() >= bytes.size());
    const std::size_t folded = wide::kAvailable ? wide::foldable(bytes.size()) : 0;
    if (folded == 0) return copy_crc32_portably(seed, bytes, to);
    const std::uint32_t crc = wide::copy_crc32(seed, bytes.first(folded), to);
    return copy_crc32_portably(crc, bytes.subspan(folded), to.subspan(folded));
}

std::uint32_t crc32(const MaskedHead& head, Bytes message) {
    if (!wide::kAvailable) return crc32_portably(head, message);
    const std::size_t size = bytes_with(head, message);
    return crc32(wide::crc32(head, message.first(size)), message.subspan(size));
}

} // namespace veriroce::wire
