// A bench around the built-in engine in virtual time, for what comes between: a device that dies, a
// capture that loses packets, a mistake of ours.
#pragma once

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::runner::test {

class BenchAround : public Bench {
  public:
    explicit BenchAround(VirtualBenchOptions device = right_engine()) : inner_(std::move(device)) {}

    [[nodiscard]] Setting setting(const Network& network) const override {
        return inner_.setting(network);
    }
    [[nodiscard]] std::optional<std::string> lacks(const Network&) override { return std::nullopt; }
    [[nodiscard]] bool link_capable(std::string_view) const override { return true; }
    [[nodiscard]] RunInfo info() const override { return inner_.info(); }
    [[nodiscard]] std::optional<std::string> broken() const override { return std::nullopt; }
    CaseResult play(const script::Case& script, const script::Run& run,
                    const Setting& setting) final {
        if (script.name == "sanity") return play_sanity(script, run, setting);
        ++played_;
        return play_case(script, run, setting);
    }
    // How many cases were begun, without sanity exchanges.
    [[nodiscard]] std::size_t played() const { return played_; }

  protected:
    virtual CaseResult play_case(const script::Case& script, const script::Run& run,
                                 const Setting& setting) {
        return inner_.play(script, run, setting);
    }
    // The exchange behind each case that shows whether the device still answers.
    virtual CaseResult play_sanity(const script::Case& script, const script::Run& run,
                                   const Setting& setting) {
        return inner_.play(script, run, setting);
    }

  private:
    VirtualBench inner_;
    std::size_t played_ = 0;
};

} // namespace veriroce::runner::test
