#include "conformance/commands/report_files.hpp"

#include <filesystem>

#include "conformance/commands/text_file.hpp"
#include "conformance/plan/own_case.hpp"
#include "reports/html.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"

namespace veriroce::commands {

std::string script_text(std::string_view file) {
    if (!file.ends_with(".roce")) return {}; // results.json may come from anybody
    if (const auto* own = plan::own_case(file.substr(0, file.rfind('.'))))
        return std::string(own->text);
    auto text = read_text(std::string(file));
    return text ? std::move(*text) : std::string{};
}

std::vector<std::string> write_summaries(const std::string& folder,
                                         const plan::RunResults& results) {
    std::vector<std::string> errors;
    const auto write = [&](const char* name, const std::string& text) {
        const auto written = write_text((std::filesystem::path(folder) / name).string(), text);
        if (!written) errors.push_back(written.error());
    };
    write("junit.xml", reports::junit_xml(results));
    write("report.html", reports::report_html(results, script_text));
    write("report.md", reports::report_markdown(results));
    return errors;
}

} // namespace veriroce::commands
