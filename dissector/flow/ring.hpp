// A queue in one block of memory that doubles up to a bound. Internal to this room.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <type_traits>
#include <utility>

#include "dissector/wire/fetch.hpp"

namespace veriroce::flow {

// For trivial types only: unused elements cost no time, and usually no memory.
template <typename T>
class Ring {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  public:
    Ring() = default;
    Ring(Ring&& other) noexcept { swap(other); }
    Ring& operator=(Ring&& other) noexcept {
        Ring empty(std::move(other));
        swap(empty);
        return *this;
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() { give_back(); }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] bool full() const { return size_ == capacity_; }

    T& operator[](std::size_t i) {
        assert(i < size_);
        return *slot(i);
    }
    const T& operator[](std::size_t i) const {
        assert(i < size_);
        return *slot(i);
    }
    T& back() { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& front() const { return (*this)[0]; }

    // Prefetches the beginning of the first element, the last element and the place after it.
    void fetch_ends() const {
        if (capacity_ == 0) return;
        wire::fetch(slot(0), slot(0) + 1);
        const T* const last = slot(size_ + capacity_ - 1);
        wire::fetch(last, last + 2);
    }

    // Doubles the capacity, or sets it to `first` if it is 0. Memory is always from one source.
    void grow(std::size_t first, std::pmr::memory_resource* source) {
        const std::size_t larger = capacity_ == 0 ? first : capacity_ * 2;
        auto* const memory = static_cast<std::byte*>(source->allocate(larger * sizeof(T)));
        const std::size_t to_end = std::min(size_, capacity_ - head_);
        if (size_ > 0) {
            std::memcpy(memory, slot(0), to_end * sizeof(T));
            std::memcpy(memory + to_end * sizeof(T), memory_, (size_ - to_end) * sizeof(T));
        }
        give_back();
        source_ = source;
        memory_ = memory;
        capacity_ = larger;
        head_ = 0;
    }
    // The queue must not be full.
    void push_back(const T& value) {
        assert(!full());
        std::construct_at(slot(size_), value);
        ++size_;
    }
    void pop_front() {
        assert(size_ > 0);
        head_ = (head_ + 1) & (capacity_ - 1);
        --size_;
    }
    // Inserts before element `i`. The queue must not be full.
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
    [[nodiscard]] T* slot(std::size_t i) const {
        return reinterpret_cast<T*>(memory_) + ((head_ + i) & (capacity_ - 1));
    }
    void give_back() {
        if (memory_ != nullptr) source_->deallocate(memory_, capacity_ * sizeof(T));
    }
    void swap(Ring& other) noexcept {
        std::swap(source_, other.source_);
        std::swap(memory_, other.memory_);
        std::swap(capacity_, other.capacity_);
        std::swap(head_, other.head_);
        std::swap(size_, other.size_);
    }

    std::pmr::memory_resource* source_ = nullptr; // of its memory, if it has some
    std::byte* memory_ = nullptr;
    std::size_t capacity_ = 0; // in elements; a power of two
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

} // namespace veriroce::flow
