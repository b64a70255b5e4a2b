#include "dissector/wire/syndrome.hpp"

#include <array>

namespace veriroce::wire {
namespace {

constexpr std::array<std::string_view, 5> kNakNames{
    "PSN_SEQUENCE", "INVALID_REQUEST", "REMOTE_ACCESS", "REMOTE_OPERATIONAL", "INVALID_RD_REQUEST",
};

// Credit codes and RNR timer codes climb by the same steps: 1, 2, 3, 4, 6, 8, 12, 16, 24, ...
// Credits count receives, timers count 0.01 ms.
constexpr std::uint32_t step(unsigned code) {
    if (code < 4) return code;
    return code % 2 == 0 ? 1U << (code / 2) : 3U << (code / 2 - 1);
}

constexpr std::uint8_t kLargestCreditCode = 30;
constexpr std::uint32_t kLongestRnrUnits = 65536; // timer code 0 is the longest: 655.36 ms
constexpr std::chrono::nanoseconds kRnrUnit = std::chrono::microseconds(10);
constexpr std::chrono::nanoseconds kAckTimeoutUnit(4096);

} // namespace

std::string_view name_of(NakCode code) {
    return kNakNames[static_cast<std::size_t>(code)];
}

std::optional<NakCode> nak_code_by_name(std::string_view name) {
    for (std::size_t i = 0; i < kNakNames.size(); ++i) {
        if (kNakNames[i] == name) return static_cast<NakCode>(i);
    }
    return std::nullopt;
}

std::chrono::nanoseconds rnr_time(std::uint8_t timer_code) {
    const unsigned code = timer_code & 0x1FU;
    return kRnrUnit * (code == 0 ? kLongestRnrUnits : step(code));
}

std::optional<std::chrono::nanoseconds> ack_timeout(std::uint8_t code) {
    if (code == 0 || code > 31) return std::nullopt;
    return kAckTimeoutUnit * (std::int64_t{1} << code);
}

std::optional<std::uint32_t> credits_of(std::uint8_t credit_code) {
    const unsigned code = credit_code & 0x1FU;
    if (code == kNoCredits) return std::nullopt;
    return step(code);
}

std::uint8_t credit_code_of(std::uint32_t credits) {
    std::uint8_t code = kLargestCreditCode;
    while (step(code) > credits)
        --code;
    return code;
}

} // namespace veriroce::wire
