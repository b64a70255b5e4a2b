// Task<T>: a coroutine that waits for events. The interpreter is written with it, so that a script
// reads top-down in the code as it does in the file, while the surface stays sans-IO: whoever
// drives it feeds events and fetches actions, and the coroutine sleeps in between.
//
// A task starts when it is awaited (or started, for the outermost one), and belongs to its holder.
//
// In a task that returns std::expected, `co_await` unwraps: of a value or another task of
// std::expected with the same error it gives the value, and on an error the awaiting task ends
// with that error. `co_await outcome_of(task)` gives the whole std::expected instead.
//
// Exceptions are not used; one that escapes goes to whoever awaits, and the outermost task has to
// catch it.
#pragma once
#include <cassert>
#include <coroutine>
#include <exception>
#include <expected>
#include <optional>
#include <type_traits>
#include <utility>

namespace veriroce::interpreter {

template <typename T>
class Task;

namespace detail {

// At the end of a task the task that awaits it continues; no task awaits the outermost one.
struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) noexcept {
        const std::coroutine_handle<> next = finished.promise().next();
        return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
};

struct PromiseBase {
    std::coroutine_handle<> continuation;
    std::exception_ptr escaped;

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
    [[nodiscard]] std::coroutine_handle<> next() noexcept { return continuation; }
    void unhandled_exception() noexcept {
        if (!continuation) std::terminate(); // no task awaits the exception
        escaped = std::current_exception();
    }
    void rethrow() const {
        if (escaped) std::rethrow_exception(escaped);
    }
};

template <typename T>
struct Promise : PromiseBase {
    std::optional<T> value;

    Task<T> get_return_object();
    template <typename U>
    void return_value(U&& result) {
        value.emplace(std::forward<U>(result));
    }
    T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
    Task<void> get_return_object();
    void return_void() const noexcept {}
    void take() const noexcept {}
};

// What the promises of tasks that can fail have in common, whatever their value is.
template <typename E>
struct FailingPromise : PromiseBase {
    std::optional<E> failure;
    FailingPromise* unwrapping =
        nullptr; // the task that awaits this one's value, and fails with it

    // Tasks that only wanted the value of one that failed end with it, without being resumed: their
    // holders destroy them where they wait.
    [[nodiscard]] std::coroutine_handle<> next() noexcept {
        FailingPromise* ended = this;
        while (ended->unwrapping != nullptr && ended->failure) {
            ended->unwrapping->failure = std::move(ended->failure);
            ended = ended->unwrapping;
        }
        return ended->continuation;
    }
};

template <typename T, typename E>
struct UnwrapTask;
template <typename T, typename E>
struct UnwrapValue;
template <typename T, typename E>
struct OutcomeAwaiter;

} // namespace detail

template <typename T>
class [[nodiscard]] Task {
  public:
    using promise_type = detail::Promise<T>;

    Task() = default;
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            if (handle_) handle_.destroy();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (handle_) handle_.destroy();
    }

    // Runs the outermost task up to its first wait.
    void start() { handle_.resume(); }
    [[nodiscard]] bool done() const { return handle_ && handle_.done(); }

    // Awaiting runs the task, and gives its value when it has ended.
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
        handle_.promise().continuation = awaiting;
        return handle_;
    }
    T await_resume() {
        handle_.promise().rethrow();
        return handle_.promise().take();
    }
    promise_type& promise() { return handle_.promise(); }

  private:
    std::coroutine_handle<promise_type> handle_;
};

// `co_await outcome_of(task)`: the whole result, failure or value, where `co_await task` would end
// the awaiting task on a failure.
template <typename T>
struct Outcome {
    Task<T> task;
};
template <typename T>
Outcome<T> outcome_of(Task<T> task) {
    return {std::move(task)};
}

namespace detail {

template <typename T, typename E>
struct UnwrapTask {
    Task<std::expected<T, E>> task;
    FailingPromise<E>* awaiting_promise;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
        task.promise().unwrapping = awaiting_promise;
        return task.await_suspend(awaiting);
    }
    T await_resume() {
        std::expected<T, E> result = task.await_resume();
        if constexpr (!std::is_void_v<T>) return std::move(*result);
    }
};

template <typename T, typename E>
struct UnwrapValue {
    std::expected<T, E> value;
    FailingPromise<E>* awaiting_promise;

    [[nodiscard]] bool await_ready() const noexcept { return value.has_value(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
        awaiting_promise->failure.emplace(std::move(value.error()));
        const auto next = awaiting_promise->next();
        return next ? next : std::noop_coroutine();
    }
    T await_resume() {
        if constexpr (!std::is_void_v<T>) return std::move(*value);
    }
};

template <typename T, typename E>
struct Promise<std::expected<T, E>> : FailingPromise<E> {
    std::optional<std::expected<T, E>> value;

    Task<std::expected<T, E>> get_return_object();
    template <typename U>
    void return_value(U&& result) {
        std::expected<T, E> whole(std::forward<U>(result));
        if (whole)
            value.emplace(std::move(whole));
        else
            this->failure.emplace(std::move(whole.error()));
    }
    std::expected<T, E> take() {
        if (this->failure) return std::unexpected(std::move(*this->failure));
        return std::move(*value);
    }

    template <typename U>
    UnwrapTask<U, E> await_transform(Task<std::expected<U, E>>&& task) {
        return {std::move(task), this};
    }
    template <typename U>
    UnwrapValue<U, E> await_transform(std::expected<U, E> outcome) {
        return {std::move(outcome), this};
    }
    template <typename U>
    Task<U> await_transform(Outcome<U>&& outcome) {
        return std::move(outcome.task);
    }
    template <typename Awaiter>
        requires requires(Awaiter& awaiter) { awaiter.await_ready(); }
    Awaiter&& await_transform(Awaiter&& awaiter) {
        return std::forward<Awaiter>(awaiter);
    }
};

template <typename T, typename E>
Task<std::expected<T, E>> Promise<std::expected<T, E>>::get_return_object() {
    return Task<std::expected<T, E>>(std::coroutine_handle<Promise>::from_promise(*this));
}

} // namespace detail

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

} // namespace veriroce::interpreter
