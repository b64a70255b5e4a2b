// The options of `veriroce test`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/rules/rules.hpp"
#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

struct TestOptions {
    std::vector<std::string> cases; // files, ids, groups, runs; all if empty
    std::vector<std::string> excluded;
    std::vector<std::string> rules;
    std::vector<std::string> tags;
    std::optional<rules::Role> role;
    std::vector<std::string> over;       // "ip=4,6", "psn=low,wrap", "migreq=0,1", "mtu=512,4096"
    std::vector<std::string> parameters; // "lost=7"
    std::uint32_t repeat = 1;
    bool data_sheet = false; // also, or alone, the cases that measure
    bool explore = false;    // random dialogues instead of cases
    bool thorough = false;   // the slow cases, every axis, then random dialogues
    std::uint64_t runs = 0;  // dialogues; 0: no limit
    double seconds = 0;      // of exploring; 0: no limit, or kThoroughSeconds
    bool shrink = false;     // the first run that fails, instead of a report of all
    std::string shard;       // "2/5"; all if empty
    std::string dut_reset;   // a command for the shell that revives a dead device
    std::uint64_t seed = 1;
    double timeout_scale = 1.0;
    std::uint32_t threads = 0; // that play in virtual time; 0: one for each processor
    bool strict = false;
    std::string allow_errors; // "2%": this share of ERRORs does not change the exit code
    bool fail_fast = false;
    bool slow = false;
    bool load = false;
    bool shared_fabric = false; // leaves out what disturbs other hosts
    bool list = false;
    bool list_mutants = false;
    bool matrix = false; // which case catches which planted defect
    bool dry_run = false;
    bool quiet = false;
    bool colour = false;
    bool progress = false; // a line on stderr that says what goes on
    std::string report;    // a folder
    std::string mutant;    // of the built-in engine
    std::string faults;    // a plan (*.faults) under which every case is played
    std::string noise;     // of the wire in virtual time: "loss=0.2%,reorder=1%"

    std::string dut;        // HOST:PORT or unix:PATH; the built-in engine if empty
    std::string token_file; // of the agent
    std::string interface;  // the wire
    std::vector<std::string>
        tester_address; // A/N that the kernel does not own; else the interface's own
    std::vector<std::string> dut_address; // which GID of the DUT; else the first that fits
    std::uint32_t dut_port = 0;           // of the device; 0: the first
    std::vector<std::string> dut_gid;     // indices of GIDs
    std::vector<std::string> dut_other;   // addresses of the DUT's host that are not GIDs
    std::optional<std::uint32_t> dscp;    // of the device's packets, unless a case sets another
    std::string profile;                  // a file: what is known of the device
    std::string write_profile;            // a file that gets a draft of one
    std::string dut_lacks;                // "uc,sge>=2": the built-in engine without them
    std::string capture;                  // a pcapng of the whole run
};

// How long --thorough explores, unless --runs or --time says otherwise.
inline constexpr double kThoroughSeconds = 60;

unsigned threads_of(const TestOptions& options);

void add_options(command_line::Command& command, TestOptions& options);
// Of these the ones that say how to reach a device.
void add_agent_options(command_line::Command& command, TestOptions& options);

// Words of an option that is a list and may be repeated, as one list.
std::string listed(const std::vector<std::string>& words);

// The options that another run of one case needs; `PlanRun` adds its axes and its seed.
std::string repeat_options(const TestOptions& options);

} // namespace veriroce::commands
