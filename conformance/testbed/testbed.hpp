// The testbed: where cases are played. Virtual time with the built-in engine, or a real link with a
// real device; the interpreter is the same.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/script/ast.hpp"
#include "conformance/testbed/run_info.hpp"

namespace veriroce::testbed {

// Whether the device was there when it was first looked for, or came back later.
enum class FoundAgain : std::uint8_t { AtOnce, Later };

// What the link shows of a device whose agent is gone.
enum class SignOfLife : std::uint8_t { Answers, Silent, Unknown };

class Testbed {
  public:
    Testbed() = default;
    Testbed(const Testbed&) = delete;
    Testbed& operator=(const Testbed&) = delete;
    virtual ~Testbed() = default;

    // Where the next case is played. IPv4 and IPv6 are two settings of one testbed, and so is every
    // VLAN.
    [[nodiscard]] virtual interpreter::Environment
    environment(const interpreter::Network& network) const = 0;
    // Why cases cannot be played in this network; nothing if they can. Ask before `environment`:
    // the device may have to be looked for there.
    [[nodiscard]] virtual std::optional<std::string> lacks(const interpreter::Network& network) = 0;
    // Whether packets may be lost, late, repeated or damaged on the way: then a finding that this
    // could explain counts only if it shows again.
    [[nodiscard]] virtual bool may_lose_packets() const { return false; }
    // Whether each play has a device and a wire of its own, and nothing can be to blame but that
    // device: then plays may be made at the same time, in several threads.
    [[nodiscard]] virtual bool plays_stand_alone() const { return false; }
    // What belongs to the link rather than to the device: "raw", "hwtime".
    [[nodiscard]] virtual bool link_capable(std::string_view word) const = 0;
    // Plays until the interpreter has finished, or until the testbed cannot go on.
    virtual interpreter::CaseResult play(const script::Case& script, const script::Run& run,
                                         const interpreter::Environment& environment) = 0;
    // Called before each case: measures again what the last measurement is too old for.
    virtual void keep_calibrated() {}
    // A sentence once the testbed cannot go on: the agent is gone, the interface vanished.
    [[nodiscard]] virtual std::optional<std::string> broken() const = 0;
    // The device was lost, or somebody has revived it: looks for it again, for so long at most. A
    // testbed whose every case has a device of its own has nothing to look for.
    virtual std::expected<FoundAgain, std::string> find_again(wire::Duration /*patience*/) {
        return FoundAgain::AtOnce;
    }
    // Asks for the device on the link, without its agent.
    virtual SignOfLife sign_of_life() { return SignOfLife::Unknown; }

    [[nodiscard]] virtual RunInfo info() const = 0;
    // What changed at the testbed since the first case, for the report.
    [[nodiscard]] virtual std::vector<std::string> changes() const { return {}; }
};

} // namespace veriroce::testbed
