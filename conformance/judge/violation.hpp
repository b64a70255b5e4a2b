// What the judge finds, as data: the rule that a device broke, what was measured, what the rule
// allows, how sure that is, and the packets that show it. `text_of` is the one place that makes a
// sentence of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::judge {

// What would explain the packets without any device having broken the rule. A violation is certain
// when Assumptions rules all of them out.
enum class Excuse : std::uint8_t {
    CaptureLoss,  // the capture lacks a packet that passed it
    Beginning,    // the capture lacks what came before its first packet
    NetworkLoss,  // the network lost a packet after it had passed the capture
    NetworkOrder, // a packet overtook another on its way to the capture
    NetworkCopy,  // the network delivered a packet twice
    Damage,       // a packet was changed on its way, and its ICRC was not checked
    Rewritten,    // a switch changed bits that the ICRC does not cover
    InFlight,     // it had left its sender before what it should have waited for came there
    NewLife,      // the QP was created again under the same number, with other PSNs
    Reconnect,    // the same, even with the same PSNs
    Slow,         // the device takes longer to answer
    Closed,       // the QP had ended: its application closed it, or its own requests failed
    WrongPair,    // the two QPs that were taken for a connection are not connected
};
inline constexpr std::size_t kExcuses = 13;
std::string_view text_of(Excuse excuse); // "the capture lacks a packet"

class Excuses {
  public:
    constexpr Excuses() = default;
    template <typename... Each>
    constexpr explicit Excuses(Each... each)
        : bits_(static_cast<std::uint16_t>((0U | ... | bit(each)))) {}

    [[nodiscard]] constexpr bool has(Excuse excuse) const { return (bits_ & bit(excuse)) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    [[nodiscard]] constexpr Excuses without(Excuse excuse) const {
        Excuses rest = *this;
        rest.bits_ = static_cast<std::uint16_t>(rest.bits_ & ~bit(excuse));
        return rest;
    }

  private:
    static constexpr unsigned bit(Excuse excuse) { return 1U << static_cast<unsigned>(excuse); }
    std::uint16_t bits_ = 0;
};

enum class Certainty : std::uint8_t {
    Certain,     // no excuse is left
    Possible,    // one is
    Undecidable, // what would decide it is not known, or no longer
};
std::string_view name_of(Certainty certainty); // "certain", "possible", "undecidable"

// The packets that prove it, the one that showed it first. By the numbers that the caller gave.
struct Evidence {
    static constexpr std::size_t kCapacity = 4;
    std::array<std::uint64_t, kCapacity> numbers{};
    std::size_t size = 0;

    Evidence() = default;
    explicit Evidence(std::uint64_t number) { add(number); }
    Evidence(std::uint64_t shown, std::uint64_t by) : Evidence(shown) { add(by); }
    void add(std::uint64_t number) { // each packet once
        const auto end = numbers.begin() + std::ptrdiff_t(size);
        if (size == kCapacity || number == 0 || std::find(numbers.begin(), end, number) != end)
            return;
        numbers[size++] = number;
    }
};

struct Violation {
    std::string_view rule; // of the catalogue
    rules::Level level = rules::Level::Must;
    Certainty certainty = Certainty::Certain;
    Excuses excuses;              // those that are left
    wire::IpAddress device;       // that broke it
    std::uint64_t connection = 0; // flow::Connection::id; 0: none
    std::string ends; // "10.77.0.1 QP 0x11 - 10.77.0.2 QP 0x12"; empty without connection
    Evidence packets;
    std::string measured; // what the packets show, as a short phrase: "MSN is 0"
    std::string allowed;  // what the rule allows: "MSN must be 1"
};
// "MSN is 0; MSN must be 1": without a full stop.
std::string text_of(const Violation& violation);

} // namespace veriroce::judge
