// A queue over one block of memory that grows by doubling up to a bound. Internal to this room.
#pragma once

#include <cassert>
#include <cstddef>
#include <vector>

namespace veriroce::flow {

template <typename T>
class Ring {
  public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t capacity() const { return slots_.size(); }
    [[nodiscard]] bool full() const { return size_ == slots_.size(); }

    T& operator[](std::size_t i) {
        assert(i < size_);
        return slots_[(head_ + i) & (slots_.size() - 1)];
    }
    const T& operator[](std::size_t i) const {
        assert(i < size_);
        return slots_[(head_ + i) & (slots_.size() - 1)];
    }
    T& back() { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& front() const { return (*this)[0]; }

    // To twice the room, or to `first` from nothing.
    void grow(std::size_t first) {
        std::vector<T> larger(slots_.empty() ? first : slots_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = (*this)[i];
        slots_ = std::move(larger);
        head_ = 0;
    }
    // There is room.
    void push_back(const T& value) {
        assert(!full());
        ++size_;
        back() = value;
    }
    void pop_front() {
        assert(size_ > 0);
        head_ = (head_ + 1) & (slots_.size() - 1);
        --size_;
    }
    // Before the element at `i`; there is room.
    void insert(std::size_t i, const T& value) {
        push_back(value);
        for (std::size_t at = size_ - 1; at > i; --at)
            (*this)[at] = (*this)[at - 1];
        (*this)[i] = value;
    }
    void erase(std::size_t i) {
        for (std::size_t at = i; at + 1 < size_; ++at)
            (*this)[at] = (*this)[at + 1];
        --size_;
    }
    void clear() {
        head_ = 0;
        size_ = 0;
    }

  private:
    std::vector<T> slots_; // as many as a power of two
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

} // namespace veriroce::flow
