#include "dissector/capture/page_prefetcher.hpp"

#include <algorithm>
#include <limits>
#include <system_error>

#include <sys/mman.h>

namespace veriroce::capture {
namespace {

constexpr std::size_t kLeast = std::size_t{4}
                               << 20; // for smaller files a thread costs more than it saves
constexpr std::size_t kAhead = std::size_t{32} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20; // fetched by one system call
constexpr std::size_t kEnded = std::numeric_limits<std::size_t>::max();

#ifndef MADV_POPULATE_READ // kernel headers older than Linux 5.14
constexpr int MADV_POPULATE_READ = 22;
#endif

// False if the kernel does not support this, or if the file has become shorter: the reader will
// find out.
bool populate(wire::Bytes pages) {
    // madvise's parameter lacks const, but madvise changes nothing there.
    return ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_POPULATE_READ) == 0;
}

} // namespace

std::unique_ptr<PagePrefetcher> PagePrefetcher::of(wire::Bytes map) {
    if (map.size() < kLeast || std::thread::hardware_concurrency() < 2) return nullptr;
    try {
        return std::unique_ptr<PagePrefetcher>(new PagePrefetcher(map));
    } catch (const std::system_error&) {
        return nullptr;
    }
}

PagePrefetcher::PagePrefetcher(wire::Bytes map) : map_(map), thread_([this] { fetch(); }) {}

PagePrefetcher::~PagePrefetcher() {
    reached(kEnded);
    thread_.join();
}

void PagePrefetcher::reached(std::size_t offset) {
    reached_.store(offset, std::memory_order_relaxed);
    reached_.notify_one();
}

void PagePrefetcher::fetch() {
    std::size_t fetched = 0;
    while (fetched < map_.size()) {
        const std::size_t reached = reached_.load(std::memory_order_relaxed);
        if (reached == kEnded) return;
        if (fetched >= reached + kAhead) {
            reached_.wait(reached, std::memory_order_relaxed);
            continue;
        }
        const std::size_t piece = std::min(kPiece, map_.size() - fetched);
        if (!populate(map_.subspan(fetched, piece))) return;
        fetched += piece;
    }
}

} // namespace veriroce::capture
