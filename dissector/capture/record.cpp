#include "dissector/capture/record.hpp"

#include <algorithm>
#include <limits>

#include "dissector/capture/pcapng_options.hpp"

namespace veriroce::capture {
namespace {

__extension__ using Wide = __int128;

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

constexpr Wide power_of_ten(unsigned exponent) {
    Wide value = 1;
    for (unsigned i = 0; i < exponent; ++i)
        value *= 10;
    return value;
}

Wide scaled(const TimeScale& scale, std::uint64_t units) {
    if (scale.binary) {
        // Beyond any clock: 2^64 seconds, or a unit smaller than 2^-63 seconds.
        if (scale.exponent > 63) return 0;
        return (Wide{units} * Wide{kNanosecondsPerSecond}) >> scale.exponent;
    }
    if (scale.exponent <= 9) return Wide{units} * power_of_ten(9U - scale.exponent);
    if (scale.exponent > 28) return 0;
    return Wide{units} / power_of_ten(scale.exponent - 9U);
}

} // namespace

std::int64_t TimeScale::nanoseconds(std::uint64_t units) const {
    using Limits = std::numeric_limits<std::int64_t>;
    const Wide total = scaled(*this, units) + Wide{offset_s} * Wide{kNanosecondsPerSecond};
    return static_cast<std::int64_t>(std::clamp<Wide>(total, Limits::min(), Limits::max()));
}

std::vector<std::string_view> comments_of(const Record& record) {
    std::vector<std::string_view> comments;
    OptionList options(record.options, record.order);
    while (const std::optional<Option> next = options.next()) {
        if (next->code != option::kComment) continue;
        comments.emplace_back(reinterpret_cast<const char*>(next->value.data()),
                              next->value.size());
    }
    return comments;
}

Direction direction_of(const Record& record) {
    OptionList options(record.options, record.order);
    while (const std::optional<Option> next = options.next()) {
        if (next->code != option::kPacketFlags || next->value.size() != 4) continue;
        switch (record.order.u32(next->value, 0) & 0x3) {
        case 1: return Direction::Inbound;
        case 2: return Direction::Outbound;
        default: return Direction::Unknown;
        }
    }
    return Direction::Unknown;
}

} // namespace veriroce::capture
