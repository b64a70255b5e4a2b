#include "conformance/commands/test_report.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "reports/json.hpp"
#include "reports/junit.hpp"
#include "reports/pcapng.hpp"

namespace veriroce::commands {

using namespace command_line;

Accepted<std::monostate> write_report(const plan::RunResults& results, const TestOptions& options) {
    if (!options.capture.empty()) {
        if (const auto written = reports::write_pcapng(results, options.capture); !written) {
            return unable(written.error());
        }
    }
    if (options.report.empty()) return {};
    std::error_code code;
    const std::filesystem::path folder = options.report;
    std::filesystem::create_directories(folder, code);
    if (code) return unable(fmt::format("{}: {}", options.report, code.message()));
    for (const auto& [name, text] : {std::pair{"results.json", reports::results_json(results)},
                                     std::pair{"junit.xml", reports::junit_xml(results)}}) {
        if (const auto written = write_text(folder / name, text); !written) {
            return unable(written.error());
        }
    }
    for (const interpreter::CaseResult& result : results.cases) {
        std::string name = result.id;
        for (char& c : name) {
            if (c == '/' || c == '[' || c == ']' || c == ',' || c == '=') c = '-';
        }
        const std::string path = folder / (name + ".pcapng");
        if (result.verdict == interpreter::Verdict::Pass || result.packets.empty()) {
            std::filesystem::remove(path, code); // of an earlier run, in which it failed
            continue;
        }
        if (const auto written = reports::write_pcapng(result, path); !written) {
            return unable(written.error());
        }
    }
    return {};
}

} // namespace veriroce::commands
