#include "conformance/commands/script.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::commands {
namespace {

constexpr int differs = 1;
constexpr int wrong_script = 2;
constexpr int tool_error = 3;

bool is_plan(const std::string& path) {
    return path.ends_with(".faults");
}

void print(std::FILE* err, const std::string& path,
           const std::vector<script::Diagnostic>& diagnostics) {
    for (const script::Diagnostic& one : diagnostics)
        fmt::print(err, "{}", one.text(path));
}

} // namespace

int script_check(const std::vector<std::string>& files, std::FILE* out, std::FILE* err) {
    int code = 0;
    for (const std::string& path : files) {
        const auto text = read_text(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", text.error());
            code = std::max(code, tool_error);
            continue;
        }
        if (is_plan(path)) {
            const auto rules = script::load_plan(path, *text);
            if (!rules) print(err, path, rules.error());
            if (!rules) code = std::max(code, wrong_script);
            if (rules)
                fmt::print(out, "{}: {} fault rule{}\n", path, rules->size(),
                           rules->size() == 1 ? "" : "s");
            continue;
        }
        const auto loaded = script::load(path, *text);
        const auto runs = loaded ? script::expand(*loaded) : std::unexpected(loaded.error());
        if (!runs) {
            print(err, path, runs.error());
            code = std::max(code, wrong_script);
            continue;
        }
        fmt::print(out, "{}: {} ({} run{})\n", path, loaded->title, runs->size(),
                   runs->size() == 1 ? "" : "s");
    }
    return code;
}

int script_format(const FormatOptions& options, std::FILE* out, std::FILE* err) {
    int code = 0;
    for (const std::string& path : options.files) {
        const auto text = read_text(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", text.error());
            code = std::max(code, tool_error);
            continue;
        }
        const auto laid_out =
            is_plan(path) ? script::format_plan(path, *text) : script::format(path, *text);
        if (!laid_out) {
            print(err, path, laid_out.error());
            code = std::max(code, wrong_script);
        } else if (*laid_out != *text && options.check_only) {
            fmt::print(out, "{}: not laid out; 'veriroce script format' does it\n", path);
            code = std::max(code, differs);
        } else if (*laid_out != *text) {
            const auto written = write_text(path, *laid_out);
            if (written) continue;
            fmt::print(err, "veriroce: {}\n", written.error());
            code = std::max(code, tool_error);
        }
    }
    return code;
}

} // namespace veriroce::commands
