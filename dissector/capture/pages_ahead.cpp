#include "dissector/capture/pages_ahead.hpp"

#include <algorithm>
#include <limits>
#include <system_error>

#include <sys/mman.h>

namespace veriroce::capture {
namespace {

constexpr std::size_t kLeast = std::size_t{4} << 20; // with less, a thread costs what it saves
constexpr std::size_t kAhead = std::size_t{32} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20; // of a system call
constexpr std::size_t kEnded = std::numeric_limits<std::size_t>::max();

#ifndef MADV_POPULATE_READ // headers older than Linux 5.14
constexpr int MADV_POPULATE_READ = 22;
#endif

// False if the kernel does not know this, or the file is shorter by now: whoever reads will see.
bool populate(wire::Bytes pages) {
    // madvise takes the address without const, and changes nothing there.
    return ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_POPULATE_READ) == 0;
}

} // namespace

std::unique_ptr<PagesAhead> PagesAhead::of(wire::Bytes map) {
    if (map.size() < kLeast || std::thread::hardware_concurrency() < 2) return nullptr;
    try {
        return std::unique_ptr<PagesAhead>(new PagesAhead(map));
    } catch (const std::system_error&) {
        return nullptr;
    }
}

PagesAhead::PagesAhead(wire::Bytes map) : map_(map), thread_([this] { fetch(); }) {}

PagesAhead::~PagesAhead() {
    reached(kEnded);
    thread_.join();
}

void PagesAhead::reached(std::size_t offset) {
    reached_.store(offset, std::memory_order_relaxed);
    reached_.notify_one();
}

void PagesAhead::fetch() {
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
