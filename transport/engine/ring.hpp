// A queue of fixed capacity over memory that is taken once, at construction. Elements count from
// the front.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace veriroce::engine {

template <typename T>
class Ring {
  public:
    explicit Ring(std::size_t capacity) : capacity_(capacity) { slots_.reserve(capacity); }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] bool full() const { return size_ == capacity_; }

    T& operator[](std::size_t i) {
        assert(i < size_);
        return slots_[place(i)];
    }
    const T& operator[](std::size_t i) const {
        assert(i < size_);
        return slots_[place(i)];
    }
    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }
    T& back() { return (*this)[size_ - 1]; }

    // The slot of `i`, for data that is stored beside the ring.
    [[nodiscard]] std::size_t place(std::size_t i) const {
        const std::size_t at = first_ + i;
        return at < capacity_ ? at : at - capacity_;
    }

    // The caller has asked full().
    T& push(const T& value) {
        T& slot = push();
        slot = value;
        return slot;
    }
    // A slot with its old content: the caller must set all of it.
    T& push() {
        assert(!full());
        // A slot is made when it is first used: most rings of a short life stay almost empty.
        if (place(size_) == slots_.size()) slots_.emplace_back();
        ++size_;
        return back();
    }
    void insert(std::size_t at, const T& value) {
        push(value);
        for (std::size_t i = size_ - 1; i > at; --i)
            std::swap((*this)[i], (*this)[i - 1]);
    }
    T pop() {
        T value = std::move(front());
        first_ = place(1);
        --size_;
        return value;
    }
    void clear() { first_ = size_ = 0; }
    // Room for more, never for less; the only call that takes memory.
    void grow(std::size_t capacity) {
        if (capacity <= capacity_) return;
        std::vector<T> wider;
        wider.reserve(capacity);
        for (std::size_t i = 0; i < size_; ++i)
            wider.push_back(std::move((*this)[i]));
        slots_ = std::move(wider);
        capacity_ = capacity;
        first_ = 0;
    }

  private:
    std::vector<T> slots_;
    std::size_t capacity_ = 0;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

} // namespace veriroce::engine
