// Memory for what lives as long as a tracker, in blocks that grow: with tens of thousands of
// connections an allocation for each part of them would cost more than the packets. Large blocks
// are from the default resource as it is when the arena is made; a program may set one there that
// has large pages (command_line::use_large_pages).
//
//   Arena arena;
//   std::pmr::deque<Thing> things(arena.for_ever()); // is not given back before the arena goes
//   arena.for_a_while();                             // what is given back is used again
//
// Not for several threads.
#pragma once

#include <memory_resource>

namespace veriroce::flow {

class Arena {
  public:
    [[nodiscard]] std::pmr::memory_resource* for_ever() { return &for_ever_; }
    [[nodiscard]] std::pmr::memory_resource* for_a_while() { return &for_a_while_; }

  private:
    static constexpr std::size_t kFirstBytes = std::size_t{64} * 1024;
    static constexpr std::size_t kLargestBlock = std::size_t{1} << 20;

    std::pmr::monotonic_buffer_resource for_ever_{kFirstBytes};
    std::pmr::unsynchronized_pool_resource for_a_while_{
        {.max_blocks_per_chunk = 0, .largest_required_pool_block = kLargestBlock}, &for_ever_};
};

} // namespace veriroce::flow
