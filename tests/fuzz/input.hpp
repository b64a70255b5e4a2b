// What a fuzz target is given, read as numbers and bytes; zeros when it is at its end.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "dissector/wire/bytes.hpp"

namespace veriroce::fuzz {

inline void require(bool condition) {
    if (!condition) std::abort();
}

class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    [[nodiscard]] bool empty() const { return size_ == 0; }
    std::uint8_t byte() {
        if (size_ == 0) return 0;
        --size_;
        return *data_++;
    }
    bool rarely() { return byte() > 240; }
    std::uint32_t number() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i)
            value = value << 8U | byte();
        return value;
    }
    template <typename Enum>
    Enum one_of(std::uint8_t last) {
        return static_cast<Enum>(byte() % (last + 1));
    }
    wire::Bytes bytes(std::size_t wanted) {
        const std::size_t n = std::min(wanted, size_);
        const wire::Bytes taken = std::as_bytes(std::span(data_, n));
        data_ += n;
        size_ -= n;
        return taken;
    }

  private:
    const std::uint8_t* data_;
    std::size_t size_;
};

} // namespace veriroce::fuzz
