// What a run does to the network beyond the two hosts.
#include "conformance/interpreter/link_effects.hpp"

#include <catch2/catch.hpp>

#include "conformance/script/script.hpp"

using namespace veriroce;

namespace {

script::Run run_of(std::string_view body) {
    const auto compiled = script::compile("x.roce", "rule   ROB-01\ntitle  \"x\"\n"
                                                    "role   responder\n\n" +
                                                        std::string(body));
    REQUIRE(compiled.has_value());
    return compiled->runs.front();
}

} // namespace

TEST_CASE("link effects: PAUSE frames are found, also within blocks and faults", "[interpreter]") {
    for (const auto* body :
         {"> PFC  class=3 quanta=1\n", "repeat 2\n  > PFC  class=3 quanta=1\nend\n",
          "fault  pause class=3 quanta=1 when from=dut nth=1\nquiet\n"})
        CHECK(interpreter::sends_pause(run_of(body)));
    for (const auto* body : {"quiet\n", "> RAW  hex\"0180C2000001 000000000000 0800\"\n",
                             "fault  drop when from=dut nth=1\nquiet\n"})
        CHECK_FALSE(interpreter::sends_pause(run_of(body)));
}

TEST_CASE("link effects: a RAW frame to a group reaches everybody", "[interpreter]") {
    for (const auto* bytes : {"FFFFFFFFFFFF 020000000001 0800", "01005E000001 020000000001 0800"})
        CHECK(
            interpreter::sends_to_everybody(run_of("> RAW  hex\"" + std::string(bytes) + "\"\n")));
    for (const auto* bytes : {"000000000000 000000000000 0800", "020000000002 020000000001 0800"})
        CHECK_FALSE(
            interpreter::sends_to_everybody(run_of("> RAW  hex\"" + std::string(bytes) + "\"\n")));
    CHECK_FALSE(interpreter::sends_to_everybody(run_of("quiet\n")));
}
