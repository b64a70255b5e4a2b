// What a signal, a pipe that stays open and a kill leave behind, command by command.
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

constexpr int interrupted = 130;
const std::vector<int> ending_signals{SIGINT, SIGTERM, SIGHUP};
const std::string losses = VERIROCE_SOURCE_DIR "/pcaps/rxe-write-loss.pcap";

// Whole packets of a capture: the file header and the first packets, at most `most` bytes.
std::string beginning_of(const std::string& path, std::size_t most) {
    const std::string file = house::read_text(path);
    const auto length_at = [&](std::size_t at) {
        std::size_t value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value |= std::size_t{static_cast<unsigned char>(file[at + i])} << (8 * i);
        return value;
    };
    std::size_t end = 24;
    while (end + 16 + length_at(end + 8) <= most)
        end += 16 + length_at(end + 8);
    return file.substr(0, end);
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::size_t lines_with(const std::string& text, std::string_view beginning) {
    std::size_t count = text.starts_with(beginning) ? 1 : 0;
    const std::string wanted = "\n" + std::string(beginning);
    for (std::size_t at = text.find(wanted); at != std::string::npos;
         at = text.find(wanted, at + 1))
        ++count;
    return count;
}

// Of the report folder `out`, while the run goes on.
bool results_have(const Workplace& place, std::string_view text) {
    const auto file = place.folder() / "out" / "results.json";
    return std::filesystem::exists(file) && house::read_text(file).contains(text);
}

// The program reads `input`, waits for more, and gets the signal.
Outcome signalled(const Workplace& place, const std::string& command, const std::string& input,
                  int number) {
    Running running(place, command);
    running.feed(input);
    // Its handler is set, and it sleeps in poll() with all input read.
    Running::wait_until([&] { return running.waits_for_input(); });
    running.signal(number);
    return running.wait();
}

} // namespace

TEST_CASE("pipes: packets are printed before more of them come", "[program]") {
    const Workplace place;
    const std::string some = beginning_of(losses, 5000);
    place.write("some.pcap", some);
    const std::string expected = place.run("veriroce dissect some.pcap").out;
    REQUIRE(lines_in(expected) > 2);
    REQUIRE(place.run("veriroce dissect -w some.pcapng some.pcap").code == 0);
    for (const std::string name : {"some.pcap", "some.pcapng"}) {
        INFO(name);
        Running running(place, "veriroce dissect -");
        running.feed(house::read_text(place.folder() / name));
        Running::wait_until([&] { return running.out() == expected; });
        running.close_input();
        CHECK(running.wait().code == 0);
    }
    // What is written goes out as well.
    Running running(place, "veriroce dissect -w - -");
    running.feed(some);
    const std::size_t written = place.run("veriroce dissect -w - some.pcap").out.size();
    Running::wait_until([&] { return running.out().size() == written; });
}

TEST_CASE("signals: dissect ends with complete output", "[program]") {
    const Workplace place;
    const std::string some = beginning_of(losses, 5000);
    place.write("some.pcap", some);
    const auto of_file = [&](const std::string& options) {
        return place.run("veriroce dissect some.pcap " + options).out;
    };
    for (const int number : ending_signals) {
        for (const std::string options : {"", "--stats", "-T json", "-T csv", "--check"}) {
            INFO(number << " " << options);
            const Outcome outcome = signalled(place, "veriroce dissect - " + options, some, number);
            CHECK(outcome.code == interrupted);
            CHECK(outcome.out == of_file(options));
            CHECK(outcome.err.starts_with("veriroce: dissect: interrupted after "));
        }
        const Outcome written = signalled(place, "veriroce dissect -w o.pcapng -", some, number);
        CHECK(written.code == interrupted);
        CHECK(place.listing() == std::set<std::string>{"some.pcap", "o.pcapng"});
        CHECK(place.run("veriroce dissect o.pcapng").out == of_file(""));
    }
}

TEST_CASE("signals: a half packet at the end is no damage of the file", "[program]") {
    const Workplace place;
    const std::string some = beginning_of(losses, 5000);
    const Outcome outcome =
        signalled(place, "veriroce dissect -", some.substr(0, some.size() - 10), SIGINT);
    CHECK(outcome.code == interrupted);
    CHECK(lines_in(outcome.err) == 1);
}

TEST_CASE("signals: a named pipe without a writer does not hold the program", "[program]") {
    const Workplace place;
    REQUIRE(place.run("mkfifo p").code == 0);
    for (const std::string command : {"dissect p", "dissect -T json p", "judge p"}) {
        INFO(command);
        Running running(place, "veriroce " + command);
        Running::wait_until([&] { return running.waits_for_input(); });
        running.signal(SIGTERM);
        CHECK(running.wait().code == interrupted);
    }
}

TEST_CASE("signals: dissect reads a named pipe whose writer comes late", "[program]") {
    const Workplace place;
    REQUIRE(place.run("mkfifo p").code == 0);
    Running running(place, "veriroce dissect p");
    Running::wait_until([&] { return running.waits_for_input(); });
    REQUIRE(place.run("cat " + losses + " > p").code == 0);
    const Outcome outcome = running.wait();
    CHECK(outcome.code == 0);
    CHECK(outcome.out == place.run("veriroce dissect " + losses).out);
}

TEST_CASE("signals: judge reports the packets until then", "[program]") {
    const Workplace place;
    const std::string some = beginning_of(losses, 60'000);
    place.write("some.pcap", some);
    for (const int number : ending_signals) {
        for (const std::string options : {"", "--format json"}) {
            INFO(number << " " << options);
            const Outcome outcome = signalled(place, "veriroce judge - " + options, some, number);
            CHECK(outcome.code == interrupted);
            CHECK(outcome.out == place.run("veriroce judge some.pcap " + options).out);
            CHECK(outcome.err ==
                  "veriroce: judge: interrupted: only the packets until then were judged\n");
        }
    }
}

TEST_CASE("signals: test keeps its report", "[program]") {
    const Workplace place;
    for (const int number : ending_signals) {
        Running running(place, "veriroce test rsp/gap-nak --repeat 30000 --report out");
        Running::wait_until([&] { return results_have(place, "\"PASS\""); });
        running.signal(number);
        const Outcome outcome = running.wait();
        CHECK(outcome.code == interrupted);
        CHECK(outcome.out.find("incomplete: the run ended before its last case") !=
              std::string::npos);
        CHECK(place.listing().contains("out/junit.xml"));
        REQUIRE(place.run("rm -r out").code == 0);
    }
}

TEST_CASE("signals: a run that is killed leaves the results until then", "[program]") {
    const Workplace place;
    Running running(place, "veriroce test rsp/gap-nak --repeat 3000 --report out "
                           "--mutant gap_dropped_in_silence");
    Running::wait_until([&] { return results_have(place, "\"FAIL\""); });
    running.signal(SIGKILL);
    CHECK(running.wait().code == 128 + SIGKILL);
    const Outcome read =
        place.run("python3 -c \"import json; r = json.load(open('out/results.json')); "
                  "print(r['run']['complete'], len(r['cases']) > 0, r['cases'][0]['verdict'])\"");
    CHECK(read.out == "False True FAIL\n");
    CHECK_FALSE(place.listing().contains("out/junit.xml"));
    CHECK(place.listing().contains("out/rsp-gap-nak-round-1-.pcapng"));
}

TEST_CASE("signals: a run that is killed loses one case at most", "[program]") {
    const Workplace place;
    Running running(place, "veriroce test rsp/gap-nak --repeat 30000 --report out "
                           "--capture out.pcapng");
    Running::wait_until([&] { return lines_with(running.out(), "PASS ") > 300; });
    running.signal(SIGKILL);
    CHECK(running.wait().code == 128 + SIGKILL);
    // A case is printed before it is written.
    const std::size_t played = lines_with(running.out(), "PASS ");
    const Outcome read =
        place.run("python3 -c \"import json; r = json.load(open('out/results.json')); "
                  "print(len(r['cases']))\"");
    INFO(read.out << read.err);
    CHECK(std::stoul("0" + read.out) + 1 >= played);
    const Outcome captured = place.run("veriroce dissect -T fields -e frame.comment out.pcapng");
    CHECK(captured.out.find(fmt::format("round={}]", played - 1)) != std::string::npos);
}

TEST_CASE("signals: bench ends with the figures until then", "[program]") {
    const Workplace place;
    for (const auto& [what, first] : {std::pair("icrc --runs 1000", "payload "),
                                      std::pair("engine --runs 1000", "two engines ")}) {
        for (const int number : ending_signals) {
            Running running(place, fmt::format("veriroce bench {}", what));
            Running::wait_until([&] { return running.catches(number); });
            running.signal(number);
            const Outcome outcome = running.wait();
            CHECK(outcome.code == interrupted);
            CHECK(outcome.out.find(first) != std::string::npos);
            CHECK(outcome.err == "veriroce: bench: interrupted: the figures that are missing were "
                                 "not measured\n");
        }
    }
}

TEST_CASE("signals: fuzz tells what it played", "[program]") {
    const Workplace place;
    for (const int number : ending_signals) {
        Running running(place, "veriroce fuzz --seeds 100000000");
        Running::wait_until([&] { return running.catches(number); });
        running.signal(number);
        const Outcome outcome = running.wait();
        CHECK(outcome.code == interrupted);
        CHECK(outcome.out.find("no seed failed\n") != std::string::npos);
        CHECK(outcome.err.ends_with(" of 100000000 seeds were played\n"));
    }
}

TEST_CASE("signals: serve ends, and ping prints its figures, which needs root", "[program]") {
    const Workplace place;
    for (const int number : ending_signals) {
        Running waiting(place, "unshare -n sh -c 'ip link set lo up && exec veriroce serve'");
        Running::wait_until([&] { return waiting.out().find("waiting for") != std::string::npos; });
        waiting.signal(number);
        CHECK(waiting.wait().code == interrupted);

        // The peer makes 100 round trips and is silent then.
        Running pinging(place,
                        "unshare -n sh -c 'ip link set lo up; veriroce serve --once -n 100 > "
                        "serve & until grep -q waiting serve; do :; done; "
                        "exec veriroce ping -n 1000000 127.0.0.2'");
        Running::wait_until([&] {
            const auto serve = place.folder() / "serve";
            return std::filesystem::exists(serve) &&
                   house::read_text(serve).find("100 round trips") != std::string::npos;
        });
        pinging.signal(number);
        const Outcome outcome = pinging.wait();
        CHECK(outcome.code == interrupted);
        CHECK(outcome.out.find("\n100 round trips of 4096 bytes in ") != std::string::npos);
        REQUIRE(place.run("rm serve").code == 0);
    }
}

TEST_CASE("signals: the agent ends in order, which needs root", "[program]") {
    const Workplace place;
    for (const int number : ending_signals) {
        Running running(place, "unshare -n sh -c 'ip link set lo up && exec veriroce agent "
                               "--backend engine --address 127.0.0.1 --listen unix:a'");
        Running::wait_until(
            [&] { return place.listing().contains("a") && running.catches(number); });
        running.signal(number);
        CHECK(running.wait().code == 0);
        CHECK_FALSE(place.listing().contains("a"));
    }
}

TEST_CASE("signals: one that the caller ignores is ignored", "[program]") {
    const Workplace place;
    Running running(place, "env --ignore-signal=HUP veriroce dissect -");
    const std::string some = beginning_of(losses, 5000);
    running.feed(some);
    Running::wait_until([&] { return running.waits_for_input(); });
    running.signal(SIGHUP);
    running.close_input();
    CHECK(running.wait().code == 0);
}

TEST_CASE("judge: violations that a full disk swallows are no result", "[program]") {
    const Workplace place;
    REQUIRE(place
                .run("veriroce test rsp/gap-nak --mutant nak_names_the_arrived_psn "
                     "--capture wrong.pcapng")
                .code == 1);
    const std::string findings = VERIROCE_SOURCE_DIR "/pcaps/rxe-write-corrupt.pcap";
    for (const std::string& command : {std::string("veriroce judge --strict wrong.pcapng"),
                                       "veriroce dissect --check " + findings}) {
        INFO(command);
        CHECK(place.run(command).code == 1);
        const Outcome full = place.run(command + " > /dev/full");
        CHECK(full.code == 3);
        CHECK(full.err == "veriroce: writing failed: No space left on device\n");
    }
}

} // namespace veriroce::program::test
