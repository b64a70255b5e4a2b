// results.json as it grows: complete at every instant, and the same in the end as in one piece.
#include <catch2/catch.hpp>

#include <filesystem>

#include <boost/json.hpp>

#include "conformance/commands/results_file.hpp"
#include "reports/json.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"

namespace veriroce::test {
namespace {

namespace fs = std::filesystem;

interpreter::CaseResult numbered(std::size_t number) {
    interpreter::CaseResult result;
    result.id = "group/case" + std::to_string(number);
    result.title = std::string(number % 7, 'x');
    return result;
}

struct Growing {
    house::TemporaryFolder folder;
    std::string path = folder.file("results.json");
    plan::RunResults results;
    commands::ResultsFile file{path};

    [[nodiscard]] commands::ResultsFile::Written add() {
        results.cases.push_back(numbered(results.cases.size()));
        results.timing.cases.push_back({results.cases.back().id, wire::Duration(1)});
        // What came later than the case is in the tail.
        results.run.notes.push_back("after " + results.cases.back().id);
        return file.add(results);
    }
    [[nodiscard]] std::size_t cases_there() const {
        return boost::json::parse(house::read_text(path)).at("cases").as_array().size();
    }
};

} // namespace

TEST_CASE("results file: every case is there as soon as it is added", "[test]") {
    Growing growing;
    growing.results.run.complete = false;
    REQUIRE(growing.file.begin(growing.results).has_value());
    CHECK(growing.cases_there() == 0);
    for (std::size_t i = 1; i <= 20; ++i) {
        REQUIRE(growing.add().has_value());
        CHECK(growing.cases_there() == i);
    }
    growing.results.run.complete = true;
    growing.results.run.notes.clear(); // the end may be shorter
    REQUIRE(growing.file.finish(growing.results).has_value());
    CHECK(house::read_text(growing.path) == reports::results_json(growing.results));
    CHECK(growing.folder.entries() == 1);
}

TEST_CASE("results file: a run without cases, and one that replaces a longer file", "[test]") {
    Growing growing;
    REQUIRE(growing.file.begin(growing.results).has_value());
    for (int i = 0; i < 9; ++i)
        REQUIRE(growing.add().has_value());
    Growing empty;
    fs::copy_file(growing.path, empty.path);
    REQUIRE(empty.file.begin(empty.results).has_value());
    REQUIRE(empty.file.finish(empty.results).has_value());
    CHECK(house::read_text(empty.path) == reports::results_json(empty.results));
}

TEST_CASE("results file: cases that found no room come with the next one", "[test]") {
    Growing growing;
    REQUIRE(growing.file.begin(growing.results).has_value());
    REQUIRE(growing.add().has_value());
    // In place of the spare file, something that nothing can be written to.
    const std::string spare = growing.path + ".part";
    fs::remove(spare);
    fs::create_directory(spare);
    CHECK_FALSE(growing.add().has_value());
    CHECK_FALSE(growing.add().has_value());
    CHECK(growing.cases_there() == 1);
    fs::remove(spare);
    REQUIRE(growing.add().has_value());
    CHECK(growing.cases_there() == 4);
    REQUIRE(growing.file.finish(growing.results).has_value());
    CHECK(house::read_text(growing.path) == reports::results_json(growing.results));
}

} // namespace veriroce::test
