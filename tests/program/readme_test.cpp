// The verdicts that README.md shows are what the program says. Each indented block that begins with
// `$ build/release/veriroce test` or `... analyze` is run. A line that ends in " ..." shows the
// beginning of a line, and a line "..." alone stands for any number of lines.
#include <catch2/catch.hpp>

#include <vector>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

struct Example {
    std::string command; // as README has it, without its path
    std::vector<std::string> shown;
};

constexpr std::string_view prompt = "    $ build/release/";

bool shows_a_verdict(std::string_view line) {
    return line.starts_with(std::string(prompt) + "veriroce test ") ||
           line.starts_with(std::string(prompt) + "veriroce analyze ");
}

std::vector<Example> examples() {
    const std::filesystem::path root = VERIROCE_SOURCE_DIR;
    const std::string readme = house::read_text(root / "README.md");
    std::vector<Example> found;
    bool inside = false;
    for (const std::string_view line : house::lines(readme)) {
        const bool indented = line.starts_with("    ");
        if (shows_a_verdict(line)) {
            found.push_back({std::string(line.substr(prompt.size())), {}});
            inside = true;
        } else if (inside && (indented || line.empty())) {
            found.back().shown.emplace_back(indented ? line.substr(4) : line);
        } else {
            inside = false;
        }
    }
    for (Example& example : found) {
        while (!example.shown.empty() && example.shown.back().empty())
            example.shown.pop_back();
    }
    return found;
}

bool same(std::string_view shown, std::string_view said) {
    constexpr std::string_view cut = " ...";
    if (!shown.ends_with(cut)) return shown == said;
    return said.starts_with(shown.substr(0, shown.size() - cut.size()));
}

// Every shown line, in order; lines may be missing only at a "...".
void compare(const std::vector<std::string>& shown, const std::vector<std::string>& said) {
    std::size_t at = 0;
    bool gap = false;
    for (const std::string& line : shown) {
        if (line.find_first_not_of(" .") == std::string::npos && line.ends_with("...")) {
            gap = true;
            continue;
        }
        while (gap && at < said.size() && !same(line, said[at]))
            ++at;
        gap = false;
        INFO("README shows: " << line);
        REQUIRE(at < said.size());
        INFO("the program says: " << said[at]);
        CHECK(same(line, said[at]));
        ++at;
    }
}

} // namespace

TEST_CASE("readme: the verdicts that it shows are what the program says", "[program]") {
    const std::vector<Example> all = examples();
    REQUIRE(!all.empty());
    const Workplace place;
    for (const Example& example : all) {
        // Captures are named from the repository's root.
        std::string command = example.command;
        if (const std::size_t at = command.find(" pcaps/"); at != std::string::npos) {
            command.insert(at + 1, std::string(VERIROCE_SOURCE_DIR) + "/");
        }
        const Outcome outcome = place.run(command);
        INFO(example.command << "\n" << outcome.out << outcome.err);
        CHECK(outcome.code == 1);
        std::vector<std::string> said;
        for (const std::string_view line : house::lines(outcome.out))
            said.emplace_back(line);
        compare(example.shown, said);
    }
}

} // namespace veriroce::program::test
