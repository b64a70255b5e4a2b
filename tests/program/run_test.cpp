// `veriroce test` from the outside: its reports, and what a signal leaves of them.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {

TEST_CASE("run: a report has results.json and junit.xml", "[program]") {
    const Workplace place;
    const Outcome outcome = place.run("veriroce test rsp --over psn=wrap --report out");
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(place.listing().contains("out/results.json"));
    CHECK(place.listing().contains("out/junit.xml"));
    const Outcome counted = place.run("python3 -c \"import xml.etree.ElementTree as t, json; "
                                      "print(t.parse('out/junit.xml').getroot().get('tests') == "
                                      "str(len(json.load(open('out/results.json'))['cases'])))\"");
    CHECK(counted.out == "True\n");
}

} // namespace veriroce::program::test
