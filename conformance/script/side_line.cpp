#include "conformance/script/side_line.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "conformance/script/expression.hpp"
#include "conformance/script/field_value.hpp"
#include "conformance/script/options.hpp"
#include "conformance/script/packet_line.hpp"
#include "conformance/script/word_list.hpp"

namespace veriroce::script {
namespace {

using enum Option::Form;

constexpr std::int64_t kMostIds = 65'536;
constexpr std::int64_t kLargestRegion = std::int64_t{1} << 31;

// The ids as numbers, if they are known and not too many.
std::optional<std::pair<std::int64_t, std::int64_t>> known_ids(const IdRange& ids) {
    const auto first = constant_of(ids.first);
    const auto last = constant_of(ids.last);
    if (!first || !last || *last < *first || *last - *first >= kMostIds) return std::nullopt;
    return std::pair(*first, *last);
}

StatusMatch status_of(std::string_view word) {
    const auto status = wire::enum_by_name<wire::WcStatus>(word);
    return status ? StatusMatch(*status) : StatusMatch(AnyFailure{});
}

class SideLine {
  public:
    SideLine(Cursor& cursor, Scope& scope, PostedIds& posted_ids, Side side, wire::Service service)
        : cursor_(cursor), scope_(scope), posted_ids_(posted_ids), side_(side), service_(service) {}

    SideCommand parse() {
        SideCommand command{.side = side_, .command = Answers{}};
        command.refused = side_ == Side::Dut && cursor_.accept("refuses");
        const Word verb = cursor_.word("what the side does");
        if (cursor_.failed()) return command;
        const std::span<const Row> rows = table();
        const auto row = std::ranges::find(rows, verb.text, &Row::name);
        const bool known = row != rows.end() && (row->sides & bit(side_)) != 0;
        if (!known || (command.refused && !row->can_be_refused)) {
            fail_unknown(verb, command.refused, rows);
            return command;
        }
        what_ = std::string(side_ == Side::Dut ? "dut " : "tester ") + verb.text;
        if (row->names_qp) {
            command.qp = take_qp(cursor_, scope_);
            service_ = service_of(scope_, command.qp, service_);
        }
        command.command = (this->*row->parse)();
        if (const auto* connection = std::get_if<Connection>(&command.command))
            check_step(verb, command, *connection);
        cursor_.expect_end();
        return command;
    }

  private:
    static constexpr unsigned both = 3;
    static constexpr unsigned dut_only = 1;
    static constexpr unsigned tester_only = 2;
    static unsigned bit(Side side) { return side == Side::Dut ? dut_only : tester_only; }

    struct Row {
        std::string_view name;
        unsigned sides = both;
        bool can_be_refused = false;
        bool names_qp = false;
        Command (SideLine::*parse)();
    };

    static std::span<const Row> table() {
        static constexpr std::array<Row, 21> rows{{
            {"post", both, true, true, &SideLine::post},
            {"recv", both, true, true, &SideLine::recv},
            {"mr", both, true, false, &SideLine::mr},
            {"mw", dut_only, true, false, &SideLine::mw},
            {"dereg", dut_only, true, false, &SideLine::dereg},
            {"write", both, false, false, &SideLine::write},
            {"cq", dut_only, true, false, &SideLine::cq},
            {"srq", dut_only, true, false, &SideLine::srq},
            {"rearm", dut_only, true, false, &SideLine::rearm},
            {"arm", dut_only, false, false, &SideLine::arm},
            {"congestion", dut_only, true, false, &SideLine::congestion},
            {"cm", dut_only, true, true, &SideLine::connection},
            {"modify", both, true, true, &SideLine::modify},
            {"reconnect", dut_only, false, true, &SideLine::reconnect},
            {"done", both, false, true, &SideLine::done},
            {"state", both, false, true, &SideLine::state},
            {"event", dut_only, false, true, &SideLine::event},
            {"notified", dut_only, false, false, &SideLine::notified},
            {"quiet", dut_only, false, false, &SideLine::cq_quiet},
            {"counter", dut_only, false, false, &SideLine::counter},
            {"answers", tester_only, false, true, &SideLine::answers},
        }};
        return rows;
    }

    void fail_unknown(const Word& verb, bool refused, std::span<const Row> rows) {
        std::vector<std::string_view> names;
        for (const Row& row : rows) {
            if ((row.sides & bit(side_)) != 0 && (!refused || row.can_be_refused)) {
                names.push_back(row.name);
            }
        }
        if (side_ == Side::Dut && !refused) names.push_back("refuses");
        cursor_.fail(verb.span, std::string(side_ == Side::Dut ? "the DUT" : "the tester") +
                                    (refused ? " cannot refuse '" : " has no command '") +
                                    verb.text + "'" + suggestion(verb.text, names));
    }

    // --- options that several commands have ---
    Option ids(IdRange& target) {
        return {"id", Equals, true, [this, &target] {
                    target = parse_ids(cursor_, scope_);
                    if (cursor_.failed() || known_ids(target) || !constant_of(target.first)) return;
                    if (!constant_of(target.last)) return;
                    cursor_.fail(target.first.span,
                                 "expected a range of ids that is neither empty nor too large");
                }};
    }
    Option number(std::string_view name, std::optional<Expr>& target, std::int64_t high) {
        return {name, Equals, false, [this, name, &target, high] {
                    target = parse_number(cursor_, scope_);
                    check_between(cursor_, *target, 0, high, name);
                }};
    }
    Option any_number(std::string_view name, std::optional<Expr>& target) {
        return {name, Equals, false, [this, &target] { target = parse_number(cursor_, scope_); }};
    }
    Option needed(std::string_view name, Expr& target, std::int64_t high) {
        return {name, Equals, true, [this, name, &target, high] {
                    target = parse_number(cursor_, scope_);
                    check_between(cursor_, target, 0, high, name);
                }};
    }
    Option key(std::string_view name, std::optional<Key>& target) {
        return {name, Equals, false, [this, &target] { target = parse_key(cursor_, scope_); }};
    }
    Option slices(std::string_view name, std::vector<RegionSlice>& target) {
        return {name, Equals, false, [this, &target] {
                    do {
                        target.push_back(parse_slice(cursor_, scope_));
                    } while (cursor_.accept_joined(","));
                }};
    }
    template <typename Target> // Access, or an optional one
    Option access(Target& target) {
        return {"access", Equals, false, [this, &target] { target = access_of(cursor_); }};
    }
    Option within(std::optional<Expr>& target) {
        return {"within", Clause, false, [this, &target] { target = parse_time(cursor_, scope_); }};
    }
    static Option flag(std::string_view name, bool& target) {
        return {name, Flag, false, [&target] { target = true; }};
    }
    void options(std::initializer_list<Option> list) { parse_options(cursor_, what_, list); }
    Word new_name(NameKind kind) {
        Word name = cursor_.word(std::string(text_of(kind)) + "'s name");
        scope_.define(cursor_, name, {.kind = kind});
        return name;
    }

    // --- commands ---
    Command post() {
        Post post;
        const Word operation = word_of(cursor_, wire::kNamesOf<wire::WrOpcode>, "operation");
        post.operation =
            wire::enum_by_name<wire::WrOpcode>(operation.text).value_or(wire::WrOpcode::Send);
        options({ids(post.ids),
                 slices("local", post.local),
                 {"remote", Equals, false, [&] { post.remote = parse_slice(cursor_, scope_); }},
                 number("len", post.length, kLargestRegion),
                 number("imm", post.imm, 0xFFFF'FFFF),
                 any_number("compare", post.compare),
                 any_number("swap", post.swap),
                 any_number("add", post.add),
                 number("plt", post.placement, 0xF),
                 number("sel", post.selectivity, 3),
                 any_number("va", post.address),
                 key("ikey", post.ikey),
                 key("lkey", post.lkey),
                 key("rkey", post.rkey),
                 {"mw", Equals, false, [&] { post.mw = scope_.use(cursor_, NameKind::Window); }},
                 access(post.access),
                 {"to", Equals, false, [&] { post.to = parse_address(cursor_, scope_); }},
                 number("dscp", post.dscp, wire::kMaxDscp),
                 number("qkey", post.qkey, 0xFFFF'FFFF),
                 flag("fence", post.fence),
                 flag("inline", post.inline_data),
                 flag("se", post.solicited),
                 flag("unsignaled", post.unsignaled)});
        check_operation(operation, post);
        const bool elsewhere = post.to || post.dscp || post.qkey;
        if (elsewhere && (side_ != Side::Dut || service_ != wire::Service::Ud)) {
            cursor_.fail(post.to     ? post.to->span
                         : post.dscp ? post.dscp->span
                                     : post.qkey->span,
                         "only datagrams of the DUT can go elsewhere (type=UD)");
        }
        posted_ids_.add(side_, wire::Queue::Send, post.ids);
        return post;
    }

    // An option that the operation does not use is an error.
    void check_operation(const Word& operation, const Post& post) {
        const bool with_imm = post.operation == wire::WrOpcode::SendWithImm ||
                              post.operation == wire::WrOpcode::RdmaWriteWithImm;
        const bool sends = post.operation == wire::WrOpcode::Send ||
                           post.operation == wire::WrOpcode::SendWithImm ||
                           post.operation == wire::WrOpcode::SendWithInv;
        const bool invalidates = post.operation == wire::WrOpcode::SendWithInv ||
                                 post.operation == wire::WrOpcode::LocalInv;
        const bool swaps = post.operation == wire::WrOpcode::AtomicCmpAndSwp;
        const auto refuse = [&](bool wrong, std::string_view what) {
            if (!wrong) return;
            cursor_.fail(operation.span, operation.text + " has no " + std::string(what));
        };
        refuse(post.imm && !with_imm, "imm");
        refuse(post.ikey && !invalidates, "ikey");
        refuse((sends || post.operation == wire::WrOpcode::LocalInv) && post.remote, "remote");
        refuse(post.address && !post.remote, "va without remote");
        refuse(post.compare && !swaps, "compare");
        refuse(post.swap && !swaps, "swap");
        refuse(post.add && post.operation != wire::WrOpcode::AtomicFetchAndAdd, "add");
        const bool flushes = post.operation == wire::WrOpcode::Flush;
        refuse(post.placement && !flushes, "plt");
        refuse(post.selectivity && !flushes, "sel");
        refuse(post.mw && post.operation != wire::WrOpcode::BindMw, "mw");
    }

    Command recv() {
        Recv recv;
        options({ids(recv.ids),
                 number("len", recv.length, kLargestRegion),
                 slices("local", recv.local),
                 key("lkey", recv.lkey),
                 {"srq", Equals, false, [&] {
                      recv.srq = scope_.use(cursor_, NameKind::Srq);
                      if (side_ == Side::Dut || !recv.srq) return;
                      cursor_.fail(recv.srq->span, "only the DUT has shared receive queues");
                  }}});
        if (recv.length && !recv.local.empty()) {
            cursor_.fail(cursor_.line().span(), "expected len= or local=, got both");
        }
        posted_ids_.add(side_, wire::Queue::Receive, recv.ids);
        return recv;
    }

    Command mr() {
        MakeMr mr;
        mr.name = new_name(NameKind::Region);
        options({needed("len", mr.length, kLargestRegion),
                 access(mr.access),
                 {"fill", Equals, false, [&] { mr.fill = parse_pattern(cursor_); }},
                 number("pd", mr.pd, 65'535),
                 any_number("iova", mr.iova),
                 flag("read_only", mr.read_only)});
        return mr;
    }

    Command mw() {
        MakeMw mw;
        mw.name = new_name(NameKind::Window);
        options({{"on", Equals, true, [&] { mw.on = scope_.use(cursor_, NameKind::Region); }},
                 {"type", Equals, true, [&] {
                      mw.type = static_cast<std::uint8_t>(
                          parse_constant(cursor_, scope_, 1, 2, "a window's type"));
                  }}});
        return mw;
    }

    Command dereg() {
        const bool window = scope_.has(cursor_.peek().text, NameKind::Window);
        return Dereg{scope_.use(cursor_, window ? NameKind::Window : NameKind::Region)};
    }

    Command write() {
        WriteMemory write{parse_slice(cursor_, scope_), PatternKind::Zero};
        cursor_.expect("=", "and a pattern: write a [0 +8] = ones");
        write.pattern = parse_pattern(cursor_);
        return write;
    }

    Command cq() {
        MakeCq cq;
        cq.name = new_name(NameKind::Cq);
        options({needed("depth", cq.depth, 1'000'000)});
        return cq;
    }

    Command srq() {
        MakeSrq srq;
        srq.name = new_name(NameKind::Srq);
        options({needed("depth", srq.depth, 1'000'000), number("limit", srq.limit, 1'000'000)});
        return srq;
    }

    Command rearm() {
        RearmSrq rearm{scope_.use(cursor_, NameKind::Srq), {}};
        options({needed("limit", rearm.limit, 1'000'000)});
        return rearm;
    }

    Command arm() {
        ArmCq arm{scope_.use(cursor_, NameKind::Cq), false};
        options({flag("solicited", arm.solicited)});
        return arm;
    }

    Command congestion() {
        Congestion congestion;
        const auto on_or_off = [this](std::string_view name, std::optional<bool>& target) {
            return Option{name, Equals, false, [this, &target] {
                              static constexpr std::array<std::string_view, 2> words{"off", "on"};
                              target = word_of(cursor_, words, "switch").text == "on";
                          }};
        };
        options({on_or_off("np", congestion.np),
                 on_or_off("rp", congestion.rp),
                 {"interval", Equals, false,
                  [&] {
                      congestion.interval = parse_time(cursor_, scope_);
                      check_between(cursor_, *congestion.interval, 1'000, 4'294'967'295'000,
                                    "interval");
                  }},
                 number("dscp", congestion.dscp, wire::kMaxDscp)});
        if (!congestion.np && !congestion.rp && !congestion.interval && !congestion.dscp)
            cursor_.fail_here("'congestion' needs a setting: np=on");
        return congestion;
    }

    Command connection() {
        static constexpr std::array<std::string_view, 5> steps{"listen", "accept", "reject",
                                                               "disconnect", "event"};
        Connection connection;
        const Word step = word_of(cursor_, steps, "step of a connection");
        const auto found = std::ranges::find(steps, step.text);
        if (found == steps.end()) return connection;
        connection.step = static_cast<Connection::Step>(found - steps.begin());
        if (connection.step == Connection::Step::Event) {
            connection.event = enum_of<wire::ConnectionEvent>(cursor_, "event of a connection");
            options({within(connection.within)});
        } else if (connection.step == Connection::Step::Accept) {
            constexpr std::int64_t most = 255;
            options({{"state", Equals, false,
                      [&] {
                          static constexpr std::array<std::string_view, 2> words{"RTR", "RTS"};
                          const Word state = word_of(cursor_, words, "state");
                          connection.state = wire::enum_by_name<wire::QpState>(state.text);
                      }},
                     number("responder_resources", connection.responder_resources, most),
                     number("initiator_depth", connection.initiator_depth, most)});
        }
        return connection;
    }

    // An event is no verb; who listens or rejects has no QP yet.
    void check_step(const Word& verb, const SideCommand& command, const Connection& connection) {
        using enum Connection::Step;
        const bool of_no_qp = connection.step == Listen || connection.step == Reject;
        if (command.refused && connection.step == Event)
            cursor_.fail(verb.span, "the DUT cannot refuse an event");
        if (of_no_qp && !command.qp.name.empty())
            cursor_.fail(command.qp.span, "'listen' and 'reject' are about no QP");
    }

    Command modify() {
        Modify modify{parse_attributes(cursor_, scope_, AttributeLine::Modify)};
        if (modify.attributes.empty()) cursor_.fail_here("'modify' needs a field: state=...");
        return modify;
    }

    Command reconnect() {
        Reconnect reconnect;
        reconnect.attributes =
            parse_attributes(cursor_, scope_, AttributeLine::Reconnect,
                             {number("psn", reconnect.psn, wire::kMask24),
                              number("tester.psn", reconnect.tester_psn, wire::kMask24),
                              flag("new_peer", reconnect.new_peer)});
        return reconnect;
    }

    Command done() {
        Done done;
        if (cursor_.accept("recv")) {
            done.queue = wire::Queue::Receive;
        } else {
            cursor_.expect("send", "or 'recv', the queue that completes");
        }
        options({ids(done.ids),
                 {"status", Equals, false,
                  [&] {
                      done.statuses.clear();
                      for (const Word& one : words_of(cursor_, completion_statuses(), "status"))
                          done.statuses.push_back(status_of(one.text));
                  }},
                 number("len", done.length, kLargestRegion),
                 number("imm", done.imm, 0xFFFF'FFFF),
                 {"opcode", Equals, false,
                  [&] { done.opcode = enum_of<wire::WcOpcode>(cursor_, "completion opcode"); }},
                 within(done.within)});
        posted_ids_.check_done(cursor_, side_, done.queue, done.ids);
        return done;
    }

    Command state() {
        State state{enum_of<wire::QpState>(cursor_, "QP state"), {}};
        options({within(state.within)});
        return state;
    }
    Command event() {
        EventSeen event{enum_of<wire::EventType>(cursor_, "event"), {}};
        options({within(event.within)});
        return event;
    }
    Command notified() {
        Notified notified{scope_.use(cursor_, NameKind::Cq), {}};
        options({within(notified.within)});
        return notified;
    }
    Command cq_quiet() {
        CqQuiet quiet{scope_.use(cursor_, NameKind::Cq), {}};
        options({{"for", Clause, false, [&] { quiet.time = parse_time(cursor_, scope_); }}});
        return quiet;
    }
    Command counter() {
        Counter counter{enum_of<wire::DeviceCounter>(cursor_, "counter"), {}};
        cursor_.expect("+=", "and by how much it grew");
        counter.by = parse_number(cursor_, scope_);
        return counter;
    }
    Command answers() { return Answers{}; }

    Cursor& cursor_;
    Scope& scope_;
    PostedIds& posted_ids_;
    Side side_;
    wire::Service service_; // of the QP that the line names, or of the one without a name
    std::string what_;
};

} // namespace

void PostedIds::add(Side side, wire::Queue queue, const IdRange& ids) {
    const auto known = known_ids(ids);
    if (!known) {
        unknown_.emplace(side, queue);
        return;
    }
    for (std::int64_t id = known->first; id <= known->second; ++id)
        ids_[{side, queue}].insert(id);
}

void PostedIds::check_done(Cursor& cursor, Side side, wire::Queue queue, const IdRange& ids) const {
    const auto known = known_ids(ids);
    if (cursor.failed() || !known || unknown_.contains({side, queue})) return;
    const auto posted = ids_.find({side, queue});
    for (std::int64_t id = known->first; id <= known->second; ++id) {
        if (posted != ids_.end() && posted->second.contains(id)) continue;
        const std::string who = side == Side::Dut ? "dut" : "tester";
        const std::string what = queue == wire::Queue::Send ? " post" : " recv";
        return cursor.fail(ids.first.span, "no '" + who + what + "' line before this one has id=" +
                                               std::to_string(id));
    }
}

SideCommand parse_side(Cursor& cursor, Scope& scope, PostedIds& posted_ids, Side side,
                       wire::Service service) {
    return SideLine(cursor, scope, posted_ids, side, service).parse();
}

Pattern parse_pattern(Cursor& cursor) {
    if (cursor.peek().kind == Token::Kind::Hex) {
        const Token& token = cursor.next();
        return HexBytes{token.bytes, token.span};
    }
    return enum_of<PatternKind>(cursor, "pattern");
}

} // namespace veriroce::script
