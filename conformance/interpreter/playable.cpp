#include "conformance/interpreter/playable.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "conformance/interpreter/walk.hpp"

namespace veriroce::interpreter {
namespace {

// The attributes that the tester's end of a QP has; only the device has the others.
constexpr std::array<std::string_view, 15> kTesterAttributes{"psn",
                                                             "timeout",
                                                             "retry_cnt",
                                                             "rnr_retry",
                                                             "min_rnr_timer",
                                                             "max_rd_atomic",
                                                             "max_dest_rd_atomic",
                                                             "access",
                                                             "send_wr",
                                                             "recv_wr",
                                                             "dscp",
                                                             "ecn",
                                                             "ttl",
                                                             "flow",
                                                             "sport"};
constexpr std::array<std::string_view, 6> kTesterChanges{"state",     "timeout",       "retry_cnt",
                                                         "rnr_retry", "min_rnr_timer", "access"};

bool contains(const auto& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// A line of the file; the first is 1.
std::string line_of(std::string_view text, std::uint32_t number) {
    for (std::uint32_t line = 1; line < number; ++line)
        text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    return std::string(text.substr(0, text.find('\n')));
}

// Lists each place once, even if several runs contain it.
class Refusals {
  public:
    explicit Refusals(const script::Case& of) : case_(of) {}

    void add(const script::SourceSpan& span, const std::string& what) {
        const std::string message = "veriroce cannot run this yet: " + what;
        if (!known_.emplace(span.line, span.column, message).second) return;
        const auto behind = std::ranges::upper_bound(found_, place_of(span), {}, place);
        found_.insert(behind, {span, message, line_of(case_.text, span.line)});
    }
    // Sorted by place.
    std::vector<script::Diagnostic> take() { return std::move(found_); }

  private:
    using Place = std::pair<std::uint32_t, std::uint32_t>;
    static Place place_of(const script::SourceSpan& span) { return {span.line, span.column}; }
    static Place place(const script::Diagnostic& one) { return place_of(one.span); }

    const script::Case& case_;
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::string>> known_;
    std::vector<script::Diagnostic> found_;
};

void look_at(const script::Statement& statement, Refusals& refusals) {
    const auto* command = std::get_if<script::SideCommand>(&statement.node);
    if (command == nullptr || command->side == rules::Side::Dut) return;
    const auto* change = std::get_if<script::Modify>(&command->command);
    if (change == nullptr) return;
    const auto unknown = std::ranges::find_if(
        change->attributes, [](const auto& one) { return !contains(kTesterChanges, one.name); });
    if (unknown != change->attributes.end()) {
        refusals.add(statement.span, "tester modify " + unknown->name + "=");
    }
}

} // namespace

std::vector<script::Diagnostic> unplayable_lines(const script::Script& script) {
    Refusals refusals(script.test_case);
    for (const script::Run& run : script.runs) {
        for (const script::QpSetup& setup : run.tester_qps) {
            for (const script::Attribute& one : setup.attributes) {
                if (contains(kTesterAttributes, one.name)) continue;
                refusals.add(one.span, "tester qp " + one.name + "=");
            }
        }
        each_statement(run.body, [&](const script::Statement& one) { look_at(one, refusals); });
    }
    return refusals.take();
}

} // namespace veriroce::interpreter
