// An arena: what it gives is aligned and apart, and is used again where it may be.
#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "dissector/flow/arena.hpp"

namespace veriroce::flow {

TEST_CASE("arena: blocks of every size are aligned and apart", "[flow]") {
    Arena arena;
    for (std::pmr::memory_resource* source : {arena.for_ever(), arena.for_a_while()}) {
        std::vector<std::pair<unsigned char*, std::size_t>> blocks;
        for (std::size_t bytes = 24; bytes < 20'000'000; bytes = bytes * 7 / 4) {
            auto* const block = static_cast<unsigned char*>(source->allocate(bytes, 64));
            CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
            std::memset(block, static_cast<int>(blocks.size() + 1), bytes);
            blocks.emplace_back(block, bytes);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const auto& [block, bytes] = blocks[i];
            CHECK(block[0] == i + 1);
            CHECK(block[bytes / 2] == i + 1);
            CHECK(block[bytes - 1] == i + 1);
        }
        for (const auto& [block, bytes] : blocks)
            source->deallocate(block, bytes, 64);
    }
}

TEST_CASE("arena: what is given back for a while is used again", "[flow]") {
    Arena arena;
    std::set<void*> places;
    for (int i = 0; i < 1'000; ++i) {
        void* const block = arena.for_a_while()->allocate(3'072);
        places.insert(block);
        arena.for_a_while()->deallocate(block, 3'072);
    }
    CHECK(places.size() < 10);
}

} // namespace veriroce::flow
