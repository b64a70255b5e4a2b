#include "conformance/agent/check_questions.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace veriroce::agent {

namespace {

using enum dut::FailureCode;

bool has(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool ready_for_tests(const dut::Port& port) {
    return std::ranges::any_of(port.gids, [](const auto& gid) { return gid.type == "rocev2"; });
}

} // namespace

std::optional<dut::Welcome> greet(Talk& talk, const std::optional<std::string>& token) {
    const dut::Request hello = dut::Hello{.token = token};
    talk.send(hello);
    const auto reply = talk.next("hello on one more connection");
    if (!reply) return std::nullopt;
    talk.check(reply->answer.has_value(), "hello on one more connection",
               "the same answer as on the first connection");
    if (!reply->answer) return std::nullopt;
    return std::get<dut::Welcome>(*reply->answer);
}

void ask_welcome(Talk& talk, const dut::Welcome& welcome) {
    talk.check(welcome.version == dut::kContractVersion, "the version", "version 1");
    talk.check(has(welcome.capabilities, "rc") && has(welcome.capabilities, "read"),
               "the minimum capabilities", "the capabilities rc and read");
    const std::set<std::string_view> known{
        "rc",           "uc",          "ud",         "read",       "atomics", "send_inv",
        "imm",          "ipv6",        "vlan",       "sqd",        "apm",     "flush",
        "atomic_write", "e2e_credits", "pkey_table", "rocev1",     "srq",     "mw",
        "cm",           "notify",      "events",     "congestion", "mw1",     "mw2",
        "mtu256",       "reset_reuse", "query_qp",   "ud_path",    "iova"};
    talk.check(std::ranges::all_of(welcome.capabilities,
                                   [&](const auto& word) { return known.contains(word); }),
               "the words of capabilities", "only words listed under Capabilities and traits");
    talk.check(std::ranges::any_of(welcome.ports, ready_for_tests), "a port with an address",
               "a port with a gid of type rocev2");
    const auto& max = welcome.max;
    talk.check(max.qp > 1 && max.qp_wr > 0 && max.sge > 0 && max.cqe > 0 && max.mr_bytes > 0 &&
                   max.msg_bytes > 0,
               "the limits of the device", "a value above 0 for each limit in max");
    talk.check(has({"NONE", "HCA", "GLOB"}, welcome.atomic) &&
                   (welcome.atomic != "NONE" || !has(welcome.capabilities, "atomics")),
               "atomic",
               "NONE, HCA or GLOB, and not NONE if the device has the capability atomics");
}

std::expected<void, std::string> ask_strangers(const Subject& subject, CheckReport& report) {
    report.group("first line");
    const dut::CallId call{1};
    struct Row {
        std::string_view what;
        std::string line;
        wire::Duration not_before{};
    };
    std::vector<Row> rows{
        {"another method", dut::encode_request(call, dut::Ping{})},
        {"a line that is not JSON", "hello"},
        {"an HTTP request", "GET / HTTP/1.1\r"},
        {"a line of more than 4 KiB", std::string(5000, 'x')},
    };
    if (subject.token) {
        const auto wrong = *subject.token + "x";
        constexpr auto late = std::chrono::milliseconds(950);
        rows.push_back(
            {"a wrong token", dut::encode_request(call, dut::Hello{.token = wrong}), late});
        rows.push_back({"no token", dut::encode_request(call, dut::Hello{}), late});
    }
    for (const auto& row : rows) {
        auto talk = Talk::open(subject.address, report);
        if (!talk) return std::unexpected(talk.error());
        talk->hangs_up(row.what, row.line,
                       "the connection is closed without an answer (after a wrong token, not "
                       "before a second has passed)",
                       row.not_before);
    }
    auto talk = Talk::open(subject.address, report);
    if (!talk) return std::unexpected(talk.error());
    talk->refuses("an unknown version", dut::Hello{.version = 4711, .token = subject.token},
                  InvalidParams, "the agent answers, then closes the connection");
    talk->ends("the connection after that", "the connection is closed");
    return {};
}

void ask_errors(Talk& talk, const Subject& /*subject*/) {
    talk.refuses_line("a line that is not JSON", "{\"jsonrpc\":", "null", ParseError,
                      "the connection stays open");
    talk.refuses_line("JSON that is not a request", "[1]", "null", InvalidRequest, "no batches");
    talk.refuses_line("an unknown method", R"({"jsonrpc":"2.0","id":41,"method":"pd_paint"})", "41",
                      MethodNotFound, "no such method");
    const auto cq_create = [](std::string_view id, std::string_view params) {
        return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
               R"(,"method":"cq_create","params":)" + std::string(params) + "}";
    };
    talk.refuses_line("a missing field", cq_create("42", "{}"), "42", InvalidParams,
                      "the message names the field");
    talk.refuses_line("an unknown field", cq_create("43", R"({"depth":4,"deep":4})"), "43",
                      InvalidParams, "unknown fields are rejected");
    talk.refuses_line("a string for a number", cq_create("44", R"({"depth":"4"})"), "44",
                      InvalidParams, "sizes are numbers");
    talk.refuses_line("null for a number", cq_create("45", R"({"depth":null})"), "45",
                      InvalidParams, "null is not the same as a missing field");
    talk.gives("the next call", dut::Ping{});
}

void ask_queues(Talk& talk, const Subject& /*subject*/) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!pd || !cq) return;
    const auto qp =
        talk.gives("qp_create", dut::QpCreate{.pd = pd->pd, .send_cq = cq->cq, .recv_cq = cq->cq});
    if (!qp) return;
    talk.refuses("pd_destroy of a PD in use", dut::PdDestroy{pd->pd}, Refused,
                 "EBUSY, because it is in use", "EBUSY");
    talk.refuses("cq_destroy of a CQ in use", dut::CqDestroy{cq->cq}, Refused,
                 "EBUSY, because it is in use", "EBUSY");
    talk.gives("qp_destroy", dut::QpDestroy{qp->qp});
    talk.gives("cq_destroy", dut::CqDestroy{cq->cq});
    talk.gives("pd_destroy", dut::PdDestroy{pd->pd});
    talk.refuses("pd_destroy of a destroyed PD", dut::PdDestroy{pd->pd}, InvalidParams,
                 "an unknown handle");
}

void ask_waits(Talk& talk, const Subject& /*subject*/) {
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!cq) return;
    const auto before = talk.gives("ping", dut::Ping{});
    const auto empty =
        talk.gives("poll of an empty CQ", dut::Poll{.cq = cq->cq, .max = 4, .wait_ms = 100});
    const auto after = talk.gives("ping", dut::Ping{});
    if (!before || !empty || !after) return;
    talk.check(empty->completions.empty() && !empty->overrun, "an empty result",
               "no completions, no overrun");
    talk.check(after->at - before->at >= std::chrono::milliseconds(99), "poll waited",
               "without completions, an answer after wait_ms; at in ns");
    const auto wait = talk.send(dut::Poll{.cq = cq->cq, .max = 4, .wait_ms = 60'000});
    const auto ping = talk.send(dut::Ping{});
    const auto overtook = talk.next("a ping while a poll waits");
    if (!overtook) return;
    talk.check(overtook->call == ping, "a ping while a poll waits",
               "the ping is answered before the poll");
    const auto cancel = talk.send(dut::Cancel{.id = wait});
    const auto ended = talk.next("cancel");
    const auto done = talk.next("cancel");
    if (!ended || !done) return;
    talk.check(ended->call == wait && ended->answer && done->call == cancel && done->answer,
               "cancel",
               "first an answer to the poll with the completions so far, then {} for cancel");
    talk.gives("cancel of an answered call", dut::Cancel{.id = wait});
    talk.send(dut::Poll{.cq = cq->cq, .max = 4, .wait_ms = 60'000});
    const auto reset = talk.send(dut::Reset{});
    for (int answers = 0; answers < 2; ++answers) {
        const auto reply = talk.next("reset while a poll waits");
        if (!reply) return;
        if (reply->call != reset) continue;
        talk.check(reply->answer.has_value(), "reset",
                   "reset destroys everything and ends the waiting calls");
    }
}

void ask_rest(Talk& talk, const Subject& /*subject*/) {
    talk.gives("counters", dut::Counters{});
    const auto one = talk.gives("ping", dut::Ping{});
    const auto two = talk.gives("ping", dut::Ping{});
    if (!one || !two) return;
    talk.check(two->at >= one->at, "the clock", "at from a monotonic clock");
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    talk.gives("reset", dut::Reset{});
    if (!pd) return;
    talk.refuses("a handle from before reset", dut::PdDestroy{pd->pd}, InvalidParams,
                 "reset destroys everything that the connection created");
    talk.gives("pd_create after reset", dut::PdCreate{});
}

void ask_groups(Talk& talk, const Subject& subject) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!pd || !cq) return;
    constexpr auto absent = "the method belongs to a group that the capabilities do not list";
    const auto there = [&](std::string_view word) {
        return has(subject.welcome.capabilities, word);
    };
    const auto ask = [&](std::string_view word, auto request) {
        if (there(word)) {
            talk.gives(dut::method_of(request), request);
        } else {
            talk.refuses(dut::method_of(request), request, MethodNotFound, absent);
        }
    };
    ask("events", dut::Events{.wait_ms = 0});
    ask("notify", dut::CqArm{.cq = cq->cq, .solicited = false});
    ask("notify", dut::CqWait{.cq = cq->cq, .wait_ms = 0});
    ask("srq", dut::SrqCreate{.pd = pd->pd, .depth = 4, .limit = std::nullopt});
    const bool only_type_2 = there("mw2") && !there("mw1");
    ask("mw", dut::MwAlloc{.pd = pd->pd, .type = static_cast<std::uint8_t>(only_type_2 ? 2 : 1)});
    ask("congestion", dut::CongestionGet{});
    ask("congestion", dut::CongestionSet{});
    ask("cm", dut::CmListen{});
    ask("cm", dut::CmEvents{.wait_ms = 0});
}

void ask_congestion(Talk& talk, const Subject& subject) {
    if (!has(subject.welcome.capabilities, "congestion")) return;
    talk.check(subject.welcome.congestion.has_value(), "congestion in hello",
               "the settings, because the capabilities list congestion");
    const auto before = talk.gives("congestion_get", dut::CongestionGet{});
    if (!before || !before->cnp_dscp) return;
    const auto other = static_cast<std::uint8_t>(*before->cnp_dscp ^ 1U);
    const auto changed =
        talk.gives("congestion_set", dut::CongestionSet{.settings = {.cnp_dscp = other}});
    if (!changed) return;
    talk.check(changed->cnp_dscp == other, "congestion_set", "all settings, as they are now");
    talk.gives("reset", dut::Reset{});
    const auto after = talk.gives("congestion_get", dut::CongestionGet{});
    if (!after) return;
    talk.check(after->cnp_dscp == before->cnp_dscp, "reset after congestion_set",
               "the settings from before the connection changed them");
}

void ask_connections(Talk& talk, const Subject& subject) {
    if (!has(subject.welcome.capabilities, "cm")) return;
    const auto first = talk.gives("cm_listen", dut::CmListen{});
    if (!first) return;
    talk.refuses("a second cm_listen", dut::CmListen{}, Refused,
                 "one program listens for each connection of the contract", "EBUSY");
    const auto events = talk.gives("cm_events", dut::CmEvents{.wait_ms = 0});
    if (!events) return;
    talk.check(events->events.empty(), "cm_events", "no event before a REQ has come");
    constexpr dut::ConnectionHandle unknown{0x7FFF'FFFF};
    talk.refuses("cm_qp_attributes of an unknown connection",
                 dut::CmQpAttributes{.connection = unknown}, InvalidParams, "an unknown handle");
    talk.refuses("cm_reject of an unknown connection", dut::CmReject{.connection = unknown},
                 InvalidParams, "an unknown handle");
    talk.gives("reset", dut::Reset{});
    const auto port = static_cast<std::uint16_t>(first->service_id);
    const auto again = talk.gives("cm_listen after reset", dut::CmListen{.port = port});
    if (!again) return;
    talk.check(again->service_id == first->service_id, "cm_listen after reset",
               "the same service, because the port is the same");
}

void ask_apart(Talk& talk, const Subject& subject) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    auto other = Talk::open(subject.address, talk.report());
    if (!pd || !other) return;
    if (!greet(*other, subject.token)) return;
    other->refuses("a PD of another connection", dut::PdDestroy{pd->pd}, InvalidParams,
                   "connections do not see each other's objects");
}

} // namespace veriroce::agent
