#include "dissector/wire/crc32.hpp"

#include <array>
#include <cassert>
#include <cstring>

#include <isa-l/crc.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace veriroce::wire {

// ISA-L complements the seed it is given and the result it returns, so that the CRC of one piece
// is the seed of the next.
std::uint32_t crc32(std::uint32_t seed, Bytes bytes) {
    if (bytes.empty()) return seed;
    return crc32_gzip_refl(seed, reinterpret_cast<const unsigned char*>(bytes.data()),
                           bytes.size());
}

std::uint32_t crc32c(Bytes bytes) {
    // ISA-L takes the bytes without const, and only reads them.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    return ~crc32_iscsi(data, static_cast<int>(bytes.size()), 0xFFFFFFFF);
}

// The CRC of the copy, whatever becomes of the original.
std::uint32_t copy_crc32_portably(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    assert(to.size() >= bytes.size());
    if (bytes.empty()) return seed;
    std::memcpy(to.data(), bytes.data(), bytes.size());
    return crc32(seed, Bytes(to).first(bytes.size()));
}

#ifdef __x86_64__
namespace {

constexpr std::size_t kLane = 64;         // bytes of a register
constexpr std::size_t kBlock = 4 * kLane; // folded at once, so that no multiplication is waited for
constexpr std::size_t kLeast = 2 * kBlock; // with less there is nothing to fold

// x to the power of `bits`, modulo the polynomial; bits reflected, as everything here.
constexpr std::uint32_t power_of_x(unsigned bits) {
    std::uint32_t value = 0x80000000; // 1
    for (unsigned i = 0; i < bits; ++i)
        value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
    return value;
}

// What the two halves of 128 bits are multiplied with to count for as much where they are added to
// bytes that stand so much later.
struct Shift {
    long long first;
    long long second;
};
constexpr Shift later_by(std::size_t bytes) {
    const auto bits = static_cast<unsigned>(8 * bytes);
    return {static_cast<long long>(power_of_x(bits + 32)) << 1,
            static_cast<long long>(power_of_x(bits - 32)) << 1};
}

#define VERIROCE_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul")))
#define VERIROCE_WIDE_INLINE __attribute__((target("avx512f,vpclmulqdq,pclmul"), always_inline))

VERIROCE_WIDE_INLINE inline __m512i wide(Shift shift) {
    return _mm512_set4_epi64(shift.second, shift.first, shift.second, shift.first);
}

VERIROCE_WIDE_INLINE inline __m512i folded(__m512i sum, __m512i shift, __m512i next) {
    return _mm512_xor_si512(_mm512_xor_si512(_mm512_clmulepi64_epi128(sum, shift, 0x00),
                                             _mm512_clmulepi64_epi128(sum, shift, 0x11)),
                            next);
}

VERIROCE_WIDE_INLINE inline __m512i carried(const std::byte* from, std::byte* to) {
    const __m512i value = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, value);
    return value;
}

// A few bytes whose CRC, begun anew, is that of the `size` bytes after `seed`; `size` is a multiple
// of kBlock and at least kLeast.
VERIROCE_WIDE std::array<std::byte, kLane> copy_and_fold(std::uint32_t seed, const std::byte* from,
                                                         std::byte* to, std::size_t size) {
    const __m512i begun = _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, static_cast<long long>(~seed));
    __m512i a = _mm512_xor_si512(carried(from, to), begun);
    __m512i b = carried(from + kLane, to + kLane);
    __m512i c = carried(from + 2 * kLane, to + 2 * kLane);
    __m512i d = carried(from + 3 * kLane, to + 3 * kLane);
    const __m512i block = wide(later_by(kBlock));
    for (std::size_t at = kBlock; at != size; at += kBlock) {
        a = folded(a, block, carried(from + at, to + at));
        b = folded(b, block, carried(from + at + kLane, to + at + kLane));
        c = folded(c, block, carried(from + at + 2 * kLane, to + at + 2 * kLane));
        d = folded(d, block, carried(from + at + 3 * kLane, to + at + 3 * kLane));
    }
    const __m512i lane = wide(later_by(kLane));
    d = folded(folded(folded(a, lane, b), lane, c), lane, d);
    std::array<std::byte, kLane> bytes; // NOLINT(*-member-init): written as a whole
    _mm512_storeu_si512(bytes.data(), d);
    return bytes;
}

#undef VERIROCE_WIDE
#undef VERIROCE_WIDE_INLINE

bool has_wide_multiplication() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
}
const bool kWideMultiplication = has_wide_multiplication();

} // namespace

std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    if (bytes.size() < kLeast || !kWideMultiplication) return copy_crc32_portably(seed, bytes, to);
    assert(to.size() >= bytes.size());
    const std::size_t folds = bytes.size() / kBlock * kBlock;
    const auto last = copy_and_fold(seed, bytes.data(), to.data(), folds);
    constexpr std::uint32_t anew = 0xFFFFFFFF; // a register of zeros, in ISA-L's form
    return copy_crc32_portably(crc32(anew, last), bytes.subspan(folds), to.subspan(folds));
}
#else
std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    return copy_crc32_portably(seed, bytes, to);
}
#endif

} // namespace veriroce::wire
