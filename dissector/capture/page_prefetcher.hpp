// A second thread that faults in the pages of a mapped file before the reader gets there. The
// reader then waits for neither the disk nor the page table, which takes a third of the time for a
// file of large packets. Internal to this room.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

class PagePrefetcher {
  public:
    // Null if prefetching would not help: a small map, a single processor, or no thread available.
    static std::unique_ptr<PagePrefetcher> of(wire::Bytes map);

    PagePrefetcher(const PagePrefetcher&) = delete;
    PagePrefetcher& operator=(const PagePrefetcher&) = delete;
    // Joins the thread. The map must still exist.
    ~PagePrefetcher();

    // The reader has consumed everything before `offset`.
    void reached(std::size_t offset);

  private:
    explicit PagePrefetcher(wire::Bytes map);
    void fetch();

    wire::Bytes map_;
    std::atomic<std::size_t> reached_ = 0;
    std::thread thread_;
};

} // namespace veriroce::capture
