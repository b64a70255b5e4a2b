// The client of an agent against the real agent over TCP, and against what is none.
#include "conformance/dut/remote_dut.hpp"

#include <catch2/catch.hpp>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>

#include "tests/conformance/agent/fake_backend.hpp"
#include "tests/conformance/agent/running.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;
using agent::test::FakeBackend;
using agent::test::OtherServer;
using agent::test::RunningAgent;
using agent::test::Stranger;
using agent::test::write_all;

auto connect(const std::string& address, const std::optional<std::string>& token = {},
             wire::Duration patience = 5s) {
    return RemoteDut::connect(*net::LineAddress::parse(address), token,
                              net::monotonic_now() + patience);
}

// Why it did not connect, without the address that is another one each time.
std::string refusal(const std::string& address, const std::optional<std::string>& token = {},
                    wire::Duration patience = 5s) {
    const auto dut = connect(address, token, patience);
    if (dut) return "connected";
    auto text = dut.error();
    const auto at = text.find(address);
    if (at != std::string::npos) text.replace(at, address.size(), "AGENT");
    return text;
}

// The next reply; nothing if none comes within ten seconds.
std::optional<Reply> next_reply(RemoteDut& dut) {
    const auto deadline = net::monotonic_now() + 10s;
    while (net::monotonic_now() < deadline) {
        if (auto reply = dut.poll(net::monotonic_now())) return reply;
        pollfd waiting{.fd = dut.descriptor(), .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, 100);
    }
    return std::nullopt;
}

// Everything that a peer says until it closes; nothing within the time: "(open)".
std::string conversation(const std::string& address, const std::string& said) {
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(peer, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
    write_all(peer, said);
    std::string heard;
    for (;;) {
        pollfd waiting{.fd = peer, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, 8000) <= 0) {
            heard = "(open)";
            break;
        }
        std::string chunk(65536, '\0');
        const auto count = recv(peer, chunk.data(), chunk.size(), 0);
        if (count <= 0) break;
        heard.append(chunk, 0, static_cast<std::size_t>(count));
    }
    close(peer);
    return heard;
}

} // namespace

TEST_CASE("remote: hello, and calls that are pipelined", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "sesame");
    const auto dut = connect(agent.address(), "sesame");
    REQUIRE(dut);
    CHECK((*dut)->welcome().name == "bench");
    CHECK((*dut)->welcome().limits == AgentLimits{});
    const auto now = net::monotonic_now();
    std::vector<CallId> calls;
    for (int i = 0; i < 100; ++i)
        calls.push_back((*dut)->submit(Ping{}, now));
    for (const auto call : calls) {
        const auto reply = next_reply(**dut);
        REQUIRE(reply);
        CHECK(reply->call == call);
        CHECK(reply->answer == Answer(Pong{.at = wire::Instant(42ns)}));
    }
}

TEST_CASE("remote: a wait does not hold up other calls, and can be cancelled", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "");
    const auto dut = connect(agent.address());
    REQUIRE(dut);
    const auto now = net::monotonic_now();
    const auto wait = (*dut)->submit(Poll{.cq = {1}, .wait_ms = 60'000}, now);
    const auto ping = (*dut)->submit(Ping{}, now);
    CHECK(next_reply(**dut)->call == ping);
    CHECK((*dut)->next_deadline() == now + 60s + RemoteDut::answer_within);
    const auto cancel = (*dut)->submit(Cancel{.id = wait}, now);
    CHECK(next_reply(**dut)->call == wait);
    CHECK(next_reply(**dut)->call == cancel);
    CHECK_FALSE((*dut)->next_deadline());
    const auto brief = (*dut)->submit(Poll{.cq = {1}, .wait_ms = 30}, net::monotonic_now());
    const auto reply = next_reply(**dut);
    REQUIRE(reply);
    CHECK(reply->call == brief);
    CHECK(reply->answer == Answer(Polled{}));
    CHECK(net::monotonic_now() - now >= 30ms);
}

TEST_CASE("remote: megabytes go through", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "");
    const auto dut = connect(agent.address());
    REQUIRE(dut);
    constexpr std::size_t size = 8U << 20U;
    (*dut)->submit(MrRead{.mr = {1}, .offset = 0, .length = size}, net::monotonic_now());
    const auto reply = next_reply(**dut);
    REQUIRE(reply);
    REQUIRE(reply->answer);
    CHECK(std::get<MrData>(*reply->answer).data.size() == size);
    // As large as a request may be.
    (*dut)->submit(MrWrite{.mr = {1}, .offset = 0, .data = std::vector<std::byte>(size)},
                   net::monotonic_now());
    CHECK(next_reply(**dut)->answer == Answer(Done{}));
}

TEST_CASE("remote: what keeps it from an agent is said in one line", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "sesame");
    CHECK(refusal(agent.address(), "open") == "AGENT closed the connection without an answer: the "
                                              "token is wrong, or it is not a veriroce agent");
    CHECK(refusal(agent.address()) == "AGENT closed the connection without an answer: it requires "
                                      "a token, or it is not a veriroce agent");
    CHECK(refusal("unix:/nonexistent/agent") ==
          "there is no socket AGENT: start the agent there, or check the path");

    std::string closed;
    {
        const OtherServer nobody([](int, const std::string&) {});
        closed = nobody.address();
        CHECK(refusal(closed) == "AGENT closed the connection without an answer: it requires a "
                                 "token, or it is not a veriroce agent");
    }
    CHECK(refusal(closed) ==
          "nothing listens on AGENT: start the agent there, or check the address and port");

    struct Row {
        std::string answer;
        std::string message;
    };
    const std::array rows{
        Row{"HTTP/1.1 400 Bad Request\r\n\r\n",
            "AGENT speaks HTTP: it is not a veriroce agent; check the port"},
        Row{"SSH-2.0-OpenSSH_9.2\r\n", "AGENT is not a veriroce agent: it answered with "
                                       "\"SSH-2.0-OpenSSH_9.2\\x0d\", which is not "
                                       "JSON-RPC"},
        Row{"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
            "\"message\":\"version: expected 2, got 1\"}}\n",
            "AGENT rejected hello: version: expected 2, got 1"},
        Row{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"version\":1}}\n",
            "AGENT rejected hello: the answer to hello is wrong: name is missing"},
        Row{"{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n",
            "AGENT is not a veriroce agent: it answered call 9, which is not open"},
        Row{"{\"jsonrpc\":",
            "AGENT closed the connection without an answer: it requires a token, or it is not a "
            "veriroce agent"},
    };
    for (const auto& row : rows) {
        const OtherServer other(
            [&](int peer, const std::string& /*heard*/) { write_all(peer, row.answer); });
        CHECK(refusal(other.address()) == row.message);
    }
    const OtherServer silent([](int peer, const std::string&) {
        pollfd waiting{.fd = peer, .events = POLLIN, .revents = 0};
        ::poll(&waiting, 1, 5000); // until the client has gone
    });
    CHECK(refusal(silent.address(), {}, 200ms) == "AGENT does not answer: is it a veriroce agent?");
}

TEST_CASE("remote: a lost agent answers every open call and every later one", "[agent]") {
    FakeBackend backend;
    auto agent = std::make_unique<RunningAgent>(backend, "");
    const auto dut = connect(agent->address());
    REQUIRE(dut);
    const auto text = agent->address() + " closed the connection";
    const auto wait = (*dut)->submit(Poll{.cq = {1}, .wait_ms = 60'000}, net::monotonic_now());
    agent->end();
    auto reply = next_reply(**dut);
    REQUIRE(reply);
    CHECK(reply->call == wait);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error().code == static_cast<std::int32_t>(FailureCode::Lost));
    CHECK(reply->answer.error().message.starts_with(text));
    const auto late = (*dut)->submit(Ping{}, net::monotonic_now());
    reply = next_reply(**dut);
    REQUIRE(reply);
    CHECK(reply->call == late);
    CHECK(reply->answer.error().code == static_cast<std::int32_t>(FailureCode::Lost));
}

TEST_CASE("remote: an agent that does not answer in time is lost", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "");
    const auto dut = connect(agent.address());
    REQUIRE(dut);
    const auto now = net::monotonic_now();
    const auto call = (*dut)->submit(Poll{.cq = {1}, .wait_ms = 60'000}, now);
    CHECK_FALSE((*dut)->poll(now + 60s + RemoteDut::answer_within - 1ns));
    const auto reply = (*dut)->poll(now + 60s + RemoteDut::answer_within);
    REQUIRE(reply);
    CHECK(reply->call == call);
    CHECK(reply->answer.error().message == agent.address() + " has not answered poll within 30 s");
}

TEST_CASE("agent: strangers on the port hear nothing", "[agent]") {
    FakeBackend backend;
    net::LineLimits limits;
    limits.first_line_within = 300ms;
    const RunningAgent agent(backend, "sesame", limits);
    for (const auto& said : {
             std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), std::string("\n"),
             std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"),
             std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\","
                         "\"params\":{\"version\":1,\"token\":\"open\"}}\n"),
             std::string(5000, 'x'),                   // longer than a first line may be
             std::string("{\"jsonrpc\":\"2.0\",\"id"), // half a line, and then silence
         }) {
        INFO(said.substr(0, 80));
        CHECK(conversation(agent.address(), said).empty());
    }
    CHECK(connect(agent.address(), "sesame")); // it serves on
}

TEST_CASE("agent: a wrong token is not told before a second has passed", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "sesame");
    const auto before = net::monotonic_now();
    CHECK(refusal(agent.address(), "open").starts_with("AGENT closed the connection"));
    CHECK(net::monotonic_now() - before >= 950ms);
}

TEST_CASE("agent: one tester too many is told so, the others live on", "[agent]") {
    FakeBackend backend;
    net::LineLimits limits;
    limits.connections = 2;
    const RunningAgent agent(backend, "", limits);
    const auto one = connect(agent.address());
    const auto two = connect(agent.address());
    REQUIRE(one);
    REQUIRE(two);
    CHECK(refusal(agent.address()) ==
          "AGENT rejected hello: the agent has as many testers as it may have: end one, or start "
          "the agent with a larger --max-connections");
    (*one)->submit(Ping{}, net::monotonic_now());
    CHECK(next_reply(**one)->answer == Answer(Pong{.at = wire::Instant(42ns)}));
}

TEST_CASE("agent: one tester too many without the token hears nothing", "[agent]") {
    FakeBackend backend;
    net::LineLimits limits;
    limits.connections = 1;
    const RunningAgent agent(backend, "sesame", limits);
    const auto one = connect(agent.address(), "sesame");
    REQUIRE(one);
    CHECK(refusal(agent.address(), "open").starts_with("AGENT closed the connection"));
    CHECK(refusal(agent.address(), "sesame").starts_with("AGENT rejected hello"));
}

TEST_CASE("agent: the right token gets in, whatever others do without it", "[agent]") {
    FakeBackend backend;
    const RunningAgent agent(backend, "sesame");
    std::vector<std::unique_ptr<Stranger>> silent;
    for (int i = 0; i < 64; ++i)
        silent.push_back(std::make_unique<Stranger>(agent.address()));
    std::atomic<bool> stop = false;
    std::vector<std::thread> crowd;
    const std::array<std::string, 4> words{
        "", "GET / HTTP/1.1\r\n\r\n", std::string(5000, 'x'),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"version\":1,"
        "\"token\":\"open\"}}\n"};
    for (const auto& word : words) {
        crowd.emplace_back([&stop, &agent, word] {
            std::deque<std::unique_ptr<Stranger>> open;
            while (!stop) {
                open.push_back(std::make_unique<Stranger>(agent.address()));
                open.back()->say(word);
                if (open.size() > 60) open.pop_front();
                std::this_thread::sleep_for(1ms); // four thousand a second are enough
            }
        });
    }
    int admitted = 0;
    std::string last;
    for (int i = 0; i < 20; ++i) {
        const auto dut = connect(agent.address(), "sesame", 20s);
        if (dut)
            ++admitted;
        else
            last = dut.error();
    }
    stop = true;
    for (auto& one : crowd)
        one.join();
    INFO(last);
    CHECK(admitted == 20);
}

TEST_CASE("agent: testers that fell silent give their places and devices back", "[agent]") {
    FakeBackend backend;
    net::LineLimits limits;
    limits.connections = 2;
    limits.idle_within = 300ms;
    const RunningAgent agent(backend, "", limits);
    const auto one = connect(agent.address());
    const auto two = connect(agent.address());
    REQUIRE(one);
    REQUIRE(two);
    CHECK_FALSE(connect(agent.address()));
    std::expected<std::unique_ptr<RemoteDut>, std::string> third = std::unexpected("");
    for (const auto until = net::monotonic_now() + 10s; net::monotonic_now() < until && !third;)
        third = connect(agent.address());
    CHECK(third);
}
