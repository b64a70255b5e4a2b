// A lawful use under which a defect shows, and the test that it does.
#pragma once

#include <initializer_list>

#include "tests/conformance/mutants/stage.hpp"

namespace veriroce::mutants::test {

// What happens, and the first line in which the two devices differ; "" is the end.
struct Difference {
    std::string_view name; // of the mutant
    void (*act)(Stage&);
    std::string_view right;
    std::string_view wrong;
    Scene scene{};
};

using Differences = std::vector<Difference> (*)();

// Each of them is as it says, and each defect of the sample has one.
void check_differences(std::initializer_list<Differences> groups, std::span<const Mutant> sample);

// --- what the plays of several samples do

void plain_send(Stage& stage);
void post_receive(Stage& stage);
wire::Packet cnp_of(Stage& stage); // that arrives
// A SEND of four bytes that revokes a key.
inline constexpr std::uint8_t kSendOnlyWithInvalidate = 0x17;
wire::Packet revoking(Stage& stage, std::uint8_t opcode, std::uint32_t psn, wire::Rkey key);
// A FLUSH with PSN 100, which the QP and the region allow.
wire::Packet flush_of_eight(Stage& stage);

} // namespace veriroce::mutants::test
