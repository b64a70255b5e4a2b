// Constructs of the language that the interpreter does not support: reported at their place, never
// skipped. When the interpreter supports a construct, delete its line here.
#include <array>

#include "conformance/script/cursor.hpp"
#include "conformance/script/script.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using namespace std::string_view_literals;
using Missing = std::optional<std::string>;

// The attributes that our side of a QP supports; the others exist only for the device.
constexpr std::array tester_attributes{"psn"sv,
                                       "timeout"sv,
                                       "retry_cnt"sv,
                                       "rnr_retry"sv,
                                       "min_rnr_timer"sv,
                                       "max_rd_atomic"sv,
                                       "max_dest_rd_atomic"sv,
                                       "access"sv,
                                       "send_wr"sv,
                                       "recv_wr"sv,
                                       "dscp"sv,
                                       "ecn"sv,
                                       "ttl"sv,
                                       "flow"sv,
                                       "sport"sv};
constexpr std::array tester_changes{"state"sv,     "timeout"sv,       "retry_cnt"sv,
                                    "rnr_retry"sv, "min_rnr_timer"sv, "access"sv};

Missing missing_of(const SideCommand& line) {
    if (line.side == Side::Dut) return std::nullopt;
    const auto* change = std::get_if<Modify>(&line.command);
    if (change == nullptr) return std::nullopt;
    for (const Attribute& one : change->attributes) {
        if (!contains(tester_changes, one.name)) return "tester modify " + one.name + "=";
    }
    return std::nullopt;
}

Missing missing_of(const Statement& statement) {
    if (const auto* message = std::get_if<CmMessage>(&statement.node)) return message->type.text;
    if (const auto* command = std::get_if<SideCommand>(&statement.node)) {
        return missing_of(*command);
    }
    return std::nullopt;
}

class Walk {
  public:
    explicit Walk(const Case& checked) : lines_(lex(checked.text)), report_(lines_) {}

    void run(const Run& run) {
        for (const QpSetup& setup : run.tester_qps) {
            for (const Attribute& one : setup.attributes) {
                if (contains(tester_attributes, one.name)) continue;
                say(one.span, "tester qp " + one.name + "=");
            }
        }
        block(run.body);
    }

    std::vector<Diagnostic> take() { return report_.take(); }

  private:
    void block(const Block& statements) {
        for (const Statement& statement : statements) {
            if (const auto missing = missing_of(statement)) {
                say(statement.span, *missing);
            }
            if (const auto* any = std::get_if<AnyBlock>(&statement.node)) {
                for (const Alternative& alternative : any->alternatives)
                    block(alternative.body);
            }
            if (const auto* one = std::get_if<Unordered>(&statement.node)) block(one->body);
            if (const auto* one = std::get_if<Repeat>(&statement.node)) block(one->body);
        }
    }

    void say(const SourceSpan& span, const std::string& what) {
        report_.add(span, "veriroce cannot run this yet: " + what);
    }

    std::vector<Line> lines_;
    Report report_;
};

} // namespace

std::vector<Diagnostic> not_yet_runnable(const Case& checked) {
    auto runs = expand(checked);
    if (!runs) return std::move(runs.error());
    Walk walk(checked);
    for (const Run& run : *runs)
        walk.run(run);
    return walk.take();
}

} // namespace veriroce::script
