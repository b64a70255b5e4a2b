#include "conformance/commands/doctor.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "conformance/commands/test_device.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/preflight/checks.hpp"
#include "conformance/preflight/gather.hpp"
#include "conformance/testbed/live_testbed.hpp"
#include "dissector/command_line/refusal.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/print/json.hpp"
#include "dissector/wire/safe_text.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;
using preflight::CheckResult;
using preflight::Grade;

constexpr wire::Duration kAgentPatience = std::chrono::seconds(5);

std::int64_t count(const std::vector<CheckResult>& results, Grade grade) {
    return std::ranges::count(results, grade, &CheckResult::grade);
}

preflight::DutFacts look_at_dut(const testbed::LiveTestbedOptions& options,
                                const std::string& agent, net::RawLink* link) {
    preflight::DutFacts facts;
    facts.agent = agent;
    const auto dut = dut::RemoteDut::connect(options.agent, options.token,
                                             net::monotonic_now() + kAgentPatience);
    if (!dut) {
        facts.no_agent = dut.error();
    } else if (const auto chosen = (*dut)->choose(options.dut_chosen); !chosen) {
        facts.wrong_choice = chosen.error();
        facts.welcome = (*dut)->welcome();
    } else {
        facts = preflight::dut_facts(agent, **dut, link, options.dut_addresses);
    }
    return facts;
}

// Packets to the device and back, as a run begins with them: what no setting shows.
CheckResult try_packets(const testbed::LiveTestbedOptions& options) {
    CheckResult result{.where = "network", .subject = "RoCEv2"};
    const auto bench = testbed::LiveTestbed::open(options);
    if (bench) {
        result.text =
            fmt::format("99 % of round trips take at most {}",
                        interpreter::duration_text((*bench)->environment({}).round_trip_p99));
    } else {
        result.grade = Grade::Must;
        result.text = bench.error();
    }
    return result;
}

// What the options name; nothing is sent before all of them are read.
Accepted<std::vector<CheckResult>> look(const TestOptions& options) {
    if (options.interface.empty()) {
        return misused("name the tester's interface on the device's network: -i IFACE");
    }
    auto extra = addresses_in("--tester-address", options.tester_address);
    if (!extra) return std::unexpected(extra.error());
    std::optional<testbed::LiveTestbedOptions> live;
    if (!options.dut.empty()) {
        auto read = live_options(options);
        if (!read) return std::unexpected(read.error());
        live = std::move(*read);
    }
    preflight::Facts facts{.tester = preflight::tester_facts(options.interface, *extra)};
    auto link = net::RawLink::open({.interface = options.interface,
                                    .extra_addresses = std::move(*extra),
                                    .change_offloads = false});
    if (!link) facts.tester.link_error = link.error();
    if (live) facts.dut = look_at_dut(*live, options.dut, link ? link->get() : nullptr);
    auto results = preflight::check(facts);
    if (live && link && count(results, Grade::Must) == 0) {
        link->reset(); // it reserves UDP 4791
        results.push_back(try_packets(*live));
    }
    return results;
}

std::string text_of(const std::vector<CheckResult>& results) {
    std::string text;
    for (const CheckResult& one : results)
        text += wire::safe_text(preflight::line_of(one), true);
    const auto musts = count(results, Grade::Must);
    const auto warnings = count(results, Grade::Warning);
    return text + fmt::format("\n{}, {} warning{}\n",
                              musts == 0 ? "nothing must be mended"
                                         : fmt::format("{} must be mended", musts),
                              warnings, warnings == 1 ? "" : "s");
}

std::string json_of(const std::vector<CheckResult>& results) {
    std::string text = "{\"schema\":\"veriroce/doctor/1\",\"checks\":[";
    for (std::size_t i = 0; i < results.size(); ++i) {
        const CheckResult& one = results[i];
        text += i == 0 ? "\n" : ",\n";
        text +=
            fmt::format(R"({{"where":"{}","grade":"{}","subject":)", one.where, name_of(one.grade));
        print::append_json_string(text, one.subject);
        text += ",\"text\":";
        print::append_json_string(text, one.text);
        if (!one.remedy.empty()) {
            text += ",\"remedy\":";
            print::append_json_string(text, one.remedy);
        }
        text += '}';
    }
    return text + "\n]}\n";
}

} // namespace

void add_doctor(Command program) {
    auto command = program.add_command(
        "doctor", "Check both hosts before a test run, and say how to mend what is wrong");
    const auto options = std::make_shared<DoctorOptions>();
    add_agent_options(command, options->test);
    command.flag("--json", options->json, "Print JSON instead of text");
    command.on_run([options] { return run_doctor(*options, stdout, stderr); });
}

int run_doctor(const DoctorOptions& options, std::FILE* out, std::FILE* err) {
    const StopOnSignal stop; // so that offloads are turned on again
    const auto results = look(options.test);
    if (StopOnSignal::requested()) return kExitInterrupted;
    if (!results) return tell(err, results.error());
    fmt::print(out, "{}", options.json ? json_of(*results) : text_of(*results));
    return count(*results, Grade::Must) > 0 ? kExitFound : kExitSuccess;
}

} // namespace veriroce::commands
