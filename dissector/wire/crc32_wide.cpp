// Source: V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel 2009.
#include "dissector/wire/crc32_wide.hpp"

#include <array>
#include <cassert>

#ifdef __x86_64__
#include <immintrin.h>

namespace veriroce::wire::wide {
namespace {

constexpr std::size_t kLane = 64; // bytes of a register
constexpr std::size_t kMostLanes = (MaskedHead::kMost + kIsalBlock) / kLane;
constexpr std::size_t kBlock = 4 * kLane; // folded at once, so that no multiplication is waited for
static_assert(foldable(2 * kBlock) == 2 * kBlock && foldable(2 * kBlock - 1) == 0);

// x to the power of `bits`, modulo the polynomial; bits reflected, as everything here.
constexpr std::uint32_t power_of_x(unsigned bits) {
    std::uint32_t value = 0x80000000; // 1
    for (unsigned i = 0; i < bits; ++i)
        value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
    return value;
}

// What the two halves of 128 bits are multiplied with (shifted, as a product of reflected numbers
// has a bit too few).
struct Factors {
    long long first;
    long long second;
};
constexpr long long factor(std::size_t bits) {
    return static_cast<long long>(power_of_x(static_cast<unsigned>(bits))) << 1;
}
// Factors that move 128 bits forward by this many bytes, where they are added.
constexpr Factors later_by(std::size_t bytes) {
    return {factor(8 * bytes + 32), factor(8 * bytes - 32)};
}

// For each eight bytes in front of the end of a message, times x^32: their products are 96 bits,
// the low ones of a register, and are added as they are.
struct alignas(kLane) Weights {
    std::array<long long, kLane / 8> of;
};
constexpr std::array<Weights, kMostLanes> kWeights = [] { // of the last register first
    std::array<Weights, kMostLanes> weights{};
    for (std::size_t at = 0; at < kMostLanes * kLane; at += 16) {
        const std::size_t behind = kMostLanes * kLane - 16 - at;
        auto& of = weights[behind / kLane].of;
        of[at % kLane / 8] = factor(8 * behind + 96);
        of[at % kLane / 8 + 1] = factor(8 * behind + 32);
    }
    return weights;
}();

// The polynomial with its highest term, and x^64 divided by it; the highest term is bit 0.
constexpr std::uint64_t kPolynomial = 0x1DB710641;
constexpr std::uint64_t kQuotient = [] {
    std::uint64_t quotient = 0;
    for (unsigned bits = 31; bits < 64; ++bits)
        quotient |= std::uint64_t{power_of_x(bits) & 1} << (bits - 31);
    return quotient;
}();

#define VERIROCE_TARGET target("avx512f,avx512bw,vpclmulqdq,pclmul,sse4.1")
#define VERIROCE_WIDE __attribute__((VERIROCE_TARGET))
#define VERIROCE_WIDE_INLINE __attribute__((VERIROCE_TARGET, always_inline))

VERIROCE_WIDE_INLINE inline __m512i wide(Factors two) {
    return _mm512_set4_epi64(two.second, two.first, two.second, two.first);
}

VERIROCE_WIDE_INLINE inline __m512i times(__m512i value, __m512i factors) {
    return _mm512_xor_si512(_mm512_clmulepi64_epi128(value, factors, 0x00),
                            _mm512_clmulepi64_epi128(value, factors, 0x11));
}

VERIROCE_WIDE_INLINE inline __m512i folded(__m512i sum, __m512i factors, __m512i next) {
    return _mm512_xor_si512(times(sum, factors), next);
}

// `lanes` registers of the message follow.
VERIROCE_WIDE_INLINE inline __m512i weighed(__m512i value, std::size_t lanes) {
    return times(value, _mm512_load_si512(&kWeights[lanes]));
}

// The CRC, in ISA-L's form, of a message whose weighed bytes have this sum: 96 bits in each quarter
// are added up and divided by the polynomial (Barrett).
VERIROCE_WIDE_INLINE inline std::uint32_t divided(__m512i sum) {
    constexpr __mmask8 all = 0xFF; // without maskz, g++ 12 warns of its own header
    const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(all, sum, 0),
                                          _mm512_maskz_extracti64x4_epi64(all, sum, 1));
    const __m128i three_words =
        _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i low_word = _mm_set_epi32(0, 0, 0, -1);
    const __m128i down = _mm_set_epi64x(0, factor(64));
    const __m128i two_words =
        _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(three_words, low_word), down, 0x00),
                      _mm_srli_si128(three_words, 4));
    const __m128i division =
        _mm_set_epi64x(static_cast<long long>(kPolynomial), static_cast<long long>(kQuotient));
    const __m128i quotient =
        _mm_clmulepi64_si128(_mm_and_si128(two_words, low_word), division, 0x00);
    const __m128i taken = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_word), division, 0x10);
    return ~static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(two_words, taken), 1));
}

VERIROCE_WIDE_INLINE inline __m512i carried(const std::byte* from, std::byte* to) {
    const __m512i value = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, value);
    return value;
}

// `size` is what foldable() says.
VERIROCE_WIDE std::uint32_t copy_and_fold(std::uint32_t seed, const std::byte* from, std::byte* to,
                                          std::size_t size) {
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
    return divided(_mm512_xor_si512(_mm512_xor_si512(weighed(a, 3), weighed(b, 2)),
                                    _mm512_xor_si512(weighed(c, 1), weighed(d, 0))));
}

VERIROCE_WIDE_INLINE inline __m512i begun(const MaskedHead& head, std::ptrdiff_t at,
                                          __m512i message) {
    const __m512i masked = _mm512_or_si512(message, _mm512_loadu_si512(head.ones(at)));
    return _mm512_xor_si512(masked, _mm512_loadu_si512(head.begun(at)));
}

// Zeros in front of a message count for nothing: so it ends where a register ends.
VERIROCE_WIDE std::uint32_t sum_up(const MaskedHead& head, const std::byte* message,
                                   std::size_t size) {
    std::size_t lanes = (size + kLane - 1) / kLane;
    auto at = static_cast<std::ptrdiff_t>(size) - static_cast<std::ptrdiff_t>(lanes * kLane);
    // What is masked out is not read.
    const __m512i first = _mm512_maskz_loadu_epi8(~__mmask64{0} << -at, message + at);
    __m512i sum = weighed(begun(head, at, first), --lanes);
    constexpr auto lane = static_cast<std::ptrdiff_t>(kLane);
    if (lanes != 0) {
        at += lane;
        const __m512i second = begun(head, at, _mm512_loadu_si512(message + at));
        sum = _mm512_xor_si512(sum, weighed(second, --lanes));
    }
    while (lanes != 0) {
        at += lane;
        sum = _mm512_xor_si512(sum, weighed(_mm512_loadu_si512(message + at), --lanes));
    }
    return divided(sum);
}

#undef VERIROCE_TARGET
#undef VERIROCE_WIDE
#undef VERIROCE_WIDE_INLINE

} // namespace

const bool kAvailable =
    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;

std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    assert(bytes.size() == foldable(bytes.size()) && to.size() >= bytes.size());
    return copy_and_fold(seed, bytes.data(), to.data(), bytes.size());
}

std::uint32_t crc32(const MaskedHead& head, Bytes message) {
    assert(message.size() <= kMostLanes * kLane);
    return sum_up(head, message.data(), message.size());
}

} // namespace veriroce::wire::wide
#else
namespace veriroce::wire::wide {

const bool kAvailable = false;

std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to) {
    return copy_crc32_portably(seed, bytes, to);
}

std::uint32_t crc32(const MaskedHead& head, Bytes message) {
    return crc32_portably(head, message);
}

} // namespace veriroce::wire::wide
#endif
