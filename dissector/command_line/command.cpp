#include "dissector/command_line/command.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "dissector/command_line/exit_code.hpp"
#include "dissector/wire/nearest_word.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::command_line {
namespace {

void apply(CLI::Option& option, const Shape& shape) {
    option.type_name(shape.value);
    option.required(shape.required);
    if (shape.comma_separated) option.delimiter(',');
}

bool positional(std::string_view name) {
    return !name.starts_with('-');
}

template <typename T>
std::string expected_number(Bounds<T> bounds) {
    const Bounds<T> all;
    std::string text = std::is_integral_v<T> ? "a whole number" : "a number";
    if (bounds.least != all.least || bounds.most != all.most) {
        text += fmt::format(" from {} to {}", bounds.least, bounds.most);
    }
    return text;
}

template <typename T>
std::expected<T, std::string> number_in(const std::string& word, Bounds<T> bounds) {
    std::string_view digits = word;
    const bool hex =
        std::is_integral_v<T> && (digits.starts_with("0x") || digits.starts_with("0X"));
    if (hex) digits.remove_prefix(2);
    const char* const end = digits.data() + digits.size();
    T value{};
    std::from_chars_result read{};
    if constexpr (std::is_integral_v<T>) {
        read = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
    } else {
        read = std::from_chars(digits.data(), end, value);
    }
    const bool number = read.ec == std::errc{} && read.ptr == end;
    if (number && value >= bounds.least && value <= bounds.most) return value;
    return std::unexpected(expected_number(bounds));
}

// `store` takes the number.
template <typename T, typename Store>
Command::Reader number_reader(Bounds<T> bounds, Store store) {
    return [bounds, store](const std::string& word) -> std::expected<void, std::string> {
        const auto value = number_in(word, bounds);
        if (!value) return std::unexpected(value.error());
        store(*value);
        return {};
    };
}

[[noreturn]] void refuse(const std::string& name, const std::string& expected,
                         const std::string& word) {
    // Of "-q,--quiet" the last name is the long one.
    throw CLI::ValidationError(name.substr(name.rfind(',') + 1),
                               fmt::format("expected {}, got '{}'", expected, word));
}

CLI::Option* add_reader(CLI::App& app, const char* name, Command::Reader read, const char* text,
                        const Shape& shape) {
    const auto check = [name = std::string(name), read = std::move(read)](const std::string& word) {
        if (const auto accepted = read(word); !accepted) refuse(name, accepted.error(), word);
    };
    if (!shape.repeated) {
        CLI::Option* option = app.add_option_function<std::string>(name, check, text);
        apply(*option, shape);
        return option;
    }
    const auto check_each = [check](const std::vector<std::string>& words) {
        std::ranges::for_each(words, check);
    };
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(name, check_each, text);
    apply(*option, shape);
    option->allow_extra_args(false);
    return option;
}

template <typename T>
void add_number(CLI::App& app, const char* name, T& value, Bounds<T> bounds, const char* text,
                const Shape& shape) {
    const auto read = number_reader(bounds, [&value](T number) { value = number; });
    CLI::Option* option = add_reader(app, name, read, text, shape);
    if (shape.shows_default) option->default_str(fmt::to_string(value));
}

template <typename T>
void add_number(CLI::App& app, const char* name, std::optional<T>& value, Bounds<T> bounds,
                const char* text, const Shape& shape) {
    const auto read = number_reader(bounds, [&value](T number) { value = number; });
    add_reader(app, name, read, text, shape);
}

// The commands that the words do not name as they should; empty if they do. CLI11 suggests nothing.
std::string misnamed(const CLI::App& app, std::span<const char* const> words) {
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return {};
    std::vector<std::string> names;
    for (const CLI::App* command : commands)
        names.push_back(command->get_name());
    if (words.empty()) {
        return fmt::format("expected a command: {}; --help describes them", fmt::join(names, ", "));
    }
    const std::string_view word = words.front();
    if (word.starts_with('-')) return {};
    if (const auto named = std::ranges::find(names, word); named != names.end()) {
        return misnamed(*commands[static_cast<std::size_t>(named - names.begin())],
                        words.subspan(1));
    }
    const auto near = wire::nearest_word(word, names);
    return fmt::format("unknown command '{}'; {}", word,
                       near ? fmt::format("did you mean '{}'?", *near)
                            : fmt::format("the commands are {}", fmt::join(names, ", ")));
}

// The command that the words chose, as far as they were read.
const CLI::App& chosen(const CLI::App& app) {
    const auto commands = app.get_subcommands();
    return commands.empty() ? app : chosen(*commands.back());
}

std::string unexpected_word(const CLI::App& app) {
    const std::vector<std::string> left = app.remaining(true);
    const std::string word = left.empty() ? std::string() : left.front();
    if (positional(word)) return fmt::format("unexpected argument '{}'; see --help", word);
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : chosen(app).get_options()) {
        for (const std::string& known : option->get_lnames())
            names.push_back(known);
    }
    const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
    const auto near = wire::nearest_word(std::string_view(name).substr(dashes), names);
    return fmt::format("unknown option '{}'; {}", name,
                       near ? fmt::format("did you mean '--{}'?", *near) : "see --help");
}

std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
    const std::string text = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected_word(app);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const bool none = text.ends_with("missing");
        return text.substr(0, text.find(':')) + (none ? " needs a value" : " takes one value");
    }
    return text;
}

} // namespace

Command Command::add_command(const char* name, const char* text) {
    return {*app_->add_subcommand(name, text), *exit_code_};
}

Command Command::add_group(const char* name, const char* text) {
    CLI::App* group = app_->add_subcommand(name, text);
    group->require_subcommand(1);
    return {*group, *exit_code_};
}

void Command::on_run(std::function<int()> run) {
    app_->callback([run = std::move(run), exit_code = exit_code_] { *exit_code = run(); });
}

void Command::footer(const char* text) {
    app_->footer(text);
}

void Command::flag(const char* name, bool& value, const char* text) {
    app_->add_flag(name, value, text);
}

void Command::hint(const char* name, const char* text) {
    const auto tell = [name, text](const std::vector<std::string>& /*words*/) -> bool {
        throw CLI::ValidationError(name, text);
    };
    CLI::Option* option = app_->add_option(name, tell);
    option->expected(0, 1);
    option->group(""); // not in --help
}

void Command::option(const char* name, std::string& value, const char* text, Shape shape) {
    CLI::Option* option = app_->add_option(name, value, text);
    apply(*option, shape);
    if (shape.shows_default) option->default_str(value);
}

void Command::option(const char* name, std::vector<std::string>& values, const char* text,
                     Shape shape) {
    const auto append = [&values](const std::vector<std::string>& words) {
        values.insert(values.end(), words.begin(), words.end());
    };
    CLI::Option* option = app_->add_option_function<std::vector<std::string>>(name, append, text);
    apply(*option, shape);
    if (!positional(name) && !shape.takes_several) option->allow_extra_args(false);
}

void Command::option(const char* name, Reader read, const char* text, Shape shape) {
    add_reader(*app_, name, std::move(read), text, shape);
}

void Command::choice_of(const char* name, const std::vector<const char*>& words,
                        std::function<void(std::size_t)> choose, const char* text) {
    std::string listed; // "red, green or blue"
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) listed += i + 1 == words.size() ? " or " : ", ";
        listed += words[i];
    }
    const auto read =
        [known = std::vector<std::string>(words.begin(), words.end()), listed,
         choose = std::move(choose)](const std::string& word) -> std::expected<void, std::string> {
        const auto at = std::ranges::find(known, word);
        if (at == known.end()) return std::unexpected(listed);
        choose(static_cast<std::size_t>(at - known.begin()));
        return {};
    };
    option(name, read, text, {.value = fmt::format("{}", fmt::join(words, "|"))});
}

void Command::number(const char* name, std::uint32_t& value, Bounds<std::uint32_t> bounds,
                     const char* text, Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}
void Command::number(const char* name, std::uint64_t& value, Bounds<std::uint64_t> bounds,
                     const char* text, Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}
void Command::number(const char* name, double& value, Bounds<double> bounds, const char* text,
                     Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}
void Command::number(const char* name, std::optional<std::uint32_t>& value,
                     Bounds<std::uint32_t> bounds, const char* text, Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}
void Command::number(const char* name, std::optional<std::uint64_t>& value,
                     Bounds<std::uint64_t> bounds, const char* text, Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}
void Command::number(const char* name, std::optional<double>& value, Bounds<double> bounds,
                     const char* text, Shape shape) {
    add_number(*app_, name, value, bounds, text, shape);
}

void Command::number(const char* name, std::vector<std::uint16_t>& values,
                     Bounds<std::uint16_t> bounds, const char* text, Shape shape) {
    const auto append = [name = std::string(name), &values,
                         bounds](const std::vector<std::string>& words) {
        for (const std::string& word : words) {
            const auto value = number_in(word, bounds);
            if (!value) refuse(name, value.error(), word);
            values.push_back(*value);
        }
    };
    CLI::Option* option = app_->add_option_function<std::vector<std::string>>(name, append, text);
    apply(*option, shape);
    option->allow_extra_args(false);
}

Program::Program(const char* name, const char* text, const char* version)
    : name_(name), app_(std::make_unique<CLI::App>(text, name)) {
    app_->set_version_flag("--version", fmt::format("{} {}", name, version));
}

Program::~Program() = default;

// Nobody may be reading any more: then there is nothing to say.
int Program::output_failed(int error, std::FILE* err) const {
    if (error == EPIPE) return kExitSuccess;
    // It may be stderr that finds no room: nothing throws here.
    std::fputs(fmt::format("{}: standard output: {}\n", name_, std::strerror(error)).c_str(), err);
    return kExitUnable;
}

int Program::parse(int argc, const char* const* argv, std::FILE* out, std::FILE* err) {
    const std::span words(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
    if (const std::string wrong = misnamed(*app_, words); !wrong.empty()) {
        fmt::print(err, "{}: {}\n", name_, wire::safe_text(wrong, true));
        return kExitUsage;
    }
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print(out, "{}", app_->help());
    } catch (const CLI::CallForVersion& version) {
        fmt::print(out, "{}\n", version.what());
    } catch (const CLI::ParseError& error) {
        fmt::print(err, "{}: {}\n", name_, wire::safe_text(sentence_of(*app_, error), true));
        return kExitUsage; // CLI11's own codes have other meanings
    }
    return exit_code_;
}

int Program::run(int argc, const char* const* argv, std::FILE* out, std::FILE* err) {
    std::signal(SIGPIPE, SIG_IGN); // a write then ends with EPIPE
    int code = kExitSuccess;
    try {
        code = parse(argc, argv, out, err);
    } catch (const std::system_error& error) { // of fmt, when output finds no room
        return output_failed(error.code().value(), err);
    }
    return std::fflush(out) == 0 ? code : output_failed(errno, err);
}

} // namespace veriroce::command_line
