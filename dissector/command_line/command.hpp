// The command line of a program: its commands and their options. CLI11 reads it.
//
//   void add_judge(command_line::Command program) {
//       auto judge = program.add_command("judge", "Report broken rules");
//       const auto options = std::make_shared<JudgeOptions>();
//       judge.option("FILE", options->files, "Capture files", {.required = true});
//       judge.flag("-q,--quiet", options->quiet, "Omit the summary line");
//       judge.on_run([options] { return run_judge(*options, stdout, stderr); });
//   }
//
// A name is "-x", "--name", both with a comma between them, or a word for a positional argument.
// A value that an option does not accept ends the program with kExitUsage and one line on stderr.
#pragma once

#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace veriroce::command_line {

struct Shape {
    std::string value = "TEXT"; // the value's name in --help
    bool required = false;
    bool shows_default = false; // in --help
    bool takes_several = false; // all words up to the next option, not only one
    bool comma_separated = false;
    bool repeated = false; // of an option with a Reader, which then reads each word
};

template <typename T>
struct Bounds {
    T least = std::numeric_limits<T>::lowest();
    T most = std::numeric_limits<T>::max();
};

// A program or one of its commands. A value that refers to its Program.
class Command {
  public:
    Command(CLI::App& app, int& exit_code) : app_(&app), exit_code_(&exit_code) {}

    Command add_command(const char* name, const char* text);
    // A command that consists of commands: one of them must be named.
    Command add_group(const char* name, const char* text);
    // Calls `run` after all options are read; it returns the exit code.
    void on_run(std::function<int()> run);
    // The last lines of --help.
    void footer(const char* text);

    void flag(const char* name, bool& value, const char* text);
    // An option of another program, not shown in --help: it ends the program with kExitUsage and
    // says what to use instead.
    void hint(const char* name, const char* text);
    void option(const char* name, std::string& value, const char* text, Shape shape = {});
    // Values are appended. An option that is not positional is repeated for each.
    void option(const char* name, std::vector<std::string>& values, const char* text,
                Shape shape = {});
    // Returns what was expected if it does not accept the word.
    using Reader = std::function<std::expected<void, std::string>(const std::string& word)>;
    void option(const char* name, Reader read, const char* text, Shape shape = {});
    // One of a few words.
    template <typename T>
    void choice(const char* name, T& value,
                std::initializer_list<std::pair<const char*, std::type_identity_t<T>>> words,
                const char* text);

    // Decimal, or hexadecimal after 0x.
    void number(const char* name, std::uint32_t& value, Bounds<std::uint32_t> bounds,
                const char* text, Shape shape = {.value = "N"});
    void number(const char* name, std::uint64_t& value, Bounds<std::uint64_t> bounds,
                const char* text, Shape shape = {.value = "N"});
    void number(const char* name, double& value, Bounds<double> bounds, const char* text,
                Shape shape = {.value = "N"});
    void number(const char* name, std::optional<std::uint32_t>& value, Bounds<std::uint32_t> bounds,
                const char* text, Shape shape = {.value = "N"});
    void number(const char* name, std::optional<std::uint64_t>& value, Bounds<std::uint64_t> bounds,
                const char* text, Shape shape = {.value = "N"});
    void number(const char* name, std::optional<double>& value, Bounds<double> bounds,
                const char* text, Shape shape = {.value = "N"});
    void number(const char* name, std::vector<std::uint16_t>& values, Bounds<std::uint16_t> bounds,
                const char* text, Shape shape = {.value = "N"});

  private:
    // `choose` takes the index of the word.
    void choice_of(const char* name, const std::vector<const char*>& words,
                   std::function<void(std::size_t)> choose, const char* text);

    CLI::App* app_;
    int* exit_code_;
};

class Program {
  public:
    Program(const char* name, const char* text, const char* version);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program();

    [[nodiscard]] Command command() { return {*app_, exit_code_}; }
    // Reads the command line and runs the command that it names. Returns its exit code, or
    // kExitUnable for output that cannot be written. Ignores SIGPIPE: a reader that goes away is no
    // failure.
    int run(int argc, const char* const* argv, std::FILE* out = stdout, std::FILE* err = stderr);

  private:
    int parse(int argc, const char* const* argv, std::FILE* out, std::FILE* err);
    [[nodiscard]] int output_failed(int error, std::FILE* err) const;

    std::string name_;
    std::unique_ptr<CLI::App> app_;
    int exit_code_ = 0;
};

template <typename T>
void Command::choice(const char* name, T& value,
                     std::initializer_list<std::pair<const char*, std::type_identity_t<T>>> words,
                     const char* text) {
    std::vector<const char*> names;
    for (const auto& word : words)
        names.push_back(word.first);
    const auto choose = [&value, meanings = std::vector(words)](std::size_t index) {
        value = meanings[index].second;
    };
    choice_of(name, names, choose, text);
}

} // namespace veriroce::command_line
