#include "conformance/suite/script_command.hpp"

#include <algorithm>
#include <expected>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "conformance/script/script.hpp"

namespace veriroce::suite {
namespace {

constexpr int differs = 1;
constexpr int wrong_script = 2;
constexpr int tool_error = 3;

std::expected<std::string, std::string> read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    if (!stream || !(text << stream.rdbuf())) {
        return std::unexpected(fmt::format("{}: no such script, or it cannot be read", path));
    }
    return text.str();
}

// Whole or not at all: the new text takes the file's place when it is complete.
bool replace(const std::string& path, const std::string& text) {
    const std::string growing = path + ".part";
    std::error_code code;
    {
        std::ofstream stream(growing, std::ios::binary | std::ios::trunc);
        stream << text;
        if (!stream.flush()) {
            stream.close();
            std::filesystem::remove(growing, code);
            return false;
        }
    }
    std::filesystem::rename(growing, path, code);
    return !code;
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
        const auto text = read(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", text.error());
            code = std::max(code, tool_error);
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
        const auto text = read(path);
        if (!text) {
            fmt::print(err, "veriroce: {}\n", text.error());
            code = std::max(code, tool_error);
            continue;
        }
        const auto laid_out = script::format(path, *text);
        if (!laid_out) {
            print(err, path, laid_out.error());
            code = std::max(code, wrong_script);
        } else if (*laid_out != *text && options.check_only) {
            fmt::print(out, "{}: not laid out; 'veriroce script format' does it\n", path);
            code = std::max(code, differs);
        } else if (*laid_out != *text && !replace(path, *laid_out)) {
            fmt::print(err, "veriroce: {}: cannot be written\n", path);
            code = std::max(code, tool_error);
        }
    }
    return code;
}

} // namespace veriroce::suite
