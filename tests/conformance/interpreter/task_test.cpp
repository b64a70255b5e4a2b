// Tasks that fail: who only wants a value ends with the failure, and what waits is destroyed once.
#include "conformance/interpreter/task.hpp"

#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace veriroce::interpreter::test {
namespace {

struct Failure {
    std::string text;
};
template <typename T = void>
using Result = std::expected<T, Failure>;

// Counts how many of them live: what a task holds must go with it, once.
struct Counted {
    inline static int alive = 0;
    std::string text;

    explicit Counted(std::string of) : text(std::move(of)) { ++alive; }
    Counted(const Counted& other) : text(other.text) { ++alive; }
    Counted(Counted&& other) noexcept : text(std::move(other.text)) { ++alive; }
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) = default;
    ~Counted() { --alive; }
};

std::coroutine_handle<> sleeper;
struct Sleep {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const noexcept { sleeper = waiting; }
    void await_resume() const noexcept {}
};

enum class Mode : std::uint8_t {
    Succeeds,
    FailsAtOnce,
    FailsInValue,
    Throws,
    FailsInLoop,
    FailsItself
};
constexpr Mode modes[] = {Mode::Succeeds, Mode::FailsAtOnce, Mode::FailsInValue,
                          Mode::Throws,   Mode::FailsInLoop, Mode::FailsItself};

Result<std::string> value(bool good) {
    if (!good) return std::unexpected(Failure{"a value was not there, which takes many words"});
    return std::string("a text that is long enough to be on the heap");
}

Task<Result<Counted>> leaf(bool good, Counted given) {
    co_await Sleep{};
    if (!good) co_return std::unexpected(Failure{"the leaf failed, and says so at length"});
    co_return Counted(given.text + "!");
}

Task<Result<>> middle(Mode mode, const Counted& given) {
    const Counted local("a local that is long enough to be on the heap");
    const Counted got = co_await leaf(mode != Mode::FailsAtOnce, Counted(given.text));
    if (got.text != given.text + "!") co_return std::unexpected(Failure{"another text"});
    const std::string text = co_await value(mode != Mode::FailsInValue);
    if (text.empty()) co_return std::unexpected(Failure{"no text"});
    if (mode == Mode::Throws) throw std::runtime_error("thrown");
    for (int i = 0; i < 3; ++i)
        co_await leaf(mode != Mode::FailsInLoop, Counted("in a loop, and long enough as well"));
    if (mode == Mode::FailsItself) co_return std::unexpected(Failure{"the middle failed"});
    co_return Result<>{};
}

Task<Result<>> upper(Mode mode) {
    const Counted given("what the upper task holds while it waits");
    co_await middle(mode, given);
    co_await middle(mode, Counted("a temporary that lives as long as the task that got it"));
    co_return Result<>{};
}

// The first attempt's outcome does not end the task, the second's does.
Task<Result<int>> tolerant(Mode mode, std::vector<std::string>& seen) {
    const Result<> first = co_await outcome_of(upper(mode));
    seen.push_back(first ? "met" : first.error().text);
    co_await upper(mode);
    co_return 7;
}

struct Play {
    std::vector<std::string> seen;
    std::string end = "not ended";

    Task<void> run(Mode mode) {
        try {
            const Result<int> result = co_await tolerant(mode, seen);
            end = result ? std::to_string(*result) : result.error().text;
        } catch (const std::exception& escaped) {
            end = escaped.what();
        }
    }
};

std::string end_of(Mode mode) {
    switch (mode) {
    case Mode::Succeeds: return "7";
    case Mode::FailsAtOnce:
    case Mode::FailsInLoop: return "the leaf failed, and says so at length";
    case Mode::FailsInValue: return "a value was not there, which takes many words";
    case Mode::Throws: return "thrown";
    case Mode::FailsItself: return "the middle failed";
    }
    return "";
}

// Resumes the sleeping task, at most this often. True if the task came to its end.
bool go_on(Task<void>& task, std::size_t most) {
    for (std::size_t i = 0; i < most && !task.done(); ++i)
        std::exchange(sleeper, nullptr).resume();
    return task.done();
}

} // namespace

TEST_CASE("task: a failure ends every task that only wanted the value", "[interpreter]") {
    for (const Mode mode : modes) {
        Play play;
        Task<void> task = play.run(mode);
        task.start();
        REQUIRE(go_on(task, 100));
        CHECK(play.end == end_of(mode));
        if (mode == Mode::Throws) continue; // before the first outcome is there
        REQUIRE(play.seen.size() == 1);
        CHECK(play.seen.front() == (mode == Mode::Succeeds ? "met" : end_of(mode)));
    }
}

TEST_CASE("task: all that tasks hold goes with them, however far they came", "[interpreter]") {
    for (const Mode mode : modes) {
        for (std::size_t steps = 0; steps < 20; ++steps) {
            Play play;
            {
                Task<void> task = play.run(mode);
                task.start();
                go_on(task, steps);
            }
            CAPTURE(static_cast<int>(mode), steps);
            CHECK(Counted::alive == 0);
        }
    }
}

TEST_CASE("task: a value that is there does not suspend", "[interpreter]") {
    const auto sum = [](bool good) -> Task<Result<std::size_t>> {
        const std::string text = co_await value(good);
        co_return text.size();
    };
    std::vector<std::string> ends;
    const auto run = [&](bool good) -> Task<void> {
        const Result<std::size_t> result = co_await sum(good);
        ends.push_back(result ? std::to_string(*result) : result.error().text);
    };
    for (const bool good : {true, false}) {
        Task<void> task = run(good);
        task.start();
        REQUIRE(task.done());
    }
    REQUIRE(ends.size() == 2);
    CHECK(ends[0] == std::to_string(value(true)->size()));
    CHECK(ends[1] == value(false).error().text);
}

} // namespace veriroce::interpreter::test
