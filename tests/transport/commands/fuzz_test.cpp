// What the command says, and its exit codes.
#include <catch2/catch.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "conformance/mutants/mutants.hpp"
#include "transport/commands/fuzz.hpp"

using namespace veriroce;
using namespace veriroce::commands;

namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string text_in(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text += static_cast<char>(c);
    return text;
}

struct Said {
    int code = 0;
    std::string out;
    std::string err;
};
Said run(const FuzzOptions& options, const sim::Defect& defect = {}) {
    const File out(std::tmpfile());
    const File err(std::tmpfile());
    REQUIRE((out && err));
    const int code = run_fuzz(options, out.get(), err.get(), defect);
    return {code, text_in(out.get()), text_in(err.get())};
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("fuzz: says what the seeds came to", "[fuzz]") {
    const Said said = run({.seeds = 20, .first = 7});
    CHECK(said.code == 0);
    CHECK(said.err.empty());
    CHECK(has(said.out, "engines: built-in, virtual time\n20 seeds from 7: "));
    CHECK(has(said.out, "\nfaults: drop "));
    CHECK(has(said.out, ", forge "));
    CHECK(has(said.out, "\ntime: "));
    CHECK(has(said.out, "\nno seed failed\n"));
}

TEST_CASE("fuzz: names the first failure and the command that repeats it", "[fuzz]") {
    // A responder that takes any gap in the PSNs for what it expects.
    const auto mutant = mutants::find("without_expected_psn");
    REQUIRE(mutant);
    const sim::Defect defect{.checks = mutant->get().checks};
    const Said plain = run({.seeds = 30}, defect);
    CHECK(plain.code == 1);
    CHECK(has(plain.out, " of 30 seeds failed\nseed "));
    CHECK(has(plain.out, "\n  refused by endpoint "));
    CHECK(has(plain.out, ": dropped by "));
    CHECK(has(plain.out, "\nrerun: veriroce fuzz --seeds 1 --seed "));
    CHECK_FALSE(has(plain.out, "are left"));
    const Said small = run({.seeds = 30, .shrink = true}, defect);
    CHECK(small.code == 1);
    CHECK(has(small.out, " faults are left: "));
    CHECK(has(small.out, "request "));
}

TEST_CASE("fuzz: no seeds are a mistake", "[fuzz]") {
    const Said said = run({.seeds = 0});
    CHECK(said.code == 2);
    CHECK(said.out.empty());
    CHECK(has(said.err, "--seeds: expected 1 or more, got 0"));
}
