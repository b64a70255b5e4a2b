// Task<T>: a coroutine that waits for events. The interpreter is written with it, so that a script
// reads top-down in the code as it does in the file, while the surface stays sans-IO: whoever
// drives it feeds events and fetches actions, and the coroutine sleeps in between.
//
// A Task starts when it is awaited (or started, for the outermost one), and belongs to whoever
// holds it. Exceptions are not used; one that escapes all the same goes to whoever awaits, and the
// outermost task has to catch it.
#pragma once

#include <cassert>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace veriroce::interpreter {

template <typename T>
class Task;

namespace detail {

// On the end of a task the awaiting one goes on; the outermost has none.
struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) noexcept {
        const std::coroutine_handle<> next = finished.promise().continuation;
        return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
};

struct PromiseBase {
    std::coroutine_handle<> continuation;
    std::exception_ptr escaped;

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept {
        if (!continuation) std::terminate(); // nobody is left to be told
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

  private:
    std::coroutine_handle<promise_type> handle_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

} // namespace veriroce::interpreter
