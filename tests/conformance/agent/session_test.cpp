#include "conformance/agent/session.hpp"

#include <catch2/catch.hpp>

#include <array>

#include "tests/conformance/agent/fake_backend.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::agent;
using namespace std::chrono_literals;

using Standing = Session::Standing;
using Lines = std::vector<std::string>;

const std::string hello_line =
    R"({"jsonrpc":"2.0","id":1,"method":"hello","params":{"version":1}})";
const std::string hello_with_token =
    R"({"jsonrpc":"2.0","id":1,"method":"hello","params":{"version":1,"token":"sesame"}})";
const std::string ping = R"({"jsonrpc":"2.0","id":2,"method":"ping","params":{}})";
const std::string pong = R"({"jsonrpc":"2.0","id":2,"result":{"at":"42"}})";
const std::string welcome =
    R"({"jsonrpc":"2.0","id":1,"result":)" + std::string(test::welcome_text) + "}";

std::string error(std::string_view id, int code, std::string_view message) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"error":{"code":)" +
           std::to_string(code) + R"(,"message":")" + std::string(message) + "\"}}";
}

// Without the text that is another one at each start.
std::string without_instance(std::string line) {
    constexpr std::string_view field = R"("instance":")";
    const std::size_t at = line.find(field);
    if (at == std::string::npos) return line;
    const std::size_t end = line.find('"', at + field.size());
    CHECK(end > at + field.size());
    return line.erase(at, end + 2 - at); // the comma, too
}

Lines answers(Session& session) {
    Lines lines;
    while (auto line = session.poll_line())
        lines.push_back(without_instance(std::move(*line)));
    return lines;
}

} // namespace

TEST_CASE("session: what comes first decides", "[agent]") {
    struct Row {
        std::string what;
        std::string token; // the agent's
        std::string line;
        Lines answers;
        Standing standing;
        std::string reason;
    };
    const std::array rows{
        Row{"hello", "", hello_line, {welcome}, Standing::Admitted, ""},
        Row{"hello with the token", "sesame", hello_with_token, {welcome}, Standing::Admitted, ""},
        Row{"a token where none is asked", "", hello_with_token, {welcome}, Standing::Admitted, ""},
        Row{"a wrong token", "open", hello_with_token, {}, Standing::WrongToken, "wrong token"},
        Row{"a token that begins well",
            "sesame street",
            hello_with_token,
            {},
            Standing::WrongToken,
            "wrong token"},
        Row{"no token", "sesame", hello_line, {}, Standing::WrongToken, "no token"},
        Row{"HTTP", "", "GET / HTTP/1.1\r", {}, Standing::Closing, "its first line is not a hello"},
        Row{"an empty line", "", "", {}, Standing::Closing, "its first line is not a hello"},
        Row{"another method", "", ping, {}, Standing::Closing, "its first line is not a hello"},
        Row{"an unknown method",
            "",
            R"({"jsonrpc":"2.0","id":1,"method":"helo"})",
            {},
            Standing::Closing,
            "its first line is not a hello"},
        Row{"hello without its version",
            "",
            R"({"jsonrpc":"2.0","id":1,"method":"hello","params":{}})",
            {},
            Standing::Closing,
            "its first line is not a hello"},
        Row{"a batch",
            "",
            '[' + hello_line + ']',
            {},
            Standing::Closing,
            "its first line is not a hello"},
        Row{"another version",
            "",
            R"({"jsonrpc":"2.0","id":1,"method":"hello","params":{"version":2}})",
            {error("1", -32602, "version: expected 1, got 2")},
            Standing::Closing,
            "version: expected 1, got 2"},
        Row{"another version, no token",
            "sesame",
            R"({"jsonrpc":"2.0","id":1,"method":"hello","params":{"version":2}})",
            {},
            Standing::WrongToken,
            "no token"},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        test::FakeBackend backend;
        Session session(backend, row.token);
        session.handle_line(row.line, {});
        CHECK(answers(session) == row.answers);
        CHECK(session.standing() == row.standing);
        CHECK(session.reason() == row.reason);
        CHECK(backend.devices == (row.standing == Standing::Admitted ? 1 : 0));
        // What is closing listens no more.
        session.handle_line(ping, {});
        CHECK(answers(session) == (row.standing == Standing::Admitted ? Lines{pong} : Lines{}));
    }
}

TEST_CASE("session: after hello a bad line is answered and the connection lives on", "[agent]") {
    struct Row {
        std::string line;
        std::string answer;
    };
    const std::array rows{
        Row{"{", error("null", -32700, "this line is not JSON: incomplete JSON")},
        Row{"", error("null", -32700, "this line is not JSON: incomplete JSON")},
        Row{'[' + ping + ']',
            error("null", -32600, "expected one JSON-RPC request per line, got an array")},
        Row{R"({"jsonrpc":"2.0","method":"ping"})",
            error("null", -32600, "id: expected a whole number below 2^53")},
        Row{R"({"jsonrpc":"2.0","id":5,"method":"qp_explode"})",
            error("5", -32601, R"(unknown method \"qp_explode\")")},
        Row{R"({"jsonrpc":"2.0","id":5,"method":"cq_create","params":{"depth":true}})",
            error("5", -32602,
                  "cq_create: depth: expected a whole number from 0 to 4294967295, got true or "
                  "false")},
        Row{hello_line, error("1", -32602, "hello was already sent")},
    };
    test::FakeBackend backend;
    Session session(backend, "");
    session.handle_line(hello_line, {});
    CHECK(answers(session) == Lines{welcome});
    for (const auto& row : rows) {
        INFO(row.line);
        session.handle_line(row.line, {});
        CHECK(answers(session) == Lines{row.answer});
        CHECK(session.standing() == Standing::Admitted);
        session.handle_line(ping, {});
        CHECK(answers(session) == Lines{pong});
    }
}

TEST_CASE("session: a device that cannot be opened is said, and the connection ends", "[agent]") {
    test::FakeBackend backend;
    backend.broken = true;
    Session session(backend, "");
    session.handle_line(hello_line, {});
    CHECK(answers(session) == Lines{R"({"jsonrpc":"2.0","id":1,"error":{"code":-32000,)"
                                    R"("message":"the device refused open_device",)"
                                    R"("data":{"verb":"open_device","errno":"ENODEV"}}})"});
    CHECK(session.standing() == Standing::Closing);
}

TEST_CASE("session: a wait is answered in its time, cancelled, or ended by reset", "[agent]") {
    const auto poll = [](int id, int wait_ms) {
        return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
               R"(,"method":"poll","params":{"cq":1,"max":1,"wait_ms":)" + std::to_string(wait_ms) +
               "}}";
    };
    const auto nothing = [](int id) {
        return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
               R"(,"result":{"completions":[],"overrun":false}})";
    };
    const auto done = [](int id) {
        return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{}})";
    };
    constexpr wire::Instant start{};
    test::FakeBackend backend;
    Session session(backend, "");
    session.handle_line(hello_line, start);
    CHECK(answers(session) == Lines{welcome});
    CHECK_FALSE(session.next_deadline(start));

    session.handle_line(poll(10, 100), start);
    session.handle_line(poll(11, 300), start);
    session.handle_line(poll(12, 60'000), start);
    session.handle_line(ping, start);
    CHECK(answers(session) == Lines{pong}); // no other call waits
    CHECK(session.next_deadline(start) == start + Session::poll_interval);

    session.advance(start + 100ms);
    CHECK(answers(session) == Lines{nothing(10)});
    session.handle_line(R"({"jsonrpc":"2.0","id":13,"method":"cancel","params":{"id":11}})",
                        start + 150ms);
    CHECK(answers(session) == Lines{nothing(11), done(13)});
    session.handle_line(R"({"jsonrpc":"2.0","id":14,"method":"reset"})", start + 160ms);
    CHECK(answers(session) == Lines{nothing(12), done(14)});
    CHECK_FALSE(session.next_deadline(start));
    session.handle_line(poll(15, 60'001), start);
    CHECK(answers(session) ==
          Lines{error("15", -32602, "wait_ms: expected at most 60000, got 60001")});
}

TEST_CASE("session: what a connection has dies with it", "[agent]") {
    test::FakeBackend backend;
    {
        Session one(backend, "");
        Session other(backend, "");
        one.handle_line(hello_line, {});
        other.handle_line(hello_line, {});
        CHECK(backend.devices == 2);
    }
    CHECK(backend.devices == 0);
}

TEST_CASE("session: tokens are equal or they are not", "[agent]") {
    CHECK(same_token("sesame", "sesame"));
    for (const auto* wrong : {"", "s", "sesam", "sesamf", "sesamesesame", "SESAME"}) {
        INFO(wrong);
        CHECK_FALSE(same_token("sesame", wrong));
    }
    CHECK_FALSE(same_token("", "sesame"));
}
