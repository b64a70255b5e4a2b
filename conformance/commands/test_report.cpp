#include "conformance/commands/test_report.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "conformance/commands/report_files.hpp"
#include "conformance/commands/text_file.hpp"
#include "conformance/plan/replay.hpp"
#include "reports/junit.hpp"

namespace veriroce::commands {

using namespace command_line;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCapturesTold = 3; // of those that could not be written

Accepted<std::monostate> accepted(std::expected<std::monostate, std::string> written) {
    if (written) return {};
    return unable(written.error());
}

} // namespace

Report::Report(const TestOptions& options) : options_(options), results_(path_of("results.json")) {}

std::string Report::path_of(const std::string& name) const {
    return fs::path(options_.report) / name;
}

std::string Report::path_of_capture(const interpreter::CaseResult& result, std::size_t play) const {
    return path_of(reports::capture_name(result.id, play));
}

void Report::name_captures(interpreter::CaseResult& result) const {
    const bool passed = result.verdict == interpreter::Verdict::Pass;
    if (options_.report.empty() || passed) return;
    if (!result.packets.empty()) result.capture = path_of_capture(result);
    for (std::size_t i = 0; i < result.other_plays.size(); ++i) {
        interpreter::OtherPlay& play = result.other_plays[i];
        if (!play.packets.empty()) play.capture = path_of_capture(result, i + 1);
    }
}

Accepted<std::monostate> Report::begin(const plan::RunResults& results) {
    if (!options_.capture.empty()) {
        auto created = reports::RunCapture::create(options_.capture);
        if (!created) return unable(created.error());
        run_capture_.emplace(std::move(*created));
    }
    if (options_.report.empty()) return {};
    std::error_code code;
    fs::create_directories(options_.report, code);
    if (code) return unable(fmt::format("{}: {}", options_.report, code.message()));
    // The one of an earlier run must not stay: readers would take it for this one's.
    auto tried = accepted(write_text(path_of("junit.xml"), reports::junit_xml(results)));
    if (!tried) return tried;
    fs::remove(path_of("junit.xml"), code);
    return accepted(results_.begin(results));
}

void Report::add(const plan::RunResults& results) {
    const interpreter::CaseResult& latest = results.cases.back();
    if (run_capture_) {
        if (const auto written = run_capture_->add(latest); !written) {
            errors_.push_back(written.error());
            run_capture_.reset();
        }
    }
    if (options_.report.empty()) return;
    write_capture(latest);
    static_cast<void>(results_.add(results)); // a full disk may have room again at the end
}

void Report::write_capture(const interpreter::CaseResult& result) {
    for (std::size_t i = 0; i <= plan::Replay::kMostPlays; ++i) { // of an earlier run
        std::error_code code;
        fs::remove(path_of_capture(result, i), code);
    }
    const auto write = [&](const interpreter::CaseResult& one) {
        if (one.capture.empty()) return;
        if (const auto written = reports::write_pcapng(one, one.capture); !written) {
            errors_.push_back(written.error());
        }
    };
    write(result);
    for (const interpreter::OtherPlay& play : result.other_plays) {
        interpreter::CaseResult other;
        other.id = result.id;
        other.findings = play.findings;
        other.packets = play.packets;
        other.capture = play.capture;
        write(other);
    }
}

Accepted<std::monostate> Report::finish(const plan::RunResults& results) {
    std::vector<std::string> errors;
    const auto tell_unless = [&errors](const auto& written) {
        if (!written) errors.push_back(written.error());
    };
    if (!options_.report.empty()) {
        tell_unless(results_.finish(results));
        for (std::string& error : write_summaries(options_.report, results))
            errors.push_back(std::move(error));
    }
    if (run_capture_) tell_unless(run_capture_->finish());
    const std::size_t told = std::min(errors_.size(), kCapturesTold);
    errors.insert(errors.end(), errors_.begin(), errors_.begin() + static_cast<long>(told));
    if (errors_.size() > told) {
        errors.push_back(fmt::format("{} more captures failed", errors_.size() - told));
    }
    if (errors.empty()) return {};
    return unable(fmt::format("{}", fmt::join(errors, "\nveriroce: ")));
}

} // namespace veriroce::commands
