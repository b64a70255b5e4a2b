// What a command line sets, what is wrong with it, and the exit codes.
#include "dissector/command_line/command.hpp"

#include <catch2/catch.hpp>

#include <array>

#include "dissector/command_line/exit_code.hpp"
#include "tests/written.hpp"

namespace veriroce::command_line::test {
namespace {

enum class Colour : std::uint8_t { Red, Green, Blue };

struct Values {
    std::vector<std::string> files;
    std::vector<std::string> rules;
    std::vector<std::string> fields;
    std::string name;
    std::uint32_t count = 7;
    std::optional<std::uint64_t> limit;
    std::optional<double> factor;
    std::vector<std::uint16_t> ports;
    Colour colour = Colour::Red;
    bool quiet = false;
};

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
    Values values;
    unsigned runs = 0;
};

// The program `demo` with a command `paint` and a group `box` of `open` and `shut`.
Ran ran(std::vector<const char*> words) {
    Ran result;
    Values& values = result.values;
    Program program("demo", "A program for tests", "1.2.3");
    auto paint = program.command().add_command("paint", "Paint files");
    paint.option("FILE", values.files, "Files", {.value = "FILE"});
    paint.option("--rule", values.rules, "Rules", {.takes_several = true, .comma_separated = true});
    paint.option("-e", values.fields, "Fields");
    paint.option("--name", values.name, "A name");
    paint.number("-n,--count", values.count, {1, 100}, "How many",
                 {.value = "N", .shows_default = true});
    paint.number("--limit", values.limit, {}, "At most");
    paint.number("--factor", values.factor, {0.5, 2}, "A factor");
    paint.number("--port", values.ports, {}, "Ports");
    paint.choice("--colour", values.colour,
                 {{"red", Colour::Red}, {"green", Colour::Green}, {"blue", Colour::Blue}},
                 "The colour");
    paint.flag("-q,--quiet", values.quiet, "Say nothing");
    paint.on_run([&result] {
        ++result.runs;
        return kExitFound;
    });
    auto box = program.command().add_group("box", "Use a box");
    box.add_command("open", "Open it").on_run([] { return kExitSuccess; });
    box.add_command("shut", "Shut it").on_run([] { return kExitUnable; });

    words.insert(words.begin(), "demo");
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    result.code = program.run(static_cast<int>(words.size()), words.data(), out, err);
    result.out = house::written_to(out);
    result.err = house::written_to(err);
    return result;
}

} // namespace

TEST_CASE("command line: every kind of option is set, and the command's code returned",
          "[command_line]") {
    const Ran result = ran({"paint",    "a.pcap",   "--rule", "R-1,R-2", "R-3",
                            "-e",       "x",        "b.pcap", "-e",      "y",
                            "--name=n", "-n",       "0x10",   "--limit", "18446744073709551615",
                            "--factor", "0.5",      "--port", "1",       "--port",
                            "65535",    "--colour", "blue",   "-q"});
    CHECK(result.err.empty());
    CHECK(result.code == kExitFound);
    CHECK(result.runs == 1);
    using Words = std::vector<std::string>;
    CHECK(result.values.files == Words{"a.pcap", "b.pcap"});
    CHECK(result.values.rules == Words{"R-1", "R-2", "R-3"});
    CHECK(result.values.fields == Words{"x", "y"});
    CHECK(result.values.name == "n");
    CHECK(result.values.count == 16);
    CHECK(result.values.limit == 18446744073709551615U);
    CHECK(result.values.factor == 0.5);
    CHECK(result.values.ports == std::vector<std::uint16_t>{1, 65535});
    CHECK(result.values.colour == Colour::Blue);
    CHECK(result.values.quiet);
}

TEST_CASE("command line: without options the defaults stay", "[command_line]") {
    const Ran result = ran({"paint"});
    CHECK(result.runs == 1);
    CHECK(result.values.files.empty());
    CHECK(result.values.count == 7);
    CHECK_FALSE(result.values.limit);
    CHECK(result.values.colour == Colour::Red);
}

TEST_CASE("command line: what is wrong is one line, and nothing runs", "[command_line]") {
    struct Row {
        std::vector<const char*> words;
        std::string err;
    };
    const std::vector<Row> rows{
        {{}, "demo: expected a command: paint, box; --help describes them\n"},
        {{"pant"}, "demo: unknown command 'pant'; did you mean 'paint'?\n"},
        {{"frobnicate"}, "demo: unknown command 'frobnicate'; the commands are paint, box\n"},
        {{"box"}, "demo: expected a command: open, shut; --help describes them\n"},
        {{"box", "shutt"}, "demo: unknown command 'shutt'; did you mean 'shut'?\n"},
        {{"paint", "--colr", "red"}, "demo: unknown option '--colr'; did you mean '--colour'?\n"},
        {{"paint", "--xyzzyxyzzy=1"}, "demo: unknown option '--xyzzyxyzzy'; see --help\n"},
        {{"box", "open", "x"}, "demo: unexpected argument 'x'; see --help\n"},
        {{"paint", "--name"}, "demo: --name needs a value\n"},
        {{"paint", "--name", "a", "--name", "b"}, "demo: --name takes one value\n"},
        {{"paint", "--colour", "pink"},
         "demo: --colour: expected red, green or blue, got 'pink'\n"},
        {{"paint", "-n", "0"}, "demo: --count: expected a whole number from 1 to 100, got '0'\n"},
        {{"paint", "-n", "many"},
         "demo: --count: expected a whole number from 1 to 100, got 'many'\n"},
        {{"paint", "--limit=-1"}, "demo: --limit: expected a whole number, got '-1'\n"},
        {{"paint", "--limit", "18446744073709551616"},
         "demo: --limit: expected a whole number, got '18446744073709551616'\n"},
        {{"paint", "--factor", "2.5"},
         "demo: --factor: expected a number from 0.5 to 2, got "
         "'2.5'\n"},
        {{"paint", "--port", "1", "--port", "65536"},
         "demo: --port: expected a whole number, got '65536'\n"},
    };
    for (const Row& row : rows) {
        const Ran result = ran(row.words);
        CHECK(result.err == row.err);
        CHECK(result.code == kExitUsage);
        CHECK(result.runs == 0);
        CHECK(result.out.empty());
    }
}

TEST_CASE("command line: commands in a group return their own codes", "[command_line]") {
    CHECK(ran({"box", "open"}).code == kExitSuccess);
    CHECK(ran({"box", "shut"}).code == kExitUnable);
}

TEST_CASE("command line: --help and --version go to standard output", "[command_line]") {
    const Ran version = ran({"--version"});
    CHECK(version.code == kExitSuccess);
    CHECK(version.out == "demo 1.2.3\n");
    const Ran help = ran({"paint", "--help"});
    CHECK(help.code == kExitSuccess);
    CHECK(help.runs == 0);
    CHECK(help.err.empty());
    for (const char* part : {"Usage: demo paint [OPTIONS] [FILE...]", "--colour red|green|blue",
                             "-n,--count N=7", "Paint files"}) {
        INFO(help.out);
        CHECK(help.out.find(part) != std::string::npos);
    }
    CHECK(ran({"--help"}).out.find("Use a box") != std::string::npos);
}

TEST_CASE("command line: output that cannot be written is told", "[command_line]") {
    Program program("demo", "A program for tests", "1.2.3");
    const std::array words{"demo", "--version"};
    std::FILE* full = std::fopen("/dev/full", "w");
    std::FILE* err = std::tmpfile();
    REQUIRE((full != nullptr && err != nullptr));
    CHECK(program.run(2, words.data(), full, err) == kExitUnable);
    CHECK(house::written_to(err) == "demo: standard output: No space left on device\n");
    std::fclose(full);
}

} // namespace veriroce::command_line::test
