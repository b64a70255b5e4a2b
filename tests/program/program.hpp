// Runs the built program as a user does: a command line, what it says, how it exits.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "tests/temporary_folder.hpp"

namespace veriroce::program::test {

struct Outcome {
    int code = -1; // 128 and the signal if one ended it
    std::string out;
    std::string err;
};

// A temporary folder: the commands' working directory. It goes with the test.
class Workplace {
  public:
    Workplace();

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
    void write(const std::string& name, std::string_view bytes) const;
    // Paths of files and folders under it, relative.
    [[nodiscard]] std::set<std::string> listing() const;

    // `command` for sh, with the built program in front of the path.
    [[nodiscard]] Outcome run(const std::string& command) const;
    // The same as root in a network of its own: `lo` is up, `va` has 192.0.2.9/24, `off` is down.
    [[nodiscard]] Outcome run_in_network(const std::string& command) const;

  private:
    house::TemporaryFolder told_;  // where the commands' output goes
    std::filesystem::path folder_; // as they see it
};

// await.sh PID, for a script that started an agent: waits until the agent listens on the Unix
// socket `agent`. If it has ended instead, says what it wrote to agent.txt, and ends with 1.
inline constexpr std::string_view kAwaitAgent = R"sh(#!/bin/sh
while [ ! -S agent ]; do
    kill -0 "$1" 2>/dev/null || { echo "the agent has ended:"; cat agent.txt; exit 1; } >&2
    sleep 0.02
done
)sh";

// A command that still runs: `command` for sh, which the program replaces (exec). Its standard
// input is a pipe that stays open until close_input(). Killed with the test.
class Running {
  public:
    Running(const Workplace& place, const std::string& command);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void feed(std::string_view bytes) const;
    void close_input();
    void signal(int number) const;
    // Whether it handles this signal by now.
    [[nodiscard]] bool catches(int number) const;
    // Whether it sleeps, has read all of its input, and handles SIGTERM.
    [[nodiscard]] bool waits_for_input() const;
    // What it has written so far.
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;
    // Waits until `true_now`, and fails after 30 s.
    static void wait_until(const std::function<bool()>& true_now);
    [[nodiscard]] Outcome wait();

  private:
    house::TemporaryFolder told_;
    int input_ = -1;
    int process_ = -1;
};

// Answers on a Unix socket in a process of its own: each connection gets `answer` after its first
// line, and is closed; a silent one is held until the end.
class Listener {
  public:
    enum class Manner { Answer, HangUp, Silent };
    Listener(const std::filesystem::path& path, Manner manner, std::string answer = {});
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

  private:
    std::filesystem::path path_;
    int socket_ = -1;
    int process_ = -1;
};

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace veriroce::program::test
