// Memory that is asked for before it is needed: with many connections what belongs to one lies far
// off, and one line after the other would be waited for. Nothing is read, so any address will do.
#pragma once

#include <cstdint>

namespace veriroce::wire {

// All lines from `from` up to, not including, `end`.
inline void fetch(const void* from, const void* end) {
    constexpr std::uintptr_t line = 64;
    const auto last = reinterpret_cast<std::uintptr_t>(end);
    for (auto at = reinterpret_cast<std::uintptr_t>(from) & ~(line - 1); at < last; at += line)
        __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
}

template <typename T>
void fetch(const T& object) {
    fetch(&object, &object + 1);
}

} // namespace veriroce::wire
