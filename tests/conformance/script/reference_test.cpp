// Every example in the project's pages compiles, and has the layout of `script format`.
#include "tests/conformance/script/pages.hpp"
#include "tests/conformance/script/text.hpp"

namespace veriroce::script::tests {
namespace {

void check_laid_out(const std::string& example) {
    const bool whole = example.starts_with("rule");
    const std::string text = whole ? example : with_header(example);
    INFO(text);
    const auto laid = format("group/x.roce", text);
    if (!laid) FAIL(all_text(laid.error()));
    CHECK(*laid == text);
}

} // namespace

TEST_CASE("reference: every example compiles and is laid out", "[script]") {
    const auto examples = blocks(reference(), "roce");
    REQUIRE(examples.size() >= 10);
    for (const std::string& example : examples)
        check_laid_out(example);
}

TEST_CASE("reference: so does every example of every other page", "[script]") {
    std::vector<std::string> with_examples;
    for (const std::filesystem::path& path : pages()) {
        INFO(path);
        const std::string page = house::read_text(path);
        const auto examples = blocks(page, "roce");
        const auto scripts = indented_scripts(page);
        for (const std::string& example : examples)
            check_laid_out(example);
        for (const std::string& script : scripts)
            check_laid_out(script);
        if (examples.empty() && scripts.empty()) continue;
        const std::filesystem::path root(VERIROCE_SOURCE_DIR);
        with_examples.push_back(std::filesystem::relative(path, root).string());
        if (with_examples.back() == "conformance/script/README.md") CHECK(scripts.size() == 2);
    }
    CHECK(with_examples == std::vector<std::string>{"README.md", "conformance/script/README.md"});
}

TEST_CASE("reference: every fault plan of every page is read", "[script]") {
    std::size_t read = 0;
    for (const std::filesystem::path& path : pages()) {
        for (const std::string& plan : blocks(house::read_text(path), "faults")) {
            INFO(path << "\n" << plan);
            const auto rules = load_injection("x.faults", plan);
            if (!rules) FAIL(all_text(rules.error()));
            CHECK_FALSE(rules->rules.empty());
            ++read;
        }
    }
    CHECK(read >= 1);
}

TEST_CASE("reference: every field that can be written is named", "[script]") {
    const std::string page = reference();
    for (const auto& info : veriroce::wire::field_table()) {
        INFO(info.name);
        CHECK(page.find(info.name) != std::string::npos);
    }
}

} // namespace veriroce::script::tests
