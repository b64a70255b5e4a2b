#include "conformance/mutants/mutants.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <random>
#include <set>

#include "conformance/rules/rules.hpp"
#include "tests/conformance/mutants/bench.hpp"
#include "tests/part_of.hpp"
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

// Mostly RC, at PSNs where something is going on, with anything after the header.
wire::Packet anything(Bench& bench, std::mt19937& random) {
    const auto below = [&](std::uint32_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    auto packet = bench.packet(wire::Operation::Send, wire::Position::Only, 0xFFFFF8 + below(16),
                               below(4) == 0 ? 256 : below(300));
    packet.bth.opcode = static_cast<std::uint8_t>(below(8) == 0 ? below(256) : below(0x15));
    if (below(4) == 0) packet.bth.pad = static_cast<std::uint8_t>(below(4));
    packet.headers = packet.info().headers;
    if (!packet.info().carries_payload()) {
        packet.body = {};
        packet.bth.pad = 0;
    }
    packet.aeth = {.syndrome = {static_cast<std::uint8_t>(below(4) == 0 ? below(128) : 31)},
                   .msn = {below(16)}};
    packet.reth = {.virtual_address = Bench::base + 256 * below(8),
                   .rkey = bench.key(),
                   .dma_length = below(3) == 0 ? 768 : below(1024)};
    return packet;
}

// "`rsp/gap-nak`, `rsp/reordered` (judge alone)"
std::string cases_of(const Mutant& mutant) {
    std::string text;
    for (const Caught& pair : caught_by_cases(mutant)) {
        text += fmt::format("{}`{}`{}", text.empty() ? "" : ", ", pair.case_id,
                            pair.judge_alone ? " (judge alone)" : "");
    }
    return text.empty() ? "none" : text;
}

std::string passive_of(const Mutant& mutant) {
    if (!mutant.passive) return "";
    return *mutant.passive ? "yes" : "no";
}

std::string table_of_defects() {
    std::string text =
        "| name | rule | passive | caught by | description |\n|---|---|---|---|---|\n";
    for (const Mutant& mutant : all().first(all().size() - missing_checks().size())) {
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", mutant.name, mutant.rule,
                            passive_of(mutant), cases_of(mutant), mutant.description);
    }
    return text;
}

std::string table_of_missing_checks() {
    std::string text = "| name | rule | caught by |\n|---|---|---|\n";
    for (const Mutant& mutant : missing_checks())
        text += fmt::format("| `{}` | {} | {} |\n", mutant.name, mutant.rule, cases_of(mutant));
    return text;
}

std::string table_of_oddities() {
    std::string text = "| name | rule | passive | description |\n|---|---|---|---|\n";
    for (const Mutant& mutant : lawful()) {
        text += fmt::format("| `{}` | {} | {} | {} |\n", mutant.name, mutant.rule,
                            passive_of(mutant), mutant.description);
    }
    return text;
}

std::size_t caught() {
    return static_cast<std::size_t>(std::ranges::count_if(
        all(), [](const Mutant& mutant) { return !caught_by_cases(mutant).empty(); }));
}

// Of all(): the samples that were written blind name few of the cases that catch them.
std::vector<Caught> listed_pairs() {
    std::vector<Caught> pairs;
    for (const Mutant& mutant : all())
        std::ranges::copy(caught_by_cases(mutant), std::back_inserter(pairs));
    return pairs;
}

// The sentences of the READMEs with numbers in them.
std::string numbers() {
    std::set<std::string_view> cases;
    for (const Caught& pair : listed_pairs())
        cases.insert(pair.case_id);
    return fmt::format("{} planted defects; {} cases catch {} of them, in {} pairs of a case and a "
                       "defect",
                       all().size(), cases.size(), caught(), listed_pairs().size());
}
auto shown_by_packets() {
    return std::ranges::count_if(all(),
                                 [](const Mutant& mutant) { return mutant.passive == true; });
}
std::string short_numbers() {
    return fmt::format("{} planted defects show that the cases can fail: the cases catch {} of "
                       "them. The judge, without any script, finds the {} that ordinary traffic "
                       "can show.",
                       all().size(), caught(), shown_by_packets());
}

std::string text_of(std::string_view path) {
    return house::read_text(std::string(VERIROCE_SOURCE_DIR) + std::string(path));
}

// In one line, for sentences that are broken across lines, with or without indentation.
std::string unwrapped(const std::string& text) {
    std::string line;
    for (const std::string& word : house::words(text))
        line += (line.empty() ? "" : " ") + word;
    return line;
}

} // namespace

TEST_CASE("mutants: names differ and are found", "[mutants]") {
    std::set<std::string_view> names;
    for (const auto& mutant : all_and_lawful()) {
        CAPTURE(mutant.name);
        CHECK(names.insert(mutant.name).second);
        CHECK(mutant.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
              std::string_view::npos);
        CHECK(mutant.description.ends_with('.'));
        const auto found = find(mutant.name);
        REQUIRE(found);
        CHECK(found->get().description == mutant.description);
    }
    CHECK(names.size() >= 140);
    CHECK_FALSE(find("no_such_mutant"));
}

// A device may ignore a SHOULD for a good reason; a case then says WARN. Defects that are played in
// ordinary traffic break a MUST.
TEST_CASE("mutants: rules exist, and defects break a MUST, or a SHOULD that a case tests",
          "[mutants]") {
    for (const auto& mutant : all_and_lawful()) {
        CAPTURE(mutant.name, mutant.rule);
        CHECK(rules::catalogue().contains(mutant.rule));
    }
    for (const auto& mutant : all()) {
        CAPTURE(mutant.name, mutant.rule);
        const auto rule = rules::catalogue().find(mutant.rule);
        REQUIRE(rule);
        const bool should = rule->get().level == rules::Level::Should && !mutant.passive;
        CHECK((rule->get().level == rules::Level::Must || should));
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
        CHECK((played.contains(mutant.name) || !mutant.passive));
    }
}

TEST_CASE("mutants: no packet brings a device down", "[mutants]") {
    constexpr std::uint32_t seed = 4791;
    constexpr int rounds = veriroce::test::kSanitized ? 8 : 60; // a QP does not live long here
    CAPTURE(seed);
    auto devices = all_and_lawful();
    devices.insert(devices.end(), blind(3).begin(), blind(3).end());
    for (const auto& mutant : devices) {
        CAPTURE(mutant.name);
        std::mt19937 random(seed);
        std::size_t said = 0;
        for (int round = 0; round < rounds; ++round) {
            Bench bench(mutant, {.first_request = 0xFFFFFC, .first_sent = 0xFFFFFC});
            bench.post(engine::WrOpcode::RdmaRead, 768);
            bench.post(engine::WrOpcode::Send, 4);
            for (int i = 0; i < 24; ++i) {
                const auto packet = anything(bench, random);
                bench.arrive(packet);
                auto frame = bench.frame(packet);
                frame[random() % frame.size()] ^= std::byte{1};
                bench.arrive_frame(frame);
                if (i % 8 == 7) bench.wait();
            }
            bench.completions();
            said += bench.text().size();
        }
        CHECK(said > 0);
    }
}

TEST_CASE("mutants: the tables of the README are the lists", "[mutants]") {
    const std::string readme = text_of("/conformance/mutants/README.md");
    for (const std::string& table :
         {table_of_defects(), table_of_missing_checks(), table_of_oddities()}) {
        const bool there = readme.find("\n\n" + table + "\n") != std::string::npos;
        if (!there) UNSCOPED_INFO("the table should read\n" << table);
        CHECK(there);
    }
}

TEST_CASE("mutants: the numbers in the READMEs are those of the lists", "[mutants]") {
    CHECK_THAT(unwrapped(text_of("/conformance/mutants/README.md")), ::Catch::Contains(numbers()));
    CHECK_THAT(unwrapped(text_of("/README.md")), ::Catch::Contains(short_numbers()));
    const std::string product = unwrapped(text_of("/conformance/README.md"));
    CHECK_THAT(product, ::Catch::Contains(
                            fmt::format("The cases catch {} of the {} defects of the first list",
                                        caught(), all().size())));
    // tests/conformance/judge/mutants_test.cpp requires that all of them are found.
    CHECK_THAT(product, ::Catch::Contains(fmt::format(
                            "the judge finds all {} defects that ordinary traffic shows",
                            shown_by_packets())));
    CHECK_THAT(product, ::Catch::Contains(fmt::format("of {} pairs of a case and a planted defect",
                                                      listed_pairs().size())));
}

TEST_CASE("mutants: a case catches every defect but some missing checks", "[mutants]") {
    for (const Mutant& mutant : all().first(all().size() - missing_checks().size())) {
        CAPTURE(mutant.name);
        CHECK_FALSE(caught_by_cases(mutant).empty());
    }
    const std::size_t checks = engine::kPacketRows.size() + engine::kRequestRows.size() +
                               engine::kDuplicateRows.size() + engine::kDatagramRows.size() +
                               engine::kResponseRows.size() + engine::kSendRows.size();
    CHECK(missing_checks().size() == checks); // each check can be taken away
    CHECK(std::ranges::count_if(missing_checks(), [](const Mutant& mutant) {
              return !caught_by_cases(mutant).empty();
          }) >= 26);
}

} // namespace veriroce::mutants::test
