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
    talk.judge(reply->answer.has_value(), "hello on one more connection", "as on the first");
    if (!reply->answer) return std::nullopt;
    return std::get<dut::Welcome>(*reply->answer);
}

void ask_welcome(Talk& talk, const dut::Welcome& welcome) {
    talk.judge(welcome.version == dut::contract_version, "the version", "version is 1");
    talk.judge(has(welcome.capabilities, "rc") && has(welcome.capabilities, "read"),
               "the minimum's capabilities", "every device has rc and read");
    const std::set<std::string_view> known{
        "rc",   "uc",  "ud",  "read",   "atomics",      "send_inv",    "imm",        "ipv6",
        "vlan", "sqd", "apm", "flush",  "atomic_write", "e2e_credits", "pkey_table", "rocev1",
        "srq",  "mw",  "cm",  "notify", "events",       "congestion"};
    talk.judge(std::ranges::all_of(welcome.capabilities,
                                   [&](const auto& word) { return known.contains(word); }),
               "the words of capabilities", "only the words under Capabilities and traits");
    talk.judge(std::ranges::any_of(welcome.ports, ready_for_tests), "a port with an address",
               "ports has a port with a gid of type rocev2");
    const auto& max = welcome.max;
    talk.judge(max.qp > 1 && max.qp_wr > 0 && max.sge > 0 && max.cqe > 0 && max.mr_bytes > 0 &&
                   max.msg_bytes > 0,
               "what the device can", "max says how much, and 0 would be nothing");
    talk.judge(has({"NONE", "HCA", "GLOB"}, welcome.atomic) &&
                   (welcome.atomic != "NONE" || !has(welcome.capabilities, "atomics")),
               "atomic", "NONE, HCA or GLOB, and not NONE with the capability atomics");
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
        {"what is not JSON", "hello"},
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
                       "the first line is a hello with the right token; else the connection is "
                       "closed without an answer, after a wrong token not before a second",
                       row.not_before);
    }
    auto talk = Talk::open(subject.address, report);
    if (!talk) return std::unexpected(talk.error());
    talk->refuses("a version that nobody speaks",
                  dut::Hello{.version = 4711, .token = subject.token}, InvalidParams,
                  "and then the connection is closed");
    talk->ends("the connection after that", "hello was not said: it is closed");
    return {};
}

void ask_errors(Talk& talk, const Subject& /*subject*/) {
    talk.refuses_line("what is not JSON", "{\"jsonrpc\":", "null", ParseError,
                      "the connection lives on");
    talk.refuses_line("JSON that is no request", "[1]", "null", InvalidRequest, "no batches");
    talk.refuses_line("an unknown method", R"({"jsonrpc":"2.0","id":41,"method":"pd_paint"})", "41",
                      MethodNotFound, "no such method");
    const auto cq_create = [](std::string_view id, std::string_view params) {
        return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
               R"(,"method":"cq_create","params":)" + std::string(params) + "}";
    };
    talk.refuses_line("a missing field", cq_create("42", "{}"), "42", InvalidParams,
                      "the message names the field");
    talk.refuses_line("an unknown field", cq_create("43", R"({"depth":4,"deep":4})"), "43",
                      InvalidParams, "fields that are not known are refused");
    talk.refuses_line("a string for a number", cq_create("44", R"({"depth":"4"})"), "44",
                      InvalidParams, "sizes are numbers");
    talk.refuses_line("null for a number", cq_create("45", R"({"depth":null})"), "45",
                      InvalidParams, "null is not the same as left out");
    talk.gives("the next call", dut::Ping{});
}

void ask_queues(Talk& talk, const Subject& /*subject*/) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!pd || !cq) return;
    const auto qp =
        talk.gives("qp_create", dut::QpCreate{.pd = pd->pd, .send_cq = cq->cq, .recv_cq = cq->cq});
    if (!qp) return;
    talk.refuses("pd_destroy of a PD in use", dut::PdDestroy{pd->pd}, Refused, "in use is EBUSY",
                 "EBUSY");
    talk.refuses("cq_destroy of a CQ in use", dut::CqDestroy{cq->cq}, Refused, "in use is EBUSY",
                 "EBUSY");
    talk.gives("qp_destroy", dut::QpDestroy{qp->qp});
    talk.gives("cq_destroy", dut::CqDestroy{cq->cq});
    talk.gives("pd_destroy", dut::PdDestroy{pd->pd});
    talk.refuses("pd_destroy of a PD that is gone", dut::PdDestroy{pd->pd}, InvalidParams,
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
    talk.judge(empty->completions.empty() && !empty->overrun, "nothing completed",
               "no completions, no overrun");
    talk.judge(after->at - before->at >= std::chrono::milliseconds(99), "poll waited",
               "with nothing there it is answered after wait_ms; at is in ns");
    const auto wait = talk.send(dut::Poll{.cq = cq->cq, .max = 4, .wait_ms = 60'000});
    const auto ping = talk.send(dut::Ping{});
    const auto overtook = talk.next("a ping beside a poll that waits");
    if (!overtook) return;
    talk.judge(overtook->call == ping, "a ping beside a poll that waits", "it holds up nobody");
    const auto cancel = talk.send(dut::Cancel{.id = wait});
    const auto ended = talk.next("cancel");
    const auto done = talk.next("cancel");
    if (!ended || !done) return;
    talk.judge(ended->call == wait && ended->answer && done->call == cancel && done->answer,
               "cancel", "the wait is answered first, with what is there, then cancel with {}");
    talk.gives("cancel of what was answered", dut::Cancel{.id = wait});
    talk.send(dut::Poll{.cq = cq->cq, .max = 4, .wait_ms = 60'000});
    const auto reset = talk.send(dut::Reset{});
    for (int answers = 0; answers < 2; ++answers) {
        const auto reply = talk.next("reset while a poll waits");
        if (!reply) return;
        if (reply->call != reset) continue;
        talk.judge(reply->answer.has_value(), "reset", "destroys all, and ends the waits");
    }
}

void ask_rest(Talk& talk, const Subject& /*subject*/) {
    talk.gives("counters", dut::Counters{});
    const auto one = talk.gives("ping", dut::Ping{});
    const auto two = talk.gives("ping", dut::Ping{});
    if (!one || !two) return;
    talk.judge(two->at >= one->at, "the clock", "at is a monotonic clock");
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    talk.gives("reset", dut::Reset{});
    if (!pd) return;
    talk.refuses("a handle from before reset", dut::PdDestroy{pd->pd}, InvalidParams,
                 "reset destroys all that the connection made");
    talk.gives("pd_create after reset", dut::PdCreate{});
}

void ask_groups(Talk& talk, const Subject& subject) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!pd || !cq) return;
    constexpr auto absent = "a method of a group that is not among the capabilities";
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
    ask("mw", dut::MwAlloc{.pd = pd->pd, .type = 1});
}

void ask_apart(Talk& talk, const Subject& subject) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    auto other = Talk::open(subject.address, talk.report());
    if (!pd || !other) return;
    if (!greet(*other, subject.token)) return;
    other->refuses("another connection's PD", dut::PdDestroy{pd->pd}, InvalidParams,
                   "connections do not see each other's objects");
}

} // namespace veriroce::agent
