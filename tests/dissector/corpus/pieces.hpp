// Frames put together from pieces.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace veriroce::corpus {

using Frame = std::vector<std::byte>;

inline Frame bytes_of(std::initializer_list<unsigned> values) {
    Frame bytes;
    for (const unsigned value : values)
        bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

inline Frame operator+(Frame first, const Frame& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

inline Frame part(const Frame& frame, std::size_t from, std::size_t bytes) {
    const auto at = frame.begin() + static_cast<std::ptrdiff_t>(from);
    return {at, at + static_cast<std::ptrdiff_t>(bytes)};
}

inline Frame from(const Frame& frame, std::size_t offset) {
    return part(frame, offset, frame.size() - offset);
}

} // namespace veriroce::corpus
