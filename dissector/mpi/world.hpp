// The processes that mpirun has started, and what they send each other: MPI's C interface, as far
// as this program needs it. All of them make the same calls in the same order. Whatever goes wrong
// in MPI, or a process that dies, ends them all.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dissector/wire/bytes.hpp"

namespace veriroce::mpi {

// Bytes for one process. What is put is read again by the same program on the same kind of machine.
class Letter {
  public:
    template <typename T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        put(std::as_bytes(std::span(&value, 1)));
    }
    void put(wire::Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    template <typename T>
    void put_list(std::span<const T> values) {
        static_assert(std::is_trivially_copyable_v<T>);
        put(std::uint64_t{values.size()});
        put(std::as_bytes(values));
    }
    [[nodiscard]] wire::Bytes bytes() const { return bytes_; }
    [[nodiscard]] wire::MutableBytes bytes() { return bytes_; }
    void clear() { bytes_.clear(); }

  private:
    std::vector<std::byte> bytes_;
};

// Reads what was put, in the same order.
class Opened {
  public:
    explicit Opened(wire::Bytes bytes) : rest_(bytes) {}

    [[nodiscard]] bool empty() const { return rest_.empty(); }
    template <typename T>
    T peek() const {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        std::memcpy(static_cast<void*>(&value), rest_.first(sizeof value).data(), sizeof value);
        return value;
    }
    template <typename T>
    T take() {
        const T value = peek<T>();
        rest_ = rest_.subspan(sizeof value);
        return value;
    }
    wire::Bytes take(std::size_t count) {
        const wire::Bytes taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }
    template <typename T>
    std::vector<T> take_list() {
        std::vector<T> values(take<std::uint64_t>());
        const wire::Bytes bytes = take(values.size() * sizeof(T));
        if (!bytes.empty())
            std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
        return values;
    }

  private:
    wire::Bytes rest_;
};

// What goes to a process: pieces of memory, one behind the other.
using Outgoing = std::vector<wire::Bytes>;

// What came from each process.
class Mail {
  public:
    [[nodiscard]] std::size_t size() const { return places_.size(); }
    [[nodiscard]] wire::Bytes from(std::size_t rank) const {
        return {room_.get() + places_[rank].begin, places_[rank].size};
    }

  private:
    friend class World;
    struct Place {
        std::size_t begin = 0;
        std::size_t size = 0;
    };
    wire::MutableBytes make_room(std::span<const std::uint64_t> sizes);

    std::unique_ptr<std::byte[]> room_; // kept for the next mail
    std::size_t room_bytes_ = 0;
    std::vector<Place> places_;
};

class World {
  public:
    World(int& argc, char**& argv); // once in a program
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World();

    [[nodiscard]] std::size_t rank() const { return rank_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool first() const { return rank_ == 0; }

    // What goes to each process. The memory of earlier mail is used again.
    void exchange(std::span<const Outgoing> outgoing, Mail& mail);
    Mail exchange(std::span<const Letter> letters);
    Mail send_to_first(const Letter& letter);
    // A value of each process, in the order of their ranks.
    template <typename T>
    std::vector<T> all(const T& value) {
        std::vector<T> values(size_);
        gather(&value, values.data(), sizeof(T));
        return values;
    }
    // Their lists one behind the other.
    template <typename T>
    std::vector<T> all_of(const std::vector<T>& values) {
        const Mail mail =
            exchange(std::vector<Outgoing>(size_, Outgoing{std::as_bytes(std::span(values))}));
        std::vector<T> result;
        for (std::size_t rank = 0; rank < size_; ++rank) {
            for (Opened opened(mail.from(rank)); !opened.empty();)
                result.push_back(opened.take<T>());
        }
        return result;
    }
    // The first process's value.
    int of_first(int value);

  private:
    void gather(const void* value, void* values, std::size_t bytes);
    Mail exchange(const std::vector<Outgoing>& outgoing);

    std::size_t rank_ = 0;
    std::size_t size_ = 1;
};

} // namespace veriroce::mpi
