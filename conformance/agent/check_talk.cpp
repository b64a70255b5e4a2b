#include "conformance/agent/check_talk.hpp"

#include "dissector/wire/safe_text.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::agent {

namespace {

constexpr std::size_t kShown = 300;

std::string shortened(std::string_view text) {
    auto shown = wire::safe_excerpt(text, kShown);
    if (text.size() > kShown) shown += " (" + std::to_string(text.size()) + " bytes)";
    return shown;
}

// JSON without the white space between its tokens.
std::string compact(std::string_view json) {
    std::string out;
    bool quoted = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (quoted && c == '\\' && i + 1 < json.size()) {
            out += c;
            out += json[++i];
            continue;
        }
        if (c == '"') quoted = !quoted;
        if (quoted || (c != ' ' && c != '\t' && c != '\r')) out += c;
    }
    return out;
}

std::string number(dut::FailureCode code) {
    return std::to_string(static_cast<std::int32_t>(code));
}

} // namespace

void CheckReport::say(std::string_view verdict, std::string_view what) {
    sink_(std::string(verdict) + "  " + group_ + ": " + std::string(what));
}

void CheckReport::pass(std::string_view what) {
    ++passed_;
    say("ok  ", what);
}

void CheckReport::fail(std::string_view what, std::string_view sent, std::string_view expected,
                       std::string_view got) {
    ++failed_;
    say("FAIL", what);
    sink_("         sent      " + shortened(sent));
    sink_("         expected  " + std::string(expected));
    sink_("         got       " + shortened(got));
}

void CheckReport::skip(std::string_view what, std::string_view why) {
    ++skipped_;
    say("-   ", std::string(what) + ": not checked, " + std::string(why));
}

void CheckReport::summary() {
    sink_(std::to_string(passed_) + " ok, " + std::to_string(failed_) + " failed, " +
          std::to_string(skipped_) + " not checked");
}

std::expected<Talk, std::string> Talk::open(const net::LineAddress& address, CheckReport& report) {
    auto client = net::LineClient::connect(address, net::monotonic_now() + patience);
    if (!client) return std::unexpected(client.error().text);
    return Talk(std::move(*client), report);
}

bool Talk::send_line(const std::string& line) {
    if (lost_) return false;
    sent_ = line;
    const auto sent = client_.send_line(line, net::monotonic_now() + patience);
    if (!sent) {
        lost_ = true;
        came_ = sent.error().text;
    }
    return sent.has_value();
}

std::optional<std::string> Talk::line_within(wire::Duration within) {
    auto line = client_.receive_line(net::monotonic_now() + within);
    came_ = line ? *line : "nothing: " + line.error().text;
    if (!line) {
        lost_ = true;
        return std::nullopt;
    }
    return std::move(*line);
}

dut::CallId Talk::send(const dut::Request& request) {
    const dut::CallId call{next_call_++};
    open_[call] = request.index();
    send_line(dut::encode_request(call, request));
    return call;
}

std::optional<dut::Reply> Talk::next(std::string_view what, wire::Duration within) {
    if (lost_) return std::nullopt;
    const auto line = line_within(within);
    if (!line) {
        check(false, what, "an answer to every request, on a connection that stays open");
        return std::nullopt;
    }
    auto reply = dut::decode_answer(*line, open_);
    if (!reply) {
        lost_ = true;
        check(false, what, "a JSON-RPC answer to an open request: " + reply.error());
        return std::nullopt;
    }
    open_.erase(reply->call);
    return std::move(*reply);
}

std::optional<dut::Answer> Talk::ask(std::string_view what, const dut::Request& request) {
    if (lost_) return std::nullopt;
    const auto call = send(request);
    auto reply = next(what);
    if (!reply) return std::nullopt;
    if (reply->call != call) {
        lost_ = true;
        check(false, what, "answers with the ids of their requests, in order");
        return std::nullopt;
    }
    return std::move(reply->answer);
}

void Talk::check(bool good, std::string_view what, std::string_view expected) {
    if (good) {
        report_->pass(what);
    } else {
        report_->fail(what, sent_, expected, came_);
    }
}

void Talk::refuses(std::string_view what, const dut::Request& request, dut::FailureCode code,
                   std::string_view contract, std::string_view errno_name) {
    const auto answer = ask(what, request);
    if (!answer) return;
    bool good = !answer->has_value() && answer->error().code == static_cast<std::int32_t>(code);
    if (good && code == dut::FailureCode::Refused) {
        const auto& found = answer->error().errno_name;
        good = answer->error().verb == dut::method_of(request) && !found.empty() &&
               (errno_name.empty() || found == errno_name);
    }
    check(good, what, "error " + number(code) + ": " + std::string(contract));
}

void Talk::refuses_line(std::string_view what, const std::string& line, std::string_view id,
                        dut::FailureCode code, std::string_view contract) {
    if (!send_line(line)) return;
    const auto answer = line_within(patience);
    const auto text = answer ? compact(*answer) : std::string();
    const auto has = [&](std::string_view piece) { return text.find(piece) != std::string::npos; };
    const auto wanted_id = "\"id\":" + std::string(id);
    const bool good =
        has("\"code\":" + number(code) + ",") || has("\"code\":" + number(code) + "}");
    check(good && (has(wanted_id + ",") || has(wanted_id + "}")) && !has("\"result\":"), what,
          "error " + number(code) + " with id " + std::string(id) + ": " + std::string(contract));
}

void Talk::hangs_up(std::string_view what, const std::string& line, std::string_view contract,
                    wire::Duration not_before) {
    const auto earliest = net::monotonic_now() + not_before;
    if (!send_line(line)) return;
    const bool closed = closes();
    const bool early = closed && net::monotonic_now() < earliest;
    if (early) came_ = "the connection was closed too early";
    check(closed && !early, what, contract);
}

void Talk::ends(std::string_view what, std::string_view contract) {
    if (lost_) return;
    const bool closed = closes();
    check(closed, what, contract);
}

bool Talk::closes() {
    // An agent closes a silent connection after five seconds.
    const auto answer = client_.receive_line(net::monotonic_now() + patience);
    const bool closed = !answer && answer.error().kind == net::ErrorKind::Closed;
    came_ = answer ? *answer : (closed ? "the connection was closed" : answer.error().text);
    lost_ = true;
    return closed;
}

} // namespace veriroce::agent
