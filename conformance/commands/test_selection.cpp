#include "conformance/commands/test_selection.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "conformance/plan/run_name.hpp"
#include "conformance/script/script.hpp"
#include "conformance/sheet/measure.hpp"

namespace veriroce::commands {

using namespace command_line;

Accepted<std::optional<plan::Profile>> read_profile(const std::string& path) {
    if (path.empty()) return std::nullopt;
    const auto text = read_text(path);
    if (!text) return unable(text.error());
    auto profile = plan::parse_profile(path, *text);
    if (!profile) return misused(profile.error());
    return std::move(*profile);
}

Accepted<interpreter::FaultPlan> read_fault_plan(const std::string& path) {
    interpreter::FaultPlan plan{.path = path, .text = {}, .rules = {}};
    if (path.empty()) return plan;
    auto text = read_text(path);
    if (!text) return unable(text.error());
    plan.text = std::move(*text);
    auto rules = script::load_plan(path, plan.text);
    if (!rules) return misused(rules.error().front().text(path));
    plan.rules = std::move(*rules);
    if (plan.rules.empty()) {
        return misused(path + ": the fault plan has no rules");
    }
    return plan;
}

Accepted<double> share_in(std::string_view option, const std::string& text) {
    if (text.empty()) return 0.0;
    double percent = 0;
    const char* end = text.data() + text.size() - 1;
    const auto read = std::from_chars(text.data(), end, percent);
    if (*end != '%' || read.ec != std::errc{} || read.ptr != end || !(percent >= 0) ||
        percent > 100) {
        return misused(fmt::format("{}: expected a share such as 2%, got '{}'", option, text));
    }
    return percent / 100;
}

namespace {

// Those of --over, and with --thorough every other one.
std::vector<std::string> axes_of(const TestOptions& options) {
    constexpr std::array<std::string_view, 3> kEvery{"ip=4,6", "psn=low,wrap", "mtu=256,1024,4096"};
    std::vector<std::string> axes = options.over;
    if (!options.thorough) return axes;
    for (const std::string_view axis : kEvery) {
        const std::string_view name = axis.substr(0, axis.find('=') + 1);
        const auto same = [&](const std::string& asked) { return asked.starts_with(name); };
        if (!std::ranges::any_of(options.over, same)) axes.emplace_back(axis);
    }
    return axes;
}

} // namespace

Accepted<plan::Selection> selection_of(const TestOptions& options) {
    plan::Selection selection{.names = options.cases,
                              .excluded = options.excluded,
                              .rules = options.rules,
                              .tags = options.tags,
                              .role = options.role,
                              .repeat = options.repeat,
                              .slow = options.slow || options.thorough,
                              .load = options.load,
                              .shared_fabric = options.shared_fabric};
    for (const std::string& axis : axes_of(options)) {
        if (const auto added = plan::add_axis(selection, axis); !added) {
            return misused(fmt::format("--over {}: {}", axis, added.error()));
        }
    }
    for (const std::string& text : options.parameters) {
        auto parameter = script::parse_parameter(text);
        if (!parameter) return misused("-D: " + parameter.error());
        selection.parameters.push_back(std::move(*parameter));
    }
    if (!options.shard.empty()) {
        const auto shard = plan::parse_shard(options.shard);
        if (!shard) return misused("--shard: " + shard.error());
        selection.shard = *shard;
    }
    return selection;
}

Accepted<std::vector<plan::ScriptFile>> read_files(const std::vector<std::string>& names) {
    std::vector<plan::ScriptFile> files;
    for (const std::string& name : names) {
        if (name.ends_with(".faults")) {
            return misused(fmt::format(
                "{} is a fault plan, not a test case: veriroce test CASE --faults {}", name, name));
        }
        const std::string path(plan::parse_run_name(name).of);
        if (!path.ends_with(".roce")) continue;
        if (std::ranges::find(files, path, &plan::ScriptFile::path) != files.end()) continue;
        auto text = read_text(path);
        const auto sheet = std::ranges::find(sheet::case_files(), path, &cases::EmbeddedFile::path);
        if (!text && sheet != sheet::case_files().end()) text = std::string(sheet->text);
        if (!text) return unable(text.error());
        files.push_back({path, std::move(*text)});
    }
    return files;
}

void add_data_sheet(plan::Selection& selection, std::vector<plan::ScriptFile>& files) {
    for (const cases::EmbeddedFile& one : sheet::case_files()) {
        const std::string path(one.path);
        selection.names.push_back(path);
        if (std::ranges::find(files, path, &plan::ScriptFile::path) == files.end())
            files.push_back({path, std::string(one.text)});
    }
}

} // namespace veriroce::commands
