// A testbed around the built-in engine in virtual time, for what comes between: a device that dies,
// a capture that loses packets, a mistake of ours.
#pragma once

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {

class TestbedAround : public Testbed {
  public:
    explicit TestbedAround(VirtualTestbedOptions device = right_engine())
        : inner_(std::move(device)) {}

    [[nodiscard]] Environment environment(const Network& network) const override {
        return inner_.environment(network);
    }
    [[nodiscard]] std::optional<std::string> lacks(const Network&) override { return std::nullopt; }
    [[nodiscard]] bool link_capable(std::string_view) const override { return true; }
    [[nodiscard]] RunInfo info() const override { return inner_.info(); }
    [[nodiscard]] std::optional<std::string> broken() const override { return std::nullopt; }
    CaseResult play(const script::Case& script, const script::Run& run,
                    const Environment& environment) final {
        if (script.name == "sanity") return play_sanity(script, run, environment);
        if (script.name == "probe") return inner_.play(script, run, environment);
        ++played_;
        return play_case(script, run, environment);
    }
    // How many cases were begun, without sanity exchanges.
    [[nodiscard]] std::size_t played() const { return played_; }

  protected:
    virtual CaseResult play_case(const script::Case& script, const script::Run& run,
                                 const Environment& environment) {
        return inner_.play(script, run, environment);
    }
    // The exchange after each case that shows whether the device still answers.
    virtual CaseResult play_sanity(const script::Case& script, const script::Run& run,
                                   const Environment& environment) {
        return inner_.play(script, run, environment);
    }

  private:
    VirtualTestbed inner_;
    std::size_t played_ = 0;
};

} // namespace veriroce::test
