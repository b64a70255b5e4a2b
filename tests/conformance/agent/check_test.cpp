// `--check` against our agent with the engine behind it, against the same that tells lies, and
// against a program that is not an agent.
#include "conformance/agent/check.hpp"

#include <catch2/catch.hpp>

#include <array>

#include "conformance/agent/engine_backend.hpp"
#include "tests/conformance/agent/running.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using agent::test::OtherServer;
using agent::test::RunningAgent;
using agent::test::write_all;

// What is done to an answer on its way out.
using Lie = std::function<void(const Request& request, Answer& answer)>;

class Liar final : public agent::Backend {
  public:
    Liar(agent::Backend& honest, Lie lie) : honest_(honest), lie_(std::move(lie)) {}
    [[nodiscard]] std::string text() const override { return "a liar"; }
    [[nodiscard]] int descriptor() const override { return honest_.descriptor(); }
    void advance(wire::Instant now) override { honest_.advance(now); }
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override {
        return honest_.next_deadline();
    }
    std::expected<std::unique_ptr<Executor>, Failure> open_device() override {
        auto device = honest_.open_device();
        if (!device) return std::unexpected(device.error());
        return std::make_unique<Device>(std::move(*device), lie_);
    }

  private:
    class Device final : public Executor {
      public:
        Device(std::unique_ptr<Executor> honest, const Lie& lie)
            : honest_(std::move(honest)), lie_(lie) {}
        Answer execute(const Request& request, wire::Instant now) override {
            auto answer = honest_->execute(request, now);
            lie_(request, answer);
            return answer;
        }

      private:
        std::unique_ptr<Executor> honest_;
        const Lie& lie_;
    };
    agent::Backend& honest_;
    Lie lie_;
};

struct Checked {
    std::string text;
    unsigned passed = 0;
    unsigned failed = 0;
    std::string error;

    [[nodiscard]] bool says(std::string_view line) const {
        return text.find(line) != std::string::npos;
    }
};

Checked check(const std::string& address, const std::optional<std::string>& token) {
    Checked checked;
    agent::CheckReport report([&](std::string_view line) {
        checked.text.append(line);
        checked.text += '\n';
    });
    const auto done = agent::check_agent(*net::LineAddress::parse(address), token, report);
    if (!done) checked.error = done.error();
    report.summary();
    checked.passed = report.passed();
    checked.failed = report.failed();
    return checked;
}

// An agent on our engine whose answers pass through `lie`.
Checked check_liar(Lie lie) {
    agent::Options options;
    options.address = "127.0.0.6";
    const auto engine = agent::open_engine(options);
    REQUIRE(engine);
    Liar liar(**engine, std::move(lie));
    const RunningAgent agent(liar, "");
    return check(agent.address(), std::nullopt);
}

template <typename Result, typename Change>
void change(Answer& answer, Change how) {
    if (!answer) return;
    if (auto* result = std::get_if<Result>(&*answer)) how(*result);
}

} // namespace

TEST_CASE("check: nothing is wrong with our own agent", "[agent]") {
    agent::Options options;
    options.address = "127.0.0.5";
    const auto engine = agent::open_engine(options);
    REQUIRE(engine);
    const RunningAgent agent(**engine, "sesame");
    const auto checked = check(agent.address(), "sesame");
    INFO(checked.text);
    CHECK(checked.error.empty());
    CHECK(checked.failed == 0);
    CHECK(checked.passed > 100);
    CHECK(checked.says("ok    first line: a wrong token\n"));
    CHECK(checked.says("ok    mr: the digest\n"));
    CHECK(checked.says("ok    post: the receives of a QP in ERR\n"));
}

TEST_CASE("check: each wrong answer is found, and nothing else", "[agent]") {
    struct Row {
        std::string_view found;
        Lie lie;
    };
    const std::array rows{
        Row{"FAIL  mr: the guards\n",
            [](const Request&, Answer& answer) {
                change<MrDigested>(answer, [](auto& digest) { digest.guards_intact = false; });
            }},
        Row{"FAIL  mr: the address of the region\n",
            [](const Request&, Answer& answer) {
                change<MrRegistered>(answer, [](auto& region) { region.address += 64; });
            }},
        Row{"FAIL  pd and cq: cq_destroy of a CQ in use\n",
            [](const Request& request, Answer& answer) {
                if (std::holds_alternative<CqDestroy>(request) && !answer) answer = Done{};
            }},
        Row{"FAIL  qp: RESET to RTS\n",
            [](const Request& request, Answer& answer) {
                const auto* modify = std::get_if<QpModify>(&request);
                if (modify == nullptr || answer) return;
                if (modify->attributes.state == engine::QpState::Rts) {
                    answer.error().errno_name = "EIO";
                }
            }},
        Row{"FAIL  post: the receives of a QP in ERR\n",
            [](const Request&, Answer& answer) {
                change<Polled>(answer, [](auto& polled) {
                    for (auto& one : polled.completions)
                        one.queue = engine::Queue::Send;
                });
            }},
        Row{"FAIL  patterns: the pattern random\n",
            [](const Request& request, Answer& answer) {
                const auto* read = std::get_if<MrRead>(&request);
                if (read == nullptr || read->offset != 4093) return;
                change<MrData>(answer, [](auto& data) {
                    // Only random has such a byte there: zero, ones and offsets do not.
                    if (data.data[20] != data.data[21]) data.data[20] ^= std::byte{1};
                });
            }},
    };
    for (const auto& row : rows) {
        const auto checked = check_liar(row.lie);
        INFO(row.found);
        INFO(checked.text);
        CHECK(checked.says(row.found));
        CHECK(checked.failed >= 1);
        CHECK(checked.failed <= 2);
        CHECK(checked.says("         expected  "));
    }
}

TEST_CASE("check: a wrong answer is shown with what was sent and what was expected", "[agent]") {
    const OtherServer other([](int peer, const std::string& /*heard*/) {
        write_all(peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"version\":1}}\n");
    });
    const auto checked = check(other.address(), std::nullopt);
    CHECK(checked.failed == 1);
    CHECK(checked.says("FAIL  hello: describes the device\n         sent      {\"jsonrpc\""));
    CHECK(checked.says(
        "         got       {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"version\":1}}\n"));
}

TEST_CASE("check: where nobody listens there is nothing to check", "[agent]") {
    std::string closed;
    {
        const OtherServer nobody([](int, const std::string&) {});
        closed = nobody.address();
        check(closed, std::nullopt);
    }
    const auto checked = check(closed, std::nullopt);
    CHECK(checked.passed + checked.failed == 0);
    CHECK(checked.error.starts_with("nothing listens on " + closed));
    agent::Options options;
    options.check = closed;
    CHECK(agent::run_check(options) == 3);
    options.check = "nowhere";
    CHECK(agent::run_check(options) == 2);
}
