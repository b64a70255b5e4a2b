// Every example in the reference compiles, and stands there as `script format` lays it out.
#include "tests/conformance/script/text.hpp"

namespace veriroce::script::tests {
namespace {

// The texts of the fenced blocks of a language in a Markdown page.
std::vector<std::string> blocks(std::string_view page, std::string_view language) {
    std::vector<std::string> found;
    bool inside = false;
    bool wanted = false;
    for (const auto line : house::lines(page)) {
        if (line.starts_with("```")) {
            inside = !inside;
            wanted = inside && line.substr(3) == language;
            if (wanted) found.emplace_back();
        } else if (wanted) {
            found.back() += std::string(line) + "\n";
        }
    }
    return found;
}

std::string reference() {
    return house::read_text(std::filesystem::path(VERIROCE_SOURCE_DIR) /
                            "conformance/script/README.md");
}

} // namespace

TEST_CASE("reference: every example compiles and is laid out", "[script]") {
    const auto examples = blocks(reference(), "roce");
    REQUIRE(examples.size() >= 10);
    for (const std::string& example : examples) {
        const bool whole = example.starts_with("rule");
        const std::string text = whole ? example : with_header(example);
        INFO(text);
        const auto laid = format("group/x.roce", text);
        if (!laid) FAIL(all_text(laid.error()));
        CHECK(*laid == text);
    }
}

TEST_CASE("reference: every fault plan is read", "[script]") {
    const auto plans = blocks(reference(), "faults");
    REQUIRE_FALSE(plans.empty());
    for (const std::string& plan : plans) {
        INFO(plan);
        const auto read = load_plan("x.faults", plan);
        if (!read) FAIL(all_text(read.error()));
        CHECK_FALSE(read->empty());
    }
}

TEST_CASE("reference: every field that can be written is named", "[script]") {
    const std::string page = reference();
    for (const auto& info : veriroce::wire::field_table()) {
        INFO(info.name);
        CHECK(page.find(info.name) != std::string::npos);
    }
}

} // namespace veriroce::script::tests
