// The library of plans: each compiles, and the README has a line and a page for each.
#include <catch2/catch.hpp>

#include <filesystem>

#include "conformance/script/script.hpp"
#include "tests/text.hpp"
#include "transport/fault/injector.hpp"
#include "transport/inject/plans.hpp"

namespace veriroce::inject::tests {

TEST_CASE("plans: each one compiles, is laid out, and is in the README", "[inject]") {
    const std::filesystem::path folder =
        std::filesystem::path(VERIROCE_SOURCE_DIR) / "transport/inject/plans";
    std::size_t plans = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".faults") continue;
        const std::string text = house::read_text(entry.path());
        INFO(entry.path());
        const auto plan = script::load_injection(entry.path().string(), text);
        if (!plan) FAIL(plan.error().front().text(entry.path().string()));
        CHECK(fault::check(plan->rules).has_value());
        CHECK(script::format_plan("x.faults", text).value() == text);
        const auto built_in = library_plan(entry.path().stem().string());
        REQUIRE(built_in);
        CHECK(built_in->text == text);
        CHECK_FALSE(built_in->summary.empty());
        CHECK(built_in->page.find("**A right device**: ") != std::string_view::npos);
        CHECK(built_in->page.find("**How to read it**: ") != std::string_view::npos);
        CHECK(built_in->page.find("\n## ") == std::string_view::npos);
        ++plans;
    }
    CHECK(plans >= 19);
    CHECK(library_plans().size() == plans);
    CHECK_FALSE(library_plan("README"));
}

} // namespace veriroce::inject::tests
