// What several threads make ahead of the one that wants it: numbered things that do not depend on
// each other, handed out in the order of their numbers, whichever is ready first.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace veriroce::plan {

inline constexpr std::size_t kAheadPerThread = 16; // things that wait to be taken

// With one thread there is no other: `take` makes the thing itself.
template <typename T>
class Ahead {
  public:
    using Make = std::function<T(std::size_t number)>; // called by several threads at once

    // Makes the things 0 to `count` - 1, or without end.
    Ahead(unsigned threads, std::size_t count, Make make)
        : make_(std::move(make)), count_(count),
          most_waiting_(std::size_t{threads} * kAheadPerThread) {
        if (threads < 2) return;
        for (std::size_t i = 0; i < std::min<std::size_t>(threads, count); ++i)
            threads_.emplace_back([this] { work(); });
    }
    Ahead(const Ahead&) = delete;
    Ahead& operator=(const Ahead&) = delete;
    // Waits for what is being made.
    ~Ahead() {
        {
            const std::scoped_lock lock(mutex_);
            over_ = true;
        }
        wanted_.notify_all();
        threads_.clear();
    }

    // The next thing, `count` times at most. Throws what making it threw.
    T take() {
        if (threads_.empty()) return make_(taken_++);
        std::unique_lock lock(mutex_);
        made_.wait(lock, [this] { return waiting_.contains(taken_); });
        auto thing = std::move(waiting_.extract(taken_).mapped());
        ++taken_;
        lock.unlock();
        wanted_.notify_one();
        if (!thing) std::rethrow_exception(thing.error());
        return std::move(*thing);
    }

  private:
    using Made = std::expected<T, std::exception_ptr>;

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            wanted_.wait(lock, [this] {
                return over_ || begun_ == count_ || begun_ < taken_ + most_waiting_;
            });
            if (over_ || begun_ == count_) return;
            const std::size_t number = begun_++;
            lock.unlock();
            Made made = attempt(number);
            lock.lock();
            waiting_.emplace(number, std::move(made));
            made_.notify_one();
        }
    }

    Made attempt(std::size_t number) const {
        try {
            return make_(number);
        } catch (...) {
            return std::unexpected(std::current_exception());
        }
    }

    Make make_;
    std::size_t count_;
    std::size_t most_waiting_;
    std::mutex mutex_;
    std::condition_variable wanted_; // there is room for more, or nothing more is wanted
    std::condition_variable made_;
    std::size_t begun_ = 0;
    std::size_t taken_ = 0;
    std::map<std::size_t, Made> waiting_; // made, and not taken yet
    bool over_ = false;
    std::vector<std::jthread> threads_;
};

} // namespace veriroce::plan
