// A lawful use under which a defect shows, and the test that it does.
#pragma once

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

// Each of them is as it says, and each defect of the sample has one.
void check_differences(const std::vector<Difference>& list, std::span<const Mutant> sample);

} // namespace veriroce::mutants::test
