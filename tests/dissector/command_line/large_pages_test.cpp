// Large pages: blocks of all sizes are usable to their last byte, and given back.
#include <catch2/catch.hpp>

#include <cstring>
#include <memory_resource>
#include <vector>

#include "dissector/command_line/large_pages.hpp"

namespace veriroce::command_line {

TEST_CASE("large pages: the default resource has blocks of all sizes", "[command_line]") {
    std::pmr::memory_resource* const before = std::pmr::get_default_resource();
    use_large_pages();
    std::pmr::memory_resource* const large = std::pmr::get_default_resource();
    REQUIRE(large != before);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::pair<unsigned char*, std::size_t>> blocks;
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4'096}, std::size_t{2} << 20,
                                        (std::size_t{2} << 20) + 1, std::size_t{9'000'000}}) {
            auto* const block = static_cast<unsigned char*>(large->allocate(bytes));
            std::memset(block, static_cast<int>(blocks.size() + 1), bytes);
            blocks.emplace_back(block, bytes);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            CHECK(blocks[i].first[0] == i + 1);
            CHECK(blocks[i].first[blocks[i].second - 1] == i + 1);
            large->deallocate(blocks[i].first, blocks[i].second);
        }
    }
    std::pmr::set_default_resource(before);
}

} // namespace veriroce::command_line
