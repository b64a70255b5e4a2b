// The AETH syndrome: what an acknowledge says, and the tables of its timer and credit codes.
//
// Source: rules ACK-10, RNR-07, TMO-01; the tables are typed again in syndrome_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace veriroce::wire {

// Bits 6:5 of the syndrome.
enum class AckKind : std::uint8_t { Ack, RnrNak, Reserved, Nak };

// Bits 4:0 of a NAK. Codes above InvalidRdRequest are reserved (REQ-17).
enum class NakCode : std::uint8_t {
    PsnSequence = 0,
    InvalidRequest = 1,
    RemoteAccess = 2,
    RemoteOperational = 3,
    InvalidRdRequest = 4,
};

struct Syndrome {
    std::uint8_t value = 0;

    friend constexpr bool operator==(Syndrome, Syndrome) = default;

    [[nodiscard]] constexpr AckKind kind() const { return static_cast<AckKind>(value >> 5 & 0x3); }
    // Credit code, timer code or NAK code, by kind.
    [[nodiscard]] constexpr std::uint8_t code() const { return value & 0x1F; }
    // Nothing for a syndrome that is not a NAK, and for reserved codes.
    [[nodiscard]] constexpr std::optional<NakCode> nak_code() const {
        if (kind() != AckKind::Nak || code() > 4) return std::nullopt;
        return static_cast<NakCode>(code());
    }

    static constexpr Syndrome ack(std::uint8_t credit_code) {
        return {static_cast<std::uint8_t>(credit_code & 0x1F)};
    }
    static constexpr Syndrome rnr(std::uint8_t timer_code) {
        return {static_cast<std::uint8_t>(0x20 | (timer_code & 0x1F))};
    }
    static constexpr Syndrome nak(NakCode code) {
        return {static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code))};
    }
};

inline constexpr std::uint8_t kNoCredits = 31; // "no end-to-end credits" (ACK-10, REQ-30)

std::string_view name_of(NakCode code); // of the script language: "PSN_SEQUENCE"
std::optional<NakCode> nak_code_by_name(std::string_view name);

// How long an RNR NAK with this timer code (0..31) asks the requester to wait (RNR-08).
std::chrono::nanoseconds rnr_time(std::uint8_t timer_code);

// T = 4.096 us * 2^n for n in 1..31; n = 0 means never, and has no value (TMO-01, TMO-02).
std::optional<std::chrono::nanoseconds> ack_timeout(std::uint8_t code);

// Credits that a credit code names; nothing for 31.
std::optional<std::uint32_t> credits_of(std::uint8_t credit_code);
// The largest code whose credits are at most this many.
std::uint8_t credit_code_of(std::uint32_t credits);

} // namespace veriroce::wire
