#include "conformance/agent/check.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "conformance/agent/check_questions.hpp"
#include "conformance/agent/log.hpp"
#include "dissector/command_line/exit_code.hpp"

namespace veriroce::agent {

namespace {

struct Group {
    std::string_view name;
    void (*ask)(Talk& talk, const Subject& subject);
};

constexpr std::array kGroups{
    Group{"errors", ask_errors},  Group{"pd and cq", ask_queues},
    Group{"mr", ask_memory},      Group{"patterns", ask_fills},
    Group{"qp", ask_qps},         Group{"post", ask_posts},
    Group{"waits", ask_waits},    Group{"the rest", ask_rest},
    Group{"groups", ask_groups},  Group{"congestion", ask_congestion},
    Group{"cm", ask_connections}, Group{"isolation", ask_apart},
};

// Each group has its own connection, so that a failure in one does not affect the next.
std::expected<void, std::string> ask_group(const Group& group, Subject& subject,
                                           CheckReport& report) {
    report.group(group.name);
    auto talk = Talk::open(subject.address, report);
    if (!talk) return std::unexpected(talk.error());
    if (const auto welcome = greet(*talk, subject.token)) {
        subject.welcome = *welcome;
        group.ask(*talk, subject);
    }
    return {};
}

} // namespace

std::expected<void, std::string> check_agent(const net::LineAddress& address,
                                             const std::optional<std::string>& token,
                                             CheckReport& report) {
    Subject subject{.address = address, .token = token, .welcome = {}};
    report.group("hello");
    auto first = Talk::open(address, report);
    if (!first) return std::unexpected(first.error());
    const auto welcome = first->gives("describes the device", dut::Hello{.token = token});
    if (!welcome) return {};
    ask_welcome(*first, *welcome);
    if (auto refused = ask_strangers(subject, report); !refused) return refused;
    for (const auto& group : kGroups) {
        if (auto asked = ask_group(group, subject, report); !asked) return asked;
    }
    return {};
}

int run_check(const Options& options) {
    Log log(STDERR_FILENO);
    const auto address = net::LineAddress::parse(options.check);
    if (!address) {
        log.say(address.error().text);
        return command_line::kExitUsage;
    }
    std::optional<std::string> token;
    if (!options.token_file.empty()) {
        auto read = read_token(options.token_file);
        if (!read) {
            log.say(read.error());
            return command_line::kExitUnable;
        }
        token = std::move(*read);
    }
    CheckReport report([](std::string_view line) {
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fputc('\n', stdout);
        std::fflush(stdout);
    });
    const auto checked = check_agent(*address, token, report);
    if (!checked) {
        log.say(checked.error());
        return report.failed() == 0 ? command_line::kExitUnable : command_line::kExitFound;
    }
    report.summary();
    return report.failed() == 0 ? command_line::kExitSuccess : command_line::kExitFound;
}

} // namespace veriroce::agent
