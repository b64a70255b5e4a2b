#include "reports/markdown.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "dissector/wire/safe_text.hpp"
#include "reports/pcapng.hpp"
#include "reports/saved_run.hpp"

namespace veriroce::reports {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;

constexpr std::array kWorstFirst{Verdict::Fail,  Verdict::Xpass, Verdict::Error, Verdict::Warn,
                                 Verdict::Xfail, Verdict::Info,  Verdict::Skip,  Verdict::Pass};
constexpr std::size_t kCellBytes = 400;
constexpr std::size_t kDifferencesShown = 4;

std::string plural(std::size_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

// A fragment as browsers write it: what is not a plain character is %XX.
std::string fragment(std::string_view id) {
    std::string out;
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '_' ||
                                           c == '.' || c == '/' || c == '=');
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
    return out;
}

bool told(Verdict verdict) {
    return verdict != Verdict::Pass && verdict != Verdict::Skip && verdict != Verdict::Info;
}

std::string excerpt(std::string_view text) {
    return markdown_cell(wire::safe_excerpt(text, kCellBytes));
}

// "msn: expected 2, got 1", each difference on a line of its own.
std::string differences(const CaseResult& result) {
    std::vector<std::string> rows;
    std::size_t left_out = 0;
    for (const interpreter::Finding& finding : result.findings) {
        for (const interpreter::Difference& one : finding.differences) {
            if (rows.size() == kDifferencesShown) {
                ++left_out;
                continue;
            }
            rows.push_back(excerpt(text_of(one)));
        }
    }
    if (left_out > 0) rows.push_back(fmt::format("and {} more", left_out));
    return fmt::format("{}", fmt::join(rows, "<br>"));
}

std::string row(const CaseResult& result) {
    const std::string name = markdown_cell(result.id);
    std::string what = excerpt(result.reason());
    if (const std::string seen = result.seen_text(); !seen.empty()) what += " (" + seen + ")";
    const std::string capture =
        result.capture.empty() ? ""
                               : fmt::format("[pcapng]({})", fragment(capture_name(result.id)));
    return fmt::format("| {} | [{}](report.html#{}) | {} | {} | {} |\n", name_of(result.verdict),
                       name, fragment(result.id), what, differences(result), capture);
}

std::string counts(const plan::RunResults& results) {
    std::string head = "|";
    std::string line = "|";
    std::string values = "|";
    for (const Verdict verdict : kWorstFirst) {
        const std::size_t count = results.count(verdict);
        if (count == 0) continue;
        head += fmt::format(" {} |", name_of(verdict));
        line += "---:|";
        values += fmt::format(" {} |", count);
    }
    return results.cases.empty() ? "" : head + "\n" + line + "\n" + values + "\n";
}

std::string facts(const testbed::RunInfo& run) {
    std::string text;
    const auto add = [&text](std::string_view name, const std::string& value) {
        if (!value.empty()) text += fmt::format("- {}: {}\n", name, excerpt(value));
    };
    add("Device", run.dut);
    add("Its host", run.dut_host);
    add("Link", run.link);
    add("Profile", run.profile);
    add("Seed", std::to_string(run.seed));
    return text;
}

std::string table(const plan::RunResults& results) {
    std::vector<const CaseResult*> cases;
    for (const CaseResult& result : results.cases) {
        if (told(result.verdict)) cases.push_back(&result);
    }
    if (cases.empty()) return {};
    std::ranges::stable_sort(cases, {}, [](const CaseResult* one) {
        return std::ranges::find(kWorstFirst, one->verdict) - kWorstFirst.begin();
    });
    std::string text =
        "\n| verdict | run | what | differences | packets |\n|---|---|---|---|---|\n";
    const std::size_t shown = std::min(cases.size(), kMarkdownRows);
    for (std::size_t i = 0; i < shown; ++i)
        text += row(*cases[i]);
    if (shown < cases.size())
        text += fmt::format("\n{} more are in report.html.\n", cases.size() - shown);
    return text;
}

std::string behaviours(const sheet::DataSheet& sheet) {
    if (sheet.behaviours.empty()) return {};
    std::string text = "\n| what the device is | |\n|---|---|\n";
    for (const sheet::Behaviour& one : sheet.behaviours)
        text += fmt::format("| {} | {} |\n", excerpt(one.title), excerpt(one.kind));
    return text;
}

} // namespace

std::string headline(const plan::RunResults& results) {
    if (results.cases.empty()) return "No run was played";
    const std::size_t failed = results.count(Verdict::Fail) + results.count(Verdict::Xpass);
    const std::size_t errors = results.count(Verdict::Error);
    const std::size_t judged = results.cases.size() - results.count(Verdict::Skip) - errors;
    std::vector<std::string> parts;
    if (failed > 0) {
        parts.push_back(fmt::format("{} of {} failed", failed, plural(judged, "judged run")));
    } else if (judged == 1) {
        parts.emplace_back("The one judged run passed");
    } else if (judged > 0) {
        parts.push_back(fmt::format("All {} judged runs passed", judged));
    } else {
        parts.emplace_back("Nothing was judged");
    }
    const std::size_t warnings = results.count(Verdict::Warn);
    if (warnings > 0) parts.push_back(plural(warnings, "warning"));
    if (errors > 0) parts.push_back(plural(errors, "run") + " could not be judged");
    if (!results.run.complete) parts.emplace_back("the run ended before its last case");
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string markdown_cell(std::string_view text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        switch (c) {
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        case '&': safe += "&amp;"; break;
        case '@': safe += "&#64;"; break;                                           // a mention
        case ':': safe += text.substr(i).starts_with("://") ? "&#58;" : ":"; break; // a link
        case '\n':
        case '\r':
        case '\t': safe += ' '; break;
        default:
            if (std::string_view("|\\`*_[]#~$!").contains(c)) safe += '\\';
            safe += c;
        }
    }
    return safe;
}

std::string report_markdown(const plan::RunResults& results) {
    return fmt::format("## veriroce: {}\n\n{}\n{}{}{}\n[report.html](report.html) has every run "
                       "with its packets.\n",
                       headline(results), facts(results.run), counts(results), table(results),
                       behaviours(results.sheet));
}

} // namespace veriroce::reports
