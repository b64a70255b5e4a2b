// The library of plans: each compiles, and the README has a line for each.
#include <catch2/catch.hpp>

#include <filesystem>

#include "conformance/script/script.hpp"
#include "tests/text.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::inject::tests {

TEST_CASE("plans: each one compiles, is laid out, and is in the README", "[inject]") {
    const std::filesystem::path folder =
        std::filesystem::path(VERIROCE_SOURCE_DIR) / "transport/inject/plans";
    const std::string page = house::read_text(folder / "README.md");
    std::size_t plans = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".faults") continue;
        const std::string text = house::read_text(entry.path());
        INFO(entry.path());
        const auto plan = script::load_injection(entry.path().string(), text);
        if (!plan) FAIL(plan.error().front().text(entry.path().string()));
        CHECK(fault::check(plan->rules).has_value());
        CHECK(script::format_plan("x.faults", text).value() == text);
        CHECK(page.find("`" + entry.path().stem().string() + "`") != std::string::npos);
        ++plans;
    }
    CHECK(plans >= 19);
}

} // namespace veriroce::inject::tests
