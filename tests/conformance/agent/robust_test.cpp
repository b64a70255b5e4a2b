// The agent and callers who do not behave: the engine behind it, TCP before it.
#include <catch2/catch.hpp>
#include <poll.h>

#include <random>

#include <fmt/format.h>

#include "conformance/agent/engine_backend.hpp"
#include "conformance/dut/region_memory.hpp"
#include "conformance/dut/remote_dut.hpp"
#include "tests/conformance/agent/running.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;
using agent::test::RunningAgent;
using agent::test::write_all;

constexpr std::string_view hello =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"version\":1}}\n";

std::unique_ptr<agent::Backend> engine_with(const AgentLimits& limits) {
    agent::Options options;
    // Tests run at the same time in processes of their own, and RoCEv2 has one port.
    const auto process = static_cast<unsigned>(getpid());
    options.address = fmt::format("127.7.{}.{}", process / 250 % 250 + 1, process % 250 + 1);
    options.limits = limits;
    auto backend = agent::open_engine(options);
    if (!backend) FAIL(backend.error());
    return std::move(*backend);
}

// A caller that writes what it likes.
class Caller {
  public:
    explicit Caller(const std::string& address)
        : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        REQUIRE(agent::test::connect_to(socket_, address));
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    ~Caller() { close(socket_); }

    void say(std::string_view text) { write_all(socket_, std::string(text)); }
    // The next line; nothing if the agent closed, or says nothing for ten seconds.
    std::optional<std::string> line() {
        for (;;) {
            if (const auto end = heard_.find('\n'); end != std::string::npos) {
                auto found = heard_.substr(0, end);
                heard_.erase(0, end + 1);
                return found;
            }
            pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
            if (::poll(&waiting, 1, 10'000) <= 0) return std::nullopt;
            std::string chunk(65536, '\0');
            const auto count = recv(socket_, chunk.data(), chunk.size(), 0);
            if (count <= 0) return std::nullopt;
            heard_.append(chunk, 0, static_cast<std::size_t>(count));
        }
    }
    // Ends as a machine does that loses power and comes back: by a reset.
    void die() {
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }

  private:
    int socket_;
    std::string heard_;
};

// Asks one line and returns the answer's line, "" if there is none.
std::string ask(Caller& caller, const std::string& method, const std::string& params) {
    caller.say(R"({"jsonrpc":"2.0","id":7,"method":")" + method + R"(","params":)" + params +
               "}\n");
    return caller.line().value_or("");
}

std::string handle_in(const std::string& answer, const std::string& name) {
    const auto at = answer.find("\"" + name + "\":");
    INFO(answer);
    REQUIRE(at != std::string::npos);
    const auto from = at + name.size() + 3;
    return answer.substr(from, answer.find_first_of(",}", from) - from);
}

// Registers `bytes`; the answer's line.
std::string take_memory(Caller& caller, std::size_t bytes) {
    const auto pd = handle_in(ask(caller, "pd_create", "{}"), "pd");
    return ask(caller, "mr_register",
               R"({"pd":)" + pd + R"(,"length":)" + std::to_string(bytes) +
                   R"(,"access":["LOCAL_WRITE"]})");
}

bool contains(const std::string& text, std::string_view piece) {
    return text.find(piece) != std::string::npos;
}

} // namespace

TEST_CASE("agent: a caller that dies in the middle of a call leaves nothing behind", "[agent]") {
    constexpr std::size_t all = 65536;
    const auto backend = engine_with({.registered_bytes = RegionMemory::footprint(all), .qps = 1});
    const RunningAgent agent(*backend, "");
    for (const bool by_reset : {false, true}) {
        CAPTURE(by_reset);
        {
            Caller caller(agent.address());
            caller.say(hello);
            REQUIRE(caller.line());
            CHECK(contains(take_memory(caller, all), "\"result\""));
            CHECK(contains(take_memory(caller, 1), "ENOMEM"));
            const auto cq = handle_in(ask(caller, "cq_create", R"({"depth":4})"), "cq");
            // One call waits, the next is half a line.
            caller.say(R"({"jsonrpc":"2.0","id":8,"method":"poll","params":{"cq":)" + cq +
                       R"(,"max":1,"wait_ms":60000}})" + "\n{\"jsonrpc\":\"2.0\",\"id\":9,\"met");
            if (by_reset) caller.die();
        }
        Caller next(agent.address());
        next.say(hello);
        REQUIRE(next.line());
        // The end of the first connection and this call come by different sockets: it may take a
        // moment until the agent has seen both.
        std::string answer;
        for (const auto until = net::monotonic_now() + 10s; net::monotonic_now() < until;) {
            answer = take_memory(next, all);
            if (contains(answer, "\"result\"")) break;
        }
        CHECK(contains(answer, "\"result\""));
    }
}

TEST_CASE("agent: all connections share one allowance of QPs, and closing gives it back",
          "[agent]") {
    const auto backend = engine_with({.qps = 2});
    const RunningAgent agent(*backend, "");
    const auto make = [](Caller& caller) {
        const auto pd = handle_in(ask(caller, "pd_create", "{}"), "pd");
        const auto cq = handle_in(ask(caller, "cq_create", R"({"depth":4})"), "cq");
        return ask(caller, "qp_create",
                   R"({"pd":)" + pd + R"(,"type":"RC","send_cq":)" + cq + R"(,"recv_cq":)" + cq +
                       R"(,"max_send":1,"max_recv":1})");
    };
    Caller one(agent.address());
    one.say(hello);
    REQUIRE(one.line());
    {
        Caller other(agent.address());
        other.say(hello);
        REQUIRE(other.line());
        CHECK(contains(make(one), "\"qpn\""));
        CHECK(contains(make(other), "\"qpn\""));
        CHECK(contains(make(one), "ENOMEM"));
        // What one may not have, the other may not either; both live on.
        CHECK(contains(make(other), "ENOMEM"));
        CHECK(contains(ask(other, "reset", "{}"), "\"result\""));
    }
    CHECK(contains(make(one), "\"qpn\""));
}

TEST_CASE("agent: garbage after hello is answered line by line", "[agent]") {
    const auto backend = engine_with({});
    const RunningAgent agent(*backend, "");
    Caller caller(agent.address());
    caller.say(hello);
    REQUIRE(caller.line());
    const unsigned seed = 20'240'601;
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string valid =
        R"({"jsonrpc":"2.0","id":3,"method":"cq_create","params":{"depth":8}})";
    for (int round = 0; round < 2000; ++round) {
        auto line = valid;
        for (int changes = 0; changes < 3; ++changes) {
            auto byte = static_cast<char>(random() & 0xFFU);
            if (byte == '\n') byte = ' ';
            line[random() % line.size()] = byte;
        }
        if (round % 4 == 0) line.resize(random() % line.size());
        caller.say(line + "\n");
        const auto answer = caller.line();
        INFO(line);
        REQUIRE(answer);
        CHECK(answer->starts_with("{\"jsonrpc\":\"2.0\",\"id\":"));
    }
    CHECK(contains(ask(caller, "ping", "{}"), "\"at\""));
}

TEST_CASE("agent: deep nesting and huge numbers are no reason to die", "[agent]") {
    const auto backend = engine_with({});
    const RunningAgent agent(*backend, "");
    Caller caller(agent.address());
    caller.say(hello);
    REQUIRE(caller.line());
    for (const auto& params :
         {std::string(1'000'000, '['), std::string(R"({"depth":1e400})"),
          std::string(R"({"depth":99999999999999999999999999})"), std::string(R"({"depth":-1})"),
          std::string(R"({"depth":1.5})"), std::string(R"({"depth":4,"depth":4,"depth":[]})")}) {
        const auto answer = ask(caller, "cq_create", params);
        INFO(params.substr(0, 60));
        CHECK(contains(answer, "\"code\":-32"));
    }
    CHECK(contains(ask(caller, "ping", "{}"), "\"at\""));
}

TEST_CASE("agent: a caller that writes byte by byte holds up nobody", "[agent]") {
    const auto backend = engine_with({});
    const RunningAgent agent(*backend, "");
    Caller slow(agent.address());
    Caller quick(agent.address());
    quick.say(hello);
    REQUIRE(quick.line());
    for (const char byte : hello) {
        slow.say({&byte, 1});
        CHECK(contains(ask(quick, "ping", "{}"), "\"at\""));
    }
    CHECK(slow.line());
}

TEST_CASE("agent: thousands of connections that say nothing do not wear it out", "[agent]") {
    const auto backend = engine_with({});
    const RunningAgent agent(*backend, "");
    Caller before(agent.address());
    before.say(hello);
    REQUIRE(before.line());
    for (int batch = 0; batch < 40; ++batch) {
        std::vector<std::unique_ptr<Caller>> crowd;
        for (int one = 0; one < 50; ++one)
            crowd.push_back(std::make_unique<Caller>(agent.address()));
        CHECK(contains(ask(before, "ping", "{}"), "\"at\""));
    }
    bool served = false;
    for (const auto until = net::monotonic_now() + 10s; net::monotonic_now() < until && !served;) {
        Caller after(agent.address());
        after.say(hello);
        served = after.line().has_value();
    }
    CHECK(served);
}
