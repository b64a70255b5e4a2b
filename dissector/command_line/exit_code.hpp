// The exit codes of veriroce and veriroce-agent. Scripts rely on them.
#pragma once

namespace veriroce::command_line {

// The command did its work and has nothing to report.
inline constexpr int kExitSuccess = 0;
// The command did its work and reports something: a FAIL, a certain violation, a finding.
inline constexpr int kExitFound = 1;
// The command line, a script or a selection is wrong. Nothing was sent.
inline constexpr int kExitUsage = 2;
// The command could not do its work: no device, no link, an unreadable file, a full disk.
inline constexpr int kExitUnable = 3;
// SIGINT, SIGTERM or SIGHUP ended the command before it was done. What it did until then stands.
inline constexpr int kExitInterrupted = 130;

} // namespace veriroce::command_line
