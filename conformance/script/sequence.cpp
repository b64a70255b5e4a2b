#include "conformance/script/sequence.hpp"

#include <algorithm>
#include <set>

#include "conformance/script/expression.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using Names = std::set<std::string>;

// What is certain before a line.
struct Standing {
    Names answering; // QPs on which our engine takes part
    Names spoken;    // QPs on which requests have passed
    Names gone;      // regions and windows that are deregistered
};

Names in_both(const Names& one, const Names& other) {
    Names both;
    std::ranges::set_intersection(one, other, std::inserter(both, both.end()));
    return both;
}

// A QP; an element of an array without its index if only the run knows the index.
struct Named {
    std::string text;
    bool whole_array = false;
};
Named named(const QpRef& qp) {
    if (!qp.index) return {qp.name};
    const auto index = constant_of(*qp.index);
    if (!index) return {qp.name, true};
    return {qp.name + "[" + std::to_string(*index) + "]"};
}

bool is_request(const PacketKind& kind) {
    using enum wire::Operation;
    wire::Operation operation = Acknowledge;
    if (const auto* opcode = std::get_if<Opcode>(&kind))
        operation = wire::opcode_info(opcode->code).operation;
    if (const auto* message = std::get_if<Message>(&kind)) operation = operation_of(*message);
    if (std::holds_alternative<Management>(kind)) operation = Send;
    return operation != Acknowledge && operation != RdmaReadResponse &&
           operation != AtomicAcknowledge && operation != Cnp && operation != Reserved;
}

// The IP version if only its header has the field; else 0.
std::int64_t ip_version_of(const FieldName& name) {
    if (name == FieldName(SpecialField::IpOptions)) return 4;
    const auto* field = std::get_if<wire::Field>(&name);
    if (field == nullptr) return 0;
    const wire::FieldInfo& info = wire::field_info(*field);
    if (info.secondary) return 0;
    if (info.primary.layer == wire::Layer::Ipv4) return 4;
    return info.primary.layer == wire::Layer::Ipv6 ? 6 : 0;
}

class Walk {
  public:
    Walk(const Run& run, Report& report) : report_(report) {
        const Attribute* ip = run.qps.front().attribute("ip");
        const auto* expr = ip == nullptr ? nullptr : std::get_if<Expr>(&ip->value);
        if (expr != nullptr) ip_version_ = constant_of(*expr).value_or(0);
    }

    void block(const Block& lines, Standing& now) {
        for (const Statement& one : lines)
            std::visit([&](const auto& node) { line(node, one.span, now); }, one.node);
    }

  private:
    // --- packets ---
    void line(const SendPacket& packet, SourceSpan, Standing& now) {
        for (const FieldWrite& field : packet.fields)
            check_ip(field.field, field.span);
        note_request(packet, now);
    }
    void line(const ExpectPacket& packet, SourceSpan, Standing& now) {
        matches(packet.matches, now);
        note_request(packet, now);
    }
    template <typename Packet>
    static void note_request(const Packet& packet, Standing& now) {
        const Named qp = named(packet.qp);
        if (is_request(packet.kind) && !qp.whole_array) now.spoken.insert(qp.text);
    }
    void line(const No& none, SourceSpan, const Standing& now) { matches(none.matches, now); }
    void matches(const std::vector<FieldMatch>& fields, const Standing& now) {
        for (const FieldMatch& match : fields) {
            check_ip(match.field, match.span);
            const auto* slice = std::get_if<RegionSlice>(&match.value);
            if (slice != nullptr) check_there(*slice, now);
        }
    }
    void check_ip(const FieldName& field, SourceSpan span) {
        const std::int64_t version = ip_version_of(field);
        if (version == 0 || ip_version_ == 0 || version == ip_version_) return;
        report_.add(span, "IPv" + std::to_string(ip_version_) +
                              " has no such field, and this case runs over it only (qp ip=" +
                              std::to_string(ip_version_) + ")");
    }

    // --- commands ---
    // QP 1 belongs to the host's own software, not to the case.
    void not_gsi(const QpRef& qp, SourceSpan span) {
        if (qp.name != kGsiName) return;
        report_.add(span, "'gsi' is QP 1 of the host: packet lines, 'no', 'quiet' and 'judged' can "
                          "name it, commands cannot");
    }
    void line(const SideCommand& command, SourceSpan span, Standing& now) {
        not_gsi(command.qp, span);
        if (command.side == Side::Tester) tester(command, span, now);
        if (command.refused) return;
        if (const auto* mr = std::get_if<MakeMr>(&command.command)) now.gone.erase(mr->name.text);
        if (const auto* mw = std::get_if<MakeMw>(&command.command)) now.gone.erase(mw->name.text);
        if (const auto* write = std::get_if<WriteMemory>(&command.command))
            check_there(write->where, now);
        if (const auto* post = std::get_if<Post>(&command.command); post != nullptr && post->mw)
            check_there(*post->mw, now);
        if (const auto* dereg = std::get_if<Dereg>(&command.command)) {
            check_there(dereg->name, now);
            now.gone.insert(dereg->name.text);
        }
    }
    void tester(const SideCommand& command, SourceSpan span, Standing& now) {
        const Named qp = named(command.qp);
        if (std::holds_alternative<Answers>(command.command)) {
            if (now.spoken.contains(qp.text)) {
                report_.add(span, "'tester answers' must come before the first request of its QP");
            }
            now.answering.insert(qp.text);
            return;
        }
        const bool of_engine = std::holds_alternative<Post>(command.command) ||
                               std::holds_alternative<Recv>(command.command) ||
                               std::holds_alternative<Done>(command.command) ||
                               std::holds_alternative<State>(command.command) ||
                               std::holds_alternative<Modify>(command.command);
        if (!of_engine || answers(qp, now)) return;
        report_.add(span, "this command needs a 'tester answers' line for its QP before it");
    }
    // For an array whose index is unknown: whether any of its QPs does.
    static bool answers(const Named& qp, const Standing& now) {
        const std::string array = qp.text.substr(0, qp.text.find('['));
        if (now.answering.contains(qp.text) || now.answering.contains(array)) return true;
        return qp.whole_array && std::ranges::any_of(now.answering, [&](const std::string& one) {
                   return one.starts_with(array + "[");
               });
    }
    void check_there(const Word& name, const Standing& now) {
        if (!now.gone.contains(name.text)) return;
        report_.add(name.span, "'" + name.text + "' was deregistered before this line");
    }
    void check_there(const RegionSlice& slice, const Standing& now) {
        check_there(Word{slice.region, slice.span}, now);
    }

    void line(const ExpectRegion& expected, SourceSpan, const Standing& now) {
        check_there(expected.region, now);
        if (const auto* other = std::get_if<RegionSlice>(&expected.holds)) check_there(*other, now);
    }

    // --- blocks ---
    void line(const AnyBlock& any, SourceSpan, Standing& now) {
        std::vector<Standing> after;
        for (const Alternative& alternative : any.alternatives) {
            after.push_back(now);
            block(alternative.body, after.back());
        }
        if (after.empty()) return;
        now = after.front();
        for (const Standing& other : after) {
            now.answering.insert(other.answering.begin(), other.answering.end());
            now.spoken = in_both(now.spoken, other.spoken);
            now.gone = in_both(now.gone, other.gone);
        }
    }
    void line(const Unordered& set, SourceSpan, Standing& now) { block(set.body, now); }
    // A second pass over the body sees what the first one left.
    void line(const Repeat& loop, SourceSpan, Standing& now) {
        const std::int64_t times = times_of(loop);
        for (std::int64_t i = 0; i < std::min<std::int64_t>(times, 2); ++i)
            block(loop.body, now);
    }
    static std::int64_t times_of(const Repeat& loop) {
        if (const auto* count = std::get_if<Expr>(&loop.times))
            return constant_of(*count).value_or(1);
        const auto& range = std::get<ValueRange>(loop.times);
        const auto low = range.low ? constant_of(*range.low) : std::nullopt;
        const auto high = range.high ? constant_of(*range.high) : std::nullopt;
        return low && high ? *high - *low + 1 : 1;
    }

    // Lines that are allowed anywhere.
    void line(const SendRaw&, SourceSpan, Standing&) {}
    void line(const SendFragment&, SourceSpan, Standing&) {}
    void line(const SendPfc&, SourceSpan, Standing&) {}
    void line(const FaultLine&, SourceSpan, Standing&) {}
    void line(const Quiet&, SourceSpan, Standing&) {}
    void line(const Dropped& dropped, SourceSpan span, Standing&) { not_gsi(dropped.qp, span); }
    void line(const Judged&, SourceSpan, Standing&) {}
    void line(const Wait&, SourceSpan, Standing&) {}

    Report& report_;
    std::int64_t ip_version_ = 0; // the only version of the case; 0: both
};

} // namespace

void check_sequence(const Run& run, Report& report) {
    Standing now;
    Walk(run, report).block(run.body, now);
}

} // namespace veriroce::script
