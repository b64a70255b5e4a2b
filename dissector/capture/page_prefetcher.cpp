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
constexpr std::size_t kBehind = std::size_t{32} << 20;   // for users that look back
constexpr std::size_t kGivenBack = std::size_t{8} << 20; // by one system call
constexpr std::size_t kPiece = std::size_t{1} << 20;     // fetched by one system call
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
    if (map.size() < kLeast) return nullptr;
    std::unique_ptr<PagePrefetcher> pages(new PagePrefetcher(map));
    if (std::thread::hardware_concurrency() < 2) return pages;
    try {
        pages->thread_ = std::thread([pages = pages.get()] { pages->fetch(); });
    } catch (const std::system_error&) { // the reader faults pages in itself
    }
    return pages;
}

PagePrefetcher::~PagePrefetcher() {
    if (!thread_.joinable()) return;
    reached(kEnded);
    thread_.join();
}

void PagePrefetcher::reached(std::size_t offset) {
    if (!thread_.joinable()) return give_back(offset);
    reached_.store(offset, std::memory_order_relaxed);
    reached_.notify_one();
}

void PagePrefetcher::give_back(std::size_t reached) {
    while (reached >= given_back_ + kGivenBack + kBehind) {
        const wire::Bytes pages = map_.subspan(given_back_, kGivenBack);
        // madvise's parameter lacks const. Pages of a private map that were not written are read
        // from the file again.
        ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
        given_back_ += kGivenBack;
    }
}

void PagePrefetcher::fetch() {
    std::size_t fetched = 0;
    for (;;) {
        const std::size_t reached = reached_.load(std::memory_order_relaxed);
        if (reached == kEnded) return;
        give_back(reached);
        if (fetched >= std::min(reached + kAhead, map_.size())) {
            reached_.wait(reached, std::memory_order_relaxed);
            continue;
        }
        const std::size_t piece = std::min(kPiece, map_.size() - fetched);
        // If it fails, the reader faults pages in itself.
        fetched = populate(map_.subspan(fetched, piece)) ? fetched + piece : map_.size();
    }
}

} // namespace veriroce::capture
