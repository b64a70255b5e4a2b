// The plan of a run: which cases, over which axes, in which order. Nothing is sent before the whole
// plan stands: a script that does not compile, or a name that selects nothing, ends the run before
// it begins.
//
// Errors: PlanError is one or more lines for stderr; the program then exits with 2.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/script/script.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

// The I-th of N parts of the plan: every N-th run, so that each part has its share of long cases.
// Together the parts are the plan, and no run is in two of them.
struct Shard {
    std::size_t index = 1; // from 1
    std::size_t of = 1;
};

struct Selection {
    // A file (*.roce), a case's id ("rsp/gap-nak"), a group ("rsp"), or single runs of a file or a
    // case ("bth/truncated[ip=6,n=4]", run_name.hpp; its axes count for it alone); all if empty.
    std::vector<std::string> names;
    // Globs of ids (of runs, cases or groups) that are left out.
    std::vector<std::string> excluded;
    std::vector<std::string> rules;
    std::vector<std::string> tags;
    std::optional<rules::Role> role;
    // --over: each value is a run of its own. An empty axis is not asked for: IPv4, any PSNs.
    std::vector<int> ip_versions;
    std::vector<interpreter::StartPsn> start_psns;
    std::vector<std::uint16_t> vlans; // 0: in none
    std::vector<bool> mig_reqs;
    std::vector<wire::Mtu> mtus;
    // And, beside all combinations of the axes, over each IP version in this VLAN.
    std::optional<std::uint16_t> also_in_vlan;
    // The path MTU of runs for which neither their case nor an axis sets one.
    wire::Mtu usual_mtu{script::kUsualMtu};
    std::uint32_t repeat = 1; // rounds of every run, each with a seed of its own
    Shard shard;
    std::vector<script::Parameter> parameters; // -D; each must have a line to stand in
    bool slow = false;
    bool load = false;          // also cases tagged so, which else a name or a tag must select
    bool shared_fabric = false; // without runs that disturb other hosts of the network
};

// A longer plan is refused: it is held in memory, and nobody would wait for its end.
inline constexpr std::size_t kMostRuns = 2'000'000;

struct PlanError {
    std::string text;
};

// One run of a case: the script, the values of its `for` names, and its axes.
struct PlannedRun {
    std::size_t case_index = 0; // into Plan::cases
    // Shared by all rounds and axes: a plan may have many thousands of them.
    std::shared_ptr<const script::Run> run;
    int ip_version = 4;
    interpreter::StartPsn start_psn = interpreter::StartPsn::Any;
    std::uint16_t vlan = 0; // in which it is played, unless it has its own
    std::optional<bool> mig_req;
    wire::Mtu path_mtu{script::kUsualMtu}; // `mtu` in its lines, unless the case sets another
    std::uint32_t round = 0; // of --repeat, from 0: the seed is that of the run and this
    std::string file;        // that the selection names; empty of the program's own cases
    std::string axes;        // "ip=6,psn=wrap,round=2"; empty where nothing was asked for

    // The IP version that the case itself is for, by `qp ip=`.
    [[nodiscard]] std::optional<int> own_ip_version() const;
    // Whether the case itself sets the path MTU.
    [[nodiscard]] bool sets_mtu() const;
    // Where it is played: the axes, and the VLAN of `qp vlan=`.
    [[nodiscard]] interpreter::Network network() const;
    // group/name[ip=6,mtu=256]
    [[nodiscard]] std::string id(const script::Case& of) const;
    // "ip=6", "psn=wrap": the --over options of this run alone.
    [[nodiscard]] std::vector<std::string> over() const;
};

// Where a run is played over this version of IP: its own VLAN is part of it.
interpreter::Network network_of(const script::Run& run, int ip_version);

// Takes "ip=4,6", "psn=low,wrap", "migreq=0,1" or "mtu=256,4096" into the selection. The error is a
// phrase.
std::expected<void, std::string> add_axis(Selection& selection, std::string_view text);

// "2/5": the second of five. The error is a phrase.
std::expected<Shard, std::string> parse_shard(std::string_view text);

struct Plan {
    std::vector<script::Case> cases;
    std::vector<PlannedRun> runs;
    std::vector<std::string> left_out; // ids of the runs that --exclude names, in order
};

// A script as it was found: path and text.
struct ScriptFile {
    std::string path;
    std::string text;
};

// Every script is compiled by this, once for each path MTU.
using Compile = std::expected<script::Script, std::vector<script::Diagnostic>> (*)(
    std::string_view path, std::string_view text, std::int64_t usual_mtu);

// Compiles and expands what the selection selects of the program's own cases and of the files that
// it names. `files` are those that the caller has read for names ending in ".roce".
std::expected<Plan, PlanError> make_plan(const Selection& selection,
                                         std::span<const ScriptFile> files,
                                         Compile compile = script::compile);

// Whether this run can be played here, or why not: a capability, a trait, a tag.
std::optional<std::string> reason_to_skip(const script::Case& script, const PlannedRun& planned,
                                          const testbed::Testbed& testbed,
                                          const interpreter::Environment& environment,
                                          const Selection& selection);

} // namespace veriroce::plan
