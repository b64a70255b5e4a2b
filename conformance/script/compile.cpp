// Text -> checked case and its runs.
#include <algorithm>

#include "conformance/script/body.hpp"
#include "conformance/script/evaluate.hpp"
#include "conformance/script/expression.hpp"
#include "conformance/script/fault_line.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::script {
namespace {

using Definition = std::variant<const Let*, const For*>;

std::uint32_t line_of(const Definition& definition) {
    return std::visit([](const auto* d) { return d->name.span.line; }, definition);
}

// Every combination of values, in the order of the header's lines.
class Combinations {
  public:
    Combinations(const Case& head, std::int64_t mtu, Report& report) : mtu_(mtu), report_(report) {
        for (const Let& let : head.lets)
            definitions_.emplace_back(&let);
        for (const For& values : head.fors)
            definitions_.emplace_back(&values);
        std::ranges::sort(definitions_, {}, line_of); // one per line
    }

    std::vector<std::vector<BoundName>> all() {
        step(0);
        return std::move(found_);
    }

  private:
    void step(std::size_t index) {
        if (index == definitions_.size()) {
            if (found_.size() < kMaxRuns) {
                found_.push_back(current_);
            } else {
                too_many_ = true;
                report_.add({line_of(definitions_.back()), 1, 3},
                            "the case has more than " + std::to_string(kMaxRuns) + " runs");
            }
            return;
        }
        if (const auto* let = std::get_if<const Let*>(&definitions_[index])) {
            if (const auto value = number((*let)->value)) {
                bind({(*let)->name.text, Constant{*value, unit_of((*let)->value)}}, index);
            }
            return;
        }
        const For& values = *std::get<const For*>(definitions_[index]);
        for (const auto& value : values.values) {
            if (!too_many_) each(values, value, index);
        }
    }

    void each(const For& values, const std::variant<Expr, ValueRange, Word>& value,
              std::size_t index) {
        BoundName name{values.name.text, {}, true, values.attribute, values.name.span};
        if (const auto* word = std::get_if<Word>(&value)) {
            name.value = word->text;
            return bind(std::move(name), index);
        }
        if (const auto* expr = std::get_if<Expr>(&value)) {
            const auto one = number(*expr);
            if (!one) return;
            name.value = Constant{*one, unit_of(*expr)};
            return bind(std::move(name), index);
        }
        const auto& range = std::get<ValueRange>(value);
        const auto low = number(*range.low);
        const auto high = number(*range.high);
        if (!low || !high) return;
        if (*high < *low) return report_.add(range.span, "the range is empty");
        for (std::int64_t one = *low; one <= *high && !too_many_; ++one) {
            name.value = Constant{one, unit_of(*range.low)};
            bind(name, index);
        }
    }

    void bind(BoundName name, std::size_t index) {
        current_.push_back(std::move(name));
        step(index + 1);
        current_.pop_back();
    }

    // Only earlier names: the header's parser rejects a name that is defined later.
    std::optional<std::int64_t> number(const Expr& expr) {
        const Lookup lookup{.name = [this](std::string_view name) { return bound(name); },
                            .field = {}};
        const auto value = evaluate(expr, lookup);
        if (value) return *value;
        report_.add(value.error().span, text_of(value.error()));
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::int64_t> bound(std::string_view name) const {
        for (const BoundName& one : current_) {
            const auto* constant = std::get_if<Constant>(&one.value);
            if (one.name == name && constant != nullptr) return constant->value;
        }
        if (name == "mtu") return mtu_;
        return std::nullopt;
    }

    std::int64_t mtu_;
    Report& report_;
    std::vector<Definition> definitions_;
    std::vector<BoundName> current_;
    std::vector<std::vector<BoundName>> found_;
    bool too_many_ = false;
};

// The path MTU in one run: from `for qp.mtu`, else from `qp mtu=N`, else the run's.
std::int64_t mtu_of(std::span<const Line> lines, std::span<const BoundName> names,
                    std::int64_t otherwise) {
    for (const BoundName& name : names) {
        const auto* constant = std::get_if<Constant>(&name.value);
        if (name.attribute && name.name == "mtu" && constant != nullptr) return constant->value;
    }
    std::int64_t mtu = otherwise;
    for (const Line& line : lines) {
        if (!is_qp_line(line)) continue;
        for (std::size_t i = 0; i + 2 < line.tokens.size(); ++i) {
            const bool written = line.tokens[i].is("mtu") && line.tokens[i + 1].is("=") &&
                                 line.tokens[i + 2].kind == Token::Kind::Number;
            if (written) mtu = line.tokens[i + 2].number;
        }
    }
    return mtu;
}

bool follows_pfc(const fault::Selector& selector) {
    return selector.traffic_class || selector.paused || selector.pfc;
}

} // namespace

std::expected<Script, std::vector<Diagnostic>> compile(std::string_view path, std::string_view text,
                                                       std::int64_t usual_mtu) {
    if (text.size() > kMaxTextBytes) {
        return std::unexpected(std::vector{Diagnostic{
            {1, 1, 1}, "the file is longer than " + std::to_string(kMaxTextBytes) + " bytes", {}}});
    }
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    Header header = parse_header(path, lines, report);
    Script compiled;
    if (header.names_known) {
        const std::span<const Line> head_lines = std::span(lines).first(header.lines);
        const std::int64_t common = mtu_of(head_lines, {}, usual_mtu);
        for (const auto& names : Combinations(header.head, common, report).all()) {
            const std::int64_t own = mtu_of(head_lines, names, usual_mtu);
            compiled.runs.push_back(parse_run(header, lines, names, own, report));
            if (report.full()) break;
        }
    }
    if (!report.empty()) return std::unexpected(report.take());
    compiled.test_case = std::move(header.head);
    compiled.test_case.text = std::string(text);
    return compiled;
}

std::expected<std::vector<fault::Rule>, std::vector<Diagnostic>> load_plan(std::string_view path,
                                                                           std::string_view text) {
    (void)path; // the caller prints it with the diagnostics
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    const Scope no_names;
    std::vector<fault::Rule> rules;
    for (const Line& line : lines) {
        if (line.tokens.empty()) continue;
        Cursor cursor(line, line.tokens, report);
        if (cursor.peek().is("expect")) {
            cursor.fail_here("'expect' is for the plans of veriroce inject; a case has verdicts");
            continue;
        }
        rules.push_back(parse_fault(cursor, no_names, FaultPlace::Plan));
        const fault::Selector& selector = rules.back().selector;
        if (selector.connection || selector.host) {
            report.add(line.span(), "'conn' and 'host' are for the plans of veriroce inject; "
                                    "use from= and qp=");
        }
        const auto* hold = std::get_if<fault::Hold>(&rules.back().action);
        if (follows_pfc(selector) || (hold != nullptr && follows_pfc(hold->until))) {
            report.add(line.span(), "'class', 'paused' and 'pfc' are for the plans of veriroce "
                                    "inject: a case has no link that is paused");
        }
    }
    if (!report.empty()) return std::unexpected(report.take());
    return rules;
}

std::expected<InjectionPlan, std::vector<Diagnostic>> load_injection(std::string_view path,
                                                                     std::string_view text) {
    (void)path;
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    const Scope no_names;
    InjectionPlan plan;
    for (const Line& line : lines) {
        if (line.tokens.empty()) continue;
        Cursor cursor(line, line.tokens, report);
        if (cursor.peek().is("expect")) {
            plan.expectations.push_back(parse_expectation(cursor, no_names));
        } else {
            plan.rules.push_back(parse_fault(cursor, no_names, FaultPlace::Plan));
        }
    }
    if (!report.empty()) return std::unexpected(report.take());
    return plan;
}

std::string Diagnostic::text(std::string_view path) const {
    std::string result = std::string(path) + ":" + std::to_string(span.line) + ":" +
                         std::to_string(span.column) + ": " + message + "\n";
    if (source.empty()) return result;
    result += "    " + source + "\n    " + std::string(span.column - 1, ' ');
    const std::uint32_t columns = columns_of(source);
    const std::uint32_t room = columns >= span.column ? columns - span.column + 1 : 1;
    return result + std::string(std::clamp(span.length, 1U, room), '^') + "\n";
}

std::string_view Case::line_text(const SourceSpan& span) const {
    std::string_view rest = text;
    for (std::uint32_t line = 1; !rest.empty(); ++line) {
        const std::size_t end = rest.find('\n');
        if (line == span.line) {
            const std::vector<Line> one = lex(rest.substr(0, end));
            std::string_view found = one.empty() ? std::string_view{} : one.front().text;
            if (!one.empty()) found.remove_suffix(one.front().comment.size());
            while (found.ends_with(' '))
                found.remove_suffix(1);
            while (found.starts_with(' '))
                found.remove_prefix(1);
            return found;
        }
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return {};
}

} // namespace veriroce::script
