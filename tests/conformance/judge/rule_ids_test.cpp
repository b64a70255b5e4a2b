// Every rule that the judge's sources name is in the catalogue. The judge looks an id up when the
// rule fires, which a test may never make it do.
#include <catch2/catch.hpp>

#include <regex>

#include "conformance/rules/rules.hpp"
#include "tests/text.hpp"

namespace veriroce::judge::test {
namespace {

// The string literals that look like the id of a rule.
std::vector<std::string> ids_in(const std::string& source) {
    static const std::regex id("\"([A-Z][A-Z0-9]*-[0-9][0-9A-Za-z.]*)\"");
    std::vector<std::string> found;
    for (std::sregex_iterator at(source.begin(), source.end(), id), end; at != end; ++at)
        found.push_back((*at)[1]);
    return found;
}

} // namespace

TEST_CASE("judge: every rule that its sources name is in the catalogue", "[judge]") {
    std::size_t ids = 0;
    const std::string root = VERIROCE_SOURCE_DIR;
    for (const auto& path : house::files_under(root + "/conformance/judge")) {
        if (path.extension() != ".cpp" && path.extension() != ".hpp") continue;
        for (const std::string& id : ids_in(house::read_text(path))) {
            INFO(path << " names " << id);
            CHECK(rules::catalogue().contains(id));
            ++ids;
        }
    }
    CHECK(ids > 80);
    CHECK(ids_in("report(bad ? \"RDR-1\" : \"ACK-99\", \"no id\")") ==
          std::vector<std::string>{"RDR-1", "ACK-99"});
    CHECK_FALSE(rules::catalogue().contains("RDR-1"));
    CHECK_FALSE(rules::catalogue().contains("ACK-99"));
}

} // namespace veriroce::judge::test
