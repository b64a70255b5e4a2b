// The rules that no case names, each under what a case would need: the table of the README.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::cases {

struct WithoutCase {
    std::string_view needed; // as in "needed: a fuzzer with a seed"
    std::string_view rules;  // ids, separated by spaces
};

std::span<const WithoutCase> rules_without_case();

} // namespace veriroce::cases
