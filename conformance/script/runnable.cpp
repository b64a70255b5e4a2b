// What the language has and the interpreter has not: said at its place, never skipped. When the
// interpreter learns a construct, its line here goes.
#include "conformance/script/cursor.hpp"
#include "conformance/script/script.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using Missing = std::optional<std::string>;

// Of `dut …` and `tester …`.
struct MissingCommand {
    Side side;
    bool refused;

    [[nodiscard]] Missing dut_only(std::string_view name) const {
        if (side == Side::Dut && !refused) return std::nullopt;
        return other(name);
    }
    [[nodiscard]] Missing other(std::string_view name) const {
        std::string who = side == Side::Dut ? "dut " : "tester ";
        if (refused) who += "refuses ";
        return who + std::string(name);
    }

    Missing operator()(const Post& post) const {
        if (post.mw || post.operation == wire::WrOpcode::BindMw) return "a BIND_MW";
        return dut_only("post");
    }
    Missing operator()(const Recv& recv) const {
        if (recv.srq) return "recv srq=";
        return dut_only("recv");
    }
    Missing operator()(const MakeMr&) const { return refused ? other("mr") : std::nullopt; }
    Missing operator()(const MakeMw&) const { return other("mw"); }
    Missing operator()(const Dereg&) const { return other("dereg"); }
    Missing operator()(const WriteMemory&) const { return dut_only("write"); }
    Missing operator()(const MakeCq&) const { return other("cq"); }
    Missing operator()(const MakeSrq&) const { return other("srq"); }
    Missing operator()(const ArmCq&) const { return other("arm"); }
    Missing operator()(const Modify&) const {
        return side == Side::Dut ? std::nullopt : other("modify");
    }
    Missing operator()(const Reconnect&) const { return other("reconnect"); }
    Missing operator()(const Done&) const { return dut_only("done"); }
    Missing operator()(const State&) const { return dut_only("state"); }
    Missing operator()(const EventSeen&) const { return dut_only("event"); }
    Missing operator()(const Notified&) const { return other("notified"); }
    Missing operator()(const Counter&) const { return other("counter"); }
    Missing operator()(const Answers&) const { return std::nullopt; }
};

struct MissingStatement {
    Missing operator()(const SendPacket& packet) const {
        if (packet.rocev1) return "encap=rocev1";
        return std::nullopt;
    }
    Missing operator()(const SendRaw&) const { return "RAW"; }
    Missing operator()(const SendFragment&) const { return "FRAGMENT"; }
    Missing operator()(const SendPfc&) const { return "PFC"; }
    Missing operator()(const CmMessage& message) const { return message.type.text; }
    Missing operator()(const ExpectPacket&) const { return std::nullopt; }
    Missing operator()(const SideCommand& command) const {
        return std::visit(MissingCommand{command.side, command.refused}, command.command);
    }
    Missing operator()(const FaultLine&) const { return std::nullopt; }
    Missing operator()(const ExpectRegion&) const { return std::nullopt; }
    Missing operator()(const No&) const { return std::nullopt; }
    Missing operator()(const Quiet&) const { return std::nullopt; }
    Missing operator()(const Dropped&) const { return std::nullopt; }
    Missing operator()(const Judged&) const { return "judged"; }
    Missing operator()(const Wait&) const { return std::nullopt; }
    Missing operator()(const AnyBlock&) const { return std::nullopt; }
    Missing operator()(const Unordered&) const { return std::nullopt; }
    Missing operator()(const Repeat&) const { return std::nullopt; }
};

class Walk {
  public:
    explicit Walk(const Case& checked) : lines_(lex(checked.text)), report_(lines_) {}

    void header(const Case& checked) {
        for (const Word& address : checked.tester_addresses)
            say(address.span, "tester address");
    }

    void run(const Run& run) {
        for (const auto* setups : {&run.qps, &run.tester_qps}) {
            for (const QpSetup& setup : *setups)
                qp(setup);
        }
        block(run.body);
    }

    std::vector<Diagnostic> take() { return report_.take(); }

  private:
    void qp(const QpSetup& setup) {
        if (setup.count > 1) say(setup.span, "qp " + setup.name + "[...]");
        for (const std::string_view name : {"pd", "cq", "srq", "to"}) {
            if (const Attribute* attribute = setup.attribute(name)) {
                say(attribute->span, "qp " + std::string(name) + "=");
            }
        }
        const Attribute* type = setup.attribute("type");
        if (type == nullptr) return;
        const auto* words = std::get_if<std::vector<Word>>(&type->value);
        if (words != nullptr && !words->empty() && words->front().text != "RC") {
            say(type->span, "qp type=" + words->front().text);
        }
    }

    void block(const Block& statements) {
        for (const Statement& statement : statements) {
            if (const auto missing = std::visit(MissingStatement{}, statement.node)) {
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
    walk.header(checked);
    for (const Run& run : *runs)
        walk.run(run);
    return walk.take();
}

} // namespace veriroce::script
