#include "conformance/mutants/mutants.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <map>
#include <set>

#include "conformance/rules/rules.hpp"
#include "tests/conformance/mutants/bench.hpp"
#include "tests/text.hpp"

namespace veriroce::mutants::test {

namespace {

std::vector<Mutant> all_and_lawful() {
    std::vector<Mutant> list(all().begin(), all().end());
    list.insert(list.end(), lawful().begin(), lawful().end());
    return list;
}

std::vector<Play> plays() {
    std::vector<Play> list;
    for (const auto some :
         {framing_plays, responder_plays, read_plays, requester_plays, lawful_plays}) {
        const auto group = some();
        list.insert(list.end(), group.begin(), group.end());
    }
    return list;
}

std::string run(const Play& play, const Mutant& device) {
    Bench bench(device, play.settings);
    play.act(bench);
    return bench.text();
}

std::string table(std::span<const Mutant> mutants) {
    std::string text;
    for (const auto& mutant : mutants) {
        text += fmt::format("| `{}` | {} | {} | {} |\n", mutant.name, mutant.rule,
                            mutant.passive ? "yes" : "no", mutant.description);
    }
    return text;
}

} // namespace

TEST_CASE("mutants: names differ and are found", "[mutants]") {
    std::set<std::string_view> names;
    for (const auto& mutant : all_and_lawful()) {
        CAPTURE(mutant.name);
        CHECK(names.insert(mutant.name).second);
        CHECK(mutant.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") ==
              std::string_view::npos);
        CHECK(mutant.description.ends_with('.'));
        const auto found = find(mutant.name);
        REQUIRE(found);
        CHECK(found->get().description == mutant.description);
    }
    CHECK(names.size() >= 40);
    CHECK_FALSE(find("no_such_mutant"));
}

TEST_CASE("mutants: rules exist, and defects break a MUST", "[mutants]") {
    for (const auto& mutant : all_and_lawful()) {
        CAPTURE(mutant.name, mutant.rule);
        CHECK(rules::catalogue().contains(mutant.rule));
    }
    for (const auto& mutant : all()) {
        CAPTURE(mutant.name, mutant.rule);
        const auto rule = rules::catalogue().find(mutant.rule);
        REQUIRE(rule);
        CHECK(rule->get().level == rules::Level::Must);
    }
}

TEST_CASE("mutants: each does what it is described to do where the right device does not",
          "[mutants]") {
    const Mutant right{};
    std::set<std::string_view> played;
    for (const auto& play : plays()) {
        CAPTURE(play.name);
        played.insert(play.name);
        const auto mutant = find(play.name);
        REQUIRE(mutant);
        CHECK(play.right != play.wrong);
        CHECK(run(play, right) == play.right);
        CHECK(run(play, mutant->get()) == play.wrong);
        // The same packets and times give the same behaviour.
        CHECK(run(play, mutant->get()) == play.wrong);
    }
    for (const auto& mutant : all_and_lawful()) {
        CAPTURE(mutant.name);
        CHECK(played.contains(mutant.name));
    }
}

TEST_CASE("mutants: the tables of the README are the lists", "[mutants]") {
    const auto readme =
        house::read_text(std::string(VERIROCE_SOURCE_DIR) + "/conformance/mutants/README.md");
    const std::string head = "| name | rule | passive | description |\n|---|---|---|---|\n";
    for (const auto& mutants : {all(), lawful()}) {
        const bool there = readme.find(head + table(mutants) + "\n") != std::string::npos;
        if (!there) UNSCOPED_INFO("the table should read\n" << head << table(mutants));
        CHECK(there);
    }
}

} // namespace veriroce::mutants::test
