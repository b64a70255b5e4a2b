// The second blind sample of lawful oddities. Inside the room only.
#pragma once

#include "conformance/mutants/mutants.hpp"

namespace veriroce::mutants {

std::span<const Mutant> lawful_blind2_answers();
std::span<const Mutant> lawful_blind2_requests();

} // namespace veriroce::mutants
