#include "conformance/agent/log.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string>

namespace {

using veriroce::agent::Log;

// A pipe whose reader may be away.
struct Pipe {
    Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_reader();
        ::close(ends[1]);
    }
    void close_reader() {
        if (ends[0] >= 0) ::close(ends[0]);
        ends[0] = -1;
    }
    // What was written so far.
    std::string read_all() {
        ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
        std::string all;
        std::array<char, 65536> chunk{};
        for (ssize_t size = 0; (size = ::read(ends[0], chunk.data(), chunk.size())) > 0;)
            all.append(chunk.data(), static_cast<std::size_t>(size));
        return all;
    }

    std::array<int, 2> ends{-1, -1};
};

} // namespace

TEST_CASE("log: a pipe that nobody reads loses lines, and the reader learns how many", "[agent]") {
    Pipe pipe;
    Log log(pipe.ends[1]);
    constexpr std::size_t kLines = 5000; // more than a pipe holds
    for (std::size_t i = 0; i < kLines; ++i)
        log.say("line " + std::to_string(i) + std::string(80, '.'));
    const auto before = pipe.read_all();
    const auto whole = static_cast<std::size_t>(std::ranges::count(before, '\n'));
    CHECK(before.starts_with("veriroce-agent: line 0."));
    CHECK(before.ends_with('\n'));
    CHECK(whole > 100);
    CHECK(whole < kLines);
    log.say("again");
    CHECK(pipe.read_all() == "veriroce-agent: " + std::to_string(kLines - whole) +
                                 " lines were lost: stderr was not read\nveriroce-agent: again\n");
    log.say("and on");
    CHECK(pipe.read_all() == "veriroce-agent: and on\n");
}

TEST_CASE("log: a line that is too long for a pipe's promise is cut", "[agent]") {
    Pipe pipe;
    Log(pipe.ends[1]).say(std::string(100'000, 'x'));
    CHECK(pipe.read_all() == "veriroce-agent: " + std::string(4000, 'x') + "\n");
}

TEST_CASE("log: without a reader nothing happens", "[agent]") {
    const auto before = std::signal(SIGPIPE, SIG_IGN); // as the programs do
    Pipe pipe;
    pipe.close_reader();
    Log log(pipe.ends[1]);
    log.say("nobody hears this");
    log.say("nor this");
    std::signal(SIGPIPE, before);
}
