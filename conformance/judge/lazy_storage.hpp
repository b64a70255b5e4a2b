// What most streams never have, such as a NAK or a READ that was asked for again: until there is
// one it takes a word or two, because of streams there are many. Internal to this room.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace veriroce::judge {

// Used as std::optional is. Memory is kept once there was a value.
template <typename T>
class LazyOptional {
  public:
    LazyOptional& operator=(const T& value) {
        if (!room_) room_ = std::make_unique<std::optional<T>>();
        *room_ = value;
        return *this;
    }
    void reset() {
        if (room_) room_->reset();
    }
    explicit operator bool() const { return room_ && room_->has_value(); }
    T& operator*() { return **room_; }
    const T& operator*() const { return **room_; }
    T* operator->() { return &**room_; }
    const T* operator->() const { return &**room_; }

  private:
    std::unique_ptr<std::optional<T>> room_;
};

// The latest few.
template <typename T, std::size_t N>
class Latest {
  public:
    void note(const T& value) {
        if (!kept_) kept_ = std::make_unique<std::array<T, N>>();
        (*kept_)[count_++ % N] = value;
    }
    // In no order that means something.
    [[nodiscard]] std::span<const T> kept() const {
        if (!kept_) return {};
        return std::span<const T>(*kept_).first(std::min(count_, N));
    }
    // There were more than are kept.
    [[nodiscard]] bool forgot_some() const { return count_ > N; }

  private:
    std::unique_ptr<std::array<T, N>> kept_;
    std::size_t count_ = 0; // ever
};

} // namespace veriroce::judge
