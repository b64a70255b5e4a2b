#include "conformance/plan/plan.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "conformance/cases/embedded.hpp"
#include "conformance/interpreter/link_effects.hpp"
#include "conformance/interpreter/playable.hpp"
#include "conformance/plan/axes.hpp"
#include "conformance/plan/needs.hpp"
#include "conformance/plan/run_name.hpp"
#include "conformance/plan/shell_word.hpp"
#include "conformance/script/words.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::plan {

using interpreter::Environment;
using interpreter::Network;
using testbed::Testbed;

namespace {

bool is_file(std::string_view name) {
    return parse_run_name(name).of.ends_with(".roce");
}

bool selected_by_name(const cases::EmbeddedFile& file, const std::vector<std::string>& names) {
    if (names.empty()) return true;
    return std::ranges::any_of(names, [&](const std::string& name) {
        return !is_file(name) && (file.id() == parse_run_name(name).of || file.group() == name);
    });
}

bool selected(const script::Case& one, const Selection& selection) {
    const auto has_rule = [&](const std::string& wanted) {
        return std::ranges::any_of(one.rules,
                                   [&](const script::Word& rule) { return rule.text == wanted; });
    };
    const auto has_tag = [&](const std::string& wanted) { return one.tagged(wanted); };
    const bool asked_for = selection.load || !selection.names.empty() || !selection.tags.empty();
    if (one.tagged("load") && !asked_for) return false;
    if (!selection.rules.empty() && std::ranges::none_of(selection.rules, has_rule)) return false;
    if (!selection.tags.empty() && std::ranges::none_of(selection.tags, has_tag)) return false;
    return !selection.role || one.role == *selection.role || one.role == rules::Role::Both;
}

std::string all_text(std::string_view path, const std::vector<script::Diagnostic>& diagnostics) {
    std::string text;
    for (const script::Diagnostic& one : diagnostics)
        text += one.text(path);
    return text;
}

std::expected<script::Script, PlanError> compiled(Compile compile, std::string_view path,
                                                  std::string_view text, wire::Mtu mtu) {
    auto script = compile(path, text, wire::bytes_of(mtu));
    if (!script) return std::unexpected(PlanError{all_text(path, script.error())});
    const auto beyond = interpreter::unplayable_lines(*script);
    if (!beyond.empty()) return std::unexpected(PlanError{all_text(path, beyond)});
    return std::move(*script);
}

// Every name must select something, or the run would prove less than its user thinks.
std::optional<PlanError> check_names(const Selection& selection) {
    std::set<std::string, std::less<>> known;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        known.emplace(file.id());
        known.emplace(file.group());
    }
    for (const std::string& name : selection.names) {
        const std::string_view of = parse_run_name(name).of;
        if (is_file(name) || known.contains(of)) continue;
        const auto near = wire::nearest_word(of, known);
        return PlanError{
            near ? fmt::format("unknown case or group '{}'; did you mean '{}'?\n", name, *near)
                 : fmt::format("unknown case or group '{}'; "
                               "'veriroce test --list' lists them\n",
                               name)};
    }
    for (const std::string& id : selection.rules) {
        if (rules::catalogue().contains(id)) continue;
        return PlanError{rules::unknown_rule(id) + "\n"};
    }
    for (const std::string& tag : selection.tags) {
        const auto tags = script::case_tags();
        if (std::ranges::find(tags, tag) != tags.end()) continue;
        const std::vector<std::string_view> all(tags.begin(), tags.end());
        const auto near = wire::nearest_word(tag, all);
        return PlanError{fmt::format("unknown tag '{}'; {}\n", tag,
                                     near ? fmt::format("did you mean '{}'?", *near)
                                          : fmt::format("the tags are {}", fmt::join(all, ", ")))};
    }
    return std::nullopt;
}

// Writes the parameters into the cases that have a name for them. One that no case has would change
// nothing, and its user would think that it had.
std::optional<PlanError> set_parameters(std::vector<script::Script>& scripts,
                                        const std::vector<script::Parameter>& parameters,
                                        Compile compile, wire::Mtu mtu) {
    if (parameters.empty()) return std::nullopt;
    std::set<std::string> known;
    std::set<std::string> used;
    for (script::Script& one : scripts) {
        const script::Case& before = one.test_case;
        for (const std::string& name : script::parameter_names(before.text))
            known.insert(name);
        auto with = script::with_parameters(before.text, parameters);
        if (with.used.empty()) continue;
        used.insert(with.used.begin(), with.used.end());
        auto after = compiled(compile, before.path, with.text, mtu);
        if (!after) return after.error();
        one = std::move(*after);
    }
    for (const script::Parameter& one : parameters) {
        if (used.contains(one.name)) continue;
        const auto near = wire::nearest_word(one.name, known);
        return PlanError{fmt::format(
            "-D {}={}: no selected case has a 'let' or 'for' line with that name{}\n", one.name,
            one.value, near ? fmt::format("; did you mean '{}'?", *near) : "")};
    }
    return std::nullopt;
}

std::optional<PlanError> take_shard(std::vector<PlannedRun>& runs, const Shard& shard) {
    std::vector<PlannedRun> part;
    for (std::size_t i = shard.index - 1; i < runs.size(); i += shard.of)
        part.push_back(std::move(runs[i]));
    if (part.empty()) {
        return PlanError{
            fmt::format("--shard {}/{}: nothing to run: the selection has only {} runs\n",
                        shard.index, shard.of, runs.size())};
    }
    runs = std::move(part);
    return std::nullopt;
}

// A run that is for one IP version is played over that one: where no axis was asked for, and once
// where both were. Over the other alone it stays in the plan, and is skipped with the reason.
bool fits_its_ip_version(PlannedRun& planned, const Selection& selection) {
    const auto own = planned.own_ip_version();
    if (!own || planned.ip_version == *own) return true;
    if (selection.ip_versions.empty()) planned.ip_version = *own;
    return std::ranges::find(selection.ip_versions, *own) == selection.ip_versions.end();
}

// A case about VLANs is played in its own ones alone.
bool fits_its_vlan(PlannedRun& planned, const script::Case& of, const Selection& selection) {
    if (planned.vlan == 0) return true;
    const bool needs = std::ranges::find(of.needs, "vlan", &script::Need::word) != of.needs.end();
    if (!needs && !network_of(*planned.run, planned.ip_version).vlan) return true;
    planned.vlan = 0;
    const bool without = std::ranges::find(selection.vlans, 0) != selection.vlans.end();
    return !selection.also_in_vlan && !without;
}

using SharedRuns = std::vector<std::shared_ptr<const script::Run>>;

SharedRuns shared(std::vector<script::Run> runs) {
    SharedRuns result;
    for (script::Run& run : runs)
        result.push_back(std::make_shared<const script::Run>(std::move(run)));
    return result;
}

// The runs of one case over the axes of a selection.
std::vector<PlannedRun> runs_of(const script::Case& of, std::size_t case_index,
                                const SharedRuns& runs, const Selection& selection) {
    std::vector<PlannedRun> planned;
    for (const PlannedRun& axes : axis_combinations(selection)) {
        for (const auto& run : runs) {
            PlannedRun one = axes;
            one.case_index = case_index;
            one.run = run;
            if (fits_its_ip_version(one, selection) && fits_its_vlan(one, of, selection))
                planned.push_back(std::move(one));
        }
    }
    return planned;
}

// `mtu` is a number in a compiled run, so each path MTU has runs of its own. A case that sets its
// path MTU is played over that one.
std::expected<std::vector<PlannedRun>, PlanError>
runs_over_mtus(const script::Case& of, std::size_t case_index, const SharedRuns& runs,
               Selection selection, Compile compile) {
    const bool sets_mtu = std::ranges::any_of(
        runs, [](const auto& run) { return PlannedRun{.run = run}.sets_mtu(); });
    const std::vector<wire::Mtu> mtus = std::exchange(selection.mtus, {});
    if (sets_mtu || mtus.empty()) return runs_of(of, case_index, runs, selection);
    std::vector<PlannedRun> all;
    for (const wire::Mtu mtu : mtus) {
        auto script = compiled(compile, of.path, of.text, mtu);
        if (!script) return std::unexpected(script.error());
        selection.mtus = {mtu};
        std::ranges::move(runs_of(of, case_index, shared(std::move(script->runs)), selection),
                          std::back_inserter(all));
        selection.also_in_vlan.reset(); // over one path MTU
    }
    return all;
}

// How many runs the axes make of one.
std::size_t multiple_of(const Selection& selection) {
    const auto values = [](std::size_t count) { return std::max<std::size_t>(1, count); };
    const std::size_t networks = values(selection.repeat) * values(selection.ip_versions.size());
    return networks * (values(selection.start_psns.size()) * values(selection.vlans.size()) *
                           values(selection.mig_reqs.size()) * values(selection.mtus.size()) +
                       (selection.also_in_vlan ? 1 : 0));
}

// The selection that a run's name asks for: its axes instead of those of the others.
Selection with_axes_of(const RunName& name, Selection selection) {
    for (const std::string_view value : name.values) {
        if (value.starts_with("ip=")) selection.ip_versions.clear();
        if (value.starts_with("psn=")) selection.start_psns.clear();
        if (value.starts_with("vlan=")) selection.vlans.clear();
        if (value.starts_with("migreq=")) selection.mig_reqs.clear();
        if (value.starts_with("mtu=")) selection.mtus.clear();
        // A value of the case is not an axis, and a wrong one selects nothing.
        static_cast<void>(add_axis(selection, value));
    }
    return selection;
}

// The names that select this case; one that is empty if no name is needed.
std::vector<RunName> names_of(const script::Case& one, bool from_file, const Selection& selection) {
    std::vector<RunName> names;
    for (const std::string& text : selection.names) {
        const RunName name = parse_run_name(text);
        const bool whole = name.values.empty();
        if (from_file ? name.of == one.path : name.of == one.id() || text == one.group) {
            // A plain name selects whatever another one narrows.
            names.insert(whole ? names.begin() : names.end(), name);
        }
    }
    if (names.empty()) names.emplace_back();
    return names;
}

bool excluded(std::string_view id, const std::vector<std::string>& globs) {
    const std::string_view of = parse_run_name(id).of;
    const std::string_view group = of.substr(0, of.find('/'));
    return std::ranges::any_of(globs, [&](const std::string& glob) {
        return glob_matches(glob, id) || glob_matches(glob, of) || glob_matches(glob, group);
    });
}

// A misspelt glob would play what its user fears.
std::optional<PlanError> leave_out(Plan& plan, const std::vector<std::string>& globs) {
    if (globs.empty()) return std::nullopt;
    std::set<std::string, std::less<>> known;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        known.emplace(file.id());
        known.emplace(file.group());
    }
    for (const PlannedRun& run : plan.runs)
        known.emplace(run.id(plan.cases[run.case_index]));
    for (const std::string& glob : globs) {
        const std::vector<std::string> one{glob};
        if (std::ranges::any_of(known, [&](const std::string& id) { return excluded(id, one); })) {
            continue;
        }
        const auto near = wire::nearest_word(glob, known);
        return PlanError{fmt::format("--exclude {}: no run, case or group matches{}\n", glob,
                                     near ? fmt::format("; did you mean '{}'?", *near) : "")};
    }
    std::erase_if(plan.runs, [&](const PlannedRun& run) {
        std::string id = run.id(plan.cases[run.case_index]);
        if (!excluded(id, globs)) return false;
        plan.left_out.push_back(std::move(id));
        return true;
    });
    return std::nullopt;
}

// What a lethal case kills cannot be tested afterwards. Otherwise the order stays.
void put_lethal_last(Plan& plan) {
    std::vector<PlannedRun> ordered;
    std::vector<PlannedRun> lethal;
    for (PlannedRun& run : plan.runs)
        (plan.cases[run.case_index].tagged("lethal") ? lethal : ordered).push_back(std::move(run));
    std::ranges::move(lethal, std::back_inserter(ordered));
    plan.runs = std::move(ordered);
}

// Two scripts that cannot be told apart in a report.
std::optional<PlanError> check_ids(const std::vector<script::Case>& cases) {
    std::map<std::string, std::string_view> paths;
    for (const script::Case& one : cases) {
        const auto [entry, is_new] = paths.emplace(one.id(), one.path);
        if (is_new) continue;
        return PlanError{fmt::format("{} and {} are both called {}: play them in two runs\n",
                                     entry->second, one.path, one.id())};
    }
    return std::nullopt;
}

} // namespace

std::string shell_word(const std::string& text) {
    const bool plain = text.find_first_of(" '\"$&|;<>()*?[]\\`~!#") == std::string::npos;
    if (plain) return text;
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

bool PlannedRun::sets_mtu() const {
    return run->qps.front().attribute("mtu") != nullptr;
}

std::optional<int> PlannedRun::own_ip_version() const {
    const script::Attribute* found = run->qps.front().attribute("ip");
    const auto* expr = found == nullptr ? nullptr : std::get_if<script::Expr>(&found->value);
    if (expr == nullptr) return std::nullopt;
    return static_cast<int>(expr->number);
}

Network PlannedRun::network() const {
    Network network = network_of(*run, ip_version);
    if (!network.vlan && vlan != 0) network.vlan = wire::VlanId{.id = vlan};
    return network;
}

Network network_of(const script::Run& run, int ip_version) {
    const script::QpSetup& setup = run.qps.front(); // what is common to all QPs stands here
    const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
        const script::Attribute* found = setup.attribute(name);
        const auto* expr = found == nullptr ? nullptr : std::get_if<script::Expr>(&found->value);
        return expr == nullptr ? std::nullopt : std::optional(expr->number);
    };
    Network network{.ip_version = ip_version};
    if (const auto id = number("vlan")) {
        network.vlan =
            wire::VlanId{.id = static_cast<std::uint16_t>(*id),
                         .priority = static_cast<std::uint8_t>(number("vlan.pcp").value_or(0))};
    }
    return network;
}

std::string PlannedRun::id(const script::Case& of) const {
    if (axes.empty()) return of.id() + run->suffix;
    if (run->suffix.empty()) return fmt::format("{}[{}]", of.id(), axes);
    return fmt::format("{}[{},{}", of.id(), axes, run->suffix.substr(1));
}

std::expected<Plan, PlanError> make_plan(const Selection& selection,
                                         std::span<const ScriptFile> files, Compile compile) {
    if (const auto error = check_names(selection)) return std::unexpected(*error);

    std::vector<script::Script> scripts;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        if (!selected_by_name(file, selection.names)) continue;
        auto script = compiled(compile, file.path, file.text, selection.usual_mtu);
        if (!script) return std::unexpected(script.error());
        if (selected(script->test_case, selection)) scripts.push_back(std::move(*script));
    }
    const std::size_t first_file = scripts.size();
    for (const ScriptFile& file : files) {
        auto script = compiled(compile, file.path, file.text, selection.usual_mtu);
        if (!script) return std::unexpected(script.error());
        scripts.push_back(std::move(*script));
    }
    if (const auto error =
            set_parameters(scripts, selection.parameters, compile, selection.usual_mtu)) {
        return std::unexpected(*error);
    }

    Plan plan;
    for (script::Script& script : scripts)
        plan.cases.push_back(std::move(script.test_case));
    if (const auto error = check_ids(plan.cases)) return std::unexpected(*error);
    for (std::size_t i = 0; i < plan.cases.size(); ++i) {
        std::set<std::string, std::less<>> planned; // two names may select the same run
        const SharedRuns shared_runs = shared(std::move(scripts[i].runs));
        const std::vector<RunName> names = names_of(plan.cases[i], i >= first_file, selection);
        for (const RunName& name : names) {
            const Selection axes = with_axes_of(name, selection);
            if (shared_runs.size() * multiple_of(axes) > kMostRuns - plan.runs.size()) {
                return std::unexpected(PlanError{fmt::format(
                    "the selection has more than {} runs; select fewer cases, or --repeat them "
                    "less often, with another --seed each time\n",
                    kMostRuns)});
            }
            auto over_mtus = runs_over_mtus(plan.cases[i], i, shared_runs, axes, compile);
            if (!over_mtus) return std::unexpected(over_mtus.error());
            std::vector<PlannedRun>& runs = *over_mtus;
            if (!name.values.empty()) {
                std::erase_if(runs, [&](const PlannedRun& run) {
                    return !has_values(run.id(plan.cases[i]), name.values);
                });
            }
            if (runs.empty() && !name.values.empty()) {
                return std::unexpected(PlanError{fmt::format(
                    "{} has no run with {}; 'veriroce test --list {}' shows them\n", name.of,
                    fmt::join(name.values, " and "), shell_word(std::string(name.of)))});
            }
            for (PlannedRun& run : runs) {
                if (i >= first_file) run.file = plan.cases[i].path;
                if (names.size() > 1 && !planned.insert(run.id(plan.cases[i])).second) continue;
                plan.runs.push_back(std::move(run));
            }
        }
    }
    if (const auto error = leave_out(plan, selection.excluded)) return std::unexpected(*error);
    put_lethal_last(plan);
    if (plan.runs.empty()) {
        return std::unexpected(PlanError{"no case matches the selection\n"});
    }
    if (auto error = take_shard(plan.runs, selection.shard)) return std::unexpected(*error);
    return plan;
}

std::optional<std::string> reason_to_skip(const script::Case& script, const PlannedRun& planned,
                                          const Testbed& testbed, const Environment& environment,
                                          const Selection& selection) {
    const auto own = planned.own_ip_version();
    if (own && *own != planned.ip_version) return fmt::format("only for IPv{}", *own);
    if (!planned.sets_mtu()) {
        const script::Need mtu = need_of_mtu(wire::bytes_of(planned.path_mtu));
        if (const auto why = lacking(mtu, testbed, environment)) return why;
    }
    for (const script::Need& need : needs_of(script, *planned.run)) {
        if (const auto why = lacking(need, testbed, environment)) return why;
    }
    for (const script::Word& trait : script.unless) {
        if (environment.trait(trait.text))
            return fmt::format("the device has the trait {}", trait.text);
    }
    if (selection.shared_fabric && interpreter::sends_pause(*planned.run)) {
        return std::string("--shared-fabric: it sends PAUSE frames, which may stop other hosts");
    }
    if (selection.shared_fabric && interpreter::sends_to_everybody(*planned.run)) {
        return std::string("--shared-fabric: it sends malformed frames to every host");
    }
    if (script.tagged("slow") && !selection.slow) return std::string("slow: use --slow");
    return std::nullopt;
}

} // namespace veriroce::plan
