#include "conformance/commands/test_device.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "dissector/wire/nearest_word.hpp"
#include "reports/pcapng.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

Accepted<const mutants::Mutant*> mutant_named(const std::string& name) {
    if (const auto mutant = mutants::find(name)) return &mutant->get();
    std::vector<std::string_view> names;
    for (const auto& some : mutants::every_list()) {
        for (const mutants::Mutant& one : some)
            names.push_back(one.name);
    }
    const auto near = wire::nearest_word(name, names);
    return misused(fmt::format("unknown mutant '{}'; {}", name,
                               near ? fmt::format("did you mean '{}'?", *near)
                                    : "'veriroce test --list-mutants' lists them"));
}

Accepted<std::unique_ptr<testbed::Testbed>> virtual_testbed(const TestOptions& options) {
    for (const auto& [given, name] :
         {std::pair{!options.interface.empty(), "-i"},
          std::pair{!options.token_file.empty(), "--dut-token-file"},
          std::pair{!options.tester_address.empty(), "--tester-address"},
          std::pair{!options.dut_address.empty(), "--dut-address"},
          std::pair{options.dut_port != 0, "--dut-port"},
          std::pair{!options.dut_gid.empty(), "--dut-gid"},
          std::pair{!options.dut_other.empty(), "--dut-other-address"},
          std::pair{!options.profile.empty(), "--profile"},
          std::pair{!options.dut_reset.empty(), "--dut-reset"}}) {
        if (!given) continue;
        return misused(fmt::format("{} needs a device: name its agent with --dut HOST:PORT", name));
    }
    testbed::VirtualTestbedOptions bench{.seed = options.seed};
    if (options.dscp) bench.dscp = static_cast<std::uint8_t>(*options.dscp);
    auto lacks = dut::Lacks::parse(options.dut_lacks);
    if (!lacks) return misused(fmt::format("--dut-lacks: {}", lacks.error()));
    bench.lacks = std::move(*lacks);
    if (!options.noise.empty()) {
        const auto noise = testbed::parse_noise(options.noise);
        if (!noise) return misused(fmt::format("--noise: {}", noise.error()));
        bench.noise = *noise;
    }
    if (!options.mutant.empty()) {
        const auto mutant = mutant_named(options.mutant);
        if (!mutant) return std::unexpected(mutant.error());
        bench.device = fmt::format("built-in engine, virtual time, mutant {} (breaks {})",
                                   (*mutant)->name, (*mutant)->rule);
        bench.mutant = (*mutant)->name;
        plant(**mutant, bench);
        if (auto its = dut::Lacks::parse((*mutant)->lacks)) bench.lacks.add(*its);
    }
    return std::make_unique<testbed::VirtualTestbed>(std::move(bench));
}

Accepted<std::vector<std::uint32_t>> indices_in(std::string_view option, const std::string& list) {
    std::vector<std::uint32_t> indices;
    std::istringstream stream(list);
    for (std::string text; std::getline(stream, text, ',');) {
        std::uint32_t index = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), index);
        if (read.ec != std::errc{} || read.ptr != text.data() + text.size())
            return misused(fmt::format("{}: expected an index, got '{}'", option, text));
        indices.push_back(index);
    }
    return indices;
}

Accepted<std::string> token_in(const std::string& path) {
    auto text = read_text(path);
    if (!text) return unable(text.error());
    std::string token = text->substr(0, text->find_first_of("\r\n"));
    if (token.empty()) {
        return unable(fmt::format("{}: this file is empty; it must hold the same line as the "
                                  "agent's --token-file",
                                  path));
    }
    return token;
}

} // namespace

void plant(const mutants::Mutant& mutant, testbed::VirtualTestbedOptions& device) {
    device.engine.behaviour = mutant.behaviour;
    device.checks = mutant.checks;
    device.filter = mutant.make_filter;
    device.traits = mutants::traits_of(mutant);
    device.ack_timer_floor = mutant.ack_timer_floor;
}

Accepted<std::vector<wire::IpAddress>> addresses_in(std::string_view option,
                                                    const std::vector<std::string>& lists) {
    std::vector<wire::IpAddress> addresses;
    std::istringstream stream(listed(lists));
    for (std::string text; std::getline(stream, text, ',');) {
        const auto address =
            wire::IpAddress::parse(std::string_view(text).substr(0, text.find('/')));
        if (!address)
            return misused(fmt::format("{}: expected an IP address, got '{}'", option, text));
        addresses.push_back(*address);
    }
    return addresses;
}

Accepted<testbed::LiveTestbedOptions> live_options(const TestOptions& options) {
    if (options.interface.empty()) {
        return misused("--dut needs the tester's interface on the device's network: -i IFACE");
    }
    if (!options.mutant.empty()) {
        return misused("--mutant plants a defect in the built-in engine: leave out --dut");
    }
    if (!options.dut_lacks.empty()) {
        return misused("--dut-lacks limits the built-in engine: leave out --dut");
    }
    if (!options.noise.empty()) {
        return misused("--noise disturbs the wire in virtual time: leave out --dut");
    }
    const auto agent = net::LineAddress::parse(options.dut);
    if (!agent) return misused(fmt::format("--dut: {}", agent.error().text));
    auto tester = addresses_in("--tester-address", options.tester_address);
    if (!tester) return std::unexpected(tester.error());
    auto dut = addresses_in("--dut-address", options.dut_address);
    if (!dut) return std::unexpected(dut.error());
    auto others = addresses_in("--dut-other-address", options.dut_other);
    if (!others) return std::unexpected(others.error());
    auto gids = indices_in("--dut-gid", listed(options.dut_gid));
    if (!gids) return std::unexpected(gids.error());
    dut::Chosen chosen{.port = {}, .gids = std::move(*gids)};
    if (options.dut_port != 0) chosen.port = static_cast<std::uint8_t>(options.dut_port);
    testbed::LiveTestbedOptions live{.agent = *agent,
                                     .token = {},
                                     .interface = options.interface,
                                     .tester_addresses = std::move(*tester),
                                     .dut_addresses = std::move(*dut),
                                     .dut_chosen = std::move(chosen),
                                     .dut_other_addresses = std::move(*others),
                                     .seed = options.seed,
                                     .dscp = static_cast<std::uint8_t>(options.dscp.value_or(0))};
    if (!options.token_file.empty()) {
        auto token = token_in(options.token_file);
        if (!token) return std::unexpected(token.error());
        live.token = std::move(*token);
    }
    return live;
}

namespace {

// What the tester and the device sent until the device was refused, for --capture. The rest of the
// message about it.
std::string kept_packets(const TestOptions& options,
                         const std::vector<interpreter::CaseResult>& played) {
    if (options.capture.empty() || played.empty()) return {};
    auto capture = reports::RunCapture::create(options.capture);
    if (!capture) return "\nveriroce: " + capture.error();
    for (const interpreter::CaseResult& one : played) {
        if (const auto added = capture->add(one); !added) return "\nveriroce: " + added.error();
    }
    if (const auto ended = capture->finish(); !ended) return "\nveriroce: " + ended.error();
    return "; the packets until then: " + options.capture;
}

} // namespace

command_line::Accepted<std::unique_ptr<testbed::Testbed>>
choose_testbed(const TestOptions& options) {
    if (options.dut.empty()) return virtual_testbed(options);
    auto live = live_options(options);
    if (!live) return std::unexpected(live.error());
    std::vector<interpreter::CaseResult> calibration;
    live->calibration = &calibration;
    auto bench = testbed::LiveTestbed::open(*live);
    if (!bench) return unable(bench.error() + kept_packets(options, calibration));
    return std::move(*bench);
}

} // namespace veriroce::commands
