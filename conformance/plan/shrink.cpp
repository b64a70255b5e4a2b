#include "conformance/plan/shrink.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "conformance/interpreter/playable.hpp"
#include "conformance/plan/script_lines.hpp"
#include "conformance/script/script.hpp"
#include "conformance/script/words.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/fault/delta_debugging.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Difference;
using interpreter::Environment;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using testbed::Testbed;

namespace {

// What makes two failures one: the verdict, and of each finding the kind, the script's line, and
// what differs. Values may differ between the whole script and the small one.
struct Failed {
    FindingKind kind = FindingKind::Internal;
    std::string line;
    std::vector<std::string> fields;
    std::string subject;
    std::vector<std::string> rules;
    std::string detail; // without its figures, and only where nothing else tells two findings apart

    friend bool operator==(const Failed&, const Failed&) = default;
};

struct Failure {
    Verdict verdict = Verdict::Pass;
    std::vector<Failed> findings;

    friend bool operator==(const Failure&, const Failure&) = default;
};

bool is_failure(Verdict verdict) {
    return verdict == Verdict::Fail || verdict == Verdict::Warn || verdict == Verdict::Error;
}

std::string without_figures(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit)
            result += c;
        else if (!result.ends_with('#'))
            result += '#';
    }
    return result;
}

Failed failed_of(const Finding& finding, const script::Case& script) {
    Failed failed{.kind = finding.kind, .rules = finding.rules};
    if (finding.line != 0) {
        failed.line = script.line_text({.line = finding.line, .column = 1, .length = 1});
    }
    for (const Difference& one : finding.differences)
        failed.fields.push_back(one.field);
    failed.subject = finding.subject;
    if (failed.fields.empty() && failed.subject.empty()) {
        failed.detail = without_figures(finding.detail);
    }
    return failed;
}

Failure failure_of(const CaseResult& result, const script::Case& script) {
    Failure failure{.verdict = result.verdict, .findings = {}};
    for (const Finding& finding : result.findings)
        failure.findings.push_back(failed_of(finding, script));
    return failure;
}

std::string first_word(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    return std::string(line.substr(begin, line.find(' ', begin) - begin));
}

// Parts that can be taken away as one: single lines, or blocks with all that they hold.
std::vector<Lines> parts_of(const Lines& lines, bool blocks_whole) {
    std::vector<Lines> parts;
    std::size_t open = 0; // blocks around the next line
    for (const std::string& line : lines) {
        if (open == 0) parts.emplace_back();
        parts.back().push_back(line);
        const std::string word = blocks_whole ? first_word(line) : "";
        if (script::opens_block(word)) ++open;
        if (word == "end" && open > 0) --open;
    }
    return parts;
}

Lines lines_in(const std::vector<Lines>& parts) {
    Lines lines;
    for (const Lines& part : parts)
        lines.insert(lines.end(), part.begin(), part.end());
    return lines;
}

class Reduction {
  public:
    Reduction(Testbed& testbed, Testbed* right, const script::Case& script, const script::Run& run,
              const Environment& environment)
        : testbed_(testbed), right_(right), script_(script), run_(run), environment_(environment) {}

    std::expected<Shrunk, std::string> reduce(const std::string& text) {
        const auto first = play(testbed_, text);
        if (!first) return std::unexpected(std::string("the case does not compile by itself"));
        if (!is_failure(first->result.verdict)) {
            return std::unexpected(fmt::format("the case does not fail by itself: it is {}",
                                               name_of(first->result.verdict)));
        }
        wanted_ = first->failure;
        best_ = first->result;
        if (right_ != nullptr && !passes(*right_, text)) right_ = nullptr;
        Lines lines = lines_of(text);
        // Inner lines may go once what stood around them has; a block may go once it is empty.
        for (bool smaller = true; smaller && !over();) {
            const std::size_t before = lines.size();
            lines = without_needless(lines, true);
            lines = without_needless(lines, false);
            smaller = lines.size() < before;
        }
        return Shrunk{
            .text = joined(lines), .result = std::move(best_), .plays = plays_, .minimal = !over()};
    }

  private:
    struct Played {
        CaseResult result;
        Failure failure;
    };

    [[nodiscard]] bool over() const {
        return plays_ >= kMaxShrinkPlays || command_line::StopOnSignal::requested();
    }

    // Nothing if the text is no script, or no plan where a plan is made small.
    std::optional<Played> play(Testbed& testbed, const std::string& text) {
        if (!environment_.plan.rules.empty()) return play_under(testbed, text);
        const auto script =
            script::compile(script_.path, text, wire::bytes_of(environment_.path_mtu));
        if (!script || script->runs.size() != 1) return std::nullopt;
        if (!interpreter::unplayable_lines(*script).empty()) return std::nullopt;
        ++plays_;
        CaseResult result = testbed.play(script->test_case, script->runs.front(), environment_);
        Failure failure = failure_of(result, script->test_case);
        return Played{std::move(result), std::move(failure)};
    }

    std::optional<Played> play_under(Testbed& testbed, const std::string& plan) {
        auto rules = script::load_plan(environment_.plan.path, plan);
        if (!rules) return std::nullopt;
        Environment environment = environment_;
        environment.plan.rules = std::move(*rules);
        ++plays_;
        CaseResult result = testbed.play(script_, run_, environment);
        Failure failure = failure_of(result, script_);
        return Played{std::move(result), std::move(failure)};
    }

    bool passes(Testbed& testbed, const std::string& text) {
        const auto played = play(testbed, text);
        return played && !is_failure(played->result.verdict);
    }

    bool fails_alike(const Lines& lines) {
        auto played = play(testbed_, joined(lines));
        if (!played || played->failure != wanted_) return false;
        if (right_ != nullptr && !passes(*right_, joined(lines))) return false;
        best_ = std::move(played->result);
        return true;
    }

    Lines without_needless(const Lines& lines, bool blocks_whole) {
        const auto still_fails = [&](const std::vector<Lines>& parts) {
            return !over() && fails_alike(lines_in(parts));
        };
        return lines_in(fault::reduce_to_failure(parts_of(lines, blocks_whole), still_fails));
    }

    Testbed& testbed_;
    Testbed* right_; // nothing where the script fails there as well
    const script::Case& script_;
    const script::Run& run_;
    const Environment& environment_;
    Failure wanted_;
    CaseResult best_;
    std::size_t plays_ = 0;
};

// The case with its `for` names fixed to the values that they have in this run.
std::string fixed(const script::Case& script, const script::Run& run) {
    std::vector<script::Parameter> parameters;
    for (const script::For& one : script.fors) {
        for (const script::Binding& binding : run.bindings) {
            if (binding.name != one.name.text) continue;
            const auto* word = std::get_if<std::string>(&binding.value);
            parameters.push_back(
                {(one.attribute ? "qp." : "") + binding.name,
                 word != nullptr ? *word : std::to_string(std::get<std::int64_t>(binding.value))});
        }
    }
    return script::with_parameters(script.text, parameters).text;
}

} // namespace

std::expected<Shrunk, std::string> shrink(Testbed& testbed, const script::Case& script,
                                          const script::Run& run, const Environment& environment,
                                          Testbed* right) {
    const bool under_plan = !environment.plan.rules.empty();
    return Reduction(testbed, right, script, run, environment)
        .reduce(under_plan ? environment.plan.text : fixed(script, run));
}

} // namespace veriroce::plan
