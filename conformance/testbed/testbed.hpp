// The bench: where cases are played. Virtual time with the built-in engine, or a real link with a
// real device; the interpreter is the same.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::runner {

class Bench {
  public:
    Bench() = default;
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;
    virtual ~Bench() = default;

    // Where the next case is played. IPv4 and IPv6 are two settings of one bench, and so is every
    // VLAN.
    [[nodiscard]] virtual Setting setting(const Network& network) const = 0;
    // Why cases cannot be played in this network; nothing if they can. Ask before `setting`: the
    // device may have to be looked for there.
    [[nodiscard]] virtual std::optional<std::string> lacks(const Network& network) = 0;
    // What belongs to the link rather than to the device: "raw", "hwtime".
    [[nodiscard]] virtual bool link_capable(std::string_view word) const = 0;
    // Plays until the dialogue has finished, or until the bench cannot go on.
    virtual CaseResult play(const script::Case& script, const script::Run& run,
                            const Setting& setting) = 0;
    // Called before each case: measures again what the last measurement is too old for.
    virtual void keep_calibrated() {}
    // A sentence once the bench cannot go on: the agent is gone, the interface vanished.
    [[nodiscard]] virtual std::optional<std::string> broken() const = 0;
    // Somebody has revived the device: looks for it again, for a minute at most. A bench whose
    // every case has a device of its own has nothing to look for.
    virtual std::expected<void, std::string> find_again() { return {}; }

    [[nodiscard]] virtual RunInfo info() const = 0;
};

} // namespace veriroce::runner
