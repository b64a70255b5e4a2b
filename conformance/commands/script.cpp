#include "conformance/commands/script.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/commands/script_import.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/script/script.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

bool is_plan(const std::string& path) {
    return path.ends_with(".faults");
}

void print(std::FILE* err, const std::string& path,
           const std::vector<script::Diagnostic>& diagnostics) {
    for (const script::Diagnostic& one : diagnostics)
        fmt::print(err, "{}", one.text(path));
}

} // namespace

void add_script(Command program) {
    auto script = program.add_group("script", "Check, format and import scripts");
    auto check = script.add_command("check", "Compile scripts without running them");
    const auto checked = std::make_shared<std::vector<std::string>>();
    check.option("FILE", *checked, "Scripts (*.roce) or fault plans (*.faults)",
                 {.required = true});
    check.on_run([checked] { return run_script_check(*checked, stdout, stderr); });
    auto format = script.add_command("format", "Format scripts, in place");
    const auto options = std::make_shared<FormatOptions>();
    format.option("FILE", options->files, "Scripts (*.roce) or fault plans (*.faults)",
                  {.required = true});
    format.flag("--check", options->check_only, "Only print the names of files that would change");
    format.on_run([options] { return run_script_format(*options, stdout, stderr); });
    add_script_import(script);
}

int run_script_check(const std::vector<std::string>& files, std::FILE* out, std::FILE* err) {
    int code = 0;
    for (const std::string& path : files) {
        const auto text = read_text(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", wire::safe_text(text.error(), true));
            code = std::max(code, kExitUnable);
            continue;
        }
        if (is_plan(path)) {
            const auto plan = script::load_injection(path, *text);
            if (!plan) print(err, path, plan.error());
            if (!plan) code = std::max(code, kExitUsage);
            if (plan)
                fmt::print(out, "{}: {} fault rule{}\n", path, plan->rules.size(),
                           plan->rules.size() == 1 ? "" : "s");
            continue;
        }
        const auto compiled = script::compile(path, *text);
        if (!compiled) {
            print(err, path, compiled.error());
            code = std::max(code, kExitUsage);
            continue;
        }
        fmt::print(out, "{}: {} ({} run{})\n", path, compiled->test_case.title,
                   compiled->runs.size(), compiled->runs.size() == 1 ? "" : "s");
    }
    return code;
}

int run_script_format(const FormatOptions& options, std::FILE* out, std::FILE* err) {
    int code = 0;
    for (const std::string& path : options.files) {
        const auto text = read_text(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", wire::safe_text(text.error(), true));
            code = std::max(code, kExitUnable);
            continue;
        }
        const auto laid_out =
            is_plan(path) ? script::format_plan(path, *text) : script::format(path, *text);
        if (!laid_out) {
            print(err, path, laid_out.error());
            code = std::max(code, kExitUsage);
        } else if (*laid_out != *text && options.check_only) {
            fmt::print(out, "{}: not formatted; run 'veriroce script format'\n", path);
            code = std::max(code, kExitFound);
        } else if (*laid_out != *text) {
            const auto written = write_text(path, *laid_out);
            if (written) continue;
            fmt::print(err, "veriroce: {}\n", wire::safe_text(written.error(), true));
            code = std::max(code, kExitUnable);
        }
    }
    return code;
}

} // namespace veriroce::commands
