// tests/interop/userspace.sh, with the built-in engine as the device in user space. Needs root.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

constexpr std::string_view kAgent =
    "exec veriroce agent --backend engine --interface \\$DUT_INTERFACE --address \\$DUT_ADDRESS "
    "--listen \\$DUT_LISTEN";

Outcome play(const Workplace& place, const std::string& settings, const std::string& before,
             const std::string& arguments) {
    return place.run(settings +
                     " VERIROCE=" VERIROCE_BINARY_DIR
                     "/veriroce timeout -k 5 120 " VERIROCE_SOURCE_DIR
                     "/tests/interop/userspace.sh out \"" +
                     before + std::string(kAgent) + "\" " + arguments);
}

std::string report_of(const Workplace& place, const std::string& part) {
    return house::read_text(place.folder() / "out" / part / "results.json");
}

bool complete(const std::string& report) {
    return report.find("\"complete\": true") != std::string::npos;
}

} // namespace

TEST_CASE("live: userspace.sh plays a device in parts, and goes on where it stopped", "[program]") {
    const Workplace place;
    const std::string settings =
        GENERATE(as<std::string>{}, "USERSPACE_PARTS=2", "USERSPACE_PARTS=2 USERSPACE_JOBS=2",
                 "USERSPACE_PARTS=2 USERSPACE_KERNEL=1");
    const Outcome first = play(place, settings, "", "rsp/gap-nak rsp/duplicate-send");
    INFO(settings << "\n" << first.out << first.err);
    CHECK(first.code == 0);
    const std::string one = report_of(place, "1");
    const std::string two = report_of(place, "2");
    CHECK(complete(one));
    CHECK(complete(two));
    CHECK(one.find("\"PASS\"") != std::string::npos);

    // A part that a signal cut short is played again, the other one stays.
    const Outcome cut = place.run("sed -i 's/\"complete\": true/\"complete\": false/' "
                                  "out/2/results.json && echo mine >out/1/mark && "
                                  "echo mine >out/2/mark");
    REQUIRE(cut.code == 0);
    const Outcome again = play(place, settings, "", "rsp/gap-nak rsp/duplicate-send");
    INFO(again.out << again.err);
    CHECK(again.code == 0);
    CHECK(report_of(place, "1") == one);
    CHECK(complete(report_of(place, "2")));
    CHECK(place.listing().contains("out/1/mark"));
    CHECK_FALSE(place.listing().contains("out/2/mark"));
}

TEST_CASE("live: userspace.sh starts a device that died again", "[program]") {
    const Workplace place;
    const Outcome outcome = play(place, "USERSPACE_PARTS=1",
                                 "[ -e died ] || { touch died; exec timeout -s KILL 3 "
                                 "veriroce agent --backend engine --interface "
                                 "\\$DUT_INTERFACE --address \\$DUT_ADDRESS --listen "
                                 "\\$DUT_LISTEN; }; ",
                                 "rsp/gap-nak --repeat 300");
    INFO(outcome.out << outcome.err << house::read_text(place.folder() / "out/1/console.txt"));
    CHECK(outcome.code == 0); // every run was played
    CHECK(outcome.out.find("299 passed, 1 failed") != std::string::npos);
    CHECK(report_of(place, "1").find("--dut-reset had to bring it back") != std::string::npos);
}

TEST_CASE("live: userspace.sh says what keeps a device from starting, and when time is over",
          "[program]") {
    const Workplace place;
    const Outcome broken = play(place, "", "echo no such model >&2; exit 1; ", "");
    INFO(broken.out << broken.err);
    CHECK(broken.code == 3);
    CHECK(broken.err.find("the agent does not listen:\nno such model") != std::string::npos);
    const Outcome late =
        play(place, "USERSPACE_PARTS=3 USERSPACE_SECONDS=1", "", "rsp/gap-nak --repeat 30000");
    INFO(late.out << late.err);
    CHECK(late.code == 1);
    CHECK(late.out == "userspace: part 1 of 3 is incomplete\n");
    CHECK_FALSE(complete(report_of(place, "1")));
    CHECK(report_of(place, "1").find("\"PASS\"") != std::string::npos);
}

} // namespace veriroce::program::test
