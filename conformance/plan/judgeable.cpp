#include "conformance/plan/judgeable.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/walk.hpp"
#include "conformance/script/evaluate.hpp"

namespace veriroce::plan {

using interpreter::duration_text;
using interpreter::each_statement;

namespace {

// Times that are known before the run.
std::optional<std::int64_t> constant(const std::optional<script::Expr>& expr) {
    if (!expr) return std::nullopt;
    const auto value =
        script::evaluate(*expr, {[](std::string_view) { return std::nullopt; },
                                 [](const script::FieldName&) { return std::nullopt; }});
    if (!value) return std::nullopt;
    return *value;
}

// The shortest time that a line of the run states; nothing if none does.
std::optional<wire::Duration> shortest_time(const script::Run& run) {
    std::optional<wire::Duration> shortest;
    const auto note = [&](const std::optional<script::Expr>& expr) {
        const auto value = constant(expr);
        if (!value || *value <= 0) return;
        const wire::Duration time(*value);
        shortest = shortest ? std::min(*shortest, time) : time;
    };
    each_statement(run.body, [&](const script::Statement& one) {
        const auto* line = std::get_if<script::ExpectPacket>(&one.node);
        if (line == nullptr) return;
        note(line->within);
        if (!line->after) return;
        note(line->after->low);
        note(line->after->high);
    });
    return shortest;
}

struct Needs {
    wire::Duration time{0};
    std::string run; // the id of the one that needs it
};

} // namespace

std::vector<std::string> not_judgeable(const Plan& plan, wire::Duration stamp_width) {
    std::map<std::string, Needs> rules;
    for (const PlannedRun& planned : plan.runs) {
        const auto time = shortest_time(*planned.run);
        if (!time || *time >= stamp_width) continue;
        const script::Case& script = plan.cases[planned.case_index];
        for (const script::Word& rule : script.rules) {
            Needs& needs =
                rules.try_emplace(rule.text, Needs{*time, planned.id(script)}).first->second;
            if (*time < needs.time) needs = {*time, planned.id(script)};
        }
    }
    std::vector<std::string> sentences;
    for (const auto& [rule, needs] : rules) {
        sentences.push_back(fmt::format("{} may be too noisy to judge here: {} checks a time of "
                                        "{}, but timestamps are uncertain by {}",
                                        rule, needs.run, duration_text(needs.time),
                                        duration_text(stamp_width)));
    }
    return sentences;
}

} // namespace veriroce::plan
