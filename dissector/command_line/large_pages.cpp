#include "dissector/command_line/large_pages.hpp"

#include <cstdint>
#include <memory_resource>
#include <new>

#include <sys/mman.h>

namespace veriroce::command_line {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
}

// Of any thread: it keeps nothing.
class LargePages final : public std::pmr::memory_resource {
    // A mapping begins at any small page: one large page more is asked for, and what lies before
    // the first whole one and behind the last is given back.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes < kPage) return ::operator new(bytes, std::align_val_t(alignment));
        const std::size_t wanted = whole_pages(bytes);
        void* const mapped = ::mmap(nullptr, wanted + kPage, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        auto* const begin = static_cast<std::byte*>(mapped);
        const auto address = reinterpret_cast<std::uintptr_t>(begin);
        const std::size_t before = whole_pages(address) - address;
        if (before > 0) ::munmap(begin, before);
        if (before < kPage) ::munmap(begin + before + wanted, kPage - before);
        ::madvise(begin + before, wanted, MADV_HUGEPAGE); // without such pages small ones do
        return begin + before;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        if (bytes < kPage) {
            ::operator delete(memory, std::align_val_t(alignment));
        } else {
            ::munmap(memory, whole_pages(bytes));
        }
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

} // namespace

void use_large_pages() {
    static LargePages large_pages;
    std::pmr::set_default_resource(&large_pages);
}

} // namespace veriroce::command_line
