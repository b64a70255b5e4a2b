// Several filters act as one.
#include <catch2/catch.hpp>

#include "conformance/mutants/filter_chain.hpp"

using namespace veriroce;
using namespace veriroce::mutants;

namespace {

// Shows each completion twice.
class Twice final : public engine::SurfaceFilter {
  public:
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        seen.insert(seen.end(), 2, one);
    }
};

// Shows no completion with an even id.
class OddOnly final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        return one.id % 2 == 1 ? std::optional(one) : std::nullopt;
    }
};

std::vector<engine::Completion> shown_by(FilterChain& chain, std::uint64_t id) {
    std::vector<engine::Completion> seen;
    chain.completions({.id = id}, seen);
    return seen;
}

} // namespace

TEST_CASE("a chain shows the completions that each of its filters shows", "[mutants]") {
    FilterChain chain;
    CHECK(shown_by(chain, 1).size() == 1);
    chain.add(std::make_unique<Twice>());
    chain.add(std::make_unique<Twice>());
    chain.add(std::make_unique<OddOnly>());
    CHECK(shown_by(chain, 1).size() == 4);
    CHECK(shown_by(chain, 2).empty());
}
