// What the language has and the interpreter cannot play is named at its place.
#include "conformance/interpreter/playable.hpp"

#include "tests/conformance/script/examples.hpp"
#include "tests/conformance/script/text.hpp"

namespace veriroce::interpreter::test {
namespace {

std::vector<script::Diagnostic> refused(std::string_view text) {
    const auto compiled = script::compile("group/x.roce", text);
    if (!compiled) FAIL(script::tests::all_text(compiled.error()));
    return unplayable_lines(*compiled);
}

} // namespace

TEST_CASE("playable: the suite's cases can be played", "[interpreter]") {
    const auto files = script::tests::suite();
    REQUIRE_FALSE(files.empty());
    for (const auto& file : files) {
        INFO(file.path);
        CHECK(script::tests::all_text(refused(file.text)) == "");
    }
}

TEST_CASE("playable: what cannot be played is named at its place", "[interpreter]") {
    CHECK(refused(script::tests::design_examples[5].text).empty()); // `judged` can
    const auto said = refused(script::tests::with_header(
        "tester answers\ndut mr a len=4KiB\ndut mw w on=a type=2\n"
        "> PFC class=3 quanta=65535\n> CM_REQ cm.serviceid=1\n"
        "any\n  dropped\nor\n  tester modify dscp=7\nend\ntester modify qkey=7\n",
        "tester address other\nqp type=UC\nqp vlan=7\ntester qp state=INIT\n"));
    REQUIRE(said.size() == 3);
    CHECK(said[0].message == "veriroce cannot run this yet: tester qp state=");
    CHECK(said[1].message == "veriroce cannot run this yet: tester modify dscp=");
    CHECK(said[1].span.line == 17);
    CHECK(said[1].source == "  tester modify dscp=7");
    CHECK(said[2].message == "veriroce cannot run this yet: tester modify qkey=");
}

} // namespace veriroce::interpreter::test
