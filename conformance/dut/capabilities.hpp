// What the capabilities of a hello mean, whoever reports them.
//
// Source: conformance/agent/README.md, "Capabilities and traits".
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/dut/device_methods.hpp"

namespace veriroce::dut {

// Adds the words that follow from the reported ones: `mw` from `mw1` or `mw2`. An agent that does
// not say that it probed may know only the words of the first contract, in which `mw` meant both
// types, and resetting QPs, querying them and a path MTU of 256 needed no word.
void complete(Welcome& welcome);

// With a word go the words that follow from it: `mw` takes `mw1` and `mw2` along.
void remove_capability(Welcome& welcome, std::string_view word);
void add_capability(Welcome& welcome, std::string_view word);

// What a user chose of a device; everything where nothing is chosen.
struct Chosen {
    std::optional<std::uint8_t> port;
    std::vector<std::uint32_t> gids; // by index
};

// Puts the chosen port first, and leaves it no GIDs but the chosen ones. The error is one sentence
// that says what there is.
std::expected<void, std::string> choose(Welcome& welcome, const Chosen& chosen);

// A VLAN in which the first port has RoCEv2 addresses of both IP versions; nothing if there is
// none.
std::optional<std::uint16_t> vlan_with_both(const Welcome& welcome);

} // namespace veriroce::dut
