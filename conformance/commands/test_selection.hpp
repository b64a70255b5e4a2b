// The runs that a command line selects, and the files that it names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/commands/test_options.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/run.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

// No profile if the path is empty.
command_line::Accepted<std::optional<plan::Profile>> read_profile(const std::string& path);

// No rules if the path is empty.
command_line::Accepted<interpreter::FaultPlan> read_fault_plan(const std::string& path);

// "2%" as 0.02; 0 if the text is empty.
command_line::Accepted<double> share_in(std::string_view option, const std::string& text);

// make_plan() looks up the names of cases.
command_line::Accepted<plan::Selection> selection_of(const TestOptions& options);

// The script files among the names; those of the data sheet need no file on disk.
command_line::Accepted<std::vector<plan::ScriptFile>>
read_files(const std::vector<std::string>& names);

// Adds the cases of the data sheet to what is selected: without a name of a case they are all.
void add_data_sheet(plan::Selection& selection, std::vector<plan::ScriptFile>& files);

} // namespace veriroce::commands
